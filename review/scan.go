package review

import (
	"fmt"
	"strings"
)

// ScanGap is what the scanner of one rule did not look at: whatever is there, the
// rule does not know it. Files that hold no text by their nature are no gap.
type ScanGap struct {
	Rule  string `json:"rule"`
	Files int    `json:"files"` // how many; Places are the first of them
	// Places name the files and the reasons. One without a path stands for files
	// that the patch does not list, and is not counted in Files.
	Places []ScanPlace `json:"places,omitempty"`
}

// ScanPlace is a file that was not scanned, or not all of it. The path was written
// by strangers.
type ScanPlace struct {
	Path string `json:"path,omitempty"`
	Why  string `json:"why"`
}

// MoreFindings counts the findings of a scanner's rule beyond those in
// Evidence.Findings: there were too many to list.
type MoreFindings struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"`
}

// Key names them among the causes of a rule. One more of them is another key, so
// that who accepted them is asked again.
func (m MoreFindings) Key() string { return fmt.Sprintf("%d more of %s", m.Count, m.Rule) }

// Text is one plain sentence fragment about them.
func (m MoreFindings) Text() string {
	if m.Count == 1 {
		return "1 more finding of " + m.Rule + " is not listed"
	}
	return fmt.Sprintf("%d more findings of %s are not listed", m.Count, m.Rule)
}

// Text is the gap in plain words, the first places named and the rest counted.
func (g ScanGap) Text() string {
	shown := g.Places[:min(len(g.Places), shownPaths)]
	parts := make([]string, 0, len(shown)+1)
	for _, p := range shown {
		if p.Path == "" {
			parts = append(parts, p.Why)
		} else {
			parts = append(parts, p.Path+": "+p.Why)
		}
	}
	if more := g.Unnamed(len(shown)); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return sentence(g.Intro(), strings.Join(parts, "; "))
}

// Intro says how many files were not scanned.
func (g ScanGap) Intro() string {
	switch g.Files {
	case 0:
		return "not every file was scanned for it"
	case 1:
		return "1 file was not scanned for it"
	}
	return fmt.Sprintf("%d files were not scanned for it", g.Files)
}

// Unnamed counts the files beyond the first so many places.
func (g ScanGap) Unnamed(shown int) int {
	named := 0
	for _, p := range g.Places[:min(len(g.Places), shown)] {
		if p.Path != "" {
			named++
		}
	}
	return g.Files - named
}

// scanGaps lists what was not looked at as residual risks. They lower no decision
// by themselves: a part of the patch that could not be read raises the tier.
func scanGaps(l *ledger, gaps []ScanGap) {
	for _, g := range gaps {
		l.risk(RuleID(g.Rule), g.Text())
	}
}

// moreFindings weighs the findings that are counted only: each as the gravest of
// its rule's that stands. Where none of those stands, nobody knows what these are,
// and they are a residual risk.
func moreFindings(l *ledger, e Evidence) Findings {
	fact := FindingsNone
	for _, m := range e.MoreFindings {
		weight := FindingsNone
		for _, f := range e.Findings {
			if f.Source != FromReviewer && f.Rule == m.Rule && f.Stands() {
				weight = worse(weight, f.weight())
			}
		}
		c := Cause{Kind: CauseOther, Key: m.Key(), Text: m.Text()}
		switch weight {
		case FindingsCritical:
			l.add(RuleDeterministicCritical, c)
		case FindingsHigh:
			if !l.stands(RuleDeterministicFinding, c) {
				continue
			}
		case FindingsNone:
			l.risk(RuleID(m.Rule), m.Text())
		}
		fact = worse(fact, weight)
	}
	return fact
}
