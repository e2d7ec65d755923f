package publish

import (
	"slices"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
)

// lineRules are the scanners that read every added line of every file with text; the
// others look into workflows, manifests and tests only.
func lineRules() []struct{ rule, words string } {
	return []struct{ rule, words string }{
		{risk.RuleCredential, "credentials"},
		{risk.RuleHiddenCharacters, "hidden characters"},
		{risk.RuleHiddenText, "hidden text"},
	}
}

// scannedRules are those of them that ran on this head, by what they left behind: a
// clean answer, a finding, a signal, or a list of what they did not look at. One that
// left nothing is not claimed to have looked.
func scannedRules(v View) []string {
	e := v.Evidence
	var out []string
	for _, r := range lineRules() {
		found := slices.ContainsFunc(e.Findings, func(f review.Finding) bool { return f.Rule == r.rule && f.Source != review.FromReviewer })
		counted := slices.ContainsFunc(e.MoreFindings, func(m review.MoreFindings) bool { return m.Rule == r.rule })
		open := slices.ContainsFunc(e.ScanGaps, func(g review.ScanGap) bool { return g.Rule == r.rule })
		if found || counted || open || slices.Contains(e.ContentPassed, r.rule) || slices.Contains(e.Signals, r.rule) {
			out = append(out, r.rule)
		}
	}
	return out
}

// scans is what the scanners looked at, by file.
type scans struct {
	ran []string
	// gaps are the rules that did not look at a path, with the reason; vague those of
	// which not every file is named, so that nobody can tell for the others.
	gaps  map[string][]review.ScanPlace // Path is the rule here
	vague map[string]bool
}

func scansOf(v View) scans {
	s := scans{ran: v.Evidence.ContentPassed, gaps: make(map[string][]review.ScanPlace), vague: make(map[string]bool)}
	for _, g := range v.Evidence.ScanGaps {
		for _, p := range g.Places {
			if p.Path != "" {
				s.gaps[p.Path] = append(s.gaps[p.Path], review.ScanPlace{Path: g.Rule, Why: p.Why})
			}
		}
		if g.Unnamed(len(g.Places)) > 0 {
			s.vague[g.Rule] = true
		}
	}
	return s
}

// looked says what a file was scanned for: "scanned" where every rule looked, else
// which did; empty where none did, or none is known to have.
func (s scans) looked(r FileRow) string {
	if len(s.ran) == 0 || r.Kinds.HasAny(risk.KindsOf(risk.Binary, risk.Submodule)) {
		return "" // there is no text to scan, or nobody scanned
	}
	var did []string
	for _, rule := range lineRules() {
		missing := slices.ContainsFunc(s.gaps[r.Path], func(p review.ScanPlace) bool { return p.Path == rule.rule })
		if slices.Contains(s.ran, rule.rule) && !missing && !s.vague[rule.rule] {
			did = append(did, rule.words)
		}
	}
	switch len(did) {
	case 0:
		return ""
	case len(lineRules()):
		return "scanned"
	}
	return "scanned for " + join(did, "and") + " only"
}

// notLooked names the rules that did not look at a file, and why.
func (s scans) notLooked(path string) string {
	const shown = 3
	var parts []string
	for i, p := range s.gaps[path] {
		if i == shown {
			parts = append(parts, count(len(s.gaps[path])-shown)+" more rules")
			break
		}
		parts = append(parts, code(p.Path)+" ("+prose(p.Why)+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not scanned for " + join(parts, "and")
}
