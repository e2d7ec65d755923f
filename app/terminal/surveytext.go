package terminal

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/countersign/countersign/review/publish"
)

// edgeRules is how many rules are shown with examples at each end: those that
// fired most, and the rarest.
const edgeRules = 5

// WriteText writes the survey as tables: tiers, rules, findings, then the examples.
func (s Survey) WriteText(w io.Writer, color bool) error {
	t := &text{paint: paint(color)}
	kind := "commits of the first-parent line"
	if s.Line == "merges" {
		kind = "merges"
	}
	t.line("%s %d %s, %s…%s", t.paint.bold(publish.Visible(s.Name)), s.Commits, kind, short(s.Oldest), short(s.Newest))
	if s.FailedCount > 0 {
		t.line("%s", t.paint.yellow(fmt.Sprintf("%d more could not be judged; they are in no figure below", s.FailedCount)))
	}
	t.heading("Tiers")
	for _, tier := range s.Tiers {
		t.line("  %-9s %6d  %5.1f %%", tier.Tier, tier.Commits, 100*tier.Share)
	}
	t.surveyRules(s)
	if len(s.Findings) > 0 {
		t.heading("Findings")
		for _, f := range s.Findings {
			t.line("  %-9s %-22s %5d in %d commits", f.Severity, f.Rule, f.Findings, f.Commits)
		}
	}
	if len(s.Unanswered) > 0 {
		t.heading("Rules without an answer, by commits")
		for _, id := range slices.Sorted(maps.Keys(s.Unanswered)) {
			t.line("  %-22s %5d", id, s.Unanswered[id])
		}
	}
	t.commits(fmt.Sprintf("Critical (%d)", len(s.Critical)), s.Critical)
	t.commits("Tests or documentation only, and high all the same", s.Surprising)
	t.edges(s)
	t.list("Not known from a history", s.NotKnown)
	t.commits(fmt.Sprintf("Could not be judged (%d)", s.FailedCount), s.Failed)
	_, err := io.WriteString(w, t.b.String())
	return err
}

func (t *text) surveyRules(s Survey) {
	t.heading("Rules of the tier")
	t.line("  %s", t.paint.dim(fmt.Sprintf("%-26s %-9s %7s %8s %7s", "rule", "floor", "commits", "share", "alone")))
	for _, r := range s.Rules {
		floor := r.Floor
		if r.Raise {
			floor = "+1"
		}
		t.line("  %-26s %-9s %7d %6.1f %% %7d", r.Rule, floor, r.Commits, 100*r.Share, r.Alone)
	}
}

// edges shows examples of the rules that fired most and of the rarest.
func (t *text) edges(s Survey) {
	rules := s.Rules
	most := rules[:min(len(rules), edgeRules)]
	rest := rules[len(most):]
	for _, r := range most {
		t.commits(fmt.Sprintf("Most often: %s (%d)", r.Rule, r.Commits), r.Examples)
	}
	for _, r := range rest[max(0, len(rest)-edgeRules):] {
		t.commits(fmt.Sprintf("Rarest: %s (%d)", r.Rule, r.Commits), r.Examples)
	}
}

func (t *text) commits(title string, list []SurveyCommit) {
	if len(list) == 0 {
		return
	}
	t.heading(title)
	for _, c := range list[:min(len(list), maxRows)] {
		t.line("  %s %s", short(c.SHA), publish.Visible(c.Subject))
		if c.Detail != "" {
			t.line("          %s", t.paint.dim(publish.Visible(c.Detail)))
		}
	}
	t.more(len(list) - maxRows)
}
