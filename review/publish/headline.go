package publish

import (
	"path"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
)

// headlines give, for each rule that can hold a pull request up, the one fact that
// a title has room for. They are in the order in which they matter to who acts.
func headlines() []struct {
	rule review.RuleID
	fact func(View) string
} {
	return []struct {
		rule review.RuleID
		fact func(View) string
	}{
		{review.RulePermissionDenied, deniedPaths},
		{review.RulePolicyInvalid, brokenPolicy},
		{review.RuleDeterministicCritical, findingCount},
		{review.RuleChecksFailed, failedChecks},
		{review.RuleReviewerRequestedChanges, findingCount},
		{review.RuleFindingStands, findingCount},
		{review.RuleDeterministicFinding, findingCount},
		{review.RuleArtifactMissing, missingArtifacts},
		{review.RuleEvidenceMissing, unreadEvidence},
		{review.RuleChecksMissing, missingChecks},
		{review.RuleReviewerBlocked, always("a reviewer asks for a person")},
		{review.RuleReviewersDisagree, always("reviewers disagree")},
		{review.RuleReviewMissing, always("not reviewed")},
		{review.RuleCoverageMissing, uninspected},
		{review.RuleDiffTruncated, unseen},
		{review.RuleIndependenceNone, always("the reviewer wrote the code")},
		{review.RuleIndependenceWeak, always("the reviewer is too close to the author")},
		{review.RuleConfidenceLow, always("the reviewer is not sure enough")},
		{review.RuleCoveragePartial, partlyInspected},
		{review.RuleIntentMissing, always("no purpose stated")},
		{review.RuleApprovalMissing, always("not approved yet")},
	}
}

func always(s string) func(View) string { return func(View) string { return s } }

// headline is the fact of the first rule that holds the decision down.
func headline(v View, at review.Decision) string {
	if fact := headlineOf(v, at, ""); fact != "" {
		return fact
	}
	return "see the rules below"
}

// headlineOf is the fact of the first rule with this ceiling besides one; empty
// when there is none.
func headlineOf(v View, at review.Decision, besides review.RuleID) string {
	rules := firedAt(v, at)
	for _, h := range headlines() {
		if h.rule != besides && slices.Contains(rules, h.rule) {
			if fact := h.fact(v); fact != "" {
				return fact
			}
		}
	}
	return ""
}

// fired reports whether a rule keeps the decision below approved.
func fired(v View, id review.RuleID) bool { return slices.Contains(v.Outcome.Gate.Fired, id) }

// firedAt are the fired rules whose ceiling is this decision.
func firedAt(v View, at review.Decision) []review.RuleID {
	var out []review.RuleID
	for _, id := range v.Outcome.Gate.Fired {
		if r, known := review.Explain(id); known && r.Ceiling(v.Outcome.Facts) == at {
			out = append(out, id)
		}
	}
	return out
}

func deniedPaths(v View) string {
	var paths []string
	for _, d := range v.Evidence.Permission.Denied {
		paths = append(paths, d.Paths...)
	}
	return clip(plain(placeOf(paths)), 58) + " may not change"
}

// placeOf is one path, or the folder that several share, or their number.
func placeOf(paths []string) string {
	paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	switch len(paths) {
	case 0:
		return "a path"
	case 1:
		return paths[0]
	}
	// The list is sorted, so what its ends share all share.
	a, b := strings.Split(path.Dir(paths[0]), "/"), strings.Split(path.Dir(paths[len(paths)-1]), "/")
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if shared := strings.Join(a[:n], "/"); shared != "" && shared != "." {
		return shared + "/"
	}
	return plural(len(paths), "path", "paths")
}

func brokenPolicy(v View) string {
	if len(v.Evidence.Policy.Problems) == 0 {
		return "no policy could be established"
	}
	p := v.Evidence.Policy.Problems[0]
	name := clip(plain(p.File), 55)
	if p.Line > 0 {
		name += " line " + count(p.Line)
	}
	return name
}

// failedChecks names one check and counts several. A skipped check that the policy
// counts as failed did not fail, so it is not called that.
func failedChecks(v View) string {
	causes := v.Outcome.Causes.Of(review.RuleChecksFailed)
	switch len(causes) {
	case 0:
		return "a check failed"
	case 1:
		word := "failed"
		if c, ok := checkBehind(v, causes[0]); ok && (c.Conclusion == "skipped" || c.Conclusion == "neutral") {
			word = "was " + c.Conclusion
		}
		return clip(plain(causes[0].Key), 46) + " " + word
	}
	return plural(len(causes), "check", "checks") + " failed"
}

// causeName is what a cause is about, as people know it. A requirement's key also
// says which app is meant, where the branch's rules name one.
func causeName(c review.Cause) string {
	if name, _, ok := cutLast(c.Key, " (app "); ok && !strings.HasPrefix(c.Text, c.Key) && strings.HasPrefix(c.Text, name+" ") {
		return name
	}
	return c.Key
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// checkBehind finds the check that a cause is about: by name, and by address where
// several share the name.
func checkBehind(v View, c review.Cause) (review.CheckResult, bool) {
	var found review.CheckResult
	ok := false
	for _, r := range v.Evidence.Checks.Results {
		if r.Ours || r.Name != c.Key {
			continue
		}
		if r.URL == c.URL {
			return r, true
		}
		found, ok = r, true
	}
	return found, ok
}

func findingCount(v View) string {
	return plural(max(1, standingCount(v)), "finding", "findings")
}

// standingFindings are the findings that hold the pull request up, each once.
func standingFindings(v View) []review.Cause {
	var out []review.Cause
	for _, id := range []review.RuleID{review.RuleDeterministicCritical, review.RuleReviewerRequestedChanges, review.RuleFindingStands, review.RuleDeterministicFinding} {
		for _, c := range v.Outcome.Causes.Of(id) {
			if c.Kind == review.CauseFinding && !slices.ContainsFunc(out, func(have review.Cause) bool { return have.Key == c.Key }) {
				out = append(out, c)
			}
		}
	}
	return out
}

func missingArtifacts(v View) string {
	causes := v.Outcome.Causes.Of(review.RuleArtifactMissing)
	if len(causes) == 1 {
		return clip(plain(causes[0].Key), 46) + " is missing"
	}
	return plural(max(1, len(causes)), "required file is missing", "required files are missing")
}

func unreadEvidence(v View) string {
	for _, u := range v.Evidence.Unread {
		if u.Fatal {
			return clip(plain(u.What), 30) + " could not be read"
		}
	}
	if !v.Evidence.Checks.Complete {
		return "not every check could be read"
	}
	return "not everything could be read"
}

func missingChecks(v View) string {
	causes := v.Outcome.Causes.Of(review.RuleChecksMissing)
	switch {
	case len(causes) == 1 && selfMade(v, causes[0]):
		return clip(plain(causeName(causes[0])), 40) + " is written by this patch"
	case len(causes) == 1:
		return clip(plain(causeName(causes[0])), 40) + " never reported"
	}
	return plural(max(1, len(causes)), "required check", "required checks") + " never reported"
}

// selfMade: the name was reported, by what the patch may have written.
func selfMade(v View, c review.Cause) bool {
	return slices.ContainsFunc(v.Evidence.Checks.Results, func(r review.CheckResult) bool { return r.SelfMade && r.Name == causeName(c) })
}

func uninspected(v View) string {
	return plural(max(1, len(v.Outcome.Causes.Of(review.RuleCoverageMissing))), "file", "files") + " not inspected"
}

func partlyInspected(v View) string {
	return plural(max(1, len(v.Outcome.Causes.Of(review.RuleCoveragePartial))), "file", "files") + " inspected in part"
}

func unseen(v View) string {
	return plural(max(1, len(v.Outcome.Causes.Of(review.RuleDiffTruncated))), "file", "files") + " not seen whole"
}

// coverageCounts is the coverage map in numbers.
type coverageCounts struct {
	needEyes, inspected, partly, skipped, exempt int
}

func coverageOf(v View) coverageCounts {
	var c coverageCounts
	for _, f := range v.Evidence.Coverage {
		switch {
		case !f.NeedsEyes:
			c.exempt++
			continue
		case f.State == review.FileInspected:
			c.inspected++
		case f.State == review.FilePartiallyInspected:
			c.partly++
		default:
			c.skipped++
		}
		c.needEyes++
	}
	return c
}
