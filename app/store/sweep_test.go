package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/session"
)

// past writes as if it were days ago.
type past struct {
	*Store
	t   *testing.T
	now *time.Time
}

func (p past) ago(days int, write func(ctx context.Context) error) {
	p.t.Helper()
	real := *p.now
	*p.now = real.AddDate(0, 0, -days)
	defer func() { *p.now = real }()
	if err := write(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p past) pull(number int, state forge.PullState, days int) {
	p.t.Helper()
	p.ago(days, func(ctx context.Context) error {
		return p.RememberPull(ctx, session.KnownPull{Ref: forge.PullRef{Repo: pubRepo(), Number: number}, State: state, UpdatedAt: p.Now()})
	})
}

// want compares what is left of a table.
func (p past) want(query, want string) {
	p.t.Helper()
	var got sql.NullString
	if err := p.db.QueryRowContext(p.t.Context(), `SELECT string_agg(CAST(x AS TEXT), ' ') FROM (`+query+`) q`).Scan(&got); err != nil || got.String != want {
		p.t.Errorf("%s: got %q, %v; want %q", query, got.String, err, want)
	}
}

// sweep removes row by row, so that rounds are needed.
func (p past) sweep() {
	p.t.Helper()
	if _, err := p.Sweep(p.t.Context(), Retention{}, 1, 1000); err != nil {
		p.t.Fatal(err)
	}
}

func newPast(t *testing.T) past {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	return past{newSpineStore(t, &now), t, &now}
}

func TestSweepDeliveries(t *testing.T) { onBoth(t, testSweepDeliveries) }

func testSweepDeliveries(t *testing.T) {
	p := newPast(t)
	repo, days := handlers.RepoSubject(1), func(n int) time.Time { return p.now.AddDate(0, 0, -n) }
	// Not quite in the order of their times, as they may be.
	saveDeliveries(t, p.Store, newDelivery(t, p.Store, "old", repo, days(91), "x"), newDelivery(t, p.Store, "week", repo, days(8), "x"), newDelivery(t, p.Store, "old-open", repo, days(91), "x"),
		newDelivery(t, p.Store, "week-open", repo, days(8), "x"), newDelivery(t, p.Store, "new", repo, days(1), "x"))
	mark(t, p.Store, "new", "week", "old")
	for n, state := range map[int]forge.PullState{1: "open", 2: "merged"} {
		p.pull(n, state, 200)
	}
	p.pull(3, "closed", 2)
	p.ago(100, func(ctx context.Context) error {
		return p.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for key, st := range map[string]SubjectState{"idle": {Want: 2, Done: 2}, "waits": {Want: 3, Done: 2}, "rechecks": {Want: 1, Done: 1, Recheck: p.Now()}} {
				st.Subject = handlers.Subject{Kind: handlers.SubjectRepo, Key: key}
				if err := p.SaveSubject(ctx, tx, st); err != nil {
					return err
				}
			}
			return nil
		})
	})
	p.sweep()
	p.want(`SELECT guid x FROM deliveries ORDER BY guid`, "new old-open week week-open")
	p.want(`SELECT d.guid x FROM delivery_payloads p JOIN deliveries d ON d.seq = p.seq ORDER BY d.guid`, "new old-open week-open")
	p.want(`SELECT key x FROM subjects ORDER BY key`, "rechecks waits")
	p.want(`SELECT number x FROM pulls ORDER BY number`, "1 3")
}

func TestSweepSessions(t *testing.T) { onBoth(t, testSweepSessions) }

func testSweepSessions(t *testing.T) {
	p := newPast(t)
	save := func(id string, pull, days int) {
		t.Helper()
		p.ago(days, func(ctx context.Context) error {
			return p.SaveSession(ctx, session.Session{ID: id, Pull: forge.PullRef{Repo: pubRepo(), Number: pull}, Status: session.Failed})
		})
	}
	p.pull(1, forge.PullOpen, 200)
	p.pull(2, forge.PullMerged, 10)
	save("a1", 1, 200)
	save("a2", 1, 8)
	save("a3", 1, 6)
	save("a1", 1, 5) // an older one that is saved again is not the newest again
	save("b1", 1, 4)
	save("b0", 1, 9)      // nor is one that comes late
	save("c1", 2, 91)     // closed
	save("c2", 2, 89)     // closed, not long enough
	save("d1", 3, 91)     // unknown
	save("e1", 4, 91)     // open
	save("e1", 4, 91)     // saved twice
	p.pull(4, "open", 91) // its head never moved
	p.sweep()
	p.want(`SELECT id x FROM sessions ORDER BY id`, "a1 a3 b1 c2 e1")
	p.want(`SELECT id x FROM sessions WHERE newest ORDER BY id`, "b1 c2 e1")
	if latest, ok, err := p.LatestSession(t.Context(), pubRepo().ID, 1); err != nil || !ok || latest.ID != "b1" {
		t.Errorf("newest session: got %s, %v, %v", latest.ID, ok, err)
	}
	p.ago(-7, func(context.Context) error { p.sweep(); return nil })
	p.want(`SELECT id x FROM sessions ORDER BY id`, "b1 e1")
}

func TestSweepHeadsAndSources(t *testing.T) { onBoth(t, testSweepHeadsAndSources) }

func testSweepHeadsAndSources(t *testing.T) {
	p := newPast(t)
	head := func(sha string, days int) {
		t.Helper()
		p.ago(days, func(ctx context.Context) error {
			_, err := p.Head(ctx, 42, sha, p.Now())
			return err
		})
	}
	learn := func(name string, days int) {
		t.Helper()
		p.ago(days, func(ctx context.Context) error {
			return p.LearnSources(ctx, 42, []session.Source{{Name: name, AppID: 1, Workflow: "ci.yml"}})
		})
	}
	head("old", 91)
	head("new", 89)
	head("checked", 100)
	p.ago(50, func(ctx context.Context) error {
		return p.SaveHeadChecks(ctx, 42, "checked", []collect.Row{{Name: "build"}}, p.Now())
	})
	head("rerun", 100)
	p.ago(50, func(ctx context.Context) error { return p.SetRerun(ctx, 42, "rerun", true) })
	learn("gone", 100)
	learn("used", 100)
	learn("used", 50)
	p.sweep()
	p.want(`SELECT sha x FROM heads ORDER BY sha`, "checked new rerun")
	p.want(`SELECT name x FROM check_sources ORDER BY name`, "used")
	if h, err := p.Head(t.Context(), 42, "checked", p.Now()); err != nil || !h.SeenAt.Equal(p.now.AddDate(0, 0, -100)) {
		t.Errorf("when a head was seen first: got %s, %v", h.SeenAt, err)
	}
}

func TestSweepPublications(t *testing.T) { onBoth(t, testSweepPublications) }

func testSweepPublications(t *testing.T) {
	p := newPast(t)
	save := func(name, head string, pull, days int, status string) {
		t.Helper()
		p.ago(days, func(ctx context.Context) error {
			state := publish.StateDraft
			if status == "superseded" {
				state, status = publish.StateSuperseded, "completed"
			}
			row := claim(t, p.Store, "one", p.Now(), name, pubView(pull, head, state)).Publication
			row.CheckRunID, row.Status, row.UpdatedAt, row.LeaseUntil = 1, status, p.Now(), time.Time{}
			return p.SavePublication(ctx, row)
		})
	}
	p.pull(1, forge.PullOpen, 200)
	p.pull(2, forge.PullClosed, 10)
	for n := 4; n < 8; n++ {
		p.pull(n, forge.PullOpen, 200)
	}
	save(publish.CheckName, "open", 1, 91, "completed")
	save(publish.CheckName, "closed", 2, 91, "completed")
	save(publish.CheckName, "closed-lately", 2, 89, "completed")
	save(publish.CheckName, "unknown", 3, 91, "completed")
	save(publish.CheckName, "waits", 2, 91, "in_progress")
	save(publish.CheckName, "superseded", 4, 91, "superseded")
	save(publish.CheckName, "moved", 5, 92, "completed")
	save(publish.CheckName, "moved-to", 5, 91, "completed")
	save(publish.CheckName, "shared", 2, 91, "completed")
	save(publish.CheckName, "shared", 6, 91, "completed")
	save(publish.CheckName, "base-ungated", 7, 91, "completed")
	save(publish.AdvisoryName, "base-ungated", 7, 91, "completed")
	p.sweep()
	p.want(`SELECT head_sha || '/' || name x FROM publications ORDER BY x`,
		"base-ungated/"+publish.AdvisoryName+" closed-lately/countersign moved-to/countersign open/countersign shared/countersign waits/countersign")
	p.want(`SELECT head_sha || '/' || name || '/' || pull x FROM publication_views ORDER BY x`,
		"base-ungated/"+publish.AdvisoryName+"/7 closed-lately/countersign/2 moved-to/countersign/5 open/countersign/1 shared/countersign/2 shared/countersign/6 waits/countersign/2")
}

// A sweep holds up every other commit: it may not look at rows that are not old,
// nor sort them.
func TestSweepFindsOldRowsByIndex(t *testing.T) {
	p := newPast(t)
	for _, step := range p.sweepSteps(Retention{}, *p.now) {
		plan := p.plan(step)
		if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH") {
			t.Errorf("%s\nis done by\n%s", step.sql, plan)
		}
	}
}

func (p past) plan(step sweepStep) string {
	p.t.Helper()
	rows, err := p.db.QueryContext(p.t.Context(), `EXPLAIN QUERY PLAN `+step.sql, step.before, 10)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			p.t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
	return plan.String()
}

// Rounds bound a sweep, and large rows go in smaller steps.
func TestSweepIsBounded(t *testing.T) { onBoth(t, testSweepIsBounded) }

func testSweepIsBounded(t *testing.T) {
	p := newPast(t)
	for i := range 40 {
		p.ago(100, func(ctx context.Context) error {
			_, err := p.Head(ctx, 42, fmt.Sprint(i), p.Now())
			return err
		})
	}
	if n, err := p.Sweep(t.Context(), Retention{}, 8*wideRows, 2); err != nil || n != 16 {
		t.Errorf("two rounds removed %d, %v; want 16", n, err)
	}
	if n, err := p.Sweep(t.Context(), Retention{}, 8*wideRows, 100); err != nil || n != 24 {
		t.Errorf("the rest: %d, %v; want 24", n, err)
	}
}
