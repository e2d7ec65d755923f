package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/review/trail"
)

// untilWaiting returns when somebody waits for a lock of another transaction.
func untilWaiting(t *testing.T, s *Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		var n int
		if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		<-tick.C
	}
}

// TestSweepLeavesWhatChangesMeanwhile changes each kind of row while the sweep that
// has found it waits for it: the change must win. The rows are as old as they come.
func TestSweepLeavesWhatChangesMeanwhile(t *testing.T) {
	onBoth(t, testSweepLeavesWhatChangesMeanwhile)
}

func testSweepLeavesWhatChangesMeanwhile(t *testing.T) {
	if !onPostgres(t) {
		return // there, a sweep finds and removes with the file to itself
	}
	p := newPast(t)
	subject := handlers.RepoSubject(1)
	tests := []struct {
		table  string
		make   func(ctx context.Context) error
		change string
	}{
		{"subjects", func(ctx context.Context) error {
			return p.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				return p.SaveSubject(ctx, tx, SubjectState{Subject: subject, Want: 1, Done: 1})
			})
		}, `UPDATE subjects SET want_gen = 2`},
		{"pulls", func(ctx context.Context) error {
			return p.RememberPull(ctx, session.KnownPull{Ref: forge.PullRef{Repo: pubRepo(), Number: 1}, State: forge.PullClosed, UpdatedAt: p.Now()})
		}, `UPDATE pulls SET state = 'open'`},
		{"sessions", func(ctx context.Context) error {
			return p.SaveSession(ctx, session.Session{ID: "a", Pull: forge.PullRef{Repo: pubRepo(), Number: 9}})
		}, `UPDATE sessions SET updated_at = now()`},
		{"heads", func(ctx context.Context) error { _, err := p.Head(ctx, 42, "sha", p.Now()); return err }, `UPDATE heads SET rerun = TRUE`},
		{"check_sources", func(ctx context.Context) error {
			return p.LearnSources(ctx, 42, []session.Source{{Name: "build"}})
		}, `UPDATE check_sources SET seen_at = now()`},
		{"publications", func(context.Context) error {
			claim(t, p.Store, "one", p.Now(), publish.CheckName, pubView(7, pubHeadA, publish.StateClosed))
			return nil
		}, `UPDATE publications SET waiting = TRUE`},
	}
	for _, tt := range tests {
		p.ago(200, tt.make)
		tx, err := p.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), tt.change); err != nil {
			t.Fatal(err)
		}
		swept := make(chan error, 1)
		go func() { _, err := p.Sweep(context.Background(), Retention{}, 100, 1); swept <- err }()
		untilWaiting(t, p.Store)
		if err := errors.Join(tx.Commit(), <-swept); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := p.db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+tt.table).Scan(&left); err != nil || left != 1 {
			t.Errorf("%s: %d rows are left, %v; what has just changed must stay", tt.table, left, err)
		}
	}
}

// However two heads of one pull request are claimed at once, it speaks on one.
func TestPullSpeaksOnOneHead(t *testing.T) { onBoth(t, testPullSpeaksOnOneHead) }

func testPullSpeaksOnOneHead(t *testing.T) {
	s := openTrail(t)
	const rounds = 25
	for i := range rounds {
		var wg sync.WaitGroup
		for _, head := range []string{fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)} {
			wg.Go(func() {
				v := pubView(7, head, publish.StateInProgress)
				if _, err := s.ClaimPublication(t.Context(), publish.Claim{Key: pubKey(head, publish.CheckName), Repo: pubRepo(), Owner: "one", Now: pubClock(), Until: pubClock(), View: v}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var live int
		if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM publication_views WHERE live`).Scan(&live); err != nil || live != 1 {
			t.Fatalf("round %d: the pull request speaks on %d heads, %v", i, live, err)
		}
	}
}

// A role may have a default isolation under which a statement does not see what
// others committed since the transaction began.
func TestDefaultIsolationDoesNotMatter(t *testing.T) {
	s, err := Open(t.Context(), Options{URL: postgres.Prepared(t, migrated) + "&default_transaction_isolation=serializable", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	log := trail.NewLog(s, "1", trailClock)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if _, err := log.Append(t.Context(), trail.PullChain(1, 1), trailDraft(trail.TypeToolUse, "s")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if report, err := trail.Verify(t.Context(), s); err != nil || !report.OK() || report.Records != 80 {
		t.Errorf("report = %+v, %v", report, err)
	}
}

// A transaction that PostgreSQL gave up for another's sake runs again.
func TestDeadlockRunsAgain(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		s := newSpineStore(t, nil)
		mustExec(t, s, `INSERT INTO repos (id, owner, name, installation) VALUES (1, '', '', 0), (2, '', '', 0)`)
		var meet, met sync.WaitGroup
		meet.Add(2)
		runs := make([]int, 2)
		for i := range 2 {
			met.Go(func() {
				err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					runs[i]++
					for step, id := range []int{i + 1, 2 - i} {
						if _, err := tx.ExecContext(ctx, `UPDATE repos SET installation = installation + 1 WHERE id = $1`, id); err != nil {
							return err
						}
						if step == 0 && runs[i] == 1 {
							meet.Done()
							meet.Wait()
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		met.Wait()
		var sum int
		if err := s.db.QueryRowContext(t.Context(), `SELECT sum(installation) FROM repos`).Scan(&sum); err != nil || sum != 4 || runs[0]+runs[1] != 3 {
			t.Errorf("sum %d, runs %v, %v; want 4 and one run again", sum, runs, err)
		}
	})
}
