package scan

import (
	"cmp"
	"path"
	"regexp"
	"strings"

	"github.com/rhysd/actionlint"
)

// isActionPath reports whether GitHub takes the file for an action's description.
func isActionPath(p string) bool {
	base := strings.ToLower(path.Base(p))
	return base == "action.yml" || base == "action.yaml"
}

// composites looks at a changed composite action for what the patch brings into
// its steps: actions of others that are not pinned, and text that anyone may write
// in scripts.
func (s *scanner) composites(src *source, report func(Finding)) (why string) {
	if src.gap != "" {
		return "" // said already
	}
	text, old, ok := src.texts()
	if !ok {
		return "the whole action was not given"
	}
	now, composite, why := asWorkflow(text)
	if why != "" || !composite {
		return why
	}
	w, why := s.openWorkflow(src, text, old, report)
	if why != "" {
		return why
	}
	defer func() {
		if recover() != nil {
			why = "actionlint could not look at it" // its panic may hold source text
		}
	}()
	var faults, before []*actionlint.Error
	w.now, faults = lint(src.path, now)
	if isActionPath(src.file.OldPath) {
		if was, composite, _ := asWorkflow(old); composite {
			w.old, before = lint(src.path, was)
		}
	}
	w.faults(untrusted(faults), untrusted(before))
	if w.now != nil {
		w.actions(s.patch.Repo)
	}
	return cmp.Or(s.late(), why)
}

// untrusted keeps of the faults those that are not about the parts of a workflow
// which an action does not have.
func untrusted(faults []*actionlint.Error) []*actionlint.Error {
	var list []*actionlint.Error
	for _, e := range faults {
		if e.Kind == "expression" && strings.Contains(e.Message, "potentially untrusted") && len(list) < maxFaults {
			list = append(list, e)
		}
	}
	return list
}

var (
	compositeLine = regexp.MustCompile(`^\s+['"]?using['"]?\s*:\s*['"]?composite['"]?\s*(?:#.*)?$`)
	stepsLine     = regexp.MustCompile(`^( +)['"]?steps['"]?\s*:`)
)

// asWorkflow writes the steps of a composite action as those of a workflow's only
// job, line by line at the numbers that they have, since actionlint reads no
// actions.
func asWorkflow(text string) (workflow string, composite bool, why string) {
	lines := splitLines(strings.ReplaceAll(text, "\r\n", "\n"))
	first, indent := -1, ""
	for i, l := range lines {
		composite = composite || compositeLine.MatchString(l)
		if m := stepsLine.FindStringSubmatch(l); m != nil && first < 0 {
			first, indent = i, m[1]
		}
	}
	switch {
	case !composite && strings.Contains(text, "composite") && strings.Contains(text, "steps"):
		return "", false, "its steps are written in a form that is not read"
	case !composite:
		return "", false, ""
	case first < 2:
		return "", true, "its steps are written in a form that is not read"
	}
	const pad = "    "
	out := append(make([]string, first, len(lines)+3), pad+lines[first])
	out[0], out[1] = "jobs:", "  a:"
	for _, l := range lines[first+1:] {
		if rest := strings.TrimLeft(l, " "); rest != "" && rest[0] != '#' && len(l)-len(rest) <= len(indent) && (len(l)-len(rest) < len(indent) || rest[0] != '-') {
			break // what follows the steps
		}
		out = append(out, pad+l)
	}
	out = append(out, pad+indent+"runs-on: ubuntu-latest", "on: push", "")
	return strings.Join(out, "\n"), true, ""
}
