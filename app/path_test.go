package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// The first whole path: docs only, end to end.
func TestDocsOnly(t *testing.T) {
	w := newWorld(t)
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: actionsApp})
	p := w.docs("returns")
	w.await(p.HeadSHA(), waiting("Low · waiting for "))
	w.check(p.HeadSHA(), "build", "success")
	run := w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	if !strings.HasPrefix(run.Output.Summary, "**Next:**") {
		t.Errorf("the summary does not begin with the next step:\n%s", run.Output.Summary)
	}
	w.idle()
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d check runs of ours, want 1", n)
	}
	w.verify()
}

// Every record type that DESIGN's path names is there, in its order, and the
// session can be rebuilt.
func TestTrailOfASession(t *testing.T) {
	w := newWorld(t)
	p := w.docs("returns")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	var order []trail.Type
	for _, r := range w.records(p.Number(), "") {
		order = append(order, r.Type)
	}
	last := -1
	for _, typ := range []trail.Type{trail.TypeRunStart, trail.TypeDelivery, trail.TypePatchSummary, trail.TypePlanReview, trail.TypeCheckSummary,
		trail.TypeReviewDecision, trail.TypeGateDecision, trail.TypeFinalReport, trail.TypeRunEnd} {
		at := -1
		for i, have := range order {
			if have == typ && at < 0 {
				at = i
			}
		}
		if at <= last {
			t.Fatalf("%s is missing or out of order in %v", typ, order)
		}
		last = at
	}
	first := w.records(p.Number(), "")[0]
	s, err := trail.Rebuild(t.Context(), w.service.Store(), first.SessionID)
	if err != nil || s.Pull != p.Number() || s.HeadSHA != p.HeadSHA() {
		t.Errorf("rebuilt %+v, %v", s, err)
	}
}

// At most 11 calls for a first session with its three checks, cold, up to 100 files;
// at most 2 for a recomputation: counted by the trail and by GitHub.
func TestCallsOfASession(t *testing.T) {
	w := newWorld(t)
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: actionsApp})
	var changes []githubsim.Change
	for i := range 100 {
		changes = append(changes, githubsim.Change{Path: fmt.Sprintf("docs/part%d/page%d.md", i%10, i), Content: fmt.Sprintf("# %d\n", i)})
	}
	w.sim.Hold()
	p := w.open("hundred", changes...)
	w.check(p.HeadSHA(), "build", "in_progress")
	w.sim.ResetRequests()
	w.sim.Release()
	w.await(p.HeadSHA(), waiting("Low · waiting"))
	w.idle()
	total, routes := w.calls()
	if total > 10 {
		t.Errorf("%d calls for a first session, want at most 10: %v", total, routes)
	}
	if creates := routes["POST /repos/{owner}/{repo}/check-runs"]; creates != 3 {
		t.Errorf("%d check runs were made, want each of the three by one call: %v", creates, routes)
	}
	t.Logf("first session: %d calls: %v", total, routes)
	ends := w.records(p.Number(), trail.TypeRunEnd)
	if len(ends) == 0 {
		t.Fatal("no run_end record")
	}
	if counted := int(w.body(ends[0])["calls_total"].(float64)); counted != total {
		t.Errorf("the trail counts %d calls, GitHub %d: %v", counted, total, routes)
	}

	w.sim.ResetRequests()
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.idle()
	if total, routes := w.calls(); total > 2 {
		t.Errorf("%d calls for a recomputation, want at most 2: %v", total, routes)
	}
}

// What a session with three checks and comments on lines costs: at most 12 calls with
// nothing known, 9 with what the process keeps (token, rules). CI's own events cost
// what a recomputation costs, beside that.
func TestCallsOfASessionWithComments(t *testing.T) {
	w := newWorld(t)
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: actionsApp})
	spent := func(most int, act func() *githubsim.Pull) *githubsim.Pull {
		w.sim.Hold()
		w.sim.ResetRequests()
		p := act()
		w.sim.Release()
		w.review(p.HeadSHA(), "")
		w.awaitNamed(p.HeadSHA(), publish.CoverageName, concluded("neutral", ""))
		w.idle()
		total, routes := w.calls()
		if total > most {
			t.Errorf("%d calls, want at most %d: %v", total, most, routes)
		}
		t.Logf("%d calls: %v", total, routes)
		return p
	}
	p := spent(12, func() *githubsim.Pull {
		p := w.open("first", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
		w.check(p.HeadSHA(), "build", "in_progress")
		return p
	})
	w.wantCommented(p, "cart/cart.go:3")
	p = spent(9, func() *githubsim.Pull {
		p := w.open("second", githubsim.Change{Path: "cart/other.go", Content: hiddenLine})
		w.check(p.HeadSHA(), "build", "in_progress")
		return p
	})
	w.wantCommented(p, "cart/other.go:3")
	// A finding that is commented already is no further review.
	spent(7, func() *githubsim.Pull {
		_, err := p.Push(githubsim.Change{Path: "cart/new.go", Content: "package cart\n"})
		w.must(err)
		w.check(p.HeadSHA(), "build", "in_progress")
		return p
	})
	w.wantCommented(p, "cart/other.go:3")
}

// A check that turns red after the approval turns the gate red within one
// event, with no other call than the re-read and the patch (case 96).
func TestCase096_RedAfterApproval(t *testing.T) {
	w := newWorld(t)
	p := w.docs("shipping")
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.idle()
	w.sim.ResetRequests()
	w.check(p.HeadSHA(), "build", "failure")
	w.await(p.HeadSHA(), concluded("failure", "Low · changes requested · build failed"))
	w.idle()
	total, routes := w.calls()
	if total != 2 || routes["POST /graphql"] != 1 {
		t.Errorf("%d calls, want the re-read and the patch: %v", total, routes)
	}
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d check runs of ours, want 1", n)
	}
}

// Without a policy file the mode is observe: same title, neutral.
func TestObserve(t *testing.T) {
	w := newWorld(t, inMode(permission.Observe))
	p := w.open("auth", githubsim.Change{Path: "internal/auth/session.go", Content: "package auth\n\nvar x = 1\n"})
	w.await(p.HeadSHA(), waiting("High"))
	w.check(p.HeadSHA(), "build", "failure")
	run := w.await(p.HeadSHA(), concluded("neutral", "High · changes requested · build failed"))
	if !strings.HasSuffix(run.Output.Title, " · observe") {
		t.Errorf("title %q does not say observe", run.Output.Title)
	}
}

// The check's name says whether it guards anything.
func TestOtherBases(t *testing.T) {
	w := newWorld(t)
	w.must(w.repo.CreateBranch("next", "main"))
	w.must(w.repo.CreateBranch("gated", "main"))
	w.repo.RequireChecks("gated", githubsim.CheckRef{Context: publish.CheckName, AppID: w.app.ID()})
	for base, name := range map[string]string{"next": publish.AdvisoryName, "gated": publish.CheckName} {
		p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Onto " + base + " for now", Author: "mona", Base: base, Head: "to-" + base,
			Changes: []githubsim.Change{{Path: "docs/" + base + ".md", Content: "# x\n"}}})
		w.must(err)
		w.awaitNamed(p.HeadSHA(), name, waiting("Low"))
		w.idle()
		for _, run := range w.repo.CheckRuns(p.HeadSHA()) {
			if run.AppID == w.app.ID() && run.Name != name && run.Name != publish.ReviewName && run.Name != publish.CoverageName {
				t.Errorf("base %s: also a check %q", base, run.Name)
			}
		}
	}
}

// 50 pushes in a burst, at once or over several times the rest that follows the
// first: at most two sessions publish, one verdict stands.
func TestBurstOfPushes(t *testing.T) {
	for name, pace := range map[string]time.Duration{"at once": time.Microsecond, "for seconds": 60 * time.Millisecond} {
		t.Run(name, func(t *testing.T) { burst(t, pace) })
	}
}

func burst(t *testing.T, pace time.Duration) {
	w := newWorld(t, func(w *world) { w.settings.Settle = time.Second })
	p := w.docs("burst")
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range 50 {
		<-tick.C
		_, err := p.Push(githubsim.Change{Path: "docs/burst.md", Content: fmt.Sprintf("# try %d\n", i)})
		w.must(err)
	}
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.idle()
	sessions := make(map[string]bool)
	for _, r := range w.records(p.Number(), trail.TypePublish) {
		sessions[r.SessionID] = true
	}
	if len(sessions) > 2 {
		t.Errorf("%d sessions published, want at most 2", len(sessions))
	}
	satisfied, open := 0, 0
	for _, run := range w.repo.AllCheckRuns() {
		if run.AppID != w.app.ID() {
			continue
		}
		switch {
		case run.Status != "completed":
			open++
		case run.Conclusion == "success":
			satisfied++
		}
	}
	if satisfied != 1 || open != 0 {
		t.Errorf("%d green and %d open checks, want 1 and 0", satisfied, open)
	}
	w.verify()
}
