// Package queue carries durable jobs on River: it accepts deliveries, keeps one
// open job per subject, calls the subject's Runner and makes its outcome and the
// next wake-up one commit.
//
// # Why no wake-up is lost
//
// A subject has two numbers. want_gen is raised in the transaction that stores
// an event; done_gen is set in the transaction that completes the job which saw
// it. That last transaction reads want_gen: if it moved meanwhile, the same
// commit inserts the next job. So at every moment a subject with
// want_gen > done_gen has an open job, and a second job of a subject cannot
// exist because the job's key is unique while it is open.
//
//	idle ──event──▶ available ──▶ running ──▶ completed (idle, or the next job
//	                    ▲            │                   in the same commit)
//	                    └── snoozed, retried, given back by a stop or a kill
//
// The package must not know what a Runner does, nor GitHub.
package queue

import (
	"context"
	"time"

	"github.com/countersign/countersign/handlers"
)

// Turn is one call of a Runner: what happened to its subject since the last
// turn that succeeded.
type Turn struct {
	Subject handlers.Subject
	// Generation is the subject's want_gen when the turn began.
	Generation int64
	// Events are those not yet recorded, oldest first, at most MaxTurnEvents;
	// what is beyond comes with the next turn. A retry sees them again.
	Events []handlers.Event
	// Newer reads the events of this subject committed since the turn began. It
	// is cheap, and may be asked often by a runner that can be superseded.
	Newer func(ctx context.Context) ([]handlers.Event, error)
	// Attempt counts from 1. From MaxAttempts on, Attempt >= MaxAttempts, a runner
	// should leave an honest terminal state behind each time: unless something
	// happens to the subject, the next turn comes an hour later, and none does
	// after a day of those.
	Attempt, MaxAttempts int
}

// MaxTurnEvents bounds the events given to one turn.
const MaxTurnEvents = 500

// Outcome says what follows a turn.
type Outcome struct {
	// Settle: run again no sooner than this from now, even if events came.
	Settle time.Duration
	// Postpone: the runner did nothing. The same turn comes after this, with its
	// events and whatever arrives meanwhile; it counts as no attempt.
	Postpone time.Duration
	// EventsOnly: the turn's events count as worked and nothing else does. A wake,
	// a re-check or a retry that it came before still gets its turn.
	EventsOnly bool
	// RecheckAt: run again then, without an event. Zero: only events wake it.
	RecheckAt time.Time
	// Wake lists other subjects to wake, in the commit that completes this turn.
	Wake []Wake
}

// Wake asks for a turn of another subject. Wakes of a subject that is already
// going to run coalesce.
type Wake struct {
	Subject handlers.Subject
	// NotBefore debounces: the turn begins no sooner, unless an event of the
	// subject itself arrives.
	NotBefore time.Time
}

// Runner works one subject. It is called for one subject at a time, must
// tolerate being called again for the same events, and returns promptly when
// its context ends. A *forge.Error with a RetryAfter holds the next attempt back
// for at least that long, whatever happens meanwhile; if it is a rate limit,
// which ends by itself, the turn costs no attempt.
type Runner func(ctx context.Context, t Turn) (Outcome, error)
