package scan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"
)

var (
	// headOf matches an expression or a ref that is the head of a pull request, in
	// lower case, its brackets written as dots.
	headOf = regexp.MustCompile(`github\.head_ref|pull_request\.(?:head\b|merge_commit_sha|number)|workflow_run\.(?:head_|pull_requests)|` +
		`github\.event\.(?:number|issue\.number)|refs/(?:remotes/)?pull/|\bpull/[^\s"']+/(?:head|merge)|` +
		`\$\{\{[^}]*\.outputs\.[^}]*(?:head|pr_?sha)`)
	// fetches matches a command that brings a commit into the work tree.
	fetches = regexp.MustCompile(`\bgit\b.*\b(?:checkout|switch|reset|merge|pull|worktree|cherry-pick|clone|fetch)\b`)
	ghPR    = regexp.MustCompile(`\bgh\s+pr\s+checkout\b`)
	bracket = regexp.MustCompile(`\[\s*['"]([a-z0-9_-]+)['"]\s*\]`)
	// sameRepo is a condition under which no fork's head is taken.
	sameRepo = regexp.MustCompile(`head\.repo\.full_name\s*==\s*github\.repository\b|github\.repository\s*==\s*github\.event\.pull_request\.head\.repo\.full_name|` +
		`!\s*github\.event\.pull_request\.head\.repo\.fork|head\.repo\.fork\s*==\s*false|head_repository\.full_name\s*==\s*github\.repository\b`)
	variable = regexp.MustCompile(`\$\{\{\s*env\.([a-z0-9_]+)\s*\}\}|\$\{?([a-z_][a-z0-9_]*)\}?`)
)

// checkout is a step that takes the head of a pull request.
type checkout struct {
	line    int
	what    string // of the step, to know it again
	guarded bool
}

// checkouts reports steps that check out the head of a pull request in a workflow
// that has the base's token and secrets: the author's code, build scripts and
// hooks then run with them.
func (w *workflow) checkouts() {
	known, open := map[string]bool{}, map[string]bool{}
	for _, c := range checkoutsOf(w.old) {
		known[c.what] = true
		open[c.what] = open[c.what] || !c.guarded
	}
	seen := map[int]bool{}
	for _, c := range checkoutsOf(w.now) {
		if known[c.what] && !w.added[c.line] && (c.guarded || open[c.what]) || seen[c.line] {
			continue
		}
		seen[c.line] = true
		severity := High
		if c.guarded {
			severity = Medium
		}
		f := w.finding(RuleUntrustedCheckout, c.line, severity, "The head of a pull request is checked out with the base's token and secrets")
		f.Why = "pull_request_target, workflow_run and issue_comment run in the base's name. Anyone can open a pull request whose build script, test or configuration then reads the secrets and writes with the token."
		f.Do = "Run code of the head under pull_request, without secrets, and hand only its results to a workflow that has them."
		w.report(f)
	}
}

func checkoutsOf(w *actionlint.Workflow) []checkout {
	if !privileged(w) {
		return nil
	}
	var list []checkout
	for id, job := range w.Jobs {
		for _, step := range job.Steps {
			env := environment(w.Env, job.Env, step.Env)
			c := checkout{guarded: guards(job.If) || guards(step.If)}
			switch e := step.Exec.(type) {
			case *actionlint.ExecAction:
				if e.Uses == nil || !strings.Contains(strings.ToLower(e.Uses.Value), "checkout") {
					continue
				}
				for _, name := range []string{"ref", "repository"} {
					in := e.Inputs[name]
					if in == nil || in.Value == nil || !headOf.MatchString(expand(in.Value.Value, env)) {
						continue
					}
					c.line, c.what = lineOf(in.Value), id+" "+in.Value.Value
					list = append(list, c)
					break
				}
			case *actionlint.ExecRun:
				if e.Run == nil {
					continue
				}
				for i, text := range strings.Split(e.Run.Value, "\n") {
					low := expand(text, env)
					if !ghPR.MatchString(low) && (!fetches.MatchString(low) || !headOf.MatchString(low)) {
						continue
					}
					c.line, c.what = scriptLine(e.Run, i), id+" "+text
					list = append(list, c)
				}
			}
		}
	}
	// Jobs have no order, and one step may be several jobs' by an alias: what is not
	// guarded in one of them comes first.
	slices.SortStableFunc(list, func(a, b checkout) int {
		switch {
		case a.guarded == b.guarded:
			return a.line - b.line
		case b.guarded:
			return -1
		}
		return 1
	})
	return list
}

// scriptLine is the line of the file at which a script's line stands: a block
// begins below its sign.
func scriptLine(run *actionlint.String, i int) int {
	no := lineOf(run)
	if strings.Contains(run.Value, "\n") && !run.Quoted {
		return no + 1 + i
	}
	return no
}

// environment gives the variables whose values may matter, in lower case, the
// innermost last.
func environment(levels ...*actionlint.Env) map[string]string {
	vars := map[string]string{}
	for _, env := range levels {
		if env == nil {
			continue
		}
		for name, v := range env.Vars {
			if v != nil && v.Value != nil && len(v.Value.Value) < 1<<10 {
				vars[strings.ToLower(name)] = v.Value.Value
			}
		}
	}
	return vars
}

// expand spells an expression the way headOf expects it, variables replaced once.
func expand(text string, env map[string]string) string {
	plain := func(s string) string { return bracket.ReplaceAllString(strings.ToLower(s), ".$1") }
	return variable.ReplaceAllStringFunc(plain(text), func(ref string) string {
		m := variable.FindStringSubmatch(ref)
		if value, ok := env[m[1]+m[2]]; ok {
			return plain(value)
		}
		return ref
	})
}

// guards reports whether a condition leaves forks out. One that has an "or" may
// not.
func guards(cond *actionlint.String) bool {
	return cond != nil && !strings.Contains(cond.Value, "||") && sameRepo.MatchString(strings.ToLower(cond.Value))
}
