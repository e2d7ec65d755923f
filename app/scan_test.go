package app_test

import (
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/trail"
)

// A leaked key makes even documentation critical and red, with its line, and the
// key itself is nowhere: not in the check, the trail, the log or the database.
func TestLeakedCredential(t *testing.T) {
	w := newWorld(t)
	key := "AKIA" + "Z7XQ3M2N5P4R6TBV" // in two parts: this file holds none
	p := w.open("leak", githubsim.Change{Path: "docs/setup.md", Content: "# Setup\n\nexport AWS_ACCESS_KEY_ID=" + key + "\n"})
	w.check(p.HeadSHA(), "build", "success")
	run := w.await(p.HeadSHA(), concluded("failure", "Critical · changes requested · 1 finding"))
	w.idle()
	for _, want := range []string{"deterministic-critical", "docs/setup.md:3", "`credential`"} {
		if !strings.Contains(run.Output.Summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, run.Output.Summary)
		}
	}
	for where, text := range map[string]string{"check": run.Output.Title + run.Output.Summary + run.Output.Text, "log": w.log.String()} {
		if strings.Contains(text, key) {
			t.Errorf("the %s shows the key", where)
		}
	}
	for _, r := range w.records(p.Number(), "") {
		if strings.Contains(string(r.Body), key) {
			t.Errorf("record %s shows the key", r.Type)
		}
	}
	var sessions string
	w.must(w.service.Store().DB().QueryRowContext(t.Context(), `SELECT group_concat(body) FROM sessions`).Scan(&sessions))
	if strings.Contains(sessions, key) || strings.Contains(sessions, "export AWS") {
		t.Error("the database holds the line")
	}
	if n := len(w.records(p.Number(), trail.TypeRunError)); n > 0 {
		t.Errorf("%d errors", n)
	}
}

// A character that turns the reading direction, in source code.
func TestHiddenCharacters(t *testing.T) {
	w := newWorld(t)
	p := w.open("bidi", githubsim.Change{Path: "cart/cart.go", Content: "package cart\n\n// allowed \u202e } if admin {\nvar x = 1\n"})
	w.check(p.HeadSHA(), "build", "success")
	run := w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "completed" })
	if !strings.Contains(run.Output.Summary, "hidden-characters") || !strings.Contains(run.Output.Summary, "cart/cart.go:3") {
		t.Errorf("%q\n%s", run.Output.Title, run.Output.Summary)
	}
	if strings.Contains(run.Output.Summary, "\u202e") {
		t.Error("the check shows the character itself")
	}
}

// Two keys in one file are two findings.
func TestFindingsAreToldApart(t *testing.T) {
	w := newWorld(t)
	one, two := "AKIA"+"Z7XQ3M2N5P4R6TBV", "AKIA"+"Q4WE7RT2YU5IO3PA"
	p := w.open("two", githubsim.Change{Path: "docs/setup.md", Content: "a=" + one + "\n\nb=" + two + "\n"})
	run := w.await(p.HeadSHA(), concluded("failure", "Critical · changes requested · 2 findings"))
	for _, want := range []string{"docs/setup.md:1", "docs/setup.md:3"} {
		if !strings.Contains(run.Output.Summary, want) {
			t.Errorf("the summary does not say %s:\n%s", want, run.Output.Summary)
		}
	}
}

// A new workflow is looked at whole.
func TestInjectedWorkflow(t *testing.T) {
	w := newWorld(t)
	p := w.open("inject", githubsim.Change{Path: ".github/workflows/pr.yml", Content: "on: pull_request_target\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n" +
		"      - run: echo \"${{ github.event.pull_request.title }}\"\n"})
	run := w.await(p.HeadSHA(), concluded("failure", "High · changes requested · "))
	if want := ".github/workflows/pr.yml:6"; !strings.Contains(run.Output.Summary, want) {
		t.Errorf("the summary does not say %s:\n%s", want, run.Output.Summary)
	}
}

// What makes a changed step dangerous may stand far above the hunk: a changed
// workflow is read whole.
func TestWorkflowIsReadBeyondTheHunk(t *testing.T) {
	w := newWorld(t)
	above := "on: pull_request_target\n# " + strings.Repeat("-\n# ", 30) + "\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n"
	_, err := w.repo.Commit("main", "a privileged workflow", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: ".github/workflows/pr.yml", Content: above}}})
	w.must(err)
	p := w.open("checkout", githubsim.Change{Path: ".github/workflows/pr.yml", Content: above +
		"      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}\n"})
	run := w.await(p.HeadSHA(), concluded("failure", "High · changes requested · "))
	for _, want := range []string{"The head of a pull request is checked out", ".github/workflows/pr.yml:40"} {
		if !strings.Contains(run.Output.Summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, run.Output.Summary)
		}
	}
}
