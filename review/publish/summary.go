package publish

import (
	"strings"

	"github.com/countersign/countersign/review"
)

// Each section has its own budget, in bytes; together with the table and the last
// line they stay under MaxOutputBytes whatever strangers write, which a test
// holds.
const (
	nextBudget     = 6_000
	whyBudget      = 12_000
	besidesBudget  = 8_000
	acceptedBudget = 6_000
	tableBudget    = 10_000
	findingsBudget = 3_500
	residualBudget = 6_000
	unknownBudget  = 3_000
	approveBudget  = 3_000
	joinBudget     = 5_000
	lastBudget     = 1_500
)

// Summary is the check run's text, in VOICE's order: the next step, why, the
// table, what stays a risk, who can approve, and where it is recorded.
func Summary(v View) string { return summary(v, "") }

// summary puts the sections together; shared speaks of other pull requests on the
// same head.
func summary(v View, shared string) string {
	sections := []string{
		Fit("**Next:** "+nextStep(v), nextBudget, "") + "\n",
		shared,
		why(v),
		Fit(table(v), tableBudget, ""),
		findingsSection(v) + residualSection(v) + unknownSection(v) + approveSection(v) + lastLine(v),
	}
	var b strings.Builder
	for _, s := range sections {
		if s = strings.Trim(s, "\n"); s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(s)
	}
	b.WriteByte('\n')
	return b.String()
}

func residualSection(v View) string {
	if v.State != StateDecided || len(v.Outcome.Residual) == 0 {
		return ""
	}
	l := newLines(residualBudget)
	for _, r := range v.Outcome.Residual {
		if r.Rule == "" {
			l.add("- " + prose(r.Text))
			continue
		}
		l.add("- " + code(string(r.Rule)) + ": " + residualText(v, r))
	}
	return fold("Residual risks ("+count(len(v.Outcome.Residual))+")", l.string(recapLink(v, "all of them")))
}

// residualText shows the cause behind a risk, where there is one.
func residualText(v View, r review.ResidualRisk) string {
	if text := gapText(v, r); text != "" {
		return text
	}
	for _, c := range v.Outcome.Causes.Of(r.Rule) {
		if c.Text == r.Text {
			return causeText(v, r.Rule, c)
		}
	}
	return prose(r.Text)
}

// unknownSection names what was not evaluated: unknown is not absent.
func unknownSection(v View) string {
	if v.State != StateDecided {
		return ""
	}
	l := newLines(unknownBudget)
	if ids := v.Assessment.Unknown; len(ids) > 0 {
		var list []string
		for i, id := range ids {
			if i == MaxList {
				list = append(list, count(len(ids)-MaxList)+" more")
				break
			}
			list = append(list, code(id))
		}
		l.add("- " + join(list, "and") + " could not be evaluated for this patch")
	}
	for _, p := range v.Assessment.Problems {
		l.add("- " + prose(p))
	}
	n := len(v.Assessment.Unknown) + len(v.Assessment.Problems)
	return fold("Risk rules without an answer ("+count(n)+")", l.string(""))
}

// approveSection says who can approve, and how, while a person's word would change
// anything.
func approveSection(v View) string {
	if v.State != StateDecided || v.Outcome.Gate.Decision == review.Blocked || !v.Commands {
		return ""
	}
	l := newLines(approveBudget)
	if fired(v, review.RuleApprovalMissing) {
		l.add("- `/review approve REASON` by " + approverWords(v))
	}
	for _, id := range v.Outcome.Gate.Fired {
		if r, known := review.Explain(id); known && r.Acceptable && r.Ceiling(v.Outcome.Facts) != review.NotReviewed {
			l.add("- `/review accept " + string(id) + " REASON` by someone with write access")
		}
	}
	body := l.string("")
	if body == "" {
		return ""
	}
	for _, id := range firedAt(v, review.ChangesRequested) {
		if r, known := review.Explain(id); known && !r.Acceptable {
			body += "\nNobody can accept `" + string(id) + "`.\n"
		}
	}
	return fold("Who can approve, and how", "A comment with the line alone, never by the author:\n"+body)
}

// lastLine says what was read and where it is recorded. It ends with the trail's
// head, of which the forge so becomes a witness.
func lastLine(v View) string {
	parts := []string{"head `" + v.HeadSHA + "`", "session " + code(v.SessionID)}
	if l := recapLink(v, "recap"); l != "" {
		parts = append(parts, l)
	}
	if v.State == StateDecided && v.Commands {
		parts = append(parts, "`/review explain RULE` tells what a rule means")
	}
	if head := first(v.TrailHead, 12); len(head) == 12 && strings.Trim(head, "0123456789abcdef") == "" {
		parts = append(parts, "trail `"+head+"`")
	}
	return "\n<sub>" + strings.Join(parts, " · ") + "</sub>\n"
}
