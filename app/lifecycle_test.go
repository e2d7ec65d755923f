package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// CASES area 4, webhooks and lifecycle, through the whole path.

// compareRoute is slowed down to hold a session in its middle.
const compareRoute = "GET /repos/{owner}/{repo}/compare/{basehead}"

// lastDelivery is the newest webhook of an event.
func (w *world) lastDelivery(event, action string) githubsim.Delivery {
	w.t.Helper()
	var out githubsim.Delivery
	for _, d := range w.sim.Deliveries() {
		if d.Event == event && d.Action == action {
			out = d
		}
	}
	if out.GUID == "" {
		w.t.Fatalf("no delivery of %s.%s", event, action)
	}
	return out
}

// deliver posts a signed body to the hook as GitHub would.
func (w *world) deliver(event, guid string, body []byte) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, w.hook, bytes.NewReader(body))
	w.must(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", guid)
	req.Header.Set("X-Hub-Signature-256", githubsim.Sign(hookSecret, body))
	resp, err := http.DefaultClient.Do(req)
	w.must(err)
	defer resp.Body.Close()
	return resp.StatusCode
}

func (w *world) sessions(pull int) int { return len(w.records(pull, trail.TypeRunStart)) }

// A redelivered webhook, also in parallel, starts nothing (51); neither does a
// second delivery for the same cause (53).
func TestCase051_053_Redelivery(t *testing.T) {
	w := newWorld(t)
	p := w.docs("once")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	opened := w.lastDelivery("pull_request", "opened")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if code := w.deliver(opened.Event, opened.GUID, opened.Body); code/100 != 2 {
				t.Errorf("a repeat is answered %d, want 2xx", code)
			}
		})
	}
	wg.Wait()
	if code := w.deliver(opened.Event, "11111111-2222-3333-4444-555555555555", opened.Body); code/100 != 2 {
		t.Errorf("a second delivery is answered %d", code)
	}
	w.idle()
	if n := w.sessions(p.Number()); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d checks, want 1", n)
	}
}

// The answer does not wait for GitHub.
func TestCase054_AnswersBeforeWorking(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: 3 * time.Second})
	p := w.docs("slow")
	w.await(p.HeadSHA(), waiting("Low"))
	if d := w.lastDelivery("pull_request", "opened"); d.Duration > time.Second || d.Status/100 != 2 {
		t.Errorf("answered %d after %s, want 2xx well under a second", d.Status, d.Duration)
	}
}

// A late event of an older head reviews nothing.
func TestCase056_OutOfOrder(t *testing.T) {
	w := newWorld(t)
	w.sim.Hold()
	p := w.docs("late")
	a := p.HeadSHA()
	_, err := p.Push(githubsim.Change{Path: "docs/late.md", Content: "# second\n"})
	w.must(err)
	opened, synced := w.lastDelivery("pull_request", "opened"), w.lastDelivery("pull_request", "synchronize")
	_, err = w.sim.DeliverHeld(t.Context(), synced.GUID)
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
	_, err = w.sim.DeliverHeld(t.Context(), opened.GUID)
	w.must(err)
	w.idle()
	for _, run := range w.ours(a, publish.CheckName) {
		if run.Conclusion != "cancelled" {
			t.Errorf("the older head has a check %q %s %s", run.Output.Title, run.Status, run.Conclusion)
		}
	}
	w.await(p.HeadSHA(), waiting("Low"))
	w.sim.Release()
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
}

// Two pushes: the older session publishes no verdict (59), and nothing green
// stands on a head that was not read (115).
func TestCase059_115_SlowerOlderSession(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
	p := w.docs("race")
	a := p.HeadSHA()
	w.await(a, func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
	_, err := p.Push(githubsim.Change{Path: "docs/race.md", Content: "# second\n"})
	w.must(err)
	run := w.await(a, concluded("cancelled", "Superseded by "+p.HeadSHA()[:7]))
	if run.HeadSHA != a {
		t.Errorf("the check is on %s", run.HeadSHA)
	}
	w.check(p.HeadSHA(), "build", "success")
	run = w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	if !strings.Contains(run.Output.Summary, p.HeadSHA()[:7]) {
		t.Errorf("the check does not name the commit it read:\n%s", run.Output.Summary)
	}
}

// Check events of a fork's head name no pull request.
func TestCase061_ForkChecks(t *testing.T) {
	w := newWorld(t)
	fork, err := w.sim.AddRepo(githubsim.RepoSpec{Owner: "stranger", Name: "shop", UserOwned: true, ForkOf: w.repo})
	w.must(err)
	p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Fix a typo for all", Author: "stranger", Head: "typo", HeadRepo: fork,
		Changes: []githubsim.Change{{Path: "docs/typo.md", Content: "# typo\n"}}})
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "failure")
	w.await(p.HeadSHA(), concluded("failure", "Low · changes requested"))
}

// A deleted fork: nothing crashes, the pull request is still read.
func TestCase063_DeletedFork(t *testing.T) {
	w := newWorld(t)
	fork, err := w.sim.AddRepo(githubsim.RepoSpec{Owner: "stranger", Name: "shop", UserOwned: true, ForkOf: w.repo})
	w.must(err)
	w.sim.Hold()
	p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Fix a typo for all", Author: "stranger", Head: "typo", HeadRepo: fork,
		Changes: []githubsim.Change{{Path: "docs/typo.md", Content: "# typo\n"}}})
	w.must(err)
	fork.Delete()
	title := "Fix a typo for everybody"
	w.must(p.Edit(githubsim.PullEdit{Title: &title}))
	w.sim.Release()
	w.await(p.HeadSHA(), waiting("Low"))
}

// A changed base is a new evaluation; a changed title alone is not a new verdict.
func TestCase064_Retarget(t *testing.T) {
	w := newWorld(t)
	w.must(w.repo.CreateBranch("dev", "main"))
	p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Document it well", Author: "mona", Base: "dev", Head: "retarget",
		Changes: []githubsim.Change{{Path: "docs/retarget.md", Content: "# x\n"}}})
	w.must(err)
	w.awaitNamed(p.HeadSHA(), publish.AdvisoryName, waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.awaitNamed(p.HeadSHA(), publish.AdvisoryName, concluded("success", "Low · approved"))
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 0 {
		t.Fatalf("%d checks that a branch may require, on a base that is not gated", n)
	}
	main := "main"
	w.must(p.Edit(githubsim.PullEdit{Base: &main}))
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.idle()
	n := len(w.ours(p.HeadSHA(), publish.CheckName))
	title := "Document it better"
	w.must(p.Edit(githubsim.PullEdit{Title: &title}))
	w.idle()
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	if after := len(w.ours(p.HeadSHA(), publish.CheckName)); after != n {
		t.Errorf("a new title made %d new checks", after-n)
	}
}

// A draft is not a verdict; ready, it is one, although the SHA is known.
func TestCase066_067_Draft(t *testing.T) {
	w := newWorld(t)
	p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Draft of the docs", Author: "mona", Head: "draft", Draft: true,
		Changes: []githubsim.Change{{Path: "docs/draft.md", Content: "# x\n"}}})
	w.must(err)
	w.await(p.HeadSHA(), concluded("action_required", "Draft"))
	w.must(p.ReadyForReview())
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.must(p.ConvertToDraft())
	w.await(p.HeadSHA(), concluded("action_required", "Draft"))
}

// Closed in the middle: the check is concluded, nothing is decided; reopened, it
// is evaluated again.
func TestCase068_ClosedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
	p := w.docs("closing")
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
	w.must(p.Close(false))
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Conclusion == "cancelled" })
	w.idle()
	w.must(p.Reopen())
	w.await(p.HeadSHA(), waiting("Low"))
}

// "Re-run all checks" makes a new check run; the same for another App, and a
// suite that is merely requested, do nothing.
func TestCase071_Rerun(t *testing.T) {
	w := newWorld(t)
	p := w.docs("rerun")
	sha := p.HeadSHA()
	w.await(sha, waiting("Low"))
	w.check(sha, "build", "success")
	first := w.await(sha, concluded("success", "Low · approved"))
	w.idle()
	sessions := w.sessions(p.Number())
	w.must(w.repo.RerequestSuite(sha, actionsApp))
	w.idle()
	if n := w.sessions(p.Number()); n != sessions {
		t.Errorf("another App's re-run started %d sessions", n-sessions)
	}
	w.must(w.repo.RerequestSuite(sha, w.app.ID()))
	w.await(sha, func(run githubsim.CheckRun) bool { return run.ID != first.ID && run.Conclusion == "success" })
	w.idle()
	second := len(w.ours(sha, publish.CheckName))
	w.must(w.repo.Rerequest(first.ID, "mona"))
	w.until(func() bool { return len(w.ours(sha, publish.CheckName)) == second+1 }, func() string { return "no new check run" })
}

// A suspended installation: no retry storm, and all is well afterwards.
func TestCase072_Suspended(t *testing.T) {
	w := newWorld(t)
	p := w.docs("suspended")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	w.sim.Hold()
	_, err := p.Push(githubsim.Change{Path: "docs/suspended.md", Content: "# second\n"})
	w.must(err)
	w.must(w.inst.Suspend())
	w.sim.ResetRequests()
	w.sim.Release()
	w.idle()
	if total, routes := w.calls(); total > 4 {
		t.Errorf("%d calls while suspended: %v", total, routes)
	}
	w.must(w.inst.Unsuspend())
	_, err = p.Push(githubsim.Change{Path: "docs/suspended.md", Content: "# third\n"})
	w.must(err)
	w.await(p.HeadSHA(), waiting("Low"))
}

// A permission that the owner has not accepted: named once, not retried.
func TestCase073_MissingPermission(t *testing.T) {
	w := newWorld(t)
	perms := map[string]string{"contents": "read", "pull_requests": "write", "checks": "read", "statuses": "read", "actions": "read", "members": "read", "merge_queues": "read", "issues": "write"}
	w.inst.WithholdPermissions(perms)
	p := w.docs("permission")
	w.idle()
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 0 {
		t.Fatalf("%d checks without permission", n)
	}
	if log := w.log.String(); strings.Count(log, "retrying cannot mend") != 1 || !strings.Contains(log, "checks") {
		t.Errorf("want one line that names the missing permission:\n%s", log)
	}
	perms["checks"] = "write"
	w.must(w.inst.SetPermissions(perms)) // and the pull request that waited is handled
	w.await(p.HeadSHA(), waiting("Low"))
}

// A restart in the middle of a session: the check is brought to its end, by a
// session that names the one it resumes.
func TestCase076_RestartInTheMiddle(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: 5 * time.Second})
	p := w.docs("restart")
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
	w.halt()
	w.start()
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d checks, want 1", n)
	}
	starts := w.records(p.Number(), trail.TypeRunStart)
	if len(starts) != 2 || w.body(starts[1])["resumes"] != starts[0].SessionID {
		t.Errorf("the second of %d sessions does not say that it resumes the first", len(starts))
	}
	w.verify()
}

// Comments of bots, our own, and on plain issues wake nothing.
func TestCase085_086_092_CommentsThatWakeNothing(t *testing.T) {
	w := newWorld(t)
	p := w.docs("talk")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	sessions := w.sessions(p.Number())
	w.sim.ResetRequests()
	for _, author := range []string{"countersign[bot]", "other[bot]"} {
		_, err := p.Comment(author, "/review")
		w.must(err)
	}
	issue := w.repo.OpenIssue("A plain issue", "", "mona")
	_, err := w.repo.Comment(issue, "mona", "/review")
	w.must(err)
	w.idle()
	if total, routes := w.calls(); total != 0 || w.sessions(p.Number()) != sessions {
		t.Errorf("%d calls, %d new sessions: %v", total, w.sessions(p.Number())-sessions, routes)
	}
}

// GitHub fails in the middle: the check says so, nothing green appears, and the
// session ends when GitHub is back.
func TestGitHubFailsInTheMiddle(t *testing.T) {
	for _, fault := range []githubsim.Fault{
		{Route: compareRoute, Nth: 1, Times: 4, Status: http.StatusBadGateway},
		{Route: "POST /graphql", Nth: 1, Times: 4, Drop: true},
		{Route: "POST /repos/{owner}/{repo}/check-runs", Nth: 1, Times: 1, After: true, Status: http.StatusInternalServerError},
	} {
		t.Run(fmt.Sprintf("%s %d", fault.Route, fault.Status), func(t *testing.T) {
			w := newWorld(t)
			w.sim.Fail(fault)
			p := w.docs("broken")
			w.await(p.HeadSHA(), waiting("Low · waiting"))
			w.check(p.HeadSHA(), "build", "success")
			w.await(p.HeadSHA(), concluded("success", "Low · approved"))
			w.idle()
			open := 0
			for _, run := range w.ours(p.HeadSHA(), publish.CheckName) {
				if run.Status != "completed" {
					open++
				}
			}
			if open != 0 {
				t.Errorf("%d checks are left in progress", open)
			}
			w.verify()
		})
	}
}
