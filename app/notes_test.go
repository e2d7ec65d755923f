package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// informing are the checks that judge nothing.
func informing() []string { return []string{publish.ReviewName, publish.CoverageName} }

// neutralOnly holds that the checks that inform never end as anything but neutral, and
// that nothing of ours but the one that judges is ever a success.
func (w *world) neutralOnly() {
	w.t.Helper()
	for _, run := range w.repo.AllCheckRuns() {
		if run.AppID != w.app.ID() {
			continue
		}
		judges := run.Name == publish.CheckName || run.Name == publish.AdvisoryName
		if !judges && (run.Status != "completed" || run.Conclusion != "neutral") {
			w.t.Errorf("%s is %s %s", run.Name, run.Status, run.Conclusion)
		}
	}
}

// All three checks appear on the head, the one that judges first; each write was
// allowed before it left; and what informs opens no branch that asks for a judgment.
func TestThreeChecksOnTheHead(t *testing.T) {
	w := newWorld(t)
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: publish.CheckName, AppID: w.app.ID()})
	p := w.open("auth", githubsim.Change{Path: "internal/auth/session.go", Content: "package auth\n\nvar x = 1\n"},
		githubsim.Change{Path: "docs/auth.md", Content: "# auth\n"})
	w.await(p.HeadSHA(), waiting("High"))
	found := w.review(p.HeadSHA(), "No findings by scanners · not reviewed")
	seen := w.awaitNamed(p.HeadSHA(), publish.CoverageName, concluded("neutral", "Nothing inspected · no reviewer ran · 1 file needs eyes"))
	w.idle()
	decision := w.ours(p.HeadSHA(), publish.CheckName)[0]
	if decision.ID >= found.ID || found.ID >= seen.ID || found.ExternalID != decision.ExternalID {
		t.Errorf("runs %d, %d and %d, named %q and %q", decision.ID, found.ID, seen.ID, decision.ExternalID, found.ExternalID)
	}
	for _, want := range []string{"| `internal/auth/session.go` | source, auth | **not inspected** | scanned |", "| `docs/auth.md` | docs | needs none | scanned |"} {
		if !strings.Contains(seen.Output.Summary, want) {
			t.Errorf("the map does not say %q:\n%s", want, seen.Output.Summary)
		}
	}
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("action_required", "High · not reviewed"))
	w.idle()
	if blocked := p.MergeBlockedBy(); len(blocked) != 1 {
		t.Errorf("blocked by %q, want the decision alone", blocked)
	}
	w.neutralOnly()

	allowed := map[string]bool{}
	for _, r := range w.records(p.Number(), "") {
		body := w.body(r)
		switch r.Type {
		case trail.TypePermission:
			if target, ok := body["target"].(string); ok {
				allowed[target] = body["decision"] == "allow"
			}
		case trail.TypePublish:
			if target := "check_run " + body["name"].(string) + " on " + p.HeadSHA(); !allowed[target] {
				t.Errorf("%s was written before it was allowed", target)
			}
		}
	}
	for _, name := range informing() {
		if runs := w.ours(p.HeadSHA(), name); len(runs) != 1 || runs[0].Writes != 1 {
			t.Errorf("%s: %d runs, want one that was written once", name, len(runs))
		}
	}
	w.verify()
}

// The checks that inform cannot be written: the decision stands as it is, and they
// come later.
func TestADecisionStandsWithoutItsNotes(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: "POST /repos/{owner}/{repo}/check-runs", Nth: 2, Times: 4, Status: http.StatusBadGateway})
	p := w.docs("stands")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	for _, name := range informing() {
		if n := len(w.ours(p.HeadSHA(), name)); n != 0 {
			t.Fatalf("%d runs of %s although GitHub failed", n, name)
		}
	}
	errs := w.records(p.Number(), trail.TypeRunError)
	if len(errs) != 2 || len(w.records(p.Number(), trail.TypeRunEnd)) != 1 {
		t.Errorf("%d errors are recorded, want one for each check, and the session's end", len(errs))
	}
	if runs := w.ours(p.HeadSHA(), publish.CheckName); len(runs) != 1 || !waiting("Low")(runs[0]) {
		t.Errorf("the decision's check: %+v", runs)
	}
	// The next look at the head, by an event or by the clock, writes them.
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	for _, name := range informing() {
		w.awaitNamed(p.HeadSHA(), name, concluded("neutral", ""))
	}
	w.idle()
	w.neutralOnly()
	w.verify()
}

// The service stops between the decision and the checks that explain it: the decision
// stands as it is, no other session begins, and they come when it is back.
func TestStoppedBeforeItsNotes(t *testing.T) {
	w := newWorld(t)
	undo := w.sim.Fail(githubsim.Fault{Route: "POST /repos/{owner}/{repo}/check-runs", Nth: 2, Times: 9, Hang: true})
	p := w.docs("stopped")
	w.await(p.HeadSHA(), waiting("Low"))
	w.until(func() bool { return len(w.records(p.Number(), trail.TypeFinalReport)) == 1 }, func() string { return "no final report" })
	w.halt()
	undo()
	if len(w.ours(p.HeadSHA(), publish.CoverageName)) != 0 {
		t.Fatal("it was not stopped before its notes: this shows nothing")
	}
	w.start()
	for _, name := range informing() {
		w.awaitNamed(p.HeadSHA(), name, concluded("neutral", ""))
	}
	w.idle()
	for _, name := range append(informing(), publish.CheckName) {
		runs := w.ours(p.HeadSHA(), name)
		if len(runs) != 1 {
			t.Fatalf("%d runs of %s", len(runs), name)
		}
		if name == publish.CheckName && runs[0].Writes != 2 {
			t.Errorf("the decision was written %d times", runs[0].Writes)
		}
	}
	if n := len(w.records(p.Number(), trail.TypeRunStart)); n != 1 {
		t.Errorf("%d sessions", n)
	}
	w.neutralOnly()
	w.verify()
}

// A draft begins none of them; what stands on its head stays.
func TestDraftsBeginNoNotes(t *testing.T) {
	w := newWorld(t)
	p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Draft of the docs", Author: "mona", Head: "one", Draft: true,
		Changes: []githubsim.Change{{Path: "docs/one.md", Content: "# x\n"}}})
	w.must(err)
	w.await(p.HeadSHA(), concluded("action_required", "Draft"))
	w.idle()
	for _, name := range informing() {
		if n := len(w.ours(p.HeadSHA(), name)); n != 0 {
			t.Errorf("a draft has %d runs of %s", n, name)
		}
	}
}

// Neither a force-push nor a close leaves anything of them waiting, or takes back what
// is true of the head that they are on.
func TestNotesOfGivenUpHeads(t *testing.T) {
	w := newWorld(t, inMode(permission.Observe))
	p := w.docs("moving")
	old := p.HeadSHA()
	w.await(old, waiting("Low"))
	w.idle()
	_, err := p.Push(githubsim.Change{Path: "docs/moving.md", Content: "# second\n"})
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	w.must(p.Close(false))
	w.await(p.HeadSHA(), concluded("cancelled", "Closed"))
	w.idle()
	for _, sha := range []string{old, p.HeadSHA()} {
		for _, name := range informing() {
			if runs := w.ours(sha, name); len(runs) != 1 || runs[0].Writes != 1 {
				t.Errorf("%s on %s: %+v, want one run, written once", name, sha[:7], runs)
			}
		}
	}
	w.neutralOnly()
	w.verify()
}
