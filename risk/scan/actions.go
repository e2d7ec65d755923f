package scan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// actionPins answers the rule action-pin: a workflow whose only change is that
// actions move to another version.
func (s *scanner) actionPins(src *source, _ func(Finding)) (why string) {
	if src.gap == "" && src.file.Op == diff.Modified && movesPinsOnly(src.file) {
		s.hits[risk.RuleActionPin] = append(s.hits[risk.RuleActionPin], src.path)
	}
	return ""
}

var usesLine = regexp.MustCompile(`^\s*(?:-\s+)?uses:\s*["']?([^\s"'#@]+)@([^\s"'#]+)["']?\s*(?:#.*)?$`)

func movesPinsOnly(f diff.File) bool {
	moved := false
	for _, h := range f.Hunks {
		var gone, come [][]string
		for _, l := range h.Lines {
			if l.Op == diff.ContextLine {
				continue
			}
			m := usesLine.FindStringSubmatch(strings.TrimRight(l.Text, "\r"))
			if m == nil {
				return false
			}
			if l.Op == diff.DeletedLine {
				gone = append(gone, m)
			} else {
				come = append(come, m)
			}
		}
		if len(gone) != len(come) {
			return false
		}
		for i := range gone {
			if gone[i][1] != come[i][1] {
				return false
			}
			moved = moved || gone[i][2] != come[i][2]
		}
	}
	return moved
}

// actions reports third-party actions, and workflows of others, that the patch
// brings in by a name that can be moved to other code.
func (w *workflow) actions(repo string) {
	known := map[string]bool{}
	for _, uses := range usesOf(w.old) {
		known[uses.Value] = true
	}
	seen := map[int]bool{}
	for _, uses := range usesOf(w.now) {
		no := lineOf(uses)
		if known[uses.Value] || seen[no] || !unpinned(uses.Value, repo) {
			continue
		}
		seen[no] = true
		f := w.finding(RuleUnpinnedAction, no, Medium, "An action of others is not pinned to a commit")
		if name := w.src.show(uses.Value, maxDetail); name != "" {
			f.Title += ": " + name
		}
		f.Why = "Its owner, or whoever takes over the account, can move the tag or branch to other code, which then runs with the job's token and secrets."
		f.Do = "Name the commit, with the version in a comment: uses: owner/name@<40 hex digits> # v1.2.3; an image by its sha256."
		w.report(f)
	}
}

// usesOf returns what a workflow's steps and jobs use, in the order of lines.
func usesOf(w *actionlint.Workflow) []*actionlint.String {
	var list []*actionlint.String
	if w == nil {
		return nil
	}
	for _, job := range w.Jobs {
		if job.WorkflowCall != nil && job.WorkflowCall.Uses != nil {
			list = append(list, job.WorkflowCall.Uses)
		}
		for _, step := range job.Steps {
			if e, ok := step.Exec.(*actionlint.ExecAction); ok && e.Uses != nil {
				list = append(list, e.Uses)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *actionlint.String) int { return lineOf(a) - lineOf(b) })
	return list
}

var (
	commitRef = regexp.MustCompile(`^[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?$`)
	imageSum  = regexp.MustCompile(`@sha256:[0-9a-fA-F]{64}$`)
)

// unpinned reports whether `uses` names code of a third party by what can be moved.
// GitHub's own and those of the repository's owner are no third party's.
func unpinned(uses, repo string) bool {
	if image, ok := strings.CutPrefix(uses, "docker://"); ok {
		return !imageSum.MatchString(image)
	}
	if strings.HasPrefix(uses, "./") || strings.HasPrefix(uses, "../") || uses == "" || actionlint.ContainsExpression(uses) {
		return false
	}
	name, ref, _ := strings.Cut(uses, "@")
	owner, _, _ := strings.Cut(strings.ToLower(name), "/")
	own, _, _ := strings.Cut(strings.ToLower(repo), "/")
	if owner == "actions" || owner == "github" || owner == own && own != "" {
		return false
	}
	return !commitRef.MatchString(ref)
}
