package review

import (
	"cmp"
	"slices"
)

// ledger collects the causes behind the facts and knows which of them people
// accepted. It belongs to one Summarise.
type ledger struct {
	open      map[RuleID][]Cause
	accepted  map[RuleID][]Accepted
	covers    map[cover]int // index into acceptances
	statement []Acceptance
	residual  []ResidualRisk
}

// cover is one thing that an acceptance names.
type cover struct {
	rule RuleID
	kind CauseKind
	key  string
}

func newLedger(acceptances []Acceptance) *ledger {
	l := &ledger{
		open:      map[RuleID][]Cause{},
		accepted:  map[RuleID][]Accepted{},
		covers:    map[cover]int{},
		statement: acceptances,
	}
	for i, a := range acceptances {
		// An acceptance never beats a rule that cannot be accepted.
		if rule, known := Explain(a.Rule); !known || !rule.Acceptable || a.By == "" {
			continue
		}
		l.name(i, CauseCheck, a.Checks)
		l.name(i, CauseFile, a.Files)
		l.name(i, CauseFinding, a.Findings)
		l.name(i, CauseReviewer, a.Reviewers)
		l.name(i, CauseOther, a.Others)
	}
	return l
}

func (l *ledger) name(i int, kind CauseKind, keys []string) {
	for _, key := range keys {
		l.covers[cover{l.statement[i].Rule, kind, key}] = i
	}
}

// add lists a cause that holds whatever anyone accepted.
func (l *ledger) add(rule RuleID, c Cause) { l.open[rule] = append(l.open[rule], c) }

// stands lists a cause and reports whether it still holds: false when a person
// accepted exactly this.
func (l *ledger) stands(rule RuleID, c Cause) bool {
	i, covered := l.covers[cover{rule, c.Kind, c.Key}]
	if !covered {
		l.add(rule, c)
		return true
	}
	a := l.statement[i]
	l.accepted[rule] = append(l.accepted[rule], Accepted{Rule: rule, Cause: c, By: a.By, URL: a.URL, Reason: a.Reason})
	return false
}

// risk lists a residual risk that no fact carries.
func (l *ledger) risk(rule RuleID, text string) {
	l.residual = append(l.residual, ResidualRisk{Rule: rule, Text: text})
}

// causes orders what was collected: by the gate's table, then by kind and key,
// whatever order the evidence came in.
func (l *ledger) causes() Causes {
	var out Causes
	for _, rule := range Table() {
		if list := l.open[rule.ID]; len(list) > 0 {
			slices.SortFunc(list, compareCauses)
			out.Rules = append(out.Rules, RuleCauses{Rule: rule.ID, Causes: slices.Compact(list)})
		}
		list := l.accepted[rule.ID]
		slices.SortFunc(list, func(a, b Accepted) int { return compareCauses(a.Cause, b.Cause) })
		out.Accepted = append(out.Accepted, slices.Compact(list)...)
	}
	out.Residual = l.residual
	return out
}

func compareCauses(a, b Cause) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text), cmp.Compare(a.URL, b.URL))
}
