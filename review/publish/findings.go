package publish

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
)

// gravity is a finding's severity; one that nobody stated counts as high, as it
// does at the gate.
func gravity(f review.Finding) review.Severity {
	if f.Severity < review.SeverityLow || f.Severity > review.SeverityCritical {
		return review.SeverityHigh
	}
	return f.Severity
}

// scanFindings are the scanners' findings, each once, the worst first and then by
// place, whatever order they were stored in.
func scanFindings(v View) []review.Finding {
	var out []review.Finding
	seen := make(map[review.FindingKey]bool)
	for _, f := range v.Evidence.Findings {
		if id := f.ID(); f.Source != review.FromReviewer && !seen[id] {
			seen[id] = true
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, worseFinding)
	return out
}

// worseFinding orders findings, the worst first and then by place: one order for
// texts and annotations.
func worseFinding(a, b review.Finding) int {
	return cmp.Or(cmp.Compare(gravity(b), gravity(a)), strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line),
		strings.Compare(ruleOf(a), ruleOf(b)), strings.Compare(a.Title, b.Title))
}

// findingsCell counts what stands by severity, whoever found it; empty where there
// is nothing. `countersign / review` lists them, and marks their lines.
func findingsCell(v View) string {
	counts := make(map[review.Severity]int)
	seen := make(map[review.FindingKey]bool)
	add := func(list []review.Finding) {
		for _, f := range list {
			if id := f.ID(); f.Stands() && !seen[id] {
				seen[id] = true
				counts[gravity(f)]++
			}
		}
	}
	add(v.Evidence.Findings)
	for _, r := range v.Evidence.Reviewers {
		for _, f := range r.Findings {
			f.Source = review.FromReviewer
			add([]review.Finding{f})
		}
	}
	var parts []string
	for s := review.SeverityCritical; s >= review.SeverityLow; s-- {
		if n := counts[s]; n > 0 {
			parts = append(parts, count(n)+" "+s.String())
		}
	}
	more := 0
	for _, m := range v.Evidence.MoreFindings {
		more += m.Count
	}
	if more > 0 {
		parts = append(parts, count(more)+" more not listed")
	}
	return strings.Join(parts, ", ")
}

// findingsSection lists the scanners' findings that no rule above names: those
// that decide nothing by their severity, and those that somebody said are none.
func findingsSection(v View) string {
	if v.State != StateDecided {
		return ""
	}
	l := newLines(findingsBudget)
	n := 0
	for _, f := range scanFindings(v) {
		if why := standsNot(v, f); why != "" {
			n++
			l.add("- " + gravity(f).String() + " " + code(f.Rule) + ": " + prose(f.Title) + ", " + place(v, f) + why)
		} else if gravity(f) <= review.SeverityMedium {
			n++
			l.add("- " + gravity(f).String() + " " + code(f.Rule) + ": " + prose(f.Title) + ", " + place(v, f))
		}
	}
	for _, m := range v.Evidence.MoreFindings {
		if !isCause(v, m) {
			n += m.Count
			l.addCount("- and "+count(m.Count)+" more of "+code(m.Rule), m.Count)
		}
	}
	return fold("Other findings ("+count(n)+")", l.string(recapLink(v, "all of them")))
}

// standsNot says why a finding does not count, in words that follow its place;
// empty where it does.
func standsNot(v View, f review.Finding) string {
	switch {
	case f.Stands():
		return ""
	case f.Allowed != "":
		return ", " + withReason("allowed by the policy", f.Allowed)
	case f.Waived != nil:
		return ", " + withReason("waived by "+link(code(person(f.Waived.By)), f.Waived.URL, hostOf(v.PullURL)), f.Waived.Reason)
	case f.Withdrawn:
		return ", withdrawn"
	}
	return ", not found where it says"
}

// scanRules are the gate's rules about scanners.
func scanRules() []review.RuleID {
	return []review.RuleID{review.RuleDeterministicCritical, review.RuleDeterministicFinding}
}

// isCause reports whether findings that are only counted stand behind a rule, where
// they are then shown.
func isCause(v View, m review.MoreFindings) bool {
	return slices.ContainsFunc(scanRules(), func(id review.RuleID) bool {
		return slices.ContainsFunc(v.Outcome.Causes.Of(id), func(c review.Cause) bool { return c.Kind == review.CauseOther && c.Key == m.Key() })
	}) || slices.ContainsFunc(v.Outcome.Accepted, func(a review.Accepted) bool { return a.Cause.Key == m.Key() })
}

// uncounted is how many findings a cause stands for beyond itself; 0 for any other
// cause than one of findings that are only counted.
func uncounted(v View, c review.Cause) int {
	for _, m := range v.Evidence.MoreFindings {
		if c.Kind == review.CauseOther && c.Key == m.Key() {
			return m.Count
		}
	}
	return 0
}

// byPlace puts a scanner rule's causes into the order of their findings, so that a
// cut list is the beginning of something.
func byPlace(v View, id review.RuleID, causes []review.Cause) []review.Cause {
	if !slices.Contains(scanRules(), id) {
		return causes
	}
	at := make(map[string]int)
	for i, f := range scanFindings(v) {
		at[string(f.ID())] = i
	}
	out := slices.Clone(causes)
	slices.SortStableFunc(out, func(a, b review.Cause) int {
		if a.Kind != review.CauseFinding || b.Kind != review.CauseFinding {
			return cmp.Compare(a.Kind, b.Kind) // "finding" comes before "other"
		}
		return cmp.Compare(at[a.Key], at[b.Key])
	})
	return out
}

// hiddenHigh: a critical finding stands, so the rule for high ones does not fire,
// and there are some: who removes the one should know of the others.
func hiddenHigh(v View) bool {
	return fired(v, review.RuleDeterministicCritical) && !fired(v, review.RuleDeterministicFinding) && len(v.Outcome.Causes.Of(review.RuleDeterministicFinding)) > 0
}

// criticalCount counts the scanners' critical findings, those that are only counted
// too, and standingCount every finding that holds the pull request up.
func criticalCount(v View) int {
	n := 0
	for _, c := range v.Outcome.Causes.Of(review.RuleDeterministicCritical) {
		n += max(1, uncounted(v, c))
	}
	return n
}

func standingCount(v View) int {
	n := len(standingFindings(v))
	for _, id := range scanRules() {
		for _, c := range v.Outcome.Causes.Of(id) {
			n += uncounted(v, c)
		}
	}
	return n
}

// findingSteps are what the author does about findings.
func findingSteps(v View) []string {
	var steps []string
	critical, others := 0, standingCount(v)
	if fired(v, review.RuleDeterministicCritical) {
		critical = criticalCount(v)
		others -= critical
		what := "remove the critical finding below (revoke it if it is a credential)"
		if critical > 1 {
			what = "remove the " + count(critical) + " critical findings below (revoke what is a credential)"
		}
		steps = append(steps, what)
	}
	if fired(v, review.RuleReviewerRequestedChanges) || fired(v, review.RuleFindingStands) || fired(v, review.RuleDeterministicFinding) || hiddenHigh(v) {
		switch {
		case critical == 0:
			steps = append(steps, "fix "+theFindings(others)+" below")
		case others == 1:
			steps = append(steps, "fix the other one")
		case others > 1:
			steps = append(steps, "fix the "+count(others)+" others")
		}
	}
	return steps
}

// gapText is what a rule did not look at, its paths in code; empty when the risk is
// another one.
func gapText(v View, r review.ResidualRisk) string {
	for _, g := range v.Evidence.ScanGaps {
		if g.Rule != string(r.Rule) || g.Text() != r.Text {
			continue
		}
		const shown = 3
		var parts []string
		for _, p := range g.Places[:min(len(g.Places), shown)] {
			text := prose(p.Why)
			if p.Path != "" {
				text = code(p.Path) + ": " + text
			}
			parts = append(parts, text)
		}
		if n := g.Unnamed(shown); n > 0 {
			parts = append(parts, fmt.Sprintf("and %s more", count(n)))
		}
		return g.Intro() + ": " + strings.Join(parts, "; ")
	}
	return ""
}
