package review

import (
	"slices"
	"testing"

	"github.com/countersign/countersign/risk"
)

// acceptRow makes one acceptable rule fire, and says what would be a further cause
// of it.
type acceptRow struct {
	rule    RuleID
	fires   func(*Evidence)
	further func(*Evidence)
	// left are other rules that keep firing after the acceptance.
	left []RuleID
}

func acceptRows() []acceptRow {
	add := func(r ReviewerResult) func(*Evidence) {
		return func(e *Evidence) { e.Reviewers = append(e.Reviewers, r) }
	}
	first := func(change func(*ReviewerResult)) func(*Evidence) {
		return func(e *Evidence) { change(&e.Reviewers[0]) }
	}
	named := func(name string, change func(*ReviewerResult)) ReviewerResult {
		r := goodReviewer(name)
		change(&r)
		return r
	}
	block := func(r *ReviewerResult) { r.Verdict = VerdictBlocked }
	level := func(l Independence) func(*ReviewerResult) {
		return func(r *ReviewerResult) { r.Independence, r.Confidence = l, 1 }
	}
	unsure := func(r *ReviewerResult) { r.Confidence = 0.1 }
	failed := func(r *ReviewerResult) { r.Status = ReviewerFailed }
	cover := func(path string, state CoverageState, why SkipReason) func(*Evidence) {
		return func(e *Evidence) {
			e.Coverage = append(e.Coverage, FileCoverage{Path: path, State: state, Why: why, NeedsEyes: true})
		}
	}
	scan := func(path string) func(*Evidence) {
		return func(e *Evidence) {
			e.Findings = append(e.Findings, Finding{Source: FromScan, Path: path, Severity: SeverityHigh})
		}
	}
	stand := func(path string) func(*Evidence) {
		return func(e *Evidence) { e.Findings = append(e.Findings, finding(path, SeverityCritical)) }
	}
	require := func(name string) func(*Evidence) {
		return func(e *Evidence) { e.Checks.Required = append(e.Checks.Required, RequiredCheck{Name: name}) }
	}
	truncate := func(path string) func(*Evidence) {
		return func(e *Evidence) { e.Truncated = append(e.Truncated, TruncatedFile{Path: path}) }
	}
	minor := func(path string) Finding { return finding(path, SeverityLow) }
	return []acceptRow{
		{rule: RuleReviewerBlocked, fires: first(block), further: add(named("gemini", block))},
		{rule: RuleReviewerRequestedChanges, fires: add(rejecting("gemini", minor("a.go"))), further: add(rejecting("mistral", minor("a.go")))},
		{rule: RuleReviewerRequestedChanges, fires: add(rejecting("gemini", minor("a.go"))), further: add(rejecting("gemini", minor("a.go"), minor("b.go")))},
		{rule: RuleDeterministicFinding, fires: scan("a.yml"), further: scan("b.yml")},
		{rule: RuleFindingStands, fires: stand("a.go"), further: stand("b.go")},
		{rule: RuleChecksMissing, fires: require("x"), further: require("y")},
		{rule: RuleDiffTruncated, fires: truncate("a.go"), further: truncate("b.go")},
		{rule: RuleDiffTruncated, fires: truncate("a.go"), further: func(e *Evidence) { e.Unread = []Unread{{What: "files", Detail: "200 of 3200"}} }},
		{rule: RuleReviewMissing, fires: first(failed), further: add(named("gemini", failed))},
		{rule: RuleReviewMissing, fires: func(e *Evidence) { e.Reviewers = e.Reviewers[:1] }, further: func(e *Evidence) { e.Reviewers = nil }},
		{rule: RuleIndependenceNone, fires: first(level(IndependenceNone)), further: func(e *Evidence) { level(IndependenceNone)(&e.Reviewers[1]) }, left: []RuleID{RuleConfidenceLow}},
		{rule: RuleIndependenceWeak, fires: first(level(IndependenceWeak)), further: func(e *Evidence) { level(IndependenceWeak)(&e.Reviewers[1]) }},
		{rule: RuleConfidenceLow, fires: first(unsure), further: add(named("gemini", unsure))},
		{rule: RuleCoverageMissing, fires: cover("b.go", FileSkipped, SkipOmitted), further: cover("c.go", FileSkipped, SkipUnfit)},
		{rule: RuleCoverageMissing, fires: cover("b.go", FileSkipped, SkipUnfit), further: func(e *Evidence) { e.ChangedFiles = 9 }},
		{rule: RuleCoveragePartial, fires: cover("b.go", FilePartiallyInspected, 0), further: cover("c.go", FilePartiallyInspected, 0)},
		{rule: RuleReviewersDisagree, fires: first(block), further: func(e *Evidence) { e.Reviewers[0] = rejecting("openai", minor("a.go")) }},
		{rule: RuleReviewersDisagree, fires: first(func(r *ReviewerResult) { *r = rejecting("openai", minor("a.go")) }), further: add(rejecting("openai", minor("a.go"), minor("b.go")))},
		{rule: RuleIntentMissing, fires: func(e *Evidence) { e.Intent = 0 }},
	}
}

// acceptEvidence is approved at critical.
func acceptEvidence() Evidence {
	e := goodEvidence()
	e.Tier = risk.Critical
	e.Reviewers = append(e.Reviewers, goodReviewer("anthropic"))
	e.Approvals = []Approval{{Kind: ApprovalHuman, Answer: Answer{By: "x"}}}
	return e
}

// TestAcceptanceCoversOnlyWhatItNamed: accepted, a rule is gone and listed as a
// residual risk; anything further fires it again.
func TestAcceptanceCoversOnlyWhatItNamed(t *testing.T) {
	seen := map[RuleID]bool{}
	for _, row := range acceptRows() {
		seen[row.rule] = true
		t.Run(string(row.rule), func(t *testing.T) {
			e, rules := acceptEvidence(), DefaultRules()
			if row.rule == RuleReviewersDisagree {
				rules.Tiers[risk.Critical].Disagreement = LeftToHuman
			}
			row.fires(&e)
			before := Gate(e, rules)
			if !slices.Contains(before.Gate.Fired, row.rule) {
				t.Fatalf("does not fire: %v", before.Gate.Fired)
			}
			a, ok := before.Causes.AcceptanceOf(row.rule)
			if !ok {
				t.Fatal("nothing to accept")
			}
			unsigned := e
			unsigned.Acceptances = []Acceptance{a}
			if out := Gate(unsigned, rules); !slices.Equal(out.Gate.Fired, before.Gate.Fired) {
				t.Errorf("an acceptance by nobody changes %v to %v", before.Gate.Fired, out.Gate.Fired)
			}
			a.By = "x"
			e.Acceptances = []Acceptance{a}
			after := Gate(e, rules)
			if !slices.Equal(after.Gate.Fired, row.left) || !slices.Contains(after.Gate.Accepted, row.rule) {
				t.Errorf("after acceptance: fired %v, want %v; accepted %v", after.Gate.Fired, row.left, after.Gate.Accepted)
			}
			if !slices.ContainsFunc(after.Residual, func(r ResidualRisk) bool { return r.Rule == row.rule }) {
				t.Errorf("what was accepted is no residual risk: %v", after.Residual)
			}
			if after.Gate.Decision == Approved && after.Gate.Basis != BasisAcceptance {
				t.Errorf("the approval rests on %q", after.Gate.Basis)
			}
			if row.further == nil {
				return
			}
			row.further(&e)
			if out := Gate(e, rules); !slices.Contains(out.Gate.Fired, row.rule) {
				t.Errorf("something further does not fire it again: %v", out.Gate.Fired)
			}
		})
	}
	for _, rule := range Table() {
		if rule.Acceptable && !seen[rule.ID] {
			t.Errorf("%s has no row in this test", rule.ID)
		}
	}
}

// TestLesserAcceptanceDoesNotCoverTheWorse: who accepted that a file was inspected
// in part did not accept that it was left out, nor weak independence none.
func TestLesserAcceptanceDoesNotCoverTheWorse(t *testing.T) {
	e := acceptEvidence()
	e.Coverage[0].State, e.Coverage[0].Why = FileSkipped, SkipUnfit
	e.Reviewers[0].SameModel, e.Reviewers[0].Confidence = true, 1
	e.Acceptances = []Acceptance{
		{Rule: RuleCoveragePartial, Files: []string{"a.go"}, By: "x"},
		{Rule: RuleIndependenceWeak, Reviewers: []string{"openai/m"}, By: "x"},
	}
	got := Gate(e, DefaultRules()).Gate
	want := []RuleID{RuleIndependenceNone, RuleIndependenceWeak, RuleConfidenceLow, RuleCoverageMissing, RuleCoveragePartial}
	if !slices.Equal(got.Fired, want) || len(got.Accepted) != 0 {
		t.Errorf("fired %v, accepted %v; want %v and none", got.Fired, got.Accepted, want)
	}
}
