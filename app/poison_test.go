package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign/countersign/app"
	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// A pull request whose turns come to no end is seen as such, and harms no other.

const poisonWords = "poison-words-of-a-panic"

// poison is a transport that panics when the head of one pull request is read.
type poison struct {
	number atomic.Int64
	next   http.RoundTripper
	hits   atomic.Int64
}

func (p *poison) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := p.number.Load(); n != 0 && strings.HasSuffix(r.URL.Path, "/graphql") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte("query Snapshot")) && bytes.Contains(body, fmt.Appendf(nil, `"number":%d`, n)) {
			p.hits.Add(1)
			panic(poisonWords)
		}
	}
	return p.next.RoundTrip(r)
}

func soonGivenUp(w *world) {
	w.retries = app.Retries{MaxAttempts: 2, Backoff: []time.Duration{time.Millisecond}, LatePause: time.Millisecond}
	w.settings.WritesPerMinute = 10_000
}

// errorLines are the log's lines of level error that say that a pull request was
// given up.
func (w *world) errorLines() (references []string) {
	for line := range strings.Lines(w.log.String()) {
		var l struct{ Level, Message, Reference string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Level == "error" && strings.HasPrefix(l.Message, "could not complete") {
			references = append(references, l.Reference)
		}
	}
	return references
}

// givenUps are the records that say so.
func (w *world) givenUps(pull int) (out []trail.Record) {
	for _, r := range w.records(pull, trail.TypeRunError) {
		if w.body(r)["given_up"] != nil {
			out = append(out, r)
		}
	}
	return out
}

var referenceOf = regexp.MustCompile("countersign trail show ([A-Za-z0-9-]+)")

// saidOnce holds that check, trail and log tell of the same one failure.
func (w *world) saidOnce(p *githubsim.Pull) githubsim.CheckRun {
	w.t.Helper()
	w.until(func() bool { return len(w.errorLines()) > 0 && len(w.givenUps(p.Number())) > 0 }, func() string { return "nobody was told" })
	w.until(func() bool {
		var n int
		w.must(w.service.Store().DB().QueryRowContext(w.t.Context(), `SELECT count(*) FROM river_job WHERE state <> 'completed'
			AND (kind = 'given_up' OR CAST(args AS TEXT) LIKE $1)`, fmt.Sprintf(`%%"pull:%d:%d"%%`, w.repo.ID(), p.Number())).Scan(&n))
		return n == 0
	}, func() string { return "jobs are open" })
	run := w.await(p.HeadSHA(), concluded("action_required", "Could not complete · an internal error"))
	lines, records := w.errorLines(), w.givenUps(p.Number())
	found := referenceOf.FindStringSubmatch(run.Output.Summary)
	if len(lines) != 1 || len(records) != 1 || len(found) != 2 || lines[0] != found[1] || records[0].SessionID != found[1] {
		w.t.Errorf("lines %v, records %+v, check %v: want one of each with one reference\n%s", lines, records, found, run.Output.Summary)
	}
	for _, r := range w.repo.AllCheckRuns() {
		if strings.Contains(r.Output.Title+r.Output.Summary+r.Output.Text, poisonWords) {
			w.t.Errorf("the panic's words are in check %d", r.ID)
		}
	}
	for _, r := range w.records(p.Number(), "") {
		if bytes.Contains(r.Body, []byte(poisonWords)) {
			w.t.Errorf("the panic's words are in record %s", r.ID)
		}
	}
	return run
}

// A turn that panics every time.
func TestPoisonedTurnIsSeen(t *testing.T) {
	var bad *poison
	w := newWorld(t, soonGivenUp, func(w *world) {
		bad = &poison{next: w.transport()}
		w.base = bad
	})
	bad.number.Store(1)
	p, other := w.docs("poisoned"), w.docs("other")
	if p.Number() != 1 {
		t.Fatalf("the poisoned pull request is #%d", p.Number())
	}
	w.await(other.HeadSHA(), waiting("Low"))
	run := w.saidOnce(p)
	if n := strings.Count(w.log.String(), `"stack"`); n != 1 {
		t.Errorf("%d stacks in the log, want 1", n)
	}
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d checks, want 1", n)
	}
	w.check(other.HeadSHA(), "build", "success")
	w.await(other.HeadSHA(), concluded("success", "Low · approved"))

	// Told again, as after a crash, it says nothing new.
	records, hits := len(w.records(p.Number(), "")), bad.hits.Load()
	_, err := w.service.Store().DB().ExecContext(t.Context(), `UPDATE river_job SET state = 'available', finalized_at = NULL WHERE kind = 'given_up'`)
	w.must(err)
	w.saidOnce(p)
	if n := len(w.records(p.Number(), "")); n != records || bad.hits.Load() != hits {
		t.Errorf("%d further records, %d further turns", n-records, bad.hits.Load()-hits)
	}

	// An event begins afresh, on the same check.
	bad.number.Store(0)
	w.check(p.HeadSHA(), "build", "success")
	healed := w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	if healed.ID != run.ID {
		t.Errorf("a second check, %d beside %d", healed.ID, run.ID)
	}
	w.verify()
}

// A decision whose recomputation panics does not stay green while CI is red.
func TestPoisonedRecomputationDoesNotStayGreen(t *testing.T) {
	var bad *poison
	w := newWorld(t, soonGivenUp, func(w *world) {
		bad = &poison{next: w.transport()}
		w.base = bad
	})
	p := w.approved("green")
	w.idle()
	bad.number.Store(int64(p.Number()))
	w.check(p.HeadSHA(), "build", "failure")
	w.saidOnce(p)
	bad.number.Store(0)
	_, err := p.Push(githubsim.Change{Path: "docs/green.md", Content: "# second\n"})
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
	w.verify()
}

// A turn that dies before there is a session, where a check of ours is open.
func TestDeathBeforeTheSessionIsSeen(t *testing.T) {
	w := newWorld(t, soonGivenUp)
	p := w.docs("undecodable")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	db := w.service.Store().DB()
	var body string
	w.must(db.QueryRowContext(t.Context(), `SELECT body FROM sessions WHERE pull = $1`, p.Number()).Scan(&body))
	_, err := db.ExecContext(t.Context(), `UPDATE sessions SET body = '{' WHERE pull = $1`, p.Number())
	w.must(err)
	w.check(p.HeadSHA(), "build", "success")
	run := w.saidOnce(p)
	if !strings.Contains(run.Output.Summary, "trail show job-") {
		t.Errorf("no job is named:\n%s", run.Output.Summary)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE sessions SET body = $1 WHERE pull = $2`, body, p.Number())
	w.must(err)
	w.check(p.HeadSHA(), "test", "success")
	if healed := w.await(p.HeadSHA(), concluded("success", "Low · approved")); healed.ID != run.ID {
		t.Errorf("a second check, %d beside %d", healed.ID, run.ID)
	}
}

// killedTwice is what two processes leave behind that died in the same turn.
const killedTwice = `UPDATE river_job SET state = 'running', attempt = 2, scheduled_at = '2026-01-01 00:00:00.000' WHERE kind = 'subject' AND state <> 'completed'`

// The same where the turn was to find out that CI has failed: the approval goes.
func TestKilledRecomputationDoesNotStayGreen(t *testing.T) {
	w := newWorld(t, soonGivenUp, func(w *world) { w.retries.LatePause = time.Hour })
	p := w.approved("killed")
	w.idle()
	w.halt()
	w.settings.Debounce = time.Hour // the turn is still to come
	w.start()
	w.check(p.HeadSHA(), "build", "failure")
	w.until(func() bool {
		var n int
		w.must(w.service.Store().DB().QueryRowContext(t.Context(), `SELECT count(*) FROM subjects WHERE kind = 'pull' AND want_gen > done_gen`).Scan(&n))
		return n == 1
	}, func() string { return "nobody was woken" })
	w.halt()
	w.edit(killedTwice)
	w.edit(`UPDATE subjects SET due_at = NULL`)
	w.start()
	w.await(p.HeadSHA(), concluded("action_required", "Could not complete · an internal error"))
	w.verify()
}

// Turns that take the process down are counted when it is back: the check that they
// left in progress says so, before the hourly attempts begin.
func TestKilledTurnsAreSeen(t *testing.T) {
	w := newWorld(t, soonGivenUp, func(w *world) { w.retries.LatePause = time.Hour })
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: 5 * time.Second})
	p := w.docs("killer")
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
	w.halt()
	w.sim.ClearFaults()
	w.edit(killedTwice)
	w.start()
	w.until(func() bool { return len(w.errorLines()) > 0 }, func() string { return "nobody was told" })
	run := w.await(p.HeadSHA(), concluded("action_required", "Could not complete · an internal error"))
	if found := referenceOf.FindStringSubmatch(run.Output.Summary); len(found) != 2 || found[1] != w.errorLines()[0] || len(w.givenUps(p.Number())) != 1 {
		t.Errorf("check %v, lines %v, %d records", found, w.errorLines(), len(w.givenUps(p.Number())))
	}
	_, err := p.Push(githubsim.Change{Path: "docs/killer.md", Content: "# second\n"})
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
	w.verify()
}
