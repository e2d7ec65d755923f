package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
)

// succeeded commits a turn's outcome: its events are recorded, its generation is
// done, its job is completed, others are woken, and the next job is there if
// anything happened meanwhile. There is no moment between these.
func (q *Queue) succeeded(ctx context.Context, t *turn, out Outcome) error {
	return q.settle(ctx, t, out.Wake, func(ctx context.Context, tx *sql.Tx, st *store.SubjectState) error {
		if out.Postpone > 0 {
			st.Settle = q.store.Now().Add(out.Postpone)
			return nil
		}
		guids := make([]string, len(t.events))
		for i, e := range t.events {
			guids[i] = e.Event.GUID
		}
		if err := q.store.MarkRecorded(ctx, tx, guids); err != nil {
			return err
		}
		if out.EventsOnly {
			st.Done = min(st.Want, st.Done+int64(len(t.events)))
			return nil
		}
		st.Done = t.state.Want
		if len(t.events) == MaxTurnEvents {
			st.Done-- // there may be more events: they get a turn of their own
		}
		st.Attempts = 0
		st.Settle, st.Recheck = time.Time{}, out.RecheckAt.UTC()
		if out.RecheckAt.IsZero() {
			st.Recheck = time.Time{}
		}
		if out.Settle > 0 {
			st.Settle = q.store.Now().Add(out.Settle)
		}
		if st.Want == st.Done {
			st.Due = time.Time{}
		}
		return nil
	})
}

// failed commits that a turn has failed. The subject waits for its next attempt,
// which an event brings forward; where the forge said when to come back, nothing
// does.
func (q *Queue) failed(ctx context.Context, t *turn, cause error) error {
	return q.settle(ctx, t, nil, func(ctx context.Context, tx *sql.Tx, st *store.SubjectState) error {
		now := q.store.Now()
		log := q.logger.Warn().Err(cause).Str("subject", st.Subject.Key).Int("attempt", t.attempt).Int("max_attempts", q.maxAttempts)
		if !st.Recheck.After(now) {
			st.Recheck = time.Time{} // it was this turn
		}
		until, held := askedToWait(cause, now)
		if !until.IsZero() {
			st.Settle = until
		}
		if held {
			at := later(until, now.Add(q.quickPause(t.attempt)))
			st.Attempts = t.attempt - 1
			again(st, now, at)
			log.Time("until", at).Msg("turn postponed: the forge is not to be asked before")
			return nil
		}
		at := later(until, now.Add(q.pause(t.attempt)))
		st.Attempts = t.attempt
		fresh := t.attempt >= q.maxAttempts && st.Want > t.state.Want
		if fresh {
			st.Attempts = 0 // what happened meanwhile is a fresh start
		}
		switch {
		case fresh, st.Urgent > t.state.Want:
			log.Msg("turn failed; what happened meanwhile asks for the next")
		case st.Attempts < q.giveUp():
			again(st, now, at)
			log.Time("until", at).Msg("turn failed")
			if st.Attempts == q.maxAttempts { // from here on an hour passes between two
				return q.tellGivenUp(ctx, tx, *st, reasonFailed, t.job.ID)
			}
		default:
			log.Msg("turn failed for the last time; only an event starts another")
			return q.tellGivenUp(ctx, tx, *st, reasonFailed, t.job.ID)
		}
		return nil
	})
}

// again lets the subject wait until a time. A wake-up that came during the turn
// and is due sooner stays so; an event will clear the wait.
func again(st *store.SubjectState, now, at time.Time) {
	if st.Want == st.Done {
		st.Recheck = at // nothing happened; the turn was a re-check
		return
	}
	st.Urgent = st.Done
	if !st.Due.After(now) || st.Due.After(at) {
		st.Due = at
	}
}

// maxRetryAfter bounds what the forge may ask for. GitHub's limits are reset
// within an hour.
const maxRetryAfter = 6 * time.Hour

// askedToWait says until when the forge wants to be left alone, and whether the turn
// was held back by a limit or because the forge is down for everybody. That ends, so
// waiting for it counts as no attempt; a server that was asked and says "in a minute"
// can do so for ever.
func askedToWait(err error, now time.Time) (until time.Time, held bool) {
	var fe *forge.Error
	if !errors.As(err, &fe) || fe.RetryAfter <= 0 {
		return time.Time{}, false
	}
	return now.Add(min(fe.RetryAfter, maxRetryAfter)), forge.Held(err)
}

// settle ends the turn's job in one transaction with what change makes of the
// subject's row, with the wakes and with the jobs that follow.
func (q *Queue) settle(ctx context.Context, t *turn, wakes []Wake, change func(context.Context, *sql.Tx, *store.SubjectState) error) error {
	subjects := []handlers.Subject{t.state.Subject}
	for _, w := range wakes {
		subjects = append(subjects, w.Subject)
	}
	err := q.inStep(ctx, func(ctx context.Context, tx *sql.Tx) ([]wanted, error) {
		// Subjects before jobs, as whoever accepts a delivery takes them.
		if err := q.store.TakeSubjects(ctx, tx, subjects...); err != nil {
			return nil, err
		}
		if err := q.complete(ctx, tx, t.job); err != nil {
			return nil, err
		}
		st, _, err := q.store.Subject(ctx, tx, t.state.Subject.Key)
		if err != nil {
			return nil, err
		}
		if err := change(ctx, tx, &st); err != nil {
			return nil, err
		}
		if err := q.store.SaveSubject(ctx, tx, st); err != nil {
			return nil, err
		}
		woken, err := q.wakeAll(ctx, tx, wakes)
		if err != nil {
			return nil, err
		}
		if st.Attempts >= q.giveUp() {
			return woken, nil // until something happens
		}
		own := q.nextJobs([]store.SubjectState{st})
		_, err = q.ensure(ctx, tx, own)
		return append(woken, own...), err
	})
	if err != nil {
		return fmt.Errorf("settle turn of %s: %w", t.state.Subject, err)
	}
	q.settled.add(t.job.ID)
	return nil
}

// wakeAll raises other subjects. Whether one is running decides if its pending
// wake-up is still ahead or already used up, so its job is looked at first.
func (q *Queue) wakeAll(ctx context.Context, tx *sql.Tx, wakes []Wake) (jobs []wanted, err error) {
	subjects := make([]handlers.Subject, len(wakes))
	for i, w := range wakes {
		subjects[i] = w.Subject
	}
	if err := q.store.TakeSubjects(ctx, tx, subjects...); err != nil {
		return nil, err
	}
	for _, w := range wakes {
		at := later(w.NotBefore, q.store.Now())
		running, err := q.ensure(ctx, tx, []wanted{{w.Subject.Key, at}})
		if err != nil {
			return nil, err
		}
		if _, err := q.store.WakeSubject(ctx, tx, w.Subject, w.NotBefore, running[w.Subject.Key], q.maxAttempts); err != nil {
			return nil, err
		}
		jobs = append(jobs, wanted{w.Subject.Key, at})
	}
	return jobs, nil
}
