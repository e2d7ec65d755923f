package publish

import (
	"cmp"
	"slices"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
)

// needed is what the check of a name needs of a view. It is stored, once for each
// name, and a patch may have thousands of files and findings.
func needed(name string, v View) View {
	switch name {
	case ReviewName:
		return neededByReview(v)
	case CoverageName:
		return neededByCoverage(v)
	}
	v.Assessment.Files = renamed(v.Assessment.Files)
	return v
}

// renamed are the files that the text shows under both names.
func renamed(files []risk.FileRisk) []risk.FileRisk {
	var out []risk.FileRisk
	for _, f := range files {
		if f.PreviousPath != "" && f.PreviousPath != f.Path && len(out) < MaxList {
			out = append(out, f)
		}
	}
	return out
}

// bare is a view without what only the decision's text shows.
func bare(v View) View {
	v.Assessment = risk.Assessment{Tier: v.Assessment.Tier}
	v.Outcome = review.Outcome{Facts: v.Outcome.Facts, Gate: review.GateDecision{Decision: v.Outcome.Gate.Decision, Satisfies: v.Outcome.Gate.Satisfies}}
	v.Evidence = review.Evidence{
		Tier: v.Evidence.Tier, Signals: v.Evidence.Signals, ChangedFiles: v.Evidence.ChangedFiles, DocsOnly: v.Evidence.DocsOnly,
		ContentPassed: v.Evidence.ContentPassed, ScanGaps: v.Evidence.ScanGaps,
		Findings: v.Evidence.Findings, MoreFindings: v.Evidence.MoreFindings, Reviewers: v.Evidence.Reviewers,
	}
	v.Approvers = nil
	return v
}

// maxKeptFindings bounds the findings of each source that a view keeps; the least of
// them beyond it are counted by rule.
const maxKeptFindings = 1_500

// neededByReview keeps the findings without what was quoted: the key that names them
// is made first.
func neededByReview(v View) View {
	v = bare(v)
	more := slices.Clone(v.Evidence.MoreFindings)
	v.Evidence.Findings = lean(v.Evidence.Findings, &more)
	v.Evidence.Reviewers = slices.Clone(v.Evidence.Reviewers)
	for i := range v.Evidence.Reviewers {
		r := &v.Evidence.Reviewers[i]
		r.Findings = lean(r.Findings, &more)
	}
	v.Evidence.MoreFindings = more
	return v
}

func lean(list []review.Finding, more *[]review.MoreFindings) []review.Finding {
	out := slices.Clone(list)
	for i := range out {
		f := &out[i]
		f.Key = f.ID()
		f.Quote, f.Suggestion, f.Anchor = "", "", nil
		f.Title, f.Detail, f.FailingCase = clip(f.Title, maxTextBytes), clip(f.Detail, maxMessageBytes), clip(f.FailingCase, maxTextBytes)
	}
	if len(out) <= maxKeptFindings {
		return out
	}
	slices.SortStableFunc(out, func(a, b review.Finding) int { return cmp.Compare(gravity(b), gravity(a)) })
	for _, f := range out[maxKeptFindings:] {
		rule := ruleOf(f)
		i := slices.IndexFunc(*more, func(m review.MoreFindings) bool { return m.Rule == rule })
		if i < 0 {
			*more, i = append(*more, review.MoreFindings{Rule: rule}), len(*more)
		}
		(*more)[i].Count++
	}
	return out[:maxKeptFindings]
}

// neededByCoverage keeps the files' map and who looked.
func neededByCoverage(v View) View {
	m := v.Map
	if m == nil {
		m = mapOf(v)
	}
	rules := scannedRules(v)
	v = bare(v)
	v.Map = m
	v.Evidence.ContentPassed = rules
	v.Evidence.Signals, v.Evidence.Findings, v.Evidence.MoreFindings = nil, nil, nil
	v.Evidence.Reviewers = slices.Clone(v.Evidence.Reviewers)
	for i := range v.Evidence.Reviewers {
		v.Evidence.Reviewers[i].Findings, v.Evidence.Reviewers[i].Residual = nil, nil
	}
	return v
}
