package review

import (
	"fmt"
	"slices"
)

// checkOutcome is what one check says.
type checkOutcome uint8

const (
	checkFailed checkOutcome = iota // also everything unknown: success is a positive list (case 103)
	checkOpen
	checkSkipped
	checkPassed
)

// outcome reads the forge's words. A run that completed without a conclusion, or
// with one that is not known, failed.
func (c CheckResult) outcome() checkOutcome {
	switch c.Status {
	case "queued", "in_progress", "waiting", "requested", "pending":
		return checkOpen
	case "completed", "":
	default:
		return checkOpen // a state that is not known has not ended, and never passes
	}
	switch {
	case c.Kind == KindStatus && c.Conclusion == "pending":
		return checkOpen
	case c.Conclusion == "success":
		return checkPassed
	case c.Conclusion == "skipped", c.Conclusion == "neutral":
		return checkSkipped
	}
	return checkFailed
}

// cause is the check as a rule's cause.
func (c CheckResult) cause(text string) Cause {
	return Cause{Kind: CauseCheck, Key: c.Name, Text: c.Name + " " + text, URL: c.URL}
}

// ended is how the check ended, in a word that people read.
func (c CheckResult) ended() string {
	if c.Conclusion == "" {
		return "ended without a conclusion"
	}
	return "ended as " + c.Conclusion
}

// demands reports whether the requirement is about checks of this name.
func (r RequiredCheck) demands(name string) bool {
	return name == r.Name || slices.Contains(r.Names, name)
}

// accepts reports whether a check may satisfy the requirement once it passes:
// right name, right app, from a source that this patch cannot have forged.
func (r RequiredCheck) accepts(c CheckResult) bool {
	if c.Untrusted != "" || !r.demands(c.Name) {
		return false
	}
	for _, app := range r.AppIDs {
		if app <= 0 {
			return true
		}
	}
	return len(r.AppIDs) == 0 || slices.Contains(r.AppIDs, c.AppID)
}

// key names the requirement in an acceptance: the same name demanded from another
// app is another requirement.
func (r RequiredCheck) key() string {
	if len(r.AppIDs) == 0 {
		return r.Name
	}
	return fmt.Sprintf("%s (app %s)", r.Name, joinIDs(r.AppIDs))
}

func joinIDs(ids []int64) string {
	s := ""
	for i, id := range ids {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(id)
	}
	return s
}

// ci reduces the head's checks. Ours are left out, and so are advisory ones, which
// neither fail nor count as "a check ran". A check that satisfies nothing
// (Untrusted) cannot help and can still fail.
func ci(l *ledger, c Checks, skippedFails bool) (CI, CheckCounts) {
	fact := CIPassed
	var n CheckCounts
	counting := 0 // checks that say something that may be relied on
	for _, r := range c.Results {
		if r.Ours {
			continue
		}
		if r.Advisory && !c.required(r) {
			n.Advisory++
			continue
		}
		if r.Untrusted == "" {
			counting++
		}
		fact = worse(fact, weigh(l, r, skippedFails, &n))
	}
	for _, r := range c.Required {
		fact = worse(fact, c.demand(l, r, &n))
	}
	if fact != CIPassed || counting > 0 {
		return fact, n
	}
	if !c.NoneSettled {
		l.add(RuleChecksPending, Cause{Kind: CauseOther, Key: "checks", Text: "no check has reported yet"})
		n.Pending++
		return CIPending, n
	}
	l.add(RuleChecksNone, Cause{Kind: CauseOther, Key: "checks", Text: "no checks ran"})
	return CINone, n
}

// required reports whether a name is demanded; then its failure is never advisory.
func (c Checks) required(r CheckResult) bool {
	return r.Required || slices.ContainsFunc(c.Required, func(q RequiredCheck) bool { return q.demands(r.Name) })
}

// weigh is what one check alone would make of CI.
func weigh(l *ledger, r CheckResult, skippedFails bool, n *CheckCounts) CI {
	switch r.outcome() {
	case checkOpen:
		n.Pending++
		l.add(RuleChecksPending, r.cause("has not finished"))
		return CIPending
	case checkSkipped:
		n.Skipped++
		if skippedFails {
			l.add(RuleChecksFailed, r.cause(r.ended()+", which the policy counts as failed"))
			return CIFailed
		}
		l.add(RuleChecksSkipped, r.cause(r.ended()))
		return CISkipped
	case checkPassed:
		if r.Untrusted != "" {
			n.Untrusted++
		} else {
			n.Passed++
		}
		return CIPassed
	}
	n.Failed++
	l.add(RuleChecksFailed, r.cause(r.ended()))
	return CIFailed
}

// demand is what one requirement adds to the checks' own states: only whether
// anything that may satisfy it reported at all. Every report under the name was
// weighed already, so several identities must all pass.
func (c Checks) demand(l *ledger, r RequiredCheck, n *CheckCounts) CI {
	spoof, selfMade := "", false
	for _, have := range c.Results {
		if !r.demands(have.Name) {
			continue
		}
		if r.accepts(have) { // ours too: we do not wait for ourselves (case 101)
			return CIPassed
		}
		selfMade = selfMade || (have.SelfMade && have.outcome() != checkOpen)
		// The first in the alphabet, so that the rows' order does not show.
		if why := have.suspicion(); spoof == "" || why < spoof {
			spoof = why
		}
	}
	if !c.WaitOver && !selfMade {
		n.Pending++
		l.add(RuleChecksPending, Cause{Kind: CauseCheck, Key: r.key(), Text: sentence(r.Name+" has not reported yet", spoof)})
		return CIPending
	}
	n.Missing++
	text := " is required and never reported"
	if selfMade {
		text = " is required and was reported only by what this patch may have written"
	}
	if l.stands(RuleChecksMissing, Cause{Kind: CauseCheck, Key: r.key(), Text: sentence(r.Name+text, spoof)}) {
		return CIMissing
	}
	return CIPassed
}

// suspicion says why a report under a required name does not count.
func (c CheckResult) suspicion() string {
	if c.Untrusted != "" {
		return "the one of that name does not count, " + c.Untrusted
	}
	return fmt.Sprintf("the one of that name is from app %d", c.AppID)
}
