package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

const wf = ".github/workflows/ci.yml"

// changed is a modified file of whole contents, with its hunk.
func changed(path, before, after string) (diff.Patch, map[string][]byte) {
	a, b := splitLines(before), splitLines(after)
	lead := 0
	for lead < len(a) && lead < len(b) && a[lead] == b[lead] {
		lead++
	}
	tail := 0
	for tail < len(a)-lead && tail < len(b)-lead && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var lines []string
	for _, l := range a[lead : len(a)-tail] {
		lines = append(lines, "-"+l)
	}
	for _, l := range b[lead : len(b)-tail] {
		lines = append(lines, "+"+l)
	}
	return patchOf(change(path, lead+1, lines...)), map[string][]byte{path: []byte(after)}
}

func scanChange(before, after string) Result {
	p, files := changed(wf, before, after)
	return Patch(context.Background(), p, files, Limits{})
}

// job is a workflow with these triggers, top-level lines and steps.
func job(on, top string, steps ...string) string {
	return "on: " + on + "\n" + top + "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n" + strings.Join(steps, "")
}

const (
	quiet     = "      - run: make\n"
	injection = "      - run: |\n          echo start\n          echo ${{ github.event.issue.title }}\n"
	headRef   = "      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}\n"
)

func TestUntrustedInputAndFaults(t *testing.T) {
	r := scanOf(newFile(wf, splitLines(job("issues", "", quiet, injection))...))
	wantPlaces(t, r, RuleUntrustedInput, wf+":9 high")
	if f := r.Findings[0]; f.Title != "Text that anyone may write becomes a part of a script: github.event.issue.title" {
		t.Errorf("title %q", f.Title)
	}
	// By way of the environment it is harmless.
	safe := "      - run: echo \"$T\"\n        env:\n          T: ${{ github.event.issue.title }}\n"
	wantPlaces(t, scanOf(newFile(wf, splitLines(job("issues", "", safe))...)), RuleUntrustedInput)
	// Not a workflow.
	wantPlaces(t, scanOf(newFile("docs/ci.yml", splitLines(job("issues", "", injection))...)), RuleUntrustedInput)
	// It was there and stays.
	wantPlaces(t, scanChange(job("issues", "", injection, quiet), job("issues", "", injection, quiet, quiet)), RuleUntrustedInput)
	// A second one of the kind.
	wantPlaces(t, scanChange(job("issues", "", injection, quiet), job("issues", "", injection, quiet, injection)), RuleUntrustedInput, wf+":12 high")
	// A rename into the folder brings all of it.
	moved := diff.File{Op: diff.Renamed, OldPath: "docs/ci.yml", NewPath: wf, OldMode: diff.ModeRegular, NewMode: diff.ModeRegular, OldBlob: "1", NewBlob: "1"}
	r = Patch(context.Background(), patchOf(moved), map[string][]byte{wf: []byte(job("issues", "", injection))}, Limits{})
	wantPlaces(t, r, RuleUntrustedInput, wf+":8 high")

	r = scanChange(job("push", "", quiet), job("push", "", quiet, "      - run: echo ${{ nothing.at.all }}\n"))
	wantPlaces(t, r, RuleWorkflowFault, wf+":7 medium")
	// A renamed output makes a fault in a line that stays.
	two := func(id string) string {
		return job("push", "", "      - id: "+id+"\n        run: make\n", "      - run: echo ${{ steps.one.outputs.x }}\n")
	}
	wantPlaces(t, scanChange(two("one"), two("uno")), RuleWorkflowFault, wf+":8 medium")
	wantPlaces(t, scanOf(newFile(wf, "on: push", "jobs: [")), RuleWorkflowFault, wf+":2 medium")
	wantPlaces(t, scanChange(two("uno"), two("uno")+quiet), RuleWorkflowFault)
}

func TestUnpinnedActions(t *testing.T) {
	sha := strings.Repeat("a1", 20)
	tests := map[string]bool{
		"other/action@v3": true, "other/action/sub@main": true, "other/action": true, "docker://alpine:3": true, "other/action@abc1234": true,
		"other/action@" + sha: false, "actions/checkout@v4": false, "github/codeql-action/init@v3": false, "acme/tool@main": false,
		"Acme/Tool@main": false, "./local": false, "docker://alpine@sha256:" + strings.Repeat("ab", 32): false,
	}
	for uses, want := range tests {
		r := scanChange(job("push", "", quiet), job("push", "", quiet, "      - uses: "+uses+"\n"))
		if want {
			wantPlaces(t, r, RuleUnpinnedAction, wf+":7 medium")
		} else {
			wantPlaces(t, r, RuleUnpinnedAction)
		}
	}
	step := "      - uses: other/action@v3\n"
	wantPlaces(t, scanChange(job("push", "", step), job("push", "", quiet, step)), RuleUnpinnedAction) // was there
	call := "on: push\njobs:\n  a:\n    uses: other/repo/.github/workflows/x.yml@main\n"
	wantPlaces(t, scanOf(newFile(wf, splitLines(call)...)), RuleUnpinnedAction, wf+":4 medium")
}

func TestActionPin(t *testing.T) {
	with := func(steps ...string) string { return job("push", "", steps...) }
	a1, a2, b1 := "      - uses: o/a@v1\n", "      - uses: o/a@v2 # new\n", "      - uses: o/b@v1\n"
	tests := []struct {
		name, before, after string
		want                risk.Tri
	}{
		{"moved", with(a1, quiet), with(a2, quiet), risk.Yes},
		{"another action", with(a1), with(b1), risk.No},
		{"and something else", with(a1, quiet), with(a2, quiet, quiet), risk.No},
		{"one added", with(a1), with(a1, a2), risk.No},
		{"only a comment", with(a1), with("      - uses: o/a@v1 # one\n"), risk.No},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantState(t, scanChange(tt.before, tt.after), risk.RuleActionPin, tt.want) })
	}
	f := change(wf, 1, "-x", "+y")
	f.Hunks, f.Truncated = nil, true
	wantState(t, scanOf(f), risk.RuleActionPin, risk.Unknown)
	f = change("big.go", 1, "-x", "+y")
	f.Hunks, f.Truncated = nil, true
	wantState(t, scanOf(f), risk.RuleActionPin, risk.No)
}

// Scopes that GitHub has and actionlint's list has not are no fault.
func TestNewScopes(t *testing.T) {
	top := "permissions:\n  code-quality: write\n"
	r := scanChange(job("push", "permissions: {}\n", quiet), job("push", top, quiet))
	wantPlaces(t, r, RuleWorkflowFault)
	wantPlaces(t, r, RulePermissionsWidened, wf+":3 medium")
	r = scanChange(job("push", "", quiet), job("push", "permissions:\n  code-quantity: write\n", quiet))
	wantPlaces(t, r, RuleWorkflowFault, wf+":3 medium")
}

func TestPermissions(t *testing.T) {
	on := func(event, top string) string { return job(event, top, quiet) }
	const read, write = "permissions:\n  contents: read\n", "permissions:\n  contents: write\n"
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"read to write", on("push", read), on("push", write), []string{wf + ":3 medium"}},
		{"nothing to write", on("push", ""), on("push", write), []string{wf + ":3 medium"}},
		{"a new workflow", "", on("push", write), []string{wf + ":3 medium"}},
		{"all", on("push", read), on("push", "permissions: write-all\n"), []string{wf + ":2 high"}},
		{"for anyone", on("pull_request_target", read), on("pull_request_target", write), []string{wf + ":3 high"}},
		{"limit taken away", on("push", read), on("push", ""), []string{wf + ":0 medium"}},
		{"id token", on("push", read), on("push", read+"  id-token: write\n"), []string{wf + ":4 medium"}},
		{"in a job", on("push", read), on("push", read) + "    permissions:\n      issues: write\n", []string{wf + ":10 medium"}},
		{"write to read", on("push", write), on("push", read), nil},
		{"stays", on("push", write), on("push", write) + quiet, nil},
		{"from all to one", on("push", "permissions: write-all\n"), on("push", write), nil},
		{"limit added", on("push", ""), on("push", read), nil},
		{"new, without any", "", on("push", ""), nil},
		{"read-all", on("push", read), on("push", "permissions: read-all\n"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := scanChange(tt.before, tt.after)
			if tt.before == "" {
				r = scanOf(newFile(wf, splitLines(tt.after)...))
			}
			wantPlaces(t, r, RulePermissionsWidened, tt.want...)
		})
	}
}

func TestUntrustedCheckout(t *testing.T) {
	script := func(lines ...string) string {
		return "      - run: |\n          " + strings.Join(lines, "\n          ") + "\n"
	}
	checkout := func(ref string) string {
		return "      - uses: actions/checkout@v4\n        with:\n          ref: " + ref + "\n"
	}
	tests := []struct {
		name, on, top, step string
		line                int
		severity            string
	}{
		{"head sha", "pull_request_target", "", headRef, 8, "high"},
		{"among others", "[push, pull_request_target]", "", headRef, 8, "high"},
		{"head ref", "pull_request_target", "", checkout("${{ github.head_ref }}"), 8, "high"},
		{"brackets and capitals", "pull_request_target", "", checkout("${{ GitHub.Event['pull_request']['head']['sha'] }}"), 8, "high"},
		{"merge ref", "pull_request_target", "", checkout("refs/pull/${{ github.event.number }}/merge"), 8, "high"},
		{"workflow run", "{workflow_run: {workflows: [x]}}", "", checkout("${{ github.event.workflow_run.head_sha }}"), 8, "high"},
		{"comment", "issue_comment", "", checkout("refs/pull/${{ github.event.issue.number }}/head"), 8, "high"},
		{"by way of the environment", "pull_request_target", "env:\n  SHA: ${{ github.event.pull_request.head.sha }}\n", checkout("${{ env.SHA }}"), 10, "high"},
		{"repository of the head", "pull_request_target", "", "      - uses: actions/checkout@v4\n        with:\n          repository: ${{ github.event.pull_request.head.repo.full_name }}\n", 8, "high"},
		{"gh", "pull_request_target", "", script("x", "gh pr checkout 5"), 8, "high"},
		{"git fetch", "pull_request_target", "", script("git fetch origin pull/$N/head", "make"), 7, "high"},
		{"git in one line", "pull_request_target", "", "      - run: git checkout ${{ github.event.pull_request.head.sha }}\n", 6, "high"},
		{"git by a variable", "pull_request_target", "env:\n  SHA: ${{ github.event.pull_request.head.sha }}\n", script("git checkout \"$SHA\""), 9, "high"},
		{"forks left out", "pull_request_target", "", headRef + "        if: github.event.pull_request.head.repo.full_name == github.repository\n", 8, "medium"},
		{"forks not quite left out", "pull_request_target", "", headRef + "        if: github.event.pull_request.head.repo.full_name == github.repository || true\n", 8, "high"},

		{"base", "pull_request_target", "", "      - uses: actions/checkout@v4\n", 0, ""},
		{"base sha", "pull_request_target", "", checkout("${{ github.event.pull_request.base.sha }}"), 0, ""},
		{"pull_request", "pull_request", "", headRef, 0, ""},
		{"named, not taken", "pull_request_target", "", script("echo ${{ github.event.pull_request.head.sha }}"), 0, ""},
		{"git of the base", "pull_request_target", "", script("git checkout main"), 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := scanOf(newFile(wf, splitLines(job(tt.on, tt.top, tt.step))...))
			if tt.line == 0 {
				wantPlaces(t, r, RuleUntrustedCheckout)
				return
			}
			wantPlaces(t, r, RuleUntrustedCheckout, fmt.Sprintf("%s:%d %s", wf, tt.line, tt.severity))
		})
	}
	// A changed trigger makes an old checkout dangerous; one that was is not the patch's.
	wantPlaces(t, scanChange(job("pull_request", "", headRef), job("pull_request_target", "", headRef)), RuleUntrustedCheckout, wf+":8 high")
	wantPlaces(t, scanChange(job("pull_request_target", "", headRef), job("pull_request_target", "", headRef, quiet)), RuleUntrustedCheckout)
	// The guard is taken away.
	guard := "        if: github.event.pull_request.head.repo.full_name == github.repository\n"
	wantPlaces(t, scanChange(job("pull_request_target", "", headRef+guard), job("pull_request_target", "", headRef)), RuleUntrustedCheckout, wf+":8 high")
	wantPlaces(t, scanChange(job("pull_request_target", "", headRef), job("pull_request_target", "", headRef+guard)), RuleUntrustedCheckout)
}

func TestWorkflowsThatAreNotLookedAt(t *testing.T) {
	steps := strings.Repeat("      - *s\n", 3000)
	loaded := "on: push\njobs:\n  a: &j\n    runs-on: x\n    steps:\n      - &s\n        run: " + strings.Repeat("${{ github.head_ref }}", 300) + "\n" + steps +
		strings.Repeat("  b: *j\n", 50)
	p, files := changed(wf, job("push", "", quiet), job("push", "", quiet, quiet))
	tests := []struct {
		name  string
		patch diff.Patch
		files map[string][]byte
		lim   Limits
	}{
		{"content not given", p, nil, Limits{}},
		{"content of another commit", p, map[string][]byte{wf: []byte("x")}, Limits{}},
		{"too large", p, files, Limits{WorkflowBytes: 10}},
		{"aliases", patchOf(newFile(wf, splitLines(loaded)...)), nil, Limits{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Patch(context.Background(), tt.patch, tt.files, tt.lim)
			gaps := map[string]bool{}
			for _, g := range r.Gaps {
				gaps[g.Rule] = g.Path == wf && g.Why != ""
			}
			for _, rule := range []string{RuleUnpinnedAction, RulePermissionsWidened, RuleUntrustedCheckout, RuleUntrustedInput, RuleWorkflowFault} {
				if !gaps[rule] {
					t.Errorf("%s is not among the gaps %v", rule, r.Gaps)
				}
			}
			wantState(t, r, risk.RuleCredential, risk.No)
		})
	}
	two := patchOf(newFile(wf, "on: push"), newFile(".github/workflows/b.yml", "on: push"))
	r := Patch(context.Background(), two, nil, Limits{Workflows: 1})
	if len(r.Gaps) != 5 {
		t.Errorf("gaps %v", r.Gaps)
	}
}

func TestNoSecretInWorkflowFindings(t *testing.T) {
	before := job("push", "env:\n  OLD: "+awsKey+"\n", quiet)
	after := job("push", "env:\n  OLD: "+awsKey+"\n", quiet, "      - run: echo ${{ "+githubToken+" }} ${{ env."+awsKey+" }}\n", "      - uses: o/"+githubToken+"@v1\n")
	r := scanChange(before, after)
	if len(places(r, RuleWorkflowFault)) == 0 || len(places(r, RuleUnpinnedAction)) == 0 {
		t.Errorf("findings %v", r.Findings)
	}
	wantNoSecret(t, r)
}

func TestHostileWorkflows(t *testing.T) {
	const size = 120 << 10
	head := job("push", "", "      - run: ")
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", size), "maps": strings.Repeat("{a: ", size/4), "indents": strings.Repeat("- ", size/2),
		"parentheses": head + "${{ " + strings.Repeat("(", size) + " }}", "nots": head + "${{ " + strings.Repeat("!", size) + "a }}",
		"expressions": head + strings.Repeat("${{ github.head_ref }}", size/22), "and": head + "${{ " + strings.Repeat("a && ", size/5) + "a }}",
		"self": "on: push\njobs: &a\n  b: *a\n", "checkouts": job("pull_request_target", "", strings.Repeat(headRef, size/len(headRef))),
		"variables": job("pull_request_target", "", "      - run: |\n", strings.Repeat("          git fetch $A ${B} ${{ env.C }}\n", size/40)),
	} {
		start := time.Now()
		scanOf(newFile(wf, splitLines(text)...))
		if d := time.Since(start); d > 15*time.Second {
			t.Errorf("%s took %s", name, d)
		}
	}
}

// Jobs are kept without order; what is found must not depend on it.
func TestWorkflowsAreReadTheSameEveryTime(t *testing.T) {
	text := "on: pull_request_target\njobs:\n"
	for i := range 8 {
		text += fmt.Sprintf("  j%d:\n    if: %s\n    runs-on: x\n    permissions: {contents: write}\n    steps:\n", i,
			[]string{"github.event.pull_request.head.repo.full_name == github.repository", "always()"}[i%2])
		if i == 0 {
			text += strings.Replace(headRef, "- uses", "- &s\n        uses", 1) + strings.Repeat(injection, 2)
		} else {
			text += "      - *s\n" + injection
		}
	}
	f := newFile(wf, splitLines(text)...)
	want := fmt.Sprintf("%+v", scanOf(f).Findings)
	for range 20 {
		if got := fmt.Sprintf("%+v", scanOf(f).Findings); got != want {
			t.Fatalf("got\n%s\nbefore\n%s", got, want)
		}
	}
	wantPlaces(t, scanOf(f), RuleUntrustedCheckout, wf+":11 high")
}

func FuzzWorkflow(f *testing.F) {
	f.Add(job("push", "", quiet), job("pull_request_target", "permissions: write-all\n", headRef, injection))
	f.Add("", "on: push\njobs: {a: {uses: o/r/.github/workflows/x.yml@v1}}\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		p, files := changed(wf, before, after)
		if p.Files[0].Hunks[0].Lines == nil {
			return
		}
		src, ok := newSource(p.Files[0], files[wf], true)
		if now, old, whole := src.texts(); ok && whole && !p.Files[0].Binary {
			if strings.TrimSuffix(now, "\n") != strings.TrimSuffix(after, "\n") || strings.TrimSuffix(old, "\n") != strings.TrimSuffix(before, "\n") {
				t.Fatalf("undone: %q from %q, want %q", old, now, before)
			}
		}
		for _, g := range Patch(context.Background(), p, files, Limits{WorkflowBytes: 4 << 10}).Findings {
			if g.Path != wf || g.Line < 0 || g.Line > len(splitLines(after))+1 {
				t.Fatalf("%+v", g)
			}
		}
	})
}

// A bare carriage return ends a line to YAML: the step behind a comment runs.
func TestLineEndsThatOnlyYAMLSees(t *testing.T) {
	for name, end := range map[string]string{"carriage return": "\r", "next line": "\u0085", "line separator": "\u2028", "paragraph separator": "\u2029"} {
		hidden := "      - run: make # tidy" + end + "      - run: make publish\n"
		r := scanChange(job("push", "", quiet), job("push", "", quiet, hidden))
		wantPlaces(t, r, RuleWorkflowFault, wf+":7 high")
		if !slices.ContainsFunc(r.Gaps, func(g Gap) bool { return g.Rule == RuleUntrustedInput && !g.Harmless }) {
			t.Errorf("%s: nobody says that the rest was not looked at: %+v", name, r.Gaps)
		}
		// Where it was there before, it is nobody's fault, and the lines are still not known.
		r = scanChange(job("push", "", hidden), job("push", "", hidden, quiet))
		wantPlaces(t, r, RuleWorkflowFault)
		if len(r.Gaps) == 0 {
			t.Errorf("%s: no gap", name)
		}
	}
	if r := scanChange(job("push", "", quiet), strings.ReplaceAll(job("push", "", quiet, injection), "\n", "\r\n")); len(r.Gaps) > 0 {
		t.Errorf("ordinary line ends of Windows: %+v", r.Gaps)
	}
}
