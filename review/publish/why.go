package publish

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review"
)

// why lists the rules that made the decision, with what each rests on, and then
// those that are open besides.
func why(v View) string {
	if v.State != StateDecided {
		return whyUndecided(v)
	}
	decision := v.Outcome.Gate.Decision
	deciding := firedAt(v, decision)
	var b strings.Builder
	if decision == review.Approved {
		b.WriteString(whyApproved(v))
	} else {
		because := becauseOf(decision)
		if fired(v, review.RuleEvidenceMissing) && decision == review.NeedsHuman {
			because = "Not decided because" // no person can stand in for what was not read
		}
		b.WriteString(because + "\n" + ruleLines(v, deciding, whyBudget))
	}
	var others []review.RuleID
	if hiddenHigh(v) {
		others = append(others, review.RuleDeterministicFinding)
	}
	for _, id := range v.Outcome.Gate.Fired {
		if !slices.Contains(deciding, id) && !blocksNothing(v, id) {
			others = append(others, id)
		}
	}
	if len(others) > 0 {
		b.WriteString("\nAlso open\n" + ruleLines(v, others, besidesBudget))
	}
	if people := peopleLines(v); people != "" {
		b.WriteString("\nBy people\n" + people)
	}
	return b.String()
}

// blocksNothing: nobody has to act on the rule, and the table says what it says.
func blocksNothing(v View, id review.RuleID) bool {
	r, known := review.Explain(id)
	return known && r.Ceiling(v.Outcome.Facts) == review.NotReviewed
}

func whyUndecided(v View) string {
	switch {
	case v.State == StateFailed && v.Failure != nil && v.Failure.What != "":
		return "Could not complete because\n- " + prose(v.Failure.What) + "\n"
	case v.State == StatePaused && v.PausedBy != "":
		return "Paused by " + code(person(v.PausedBy)) + ".\n"
	}
	return ""
}

func becauseOf(d review.Decision) string {
	switch d {
	case review.Blocked:
		return "Blocked because"
	case review.ChangesRequested:
		return "Changes requested because"
	case review.Pending:
		return "Waiting because"
	case review.NeedsHuman:
		return "A person is needed because"
	case review.NotReviewed:
		return "Not reviewed because"
	}
	return "Undecided because"
}

// whyApproved says what an approval rests on. It is never more than this.
func whyApproved(v View) string {
	switch v.Outcome.Gate.Basis {
	case review.BasisSettled:
		return "Approved because only documentation changes and " + settledBy(v) + "; no model was called.\n"
	case review.BasisAcceptance:
		return "Approved because people took responsibility for what is listed below.\n"
	}
	return "Approved because no concrete blocking defect was found in the available evidence.\n"
}

// settledBy says what passed on this head where no model was needed: checks, or the
// content rules that found nothing.
func settledBy(v View) string {
	var clean []string
	for i, rule := range v.Evidence.ContentPassed {
		if i == MaxList {
			break
		}
		clean = append(clean, code(rule))
	}
	switch {
	case len(clean) == 0:
		return "the checks passed"
	case v.Outcome.Causes.Checks.Passed == 0:
		return "nothing was found by " + join(clean, "and")
	}
	return "the checks passed; nothing was found by " + join(clean, "and")
}

// ruleLines is one line for each cause of each rule.
func ruleLines(v View, ids []review.RuleID, budget int) string {
	l := newLines(budget)
	shown := map[string]bool{} // a finding that holds several rules stands once
	for _, id := range ids {
		causes := byPlace(v, id, v.Outcome.Causes.Of(id))
		if len(causes) == 0 {
			rule, _ := review.Explain(id)
			l.add("- `" + string(id) + "`: " + rule.Sentence)
			continue
		}
		for _, c := range causes {
			if n := uncounted(v, c); n > 0 {
				l.addCount("- `"+string(id)+"`: "+prose(c.Text), n)
				continue
			}
			if c.Kind != review.CauseFinding {
				l.add("- `" + string(id) + "`: " + causeText(v, id, c))
				continue
			}
			if !shown[c.Key] {
				shown[c.Key] = true
				l.add("- " + rulesOf(v, ids, c) + ": " + causeText(v, id, c))
			}
		}
	}
	return l.string(recapLink(v, "all of them"))
}

// rulesOf names every one of these rules that a finding holds.
func rulesOf(v View, ids []review.RuleID, finding review.Cause) string {
	var out []string
	for _, id := range ids {
		if slices.ContainsFunc(v.Outcome.Causes.Of(id), func(c review.Cause) bool { return c.Kind == finding.Kind && c.Key == finding.Key }) {
			out = append(out, "`"+string(id)+"`")
		}
	}
	return strings.Join(out, ", ")
}

// peopleLines says what rests on a person's word, and on the policy's instead of
// one.
func peopleLines(v View) string {
	host := hostOf(v.PullURL)
	l := newLines(acceptedBudget)
	for _, a := range v.Outcome.Accepted {
		l.add("- `" + string(a.Rule) + "`: " + withReason(causeText(v, a.Rule, a.Cause)+", accepted by "+link(code(person(a.By)), a.URL, host), a.Reason))
	}
	for _, a := range v.Evidence.Permission.Asks {
		switch {
		case a.Answer != nil && a.Answer.By != "":
			l.add("- " + withReason(pathNames(a.Paths)+" approved by "+link(code(person(a.Answer.By)), a.Answer.URL, host), a.Answer.Reason))
		case slices.Contains(v.Outcome.Causes.Automatic, a.ID):
			l.add("- " + pathNames(a.Paths) + " allowed by the policy's mode `radical`, without a person")
		}
	}
	for _, a := range v.Evidence.Approvals {
		what := "the change"
		if a.Kind == review.ApprovalPlan {
			what = "the plan"
		}
		if a.Answer.By != "" {
			l.add("- " + withReason(what+" approved by "+link(code(person(a.Answer.By)), a.Answer.URL, host), a.Answer.Reason))
		}
	}
	return l.string(recapLink(v, "all of them"))
}

// causeText is one cause in words, its names in code and linked where there is an
// address on the forge.
func causeText(v View, id review.RuleID, c review.Cause) string {
	host := hostOf(v.PullURL)
	switch id {
	case review.RulePermissionDenied:
		for _, d := range v.Evidence.Permission.Denied {
			if d.Rule == c.Key {
				return withReason(pathNames(d.Paths)+" may not change", d.Reason)
			}
		}
	case review.RuleApprovalMissing:
		if s := askText(v, c); s != "" {
			return s
		}
	case review.RuleChecksFailed, review.RuleChecksPending, review.RuleChecksSkipped:
		if c.Kind == review.CauseCheck {
			return checkText(v, id, c)
		}
	case review.RuleReviewMissing:
		if c.Kind == review.CauseReviewer && c.Key == "/" { // nobody was there to be named
			return withReason("no reviewer ran", whyNotReviewed(v))
		}
	}
	if c.Kind == review.CauseFinding {
		if f, ok := findingBehind(v, c); ok {
			return prose(f.Title) + ", " + place(v, f)
		}
	}
	if rest, ok := strings.CutPrefix(c.Text, causeName(c)); ok && c.Key != "" && c.Kind != review.CauseOther {
		return link(code(causeName(c)), c.URL, host) + prosePart(rest)
	}
	if c.URL != "" {
		return prose(c.Text) + " (" + link("where", c.URL, host) + ")"
	}
	return prose(c.Text)
}

// findingBehind finds the finding that a cause is about.
func findingBehind(v View, c review.Cause) (review.Finding, bool) {
	is := func(f review.Finding) bool { return string(f.ID()) == c.Key }
	if i := slices.IndexFunc(v.Evidence.Findings, is); i >= 0 {
		return v.Evidence.Findings[i], true
	}
	for _, r := range v.Evidence.Reviewers {
		if i := slices.IndexFunc(r.Findings, is); i >= 0 {
			return r.Findings[i], true
		}
	}
	return review.Finding{}, false
}

// place is where a finding is, linked to the line at the head that was read.
func place(v View, f review.Finding) string {
	name := f.Path
	if f.Line > 0 {
		name += ":" + strconv.Itoa(f.Line)
	}
	repo, ok := strings.CutSuffix(v.PullURL, "/pull/"+strconv.Itoa(v.Pull.Number))
	if !ok || f.Side == review.SideLeft || f.Line <= 0 {
		return code(name)
	}
	u := url.URL{Path: "/blob/" + v.HeadSHA + "/" + f.Path, Fragment: "L" + strconv.Itoa(f.Line)}
	return link(code(name), repo+u.String(), hostOf(v.PullURL))
}

// prosePart is prose that goes on after a name.
func prosePart(rest string) string {
	if strings.HasPrefix(rest, " ") {
		return " " + prose(rest)
	}
	return prose(rest)
}

func withReason(text, reason string) string {
	if strings.TrimSpace(reason) == "" {
		return text
	}
	return text + ": " + prose(reason)
}

func askText(v View, c review.Cause) string {
	for _, a := range v.Evidence.Permission.Asks {
		if a.ID != c.Key || a.Answer != nil {
			continue
		}
		whoever := "someone with write access"
		if len(a.Approvers) > 0 {
			var list []string
			for _, n := range a.Approvers[:min(len(a.Approvers), MaxList)] {
				list = append(list, code(n))
			}
			whoever = join(list, "or")
		}
		return withReason(pathNames(a.Paths)+" needs the approval of "+whoever, a.Reason)
	}
	return ""
}

// checkText says how a check stands, and when it ended: "3 minutes ago" would be
// wrong for whoever reads it later.
func checkText(v View, id review.RuleID, c review.Cause) string {
	name := link(code(causeName(c)), c.URL, hostOf(v.PullURL))
	r, ok := checkBehind(v, c)
	if !ok {
		rest, _ := strings.CutPrefix(c.Text, causeName(c))
		return name + prosePart(rest)
	}
	if id == review.RuleChecksPending {
		if r.Status == "queued" || r.Status == "in_progress" {
			return name + " is " + strings.ReplaceAll(r.Status, "_", " ")
		}
		return name + " has not finished"
	}
	s := name + " " + endedAs(r)
	if !r.CompletedAt.IsZero() {
		s += " at " + r.CompletedAt.UTC().Format("2 Jan 15:04 UTC")
	}
	if id == review.RuleChecksFailed && (r.Conclusion == "skipped" || r.Conclusion == "neutral") {
		s += ", which the policy counts as failed"
	}
	return s
}

// endedAs is a conclusion as a verb.
func endedAs(r review.CheckResult) string {
	switch r.Conclusion {
	case "failure", "startup_failure":
		return "failed"
	case "error":
		return "ended with an error"
	case "timed_out":
		return "timed out"
	case "cancelled":
		return "was cancelled"
	case "skipped":
		return "was skipped"
	case "neutral":
		return "ended neutral"
	case "stale":
		return "is stale"
	case "action_required":
		return "asks for an action"
	case "":
		return "ended without a conclusion"
	}
	return "ended as " + code(r.Conclusion)
}

// pathNames shows up to three paths and counts the rest.
func pathNames(paths []string) string {
	const shown = 3
	var out []string
	for i, p := range paths {
		if i == shown {
			out = append(out, count(len(paths)-shown)+" more")
			break
		}
		out = append(out, code(p))
	}
	if len(out) == 0 {
		return "the pull request"
	}
	return join(out, "and")
}

// recapLink leads to our own page, whose address the operator sets.
func recapLink(v View, label string) string {
	if v.RecapURL == "" {
		return ""
	}
	if l := link(label, v.RecapURL, hostOf(v.RecapURL)); l != label {
		return l
	}
	return ""
}
