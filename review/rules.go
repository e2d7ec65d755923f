package review

import "github.com/countersign/countersign/risk"

// RuleID names a gate rule in code, trail, texts and tests.
type RuleID string

// The gate's rules (DESIGN section 8).
const (
	RulePermissionDenied         RuleID = "permission-denied"
	RulePolicyInvalid            RuleID = "policy-invalid"
	RuleReviewerBlocked          RuleID = "reviewer-blocked"
	RuleReviewerRequestedChanges RuleID = "reviewer-requested-changes"
	RuleChecksFailed             RuleID = "checks-failed"
	RuleArtifactMissing          RuleID = "artifact-missing"
	RuleDeterministicFinding     RuleID = "deterministic-finding"
	RuleDeterministicCritical    RuleID = "deterministic-critical"
	RuleFindingStands            RuleID = "finding-stands"
	RuleChecksPending            RuleID = "checks-pending"
	RuleReviewPending            RuleID = "review-pending"
	RuleApprovalMissing          RuleID = "approval-missing"
	RuleChecksMissing            RuleID = "checks-missing"
	RuleEvidenceMissing          RuleID = "evidence-missing"
	RuleDiffTruncated            RuleID = "diff-truncated"
	RuleReviewMissing            RuleID = "review-missing"
	RuleIndependenceNone         RuleID = "independence-none"
	RuleIndependenceWeak         RuleID = "independence-weak"
	RuleConfidenceLow            RuleID = "confidence-low"
	RuleCoverageMissing          RuleID = "coverage-missing"
	RuleCoveragePartial          RuleID = "coverage-partial"
	RuleReviewersDisagree        RuleID = "reviewers-disagree"
	RuleIntentMissing            RuleID = "intent-missing"
	RuleChecksSkipped            RuleID = "checks-skipped"
	RuleChecksNone               RuleID = "checks-none"
)

// ruleCount is how many rules there are; the table's length is checked by the
// compiler.
const ruleCount = 25

// Rule is one row of the gate. When and Ceiling read facts and nothing else,
// never what other rules made of them, so the rules' order cannot matter. A
// ceiling of Approved means that the rule only lists a residual risk.
type Rule struct {
	ID      RuleID
	When    func(Facts) bool
	Ceiling func(Facts) Decision
	// Acceptable: a person may take responsibility for it.
	Acceptable bool
	// Sentence says to anyone when the rule fires and what follows.
	Sentence string
}

// Table lists the gate's rules. It returns a new copy each time, so nobody can
// change the gate.
func Table() [ruleCount]Rule {
	return [...]Rule{
		{RulePermissionDenied, denied, toBlocked, false,
			"A deny rule of the policy matches a changed path. Nobody can pass it here: leave the path alone, or change the policy in a pull request of its own."},
		{RulePolicyInvalid, policyInvalid, toBlocked, false,
			"The policy file is broken and no good revision of it was ever seen. Repair it at the line that the check names."},
		{RuleReviewerBlocked, reviewBlocked, toHuman, true,
			"A reviewer says that something outside this patch, or a person, is needed. A person decides."},
		{RuleReviewerRequestedChanges, reviewChanges, toAuthor, true,
			"A reviewer rejected the patch with a finding that stands. The author changes it."},
		{RuleChecksFailed, ciFailed, toAuthor, false,
			"A check failed that the policy does not call advisory. It overrides every approval and cannot be accepted: make it pass."},
		{RuleArtifactMissing, artifactsMissing, toAuthor, false,
			"The policy requires a file beside this change that is not there or is empty. Add it."},
		{RuleDeterministicFinding, scanHigh, toAuthor, true,
			"A scanner found something of high severity at an exact line, without any model. The author removes it."},
		{RuleDeterministicCritical, scanCritical, toAuthor, false,
			"A scanner found something critical, such as a live-looking credential. Remove and revoke it; a false positive is named in the base branch's policy."},
		{RuleFindingStands, findingStands, toAuthor, true,
			"A verified finding of high or critical severity stands, whatever the last review said. The author fixes it, or a person waives it."},
		{RuleChecksPending, ciPending, toMachine, false,
			"Checks have not finished, or a required one has not reported yet. Nobody has to act: the decision follows by itself."},
		{RuleReviewPending, reviewPending, toMachine, false,
			"A review has not finished. Nobody has to act: the decision follows by itself."},
		{RuleApprovalMissing, asked, toHuman, false,
			"An ask, the plan's approval or a human approval is unanswered. The named people answer; the answer is the approval."},
		{RuleChecksMissing, ciMissing, toHuman, true,
			"A required check never reported within the wait, or only under that name from another source. A person looks why."},
		{RuleEvidenceMissing, evidenceMissing, toHuman, false,
			"Files, diff or checks could not be read, so a denial or a failed check may be hidden. It is tried again; nobody can accept what nobody saw."},
		{RuleDiffTruncated, collectedPartial, humanFromHigh, true,
			"Part of the patch was not seen by Countersign. From high on a person looks at it; below, it is a residual risk."},
		{RuleReviewMissing, reviewMissing, missingReview, true,
			"No review ended: it did not run, or it failed. Above low a person decides; at low the result is not reviewed."},
		{RuleIndependenceNone, notIndependent, toHuman, true,
			"The reviewer is the same model that wrote the code, at high or critical. A person decides."},
		{RuleIndependenceWeak, weaklyIndependent, toHuman, true,
			"The reviewer is too close to the models that wrote the code, at critical. A person decides."},
		{RuleConfidenceLow, confidenceLow, humanFromMedium, true,
			"The reviewer was less confident than the policy demands. Above low a person decides; at low it is a residual risk."},
		{RuleCoverageMissing, coverageMissing, missingCoverage, true,
			"A file that needs eyes was not inspected. From high on the author acts where the reviewer left it out, a person where it was too large to give; below, it is a residual risk."},
		{RuleCoveragePartial, coverageIncomplete, humanAtCritical, true,
			"A file was inspected in part, or not at all. At critical a person decides; below, it is a residual risk."},
		{RuleReviewersDisagree, reviewersDiffer, toHuman, true,
			"Reviewers came to different verdicts and the policy leaves that to a person."},
		{RuleIntentMissing, intentMissing, humanAtCritical, true,
			"The pull request does not say what it is for, at high or critical. At critical a person decides; at high it is asked once."},
		{RuleChecksSkipped, ciSkipped, residual, false,
			"Checks were skipped or neutral, so they say nothing. A residual risk, unless the policy counts them as failed."},
		{RuleChecksNone, ciNone, residual, false,
			"No check that counts ran on this head. A residual risk, said in the title."},
	}
}

// Explain finds a rule by its id.
func Explain(id RuleID) (Rule, bool) {
	for _, r := range Table() {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// When the rules fire.

func denied(f Facts) bool           { return f.Clearance == ClearanceDenied }
func policyInvalid(f Facts) bool    { return f.Policy == PolicyInvalid }
func reviewBlocked(f Facts) bool    { return f.Review == ReviewBlocked }
func reviewChanges(f Facts) bool    { return f.Review == ReviewChanges }
func ciFailed(f Facts) bool         { return f.CI == CIFailed }
func artifactsMissing(f Facts) bool { return f.Artifacts == ArtifactsMissing }
func scanHigh(f Facts) bool         { return f.Scan == FindingsHigh }
func scanCritical(f Facts) bool     { return f.Scan == FindingsCritical }
func findingStands(f Facts) bool    { return f.Standing >= FindingsHigh }
func ciPending(f Facts) bool        { return f.CI == CIPending }
func reviewPending(f Facts) bool    { return f.Review == ReviewPending }
func asked(f Facts) bool            { return f.Clearance == ClearanceAsked }
func ciMissing(f Facts) bool        { return f.CI == CIMissing }
func collectedPartial(f Facts) bool { return f.Collected == CollectedPartial }
func ciSkipped(f Facts) bool        { return f.CI == CISkipped }
func ciNone(f Facts) bool           { return f.CI == CINone }
func intentMissing(f Facts) bool    { return f.Intent == IntentMissing && f.Tier >= risk.High }

// evidenceMissing also fires for facts that nobody stated: unknown is not good.
func evidenceMissing(f Facts) bool { return f.Collected == CollectedNone || !f.valid() }

func reviewMissing(f Facts) bool {
	return f.Review == ReviewNotRun || f.Review == ReviewFailed ||
		f.Review == ReviewSettled && f.Tier > risk.Low
}

func notIndependent(f Facts) bool {
	return f.reviewEnded() && f.Independence == IndependenceNone && f.Tier >= risk.High
}

func weaklyIndependent(f Facts) bool {
	return f.reviewEnded() && f.Independence >= IndependenceWeak && f.Tier >= risk.Critical
}

func confidenceLow(f Facts) bool { return f.reviewEnded() && f.Confidence == ConfidenceLow }

func coverageMissing(f Facts) bool {
	return f.reviewEnded() && (f.Coverage == CoverageOmitted || f.Coverage == CoverageUnfit)
}

func coverageIncomplete(f Facts) bool { return f.reviewEnded() && f.Coverage >= CoveragePartial }

func reviewersDiffer(f Facts) bool {
	return f.reviewEnded() && f.Panel == PanelDiffer && f.Tier >= risk.Medium
}

// Ceilings.

func toBlocked(Facts) Decision { return Blocked }
func toAuthor(Facts) Decision  { return ChangesRequested }
func toMachine(Facts) Decision { return Pending }
func toHuman(Facts) Decision   { return NeedsHuman }
func residual(Facts) Decision  { return Approved }

func humanFrom(tier risk.Tier, f Facts) Decision {
	if f.Tier >= tier {
		return NeedsHuman
	}
	return Approved
}

func humanFromMedium(f Facts) Decision { return humanFrom(risk.Medium, f) }
func humanFromHigh(f Facts) Decision   { return humanFrom(risk.High, f) }
func humanAtCritical(f Facts) Decision { return humanFrom(risk.Critical, f) }

func missingReview(f Facts) Decision {
	if f.Tier == risk.Low {
		return NotReviewed
	}
	return NeedsHuman
}

func missingCoverage(f Facts) Decision {
	switch {
	case f.Tier < risk.High:
		return Approved
	case f.Coverage == CoverageOmitted:
		return ChangesRequested
	}
	return NeedsHuman
}
