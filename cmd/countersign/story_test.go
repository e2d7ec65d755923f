package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// story is one pull request from its opening to its last decision, and the process
// that follows it: findings on its lines, CI, and pushes that fix one and then the
// other. A process that dies is started again.
type story struct {
	*site
	p     *process
	lb    *balancer
	env   []string
	pull  *githubsim.Pull
	heads []string
	whole bool // tell more than the opening
	// dieAt is the commit to SQLite at which the first process is killed; 0: none.
	dieAt  int
	deaths int // processes that were killed
}

const (
	hiddenLine = "package cart\n\n// allowed \u202e } if admin {\nvar x = 1\n"
	injected   = "on: pull_request_target\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n" +
		"      - run: echo \"${{ github.event.pull_request.title }}\"\n"
)

// tell lives through the story and returns what GitHub shows in the end.
func (s *story) tell() string {
	s.t.Helper()
	s.restart()
	var err error
	s.pull, err = s.repo.OpenPull(githubsim.PullSpec{Title: "Let the cart greet people", Body: "Because they like it.", Author: "mona", Head: "greet", Changes: []githubsim.Change{
		{Path: ".github/workflows/greet.yml", Content: injected},
		{Path: "cart/cart.go", Content: hiddenLine},
	}})
	s.must(err)
	s.decided("changes requested")
	if s.whole {
		_, err = s.pull.Push(githubsim.Change{Path: "cart/cart.go", Content: "package cart\n\nvar x = 1\n"})
		s.must(err)
		s.decided("changes requested")
		s.await("the word that it is fixed", func() bool { return strings.Contains(s.shown(), "Fixed in") })
		_, err = s.repo.SetCheck(s.pull.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "failure"})
		s.must(err)
		s.decided("build failed")
	}
	return s.shown()
}

// decided waits until everything that a decision shows is there.
func (s *story) decided(title string) {
	s.t.Helper()
	sha := s.pull.HeadSHA()
	if !slices.Contains(s.heads, sha) {
		s.heads = append(s.heads, sha)
	}
	s.await("a decision with "+title, func() bool {
		done := 0
		for _, run := range s.repo.CheckRuns(sha) {
			if run.AppID != s.app.ID() || run.Status != "completed" {
				continue
			}
			switch run.Name {
			case "countersign":
				if strings.Contains(run.Output.Title, title) {
					done++
				}
			case "countersign / review", "countersign / coverage":
				done++
			}
		}
		visible := 0
		for _, c := range s.pull.ReviewComments() {
			if !c.Pending && c.InReplyTo == 0 {
				visible++
			}
		}
		return done >= 3 && visible >= 2 && s.recorded(sha)
	})
}

// recorded reports whether the process knows of the last thing that it wrote on a
// head. One that was killed after the write learns of it when it is back.
func (s *story) recorded(sha string) bool {
	db, err := store.OpenReadOnly(context.Background(), store.Options{Path: s.db, URL: s.url})
	s.must(err)
	defer db.Close() //nolint:errcheck // it was read only
	recs, err := db.FindTrail(context.Background(), trail.Query{Type: trail.TypePublish, Limit: 1_000})
	s.must(err)
	for _, r := range recs {
		if body := string(r.Body); strings.Contains(body, sha) && strings.Contains(body, publish.CoverageName) {
			return true
		}
	}
	return false
}

// shown is everything of ours that people see on the pull request, and nothing
// that differs from one run of the story to the next.
func (s *story) shown() string {
	var lines []string
	for i, sha := range s.heads {
		for _, run := range s.repo.CheckRuns(sha) {
			if run.AppID != s.app.ID() {
				continue
			}
			line := fmt.Sprintf("head %d: %s: %s %s %q", i, run.Name, run.Status, run.Conclusion, run.Output.Title)
			for _, a := range run.Output.Annotations {
				line += fmt.Sprintf(" [%s %s:%d]", a.Level, a.Path, a.StartLine)
			}
			lines = append(lines, line)
		}
	}
	for _, r := range s.pull.Reviews() {
		lines = append(lines, fmt.Sprintf("review: %s, %d comments", r.State, r.Comments))
	}
	for _, th := range s.pull.Threads() {
		line := fmt.Sprintf("thread on %s %s", th.Path, th.Side)
		for _, c := range th.Comments {
			first, _, _ := strings.Cut(c.Body, "\n")
			line += fmt.Sprintf(" | %s%s", first, map[bool]string{true: " (pending)"}[c.Pending])
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out := strings.Join(lines, "\n")
	for i, sha := range s.heads {
		out = strings.ReplaceAll(out, sha, fmt.Sprintf("HEAD%d", i))
		out = strings.ReplaceAll(out, sha[:7], fmt.Sprintf("HEAD%d", i))
	}
	return out
}

// await waits for a condition, and starts the process again when it was killed.
func (s *story) await(what string, cond func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(3 * patience) // GitHub may ask for a minute, and again
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			s.t.Fatalf("waited %s for %s; shown:\n%s", 3*patience, what, s.shown())
		case <-s.p.gone:
			s.restart()
		case <-tick.C:
		}
	}
}

func (s *story) restart() {
	s.t.Helper()
	path, err := binary()
	s.must(err)
	env := s.env
	if s.p != nil {
		s.deaths++
		s.lb.remove(s.p.hook)
	} else if s.dieAt > 0 {
		path, err = os.Executable()
		s.must(err)
		env = append(slices.Clone(env), fmt.Sprintf("%s=%d", dieAt, s.dieAt))
	}
	var serves bool
	if s.p, serves = s.launch(path, env...); !serves {
		s.deaths++
		s.p = s.start(s.env...)
	}
	s.lb.add(s.p.hook)
}

// end stops the process cleanly and holds the trail.
func (s *story) end() {
	s.t.Helper()
	select {
	case <-s.p.gone: // killed at its last write
		s.restart()
	default:
	}
	s.must(s.p.cmd.Process.Signal(syscall.SIGTERM))
	<-s.p.gone
	if out, err := s.run("trail", "verify"); err != nil {
		s.t.Errorf("trail verify: %v\n%s", err, out)
	}
}

// murder kills the process and returns when it is gone.
func (s *story) murder(githubsim.Request) {
	p := s.newest.Load()
	p.cmd.Process.Signal(syscall.SIGKILL) //nolint:errcheck // it may have ended
	<-p.gone
}

// equals waits until GitHub shows what it does in an undisturbed run, lets the
// process end, and looks again: what came late would be there by then.
func (s *story) equals(want string) {
	s.t.Helper()
	s.await("the undisturbed end:\n"+want, func() bool { return s.shown() == want })
	s.end()
	if got := s.shown(); got != want {
		s.t.Errorf("after the end:\n%s\nwant\n%s", got, want)
	}
	s.neverGreen()
}

// neverGreen: no head of the story deserves a green check, at no moment. GitHub sends
// an event for each state of a check, so none is missed between two looks.
func (s *story) neverGreen() {
	s.t.Helper()
	seen := 0
	for _, d := range s.sim.Deliveries() {
		var event struct {
			CheckRun struct {
				Name       string `json:"name"`
				Conclusion string `json:"conclusion"`
				App        struct {
					ID int64 `json:"id"`
				} `json:"app"`
			} `json:"check_run"`
		}
		if d.Event != "check_run" || json.Unmarshal(d.Body, &event) != nil || event.CheckRun.App.ID != s.app.ID() || event.CheckRun.Name != publish.CheckName {
			continue
		}
		seen++
		if event.CheckRun.Conclusion == "success" {
			s.t.Errorf("%s was green for a moment: %s", publish.CheckName, d.Body)
		}
	}
	if seen == 0 {
		s.t.Error("no event told of the check: this shows nothing")
	}
}
