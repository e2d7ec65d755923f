package review

import (
	"slices"
	"testing"

	"github.com/countersign/countersign/risk"
	"pgregory.net/rapid"
)

func TestWithout(t *testing.T) {
	e := Evidence{
		Tier: risk.High, Policy: PolicyState{State: PolicyGood}, Intent: IntentMissing, Checks: Checks{Complete: true, NoneSettled: true},
		Reviewers: []ReviewerResult{{Status: ReviewerNotRun}},
		Findings:  []Finding{{Source: FromScan, Severity: SeverityHigh, Path: "a", Verified: true}},
	}
	out := Gate(e, DefaultRules())
	d, open := out.Without(RuleReviewMissing, RuleChecksNone, RuleIntentMissing, RuleChecksFailed)
	if d.Decision != ChangesRequested || !slices.Equal(d.Fired, []RuleID{RuleDeterministicFinding}) || d.Satisfies || d.Next != NextAuthor {
		t.Errorf("with the finding: %+v", d)
	}
	if want := []RuleID{RuleReviewMissing, RuleIntentMissing, RuleChecksNone}; !slices.Equal(open, want) {
		t.Errorf("open %q, want %q", open, want)
	}
	e.Findings = nil
	d, _ = Gate(e, DefaultRules()).Without(RuleReviewMissing, RuleChecksNone, RuleIntentMissing)
	if d.Decision != Approved || d.Basis != BasisNone || !d.Satisfies || d.Next != NextNone || len(d.Fired)+len(d.Residual) != 0 {
		t.Errorf("without it: %+v", d)
	}
}

// Leaving rules out never hides one that stays, and changes nothing where none of
// them held.
func TestWithoutKeepsTheRest(t *testing.T) {
	check(t, func(t *rapid.T) {
		out := Gate(drawEvidence(t), drawRules(t))
		var ids []RuleID
		for _, r := range Table() {
			if yes(t, string(r.ID)) {
				ids = append(ids, r.ID)
			}
		}
		d, open := out.Without(ids...)
		all := slices.Concat(out.Gate.Fired, out.Gate.Residual)
		want := Approved
		for _, id := range all {
			if slices.Contains(ids, id) != slices.Contains(open, id) {
				t.Fatalf("%s: open is %q of %q", id, open, ids)
			}
			r, _ := Explain(id)
			if slices.Contains(ids, id) {
				continue
			}
			if !slices.Contains(slices.Concat(d.Fired, d.Residual), id) {
				t.Fatalf("%s is lost", id)
			}
			want = min(want, r.Ceiling(out.Facts))
		}
		if d.Decision != want || d.Satisfies != Satisfies(want, out.Facts.Tier) {
			t.Fatalf("%s, want %s", d.Decision, want)
		}
	})
}
