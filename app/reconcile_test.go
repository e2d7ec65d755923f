package app_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// What no event told of is found by looking (cases 55, 72 and 76).

const (
	reposRoute    = "GET /installation/repositories"
	installsRoute = "GET /app/installations"
)

// Opened, pushed to and closed while the service was down.
func TestCase055_WhileTheServiceWasDown(t *testing.T) {
	w := newWorld(t, reconciling(time.Hour))
	pushed, closed := w.docs("pushed"), w.docs("closed")
	w.await(pushed.HeadSHA(), waiting("Low"))
	w.await(closed.HeadSHA(), waiting("Low"))
	w.idle()
	old := pushed.HeadSHA()
	w.halt()
	opened := w.docs("opened")
	_, err := pushed.Push(githubsim.Change{Path: "docs/pushed.md", Content: "# second\n"})
	w.must(err)
	w.must(closed.Close(false))
	w.must(w.sim.WaitIdle(t.Context()))
	w.start()
	w.await(opened.HeadSHA(), waiting("Low"))
	w.await(pushed.HeadSHA(), waiting("Low"))
	w.await(old, concluded("cancelled", "Superseded"))
	w.await(closed.HeadSHA(), concluded("cancelled", "Closed"))
	w.settled()
	for _, p := range []*githubsim.Pull{opened, pushed} {
		if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
			t.Errorf("%d checks on #%d, want 1", n, p.Number())
		}
	}
	var open int
	w.must(w.service.Store().DB().QueryRowContext(t.Context(), `SELECT count(*) FROM pulls WHERE state = 'open'`).Scan(&open))
	if open != 2 {
		t.Errorf("%d pull requests are open in the index, want 2", open)
	}
	w.verify()
}

// A webhook is lost while the service is there: the next look finds it. What is well
// costs one call a look and nothing else.
func TestCase055_LostWebhook(t *testing.T) {
	w := newWorld(t, reconciling(300*time.Millisecond))
	var p *githubsim.Pull
	w.dropped(func() {
		p = w.docs("lost")
		w.check(p.HeadSHA(), "build", "success")
	})
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.settled()
	w.sim.ResetRequests()
	before := len(w.looks().list())
	w.swept(3)
	w.must(w.sim.WaitIdle(t.Context()))
	seen := len(w.looks().list()) - before
	total, routes := w.calls()
	lists := routes[reposRoute] + routes[installsRoute]
	if extra := total - lists - seen; extra > 1 || extra < -1 { // one may be under way
		t.Errorf("%d looks and %d lists, %d calls: %v", seen, lists, total, routes)
	}
	if lists > 2*(seen+1) {
		t.Errorf("%d lists for %d looks", lists, seen)
	}
	if n := w.sessions(p.Number()); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// CI ended and no event told of it.
func TestCase055_LostCI(t *testing.T) {
	w := newWorld(t, reconciling(300*time.Millisecond))
	p := w.docs("ci")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	w.dropped(func() { w.check(p.HeadSHA(), "build", "success") })
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	w.settled()
	if n := w.sessions(p.Number()); n != 1 {
		t.Errorf("%d sessions, want 1: it is recomputed", n)
	}
	// And an approval that was overtaken, by an event that is lost too.
	w.dropped(func() { w.check(p.HeadSHA(), "test", "failure") })
	w.await(p.HeadSHA(), concluded("failure", "Low · changes requested"))
	w.dropped(func() { w.check(p.HeadSHA(), "test", "success") })
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d checks, want 1", n)
	}
}

// The newest check of our name is about another pull request: the pull request has
// none, and gets a run that is newer.
func TestForeignCheckIsNoCheck(t *testing.T) {
	w := newWorld(t, reconciling(300*time.Millisecond))
	p := w.approved("foreign")
	w.settled()
	var foreign githubsim.CheckRun
	w.dropped(func() {
		var err error
		foreign, err = w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{App: w.app.ID(), Name: publish.CheckName, Conclusion: "success", ExternalID: "999:main:x"})
		w.must(err)
	})
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool {
		return run.ID > foreign.ID && run.Conclusion == "success" && strings.HasPrefix(run.ExternalID, strconv.Itoa(p.Number())+":main:")
	})
	w.settled()
	w.swept(2)
	w.settled()
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 3 {
		t.Errorf("%d checks, want the first, the foreign one and one more", n)
	}
	if n := w.sessions(p.Number()); n != 1 {
		t.Errorf("%d sessions, want 1: the decision is there", n)
	}
}

// The check is gone from GitHub: it is written again from what is known, once.
func TestDeletedCheckIsWrittenAgain(t *testing.T) {
	w := newWorld(t, reconciling(300*time.Millisecond))
	p := w.approved("deleted")
	w.settled()
	gone := w.ours(p.HeadSHA(), publish.CheckName)[0]
	l := w.looks()
	l.mu.Lock()
	l.hide = gone.ID
	l.mu.Unlock()
	w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.ID != gone.ID && run.Conclusion == "success" })
	w.settled()
	w.swept(2)
	w.settled()
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 2 {
		t.Errorf("%d checks, want the one that is gone and one more", n)
	}
	if n := w.sessions(p.Number()); n != 1 {
		t.Errorf("%d sessions, want 1: the decision is there", n)
	}
}

// Two pull requests on one head share a check, which names one of them: neither is
// woken for that.
func TestSharedCheckIsCurrentForBoth(t *testing.T) {
	w := newWorld(t, reconciling(300*time.Millisecond))
	p := w.approved("shared")
	w.must(w.repo.CreateBranch("twin", p.HeadSHA()))
	twin, err := w.repo.OpenPull(githubsim.PullSpec{Title: "The same once more", Body: "Because the shop needs it.", Author: "mona", Head: "twin"})
	w.must(err)
	w.idle()
	w.settled()
	w.swept(1)
	w.settled()
	before := len(w.records(twin.Number(), trail.TypeGateDecision)) + len(w.records(p.Number(), trail.TypeGateDecision))
	w.swept(3)
	w.settled()
	if after := len(w.records(twin.Number(), trail.TypeGateDecision)) + len(w.records(p.Number(), trail.TypeGateDecision)); after != before {
		t.Errorf("%d decisions for nothing", after-before)
	}
}

// A new installation with 30 open pull requests: all are decided, newest first, at a
// gentle pace, and for three calls that find them.
func TestNewInstallation(t *testing.T) {
	const pause = 40 * time.Millisecond
	w := newWorld(t, reconciling(time.Hour), func(w *world) { w.gentle.Wake, w.settings.WritesPerMinute = pause, 10_000 })
	repos := make([]*githubsim.Repo, 3)
	var heads []string
	for i := range repos {
		repo, err := w.sim.AddRepo(githubsim.RepoSpec{Owner: "globex", Name: fmt.Sprintf("repo%d", i)})
		w.must(err)
		repos[i] = repo
		_, err = repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# x\n"}}})
		w.must(err)
		for n := range 10 {
			p, err := repo.OpenPull(githubsim.PullSpec{Title: "Change the docs", Body: "Because.", Author: "mona", Head: fmt.Sprintf("b%d", n),
				Changes: []githubsim.Change{{Path: fmt.Sprintf("docs/%d.md", n), Content: "# x\n"}}})
			w.must(err)
			heads = append(heads, p.HeadSHA())
		}
	}
	w.settled()
	from := len(w.looks().list())
	_, err := w.sim.Install(w.app, "globex", repos...)
	w.must(err)
	for i, sha := range heads {
		w.until(func() bool {
			return slices.ContainsFunc(repos[i/10].CheckRuns(sha), func(run githubsim.CheckRun) bool {
				return run.AppID == w.app.ID() && strings.HasPrefix(run.Output.Title, "Low")
			})
		}, func() string { return "no check on " + sha })
	}
	w.settled()
	looked := w.looks().list()[from:]
	slices.Sort(looked)
	if got := strings.Join(looked, " "); got != "globex/repo0 globex/repo1 globex/repo2" {
		t.Errorf("looked at %s", got)
	}
	var starts []time.Time
	for i := range repos {
		recs, err := w.service.Store().FindTrail(t.Context(), trail.Query{Repo: fmt.Sprintf("globex/repo%d", i), Type: trail.TypeRunStart})
		w.must(err)
		for _, r := range recs {
			starts = append(starts, r.TS)
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	if len(starts) != 30 {
		t.Fatalf("%d sessions for 30 pull requests", len(starts))
	}
	if took := starts[29].Sub(starts[0]); took < 25*pause {
		t.Errorf("30 pull requests were woken within %s, want a pause of %s between two", took, pause)
	}
	total, routes := w.calls()
	t.Logf("%d calls for 30 pull requests: %v", total, routes)
	w.verify()
}

// The installation is suspended in the middle: it is left alone, and goes on when it
// is back, also when no event said so.
func TestCase072_SuspendedInTheMiddleOfASweep(t *testing.T) {
	w := newWorld(t, reconciling(time.Second), func(w *world) { w.gentle.Wake, w.gentle.Call = 30*time.Millisecond, 30*time.Millisecond })
	w.settled()
	var pulls []*githubsim.Pull
	w.dropped(func() {
		for i := range 8 {
			pulls = append(pulls, w.docs(fmt.Sprintf("s%d", i)))
		}
	})
	w.until(func() bool { return strings.Contains(w.log.String(), "wakes a pull request") }, func() string { return "nothing was found" })
	w.dropped(func() { w.must(w.inst.Suspend()) })
	w.until(func() bool {
		var n int
		w.must(w.service.Store().DB().QueryRowContext(t.Context(), `SELECT count(*) FROM reconcile_installations WHERE suspended`).Scan(&n))
		return n == 1
	}, func() string { return "the suspension was not noticed" })
	w.idle()
	w.sim.ResetRequests()
	from := len(w.looks().list())
	w.until(func() bool { _, routes := w.calls(); return routes[installsRoute] >= 2 }, func() string { return "the App's list is not read" })
	if total, routes := w.calls(); total != routes[installsRoute] || len(w.looks().list()) != from {
		t.Errorf("%d calls while it was suspended: %v", total, routes)
	}
	w.dropped(func() { w.must(w.inst.Unsuspend()) })
	for _, p := range pulls {
		w.await(p.HeadSHA(), waiting("Low"))
	}
}

// A restart in the middle of a sweep goes on with what was not looked at.
func TestRestartInTheMiddleOfASweep(t *testing.T) {
	w := newWorld(t, reconciling(time.Hour))
	w.await(w.docs("before").HeadSHA(), waiting("Low"))
	w.halt()
	var heads []string
	var repos []*githubsim.Repo
	for i := range 6 {
		repo, err := w.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: fmt.Sprintf("repo%d", i)})
		w.must(err)
		_, err = repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# x\n"}}})
		w.must(err)
		p, err := repo.OpenPull(githubsim.PullSpec{Title: "Change the docs", Body: "Because.", Author: "mona", Head: "b", Changes: []githubsim.Change{{Path: "docs/a.md", Content: "# x\n"}}})
		w.must(err)
		heads, repos = append(heads, p.HeadSHA()), append(repos, repo)
	}
	w.must(w.inst.AddRepos(repos...))
	w.must(w.sim.WaitIdle(t.Context()))
	w.gentle.Call = 100 * time.Millisecond
	from := len(w.looks().list())
	w.start()
	w.until(func() bool { return len(w.looks().list()) >= from+3 }, func() string { return "nothing was looked at" })
	w.halt()
	first := w.looks().list()[from:]
	w.start()
	for i, sha := range heads {
		w.until(func() bool {
			return slices.ContainsFunc(repos[i].CheckRuns(sha), func(run githubsim.CheckRun) bool {
				return run.AppID == w.app.ID() && strings.HasPrefix(run.Output.Title, "Low")
			})
		}, func() string { return "no check on " + sha })
	}
	w.settled()
	second := w.looks().list()[from+len(first):]
	for i, repo := range second[:len(heads)-len(first)] {
		if slices.Contains(first[:len(first)-1], repo) { // the last one may have been interrupted
			t.Errorf("look %d after the restart is at %s again; before it were %v, after it %v", i+1, repo, first, second)
		}
	}
	for i := range repos {
		recs, err := w.service.Store().FindTrail(t.Context(), trail.Query{Repo: fmt.Sprintf("acme/repo%d", i), Type: trail.TypeRunStart})
		w.must(err)
		if n := len(repos[i].CheckRuns(heads[i])); n != len([]string{publish.CheckName, publish.ReviewName, publish.CoverageName}) || len(recs) > 2 {
			t.Errorf("repo%d: %d checks, %d sessions", i, n, len(recs))
		}
	}
	w.verify()
}

// A check that a killed process left open on a head that nobody works on.
func TestCase076_CheckLeftOpen(t *testing.T) {
	w := newWorld(t, reconciling(time.Hour), func(w *world) { w.gentle.Stale = time.Millisecond })
	p := w.docs("left")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	old := p.HeadSHA()
	w.halt()
	_, err := p.Push(githubsim.Change{Path: "docs/left.md", Content: "# second\n"})
	w.must(err)
	w.must(w.sim.WaitIdle(t.Context()))
	w.settings.Reconcile = 0
	w.start()
	w.must(p.Close(false)) // the newer head was never seen
	w.idle()
	w.must(p.Reopen())
	w.idle()
	w.await(p.HeadSHA(), waiting("Low"))
	// As if the process had died before it ended the older one.
	db := w.service.Store().DB()
	_, err = db.ExecContext(t.Context(), `UPDATE publications SET waiting = TRUE, status = 'in_progress', conclusion = '', digest = '' WHERE head_sha = $1`, old)
	w.must(err)
	w.halt()
	w.settings.Reconcile = time.Hour
	w.start()
	w.until(func() bool {
		var n int
		w.must(w.service.Store().DB().QueryRowContext(t.Context(), `SELECT count(*) FROM publications WHERE waiting AND head_sha = $1`, old).Scan(&n))
		return n == 0
	}, func() string { return "the check is still left open" })
	w.await(old, func(run githubsim.CheckRun) bool { return run.Conclusion == "cancelled" })
}
