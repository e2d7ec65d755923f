package publish

import (
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
)

// table shows the same facts in the same order everywhere: risk, reviewer, checks,
// coverage, policy. What is not known yet has no row.
func table(v View) string {
	var rows strings.Builder
	row := func(name, cell string) {
		if cell != "" {
			rows.WriteString("| " + name + " | " + cell + " |\n")
		}
	}
	row("Risk", riskCell(v))
	if v.State == StateDecided {
		row("Reviewer", reviewerCell(v))
		row("Checks", checksCell(v))
		row("Findings", findingsCell(v))
		row("Coverage", coverageCell(v))
	}
	row("Policy", policyCell(v))
	if rows.Len() == 0 {
		return ""
	}
	return "| | |\n|---|---|\n" + rows.String()
}

// cellSignals is how many signals the table names; all of them are in the trail.
const cellSignals = 4

// cellBytes is how long a cell may be before nothing more is added to it.
const cellBytes = 1_800

func riskCell(v View) string {
	tier, known := v.tier()
	if !known {
		return ""
	}
	var parts []string
	size := 0
	for i, s := range v.Assessment.Signals {
		if i == cellSignals || size > cellBytes {
			parts = append(parts, "and "+count(len(v.Assessment.Signals)-i)+" more")
			break
		}
		text := signalText(v, s)
		size += len(text)
		parts = append(parts, text)
	}
	cell := "**" + tier.String() + "**"
	if len(parts) > 0 {
		cell += ": " + strings.Join(parts, " · ")
	}
	return cell
}

func signalText(v View, s risk.Signal) string {
	text := code(s.Rule)
	switch {
	case len(s.Files) == 1:
		text += " " + bothNames(v, s.Files[0])
	case len(s.Files) > 1:
		text += " " + bothNames(v, s.Files[0]) + " and " + plural(len(s.Files)-1, "other", "others")
	}
	if s.Detail != "" {
		text += " " + escapeWithin(clip(visible(s.Detail), maxNameBytes), maxNameMarkup)
	}
	return text
}

// bothNames is a file, with both its names where it was renamed: a rule may have
// looked at either.
func bothNames(v View, path string) string {
	for _, f := range v.Assessment.Files {
		if f.PreviousPath != "" && f.PreviousPath != f.Path && (f.Path == path || f.PreviousPath == path) {
			return code(f.PreviousPath) + " → " + code(f.Path)
		}
	}
	return code(path)
}

func reviewerCell(v View) string {
	if v.ReviewerLine != "" {
		return prose(v.ReviewerLine)
	}
	var parts []string
	for _, r := range v.Evidence.Reviewers {
		if r.Status != review.ReviewerRan || len(parts) == cellSignals {
			continue
		}
		parts = append(parts, code(r.Model)+" ("+code(r.Provider)+"), "+framing(v.Outcome.Facts.Tier)+"; independence **"+independence(r)+"**")
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, " · ")
	case v.Outcome.Facts.Review == review.ReviewSettled:
		return "none needed: only documentation changes"
	}
	return "none: " + prose(whyNotReviewed(v))
}

// framing is the reviewer's stance, which follows from the tier alone.
func framing(t risk.Tier) string {
	switch t {
	case risk.Low, risk.Medium:
		return "normal"
	case risk.High:
		return "strict"
	}
	return "hostile"
}

func independence(r review.ReviewerResult) string {
	if s := r.Independence.String(); s != "" && !r.SameModel {
		return s
	}
	return "none"
}

func checksCell(v View) string {
	n := v.Outcome.Causes.Checks
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, count(n)+" "+words)
		}
	}
	add(n.Passed, "passed")
	add(n.Failed, "failed")
	add(n.Skipped, "skipped")
	if v.Outcome.Facts.CI != review.CIPending || n.Passed+n.Failed+n.Skipped+n.Missing > 0 || len(v.Evidence.Checks.Results) > 0 {
		add(n.Pending, "pending")
	}
	add(n.Missing, "never reported")
	add(n.Untrusted, "passed but not from a trusted source")
	add(n.Advisory, "advisory")
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case v.Outcome.Facts.CI == review.CIPending:
		return "none has reported yet"
	}
	return "none ran"
}

func coverageCell(v View) string {
	c := coverageOf(v)
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, count(n)+" "+words)
		}
	}
	add(c.inspected, "inspected")
	add(c.partly, "partially")
	add(c.skipped, "not inspected")
	if c.exempt == 1 {
		add(1, "needs none")
	} else {
		add(c.exempt, "need none")
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	switch {
	case v.Evidence.ChangedFiles == 0:
		return ""
	case v.Outcome.Facts.Review == review.ReviewSettled:
		return "none needed"
	}
	return "0 of " + plural(v.Evidence.ChangedFiles, "file", "files") + " inspected by a reviewer"
}

func policyCell(v View) string {
	var parts []string
	if v.PolicySource != "" {
		parts = append(parts, prose(v.PolicySource))
	}
	if v.PolicyRevision != "" {
		parts = append(parts, "revision "+code(short(v.PolicyRevision)))
	}
	if v.Observe {
		parts = append(parts, "mode `observe`")
	}
	return strings.Join(parts, ", ")
}
