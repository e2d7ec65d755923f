package app_test

import (
	"bytes"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
)

// CASES area 4 once more: events that come twice, late, for somebody else, or never
// say what they are about.

// send posts a body to the hook with the headers of a pull_request delivery, or those
// given; an empty one is left out.
func (w *world) send(body []byte, headers map[string]string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.hook, bytes.NewReader(body))
	w.must(err)
	all := map[string]string{"Content-Type": "application/json", "X-GitHub-Event": "pull_request",
		"X-GitHub-Delivery": "b0000000-0000-0000-0000-000000000001", "X-Hub-Signature-256": githubsim.Sign(hookSecret, body)}
	for name, value := range headers {
		all[name] = value
	}
	for name, value := range all {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	w.must(err)
	defer resp.Body.Close()
	return resp.StatusCode
}

// stored counts the deliveries that were kept.
func (w *world) stored(want int) {
	w.t.Helper()
	var n int
	w.must(w.service.Store().DB().QueryRowContext(w.t.Context(), `SELECT count(*) FROM deliveries`).Scan(&n))
	if n != want {
		w.t.Errorf("%d deliveries are stored, want %d", n, want)
	}
}

// once holds that one session made one check.
func (w *world) once(p *githubsim.Pull) {
	w.t.Helper()
	if n := w.sessions(p.Number()); n != 1 {
		w.t.Errorf("%d sessions, want 1", n)
	}
	if runs := w.ours(p.HeadSHA(), publish.CheckName); len(runs) != 1 {
		w.t.Errorf("%d checks, want 1", len(runs))
	}
}

// The same delivery many times at once, before any of them was worked; and further
// deliveries with ids of their own for the same cause.
func TestCase051_053_AtOnce(t *testing.T) {
	for name, guid := range map[string]func(i int) string{
		"case-051 one id":        func(int) string { return "c0000000-0000-0000-0000-000000000000" },
		"case-053 different ids": func(i int) string { return "c0000000-0000-0000-0000-00000000000" + string(rune('0'+i)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: 500 * time.Millisecond})
			w.sim.Hold()
			p := w.docs("once")
			opened := w.lastDelivery("pull_request", "opened")
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					if code := w.deliver(opened.Event, guid(i), opened.Body); code/100 != 2 {
						t.Errorf("a repeat is answered %d, want 2xx", code)
					}
				})
			}
			wg.Wait()
			w.await(p.HeadSHA(), waiting("Low"))
			for i := range 8 { // and while nothing is under way any more
				if code := w.deliver(opened.Event, guid(i), opened.Body); code/100 != 2 {
					t.Errorf("a late repeat is answered %d, want 2xx", code)
				}
			}
			w.sim.Release()
			w.idle()
			w.once(p)
			w.verify()
		})
	}
}

// CI's events in the wrong order: a check that is completed stays completed when the
// news of its beginning comes late, so that the last one to end decides.
func TestCase056_ChecksOutOfOrder(t *testing.T) {
	for conclusion, want := range map[string]string{"success": "Low · approved", "failure": "Low · changes requested"} {
		t.Run(conclusion, func(t *testing.T) {
			w := newWorld(t)
			p := w.docs("order")
			w.check(p.HeadSHA(), "test", "in_progress")
			w.await(p.HeadSHA(), waiting("Low · waiting for test"))
			w.idle()
			w.sim.Hold()
			w.check(p.HeadSHA(), "build", "in_progress")
			begun := w.lastDelivery("check_run", "created")
			w.check(p.HeadSHA(), "build", "success")
			ended := w.lastDelivery("check_run", "completed")
			w.check(p.HeadSHA(), "test", conclusion)
			last := w.lastDelivery("check_run", "completed")
			for _, guid := range []string{ended.GUID, begun.GUID, last.GUID} {
				_, err := w.sim.DeliverHeld(t.Context(), guid)
				w.must(err)
				w.until(func() bool { return w.handled(guid) }, func() string { return "the event was not worked" })
			}
			w.await(p.HeadSHA(), concluded(conclusion, want))
			w.sim.Release()
			w.idle()
			w.await(p.HeadSHA(), concluded(conclusion, want))
			if runs := w.ours(p.HeadSHA(), publish.CheckName); len(runs) != 1 {
				t.Errorf("%d checks, want 1", len(runs))
			}
		})
	}
}

// Two pushes: what is said of the older head after the newer one is decided is that it
// was given up, and nothing else.
func TestCase059_NothingMoreOnTheOlderHead(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
	p := w.open("race", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
	old := p.HeadSHA()
	w.await(old, func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
	_, err := p.Push(githubsim.Change{Path: "cart/cart.go", Content: "package cart\n\nvar x = 1\n"})
	w.must(err)
	w.judged(p)
	for _, run := range w.repo.CheckRuns(old) {
		if run.AppID == w.app.ID() && run.Conclusion != "cancelled" {
			t.Errorf("the older head shows %s %q %s %s", run.Name, run.Output.Title, run.Status, run.Conclusion)
		}
	}
	if n := len(p.ReviewComments()); n != 0 {
		t.Errorf("%d comments about the older head", n)
	}
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d checks on the newer head, want 1", n)
	}
}

// A fork's check events name no pull request, and its deletion none to trust: a
// stranger's source is raised as a stranger's, not taken for a branch of ours.
func TestCase061_063_Forks(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		w := newWorld(t)
		fork, err := w.sim.AddRepo(githubsim.RepoSpec{Owner: "stranger", Name: "shop", UserOwned: true, ForkOf: w.repo})
		w.must(err)
		p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Change the cart for all", Author: "stranger", Head: "cart", HeadRepo: fork,
			Changes: []githubsim.Change{{Path: "cart/cart.go", Content: "package cart\n\nvar x = 1\n"}}})
		w.must(err)
		w.await(p.HeadSHA(), waiting("High"))
		if deleted {
			fork.Delete()
			title := "Change the cart for everybody"
			w.must(p.Edit(githubsim.PullEdit{Title: &title}))
			if body := string(w.lastDelivery("pull_request", "edited").Body); !strings.Contains(body, `"repo":null`) {
				t.Fatalf("the fork is still named: this shows nothing:\n%s", body)
			}
		}
		w.check(p.HeadSHA(), "build", "failure")
		if body := string(w.lastDelivery("check_run", "completed").Body); !strings.Contains(body, `"pull_requests":[]`) {
			t.Fatal("the event names the pull request: this shows nothing")
		}
		run := w.await(p.HeadSHA(), concluded("failure", "High · changes requested · "))
		w.idle()
		w.says(run, "`newcomer` no write access, first contribution")
		w.verify()
	}
}

// The patch depends on the base: what was low onto one is high onto another, and the
// green of the first is gone before the second is read.
func TestCase064_TheTierFollowsTheBase(t *testing.T) {
	w := newWorld(t)
	w.must(w.repo.CreateBranch("stable", "main"))
	w.repo.RequireChecks("stable", githubsim.CheckRef{Context: publish.CheckName, AppID: w.app.ID()})
	_, err := w.repo.Commit("main", "auth on main alone", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "internal/auth/new.go", Content: "package auth\n"}}})
	w.must(err)
	p := w.approved("retarget")
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
	stable := "stable"
	w.must(p.Edit(githubsim.PullEdit{Base: &stable}))
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool {
		return run.Status == "in_progress" && strings.HasPrefix(run.ExternalID, "1:stable:")
	})
	for _, run := range w.ours(p.HeadSHA(), publish.CheckName) {
		if run.Conclusion == "success" {
			t.Errorf("run %d of %s is green while the new base is read", run.ID, run.ExternalID)
		}
	}
	run := w.await(p.HeadSHA(), concluded("action_required", "High · not reviewed"))
	w.says(run, "`auth` `internal/auth/new.go`")
	w.idle()
	for _, run := range w.ours(p.HeadSHA(), publish.CheckName) {
		if run.Conclusion == "success" {
			t.Errorf("run %d of %s is green", run.ID, run.ExternalID)
		}
	}
	before := w.ours(p.HeadSHA(), publish.CheckName)
	title := "Another title for the same"
	w.must(p.Edit(githubsim.PullEdit{Title: &title}))
	w.idle()
	after := w.ours(p.HeadSHA(), publish.CheckName)
	if len(after) != len(before) || after[len(after)-1].Writes != before[len(before)-1].Writes {
		t.Errorf("a new title wrote to the check: %+v, then %+v", before, after)
	}
	w.verify()
}

// Made a draft while it is read: what comes of it is no verdict. Nobody's word about a
// draft is one either, and nothing of ours ever approves or rejects by a review.
func TestCase066_067_DraftWhileRunning(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
	p := w.open("drafted", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
	w.must(p.ConvertToDraft())
	w.await(p.HeadSHA(), concluded("action_required", "Draft"))
	w.idle()
	_, err := p.Comment("mona", "/review")
	w.must(err)
	w.check(p.HeadSHA(), "build", "success")
	w.idle()
	for _, run := range w.ours(p.HeadSHA(), publish.CheckName) {
		if !concluded("action_required", "Draft")(run) {
			t.Errorf("a draft shows %q %s %s", run.Output.Title, run.Status, run.Conclusion)
		}
	}
	w.must(p.ReadyForReview())
	w.await(p.HeadSHA(), concluded("failure", "High · changes requested"))
	w.idle()
	if n := len(p.ReviewComments()); n != 1 {
		t.Errorf("%d comments once it is ready, want 1", n)
	}
	for _, v := range p.Reviews() {
		if v.Author == w.app.BotLogin() && v.State != "COMMENTED" {
			t.Errorf("our review is %s", v.State)
		}
	}
}

// Merged, or closed, while it is read: the check ends, no verdict and no comment come
// after it, a word on it wakes nothing; reopened, it is read again.
func TestCase068_EndedWhileRunning(t *testing.T) {
	for _, merged := range []bool{true, false} {
		w := newWorld(t)
		w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Delay: time.Second})
		p := w.open("ended", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
		w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "in_progress" })
		if merged {
			w.must(p.Merge("merge", "mona"))
		} else {
			w.must(p.Close(false))
		}
		w.await(p.HeadSHA(), concluded("cancelled", "Closed"))
		w.idle()
		sessions := w.sessions(p.Number())
		_, err := p.Comment("mona", "/review")
		w.must(err)
		w.idle()
		if len(p.Reviews()) != 0 || len(p.ReviewComments()) != 0 || w.sessions(p.Number()) != sessions {
			t.Errorf("merged %v: %d reviews, %d comments, %d sessions more", merged, len(p.Reviews()), len(p.ReviewComments()), w.sessions(p.Number())-sessions)
		}
		for _, run := range w.ours(p.HeadSHA(), publish.CheckName) {
			if run.Conclusion != "cancelled" {
				t.Errorf("merged %v: %q %s", merged, run.Output.Title, run.Conclusion)
			}
		}
		if !merged {
			w.must(p.Reopen())
			w.await(p.HeadSHA(), concluded("failure", "High · changes requested"))
		}
		w.verify()
	}
}

// A merge queue asks for the check of a group. What can be held as long as groups are
// not answered: the event is kept and worked, nothing of ours claims anything about the
// group, and the manifest asks for what it takes, so that no owner has to be asked later.
func TestCase069_NothingIsClaimedAboutAMergeGroup(t *testing.T) {
	w := newWorld(t)
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: publish.CheckName, AppID: w.app.ID()})
	p := w.approved("queued")
	g, err := w.repo.MergeGroup("main", p)
	w.must(err)
	asked := w.lastDelivery("merge_group", "checks_requested")
	w.must(w.sim.WaitIdle(t.Context()))
	w.until(func() bool { return w.handled(asked.GUID) }, func() string { return "the request was not worked" })
	w.check(g.HeadSHA(), "build", "success")
	w.idle()
	w.must(g.Destroy("dequeued"))
	w.idle()
	for _, run := range w.repo.CheckRuns(g.HeadSHA()) {
		if run.AppID == w.app.ID() && run.Conclusion != "" && run.Conclusion != "cancelled" {
			t.Errorf("the group shows %s %q %s", run.Name, run.Output.Title, run.Conclusion)
		}
	}
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))

	raw, err := os.ReadFile("../app.yml")
	w.must(err)
	var manifest struct {
		Permissions map[string]string `yaml:"default_permissions"`
		Events      []string          `yaml:"default_events"`
	}
	w.must(yaml.Unmarshal(raw, &manifest))
	if manifest.Permissions["merge_queues"] != "read" || !slices.Contains(manifest.Events, "merge_group") {
		t.Errorf("the manifest asks for merge_queues %q and the events %q", manifest.Permissions["merge_queues"], manifest.Events)
	}
}
