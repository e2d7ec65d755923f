package risk

import (
	"fmt"
	"slices"
	"strings"
)

// matcher is a policy's rule with its globs checked.
type matcher struct {
	rule  Rule
	exact []string // the sound globs as written
	fold  []string // and folded
	bad   []string // what is wrong, one entry for each broken glob
}

func newMatchers(rules []Rule) []matcher {
	list := make([]matcher, len(rules))
	for i, r := range rules {
		list[i] = newMatcher(r)
	}
	return list
}

func newMatcher(r Rule) matcher {
	m := matcher{rule: r}
	if len(r.Paths) == 0 {
		m.bad = append(m.bad, "it has no paths")
	}
	for _, p := range r.Paths {
		exact, err := parseGlob(p)
		if err != nil {
			m.bad = append(m.bad, fmt.Sprintf("glob %.120q: %v", p, err))
			continue
		}
		m.exact = append(m.exact, exact)
		// Folding may break a range; the glob as written is there all the same.
		if folded, err := parseGlob(fold(p)); err == nil {
			m.fold = append(m.fold, folded)
		}
	}
	return m
}

// matches reports whether a glob matches the path, folded or as written. Folding
// alone could take matches away: `[^A]` folds to something else.
func (m matcher) matches(p place) bool {
	if slices.ContainsFunc(m.fold, func(g string) bool { return matchGlob(g, p.folded) }) {
		return true
	}
	if p.path == p.folded && slices.Equal(m.exact, m.fold) {
		return false
	}
	return slices.ContainsFunc(m.exact, func(g string) bool { return matchGlob(g, p.path) })
}

// asksForEyes reports whether somebody is to look at what the rule matches.
func (m matcher) asksForEyes() bool { return m.rule.Ask || m.rule.ReviewRequired }

func (m matcher) id() string {
	switch {
	case m.rule.ID != "":
		return m.rule.ID
	case m.rule.Ask:
		return RuleAskPath
	}
	return RulePolicyRule
}

// floor is the rule's own tier, and high where a person is to look.
func (m matcher) floor() Tier {
	t := min(m.rule.Tier, Critical)
	if m.asksForEyes() {
		t = max(t, High)
	}
	return t
}

func (m matcher) detail() string {
	var parts []string
	if m.rule.Ask {
		parts = append(parts, "the policy asks a person")
	}
	if m.rule.ReviewRequired {
		parts = append(parts, "review required")
	}
	return strings.Join(append(parts, "policy paths "+strings.Join(shortened(m.rule.Paths, 3), ", ")), "; ")
}

// shortened cuts a list for a sentence and says by how much.
func shortened(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("and %d more", len(list)-n))
}

// signals returns what the rule says about a patch in which it matches these
// paths. A rule with a broken glob protects something we cannot know, so it
// counts as high for every patch until it is repaired.
func (m matcher) signals(matched []string) []Signal {
	var list []Signal
	if len(m.bad) > 0 {
		list = append(list, Signal{Rule: m.id(), Floor: max(High, m.floor()), Detail: "cannot be matched: " + m.bad[0]})
	}
	if len(matched) > 0 {
		list = append(list, Signal{Rule: m.id(), Floor: m.floor(), Files: matched, Detail: m.detail()})
	}
	return list
}

func (m matcher) problems() []string {
	var list []string
	for _, b := range m.bad {
		list = append(list, fmt.Sprintf("rule %q: %s; until that is repaired every patch is at least high", m.id(), b))
	}
	return list
}
