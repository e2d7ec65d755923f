package terminal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/terminal"
)

func TestSurvey(t *testing.T) {
	c := newClone(t)
	c.write("docs/a.md", "a\n")
	c.write("cart/cart_test.go", "package cart\n")
	c.commit("docs and tests")
	c.write("internal/auth/session.go", "package auth\n")
	c.write(".github/workflows/ci.yml", "on: [push]\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: make}]}}\n")
	critical := c.commit("who may do what, and CI \x1b[31m")
	c.git("checkout", "-q", "-b", "side")
	c.write("side.go", "package side\n")
	c.commit("not on the line")
	c.git("checkout", "-q", "main")
	c.git("merge", "-q", "--no-ff", "-m", "merge side", "side")

	s, err := terminal.History(t.Context(), terminal.SurveyOptions{Dir: c.dir, Commits: 10})
	if err != nil {
		t.Fatal(err)
	}
	tiers := map[string]int{}
	for _, tier := range s.Tiers {
		tiers[tier.Tier] = tier.Commits
	}
	if s.Line != "first_parent" || s.Commits != 4 || tiers["critical"] != 1 || tiers["medium"] != 3 || tiers["high"]+tiers["low"] != 0 {
		t.Errorf("%s, %d commits: %v", s.Line, s.Commits, tiers)
	}
	if len(s.Critical) != 1 || s.Critical[0].SHA != critical || !strings.Contains(s.Critical[0].Detail, "auth-and-ci") || strings.Contains(s.Critical[0].Subject, "\x1b") {
		t.Errorf("critical %+v", s.Critical)
	}
	if s.Rules[0].Rule != "source" || s.Rules[0].Commits != 3 || len(s.Rules[0].Examples) != 3 || s.Rules[0].Examples[0].Subject != "merge side" {
		t.Errorf("first rule %+v", s.Rules[0])
	}
	if len(s.NotKnown) == 0 || len(s.Surprising) != 0 || s.FailedCount != 0 {
		t.Errorf("not known %q, surprising %+v, failed %+v", s.NotKnown, s.Surprising, s.Failed)
	}
	var text bytes.Buffer
	if err := s.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"critical       1   25.0 %", "auth-and-ci", critical[:7], "Not known from a history"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}

	s, err = terminal.History(t.Context(), terminal.SurveyOptions{Dir: c.dir, Merges: true})
	if err != nil || s.Commits != 1 || s.Line != "merges" {
		t.Errorf("merges: %d %s, %v", s.Commits, s.Line, err)
	}
	for _, n := range []int{-1, terminal.MaxCommits + 1} {
		if _, err := terminal.History(t.Context(), terminal.SurveyOptions{Dir: c.dir, Commits: n}); err == nil {
			t.Errorf("%d commits are judged", n)
		}
	}
}
