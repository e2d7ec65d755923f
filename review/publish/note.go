package publish

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review"
)

// speakers are the views that a check which informs is made from, by number, and the
// worst of them: decided ones or, where there are none, drafts and paused ones that
// were read before.
func speakers(views []View) (worst View, list []View) {
	decided := slices.DeleteFunc(slices.Clone(views), func(v View) bool { return v.State != StateDecided })
	if len(decided) == 0 {
		decided = slices.DeleteFunc(slices.Clone(views), func(v View) bool { return !v.informs() })
	}
	j := Join(decided)
	return j.Worst, j.Views
}

// note is what a check that informs says. body is what people compare: a write is
// worth it when that changes, and not for the session's id in the last line.
func note(worst View, title string, body func(marked int) string, all int) wanted {
	w := wanted{view: worst, status: statusCompleted, conclusion: informs, title: fitTitle(title, TitleWidth, MaxTitleBytes)}
	w.text = func(marked int) string {
		last := lastLine(worst)
		return Fit(body(marked), MaxOutputBytes-len(last), "") + last
	}
	sum := sha256.Sum256([]byte(w.conclusion + "\x00" + w.title + "\x00" + body(all)))
	w.digest = hex.EncodeToString(sum[:])
	return w
}

// endedNote: a run that waits is ended when nobody will say more under its name. What
// one says that had ended stays true of its head, and it is left as it is.
func endedNote(j Joined) wanted {
	body := "**Next:** " + nextStep(j.Worst) + "\n\nThis check was not finished; what it lists may not be all.\n"
	return note(j.Worst, Title(j.Worst), func(int) string { return body }, 0)
}

// sharers lists the pull requests on one head, where there are several: the text
// speaks for all of them.
func sharers(list []View, title func(View) string) string {
	if len(list) < 2 {
		return ""
	}
	l := newLines(joinBudget)
	for _, v := range list {
		l.add("- " + pullLink(v) + " into " + code(v.BaseRef) + ": " + escape(title(v)))
	}
	return "This head belongs to " + plural(len(list), "open pull request", "open pull requests") + ":\n" + l.string("")
}

func pullLink(v View) string {
	return link("pull request "+count(v.Pull.Number), v.PullURL, hostOf(v.PullURL))
}

// reviewersOf are the reviewers of a view that ran, and whether one is at work.
func reviewersOf(v View) (ran []review.ReviewerResult, pending bool) {
	for _, r := range v.Evidence.Reviewers {
		switch r.Status {
		case review.ReviewerRan:
			ran = append(ran, r)
		case review.ReviewerPending:
			pending = true
		case review.ReviewerNotRun, review.ReviewerFailed:
		}
	}
	return ran, pending
}

// modelName is a reviewer as a title names it: "gpt-5.2 (OpenAI)".
func modelName(r review.ReviewerResult) string {
	name := clip(plain(r.Model), 36)
	if p := providerName(r.Provider); p != "" {
		name += " (" + p + ")"
	}
	return name
}

func providerName(id string) string {
	switch id {
	case "openai":
		return "OpenAI"
	case "anthropic":
		return "Anthropic"
	case "gemini":
		return "Gemini"
	}
	return clip(plain(id), 20)
}

// reviewerLines says who reviewed, with what result, or why nobody did.
func reviewerLines(v View) string {
	l := newLines(reviewersBudget)
	list := slices.Clone(v.Evidence.Reviewers)
	slices.SortStableFunc(list, func(a, b review.ReviewerResult) int { return cmp.Compare(ranOrder(a), ranOrder(b)) })
	for _, r := range list {
		l.add("- " + reviewerLine(r))
	}
	if len(list) == 0 {
		l.add("- " + nobodyReviewed(v))
	}
	return "Reviewers\n" + l.string("")
}

func ranOrder(r review.ReviewerResult) int {
	return slices.Index([]review.ReviewerStatus{review.ReviewerRan, review.ReviewerPending, review.ReviewerFailed, review.ReviewerNotRun}, r.Status)
}

func reviewerLine(r review.ReviewerResult) string {
	name := ""
	if r.Model != "" || r.Provider != "" {
		name = code(r.Model) + " (" + code(r.Provider) + ") "
	}
	reason := r.Reason
	if strings.TrimSpace(reason) == "" {
		reason = "no reason was given"
	}
	switch r.Status {
	case review.ReviewerRan:
		return strings.TrimSpace(name) + ": " + verdictWords(r) + ", " + confidenceWords(r) + ", independence **" + independence(r) + "**"
	case review.ReviewerPending:
		return name + "is at work"
	case review.ReviewerNotRun:
		if name == "" {
			return "nobody: " + prose(reason)
		}
		return name + "did not run: " + prose(reason)
	case review.ReviewerFailed:
	}
	if name == "" {
		name = "a review "
	}
	return name + "failed: " + prose(reason)
}

func verdictWords(r review.ReviewerResult) string {
	switch r.Verdict {
	case review.VerdictApproved:
		return "**found no reason to reject**"
	case review.VerdictChanges:
		return "**asks for changes**"
	case review.VerdictBlocked:
		return "**asks for a person**"
	}
	return "gave no verdict"
}

func confidenceWords(r review.ReviewerResult) string {
	if r.Confidence > 0 && r.Confidence <= 1 {
		return "confidence " + strconv.FormatFloat(r.Confidence, 'f', 2, 64)
	}
	return "no confidence given"
}

func nobodyReviewed(v View) string {
	if v.Outcome.Facts.Review == review.ReviewSettled {
		return "none was needed: only documentation changes"
	}
	return "nobody: no reviewer ran"
}
