package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
)

const (
	hiddenLine  = "package cart\n\n// allowed \u202e } if admin {\nvar x = 1\n"
	injectedRun = "on: pull_request_target\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n" +
		"      - run: echo \"${{ github.event.pull_request.title }}\"\n"
)

// marked are a run's annotations, as "level path:line".
func marked(run githubsim.CheckRun) []string {
	var out []string
	for _, a := range run.Output.Annotations {
		out = append(out, fmt.Sprintf("%s %s:%d", a.Level, a.Path, a.StartLine))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *world) wantMarked(run githubsim.CheckRun, want ...string) {
	w.t.Helper()
	for _, now := range w.ours(run.HeadSHA, run.Name) {
		if now.ID != run.ID {
			continue
		}
		if got := marked(now); !slices.Equal(got, want) || len(now.Output.Annotations) != len(want) {
			w.t.Errorf("run %d bears %d annotations, at %q, want each once at %q", now.ID, len(now.Output.Annotations), got, want)
		}
	}
}

// review waits for `countersign / review` of a head, which ends as neutral.
func (w *world) review(sha, title string) githubsim.CheckRun {
	w.t.Helper()
	return w.awaitNamed(sha, publish.ReviewName, concluded("neutral", title))
}

// The whole path of a finding: on its line once, by the check that informs, whatever
// CI says afterwards; gone with the push that removes it; not marked again by a re-run
// that finds the same.
func TestFindingsAreMarkedOnTheirLinesOnce(t *testing.T) {
	w := newWorld(t)
	key := "AKIA" + "Z7XQ3M2N5P4R6TBV" // in two parts: this file holds none
	p := w.open("marks", githubsim.Change{Path: "docs/setup.md", Content: "# Setup\n\nexport AWS_ACCESS_KEY_ID=" + key + "\n"},
		githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
	decision := w.await(p.HeadSHA(), concluded("failure", "Critical · changes requested · 2 findings"))
	first := w.review(p.HeadSHA(), "2 findings · 1 critical, 1 high · not reviewed")
	w.idle()
	w.wantMarked(decision)
	both := []string{"failure cart/cart.go:3", "failure docs/setup.md:3"}
	w.wantMarked(first, both...)
	for _, a := range first.Output.Annotations {
		if text := a.Title + a.Message + a.Raw; strings.Contains(text, key) || strings.Contains(text, "\u202e") || strings.Contains(text, "export") || a.Message == "" {
			t.Errorf("annotation %+v shows source, or says nothing", a)
		}
	}
	// The high finding is listed beside the critical one, with its line.
	for _, want := range []string{"`deterministic-critical`", "`deterministic-finding`", "cart/cart.go#L3", "| Findings | 1 critical, 1 high |"} {
		if !strings.Contains(decision.Output.Summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, decision.Output.Summary)
		}
	}
	if n := strings.Count(first.Output.Summary, "; marked below\n"); n != 2 || strings.Contains(first.Output.Summary, key) {
		t.Errorf("%d findings are said to be marked:\n%s", n, first.Output.Summary)
	}
	// CI is recomputed with the re-reads and the one patch that it takes: no list of
	// runs, and nothing is marked again.
	w.check(p.HeadSHA(), "build", "success")
	w.idle()
	w.sim.ResetRequests()
	w.check(p.HeadSHA(), "build", "failure")
	w.idle()
	if total, routes := w.calls(); total-routes["POST /graphql"] > 1 {
		t.Errorf("%d calls for a recomputation: %v", total, routes)
	}
	w.wantMarked(first, both...)

	old := p.HeadSHA()
	_, err := p.Push(githubsim.Change{Path: "docs/setup.md", Content: "# Setup\n"})
	w.must(err)
	decision = w.await(p.HeadSHA(), concluded("failure", "High · changes requested · 1 finding"))
	second := w.review(p.HeadSHA(), "1 finding · 1 high · not reviewed")
	w.idle()
	w.wantMarked(second, "failure cart/cart.go:3")
	// What was found on the old head stays true of it.
	w.wantMarked(first, both...)
	for _, name := range []string{publish.CheckName, publish.ReviewName, publish.CoverageName} {
		if runs := w.ours(old, name); len(runs) != 1 || runs[0].Status != "completed" {
			t.Errorf("%d runs of %s on the old head: %+v", len(runs), name, runs)
		}
	}

	w.must(w.repo.Rerequest(decision.ID, "mona"))
	w.until(func() bool {
		runs := w.ours(p.HeadSHA(), publish.CheckName)
		return len(runs) == 2 && runs[1].Status == "completed"
	}, func() string { return "no second run was asked for and ended" })
	w.idle()
	w.wantMarked(second, "failure cart/cart.go:3")
	if runs := w.ours(p.HeadSHA(), publish.ReviewName); len(runs) != 1 {
		t.Errorf("%d runs of %s after a re-run that found the same", len(runs), publish.ReviewName)
	}
	w.verify()
}

// The answer to the write that marks the lines is lost, before or after it had its
// effect, once or for several attempts: each line is marked once, and the decision
// that came before stands.
func TestLinesAreMarkedOnceThoughGitHubFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, times := range []int{1, 2} {
			t.Run(fmt.Sprintf("after %v, %d times", after, times), func(t *testing.T) {
				w := newWorld(t)
				// The first POST is the decision's own.
				w.sim.Fail(githubsim.Fault{Route: "POST /repos/{owner}/{repo}/check-runs", Nth: 2, Times: times, After: after, Status: http.StatusBadGateway})
				p := w.open("inject", githubsim.Change{Path: ".github/workflows/pr.yml", Content: injectedRun})
				w.await(p.HeadSHA(), concluded("failure", "High · changes requested · "))
				run := w.review(p.HeadSHA(), "")
				w.awaitNamed(p.HeadSHA(), publish.CoverageName, concluded("neutral", ""))
				w.idle()
				want := marked(run)
				if !slices.Contains(want, "failure .github/workflows/pr.yml:6") {
					t.Errorf("marked at %q", want)
				}
				w.wantMarked(run, want...)
				for _, name := range []string{publish.CheckName, publish.ReviewName, publish.CoverageName} {
					if n := len(w.ours(p.HeadSHA(), name)); n != 1 {
						t.Errorf("%d runs of %s", n, name)
					}
				}
				w.await(p.HeadSHA(), concluded("failure", "High · changes requested · "))
				w.verify()
			})
		}
	}
}

// A workflow that is too large to be looked at is named, with the rules that did not
// look at it.
func TestWhatWasNotScannedIsSaid(t *testing.T) {
	w := newWorld(t)
	p := w.open("big", githubsim.Change{Path: ".github/workflows/big.yml", Content: "on: push\n" + strings.Repeat("# a comment that fills the file with harmless words\n", 3_000)})
	run := w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool {
		return strings.HasPrefix(run.Output.Title, "High · ") && run.Status == "completed" || strings.Contains(run.Output.Title, "waiting")
	})
	for _, want := range []string{"- `untrusted-checkout`: 1 file was not scanned for it: `.github/workflows/big.yml`: ", "- `unpinned-action`: 1 file was not"} {
		if !strings.Contains(run.Output.Summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, run.Output.Summary)
		}
	}
}

// A docs-only change at low, without any check, rests on the scans that ran.
func TestDocsOnlyOnScansAlone(t *testing.T) {
	w := newWorld(t)
	p := w.docs("alone")
	run := w.await(p.HeadSHA(), waiting("Low · waiting for checks to start · docs only"))
	w.idle()
	if strings.Contains(run.Output.Summary, "review-missing") {
		t.Errorf("a review is asked for:\n%s", run.Output.Summary)
	}
	w.check(p.HeadSHA(), "lint", "skipped")
	run = w.await(p.HeadSHA(), concluded("success", "Low · approved · docs only"))
	if want := "nothing was found by `credential`, `hidden-characters` and `hidden-text`; no model was called"; !strings.Contains(run.Output.Summary, want) {
		t.Errorf("the summary does not say %q:\n%s", want, run.Output.Summary)
	}
}
