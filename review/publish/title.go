package publish

import (
	"strings"
	"unicode/utf8"

	"github.com/countersign/countersign/review"
)

// Title is the check run's title: tier, verdict, and the one fact that matters
// (VOICE.md), in plain text under 80 characters.
func Title(v View) string {
	title := strings.Join(titleParts(v), " · ")
	if v.Observe && (v.State == StateDecided || v.State == StateDraft || v.State == StatePaused) {
		const suffix = " · observe" // must be seen however long the names before it are
		return fitTitle(title, TitleWidth-utf8.RuneCountInString(suffix), MaxTitleBytes-len(suffix)) + suffix
	}
	return fitTitle(title, TitleWidth, MaxTitleBytes)
}

func titleParts(v View) []string {
	switch v.State {
	case StateDecided:
		return decidedTitle(v)
	case StateDraft:
		if tier, known := v.tier(); known {
			return []string{"Draft", tier.String(), "reviewed when marked ready"}
		}
		return []string{"Draft", "reviewed when marked ready"}
	case StatePaused:
		by := "paused"
		if v.PausedBy != "" {
			by += " by " + person(v.PausedBy)
		}
		return withTier(v, by)
	case StateSuperseded:
		if v.SupersededBy == "" {
			return []string{"Superseded by a newer head"}
		}
		return []string{"Superseded by " + plain(short(v.SupersededBy))}
	case StateClosed:
		return []string{"Closed", "nothing more to decide"}
	case StateFailed:
		return failedTitle(v.Failure)
	}
	return withTier(v, "reading the pull request")
}

// withTier puts the tier in front where one is known.
func withTier(v View, parts ...string) []string {
	if tier, known := v.tier(); known {
		return append([]string{capital(tier.String())}, parts...)
	}
	parts[0] = capital(parts[0])
	return parts
}

func failedTitle(f *Failure) []string {
	parts := []string{"Could not complete"}
	if f == nil {
		return parts
	}
	if f.What != "" {
		parts = append(parts, clip(plain(f.What), 50))
	}
	if f.Retrying {
		parts = append(parts, "retrying")
	}
	return parts
}

func decidedTitle(v View) []string {
	tier := capital(v.Outcome.Facts.Tier.String())
	switch v.Outcome.Gate.Decision {
	case review.Blocked:
		return []string{"Blocked", headline(v, review.Blocked)}
	case review.ChangesRequested:
		return []string{tier, "changes requested", headline(v, review.ChangesRequested)}
	case review.Pending:
		return nonEmpty(tier, waitingFor(v), reviewState(v))
	case review.NeedsHuman:
		return needsHumanTitle(v, tier)
	case review.NotReviewed:
		return []string{tier, "not reviewed", whyNotReviewed(v)}
	case review.Approved:
		return approvedTitle(v, tier)
	}
	return []string{tier, "no decision"}
}

func needsHumanTitle(v View, tier string) []string {
	asked := fired(v, review.RuleApprovalMissing)
	notReviewed := fired(v, review.RuleReviewMissing)
	switch {
	case fired(v, review.RuleEvidenceMissing):
		return []string{tier, "evidence missing", headline(v, review.NeedsHuman)}
	case asked && notReviewed:
		return []string{tier, "needs " + who(v), "not reviewed"}
	case asked:
		return nonEmpty(tier, "needs "+who(v), besidesTheAnswer(v))
	case notReviewed:
		return []string{tier, "not reviewed", whyNotReviewed(v)}
	}
	return []string{tier, "needs a person", headline(v, review.NeedsHuman)}
}

// besidesTheAnswer is what an approver wants to know first.
func besidesTheAnswer(v View) string {
	if fact := headlineOf(v, review.NeedsHuman, review.RuleApprovalMissing); fact != "" {
		return fact
	}
	if reviewEnded(v) {
		if n := standingCount(v); n > 0 {
			return plural(n, "finding", "findings")
		}
		return "no findings"
	}
	return reviewState(v)
}

func approvedTitle(v View, tier string) []string {
	if by, over := acceptedOver(v); over != "" {
		return []string{tier, "approved by " + by + " over " + over}
	}
	return []string{tier, "approved", approvedFact(v)}
}

// approvedFact is what an approval has to say for itself, its weakest point first.
func approvedFact(v View) string {
	risks := len(v.Outcome.Residual)
	switch {
	case v.Outcome.Facts.CI == review.CINone && v.Outcome.Gate.Basis == review.BasisSettled:
		return "docs only, scans clean, no checks ran"
	case v.Outcome.Facts.CI == review.CINone:
		return "no checks ran"
	case v.Outcome.Gate.Basis == review.BasisSettled && risks > 0:
		return "docs only, " + plural(risks, "residual risk", "residual risks")
	case v.Outcome.Gate.Basis == review.BasisSettled && v.Outcome.Causes.Checks.Passed == 0:
		return "docs only, scans clean"
	case v.Outcome.Gate.Basis == review.BasisSettled:
		return "docs only, checks green"
	case risks > 0:
		return plural(risks, "residual risk", "residual risks")
	}
	c := coverageOf(v)
	if c.needEyes == 0 {
		return "no defect found"
	}
	return count(c.inspected) + " of " + plural(c.needEyes, "file", "files") + " inspected"
}

// acceptedOver names who took responsibility, and for which rule.
func acceptedOver(v View) (by, over string) {
	var people []string
	var rules []string
	for _, a := range v.Outcome.Accepted {
		people = appendNew(people, person(a.By))
		rules = appendNew(rules, string(a.Rule))
	}
	if len(rules) == 0 {
		return "", ""
	}
	by, over = people[0], rules[0]
	if len(people) > 1 {
		by += " and " + plural(len(people)-1, "other", "others")
	}
	if len(rules) > 1 {
		over += " and " + count(len(rules)-1) + " more"
	}
	return by, over
}

// waitingFor says what a machine has still to do, and who acts then.
func waitingFor(v View) string {
	var things []string
	if fired(v, review.RuleReviewPending) {
		things = append(things, "the review")
	}
	if fired(v, review.RuleChecksPending) {
		things = append(things, pendingChecks(v))
	}
	s := "waiting for " + join(things, "and")
	if human := firedAt(v, review.NeedsHuman); len(human) > 0 {
		s += ", then " + who(v)
	}
	return s
}

// pendingChecks counts what is waited for; one check is named.
func pendingChecks(v View) string {
	causes := v.Outcome.Causes.Of(review.RuleChecksPending)
	var names []string
	for _, c := range causes {
		if c.Kind == review.CauseCheck {
			names = append(names, causeName(c))
		}
	}
	switch n := max(v.Outcome.Causes.Checks.Pending, len(names)); {
	case len(names) == 0:
		return "checks to start"
	case n == 1:
		return clip(plain(names[0]), 36)
	default:
		return plural(n, "check", "checks")
	}
}

// reviewState is how far the review is, for titles that wait for something else.
func reviewState(v View) string {
	switch v.Outcome.Facts.Review {
	case review.ReviewApproved, review.ReviewBlocked, review.ReviewChanges:
		return "review done"
	case review.ReviewSettled:
		return "docs only"
	case review.ReviewNotRun, review.ReviewFailed:
		if v.Evidence.DocsOnly && !v.Assessment.ReviewRequired {
			return "docs only"
		}
		return "not reviewed"
	}
	return ""
}

func reviewEnded(v View) bool {
	switch v.Outcome.Facts.Review {
	case review.ReviewApproved, review.ReviewBlocked, review.ReviewChanges:
		return true
	}
	return false
}

// whyNotReviewed is the reason that the evidence gives, "no reviewer ran" without
// one.
func whyNotReviewed(v View) string {
	for _, r := range v.Evidence.Reviewers {
		if (r.Status == review.ReviewerNotRun || r.Status == review.ReviewerFailed) && r.Reason != "" {
			return clip(plain(r.Reason), 60)
		}
	}
	return "no reviewer ran"
}

// who can give what is missing: the approvers that are named, else a person.
func who(v View) string {
	names := approvers(v)
	switch {
	case len(names) == 0 || !fired(v, review.RuleApprovalMissing):
		return "a person"
	case len(names) == 1:
		return clip(visible(names[0]), 40)
	default:
		return clip(visible(names[0]), 34) + " or " + plural(len(names)-1, "other", "others")
	}
}

// approvers are those that the view names, else those of the asks that nobody
// answered, each once.
func approvers(v View) []string {
	var names []string
	for _, n := range v.Approvers {
		names = appendNew(names, n)
	}
	if len(names) > 0 {
		return names
	}
	for _, a := range v.Evidence.Permission.Asks {
		if a.Answer != nil {
			continue
		}
		for _, n := range a.Approvers {
			names = appendNew(names, n)
		}
	}
	return names
}

// person is a login as people write it. It comes from the forge.
func person(login string) string {
	return clip(visible("@"+strings.TrimPrefix(login, "@")), 40)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func nonEmpty(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
