// Package session knows the order of things (DESIGN section 2) and nothing
// else: it takes one pull request through the gates, each step with its record,
// calling pure functions for what follows and narrow interfaces for what is
// outside. It must not know HTTP, SQL, or how a rule works.
//
// A turn is one call for one pull request; what it does follows from the events
// it was given and from the newest session:
//
//	events                               newest session   the turn
//	------                               --------------   --------
//	opened, synchronize, ready, edited   any              evaluate
//	rerequested                          any              evaluate, as a new check run
//	closed                               any              close, if the forge says so too
//	none, or CI                          decided          recompute: one re-read, one patch
//	anything                             unfinished       evaluate
//	none, or CI                          none             evaluate
//	anything else                        any              recorded
//
// A session moves like this; every arrow is a record:
//
//	running ──▶ decided ──▶ decided (recomputed when CI changes)
//	   │           │
//	   │           └──▶ superseded, closed   (a newer head, or the end)
//	   ├──▶ superseded, closed
//	   └──▶ failed ──▶ (retried as a new session that says what this one left out)
package session
