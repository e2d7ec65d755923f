package app_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/review/trail"
)

// These tests hold that a check never stays at something that is not so.

// approved opens a pull request whose check is green.
func (w *world) approved(branch string) *githubsim.Pull {
	w.t.Helper()
	p := w.docs(branch)
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low"))
	w.idle()
	return p
}

// A comment between a failed attempt and its retry does not stand for the retry.
func TestCommentBeforeTheRetry(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Times: 3, Status: http.StatusBadGateway})
	p := w.docs("talkative")
	w.until(func() bool { return len(w.records(p.Number(), trail.TypeRunError)) == 1 }, func() string { return "no error" })
	_, err := p.Comment("mona", "is anybody there?")
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
}

// A comment on a decided pull request costs no call and wakes no gate.
func TestCommentsAreFree(t *testing.T) {
	w := newWorld(t)
	p := w.approved("quiet")
	w.sim.ResetRequests()
	for range 3 {
		_, err := p.Comment("stranger", "nice")
		w.must(err)
		w.idle()
	}
	if total, routes := w.calls(); total != 0 {
		t.Errorf("%d calls for three comments: %v", total, routes)
	}
}

// `closed` arrives after `reopened`: the pull request is open, and its check
// follows CI (case 56).
func TestCase056_ClosedAfterReopened(t *testing.T) {
	w := newWorld(t)
	p := w.approved("reopened")
	w.sim.Hold()
	w.must(p.Close(false))
	w.must(p.Reopen())
	for _, action := range []string{"reopened", "closed"} {
		d := w.lastDelivery("pull_request", action)
		_, err := w.sim.DeliverHeld(t.Context(), d.GUID)
		w.must(err)
		w.until(func() bool { return w.handled(d.GUID) }, func() string { return action + " was not worked" })
	}
	w.sim.Release()
	w.idle()
	w.check(p.HeadSHA(), "build", "failure")
	w.await(p.HeadSHA(), concluded("failure", "Low · changes requested"))
}

// handled: the delivery stands in the trail.
func (w *world) handled(guid string) bool {
	w.t.Helper()
	var state string
	err := w.service.Store().DB().QueryRowContext(context.Background(), `SELECT state FROM deliveries WHERE guid = $1`, guid).Scan(&state)
	w.must(err)
	return state == "recorded"
}

// A merge whose delivery was lost, and a late CI event: what was decided stays.
func TestMergedUnnoticed(t *testing.T) {
	w := newWorld(t)
	p := w.approved("merged")
	w.sim.Hold()
	w.must(p.Merge("merge", "mona"))
	w.must(w.sim.DropHeld(w.lastDelivery("pull_request", "closed").GUID))
	w.sim.Release()
	before := len(w.records(p.Number(), trail.TypePublish))
	ends := len(w.records(p.Number(), trail.TypeRunEnd))
	w.check(p.HeadSHA(), "late", "failure")
	w.until(func() bool { return len(w.records(p.Number(), trail.TypeRunEnd)) > ends }, func() string { return "nobody looked" })
	w.idle()
	if run := w.ours(p.HeadSHA(), publish.CheckName)[0]; run.Conclusion != "success" {
		t.Errorf("the merged head's check became %s: %q", run.Conclusion, run.Output.Title)
	}
	if after := len(w.records(p.Number(), trail.TypePublish)); after != before {
		t.Errorf("%d publications after the merge", after-before)
	}
}

// draftAndTwin opens a draft and, on the same head, a pull request that alone would
// be green.
func (w *world) draftAndTwin() *githubsim.Pull {
	w.t.Helper()
	draft, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Draft of the docs", Author: "mona", Head: "one", Draft: true,
		Changes: []githubsim.Change{{Path: "docs/one.md", Content: "# x\n"}}})
	w.must(err)
	w.await(draft.HeadSHA(), concluded("action_required", "Draft"))
	w.must(w.repo.CreateBranch("two", draft.HeadSHA()))
	w.check(draft.HeadSHA(), "build", "success")
	_, err = w.repo.OpenPull(githubsim.PullSpec{Title: "The docs for all of us", Author: "mona", Head: "two"})
	w.must(err)
	w.idle()
	return draft
}

// One of two pull requests on a head is closed: the other's check says so at once.
func TestSharedHeadOneCloses(t *testing.T) {
	w := newWorld(t)
	draft := w.draftAndTwin()
	w.await(draft.HeadSHA(), concluded("action_required", "Draft"))
	w.must(draft.Close(false))
	w.await(draft.HeadSHA(), concluded("success", "Low · approved"))
}

// A hundred very long paths that were not read whole: no record is too long to be
// written, and the check is decided.
func TestLongPaths(t *testing.T) {
	w := newWorld(t)
	dir := "src/" + strings.Repeat("<", 200) + "/" + strings.Repeat("&", 200) + "/" + strings.Repeat("漢", 80)
	var changes []githubsim.Change
	for i := range 100 {
		changes = append(changes, githubsim.Change{Path: fmt.Sprintf("%s/f%d.go", dir, i), Content: "package x\n"})
	}
	p := w.open("long", changes...)
	w.await(p.HeadSHA(), waiting("High"))
	w.idle()
	if errs := w.records(p.Number(), trail.TypeRunError); len(errs) > 0 {
		t.Errorf("%s", errs[0].Body)
	}
	w.verify()
}

// Machines of GitHub may not have heard of a push yet: one "not found" is tried
// again.
func TestNotFoundOnce(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Times: 1, Status: http.StatusNotFound})
	p := w.docs("lagging")
	w.await(p.HeadSHA(), waiting("Low"))
}

// The event of an older head arrives while the newer one is being read (case 56).
func TestCase056_OlderHeadDuringASession(t *testing.T) {
	w := newWorld(t)
	w.sim.Hold()
	p := w.docs("late")
	old, made := p.HeadSHA(), time.Now()
	w.until(func() bool { return time.Since(made) > 1100*time.Millisecond }, func() string { return "" }) // GitHub's times have seconds
	_, err := p.Push(githubsim.Change{Path: "docs/late.md", Content: "# second\n"})
	w.must(err)
	opened, synced := w.lastDelivery("pull_request", "opened"), w.lastDelivery("pull_request", "synchronize")
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
	_, err = w.sim.DeliverHeld(t.Context(), synced.GUID)
	w.must(err)
	w.await(p.HeadSHA(), waiting("Reading"))
	_, err = w.sim.DeliverHeld(t.Context(), opened.GUID)
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	if runs := w.ours(p.HeadSHA(), publish.CheckName); len(runs) != 1 {
		t.Errorf("%d checks on the new head, want 1", len(runs))
	}
	for _, run := range w.ours(old, publish.CheckName) {
		if run.Status != "completed" || run.Conclusion != "cancelled" {
			t.Errorf("the old head shows %q %s %s", run.Output.Title, run.Status, run.Conclusion)
		}
	}
}

// failingStore fails once where a process could die.
type failingStore struct {
	session.Store
	record, save bool
}

func (f *failingStore) RecordDeliveries(ctx context.Context, guids []string, chain trail.Chain, seal func(int64, string) ([]trail.Record, error)) error {
	if f.record {
		f.record = false
		return errors.New("killed here")
	}
	return f.Store.RecordDeliveries(ctx, guids, chain, seal)
}

func (f *failingStore) SaveHeadChecks(ctx context.Context, repoID int64, sha string, rows []collect.Row, first time.Time) error {
	if f.save {
		f.save = false
		return errors.New("killed here")
	}
	return f.Store.SaveHeadChecks(ctx, repoID, sha, rows, first)
}

// A process that dies while it notes a red check wakes the gate when it is back.
func TestNoWakeIsLostOfAHead(t *testing.T) {
	w := newWorld(t)
	p := w.approved("lost")
	st := w.service.Store()
	for name, f := range map[string]*failingStore{"before the events are marked": {Store: st, record: true}, "after": {Store: st, save: true}} {
		t.Run(name, func(t *testing.T) {
			e := session.New(session.Options{Store: f, Log: trail.NewLog(st, "test", nil), Policy: policy.Default(), Logger: zerolog.Nop()})
			turn := session.HeadTurn{Repo: forge.Repo{ID: w.repo.ID(), Owner: "acme", Name: "shop", Installation: 1}, SHA: p.HeadSHA(), Events: []session.Event{{
				GUID: name, Name: "check_run", Action: "completed", ReceivedAt: time.Now(),
				Check: &session.CheckEvent{Row: collect.Row{Kind: forge.CheckRun, ID: int64(len(name)), AppID: actionsApp, Name: name, Status: "completed",
					Conclusion: "failure", StartedAt: time.Now(), At: time.Now()}}}}}
			marks := !f.record
			if _, err := e.Head(t.Context(), turn); err == nil {
				t.Fatal("it did not die")
			}
			if marks { // what is marked does not come again
				turn.Events = nil
			}
			out, err := e.Head(t.Context(), turn)
			if err != nil || len(out.Wake) != 1 {
				t.Errorf("wakes %v, %v", out.Wake, err)
			}
		})
	}
}
