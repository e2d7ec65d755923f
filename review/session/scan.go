package session

import (
	"fmt"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk/scan"
)

// findingsOf are the scanners' findings as evidence. The quote names a finding
// across pushes and is then dropped: no source is kept.
func findingsOf(s scan.Result) []review.Finding {
	var out []review.Finding
	for _, f := range s.Findings {
		out = append(out, review.Finding{
			Key: keyOf(f), Rule: f.Rule, Source: review.FromScan, Path: f.Path, Side: review.SideRight, Line: f.Line,
			Severity: severityOf(f.Severity), Category: f.Rule, Title: f.Title, Detail: f.Why + " " + f.Do, Verified: true,
		})
	}
	return out
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
