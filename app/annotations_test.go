package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

const hiddenLine = "package cart\n\n// allowed \u202e } if admin {\nvar x = 1\n"

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

// crowded has 1 critical and 11 high findings: ten are comments, two are left.
func crowded(key string) []githubsim.Change {
	out := []githubsim.Change{{Path: "docs/setup.md", Content: "# Setup\n\nexport AWS_ACCESS_KEY_ID=" + key + "\n"}}
	for i := range 11 {
		out = append(out, githubsim.Change{Path: fmt.Sprintf("cart/c%02d.go", i), Content: hiddenLine})
	}
	return out
}

func (w *world) wantCommented(p *githubsim.Pull, want ...string) {
	w.t.Helper()
	var got []string
	for _, c := range p.ReviewComments() {
		if c.InReplyTo == 0 && !c.Pending {
			got = append(got, fmt.Sprintf("%s:%d", c.Path, c.OriginalLine))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("commented at %q, want each once at %q", got, want)
	}
}

// The whole path of more findings than are commented: the gravest are comments on
// their lines, the others are marked by the check that informs, each once, whatever CI
// says afterwards; a push that fixes one makes room for another; a re-run that finds
// the same says nothing again.
func TestFindingsAreMarkedOnTheirLinesOnce(t *testing.T) {
	w := newWorld(t)
	key := "AKIA" + "Z7XQ3M2N5P4R6TBV" // in two parts: this file holds none
	p := w.open("marks", crowded(key)...)
	decision := w.await(p.HeadSHA(), concluded("failure", "Critical · changes requested · 12 findings"))
	first := w.review(p.HeadSHA(), "12 findings · 1 critical, 11 high · not reviewed")
	w.idle()
	w.wantMarked(decision)
	both := []string{"failure cart/c09.go:3", "failure cart/c10.go:3"}
	w.wantMarked(first, both...)
	commented := []string{"docs/setup.md:3"}
	for i := 8; i >= 0; i-- {
		commented = slices.Insert(commented, 0, fmt.Sprintf("cart/c%02d.go:3", i))
	}
	w.wantCommented(p, commented...)
	texts := []string{first.Output.Summary, first.Output.Text}
	for _, a := range first.Output.Annotations {
		texts = append(texts, a.Title+a.Message+a.Raw)
	}
	for _, c := range p.ReviewComments() {
		texts = append(texts, c.Body)
	}
	for _, text := range texts {
		if strings.Contains(text, key) || strings.Contains(text, "\u202e") || strings.Contains(text, "export") {
			t.Errorf("source is shown: %q", text)
		}
	}
	// The high findings are listed beside the critical one, with their lines.
	for _, want := range []string{"`deterministic-critical`", "`deterministic-finding`", "cart/c00.go#L3", "| Findings | 1 critical, 11 high |"} {
		if !strings.Contains(decision.Output.Summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, decision.Output.Summary)
		}
	}
	if n := strings.Count(first.Output.Summary, "; marked below\n"); n != 2 {
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
	decision = w.await(p.HeadSHA(), concluded("failure", "High · changes requested · 11 findings"))
	second := w.review(p.HeadSHA(), "11 findings · 11 high · not reviewed")
	w.idle()
	w.wantMarked(second, "failure cart/c10.go:3")
	commented = slices.Insert(commented, 9, "cart/c09.go:3")
	w.wantCommented(p, commented...)
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
	w.wantMarked(second, "failure cart/c10.go:3")
	w.wantCommented(p, commented...)
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
				p := w.open("marks", crowded("none of these")...)
				w.await(p.HeadSHA(), concluded("failure", "High · changes requested · 11 findings"))
				run := w.review(p.HeadSHA(), "")
				w.awaitNamed(p.HeadSHA(), publish.CoverageName, concluded("neutral", ""))
				w.idle()
				if errs := len(w.records(p.Number(), trail.TypeRunError)); times == 1 && errs != 0 {
					t.Errorf("%d errors are recorded, want the lost answer asked for at once", errs)
				}
				w.wantMarked(run, "failure cart/c10.go:3")
				for _, name := range []string{publish.CheckName, publish.ReviewName, publish.CoverageName} {
					if n := len(w.ours(p.HeadSHA(), name)); n != 1 {
						t.Errorf("%d runs of %s", n, name)
					}
				}
				w.await(p.HeadSHA(), concluded("failure", "High · changes requested · 11 findings"))
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
