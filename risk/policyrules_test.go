package risk

import (
	"slices"
	"testing"
)

func TestPolicyRules(t *testing.T) {
	tests := []struct {
		name   string
		rule   Rule
		path   string
		tier   Tier
		rules  []string // signals besides those of a plain source or docs file
		review bool
	}{
		{"tier", Rule{ID: "mine", Paths: []string{"lib/**"}, Tier: Critical}, "lib/a.go", Critical, []string{"mine"}, true},
		{"no match", Rule{ID: "mine", Paths: []string{"lib/**"}, Tier: Critical}, "src/a.go", Medium, nil, true},
		{"a low tier lowers nothing", Rule{ID: "mine", Paths: []string{"**"}, Tier: Low}, "a.go", Medium, []string{"mine"}, true},
		{"a kind", Rule{ID: "mine", Paths: []string{"lib/**"}, Kind: Auth}, "lib/a.go", High, []string{"auth", "mine"}, true},
		{"a kind on docs", Rule{ID: "mine", Paths: []string{"runbooks/**"}, Kind: Infra}, "runbooks/a.md", High, []string{"infra", "mine"}, true},
		{"review on docs", Rule{ID: "mine", Paths: []string{"runbooks/**"}, ReviewRequired: true}, "runbooks/a.md", High, []string{"mine"}, true},
		{"review on vendored", Rule{ID: "mine", Paths: []string{"third_party/**"}, ReviewRequired: true}, "third_party/a.c", High, []string{"mine"}, true},
		{"ask", Rule{Paths: []string{"lib/**"}, Ask: true}, "lib/a.go", High, []string{"ask-path"}, true},
		{"ask with an id", Rule{ID: "mine", Paths: []string{"lib/**"}, Ask: true, Tier: Critical}, "lib/a.go", Critical, []string{"mine"}, true},
		{"no id", Rule{Paths: []string{"lib/**"}, Tier: High}, "lib/a.go", High, []string{"policy-rule"}, true},
		{"folded", Rule{ID: "mine", Paths: []string{"build.bat"}, Tier: High}, "BUILD.bat", High, []string{"build", "mine"}, true},
		{"folded glob", Rule{ID: "mine", Paths: []string{"Lib/**"}, Tier: High}, "lib/a.go", High, []string{"mine"}, true},
		{"folded final sigma", Rule{ID: "mine", Paths: []string{"ΟΔΟΣ/**"}, Tier: High}, "οδος/a.go", High, []string{"mine"}, true},
		{"folding takes nothing away", Rule{ID: "mine", Paths: []string{"[^A].go"}, Tier: High}, "a.go", High, []string{"mine"}, true},
		{"folding the path takes nothing away", Rule{ID: "mine", Paths: []string{"[^a].go"}, Tier: High}, "A.go", High, []string{"mine"}, true},
		{"tier out of range", Rule{ID: "mine", Paths: []string{"**"}, Tier: 99}, "a.go", Critical, []string{"mine"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Assess(modifiedAll(tt.path), known(), []Rule{tt.rule})
			got := slices.DeleteFunc(ids(a), func(id string) bool { return slices.Contains([]string{"source", "docs-only", "vendored"}, id) })
			slices.Sort(got)
			if a.Tier != tt.tier || !slices.Equal(got, tt.rules) || a.ReviewRequired != tt.review {
				t.Errorf("tier %s, signals %v, review %t, want %s, %v, %t", a.Tier, got, a.ReviewRequired, tt.tier, tt.rules, tt.review)
			}
			if len(a.Problems) > 0 {
				t.Errorf("problems %q", a.Problems)
			}
			if asks := tt.rule.Ask || tt.rule.ReviewRequired; asks && !a.Files[0].NeedsReview {
				t.Error("the policy asks for eyes and the file needs no review")
			}
		})
	}
}
