package terminal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign/countersign/app/terminal"
)

// key is in two parts: this file holds none.
const key = "AKIA" + "Z7XQ3M2N5P4R6TBV"

// mixed is a change with something of everything.
func mixed(t *testing.T) terminal.Report {
	t.Helper()
	c := newClone(t)
	c.write("docs/setup.md", "# Setup\n\nexport AWS_ACCESS_KEY_ID="+key+"\n")
	c.write(".github/workflows/pr.yml", "on: pull_request_target\njobs:\n  x:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo \"${{ github.event.pull_request.title }}\"\n")
	c.write("internal/auth/\x1b[2Jsession.go", "package auth\n")
	c.git("mv", "cart/cart.go", "cart/basket.go")
	c.git("add", "-A")
	c.write("notes.txt", "not added\n")
	r, err := terminal.Range(t.Context(), terminal.RangeOptions{Dir: c.dir, Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ids(rules []terminal.Rule) []string {
	var list []string
	for _, r := range rules {
		list = append(list, r.ID)
	}
	return list
}

func TestReviewOfARange(t *testing.T) {
	r := mixed(t)
	if r.Tier != "critical" || r.Decision != "changes_requested" || r.Conclusion != "failure" || r.Passes() || r.Review != "not_run" {
		t.Errorf("%s %s %s %s", r.Tier, r.Decision, r.Conclusion, r.Review)
	}
	if !slices.Contains(ids(r.Rules), "deterministic-critical") {
		t.Errorf("rules %q", ids(r.Rules))
	}
	for _, id := range []string{"review-missing", "approval-missing", "intent-missing", "checks-none"} {
		if !slices.Contains(ids(r.Open), id) || slices.Contains(ids(r.Rules), id) {
			t.Errorf("%s is not open: open %q, rules %q", id, ids(r.Open), ids(r.Rules))
		}
	}
	var places []string
	for _, f := range r.Findings {
		places = append(places, f.Rule+" "+f.Path)
		if f.Side != "RIGHT" || (f.Line == 0) != (f.Rule == "deceptive-path") || f.Key == "" || f.Do == "" {
			t.Errorf("%+v", f)
		}
	}
	for _, want := range []string{"credential docs/setup.md", "untrusted-input .github/workflows/pr.yml"} {
		if !slices.Contains(places, want) {
			t.Errorf("findings %q, want %s", places, want)
		}
	}
	if !slices.ContainsFunc(r.Files, func(f terminal.File) bool {
		return f.Path == "cart/basket.go" && f.PreviousPath == "cart/cart.go" && f.Op == "renamed" && f.Coverage == "skipped"
	}) {
		t.Errorf("the rename is not among %+v", r.Files)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "notes.txt") {
		t.Errorf("notes %q", r.Notes)
	}
}

// A machine may trust the schema, and no form shows the key or acts on a terminal.
func TestReviewInEveryForm(t *testing.T) {
	r := mixed(t)
	text, asJSON, asSARIF := bytes.Buffer{}, bytes.Buffer{}, bytes.Buffer{}
	if err := r.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&asJSON).Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteSARIF(&asSARIF, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]string{"text": text.String(), "json": asJSON.String(), "sarif": asSARIF.String()} {
		if strings.Contains(form, key) || strings.Contains(form, "\x1b") {
			t.Errorf("the %s shows the key or an escape:\n%s", name, form)
		}
	}
	lines := strings.Split(text.String(), "\n")
	if !strings.HasPrefix(lines[0], "Critical · changes requested · ") || !strings.HasPrefix(lines[1], "Next: fix the ") {
		t.Errorf("begins with %q", lines[:2])
	}
	for _, want := range []string{"docs/setup.md:3", ".github/workflows/pr.yml:6", "‹U+001B›[2Jsession.go", "Open here", "notes.txt"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	validate(t, asJSON.Bytes())
	report, err := sarif.FromBytes(asSARIF.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Error(err)
	}
	if got := len(report.Runs[0].Results); got != len(r.Findings) {
		t.Errorf("%d results, want %d", got, len(r.Findings))
	}
}

func validate(t *testing.T, report []byte) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(terminal.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("review.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("review.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Error(err)
	}
	value.(map[string]any)["tire"] = "high"
	if compiled.Validate(value) == nil {
		t.Error("the schema takes anything")
	}
}

// What is seen in part may hide anything: at high a person looks, and the files
// behind the fault are judged.
func TestReviewOfABrokenDiff(t *testing.T) {
	const whole = "diff --git a/internal/auth/a.go b/internal/auth/a.go\nindex 1..2 100644\n--- a/internal/auth/a.go\n+++ b/internal/auth/a.go\n@@ -1,2 +1,9 @@\n a\n+b\n" +
		"diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n"
	r, err := terminal.Diff(t.Context(), "x.diff", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if r.Decision != "needs_human" || !slices.Contains(ids(r.Rules), "diff-truncated") || r.Passes() || len(r.Files) != 2 || !r.Files[0].Truncated {
		t.Errorf("%s by %q, files %+v", r.Decision, ids(r.Rules), r.Files)
	}
	for _, bad := range []string{"", "\n", "hello\n"} {
		if _, err := terminal.Diff(t.Context(), "x.diff", strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "want a unified diff") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestReviewWithNothingAgainstIt(t *testing.T) {
	r, err := terminal.Diff(t.Context(), "standard input", strings.NewReader("diff --git a/docs/a.md b/docs/a.md\nindex 78981922613b2afb6025042ff6bd878ac1994e85..61780798228d17af2d34fce4cfbdf35556832472 100644\n--- a/docs/a.md\n+++ b/docs/a.md\n@@ -1 +1 @@\n-a\n+b\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Tier != "low" || r.Decision != "approved" || r.Conclusion != "success" || !r.Passes() {
		t.Errorf("%s %s %s by %q", r.Tier, r.Decision, r.Conclusion, ids(r.Rules))
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, true); err != nil || !strings.Contains(text.String(), "nothing found against it") || !strings.Contains(text.String(), "\x1b[32m") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// An empty range is said to be one: on the default branch itself people easily
// compare it with itself.
func TestReviewOfNothing(t *testing.T) {
	c := newClone(t)
	r, err := terminal.Range(t.Context(), terminal.RangeOptions{Dir: c.dir})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, false); err != nil || !strings.HasPrefix(text.String(), "Nothing to look at · no file differs from main\nNext: name ") || !r.Passes() {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// A diff that was cut in its last line is not taken for a whole one, and what an
// error shows of a line is too little for a key.
func TestReviewOfACutDiff(t *testing.T) {
	const head = "diff --git a/auth/a.go b/auth/a.go\nindex 1111111..2222222 100644\n--- a/auth/a.go\n+++ b/auth/a.go\n@@ -1 +1,2 @@\n a\n"
	for _, cut := range []string{head + "+k := \"", head + key + "\n"} {
		r, err := terminal.Diff(t.Context(), "x.diff", strings.NewReader(cut))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil || r.Decision != "needs_human" || r.Passes() || strings.Contains(string(text), key) {
			t.Errorf("%q: %s (%v)\n%s", cut, r.Decision, err, text)
		}
	}
}

// What was interrupted says nothing.
func TestReviewThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := terminal.Diff(ctx, "x.diff", strings.NewReader("diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-a\n+b\n")); !errors.Is(err, context.Canceled) || r.Decision != "" {
		t.Errorf("%q, %v", r.Decision, err)
	}
}
