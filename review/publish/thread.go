package publish

import (
	"slices"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// isGone reports whether a finding that people were shown is not there any more. Not
// to see it is no proof: whoever found it must have looked at its file again, and at
// all of what it finds. Comments that the forge calls outdated prove nothing either.
func isGone(e review.Evidence, d Delivered) bool {
	if e.Patch == "" && e.ChangedFiles == 0 {
		return false // nothing was read
	}
	for _, u := range e.Unread {
		if u.Fatal || (u.What != "checks" && u.What != "modes") {
			return false
		}
	}
	if slices.ContainsFunc(e.Truncated, func(t review.TruncatedFile) bool { return t.Path == d.Path }) {
		return false
	}
	if d.From == review.FromReviewer {
		return reviewedAgain(e, d.Path)
	}
	return !slices.ContainsFunc(e.ScanGaps, func(g review.ScanGap) bool { return g.Rule == d.Rule }) &&
		!slices.ContainsFunc(e.MoreFindings, func(m review.MoreFindings) bool { return m.Rule == d.Rule })
}

// reviewedAgain: a review ran, and the file was inspected by it or is not part of
// the patch any more.
func reviewedAgain(e review.Evidence, path string) bool {
	if !slices.ContainsFunc(e.Reviewers, func(r review.ReviewerResult) bool { return r.Status == review.ReviewerRan }) {
		return false
	}
	for _, c := range e.Coverage {
		if c.Path == path {
			return c.State == review.FileInspected
		}
	}
	return e.ChangedFiles > 0 && len(e.Coverage) == e.ChangedFiles
}

// threadOf finds the conversation about a finding among those that our App began:
// by the review that brought it and the marker in its first comment, since lines
// move and an outdated one has none (case 13).
func threadOf(threads []forge.Thread, d Delivered) (forge.Thread, bool) {
	for _, t := range threads {
		if t.ReviewID == d.ReviewID && findingOf(t.Body) == string(d.Marker) {
			return t, true
		}
	}
	return forge.Thread{}, false
}
