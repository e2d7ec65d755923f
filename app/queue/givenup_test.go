package queue

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/countersign/countersign/handlers"
)

// Who is given up is told of until it is heard.
func TestGivenUpIsTold(t *testing.T) {
	told := make(chan GivenUp, 100)
	refused := false
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		return Outcome{}, errors.New("secret words of the error")
	}), MaxAttempts: 1, Backoff: []time.Duration{time.Millisecond}, LatePause: time.Millisecond,
		GivenUp: func(_ context.Context, g GivenUp) error {
			if !refused {
				refused = true
				return errors.New("not now")
			}
			told <- g
			return nil
		}})
	accept(t, q, "a", pull(7))
	// Once when the quick attempts are over, once when all are. The first may come
	// late, since it is refused at first.
	attempts := 0
	for range 2 {
		g := receive(t, told, "the word")
		if g.Subject != pull(7) || g.Generation != 1 || g.Reason != reasonFailed || g.Job == 0 || g.Last != (g.Attempts > 1) {
			t.Errorf("told %+v", g)
		}
		attempts += g.Attempts
	}
	if attempts != 1+1+lateAttempts {
		t.Errorf("told of %d attempts in all", attempts)
	}
	until(t, "nothing is open", func() bool {
		return count(t, q.store, `SELECT count(*) FROM river_job WHERE state NOT IN ('completed') AND kind IN ('given_up', 'subject')`) == 0
	})
	if n := len(told); n != 0 {
		t.Errorf("told %d times more", n)
	}
	if n := count(t, q.store, `SELECT count(*) FROM river_job WHERE CAST(args AS TEXT) LIKE '%secret%'`); n != 0 {
		t.Error("the error's text is in a job")
	}
}

// Turns that do not end are told of before the hourly attempts begin; an event that
// comes first makes it moot.
func TestTurnsThatDoNotEndAreTold(t *testing.T) {
	for name, event := range map[string]bool{"nothing happens": false, "an event comes first": true} {
		t.Run(name, func(t *testing.T) {
			s := tempStore(t)
			told := make(chan GivenUp, 10)
			opts := Options{Store: s, MaxAttempts: 3, Runners: allRunners(func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil }),
				GivenUp: func(_ context.Context, g GivenUp) error { told <- g; return nil }}
			q := newQueue(t, opts)
			accept(t, q, "a", pull(7))
			if event {
				err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					st, _, err := s.Subject(ctx, tx, pull(7).Key)
					if err != nil {
						return err
					}
					st.Attempts = 3
					return q.tellGivenUp(ctx, tx, st, reasonDidNotEnd, 1)
				})
				if err != nil {
					t.Fatal(err)
				}
				accept(t, q, "b", pull(7))
			} else {
				exec(t, s, `UPDATE river_job SET state = 'running', attempt = 3, scheduled_at = '2026-01-01 00:00:00.000' WHERE kind = 'subject'`)
			}
			if err := q.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			if !event {
				if g := receive(t, told, "the word"); g.Reason != reasonDidNotEnd || g.Attempts != 3 {
					t.Errorf("told %+v", g)
				}
				return
			}
			until(t, "both jobs are done", func() bool {
				return count(t, s, `SELECT count(*) FROM river_job WHERE state <> 'completed' AND kind IN ('given_up', 'subject')`) == 0
			})
			if len(told) != 0 {
				t.Errorf("told %+v although an event came", <-told)
			}
		})
	}
}

// What is chosen, and what is written beside it, is one commit.
func TestWakeFromOutside(t *testing.T) {
	turns := make(chan Turn, 10)
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		return Outcome{}, nil
	})})
	exec(t, q.store, `CREATE TABLE beside (n INTEGER)`)
	wake := func(fail error) error {
		return q.Wake(t.Context(), func(ctx context.Context, tx *sql.Tx) ([]Wake, error) {
			if _, err := tx.ExecContext(ctx, `INSERT INTO beside VALUES (1)`); err != nil {
				return nil, err
			}
			return []Wake{{Subject: handlers.PullSubject(1, 9)}}, fail
		})
	}
	if err := wake(errors.New("no")); err == nil {
		t.Error("want the error of choose")
	}
	if n := count(t, q.store, `SELECT count(*) FROM beside`) + openJobs(t, q.store); n != 0 {
		t.Errorf("%d things were left behind", n)
	}
	if err := wake(nil); err != nil {
		t.Fatal(err)
	}
	if turn := receive(t, turns, "the turn"); turn.Subject != handlers.PullSubject(1, 9) || len(turn.Events) != 0 {
		t.Errorf("got %+v", turn)
	}
	if n := count(t, q.store, `SELECT count(*) FROM beside`); n != 1 {
		t.Errorf("%d rows beside, want 1", n)
	}
}
