package publish

import (
	"strconv"
	"strings"

	"github.com/countersign/countersign/review"
)

// The budgets of `countersign / review`, in bytes; together with the next step and the
// last line they stay under MaxOutputBytes.
const (
	standBudget     = 34_000
	restBudget      = 8_000
	reviewersBudget = 4_000
	sharedReviewers = 12_000 // of all pull requests on a head
	risksBudget     = 5_000
)

// wantReview is `countersign / review`: what was found, each finding once, and who
// looked.
func wantReview(views []View) wanted {
	worst, list := speakers(views)
	if len(list) == 0 {
		return endedNote(Join(views))
	}
	fs := gather(list)
	marks := fs.annotations()
	more := moreOf(list)
	body := func(marked int) string { return reviewBody(worst, list, fs, more, marked) }
	w := note(worst, reviewTitle(list, fs, more), body, len(marks))
	w.annotations, w.marks, w.marked = marks, marksOf(marks), true
	return w
}

// reviewTitle counts what stands, or says who found nothing.
func reviewTitle(list []View, fs findings, more []review.MoreFindings) string {
	ran, pending := ranAnywhere(list)
	state := ""
	switch {
	case pending:
		state = "review not finished"
	case len(ran) == 0 && !settled(list):
		state = "not reviewed"
	}
	if n := len(fs.stand) + sumOf(more); n > 0 {
		counts := severities(fs.stand)
		if left := sumOf(more); left > 0 {
			counts = append(counts, count(left)+" not listed")
		}
		return strings.Join(nonEmpty(plural(n, "finding", "findings"), strings.Join(counts, ", "), state), " · ")
	}
	none := "No findings"
	if unverified := unverifiedOf(fs.rest); unverified > 0 {
		none += ", " + count(unverified) + " unverified"
	}
	switch {
	case len(ran) > 0:
		who := modelName(ran[0])
		if len(ran) > 1 {
			who += " and " + plural(len(ran)-1, "other", "others")
		}
		return strings.Join(nonEmpty(none, who, state), " · ")
	case hasGaps(list):
		none += " in what was scanned"
	default:
		none += " by scanners"
	}
	if state == "" {
		state = "docs only"
	}
	return none + " · " + state
}

func ranAnywhere(list []View) (ran []review.ReviewerResult, pending bool) {
	seen := make(map[string]bool)
	for _, v := range list {
		here, waits := reviewersOf(v)
		pending = pending || waits
		for _, r := range here {
			if !seen[r.Name()] {
				seen[r.Name()] = true
				ran = append(ran, r)
			}
		}
	}
	return ran, pending
}

// settled: no view's change leaves anything for a model to find.
func settled(list []View) bool {
	for _, v := range list {
		if v.Outcome.Facts.Review != review.ReviewSettled {
			return false
		}
	}
	return true
}

func hasGaps(list []View) bool {
	for _, v := range list {
		if len(v.Evidence.ScanGaps) > 0 {
			return true
		}
	}
	return false
}

func unverifiedOf(rest []*listed) int {
	n := 0
	for _, l := range rest {
		if standsNot(View{}, l.Finding) == ", not found where it says" {
			n++
		}
	}
	return n
}

func reviewBody(worst View, list []View, fs findings, more []review.MoreFindings, marked int) string {
	sections := []string{
		"**Next:** " + reviewNext(worst, list, len(fs.stand)+sumOf(more)),
		"`" + CheckName + "` judges; this check lists what was found, and is always neutral.",
		sharers(list, func(v View) string {
			own := gather([]View{v})
			return reviewTitle([]View{v}, own, v.Evidence.MoreFindings)
		}),
		standSection(worst, list, fs.stand, more, marked),
		reviewersSection(list),
		restSection(worst, fs.rest) + risksSection(list),
	}
	var out []string
	for _, s := range sections {
		if s = strings.Trim(s, "\n"); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

func reviewNext(worst View, list []View, n int) string {
	ran, pending := ranAnywhere(list)
	s := "nothing; no finding stands."
	switch {
	case n > 0:
		return "fix " + theFindings(n) + " below and push; `" + CheckName + "` says what holds the merge up."
	case pending:
		return "nothing to do yet; the review is not finished, and this check follows it."
	case len(ran) == 0 && !settled(list):
		s = "nothing to fix here. No reviewer looked at the change: " + prose(whyNotReviewed(worst)) + "."
	}
	if hasGaps(list) {
		s += " Not everything was scanned: see `" + CoverageName + "`."
	}
	return s
}

// standSection lists what stands, the worst first, and counts what has no room.
func standSection(worst View, list []View, stand []*listed, more []review.MoreFindings, marked int) string {
	if len(stand)+len(more) == 0 {
		return ""
	}
	l := newWhole(standBudget)
	var cut []*listed
	for _, f := range stand {
		if !l.add(standLine(worst, list, f, marked)) {
			cut = append(cut, f)
		}
	}
	for _, m := range more {
		l.addCount("- and "+count(m.Count)+" more of "+code(m.Rule)+", which are counted only", m.Count)
	}
	s := "Findings\n" + l.string(join(severities(cut), "and"))
	left := 0
	for _, v := range list {
		left = max(left, v.CommentsLeft)
	}
	if left > 0 {
		s += "\n" + plural(left, "finding has", "findings have") + " no comment of " + ifOne(left, "its", "their") + " own: the policy's `comments.max` was reached.\n"
	}
	return s
}

func ifOne(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// standLine is one finding: how grave, which, what, where, and where it is shown.
func standLine(worst View, list []View, f *listed, marked int) string {
	s := "- **" + gravity(f.Finding).String() + "** " + code(ruleOf(f.Finding)) + " `finding " + keyDigits(f.Finding) + "`: " + prose(f.Title) + ", " + place(worst, f.Finding)
	if len(f.by) > 0 {
		s += ", by " + modelWords(f.by)
	}
	if f.Unconfirmed && f.Source == review.FromReviewer {
		s += ", not confirmed by a second look"
	}
	if len(list) > 1 && len(f.pulls) < len(list) {
		s += ", only in " + pullWords(f.pulls)
	}
	switch {
	case len(f.commented) > 0 && len(list) > 1:
		return s + "; commented on the line in " + pullWords(f.commented)
	case len(f.commented) > 0:
		return s + "; commented on the line"
	case f.mark > 0 && f.mark <= marked:
		return s + "; marked below"
	}
	s += "; in this list only"
	if f.Detail != "" {
		s += ". " + prose(oneLine(f.Detail))
	}
	if f.FailingCase != "" {
		s += " Fails with: " + prose(oneLine(f.FailingCase))
	}
	return s
}

// keyDigits are the first digits of a finding's key, by which commands and comments
// name it.
func keyDigits(f review.Finding) string {
	digits := first(string(f.ID()), 8)
	if strings.Trim(digits, "0123456789abcdef") != "" {
		return first(string(review.KeyOf(f.Path, string(f.ID()), ruleOf(f))), 8)
	}
	return digits
}

func modelWords(models []string) string {
	var out []string
	for i, m := range models {
		if i == 3 {
			out = append(out, count(len(models)-3)+" more")
			break
		}
		out = append(out, code(m))
	}
	return join(out, "and")
}

func pullWords(numbers []int) string {
	var out []string
	for i, n := range numbers {
		if i == 5 {
			out = append(out, count(len(numbers)-5)+" more")
			break
		}
		out = append(out, strconv.Itoa(n))
	}
	return ifOne(len(numbers), "pull request ", "pull requests ") + join(out, "and")
}

// reviewersSection is one list for each pull request: their provenance may differ.
func reviewersSection(list []View) string {
	if len(list) == 1 {
		return reviewerLines(list[0])
	}
	var b strings.Builder
	for i, v := range list {
		s := reviewerLines(v)
		if b.Len()+len(s) > sharedReviewers {
			b.WriteString("The reviewers of " + plural(len(list)-i, "more pull request", "more pull requests") + " are not listed here.\n")
			break
		}
		b.WriteString(strings.Replace(s, "Reviewers\n", "Reviewers of "+pullLink(v)+"\n", 1) + "\n")
	}
	return b.String()
}

// restSection folds what does not count, with the reason.
func restSection(worst View, rest []*listed) string {
	l := newLines(restBudget)
	for _, f := range rest {
		s := "- " + gravity(f.Finding).String() + " " + code(ruleOf(f.Finding)) + " `finding " + keyDigits(f.Finding) + "`: " + prose(f.Title) + ", " + place(worst, f.Finding)
		if len(f.by) > 0 {
			s += ", by " + modelWords(f.by)
		}
		l.add(s + standsNot(worst, f.Finding))
	}
	return fold("Findings that do not count ("+count(len(rest))+")", l.string(recapLink(worst, "all of them")))
}

// risksSection are the residual risks that reviewers named.
func risksSection(list []View) string {
	l := newLines(risksBudget)
	n := 0
	seen := make(map[string]bool)
	for _, v := range list {
		for _, r := range v.Evidence.Reviewers {
			for _, text := range r.Residual {
				if !seen[text] {
					seen[text] = true
					n++
					l.add("- " + prose(oneLine(text)) + " (" + code(r.Model) + ")")
				}
			}
		}
	}
	return fold("Residual risks that reviewers named ("+count(n)+")", l.string(""))
}
