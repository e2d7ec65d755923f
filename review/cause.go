package review

// CauseKind says what an acceptance must name to cover a cause.
type CauseKind string

// The kinds of cause.
const (
	CauseCheck    CauseKind = "check"
	CauseFile     CauseKind = "file"
	CauseFinding  CauseKind = "finding"
	CauseReviewer CauseKind = "reviewer"
	CauseOther    CauseKind = "other"
)

// Cause is one concrete thing that makes a rule hold. Key is its name inside its
// kind; Text is one plain sentence fragment about it. Both may hold text that
// strangers wrote.
type Cause struct {
	Kind CauseKind `json:"kind"`
	Key  string    `json:"key"`
	Text string    `json:"text"`
	URL  string    `json:"url,omitempty"`
}

// RuleCauses are the causes of one rule that nobody accepted, in stable order.
type RuleCauses struct {
	Rule   RuleID  `json:"rule"`
	Causes []Cause `json:"causes"`
}

// Accepted is one cause that a person took responsibility for.
type Accepted struct {
	Rule   RuleID `json:"rule"`
	Cause  Cause  `json:"cause"`
	By     string `json:"by"`
	URL    string `json:"url,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// CheckCounts counts the checks that were looked at (ours are not), each once.
type CheckCounts struct {
	Passed    int `json:"passed"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"` // skipped and neutral
	Pending   int `json:"pending"` // running, and required names still waited for
	Missing   int `json:"missing"` // required names that never came
	Advisory  int `json:"advisory"`
	Untrusted int `json:"untrusted"` // passed, and satisfy nothing
}

// Causes is what stands behind the facts.
type Causes struct {
	// Rules are in the order of the gate's table. A rule listed here need not have
	// fired: a worse state may hide it, or the tier may not care.
	Rules    []RuleCauses `json:"rules,omitempty"`
	Accepted []Accepted   `json:"accepted,omitempty"`
	// Residual are risks that no fact carries: settled by policy, or remarked by a
	// reviewer.
	Residual []ResidualRisk `json:"residual,omitempty"`
	// Automatic are the asks that mode radical answered; each is a judgment.
	Automatic []string    `json:"automatic,omitempty"`
	Checks    CheckCounts `json:"checks"`
}

// Of lists the causes of a rule that nobody accepted.
func (c Causes) Of(id RuleID) []Cause {
	for _, r := range c.Rules {
		if r.Rule == id {
			return r.Causes
		}
	}
	return nil
}

// AcceptanceOf is an acceptance of everything that a rule rests on now. The
// caller adds who accepts and why; false when the rule has no causes or no person
// may accept it.
func (c Causes) AcceptanceOf(id RuleID) (Acceptance, bool) {
	a := Acceptance{Rule: id}
	rule, known := Explain(id)
	causes := c.Of(id)
	for _, cause := range causes {
		switch cause.Kind {
		case CauseCheck:
			a.Checks = append(a.Checks, cause.Key)
		case CauseFile:
			a.Files = append(a.Files, cause.Key)
		case CauseFinding:
			a.Findings = append(a.Findings, cause.Key)
		case CauseReviewer:
			a.Reviewers = append(a.Reviewers, cause.Key)
		case CauseOther:
			a.Others = append(a.Others, cause.Key)
		}
	}
	return a, known && rule.Acceptable && len(causes) > 0
}
