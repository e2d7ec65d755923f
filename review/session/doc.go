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
// What a reconciler found (see Finding) lets a turn do more than that: a closed pull
// request that is open again is evaluated, one that is missing in the list is closed,
// and a check that the forge does not show as it was posted is written again.
//
// A session moves like this; every arrow is a record:
//
//	running ──▶ decided ──▶ decided (recomputed when CI changes)
//	   │           │
//	   │           └──▶ superseded, closed   (a newer head, or the end)
//	   ├──▶ superseded, closed
//	   └──▶ failed ──▶ (retried as a new session that says what this one left out)
package session
