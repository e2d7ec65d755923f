package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/review/forge"
)

// openJobs counts the jobs that wait or run, and those that River gave up, of
// which there must be none.
func openJobs(t *testing.T, s *store.Store) int {
	t.Helper()
	if n := count(t, s, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state IN ('discarded', 'cancelled')`); n != 0 {
		t.Errorf("River gave %d jobs up", n)
	}
	return count(t, s, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state <> 'completed'`)
}

// failing sends each turn and fails it.
func failing(turns chan Turn) Runner {
	return func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		if turn.Attempt%2 == 0 {
			panic("a panic is a failure too")
		}
		return Outcome{}, errors.New("no luck")
	}
}

func TestFailuresAreRetriedThenTriedLateThenGivenUp(t *testing.T) {
	onBoth(t, testFailuresAreRetriedThenTriedLateThenGivenUp)
}

func testFailuresAreRetriedThenTriedLateThenGivenUp(t *testing.T) {
	const quick, late = 3, 20 * time.Millisecond
	turns, began := make(chan Turn, 100), make(chan time.Time, 100)
	fail := failing(turns)
	q := newQueue(t, Options{Runners: allRunners(func(ctx context.Context, turn Turn) (Outcome, error) {
		began <- time.Now()
		return fail(ctx, turn)
	}), MaxAttempts: quick, Backoff: []time.Duration{time.Millisecond}})
	q.latePause = late
	if err := q.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	accept(t, q, "a", pull(7))
	var last time.Time
	for attempt := 1; attempt <= quick+lateAttempts; attempt++ {
		turn := receive(t, turns, id("attempt %d", attempt))
		if turn.Attempt != attempt || turn.MaxAttempts != quick || !slices.Equal(guids(turn.Events), []string{"a"}) {
			t.Errorf("attempt %d: got %+v", attempt, turn)
		}
		at := <-began
		if waited := at.Sub(last); attempt > quick && waited < late {
			t.Errorf("attempt %d came after %s, want at least %s", attempt, waited, late)
		}
		last = at
	}
	until(t, "no job is open", func() bool { return openJobs(t, q.store) == 0 })
	if err := q.ensureOpen(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(turns) + openJobs(t, q.store); n != 0 {
		t.Fatalf("%d more turns after the last attempt", n)
	}
	// An event is a fresh start, and brings what was left behind.
	accept(t, q, "b", pull(7))
	turn := receive(t, turns, "the turn for the new event")
	if turn.Attempt != 1 || !slices.Equal(guids(turn.Events), []string{"a", "b"}) {
		t.Errorf("fresh start: got %+v", turn)
	}
}

// An hour's wait survives a restart and even the loss of its job, and an event
// ends it.
func TestLateAttemptWaitsAnHourOrForAnEvent(t *testing.T) {
	onBoth(t, testLateAttemptWaitsAnHourOrForAnEvent)
}

func testLateAttemptWaitsAnHourOrForAnEvent(t *testing.T) {
	s := tempStore(t)
	turns := make(chan Turn, 100)
	opts := Options{Store: s, Runners: allRunners(failing(turns)), MaxAttempts: 2, Backoff: []time.Duration{time.Millisecond}}
	first := startQueue(t, opts)
	accept(t, first, "a", pull(7))
	receive(t, turns, "the first attempt")
	receive(t, turns, "the last quick attempt")
	until(t, "the failure is settled", func() bool { return subjectState(t, s, pull(7).Key).Attempts == 2 })
	inAnHour := func(when string) {
		t.Helper()
		at := time.Now().UTC().Add(latePause).Add(-time.Minute).Format("2006-01-02 15:04:05.000")
		if n := count(t, s, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state = 'scheduled' AND scheduled_at > $1`, at); n != 1 || openJobs(t, s) != 1 {
			t.Errorf("%s: %d jobs wait for an hour, %d are open; want one", when, n, openJobs(t, s))
		}
	}
	inAnHour("after the last quick attempt")
	stop(t, first)
	exec(t, s, `DELETE FROM river_job`)
	second := startQueue(t, opts)
	inAnHour("after a restart")
	accept(t, second, "b", pull(7))
	if turn := receive(t, turns, "the turn for the event"); turn.Attempt != 1 || len(turn.Events) != 2 {
		t.Errorf("fresh start: got %+v", turn)
	}
}

// A wake-up from another subject during a late attempt is a fresh start too.
func TestWakeDuringALateAttemptIsAFreshStart(t *testing.T) {
	onBoth(t, testWakeDuringALateAttemptIsAFreshStart)
}

func testWakeDuringALateAttemptIsAFreshStart(t *testing.T) {
	turns, finish := make(chan Turn, 10), make(chan struct{}, 10)
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		if turn.Subject != pull(7) {
			return Outcome{Wake: []Wake{{Subject: pull(7)}}}, nil
		}
		turns <- turn
		<-finish
		return Outcome{}, errors.New("no luck")
	}), MaxAttempts: 1})
	accept(t, q, "a", pull(7))
	receive(t, turns, "the only quick attempt")
	accept(t, q, "h", pull(8))
	until(t, "the wake is there", func() bool { return subjectState(t, q.store, pull(7).Key).Want == 2 })
	finish <- struct{}{}
	if turn := receive(t, turns, "the turn for the wake"); turn.Attempt != 1 || turn.Generation != 2 {
		t.Errorf("fresh start: got %+v", turn)
	}
	finish <- struct{}{}
}

func TestEventBringsARetryForward(t *testing.T) { onBoth(t, testEventBringsARetryForward) }

func testEventBringsARetryForward(t *testing.T) {
	turns := make(chan Turn, 10)
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		if turn.Attempt == 1 {
			return Outcome{}, errors.New("no luck")
		}
		return Outcome{}, nil
	}), Backoff: []time.Duration{time.Hour}})
	accept(t, q, "a", pull(7))
	receive(t, turns, "the first attempt")
	until(t, "the failure is settled", func() bool { return subjectState(t, q.store, pull(7).Key).Attempts == 1 })
	accept(t, q, "b", pull(7))
	turn := receive(t, turns, "the second attempt")
	if turn.Attempt != 2 || len(turn.Events) != 2 {
		t.Errorf("got %+v", turn)
	}
	until(t, "the pull is idle", isIdle(t, q.store, pull(7).Key))
}

func TestForgeThatAsksToWaitIsObeyed(t *testing.T) { onBoth(t, testForgeThatAsksToWaitIsObeyed) }

func testForgeThatAsksToWaitIsObeyed(t *testing.T) {
	for _, tc := range []struct {
		name        string
		kind        forge.Kind
		after, wait time.Duration // what the forge says, what must pass
		pause       time.Duration
		attempt     int // of the second turn
	}{
		{"a limit costs no attempt", forge.KindRateLimited, 250 * time.Millisecond, 250 * time.Millisecond, time.Millisecond, 1},
		{"nor does one that ends before the pause", forge.KindRateLimited, time.Millisecond, 0, 100 * time.Millisecond, 1},
		{"a server that is down does", forge.KindUnavailable, 250 * time.Millisecond, 250 * time.Millisecond, time.Millisecond, 2},
		{"a limit that names no time does", forge.KindRateLimited, 0, 0, time.Millisecond, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			began := make(chan Turn, 10)
			var first time.Time
			q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
				began <- turn
				if first.IsZero() {
					first = time.Now()
					err := &forge.Error{Kind: tc.kind, Op: "compare", Status: 403, RetryAfter: tc.after}
					return Outcome{}, fmt.Errorf("collect: %w", err)
				}
				if waited := time.Since(first); waited < tc.wait {
					t.Errorf("came back after %s, want at least %s", waited, tc.wait)
				}
				return Outcome{}, nil
			}), Backoff: []time.Duration{tc.pause}})
			accept(t, q, "a", pull(7))
			receive(t, began, "the first turn")
			if tc.wait > 0 {
				accept(t, q, "b", pull(7)) // not even an event shortens it
			}
			if turn := receive(t, began, "the second turn"); turn.Attempt != tc.attempt || tc.wait > 0 && len(turn.Events) != 2 {
				t.Errorf("want attempt %d and all events: got %+v", tc.attempt, turn)
			}
			until(t, "the pull is idle", isIdle(t, q.store, pull(7).Key))
		})
	}
}

// A 503 that says "in a while" for ever must not be asked for ever.
func TestForgeThatStaysDownIsGivenUp(t *testing.T) { onBoth(t, testForgeThatStaysDownIsGivenUp) }

func testForgeThatStaysDownIsGivenUp(t *testing.T) {
	turns := make(chan Turn, 100)
	q := newQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		return Outcome{}, &forge.Error{Kind: forge.KindUnavailable, Op: "compare", Status: 503, RetryAfter: 5 * time.Millisecond}
	}), MaxAttempts: 2, Backoff: []time.Duration{time.Millisecond}})
	q.latePause = time.Millisecond
	if err := q.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	accept(t, q, "a", pull(7))
	for range 2 + lateAttempts {
		receive(t, turns, "an attempt")
	}
	until(t, "no job is open", func() bool { return openJobs(t, q.store) == 0 })
}

func TestPostponedTurnComesAgain(t *testing.T) { onBoth(t, testPostponedTurnComesAgain) }

func testPostponedTurnComesAgain(t *testing.T) {
	const wait = 250 * time.Millisecond
	turns := make(chan Turn, 10)
	var first time.Time
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		if turn.Attempt == 1 {
			return Outcome{}, errors.New("no luck")
		}
		turns <- turn
		if first.IsZero() {
			first = time.Now()
			return Outcome{Postpone: wait, Settle: time.Hour, RecheckAt: first.Add(time.Hour)}, nil // nothing but the first counts
		}
		if waited := time.Since(first); waited < wait {
			t.Errorf("came back after %s, want at least %s", waited, wait)
		}
		return Outcome{}, nil
	}), Backoff: []time.Duration{time.Millisecond}})
	accept(t, q, "a", pull(7))
	receive(t, turns, "the turn")
	until(t, "it is postponed", func() bool { return !subjectState(t, q.store, pull(7).Key).Settle.IsZero() })
	if n := count(t, q.store, `SELECT count(*) FROM deliveries WHERE state = 'recorded'`); n != 0 {
		t.Errorf("%d deliveries are marked as recorded", n)
	}
	if st := subjectState(t, q.store, pull(7).Key); st.Done != 0 || st.Attempts != 1 || !st.Recheck.IsZero() {
		t.Errorf("postponed: got %+v", st)
	}
	accept(t, q, "b", pull(7)) // joins, and shortens nothing
	turn := receive(t, turns, "the turn again")
	if turn.Attempt != 2 || !slices.Equal(guids(turn.Events), []string{"a", "b"}) {
		t.Errorf("again: got %+v", turn)
	}
	until(t, "the pull is idle", isIdle(t, q.store, pull(7).Key))
	if n := count(t, q.store, `SELECT count(*) FROM deliveries WHERE state = 'recorded'`); n != 2 {
		t.Errorf("%d deliveries are marked as recorded, want 2", n)
	}
}

func TestTurnThatKillsTheProcessIsGivenUp(t *testing.T) {
	onBoth(t, testTurnThatKillsTheProcessIsGivenUp)
}

func testTurnThatKillsTheProcessIsGivenUp(t *testing.T) {
	s := tempStore(t)
	runners := allRunners(func(context.Context, Turn) (Outcome, error) {
		t.Error("the runner was called again")
		return Outcome{}, nil
	})
	opts := Options{Store: s, Runners: runners, MaxAttempts: 3}
	q := newQueue(t, opts)
	accept(t, q, "a", pull(7))
	for _, step := range []struct {
		name       string
		jobAttempt int // how often the job began before the process died
		attempts   int // counted afterwards
		open       int
	}{
		{"the last quick attempt", 3, 3, 1},
		{"a late attempt", 1, 4, 1},
		{"late attempts without a pause", lateAttempts - 2, 2 + lateAttempts, 1},
		{"the last late attempt", 1, 3 + lateAttempts, 0},
	} {
		exec(t, s, id(`UPDATE river_job SET state = 'running', attempt = %d, scheduled_at = '2026-01-01 00:00:00.000' WHERE kind = 'subject' AND state <> 'completed'`, step.jobAttempt))
		exec(t, s, `UPDATE subjects SET due_at = NULL, urgent_gen = want_gen`) // the hour has passed
		if err := q.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		until(t, step.name+" is counted", func() bool { return subjectState(t, s, pull(7).Key).Attempts == step.attempts })
		if n := openJobs(t, s); n != step.open {
			t.Errorf("%s: %d jobs are open, want %d", step.name, n, step.open)
		}
		if st := subjectState(t, s, pull(7).Key); step.open == 1 && time.Until(st.Due) < latePause-time.Minute {
			t.Errorf("%s: the next is due at %s, want in an hour", step.name, st.Due)
		}
		stop(t, q)
		q = newQueue(t, opts)
	}
}

// A turn that cannot even begin is River's to repeat; it must neither discard the
// job nor go on for ever.
func TestTurnThatCannotBeginIsTriedLate(t *testing.T) { onBoth(t, testTurnThatCannotBeginIsTriedLate) }

func testTurnThatCannotBeginIsTriedLate(t *testing.T) {
	s := tempStore(t)
	turns := make(chan Turn, 10)
	q := newQueue(t, Options{Store: s, Runners: allRunners(failing(turns)), MaxAttempts: 2, Backoff: []time.Duration{time.Millisecond}})
	accept(t, q, "a", pull(7))
	exec(t, s, `UPDATE deliveries SET hint = '{'`)
	if err := q.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	until(t, "it is counted", func() bool { return subjectState(t, s, pull(7).Key).Attempts == 2 })
	until(t, "the next is a job of its own", func() bool {
		return count(t, s, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state = 'scheduled' AND attempt = 0`) == 1 && openJobs(t, s) == 1
	})
	if n := len(turns); n != 0 {
		t.Errorf("the runner was called %d times", n)
	}
}
