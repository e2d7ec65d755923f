package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
	"github.com/countersign/countersign/risk/scan"
)

// Everything that the scanners say is in the evidence or counted there.
func TestScanResultReachesTheEvidence(t *testing.T) {
	s := scan.Result{
		Findings: []scan.Finding{
			{Rule: "credential", Path: "a.env", Side: diff.Right, Line: 3, Severity: scan.Critical, Title: "a key", Why: "Anyone can use it.", Do: "Revoke it.", Quote: "KEY=***"},
			{Rule: "test-removed", Path: "a_test.go", Side: diff.Left, Line: 9, Severity: scan.Medium, Title: "a test is gone", Why: "w", Do: "d"},
		},
		More: map[string]int{"unpinned-action": 37, "credential": 1},
		Gaps: []scan.Gap{
			{Rule: "credential", Why: "3 changed files are not listed"},
			{Rule: "credential", Path: "a.sql", Why: "not shown"}, {Rule: "credential", Path: "a.sql", Why: "over the limit"},
			{Rule: "credential", Path: "logo.png", Why: "binary", Harmless: true},
			{Rule: "untrusted-checkout", Path: "w.yml", Why: "too large"},
		},
		Content: map[string]risk.ContentFact{risk.RuleCredential: {State: risk.Yes}, risk.RuleHiddenText: {State: risk.No},
			risk.RuleHiddenCharacters: {State: risk.Unknown}, risk.RuleActionPin: {State: risk.No}},
	}
	for i := range 30 {
		s.Gaps = append(s.Gaps, scan.Gap{Rule: "untrusted-checkout", Path: fmt.Sprintf("w%02d.yml", i), Why: "too large"})
	}
	e := review.Evidence{Findings: findingsOf(s)}
	scannedInto(&e, s)
	if f := e.Findings; len(f) != 2 || f[0].Side != review.SideRight || f[1].Side != review.SideLeft || f[0].Detail != "Anyone can use it. Revoke it." || f[0].Quote != "" {
		t.Errorf("findings %+v", f)
	}
	if want := []review.MoreFindings{{Rule: "credential", Count: 1}, {Rule: "unpinned-action", Count: 37}}; !slices.Equal(e.MoreFindings, want) {
		t.Errorf("more findings %+v, want %+v", e.MoreFindings, want)
	}
	if want := []string{risk.RuleHiddenText}; !slices.Equal(e.ContentPassed, want) {
		t.Errorf("content rules passed %v, want %v", e.ContentPassed, want)
	}
	if len(e.ScanGaps) != 2 || e.ScanGaps[0].Files != 1 || e.ScanGaps[1].Files != 31 || len(e.ScanGaps[1].Places) != gapPlaces {
		t.Fatalf("gaps %+v", e.ScanGaps)
	}
	if got, want := e.ScanGaps[0].Text(), "1 file was not scanned for it: 3 changed files are not listed; a.sql: not shown"; got != want {
		t.Errorf("gap %q, want %q", got, want)
	}
	if strings.Contains(fmt.Sprint(e.ScanGaps), "logo.png") {
		t.Error("a picture is called a gap")
	}
}
