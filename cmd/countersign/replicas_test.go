package main_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/store/pgtest"
)

// fleet is a site of many repositories, each in an organisation and an
// installation of its own, that several replicas serve behind a balancer.
type fleet struct {
	*site
	repos []*githubsim.Repo
	lb    *balancer

	mu    sync.Mutex
	procs []*process
}

func newFleet(t testing.TB, repos int, opts githubsim.Options) *fleet {
	f := &fleet{site: newSiteWith(t, opts), lb: newBalancer(t)}
	for i := range repos {
		org := fmt.Sprintf("org%02d", i)
		r, err := f.sim.AddRepo(githubsim.RepoSpec{Owner: org, Name: "code"})
		f.must(err)
		_, err = r.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# code\n"}}})
		f.must(err)
		f.must(r.SetCollaborator("mona", "write"))
		_, err = f.sim.Install(f.app, org, r)
		f.must(err)
		f.repos = append(f.repos, r)
	}
	f.app.SetWebhook(f.lb.srv.URL, hookSecret)
	return f
}

// join starts a replica.
func (f *fleet) join(name string) *process {
	f.t.Helper()
	p := f.start("COUNTERSIGN_REPLICA=" + name)
	f.mu.Lock()
	f.procs = append(f.procs, p)
	f.mu.Unlock()
	f.lb.add(p.hook)
	return p
}

// open opens n pull requests of one source file, spread over the repositories,
// whose build has passed.
func (f *fleet) open(n int) []*githubsim.Pull {
	f.t.Helper()
	var out []*githubsim.Pull
	for i := range n {
		r := f.repos[i%len(f.repos)]
		p, err := r.OpenPull(githubsim.PullSpec{Title: fmt.Sprintf("Compute part %d of the total", i), Author: "mona", Head: fmt.Sprintf("part-%d", i),
			Changes: []githubsim.Change{{Path: fmt.Sprintf("part%d/part.go", i), Content: fmt.Sprintf("package part\n\nconst n = %d\n", i)}}})
		f.must(err)
		_, err = r.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success", Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml", Name: "ci"}})
		f.must(err)
		out = append(out, p)
	}
	return out
}

// gates are our runs of one name on a head.
func (f *fleet) gates(r *githubsim.Repo, sha, name string) []githubsim.CheckRun {
	var out []githubsim.CheckRun
	for _, run := range r.CheckRuns(sha) {
		if run.AppID == f.app.ID() && run.Name == name {
			out = append(out, run)
		}
	}
	return out
}

// memory is what the process holds now and the most that it held, in MiB.
func (p *process) memory(t testing.TB) (now, most float64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kB float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kB); err == nil {
			now = kB / 1024
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kB); err == nil {
			most = kB / 1024
		}
	}
	return now, most
}

// envInt is a number from the environment, for campaigns larger than a test.
func envInt(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a number from 1", name, text)
	}
	return n
}

// Three replicas on one PostgreSQL, a burst over many repositories, one replica
// killed, the database restarted once: each pull request has exactly one decision.
// PULLS and REPOS make it large (`make load`).
func TestReplicasDecideEachPullRequestOnce(t *testing.T) {
	n, repos := envInt(t, "PULLS", 60), envInt(t, "REPOS", 6)
	opts := githubsim.Options{}
	limited := os.Getenv("LIMITS") != ""
	if limited {
		opts.Limits = githubsim.GitHubLimits()
	}
	f := newFleet(t, repos, opts)
	if limited {
		f.env = append(f.env, "COUNTERSIGN_WRITES_PER_MINUTE=80")
	}
	pg := pgtest.Start(t, true)
	f.url = pg.Database(t)
	f.env = append(f.env, "DATABASE_URL="+f.url)
	f.sim.Hold()
	pulls := f.open(n)
	for _, name := range []string{"one", "two", "three"} {
		f.join(name)
	}
	f.sim.ResetRequests()
	begin := time.Now()
	f.sim.Release()

	watch := f.watch(pulls, begin)
	watch.atLeast(n / 5)
	victim := f.procs[1]
	f.lb.remove(victim.hook)
	f.kill(victim)
	t.Logf("%s: one replica killed, %d finished", time.Since(begin).Round(time.Millisecond), watch.finished())
	watch.atLeast(n / 2)
	f.must(pg.Restart())
	t.Logf("%s: the database restarted, %d finished", time.Since(begin).Round(time.Millisecond), watch.finished())
	watch.atLeast(n)
	took := time.Since(begin)

	// What informs comes after, and what the killed replica had at work comes when its
	// lease is over.
	f.untilAfter(20*patience, "the checks that inform", func() bool { return f.lacking(pulls) == 0 })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f.must(f.sim.WaitIdle(ctx))
	t.Logf("everything was said after %s", time.Since(begin).Round(time.Millisecond))
	f.report(watch, took)
	f.oneDecisionEach(pulls)
}

// watch notes when each pull request's gate was finished.
type watch struct {
	f     *fleet
	begin time.Time
	open  map[*githubsim.Pull]*githubsim.Repo
	took  []time.Duration
}

func (f *fleet) watch(pulls []*githubsim.Pull, begin time.Time) *watch {
	w := &watch{f: f, begin: begin, open: make(map[*githubsim.Pull]*githubsim.Repo)}
	for i, p := range pulls {
		w.open[p] = f.repos[i%len(f.repos)]
	}
	return w
}

func (w *watch) finished() int { return len(w.took) }

// atLeast waits until so many are finished.
func (w *watch) atLeast(n int) {
	w.f.t.Helper()
	// A claim that was cut off ends by itself after 90 s.
	deadline := time.Now().Add(max(3*patience, time.Duration(len(w.open))*2*time.Second))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for p, r := range w.open {
			for _, run := range w.f.gates(r, p.HeadSHA(), "countersign") {
				if run.Status == "completed" {
					w.took = append(w.took, time.Since(w.begin))
					delete(w.open, p)
					break
				}
			}
		}
		if len(w.took) >= n {
			return
		}
		if time.Now().After(deadline) {
			w.f.t.Fatalf("%d of %d are finished", len(w.took), len(w.took)+len(w.open))
		}
		<-tick.C
	}
}

func (f *fleet) report(w *watch, took time.Duration) {
	f.t.Helper()
	slices.Sort(w.took)
	n := len(w.took)
	f.t.Logf("%d gates in %s: %.1f/s; from the burst's beginning p50 %s, p99 %s", n, took.Round(time.Millisecond), float64(n)/took.Seconds(),
		w.took[n/2].Round(time.Millisecond), w.took[n*99/100].Round(time.Millisecond))
	f.lb.mu.Lock()
	acks := slices.Clone(f.lb.took)
	refused := f.lb.refused
	f.lb.mu.Unlock()
	slices.Sort(acks)
	if len(acks) > 0 {
		f.t.Logf("%d deliveries acknowledged, p50 %s, p99 %s; %d that no replica took", len(acks), acks[len(acks)/2].Round(time.Microsecond),
			acks[len(acks)*99/100].Round(time.Microsecond), refused)
	}
	for i, p := range f.procs {
		if p.cmd.ProcessState == nil {
			now, most := p.memory(f.t)
			f.t.Logf("replica %d: %.0f MiB, at most %.0f MiB", i+1, now, most)
		}
	}
	calls, byRoute := 0, make(map[string]int)
	for _, r := range f.sim.Requests() {
		calls++
		byRoute[r.Method+" "+r.Route]++
	}
	f.t.Logf("GitHub refused %+v", f.sim.Refusals())
	f.t.Logf("%d calls to GitHub, %.2f a pull request: %v", calls, float64(calls)/float64(n), byRoute)
}

// lacking counts the checks that are not there yet.
func (f *fleet) lacking(pulls []*githubsim.Pull) (n int) {
	for i, p := range pulls {
		for _, name := range []string{"countersign", "countersign / review", "countersign / coverage"} {
			runs := f.gates(f.repos[i%len(f.repos)], p.HeadSHA(), name)
			if len(runs) == 0 || runs[0].Status != "completed" {
				n++
			}
		}
	}
	return n
}

// oneDecisionEach: on each head one run of each name, completed, and in the trail
// one decision published.
func (f *fleet) oneDecisionEach(pulls []*githubsim.Pull) {
	f.t.Helper()
	wrong := 0
	for i, p := range pulls {
		r := f.repos[i%len(f.repos)]
		for _, name := range []string{"countersign", "countersign / review", "countersign / coverage"} {
			runs := f.gates(r, p.HeadSHA(), name)
			if len(runs) != 1 || runs[0].Status != "completed" {
				if wrong++; wrong < 10 {
					f.t.Errorf("%s #%d: %d runs of %q: %+v", r.FullName(), p.Number(), len(runs), name, runs)
				}
			}
		}
	}
	if wrong > 0 {
		f.t.Errorf("%d of %d are not as they should be", wrong, 3*len(pulls))
	}
	out, err := f.run("trail", "verify")
	if err != nil {
		f.t.Errorf("trail verify: %v\n%s", err, out)
	}
	f.t.Log(strings.TrimSpace(out))
}

// A replica that is stopped like a machine that freezes, in the middle of a session,
// wakes when another has long done its work: it gives up what it was doing.
func TestFrozenReplicaGivesUp(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1, githubsim.Options{})
	pg := pgtest.Start(t, false)
	f.url = pg.Database(t)
	f.env = append(f.env, "DATABASE_URL="+f.url)
	frozen := f.join("frozen")
	reached := make(chan struct{})
	f.sim.Fail(githubsim.Fault{Route: "POST /graphql", Operation: "Snapshot", Nth: 1, Times: 1, Hang: true, BeforeWork: func(githubsim.Request) { close(reached) }})
	pulls := f.open(1)
	select {
	case <-reached:
	case <-time.After(patience):
		t.Fatal("the session was not begun")
	}
	f.must(frozen.cmd.Process.Signal(syscall.SIGSTOP))
	f.lb.remove(frozen.hook)
	f.join("other")
	f.until("the other replica's word", func() bool { return f.lacking(pulls) == 0 })
	f.must(frozen.cmd.Process.Signal(syscall.SIGCONT))
	f.until("the frozen one's word that it gave up", func() bool { return strings.Contains(frozen.log.String(), "running turns are given up") })
	_, err := f.repos[0].SetCheck(pulls[0].HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "failure", Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml", Name: "ci"}})
	f.must(err)
	f.until("a decision after it", func() bool {
		runs := f.gates(f.repos[0], pulls[0].HeadSHA(), "countersign")
		return len(runs) == 1 && runs[0].Conclusion == "failure"
	})
	f.oneDecisionEach(pulls)
}
