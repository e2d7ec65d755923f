package review

import (
	"math"
	"slices"
	"testing"

	"github.com/countersign/countersign/risk"
)

// goodReviewer approved with full confidence.
func goodReviewer(name string) ReviewerResult {
	return ReviewerResult{Provider: name, Model: "m", Family: name, Independence: IndependenceStrong, Status: ReviewerRan, Verdict: VerdictApproved, Confidence: 0.9}
}

func rejecting(name string, findings ...Finding) ReviewerResult {
	r := goodReviewer(name)
	r.Verdict, r.Findings = VerdictChanges, findings
	return r
}

func finding(path string, severity Severity) Finding {
	return Finding{Source: FromReviewer, Path: path, Line: 7, Quote: "x := " + path, Severity: severity, Category: "logic", Title: "wrong", Verified: true}
}

// goodEvidence is approved at medium under any rules that ask for one reviewer.
func goodEvidence() Evidence {
	return Evidence{
		Tier: risk.Medium, ChangedFiles: 1, Policy: PolicyState{State: PolicyGood}, Intent: IntentStated,
		Checks:    settledChecks(run("build", "success")),
		Reviewers: []ReviewerResult{goodReviewer("openai")},
		Coverage:  []FileCoverage{{Path: "a.go", State: FileInspected, NeedsEyes: true}},
	}
}

// sumRow changes good evidence and says what the gate makes of it.
type sumRow struct {
	name     string
	evidence func(*Evidence)
	rules    func(*Rules)
	decision Decision
	fired    []RuleID
}

func sumRows() []sumRow {
	tier := func(t risk.Tier) func(*Evidence) { return func(e *Evidence) { e.Tier = t } }
	critical := func(e *Evidence) {
		e.Tier = risk.Critical
		e.Reviewers = append(e.Reviewers, goodReviewer("anthropic"))
		e.Approvals = []Approval{{Kind: ApprovalHuman, Answer: Answer{By: "x"}}}
	}
	ask := Ask{ID: "workflows", Paths: []string{".github/workflows/a.yml"}, Approvers: []string{"@acme/platform"}}
	answered := ask
	answered.Answer = &Answer{By: "x"}
	empty := ask
	empty.Answer = &Answer{}
	surface := ask
	surface.Surface = true
	radical := func(r *Rules) { r.Radical = true }
	return []sumRow{
		{name: "good", evidence: func(*Evidence) {}, decision: Approved},
		{name: "critical", evidence: critical, decision: Approved},
		{name: "nothing known", evidence: func(e *Evidence) { *e = Evidence{} }, decision: Blocked, fired: []RuleID{RulePolicyInvalid, RuleChecksPending, RuleEvidenceMissing, RuleReviewMissing}},
		{name: "a tier that does not exist", evidence: tier(9), decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing, RuleEvidenceMissing, RuleReviewMissing}},

		{name: "denied", evidence: func(e *Evidence) {
			e.Permission.Denied = []Denial{{Rule: "vendored", Paths: []string{"third_party/x"}}}
		}, rules: radical, decision: Blocked, fired: []RuleID{RulePermissionDenied}},
		{name: "asked", evidence: func(e *Evidence) { e.Permission.Asks = []Ask{ask} }, decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing}},
		{name: "answered", evidence: func(e *Evidence) { e.Permission.Asks = []Ask{answered} }, decision: Approved},
		{name: "answered by nobody", evidence: func(e *Evidence) { e.Permission.Asks = []Ask{empty} }, decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing}},
		{name: "radical answers", evidence: func(e *Evidence) { e.Permission.Asks = []Ask{ask} }, rules: radical, decision: Approved},
		{name: "radical never answers for a surface", evidence: func(e *Evidence) { e.Permission.Asks = []Ask{surface} }, rules: radical, decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing}},
		{name: "radical never gives a human approval", evidence: func(e *Evidence) { critical(e); e.Approvals = nil }, rules: radical, decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing}},
		{name: "plan approval", evidence: func(*Evidence) {}, rules: func(r *Rules) { r.Tiers[risk.Medium].PlanApproval = true }, decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing}},
		{name: "a human approval is no plan approval", evidence: func(e *Evidence) { e.Approvals = []Approval{{Kind: ApprovalHuman, Answer: Answer{By: "x"}}} }, rules: func(r *Rules) { r.Tiers[risk.Medium].PlanApproval = true }, decision: NeedsHuman, fired: []RuleID{RuleApprovalMissing}},

		{name: "policy broken, none ever seen", evidence: func(e *Evidence) { e.Policy.State = PolicyInvalid }, decision: Blocked, fired: []RuleID{RulePolicyInvalid}},
		{name: "policy broken, last good holds", evidence: func(e *Evidence) {
			e.Policy.Problems = []PolicyProblem{{File: ".github/countersign.yml", Line: 3, Text: "unknown key"}}
		}, decision: Approved},
		{name: "intent at critical", evidence: func(e *Evidence) { critical(e); e.Intent = IntentMissing }, decision: NeedsHuman, fired: []RuleID{RuleIntentMissing}},
		{name: "artifact", evidence: func(e *Evidence) {
			e.Artifacts = []ArtifactResult{{When: "1.up.sql", Path: "1.down.sql", Why: "it is empty"}}
		}, decision: ChangesRequested, fired: []RuleID{RuleArtifactMissing}},
		{name: "files unread", evidence: func(e *Evidence) { e.Unread = []Unread{{What: "files", Fatal: true}} }, decision: NeedsHuman, fired: []RuleID{RuleEvidenceMissing}},
		{name: "modes unread at high", evidence: func(e *Evidence) { e.Tier = risk.High; e.Unread = []Unread{{What: "modes"}} }, decision: NeedsHuman, fired: []RuleID{RuleDiffTruncated}},
		{name: "truncated at medium", evidence: func(e *Evidence) { e.Truncated = []TruncatedFile{{Path: "a.go"}} }, decision: Approved},

		{name: "scan high", evidence: func(e *Evidence) { e.Findings = []Finding{{Source: FromScan, Severity: SeverityHigh}} }, decision: ChangesRequested, fired: []RuleID{RuleDeterministicFinding}},
		{name: "scan high, waived", evidence: func(e *Evidence) {
			e.Findings = []Finding{{Source: FromScan, Severity: SeverityHigh, Waived: &Waiver{By: "x"}}}
		}, decision: Approved},
		{name: "scan critical cannot be waived", evidence: func(e *Evidence) {
			e.Findings = []Finding{{Source: FromScan, Severity: SeverityCritical, Waived: &Waiver{By: "x"}}}
		}, decision: ChangesRequested, fired: []RuleID{RuleDeterministicCritical}},
		{name: "scan critical, a false positive by policy", evidence: func(e *Evidence) {
			e.Findings = []Finding{{Source: FromScan, Severity: SeverityCritical, Allowed: "example keys"}}
		}, decision: Approved},
		{name: "a finding of no source and severity counts as a scan's, high", evidence: func(e *Evidence) { e.Findings = []Finding{{}} }, decision: ChangesRequested, fired: []RuleID{RuleDeterministicFinding}},
		{name: "an earlier finding stands over an approval", evidence: func(e *Evidence) { e.Findings = []Finding{finding("a.go", SeverityHigh)} }, decision: ChangesRequested, fired: []RuleID{RuleFindingStands}},
		{name: "an earlier finding was not verified", evidence: func(e *Evidence) {
			f := finding("a.go", SeverityHigh)
			f.Verified = false
			e.Findings = []Finding{f}
		}, decision: Approved},
		{name: "an earlier finding is unconfirmed", evidence: func(e *Evidence) {
			f := finding("a.go", SeverityHigh)
			f.Unconfirmed = true
			e.Findings = []Finding{f}
		}, decision: Approved},

		{name: "omitted at high", evidence: func(e *Evidence) {
			e.Tier = risk.High
			e.Coverage[0].State, e.Coverage[0].Why = FileSkipped, SkipOmitted
		}, decision: ChangesRequested, fired: []RuleID{RuleCoverageMissing}},
		{name: "unfit at high", evidence: func(e *Evidence) { e.Tier = risk.High; e.Coverage[0].State, e.Coverage[0].Why = FileSkipped, SkipUnfit }, decision: NeedsHuman, fired: []RuleID{RuleCoverageMissing}},
		{name: "skipped, needs no eyes", evidence: func(e *Evidence) {
			e.Tier = risk.High
			e.Coverage[0] = FileCoverage{Path: "gen.go", State: FileSkipped}
		}, decision: Approved},
		{name: "a file without an entry was omitted", evidence: func(e *Evidence) { e.Tier = risk.High; e.ChangedFiles = 2 }, decision: ChangesRequested, fired: []RuleID{RuleCoverageMissing}},
		{name: "partial at critical", evidence: func(e *Evidence) { critical(e); e.Coverage[0].State = FilePartiallyInspected }, decision: NeedsHuman, fired: []RuleID{RuleCoveragePartial}},
	}
}

// reviewRows are about the reviewers.
func reviewRows() []sumRow {
	low := func(e *Evidence) { e.Tier = risk.Low }
	no := func(status ReviewerStatus) ReviewerResult {
		return ReviewerResult{Provider: "openai", Model: "m", Status: status, Reason: "no key"}
	}
	reviewers := func(list ...ReviewerResult) func(*Evidence) {
		return func(e *Evidence) { e.Reviewers = list }
	}
	both := func(a, b func(*Evidence)) func(*Evidence) { return func(e *Evidence) { a(e); b(e) } }
	two := func(how Disagreement) func(*Rules) {
		return func(r *Rules) { r.Tiers[risk.Medium] = TierRules{Reviewers: 2, Disagreement: how} }
	}
	blocked := goodReviewer("openai")
	blocked.Verdict = VerdictBlocked
	minor := finding("a.go", SeverityLow)
	high := finding("a.go", SeverityHigh)
	ghost, waived, doubted := minor, minor, high
	doubted.Unconfirmed = true
	ghost.Verified = false
	waived.Waived = &Waiver{By: "x"}
	docs := func(e *Evidence) { e.Tier, e.DocsOnly, e.Reviewers = risk.Low, true, nil }
	reject := []RuleID{RuleReviewerRequestedChanges}
	missing := []RuleID{RuleReviewMissing}
	return []sumRow{
		{name: "none at medium", evidence: reviewers(), decision: NeedsHuman, fired: missing},
		{name: "none at low", evidence: both(low, reviewers()), decision: NotReviewed, fired: missing},
		{name: "failed at medium", evidence: reviewers(no(ReviewerFailed)), decision: NeedsHuman, fired: missing},
		{name: "an unknown status is failed", evidence: reviewers(no("perhaps")), decision: NeedsHuman, fired: missing},
		{name: "an unknown verdict is failed", evidence: func(e *Evidence) { e.Reviewers[0].Verdict = "fine" }, decision: NeedsHuman, fired: missing},
		{name: "running", evidence: reviewers(no(ReviewerPending)), decision: Pending, fired: []RuleID{RuleReviewPending}},
		{name: "docs only with a check", evidence: docs, decision: Approved},
		{name: "docs only with a content rule", evidence: func(e *Evidence) {
			docs(e)
			e.Checks, e.ContentPassed = settledChecks(), []string{"hidden-characters"}
		}, decision: Approved},
		{name: "docs only with nothing", evidence: func(e *Evidence) { docs(e); e.Checks = settledChecks() }, decision: NotReviewed, fired: missing},
		{name: "docs only, an untrusted check", evidence: func(e *Evidence) { docs(e); e.Checks.Results[0].Untrusted = "another app" }, decision: NotReviewed, fired: missing},
		{name: "docs only while a review runs", evidence: func(e *Evidence) { docs(e); e.Reviewers = []ReviewerResult{no(ReviewerPending)} }, decision: Pending, fired: []RuleID{RuleReviewPending}},
		{name: "docs only, a review required", evidence: docs, rules: func(r *Rules) { r.ReviewRequired = true }, decision: NotReviewed, fired: missing},
		{name: "docs only and rejected", evidence: func(e *Evidence) { docs(e); e.Reviewers = []ReviewerResult{rejecting("openai", minor)} }, decision: ChangesRequested, fired: reject},
		{name: "rejected", evidence: reviewers(rejecting("openai", minor)), decision: ChangesRequested, fired: reject},
		{name: "rejected with a grave finding", evidence: reviewers(rejecting("openai", high)), decision: ChangesRequested, fired: []RuleID{RuleReviewerRequestedChanges, RuleFindingStands}},
		{name: "rejected without a finding is failed", evidence: reviewers(rejecting("openai")), decision: NeedsHuman, fired: missing},
		{name: "rejected, all unconfirmed, is failed", evidence: reviewers(rejecting("openai", doubted)), decision: NeedsHuman, fired: missing},
		{name: "rejected, all waived, is failed", evidence: reviewers(rejecting("openai", waived)), decision: NeedsHuman, fired: missing},
		{name: "no finding verified is failed, whatever the verdict", evidence: func(e *Evidence) { e.Reviewers[0].Findings = []Finding{ghost, ghost} }, decision: NeedsHuman, fired: missing},
		{name: "one finding verified is enough", evidence: func(e *Evidence) { e.Reviewers[0].Findings = []Finding{ghost, minor} }, decision: Approved},
		{name: "blocked", evidence: reviewers(blocked), decision: NeedsHuman, fired: []RuleID{RuleReviewerBlocked}},
		{name: "case-156 a later review that does not run replaces nothing", evidence: reviewers(rejecting("openai", minor), no(ReviewerNotRun)), decision: ChangesRequested, fired: reject},
		{name: "a later review that ends replaces", evidence: reviewers(rejecting("openai", minor), goodReviewer("openai")), decision: Approved},
		{name: "but not its grave finding", evidence: reviewers(rejecting("openai", high), goodReviewer("openai")), decision: ChangesRequested, fired: []RuleID{RuleFindingStands}},
		{name: "a failed one before the next reviewer", evidence: reviewers(no(ReviewerFailed), goodReviewer("anthropic")), decision: Approved},
		{name: "a re-review is running", evidence: reviewers(goodReviewer("openai"), no(ReviewerPending)), decision: Pending, fired: []RuleID{RuleReviewPending}},

		{name: "one of two", evidence: reviewers(goodReviewer("openai")), rules: two(Strictest), decision: NeedsHuman, fired: missing},
		{name: "one of two, one failed", evidence: reviewers(no(ReviewerFailed), goodReviewer("anthropic")), rules: two(Strictest), decision: NeedsHuman, fired: missing},
		{name: "two differ, strictest", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", minor)), rules: two(Strictest), decision: ChangesRequested, fired: reject},
		{name: "two differ, unknown policy is strictest", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", minor)), rules: two("?"), decision: ChangesRequested, fired: reject},
		{name: "two differ, human", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", minor)), rules: two(LeftToHuman), decision: NeedsHuman, fired: []RuleID{RuleReviewersDisagree}},
		{name: "two differ gravely, human", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", high)), rules: two(LeftToHuman), decision: ChangesRequested, fired: []RuleID{RuleFindingStands, RuleReviewersDisagree}},
		{name: "two differ at low, human", evidence: both(low, reviewers(goodReviewer("openai"), rejecting("anthropic", minor))), rules: func(r *Rules) { r.Tiers[risk.Low] = TierRules{Reviewers: 2, Disagreement: LeftToHuman} }, decision: ChangesRequested, fired: reject},
		{name: "two differ, no third", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", minor)), rules: two(Third), decision: ChangesRequested, fired: reject},
		{name: "third approves", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", minor), goodReviewer("gemini")), rules: two(Third), decision: Approved},
		{name: "third rejects", evidence: reviewers(goodReviewer("openai"), rejecting("anthropic", minor), rejecting("gemini", minor)), rules: two(Third), decision: ChangesRequested, fired: reject},
		{name: "three ways", evidence: reviewers(blocked, rejecting("anthropic", minor), goodReviewer("gemini")), rules: two(Third), decision: ChangesRequested, fired: reject},
	}
}

func TestSummariseThenDecide(t *testing.T) {
	for _, row := range append(sumRows(), reviewRows()...) {
		t.Run(row.name, func(t *testing.T) {
			e, rules := goodEvidence(), DefaultRules()
			row.evidence(&e)
			if row.rules != nil {
				row.rules(&rules)
			}
			out := Gate(e, rules)
			if out.Gate.Decision != row.decision || !slices.Equal(out.Gate.Fired, row.fired) {
				t.Errorf("got %s by %v, want %s by %v", out.Gate.Decision, out.Gate.Fired, row.decision, row.fired)
			}
			for _, id := range out.Gate.Fired {
				if len(out.Causes.Of(id)) == 0 {
					t.Errorf("%s fired without a cause", id)
				}
			}
		})
	}
}

func TestIndependenceOfThePanel(t *testing.T) {
	of := func(name string, level Independence) ReviewerResult {
		r := goodReviewer(name)
		r.Independence = level
		return r
	}
	same := of("openai", IndependenceStrong)
	same.SameModel = true
	kin := of("azure", IndependenceModerate)
	kin.Family = "openai"
	for _, row := range []struct {
		name      string
		needed    int
		reviewers []ReviewerResult
		want      Independence
	}{
		{"one", 1, []ReviewerResult{of("openai", IndependenceWeak)}, IndependenceWeak},
		{"unstated is none", 1, []ReviewerResult{of("openai", 0)}, IndependenceNone},
		{"same model contradicts strong", 1, []ReviewerResult{same}, IndependenceNone},
		{"the better of two where one is needed", 1, []ReviewerResult{of("openai", IndependenceNone), of("gemini", IndependenceStrong)}, IndependenceStrong},
		{"the worse of two where two are needed", 2, []ReviewerResult{of("openai", IndependenceNone), of("gemini", IndependenceStrong)}, IndependenceNone},
		{"two moderate of different families are strong", 2, []ReviewerResult{of("openai", IndependenceModerate), of("gemini", IndependenceModerate)}, IndependenceStrong},
		{"two moderate of one family are not", 2, []ReviewerResult{of("openai", IndependenceModerate), kin}, IndependenceModerate},
		{"nobody", 1, nil, IndependenceStrong},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, rules := goodEvidence(), Rules{}
			e.Reviewers = row.reviewers
			rules.Tiers[risk.Medium].Reviewers = row.needed
			if f, _ := Summarise(e, rules); f.Independence != row.want {
				t.Errorf("got %s, want %s", f.Independence, row.want)
			}
		})
	}
}

func TestConfidence(t *testing.T) {
	for _, row := range []struct {
		name       string
		tier       risk.Tier
		low        float64 // what low demands
		confidence float64
		level      Independence
		want       Confidence
	}{
		{"enough", risk.Medium, 0, 0.55, IndependenceStrong, ConfidenceOK},
		{"too little", risk.Medium, 0, 0.549, IndependenceStrong, ConfidenceLow},
		{"missing", risk.Medium, 0, 0, IndependenceStrong, ConfidenceLow},
		{"missing at low, where nothing is demanded", risk.Low, 0, 0, IndependenceStrong, ConfidenceLow},
		{"little at low", risk.Low, 0, 0.01, IndependenceStrong, ConfidenceOK},
		{"out of range", risk.Medium, 0, 90, IndependenceStrong, ConfidenceLow},
		{"not a number", risk.Medium, 0, math.NaN(), IndependenceStrong, ConfidenceLow},
		{"same model is capped", risk.Medium, 0, 1, IndependenceNone, ConfidenceLow},
		{"same model at low is not", risk.Low, 0.6, 1, IndependenceNone, ConfidenceOK},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := goodEvidence()
			e.Tier = row.tier
			e.Reviewers[0].Confidence, e.Reviewers[0].Independence = row.confidence, row.level
			rules := DefaultRules()
			rules.Tiers[risk.Low].MinConfidence = row.low
			if f, _ := Summarise(e, rules); f.Confidence != row.want {
				t.Errorf("got %s, want %s", f.Confidence, row.want)
			}
		})
	}
}

func TestFindingKey(t *testing.T) {
	key := KeyOf("a.go", "x :=  1\n\ty", "logic")
	if key != KeyOf("a.go", " x := 1 y ", "logic") {
		t.Error("white space changes the key")
	}
	for name, other := range map[string]FindingKey{
		"path":     KeyOf("b.go", "x := 1 y", "logic"),
		"quote":    KeyOf("a.go", "x := 2 y", "logic"),
		"category": KeyOf("a.go", "x := 1 y", "security"),
		"border":   KeyOf("a.gox", " := 1 y", "logic"),
	} {
		if key == other {
			t.Errorf("another %s has the same key", name)
		}
	}
	f := finding("a.go", SeverityHigh)
	moved := f
	moved.Line, moved.Title = 99, "worded otherwise"
	if f.ID() != moved.ID() {
		t.Error("line or wording changes a finding's key")
	}
	f.Key = "stored"
	if f.ID() != "stored" {
		t.Error("the stored key is not kept")
	}
}

// TestShortfallNamesEveryMissingReview: where fewer reviewers tried than are
// needed, accepting the one that failed leaves the one that nobody tried.
func TestShortfallNamesEveryMissingReview(t *testing.T) {
	e, rules := goodEvidence(), DefaultRules()
	rules.Tiers[risk.Medium].Reviewers = 2
	e.Reviewers[0].Status = ReviewerFailed
	_, causes := Summarise(e, rules)
	if got := causes.Of(RuleReviewMissing); len(got) != 2 {
		t.Errorf("causes %v, want the failed review and the count", got)
	}
	e.Acceptances = []Acceptance{{Rule: RuleReviewMissing, Reviewers: []string{"openai/m"}, By: "x"}}
	if got := Gate(e, rules).Gate; !slices.Contains(got.Fired, RuleReviewMissing) {
		t.Errorf("fired %v, want review-missing for the review that nobody tried", got.Fired)
	}
}
