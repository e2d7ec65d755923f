package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a scanner did not look at is a residual risk by name, whatever else holds.
func TestScanGapsAreResidualRisks(t *testing.T) {
	place := func(n int) []ScanPlace {
		var out []ScanPlace
		for i := range n {
			out = append(out, ScanPlace{Path: fmt.Sprintf("w%d.yml", i), Why: "large"})
		}
		return out
	}
	tests := []struct {
		gap  ScanGap
		want string
	}{
		{ScanGap{Rule: "untrusted-checkout", Files: 2, Places: place(2)}, "2 files were not scanned for it: w0.yml: large; w1.yml: large"},
		{ScanGap{Rule: "conflict-marker", Files: 1, Places: place(1)}, "1 file was not scanned for it: w0.yml: large"},
		{ScanGap{Rule: "credential", Files: 900, Places: place(20)}, "900 files were not scanned for it: w0.yml: large; w1.yml: large; w2.yml: large; and 897 more"},
		{ScanGap{Rule: "credential", Places: []ScanPlace{{Why: "3 changed files are not listed"}}}, "not every file was scanned for it: 3 changed files are not listed"},
		{ScanGap{Rule: "credential", Files: 1, Places: append([]ScanPlace{{Why: "3 changed files are not listed"}}, place(1)...)}, "1 file was not scanned for it: 3 changed files are not listed; w0.yml: large"},
		{ScanGap{Rule: "credential", Files: 4}, "4 files were not scanned for it: and 4 more"},
	}
	for _, tt := range tests {
		e := goodEvidence()
		e.ScanGaps = []ScanGap{tt.gap}
		out := Gate(e, DefaultRules())
		want := ResidualRisk{Rule: RuleID(tt.gap.Rule), Text: tt.want}
		if out.Gate.Decision != Approved || !slices.Contains(out.Residual, want) {
			t.Errorf("%s with residual risks %+v, want %+v", out.Gate.Decision, out.Residual, want)
		}
	}
}

// Findings that are only counted weigh as much as the gravest of their rule that
// stands, need an acceptance of their own, and are never silent.
func TestMoreFindingsThanAreListed(t *testing.T) {
	listed := func(s Severity) Finding {
		return Finding{Source: FromScan, Rule: "unpinned-action", Path: "a.yml", Line: 3, Severity: s, Title: "x"}
	}
	waived := listed(SeverityHigh)
	waived.Waived = &Waiver{By: "x"}
	more := []MoreFindings{{Rule: "unpinned-action", Count: 37}}
	const text = "37 more findings of unpinned-action are not listed"
	tests := []struct {
		name     string
		finding  Finding
		accept   bool // the listed finding and no more
		decision Decision
		rule     RuleID // of the cause; empty: none
		residual bool
	}{
		{"critical", listed(SeverityCritical), false, ChangesRequested, RuleDeterministicCritical, false},
		{"high", listed(SeverityHigh), false, ChangesRequested, RuleDeterministicFinding, false},
		{"high, the listed one accepted", listed(SeverityHigh), true, ChangesRequested, RuleDeterministicFinding, false},
		{"medium", listed(SeverityMedium), false, Approved, "", false},
		{"high, waived", waived, false, Approved, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := goodEvidence()
			e.Findings, e.MoreFindings = []Finding{tt.finding}, more
			if tt.accept {
				e.Acceptances = []Acceptance{{Rule: RuleDeterministicFinding, Findings: []string{string(tt.finding.ID())}, By: "x"}}
			}
			out := Gate(e, DefaultRules())
			if out.Gate.Decision != tt.decision {
				t.Errorf("decision %s, want %s", out.Gate.Decision, tt.decision)
			}
			says := func(c Cause) bool { return c.Text == text && c.Kind == CauseOther }
			if tt.rule != "" && !slices.ContainsFunc(out.Causes.Of(tt.rule), says) {
				t.Errorf("no cause says %q: %+v", text, out.Causes.Rules)
			}
			if got := slices.ContainsFunc(out.Residual, func(r ResidualRisk) bool { return r.Text == text }); got != tt.residual {
				t.Errorf("residual %+v, want it there: %v", out.Residual, tt.residual)
			}
			// Whoever accepts the rule as it stands accepts these, and only so many.
			a, ok := out.Causes.AcceptanceOf(RuleDeterministicFinding)
			if !ok {
				return
			}
			a.By = "x"
			e.Acceptances = append(e.Acceptances, a)
			if d := Gate(e, DefaultRules()).Gate.Decision; d != Approved {
				t.Errorf("accepted: %s", d)
			}
			e.MoreFindings = []MoreFindings{{Rule: "unpinned-action", Count: 38}}
			if d := Gate(e, DefaultRules()).Gate.Decision; d != ChangesRequested {
				t.Errorf("one more after the acceptance: %s", d)
			}
		})
	}
	if one := (MoreFindings{Rule: "credential", Count: 1}).Text(); !strings.HasPrefix(one, "1 more finding of credential is") {
		t.Error(one)
	}
}
