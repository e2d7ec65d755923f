package review

import (
	"slices"
	"testing"

	"github.com/countersign/countersign/risk"
)

// ruleRow is one row of section 8's table: facts at which the rule holds with this
// ceiling, and a change to them by which it no longer does.
type ruleRow struct {
	name    string
	rule    RuleID
	facts   func(*Facts)
	ceiling Decision
	beside  func(*Facts)
}

func at(tier risk.Tier, more func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		f.Tier = tier
		more(f)
	}
}

func ruleRows() []ruleRow {
	approve := func(f *Facts) { f.Review = ReviewApproved }
	return []ruleRow{
		{"denied", RulePermissionDenied, func(f *Facts) { f.Clearance = ClearanceDenied }, Blocked, func(f *Facts) { f.Clearance = ClearanceAsked }},
		{"policy", RulePolicyInvalid, func(f *Facts) { f.Policy = PolicyInvalid }, Blocked, func(f *Facts) { f.Policy = PolicyGood }},
		{"blocked by a reviewer", RuleReviewerBlocked, func(f *Facts) { f.Review = ReviewBlocked }, NeedsHuman, func(f *Facts) { f.Review = ReviewFailed }},
		{"rejected", RuleReviewerRequestedChanges, func(f *Facts) { f.Review = ReviewChanges }, ChangesRequested, func(f *Facts) { f.Review = ReviewPending }},
		{"failed check", RuleChecksFailed, func(f *Facts) { f.CI = CIFailed }, ChangesRequested, func(f *Facts) { f.CI = CIPending }},
		{"artifact", RuleArtifactMissing, func(f *Facts) { f.Artifacts = ArtifactsMissing }, ChangesRequested, func(f *Facts) { f.Artifacts = ArtifactsHeld }},
		{"scan high", RuleDeterministicFinding, func(f *Facts) { f.Scan = FindingsHigh }, ChangesRequested, func(f *Facts) { f.Scan = FindingsMinor }},
		{"scan high, not critical", RuleDeterministicFinding, func(f *Facts) { f.Scan = FindingsHigh }, ChangesRequested, func(f *Facts) { f.Scan = FindingsCritical }},
		{"scan critical", RuleDeterministicCritical, func(f *Facts) { f.Scan = FindingsCritical }, ChangesRequested, func(f *Facts) { f.Scan = FindingsHigh }},
		{"standing high", RuleFindingStands, func(f *Facts) { f.Standing = FindingsHigh }, ChangesRequested, func(f *Facts) { f.Standing = FindingsMinor }},
		{"standing critical without a review", RuleFindingStands, func(f *Facts) { f.Standing, f.Review = FindingsCritical, ReviewNotRun }, ChangesRequested, func(f *Facts) { f.Standing = FindingsNone }},
		{"checks pending", RuleChecksPending, func(f *Facts) { f.CI = CIPending }, Pending, func(f *Facts) { f.CI = CIMissing }},
		{"review pending", RuleReviewPending, func(f *Facts) { f.Review = ReviewPending }, Pending, func(f *Facts) { f.Review = ReviewBlocked }},
		{"asked", RuleApprovalMissing, func(f *Facts) { f.Clearance = ClearanceAsked }, NeedsHuman, func(f *Facts) { f.Clearance = ClearanceClear }},
		{"checks missing", RuleChecksMissing, func(f *Facts) { f.CI = CIMissing }, NeedsHuman, func(f *Facts) { f.CI = CISkipped }},
		{"unread", RuleEvidenceMissing, func(f *Facts) { f.Collected = CollectedNone }, NeedsHuman, func(f *Facts) { f.Collected = CollectedPartial }},
		{"truncated at high", RuleDiffTruncated, func(f *Facts) { f.Collected = CollectedPartial }, NeedsHuman, func(f *Facts) { f.Collected = CollectedAll }},
		{"truncated at medium", RuleDiffTruncated, at(risk.Medium, func(f *Facts) { f.Collected = CollectedPartial }), Approved, func(f *Facts) { f.Collected = CollectedAll }},
		{"not run at medium", RuleReviewMissing, at(risk.Medium, func(f *Facts) { f.Review = ReviewNotRun }), NeedsHuman, approve},
		{"failed at low", RuleReviewMissing, at(risk.Low, func(f *Facts) { f.Review = ReviewFailed }), NotReviewed, func(f *Facts) { f.Review = ReviewSettled }},
		{"settled above low", RuleReviewMissing, at(risk.Medium, func(f *Facts) { f.Review = ReviewSettled }), NeedsHuman, func(f *Facts) { f.Tier = risk.Low }},
		{"same model at high", RuleIndependenceNone, func(f *Facts) { f.Independence = IndependenceNone }, NeedsHuman, func(f *Facts) { f.Tier = risk.Medium }},
		{"same model, no review", RuleIndependenceNone, func(f *Facts) { f.Independence = IndependenceNone }, NeedsHuman, func(f *Facts) { f.Review = ReviewFailed }},
		{"weak at critical", RuleIndependenceWeak, at(risk.Critical, func(f *Facts) { f.Independence = IndependenceWeak }), NeedsHuman, func(f *Facts) { f.Tier = risk.High }},
		{"weak or none", RuleIndependenceWeak, at(risk.Critical, func(f *Facts) { f.Independence = IndependenceNone }), NeedsHuman, func(f *Facts) { f.Independence = IndependenceModerate }},
		{"unsure at medium", RuleConfidenceLow, at(risk.Medium, func(f *Facts) { f.Confidence = ConfidenceLow }), NeedsHuman, func(f *Facts) { f.Review = ReviewPending }},
		{"unsure at low", RuleConfidenceLow, at(risk.Low, func(f *Facts) { f.Confidence = ConfidenceLow }), Approved, func(f *Facts) { f.Confidence = ConfidenceOK }},
		{"omitted at high", RuleCoverageMissing, func(f *Facts) { f.Coverage = CoverageOmitted }, ChangesRequested, func(f *Facts) { f.Coverage = CoveragePartial }},
		{"unfit at critical", RuleCoverageMissing, at(risk.Critical, func(f *Facts) { f.Coverage = CoverageUnfit }), NeedsHuman, func(f *Facts) { f.Review = ReviewNotRun }},
		{"omitted at medium", RuleCoverageMissing, at(risk.Medium, func(f *Facts) { f.Coverage = CoverageOmitted }), Approved, func(f *Facts) { f.Coverage = CoverageAll }},
		{"partial at critical", RuleCoveragePartial, at(risk.Critical, func(f *Facts) { f.Coverage = CoveragePartial }), NeedsHuman, func(f *Facts) { f.Coverage = CoverageAll }},
		{"partial at high", RuleCoveragePartial, func(f *Facts) { f.Coverage = CoveragePartial }, Approved, func(f *Facts) { f.Coverage = CoverageAll }},
		{"disagreement at medium", RuleReviewersDisagree, at(risk.Medium, func(f *Facts) { f.Panel = PanelDiffer }), NeedsHuman, func(f *Facts) { f.Tier = risk.Low }},
		{"no intent at critical", RuleIntentMissing, at(risk.Critical, func(f *Facts) { f.Intent = IntentMissing }), NeedsHuman, func(f *Facts) { f.Intent = IntentStated }},
		{"no intent at high", RuleIntentMissing, func(f *Facts) { f.Intent = IntentMissing }, Approved, func(f *Facts) { f.Tier = risk.Medium }},
		{"skipped", RuleChecksSkipped, func(f *Facts) { f.CI = CISkipped }, Approved, func(f *Facts) { f.CI = CIPassed }},
		{"no checks", RuleChecksNone, func(f *Facts) { f.CI = CINone }, Approved, func(f *Facts) { f.CI = CISkipped }},
	}
}

func TestRules(t *testing.T) {
	covered := map[RuleID]bool{}
	for _, row := range ruleRows() {
		covered[row.rule] = true
		t.Run(string(row.rule)+"/"+row.name, func(t *testing.T) {
			f := goodFacts()
			row.facts(&f)
			got := Decide(f)
			fires := slices.Contains(got.Fired, row.rule)
			lists := slices.Contains(got.Residual, row.rule)
			if fires != (row.ceiling < Approved) || lists != (row.ceiling == Approved) {
				t.Errorf("fired %v, residual %v; want %s with ceiling %s", got.Fired, got.Residual, row.rule, row.ceiling)
			}
			if rule, _ := Explain(row.rule); rule.Ceiling(f) != row.ceiling {
				t.Errorf("ceiling is %s, want %s", rule.Ceiling(f), row.ceiling)
			}
			if got.Decision > row.ceiling {
				t.Errorf("decision %s is above the ceiling %s", got.Decision, row.ceiling)
			}
			row.beside(&f)
			got = Decide(f)
			if slices.Contains(got.Fired, row.rule) || slices.Contains(got.Residual, row.rule) {
				t.Errorf("beside it: fired %v, residual %v; want no %s", got.Fired, got.Residual, row.rule)
			}
		})
	}
	for _, rule := range Table() {
		if !covered[rule.ID] {
			t.Errorf("%s has no row in this test", rule.ID)
		}
	}
}

// TestAcceptable pins which rules a person may accept; section 8's last column.
func TestAcceptable(t *testing.T) {
	want := []RuleID{
		"reviewer-blocked", "reviewer-requested-changes", "deterministic-finding", "finding-stands",
		"checks-missing", "diff-truncated", "review-missing", "independence-none", "independence-weak",
		"confidence-low", "coverage-missing", "coverage-partial", "reviewers-disagree", "intent-missing",
	}
	var got []RuleID
	seen := map[RuleID]bool{}
	for _, rule := range Table() {
		if rule.Acceptable {
			got = append(got, rule.ID)
		}
		if seen[rule.ID] || rule.When == nil || rule.Ceiling == nil || rule.Sentence == "" {
			t.Errorf("%s is listed twice or not complete", rule.ID)
		}
		seen[rule.ID] = true
	}
	if !slices.Equal(got, want) {
		t.Errorf("acceptable rules are\n%v, want\n%v", got, want)
	}
	if _, known := Explain("no-such-rule"); known {
		t.Error("an unknown rule is explained")
	}
}

func TestDecideSaysWhoActsNext(t *testing.T) {
	for _, row := range []struct {
		name      string
		facts     func(*Facts)
		decision  Decision
		next      Next
		basis     Basis
		satisfies bool
	}{
		{"good", func(*Facts) {}, Approved, NextNone, BasisReview, true},
		{"settled at low", at(risk.Low, func(f *Facts) { f.Review = ReviewSettled }), Approved, NextNone, BasisSettled, true},
		{"not reviewed at low", at(risk.Low, func(f *Facts) { f.Review = ReviewNotRun }), NotReviewed, NextNone, BasisNone, true},
		{"not reviewed at medium", at(risk.Medium, func(f *Facts) { f.Review = ReviewNotRun }), NeedsHuman, NextPerson, BasisNone, false},
		{"pending, then a person", func(f *Facts) { f.CI, f.Clearance = CIPending, ClearanceAsked }, Pending, NextMachine, BasisNone, false},
		{"failed while pending", func(f *Facts) { f.CI, f.Review = CIFailed, ReviewPending }, ChangesRequested, NextAuthor, BasisNone, false},
		{"deny beats all", func(f *Facts) { f.CI, f.Clearance = CIFailed, ClearanceDenied }, Blocked, NextNobody, BasisNone, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := goodFacts()
			row.facts(&f)
			got := Decide(f)
			if got.Decision != row.decision || got.Next != row.next || got.Basis != row.basis || got.Satisfies != row.satisfies {
				t.Errorf("got %s next %s basis %q satisfies %t, want %s %s %q %t",
					got.Decision, got.Next, got.Basis, got.Satisfies, row.decision, row.next, row.basis, row.satisfies)
			}
		})
	}
}
