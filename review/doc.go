// Package review holds what a review is about and what follows from it: the
// evidence, the facts it is reduced to, the gate's rules and the decision. They
// are values and pure functions: no I/O, no clock, no randomness, so the same
// evidence under the same policy always gives the same decision, today and when
// the trail is read again.
//
// It must not know where evidence comes from (GitHub, git, a database), how a
// policy is written, or how a result is shown. Names, paths and texts inside
// evidence were written by strangers; they are passed on as data, and whoever
// shows them escapes them.
//
// The path of one evaluation:
//
//	Evidence + Rules --Summarise--> Facts + Causes --Decide--> GateDecision
//
// Summarise is the only place where policy meets evidence. Decide reads closed
// enums only. Gate does both and joins what people accepted.
//
// A pull request's decision moves like this, always recomputed from nothing:
//
//	             evidence arrives, people answer
//	pending ----------------------------------------> approved
//	   |  ^                                              |
//	   |  | a check starts again, a new patch            | a check fails,
//	   v  |                                              v a finding stands
//	changes_requested (the author)  needs_human (a person)  blocked (nobody)
//
//	not_reviewed: nothing is against it, but no reviewer ended; only at low.
package review
