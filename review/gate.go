package review

import "slices"

// Outcome is a whole evaluation: the facts, what the gate made of them, and the
// concrete things behind each rule.
type Outcome struct {
	Facts    Facts          `json:"facts"`
	Gate     GateDecision   `json:"gate"`
	Accepted []Accepted     `json:"accepted,omitempty"`
	Residual []ResidualRisk `json:"residual,omitempty"`
	Causes   Causes         `json:"causes"`
}

// ResidualRisk is a risk that stays although it does not lower the decision.
type ResidualRisk struct {
	// Rule is the gate's or, for what a scanner left open, the scanner's; empty for a
	// reviewer's own remark.
	Rule RuleID `json:"rule,omitempty"`
	Text string `json:"text"`
}

// Gate evaluates evidence under a policy: Summarise, Decide, and what people
// accepted joined to the result.
func Gate(e Evidence, rules Rules) Outcome {
	facts, causes := Summarise(e, rules)
	out := Outcome{Facts: facts, Gate: Decide(facts), Accepted: causes.Accepted, Causes: causes}
	for _, a := range causes.Accepted {
		out.Gate.Accepted = appendNew(out.Gate.Accepted, a.Rule)
	}
	if out.Gate.Decision == Approved && len(out.Gate.Accepted) > 0 {
		out.Gate.Basis = BasisAcceptance
	}
	out.Residual = residualRisks(out.Gate, causes)
	return out
}

// residualRisks puts into words what stays: the rules that only list a risk, what
// people accepted, and what Summarise settled by policy.
func residualRisks(d GateDecision, causes Causes) []ResidualRisk {
	var out []ResidualRisk
	// Skipped checks stay a risk behind a worse state of CI, so they are named even
	// where their rule is hidden.
	for _, id := range appendNew(slices.Clone(d.Residual), RuleChecksSkipped) {
		for _, c := range causes.Of(id) {
			out = append(out, ResidualRisk{Rule: id, Text: c.Text})
		}
	}
	for _, a := range causes.Accepted {
		out = append(out, ResidualRisk{Rule: a.Rule, Text: a.Cause.Text + ", accepted by " + a.By})
	}
	return append(out, causes.Residual...)
}

// appendNew appends a rule that is not in the list yet.
func appendNew(list []RuleID, id RuleID) []RuleID {
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}
