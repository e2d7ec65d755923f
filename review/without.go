package review

import "slices"

// Without is the decision as the other rules make it, and those of the named
// rules that hold, in table order. It is for a place that cannot know what these
// rules ask about, such as a terminal: they stay open there, and say neither yes
// nor no. An approval that is left then rests on nothing but the rules that ran,
// so it has no basis.
func (o Outcome) Without(ids ...RuleID) (d GateDecision, open []RuleID) {
	d = o.Gate
	keep := func(list []RuleID) []RuleID {
		var kept []RuleID
		for _, id := range list {
			if slices.Contains(ids, id) {
				open = append(open, id)
			} else {
				kept = append(kept, id)
			}
		}
		return kept
	}
	d.Fired, d.Residual = keep(d.Fired), keep(d.Residual)
	if len(open) == 0 {
		return d, nil
	}
	d.Decision, d.Basis = Approved, BasisNone
	for _, id := range d.Fired {
		if r, known := Explain(id); known {
			d.Decision = min(d.Decision, r.Ceiling(o.Facts))
		}
	}
	d.Next, d.Satisfies = d.Decision.Next(), Satisfies(d.Decision, o.Facts.Tier)
	slices.SortFunc(open, func(a, b RuleID) int { return placeOf(a) - placeOf(b) })
	return d, open
}

// placeOf is the rule's place in the table.
func placeOf(id RuleID) int {
	table := Table()
	return slices.IndexFunc(table[:], func(r Rule) bool { return r.ID == id })
}
