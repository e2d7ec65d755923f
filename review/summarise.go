package review

import (
	"fmt"
	"strings"

	"github.com/countersign/countersign/risk"
)

// Summarise reduces evidence to facts under a policy, and lists the causes behind
// each rule. It is the only place where policy meets evidence. What people
// accepted is taken out of the facts here; what is absent from the evidence
// counts as unknown, never as good.
func Summarise(e Evidence, rules Rules) (Facts, Causes) {
	l := newLedger(e.Acceptances)
	f := Facts{Tier: e.Tier}
	var automatic []string
	var counts CheckCounts

	f.Clearance, automatic = clearance(l, e, rules)
	f.Policy = policyFact(l, e.Policy)
	f.Intent = intentFact(l, e.Intent)
	f.Collected = collected(l, e)
	f.Artifacts = artifacts(l, e.Artifacts)
	f.CI, counts = ci(l, e.Checks, rules.SkippedFails)
	f.Standing, f.Scan = findings(l, e)
	f.Scan = worse(f.Scan, moreFindings(l, e))
	scanGaps(l, e.ScanGaps)

	p := newPanel(e.Reviewers)
	f.Review, f.Panel = p.review(l, e, rules, counts.Passed > 0)
	f.Independence = p.independence(l, rules.At(e.Tier).Reviewers)
	f.Confidence = p.confidence(l, e.Tier, rules.At(e.Tier).MinConfidence)
	f.Coverage = coverage(l, e, p.anyEnded())

	causes := l.causes()
	causes.Automatic, causes.Checks = automatic, counts
	return f, causes
}

// clearance weighs denials, asks and the approvals that concern the whole patch.
// Mode radical answers asks for the policy, never those on a protected surface
// and never a plan or human approval; the second result names the ones it did.
func clearance(l *ledger, e Evidence, rules Rules) (Clearance, []string) {
	fact := ClearanceClear
	var automatic []string
	for _, d := range e.Permission.Denied {
		fact = worse(fact, ClearanceDenied)
		l.add(RulePermissionDenied, Cause{Kind: CauseOther, Key: d.Rule, Text: sentence(few(d.Paths)+" may not change", d.Reason)})
	}
	for _, a := range e.Permission.Asks {
		switch {
		case a.Answer.given():
		case rules.Radical && !a.Surface:
			automatic = append(automatic, a.ID)
		default:
			fact = worse(fact, ClearanceAsked)
			text := fmt.Sprintf("%s needs the approval of %s", few(a.Paths), approvers(a.Approvers))
			l.add(RuleApprovalMissing, Cause{Kind: CauseOther, Key: a.ID, Text: sentence(text, a.Reason)})
		}
	}
	tier := rules.At(e.Tier)
	if tier.PlanApproval && !approved(e.Approvals, ApprovalPlan) {
		fact = worse(fact, ClearanceAsked)
		l.add(RuleApprovalMissing, Cause{Kind: CauseOther, Key: string(ApprovalPlan), Text: "the plan needs a person's approval"})
	}
	if tier.HumanApproval && !approved(e.Approvals, ApprovalHuman) {
		fact = worse(fact, ClearanceAsked)
		l.add(RuleApprovalMissing, Cause{Kind: CauseOther, Key: string(ApprovalHuman), Text: "this tier needs a person's approval"})
	}
	return fact, automatic
}

func approved(list []Approval, kind ApprovalKind) bool {
	for _, a := range list {
		if a.Kind == kind && a.Answer.given() {
			return true
		}
	}
	return false
}

func approvers(list []string) string {
	if len(list) == 0 {
		return "someone with write access"
	}
	return strings.Join(list, " or ")
}

// shownPaths bounds the paths named in one cause; the evidence holds them all.
const shownPaths = 3

// few names the first paths and counts the rest.
func few(paths []string) string {
	if len(paths) <= shownPaths {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:shownPaths], ", "), len(paths)-shownPaths)
}

// sentence joins a statement and its reason, if there is one.
func sentence(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// policyFact: mistakes in a file whose last good revision holds are a residual
// risk; without any good revision they block.
func policyFact(l *ledger, p PolicyState) Policy {
	if p.State == PolicyGood {
		for _, problem := range p.Problems {
			l.risk(RulePolicyInvalid, problem.String()+"; the last good revision holds")
		}
		return PolicyGood
	}
	for _, problem := range p.Problems {
		l.add(RulePolicyInvalid, Cause{Kind: CauseFile, Key: problem.File, Text: problem.String()})
	}
	if len(p.Problems) == 0 {
		l.add(RulePolicyInvalid, Cause{Kind: CauseOther, Key: "policy", Text: "no policy could be established"})
	}
	return PolicyInvalid
}

func intentFact(l *ledger, intent Intent) Intent {
	if intent == IntentStated {
		return IntentStated
	}
	if l.stands(RuleIntentMissing, Cause{Kind: CauseOther, Key: "intent", Text: "no purpose is stated"}) {
		return IntentMissing
	}
	return IntentStated
}

func collected(l *ledger, e Evidence) Collected {
	fact := CollectedAll
	if !e.Checks.Complete {
		fact = CollectedNone
		l.add(RuleEvidenceMissing, Cause{Kind: CauseOther, Key: "checks", Text: "not every check could be read"})
	}
	if e.Tier > risk.Critical {
		fact = CollectedNone
		l.add(RuleEvidenceMissing, Cause{Kind: CauseOther, Key: "tier", Text: "the risk tier is unknown"})
	}
	for _, u := range e.Unread {
		text := sentence(u.What+" could not be read", u.Detail)
		switch {
		case u.Fatal:
			fact = worse(fact, CollectedNone)
			l.add(RuleEvidenceMissing, Cause{Kind: CauseOther, Key: u.What, Text: text})
		case l.stands(RuleDiffTruncated, Cause{Kind: CauseOther, Key: sentence(u.What, u.Detail), Text: text}):
			fact = worse(fact, CollectedPartial)
		}
	}
	for _, t := range e.Truncated {
		c := Cause{Kind: CauseFile, Key: t.Path, Text: sentence(t.Path+" was not seen whole", t.Why)}
		if l.stands(RuleDiffTruncated, c) {
			fact = worse(fact, CollectedPartial)
		}
	}
	return fact
}

func artifacts(l *ledger, list []ArtifactResult) Artifacts {
	fact := ArtifactsHeld
	for _, a := range list {
		if a.Held {
			continue
		}
		fact = ArtifactsMissing
		text := fmt.Sprintf("%s requires %s", a.When, a.Path)
		l.add(RuleArtifactMissing, Cause{Kind: CauseFile, Key: a.Path, Text: sentence(text, a.Why)})
	}
	return fact
}

// findings weighs what reviewers and scanners found, whatever became of the
// review that found it.
func findings(l *ledger, e Evidence) (standing, scan Findings) {
	standing, scan = FindingsNone, FindingsNone
	for _, r := range e.Reviewers {
		for _, f := range r.Findings {
			f.Source = FromReviewer
			standing = worse(standing, reviewerFinding(l, f))
		}
	}
	for _, f := range e.Findings {
		if f.Source == FromReviewer {
			standing = worse(standing, reviewerFinding(l, f))
		} else {
			scan = worse(scan, scanFinding(l, f))
		}
	}
	return standing, scan
}

func reviewerFinding(l *ledger, f Finding) Findings {
	if !f.Stands() {
		return FindingsNone
	}
	weight := f.weight()
	if weight >= FindingsHigh && !l.stands(RuleFindingStands, f.cause()) {
		return FindingsNone
	}
	return weight
}

func scanFinding(l *ledger, f Finding) Findings {
	if !f.Stands() {
		return FindingsNone
	}
	weight := f.weight()
	switch weight {
	case FindingsCritical:
		l.add(RuleDeterministicCritical, f.cause())
	case FindingsHigh:
		if !l.stands(RuleDeterministicFinding, f.cause()) {
			return FindingsNone
		}
	}
	return weight
}

// coverage is read only where a review ended. A changed file without an entry is
// a file that nobody accounted for. Who accepted that a file was not inspected at
// all need not accept once more that it was not inspected in full.
func coverage(l *ledger, e Evidence, ended bool) Coverage {
	fact := CoverageAll
	if !ended {
		return fact
	}
	for _, file := range e.Coverage {
		worth := file.worth()
		switch worth {
		case CoveragePartial:
			if !l.stands(RuleCoveragePartial, file.cause()) {
				continue
			}
		case CoverageUnfit, CoverageOmitted:
			if !l.stands(RuleCoverageMissing, file.cause()) {
				continue
			}
			l.add(RuleCoveragePartial, file.cause())
		}
		fact = worse(fact, worth)
	}
	if holes := e.ChangedFiles - len(e.Coverage); holes > 0 {
		text := fmt.Sprintf("%d of %d changed files are not on the coverage map", holes, e.ChangedFiles)
		c := Cause{Kind: CauseOther, Key: fmt.Sprintf("%d files", holes), Text: text}
		if l.stands(RuleCoverageMissing, c) {
			l.add(RuleCoveragePartial, c)
			fact = worse(fact, CoverageOmitted)
		}
	}
	return fact
}
