package review

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/countersign/countersign/risk"
	"pgregory.net/rapid"
)

// The generators draw names from small pools, so that things meet: a required name
// and a check, an acceptance and a cause.

func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func some[T any](t *rapid.T, label string, most int, draw func(*rapid.T) T) []T {
	return rapid.SliceOfN(rapid.Custom(draw), 0, most).Draw(t, label)
}

// check holds a property over many more pieces of evidence than rapid's hundred:
// what breaks it is rare.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	for range propertyRounds {
		rapid.Check(t, property)
		if t.Failed() {
			return
		}
	}
}

func yes(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

func drawFinding(t *rapid.T) Finding {
	f := finding(oneOf(t, "path", "a.go", "b.go", "c.go"), oneOf(t, "severity", 0, SeverityLow, SeverityHigh, SeverityCritical))
	f.Source = oneOf(t, "source", FromReviewer, FromScan)
	if f.Source == FromScan {
		f.Rule = oneOf(t, "scanner", "unpinned-action", "credential")
	}
	f.Verified = rapid.IntRange(0, 3).Draw(t, "verified") > 0
	f.Unconfirmed = rapid.IntRange(0, 3).Draw(t, "unconfirmed") == 0
	if rapid.IntRange(0, 3).Draw(t, "waived") == 0 {
		f.Waived = &Waiver{By: oneOf(t, "by", "", "x")}
	}
	return f
}

func drawReviewer(t *rapid.T) ReviewerResult {
	r := goodReviewer(oneOf(t, "provider", "openai", "anthropic", "gemini"))
	r.Status = oneOf(t, "status", ReviewerRan, ReviewerRan, ReviewerRan, ReviewerNotRun, ReviewerFailed, ReviewerPending)
	r.Verdict = oneOf(t, "verdict", VerdictApproved, VerdictApproved, VerdictChanges, VerdictBlocked, "")
	r.Independence = Independence(rapid.IntRange(0, 4).Draw(t, "independence"))
	r.Confidence = oneOf(t, "confidence", 0, 0.5, 0.65, 1)
	r.Findings = some(t, "findings", 2, drawFinding)
	return r
}

func drawCheck(t *rapid.T) CheckResult {
	r := run(oneOf(t, "name", "build", "test", "lint"), oneOf(t, "conclusion", "success", "success", "success", "failure", "skipped", "neutral", "odd"))
	r.Status = oneOf(t, "status", "completed", "completed", "completed", "queued")
	r.AppID = oneOf[int64](t, "app", actionsApp, 9001)
	r.Untrusted = oneOf(t, "untrusted", "", "", "another app")
	r.Ours = rapid.IntRange(0, 5).Draw(t, "ours") == 0
	r.Advisory = rapid.IntRange(0, 3).Draw(t, "advisory") == 0
	return r
}

func drawEvidence(t *rapid.T) Evidence {
	e := Evidence{
		Tier: risk.Tier(rapid.IntRange(0, 3).Draw(t, "tier")), ChangedFiles: rapid.IntRange(0, 3).Draw(t, "files"),
		DocsOnly: yes(t, "docs"), Policy: PolicyState{State: oneOf(t, "policy", PolicyGood, PolicyGood, PolicyGood, PolicyInvalid)},
		Intent: oneOf(t, "intent", IntentStated, IntentMissing),
		Checks: Checks{
			Results:  some(t, "checks", 4, drawCheck),
			WaitOver: yes(t, "waited"), NoneSettled: yes(t, "settled"), Complete: rapid.IntRange(0, 5).Draw(t, "complete") > 0,
		},
		Reviewers: some(t, "reviewers", 4, drawReviewer),
		Findings:  some(t, "findings", 2, drawFinding),
	}
	e.Checks.Required = some(t, "required", 2, func(t *rapid.T) RequiredCheck {
		return RequiredCheck{Name: oneOf(t, "name", "build", "deploy"), AppIDs: oneOf(t, "apps", nil, []int64{9001})}
	})
	e.Coverage = some(t, "coverage", 3, func(t *rapid.T) FileCoverage {
		return FileCoverage{
			Path: oneOf(t, "path", "a.go", "b.go"), NeedsEyes: rapid.IntRange(0, 3).Draw(t, "eyes") > 0,
			State: oneOf(t, "state", FileInspected, FileInspected, FilePartiallyInspected, FileSkipped), Why: oneOf(t, "why", SkipUnfit, SkipOmitted),
		}
	})
	if yes(t, "scanned") {
		e.ContentPassed = []string{"hidden-text"}
	}
	if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		e.MoreFindings = []MoreFindings{{Rule: oneOf(t, "scanner", "unpinned-action", "credential"), Count: rapid.IntRange(1, 3).Draw(t, "count")}}
		e.ScanGaps = []ScanGap{{Rule: "credential", Files: 1, Places: []ScanPlace{{Path: "a.go", Why: "large"}}}}
	}
	if rapid.IntRange(0, 3).Draw(t, "truncated") == 0 {
		e.Truncated = []TruncatedFile{{Path: "a.go"}}
	}
	if rapid.IntRange(0, 5).Draw(t, "denied") == 0 {
		e.Permission.Denied = []Denial{{Rule: "d", Paths: []string{"a.go"}}}
	}
	if rapid.IntRange(0, 3).Draw(t, "asked") == 0 {
		e.Permission.Asks = []Ask{{ID: "a", Paths: []string{"a.go"}, Surface: yes(t, "surface")}}
	}
	if yes(t, "approved") {
		e.Approvals = []Approval{{Kind: ApprovalHuman, Answer: Answer{By: "x"}}}
	}
	if rapid.IntRange(0, 5).Draw(t, "artifact") == 0 {
		e.Artifacts = []ArtifactResult{{When: "a.go", Path: "a.md"}}
	}
	return e
}

func drawRules(t *rapid.T) Rules {
	r := DefaultRules()
	r.Radical, r.SkippedFails, r.ReviewRequired = yes(t, "radical"), yes(t, "skipped"), yes(t, "review")
	for i := range r.Tiers {
		r.Tiers[i].Reviewers = rapid.IntRange(0, 3).Draw(t, "reviewers")
		r.Tiers[i].Disagreement = oneOf(t, "disagreement", Strictest, Third, LeftToHuman)
	}
	return r
}

// drawAcceptances accept some rules, also ones that nobody may accept, by whatever
// the causes are, and some by names that belong to nothing.
func drawAcceptances(t *rapid.T, causes Causes) []Acceptance {
	var out []Acceptance
	for _, rule := range causes.Rules {
		if yes(t, "accept") {
			a, _ := causes.AcceptanceOf(rule.Rule)
			a.By = "x"
			out = append(out, a)
		}
	}
	all := []string{"a.go", "b.go", "build", "deploy", "openai/m", "intent", "checks"}
	return append(out, Acceptance{Rule: oneOf(t, "rule", Table()[rapid.IntRange(0, ruleCount-1).Draw(t, "row")].ID), By: "y", Checks: all, Files: all, Others: all, Reviewers: all})
}

// TestOutcomesHold holds what is true of every outcome.
func TestOutcomesHold(t *testing.T) {
	check(t, func(t *rapid.T) {
		e, rules := drawEvidence(t), drawRules(t)
		e.Acceptances = drawAcceptances(t, Gate(e, rules).Causes)
		out := Gate(e, rules)
		if !out.Facts.valid() {
			t.Fatalf("invalid facts %+v", out.Facts)
		}
		for _, id := range slices.Concat(out.Gate.Fired, out.Gate.Residual) {
			if len(out.Causes.Of(id)) == 0 {
				t.Fatalf("%s holds without a cause", id)
			}
		}
		failed := slices.ContainsFunc(e.Checks.Results, func(r CheckResult) bool {
			return !r.Ours && !r.Advisory && r.outcome() == checkFailed
		})
		switch {
		case failed && out.Gate.Decision > ChangesRequested:
			t.Fatal("a failed check is not overridden")
		case len(e.Permission.Denied) > 0 && out.Gate.Decision != Blocked:
			t.Fatal("a deny does not block")
		case !e.Checks.Complete && out.Gate.Decision > NeedsHuman:
			t.Fatal("unread checks pass")
		case out.Gate.Decision == Approved && (out.Gate.Basis == BasisAcceptance) != (len(out.Accepted) > 0):
			t.Fatalf("basis %q with %d accepted", out.Gate.Basis, len(out.Accepted))
		}
	})
}

// TestAcceptanceNeverBeatsAHardRule: whatever people accept, a rule that cannot be
// accepted keeps firing and keeps the decision down.
func TestAcceptanceNeverBeatsAHardRule(t *testing.T) {
	check(t, func(t *rapid.T) {
		e, rules := drawEvidence(t), drawRules(t)
		before := Gate(e, rules)
		e.Acceptances = drawAcceptances(t, before.Causes)
		after := Gate(e, rules)
		for _, id := range before.Gate.Fired {
			rule, _ := Explain(id)
			if rule.Acceptable {
				continue
			}
			if !slices.Contains(after.Gate.Fired, id) || after.Gate.Decision > rule.Ceiling(after.Facts) {
				t.Fatalf("%s was accepted away: %v, %s", id, after.Gate.Fired, after.Gate.Decision)
			}
		}
		for _, a := range after.Accepted {
			if rule, _ := Explain(a.Rule); !rule.Acceptable {
				t.Fatalf("%s is listed as accepted", a.Rule)
			}
		}
	})
}

// TestFurtherCausesFireAgain: with everything accepted that can be, one thing more
// of any kind brings the decision back under its rule's ceiling.
func TestFurtherCausesFireAgain(t *testing.T) {
	check(t, func(t *rapid.T) {
		e, rules := drawEvidence(t), drawRules(t)
		for i := range rules.Tiers {
			rules.Tiers[i].Disagreement = Strictest // a majority may overrule one more rejection
		}
		e.ChangedFiles = 0
		for range 3 { // accepting one thing may bring out another
			for _, rule := range Gate(e, rules).Causes.Rules {
				if a, ok := Gate(e, rules).Causes.AcceptanceOf(rule.Rule); ok {
					a.By = "x"
					e.Acceptances = append(e.Acceptances, a)
				}
			}
		}
		further := map[RuleID]func(){
			RuleFindingStands: func() { e.Findings = append(e.Findings, finding("new.go", SeverityHigh)) },
			RuleDeterministicFinding: func() {
				e.Findings = append(e.Findings, Finding{Source: FromScan, Path: "new.go", Severity: SeverityHigh})
			},
			"more": func() {
				more := Finding{Source: FromScan, Path: "more.go", Severity: SeverityHigh, Rule: "many"}
				e.Findings, e.MoreFindings = append(e.Findings, more), append(e.MoreFindings, MoreFindings{Rule: "many", Count: 2})
				e.Acceptances = append(e.Acceptances, Acceptance{Rule: RuleDeterministicFinding, Findings: []string{string(more.ID())}, By: "x"})
			},
			RuleChecksMissing: func() {
				e.Checks.WaitOver, e.Checks.Required = true, append(e.Checks.Required, RequiredCheck{Name: "new"})
			},
			RuleDiffTruncated: func() { e.Truncated = append(e.Truncated, TruncatedFile{Path: "new.go"}) },
			RuleReviewerRequestedChanges: func() {
				e.Reviewers = append(e.Reviewers, rejecting("new", finding("new.go", SeverityLow)))
			},
			RuleReviewerBlocked: func() {
				r := goodReviewer("new")
				r.Verdict = VerdictBlocked
				e.Reviewers = append(e.Reviewers, r)
			},
			RuleCoverageMissing: func() {
				e.Reviewers = append(e.Reviewers, rejecting("new", finding("new.go", SeverityLow)))
				e.Coverage = append(e.Coverage, FileCoverage{Path: "new.go", NeedsEyes: true, State: FileSkipped, Why: SkipOmitted})
			},
		}
		ids := []RuleID{RuleFindingStands, RuleDeterministicFinding, "more", RuleChecksMissing, RuleDiffTruncated, RuleReviewerRequestedChanges, RuleReviewerBlocked, RuleCoverageMissing}
		id := rapid.SampledFrom(ids).Draw(t, "rule")
		further[id]()
		out := Gate(e, rules)
		if id == "more" { // every listed finding of the rule is accepted, and more are counted
			id = RuleDeterministicFinding
		}
		rule, _ := Explain(id)
		if len(out.Causes.Of(id)) == 0 || out.Gate.Decision > rule.Ceiling(out.Facts) {
			t.Fatalf("%s: %s with causes %v", id, out.Gate.Decision, out.Causes.Of(id))
		}
	})
}

// TestLosingAReviewNeverHelps: a later review that does not run or fails never
// makes a result satisfy that did not, except at low where none ever ended. (One
// that was running and then fails is no longer waited for; that is not losing it.)
func TestLosingAReviewNeverHelps(t *testing.T) {
	check(t, func(t *rapid.T) {
		e, rules := drawEvidence(t), drawRules(t)
		before := Gate(e, rules)
		lost := goodReviewer(oneOf(t, "lost", "openai", "anthropic", "new"))
		lost.Status = oneOf(t, "as", ReviewerNotRun, ReviewerFailed)
		p := newPanel(e.Reviewers)
		if slices.ContainsFunc(p.pending, func(r ReviewerResult) bool { return r.Name() == lost.Name() }) {
			return
		}
		if e.Tier == risk.Low && !p.anyEnded() {
			return
		}
		e.Reviewers = append(e.Reviewers, lost)
		if after := Gate(e, rules); after.Gate.Satisfies && !before.Gate.Satisfies {
			t.Fatalf("%s by %v became %s", before.Gate.Decision, before.Gate.Fired, after.Gate.Decision)
		}
	})
}

// TestOrderAndStorageDoNotMatter: evidence in another order, and evidence that was
// stored and read back, gives the same outcome.
func TestOrderAndStorageDoNotMatter(t *testing.T) {
	check(t, func(t *rapid.T) {
		e, rules := drawEvidence(t), drawRules(t)
		e.Acceptances = drawAcceptances(t, Gate(e, rules).Causes)
		want := outcomeJSON(t, e, rules)
		stored, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back Evidence
		if err := json.Unmarshal(stored, &back); err != nil {
			t.Fatal(err)
		}
		back.Checks.Results = rapid.Permutation(back.Checks.Results).Draw(t, "checks")
		back.Checks.Required = rapid.Permutation(back.Checks.Required).Draw(t, "required")
		back.Coverage = rapid.Permutation(back.Coverage).Draw(t, "coverage")
		back.Findings = rapid.Permutation(back.Findings).Draw(t, "findings")
		if got := outcomeJSON(t, back, rules); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

func outcomeJSON(t *rapid.T, e Evidence, rules Rules) string {
	text, err := json.Marshal(Gate(e, rules))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzSummarise: no evidence, however odd, makes the gate panic or come to
// something that is no decision.
func FuzzSummarise(f *testing.F) {
	rules, _ := json.Marshal(DefaultRules())
	for _, e := range []Evidence{{}, goodEvidence(), acceptEvidence()} {
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, rules)
	}
	f.Add([]byte(`{"tier":"critical","reviewers":[{"status":"ran","verdict":"approved","confidence":1e308}],"changed_files":-1}`), []byte(`{"tiers":[{"reviewers":-5}]}`))
	f.Fuzz(func(t *testing.T, evidence, policy []byte) {
		var e Evidence
		var rules Rules
		if json.Unmarshal(evidence, &e) != nil || json.Unmarshal(policy, &rules) != nil {
			return
		}
		out := Gate(e, rules)
		if d := out.Gate.Decision; d < Blocked || d > Approved {
			t.Errorf("decision %d", d)
		}
		if _, err := json.Marshal(out); err != nil {
			t.Errorf("the outcome cannot be stored: %v", err)
		}
	})
}
