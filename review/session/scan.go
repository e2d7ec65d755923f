package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
	"github.com/countersign/countersign/risk/scan"
)

// readsEveryLine leaves out what is looked for in workflows, manifests or tests
// only: where none changed, nothing was looked at, and that is no reason to approve
// anything.
func readsEveryLine(rule string) bool {
	return rule == risk.RuleCredential || rule == risk.RuleHiddenCharacters || rule == risk.RuleHiddenText
}

// scannedInto puts into the evidence what the scanners say besides their findings:
// how many more there are, what was not looked at, and what is clean.
func scannedInto(e *review.Evidence, s scan.Result) {
	for _, rule := range slices.Sorted(maps.Keys(s.More)) {
		e.MoreFindings = append(e.MoreFindings, review.MoreFindings{Rule: rule, Count: s.More[rule]})
	}
	e.ScanGaps = gapsOf(s)
	for _, rule := range slices.Sorted(maps.Keys(s.Content)) {
		if s.Content[rule].State == risk.No && readsEveryLine(rule) {
			e.ContentPassed = append(e.ContentPassed, rule)
		}
	}
}

// gapPlaces bounds the files named for each rule; the rest is counted.
const gapPlaces = 20

// gapsOf are the gaps by rule, each file once.
func gapsOf(s scan.Result) []review.ScanGap {
	byRule := make(map[string]*review.ScanGap)
	last := make(map[string]string) // by rule: gaps are in the order of paths
	for _, g := range s.Gaps {
		if g.Harmless {
			continue
		}
		gap := byRule[g.Rule]
		if gap == nil {
			gap = &review.ScanGap{Rule: g.Rule}
			byRule[g.Rule] = gap
		} else if g.Path != "" && last[g.Rule] == g.Path {
			continue
		}
		last[g.Rule] = g.Path
		if g.Path != "" {
			gap.Files++
		}
		if len(gap.Places) < gapPlaces {
			gap.Places = append(gap.Places, review.ScanPlace{Path: g.Path, Why: g.Why})
		}
	}
	var out []review.ScanGap
	for _, rule := range slices.Sorted(maps.Keys(byRule)) {
		out = append(out, *byRule[rule])
	}
	return out
}

// findingsOf are the scanners' findings as evidence. The quote names a finding
// across pushes and is then dropped: no source is kept.
func findingsOf(s scan.Result) []review.Finding {
	var out []review.Finding
	for _, f := range s.Findings {
		out = append(out, review.Finding{
			Key: keyOf(f), Rule: f.Rule, Source: review.FromScan, Path: f.Path, Side: sideOf(f.Side), Line: f.Line,
			Severity: severityOf(f.Severity), Category: f.Rule, Title: f.Title, Detail: f.Why + " " + f.Do, Verified: true,
		})
	}
	return out
}

// sideOf is the side in GitHub's words. What a patch brings is on the right; only
// what it takes away is on the left.
func sideOf(s diff.Side) review.Side {
	if s == diff.Left {
		return review.SideLeft
	}
	return review.SideRight
}

// keyOf names a finding. Where nothing may be quoted, its place has to do.
func keyOf(f scan.Finding) review.FindingKey {
	quote := f.Quote
	if quote == "" {
		quote = fmt.Sprintf("%s at line %d", f.Title, f.Line)
	}
	return review.KeyOf(f.Path, quote, f.Rule)
}

func severityOf(s scan.Severity) review.Severity {
	switch s {
	case scan.Low:
		return review.SeverityLow
	case scan.Medium:
		return review.SeverityMedium
	case scan.Critical:
		return review.SeverityCritical
	}
	return review.SeverityHigh
}

// scanned is what the scanners did, for the record: counts and places, no text.
type scanned struct {
	Findings   map[string]int `json:"findings,omitempty"`    // by rule
	Places     []string       `json:"places,omitempty"`      // rule path:line
	NotScanned []string       `json:"not_scanned,omitempty"` // rule path: why
	NotListed  int            `json:"not_listed,omitempty"`
}

func scannedOf(s scan.Result) scanned {
	out := scanned{Findings: make(map[string]int)}
	for _, f := range s.Findings {
		out.Findings[f.Rule]++
		if len(out.Places) < listed {
			out.Places = append(out.Places, fmt.Sprintf("%s %s:%d", f.Rule, f.Path, f.Line))
		} else {
			out.NotListed++
		}
	}
	for rule, n := range s.More {
		out.Findings[rule] += n
	}
	for _, g := range s.Gaps {
		switch {
		case g.Harmless:
		case len(out.NotScanned) < listed:
			out.NotScanned = append(out.NotScanned, g.Rule+" "+g.Path+": "+g.Why)
		default:
			out.NotListed++
		}
	}
	return out
}

func (s scanned) shrunk() scanned {
	s.NotListed += len(s.Places) + len(s.NotScanned)
	s.Places, s.NotScanned = counted(s.Places), counted(s.NotScanned)
	return s
}
