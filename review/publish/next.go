package publish

import (
	"strings"

	"github.com/countersign/countersign/review"
)

// nextStep is the first sentence that people read: who acts, and what to do.
func nextStep(v View) string {
	switch v.State {
	case StateDecided:
		return decidedNext(v)
	case StateDraft:
		return "mark the pull request as ready for review; it is decided then." + observeNote(v)
	case StatePaused:
		return ifCommands(v, "someone with write access comments `/review resume`.", "re-run this check.") + observeNote(v)
	case StateSuperseded:
		if v.SupersededBy == "" {
			return "look at the check on the newer head; this one was given up."
		}
		return "look at the check on " + code(short(v.SupersededBy)) + "; this head was given up."
	case StateClosed:
		return "nothing to do. The pull request is closed or merged."
	case StateFailed:
		return failedNext(v.Failure)
	}
	return "nothing to do. The pull request is being read, and this check updates by itself."
}

// ifCommands chooses what to advise: nobody is sent to a command that is not read.
func ifCommands(v View, with, without string) string {
	if v.Commands {
		return with
	}
	return without
}

func failedNext(f *Failure) string {
	s := "re-run this check, or push."
	switch {
	case f != nil && f.Retrying:
		return "nothing to do yet; it is tried again by itself. If this does not change, push."
	case f != nil && f.Permission:
		s = "an owner accepts the permissions that the App asks for (its installation's settings); it is tried again then."
	}
	if f != nil && f.Reference != "" {
		s += " Whoever runs Countersign sees the cause with " + code("countersign trail show "+f.Reference) + "."
	}
	return s
}

// observeNote says that nothing is blocked, where something reads as if it were.
func observeNote(v View) string {
	if v.Observe {
		return " Mode `observe` does not block the merge."
	}
	return ""
}

func decidedNext(v View) string {
	switch v.Outcome.Gate.Decision {
	case review.Blocked:
		return blockedNext(v) + observeNote(v)
	case review.ChangesRequested:
		return authorNext(v) + thenPerson(v) + observeNote(v)
	case review.Pending:
		return pendingNext(v)
	case review.NeedsHuman:
		return humanNext(v) + observeNote(v)
	case review.NotReviewed:
		return "nothing has to be done; this check does not block the merge. No reviewer looked at the change."
	case review.Approved:
		if len(v.Outcome.Residual) > 0 {
			return "nothing; merge when you are content with the residual risks below." + notEvaluated(v)
		}
		return "nothing; merge when you are ready." + notEvaluated(v)
	}
	return "re-run this check; it ended without a decision."
}

// notEvaluated keeps an approval from claiming more than was looked at.
func notEvaluated(v View) string {
	if n := len(v.Assessment.Unknown); n > 0 {
		return " " + plural(n, "risk rule was", "risk rules were") + " not evaluated (below)."
	}
	return ""
}

func blockedNext(v View) string {
	if fired(v, review.RulePermissionDenied) {
		var paths []string
		for _, d := range v.Evidence.Permission.Denied {
			paths = append(paths, d.Paths...)
		}
		return "take " + pathNames(paths) + " out of this pull request; nobody can approve that here."
	}
	for _, p := range v.Evidence.Policy.Problems {
		return "repair " + code(p.File) + lineOf(p) + "; until then nothing is approved."
	}
	return "add a valid policy to the default branch; until then nothing is approved."
}

func lineOf(p review.PolicyProblem) string {
	switch {
	case p.Line <= 0:
		return ""
	case p.Column <= 0:
		return " at line " + count(p.Line)
	}
	return " at line " + count(p.Line) + ", column " + count(p.Column)
}

// authorNext says what the author does. A failed check may need no push.
func authorNext(v View) string {
	steps := authorSteps(v)
	failed := ""
	if fired(v, review.RuleChecksFailed) {
		failed = "get " + checkNames(v, v.Outcome.Causes.Of(review.RuleChecksFailed)) + " to pass"
	}
	switch {
	case len(steps) == 0 && failed == "":
		return "change what is listed below and push; everything is checked again by itself."
	case len(steps) == 0:
		return failed + ", by a push or a re-run; this check updates by itself."
	case failed != "":
		steps = append(steps, failed)
	}
	return join(append(steps, "push"), "and") + "; everything is checked again by itself."
}

// thenPerson says that the author's part is not all there is to do.
func thenPerson(v View) string {
	var ids []string
	for _, id := range firedAt(v, review.NeedsHuman) {
		ids = append(ids, "`"+string(id)+"`")
	}
	if len(ids) == 0 {
		return ""
	}
	return " After that a person is needed: " + join(ids, "and") + "."
}

// authorSteps are what the author does in the code, for each rule that waits for
// it.
func authorSteps(v View) []string {
	steps := findingSteps(v)
	if causes := v.Outcome.Causes.Of(review.RuleArtifactMissing); fired(v, review.RuleArtifactMissing) {
		steps = append(steps, "add "+names(causes))
	}
	if fired(v, review.RuleCoverageMissing) && len(steps) == 0 {
		steps = append(steps, "split the change"+ifCommands(v, ", or comment `/review full`,", "")+" so that every file is inspected")
	}
	return steps
}

func theFindings(n int) string {
	if n <= 1 {
		return "the finding"
	}
	return "the " + count(n) + " findings"
}

// names shows the keys of up to three causes and counts the rest.
func names(causes []review.Cause) string {
	const shown = 3
	var out []string
	for i, c := range causes {
		if i == shown {
			out = append(out, count(len(causes)-shown)+" more")
			break
		}
		out = append(out, code(c.Key))
	}
	if len(out) == 0 {
		return "what is listed below"
	}
	return join(out, "and")
}

// checkNames is names with a link to each check.
func checkNames(v View, causes []review.Cause) string {
	const shown = 3
	var out []string
	for i, c := range causes {
		if i == shown {
			out = append(out, plural(len(causes)-shown, "more check", "more checks"))
			break
		}
		out = append(out, link(code(causeName(c)), c.URL, hostOf(v.PullURL)))
	}
	if len(out) == 0 {
		return "the checks"
	}
	return join(out, "and")
}

func pendingNext(v View) string {
	var things []string
	if fired(v, review.RuleReviewPending) {
		things = append(things, "the review")
	}
	if fired(v, review.RuleChecksPending) {
		var checks []review.Cause
		for _, c := range v.Outcome.Causes.Of(review.RuleChecksPending) {
			if c.Kind == review.CauseCheck {
				checks = append(checks, c)
			}
		}
		if len(checks) == 0 {
			things = append(things, "the first check to report")
		} else {
			things = append(things, checkNames(v, checks))
		}
	}
	if len(things) == 0 {
		things = []string{"what is listed below"}
	}
	s := "nothing to do yet; waiting for " + join(things, "and") + ". This check updates by itself."
	if len(firedAt(v, review.NeedsHuman)) > 0 {
		s += " After that " + strings.Join(humanSteps(v), " ")
	}
	return s
}

func humanNext(v View) string {
	if fired(v, review.RuleEvidenceMissing) {
		if !v.Evidence.Checks.Complete {
			return "nothing to do yet; the checks could not all be read and are read again by themselves, for a day. To try now, re-run this check."
		}
		return "re-run this check; nothing is approved before everything is read."
	}
	if steps := strings.Join(humanSteps(v), " "); steps != "" {
		var mendable []review.Cause
		for _, c := range v.Outcome.Causes.Of(review.RuleChecksMissing) {
			if !selfMade(v, c) {
				mendable = append(mendable, c)
			}
		}
		if len(mendable) > 0 {
			return "get " + checkNames(v, mendable) + " to report, by a run or a push. Without it " + steps
		}
		return steps
	}
	return "a person looks at what is listed below."
}

// humanSteps are what people do for the rules that wait for them: answer what is
// asked, then take responsibility for what can be accepted.
func humanSteps(v View) []string {
	switch {
	case !v.Commands && v.Observe:
		return []string{"a person reads the change."}
	case !v.Commands:
		return []string{"a person reads the change. If " + code(v.BaseRef) + " requires this check, someone who may bypass its rules merges: this version cannot take an approval."}
	}
	var steps []string
	if fired(v, review.RuleApprovalMissing) {
		steps = append(steps, approverWords(v)+" reads the change and comments `/review approve REASON`.")
	}
	var accept []string
	for _, id := range firedAt(v, review.NeedsHuman) {
		if r, known := review.Explain(id); known && r.Acceptable {
			accept = append(accept, "`/review accept "+string(id)+" REASON`")
		}
	}
	if len(accept) > 0 {
		whoever := "someone with write access who is not the author reads the change"
		if len(steps) > 0 {
			whoever = "Someone with write access"
		}
		steps = append(steps, whoever+" comments "+join(accept, "and")+" to take responsibility.")
		if len(steps) == 1 {
			steps[0] = strings.Replace(steps[0], "change comments", "change and comments", 1)
		}
	}
	return steps
}

// approverWords says who can answer an ask.
func approverWords(v View) string {
	names := approvers(v)
	if len(names) == 0 {
		return "someone with write access who is not the author"
	}
	var out []string
	for i, n := range names {
		if i == MaxList {
			out = append(out, count(len(names)-MaxList)+" more")
			break
		}
		if strings.Contains(n, "/") {
			n = "a member of " + code(n)
		} else {
			n = code(n)
		}
		out = append(out, n)
	}
	return join(out, "or")
}
