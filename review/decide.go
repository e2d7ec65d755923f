package review

// Basis names what an approval rests on.
type Basis string

// The bases of an approval; a result below approved has none.
const (
	BasisNone       Basis = ""
	BasisReview     Basis = "review"     // a reviewer found no reason to reject
	BasisSettled    Basis = "settled"    // nothing was left that a model could find
	BasisAcceptance Basis = "acceptance" // a person took responsibility for a rule
)

// GateDecision is what the rules made of the facts.
type GateDecision struct {
	Decision Decision `json:"decision"`
	// Fired are the rules that keep the decision below approved, in table order;
	// Residual those that hold and only list a risk. Accepted is filled by Gate.
	Fired    []RuleID `json:"fired,omitempty"`
	Accepted []RuleID `json:"accepted,omitempty"`
	Residual []RuleID `json:"residual,omitempty"`
	Basis    Basis    `json:"basis,omitempty"`
	Next     Next     `json:"next"`
	// Satisfies: a required check would let the merge pass, outside mode observe.
	Satisfies bool `json:"satisfies"`
}

// Decide is the gate: a pure function of the facts. The decision is the lowest
// ceiling of all rules that hold.
func Decide(f Facts) GateDecision {
	v := decide(f)
	d := GateDecision{
		Decision:  v.decision,
		Fired:     v.fired.list(),
		Residual:  v.residual.list(),
		Next:      v.decision.Next(),
		Satisfies: Satisfies(v.decision, f.Tier),
	}
	if v.decision == Approved {
		d.Basis = BasisReview
		if f.Review == ReviewSettled {
			d.Basis = BasisSettled
		}
	}
	return d
}

// ruleSet is a set of rules by their place in the table.
type ruleSet uint32

// list names the rules of the set in table order; nil when there is none.
func (s ruleSet) list() []RuleID {
	if s == 0 {
		return nil
	}
	var out []RuleID
	for i, r := range Table() {
		if s&(1<<i) != 0 {
			out = append(out, r.ID)
		}
	}
	return out
}

// verdict is a GateDecision without its names: it costs no allocation, so that
// the whole space of facts can be visited in every test run.
type verdict struct {
	decision        Decision
	fired, residual ruleSet
}

func decide(f Facts) verdict {
	v := verdict{decision: Approved}
	table := Table()
	for i := range table {
		if !table[i].When(f) {
			continue
		}
		ceiling := table[i].Ceiling(f)
		if ceiling == Approved {
			v.residual |= 1 << i
			continue
		}
		v.fired |= 1 << i
		v.decision = min(v.decision, ceiling)
	}
	return v
}
