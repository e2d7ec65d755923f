package publish

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
)

// Joined is what a check says for all open pull requests on its head.
type Joined struct {
	// Worst decides title and conclusion.
	Worst View
	// Views are all of them, by number.
	Views []View
}

// Join finds the worst of several views of one head and name. Views that were
// superseded or closed count only when there is no other. Join of nothing is the
// zero Joined, which shows no decision.
func Join(views []View) Joined {
	live := slices.DeleteFunc(slices.Clone(views), func(v View) bool { return !v.Live() })
	if len(live) == 0 {
		live = slices.Clone(views)
	}
	if len(live) == 0 {
		return Joined{}
	}
	slices.SortStableFunc(live, func(a, b View) int { return cmp.Compare(a.Pull.Number, b.Pull.Number) })
	worst := live[0]
	for _, v := range live[1:] {
		if slices.Compare(badness(v), badness(worst)) < 0 {
			worst = v
		}
	}
	return Joined{Worst: worst, Views: live}
}

// badness orders views, worst first: what does not satisfy a required check before
// what does, then by decision. A view without one counts as the decision that it
// stands for.
func badness(v View) []int {
	satisfies := 0
	if conclude(v).Satisfies() {
		satisfies = 1
	}
	return []int{satisfies, int(standsFor(v)), -int(rank(v))}
}

func standsFor(v View) review.Decision {
	switch v.State {
	case StateDecided:
		return v.Outcome.Gate.Decision
	case StateDraft, StatePaused:
		return review.NeedsHuman
	case StateFailed:
		if v.Failure != nil && v.Failure.Retrying {
			return review.Pending
		}
		return review.NeedsHuman
	}
	return review.Pending
}

// rank breaks ties by tier, the higher the worse.
func rank(v View) uint8 {
	tier, _ := v.tier()
	return uint8(tier)
}

// Title is the worst view's title.
func (j Joined) Title() string { return Title(j.Worst) }

// Conclusion is the worst view's status and conclusion.
func (j Joined) Conclusion() (status, conclusion string) { return Conclusion(j.Worst) }

// Text is the worst view's summary, and a line for each pull request where there
// are several.
func (j Joined) Text() string {
	if len(j.Views) < 2 {
		return Summary(j.Worst)
	}
	l := newLines(joinBudget)
	for _, v := range j.Views {
		name := link("pull request "+count(v.Pull.Number), v.PullURL, hostOf(v.PullURL))
		s := "- " + name + " into " + code(v.BaseRef) + ": " + escape(Title(v))
		if v.Pull == j.Worst.Pull {
			s += " (shown here)"
		}
		l.add(s)
	}
	intro := "This head belongs to " + plural(len(j.Views), "open pull request", "open pull requests") + "; the check says the worst of them:\n"
	return summary(j.Worst, intro+strings.TrimRight(l.string(""), "\n"))
}
