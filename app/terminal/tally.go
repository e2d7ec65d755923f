package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/risk"
)

// tally counts as commits come in, newest first.
type tally struct {
	s        Survey
	tiers    map[risk.Tier]*SurveyTier
	rules    map[string]*SurveyRule
	findings map[[2]string]*SurveyFinding
}

func newTally() *tally {
	t := &tally{
		s: Survey{Format: SurveyFormat, Unanswered: map[string]int{}, Critical: []SurveyCommit{}, Surprising: []SurveyCommit{},
			Tiers: []SurveyTier{}, Rules: []SurveyRule{}, Findings: []SurveyFinding{}, NotKnown: notKnown()},
		tiers: map[risk.Tier]*SurveyTier{}, rules: map[string]*SurveyRule{}, findings: map[[2]string]*SurveyFinding{},
	}
	for tier := risk.Low; tier <= risk.Critical; tier++ {
		t.tiers[tier] = &SurveyTier{Tier: tier.String(), Examples: []SurveyCommit{}}
	}
	return t
}

func (t *tally) add(j judgedCommit) {
	c := SurveyCommit{SHA: j.commit.SHA, Subject: j.commit.Subject}
	if j.err != nil {
		c.Detail = j.err.Error()
		t.s.FailedCount++
		if len(t.s.Failed) < maxNamed {
			t.s.Failed = append(t.s.Failed, c)
		}
		return
	}
	a := j.assessment
	c.Tier, c.Detail = a.Tier.String(), restsOn(a)
	t.s.Commits++
	t.tiers[a.Tier].Commits++
	example(&t.tiers[a.Tier].Examples, c)
	if a.Tier == risk.Critical && len(t.s.Critical) < maxNamed {
		t.s.Critical = append(t.s.Critical, c)
	}
	if a.Tier >= risk.High && harmless(a) && len(t.s.Surprising) < maxNamed {
		t.s.Surprising = append(t.s.Surprising, c)
	}
	for _, id := range a.Unknown {
		t.s.Unanswered[id]++
	}
	t.addRules(a, c)
	t.addFindings(j, c)
}

func example(list *[]SurveyCommit, c SurveyCommit) {
	if len(*list) < maxExamples {
		*list = append(*list, c)
	}
}

// restsOn names the rules that make the tier.
func restsOn(a risk.Assessment) string {
	var parts []string
	for _, s := range a.Signals {
		if s.Floor == a.Floor && !s.Raise || s.Raise && a.Raised {
			parts = append(parts, s.Rule+" "+few(s.Files))
		}
	}
	return strings.Join(parts, "; ")
}

// harmless: nothing but tests, or nothing but documentation.
func harmless(a risk.Assessment) bool {
	return !slices.ContainsFunc(a.Files, func(f risk.FileRisk) bool { return !f.Kinds.Within(risk.KindsOf(risk.Test, risk.Docs)) })
}

func (t *tally) addRules(a risk.Assessment, c SurveyCommit) {
	atFloor := 0
	for _, s := range a.Signals {
		if !s.Raise && s.Floor == a.Floor {
			atFloor++
		}
	}
	seen := make(map[string]bool)
	for _, s := range a.Signals {
		if seen[s.Rule] {
			continue
		}
		seen[s.Rule] = true
		r := t.rules[s.Rule]
		if r == nil {
			r = &SurveyRule{Rule: s.Rule, Floor: s.Floor.String(), Raise: s.Raise}
			t.rules[s.Rule] = r
		}
		r.Commits++
		if !s.Raise && s.Floor == a.Floor && atFloor == 1 {
			r.Alone++
		}
		c.Detail = strings.TrimSpace(few(s.Files) + " " + s.Detail)
		example(&r.Examples, c)
	}
}

func (t *tally) addFindings(j judgedCommit, c SurveyCommit) {
	seen := make(map[*SurveyFinding]bool)
	for _, found := range j.found {
		key := [2]string{found.Rule, found.Severity.String()}
		f := t.findings[key]
		if f == nil {
			f = &SurveyFinding{Rule: key[0], Severity: key[1]}
			t.findings[key] = f
		}
		f.Findings++
		if seen[f] {
			continue
		}
		seen[f] = true
		f.Commits++
		c.Detail = fmt.Sprintf("%s:%d %s", few([]string{found.Path}), found.Line, found.Title)
		example(&f.Examples, c)
	}
}

// survey puts the counts in order.
func (t *tally) survey() Survey {
	s := t.s
	for tier := risk.Critical; ; tier-- {
		row := *t.tiers[tier]
		row.Share = share(row.Commits, s.Commits)
		s.Tiers = append(s.Tiers, row)
		if tier == risk.Low {
			break
		}
	}
	for _, r := range t.rules {
		r.Share = share(r.Commits, s.Commits)
		s.Rules = append(s.Rules, *r)
	}
	slices.SortFunc(s.Rules, func(a, b SurveyRule) int {
		return cmp.Or(cmp.Compare(b.Commits, a.Commits), strings.Compare(a.Rule, b.Rule))
	})
	for _, f := range t.findings {
		s.Findings = append(s.Findings, *f)
	}
	order := []string{"critical", "high", "medium", "low"}
	slices.SortFunc(s.Findings, func(a, b SurveyFinding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity)), cmp.Compare(b.Commits, a.Commits), strings.Compare(a.Rule, b.Rule))
	})
	return s
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
