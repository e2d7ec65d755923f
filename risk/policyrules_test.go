package risk

import (
	"slices"
	"strings"
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
		{"case-147 folded", Rule{ID: "mine", Paths: []string{"build.bat"}, Tier: High}, "BUILD.bat", High, []string{"build", "mine"}, true},
		{"case-147 folded glob", Rule{ID: "mine", Paths: []string{"Lib/**"}, Tier: High}, "lib/a.go", High, []string{"mine"}, true},
		{"folding takes nothing away", Rule{ID: "mine", Paths: []string{"[^A].go"}, Tier: High}, "a.go", High, []string{"mine"}, true},
		{"folding the path takes nothing away", Rule{ID: "mine", Paths: []string{"[^a].go"}, Tier: High}, "A.go", High, []string{"mine"}, true},
		{"case-133 leading slash", Rule{ID: "mine", Paths: []string{"/root.go"}, Tier: High}, "root.go", High, []string{"mine"}, true},
		{"case-133 trailing slash", Rule{ID: "mine", Paths: []string{"dir/"}, Tier: High}, "dir/x/a.go", High, []string{"mine"}, true},
		{"case-133 braces", Rule{ID: "mine", Paths: []string{"{a,b}/**"}, Tier: High}, "b/x.go", High, []string{"mine"}, true},
		{"case-133 brace in a class", Rule{ID: "mine", Paths: []string{"[{]{a,b}.go"}, Tier: High}, "{b.go", High, []string{"mine"}, true},
		{"case-133 stars in the middle", Rule{ID: "mine", Paths: []string{"a/**/b"}, Tier: High}, "a/b", High, []string{"mine"}, true},
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

// TestCase126_BrokenGlob holds that a glob that cannot be matched is never
// silent, whatever the patch.
func TestCase126_BrokenGlob(t *testing.T) {
	deep := strings.Repeat("{a,", 20) + strings.Repeat("}", 20)
	for _, g := range []string{"secrets/[a-", "[invalid", "a{b", `a\`, "", "/", "!src/**", deep, strings.Repeat("{a,b}", 7),
		"{" + strings.Repeat("a,", 64) + "b}", "{a,{b,c}}", strings.Repeat("a", 513)} {
		a := Assess(modifiedAll("README.md"), known(), []Rule{{ID: "mine", Paths: []string{"src/**", g}, Tier: Low}})
		s := wantSignal(t, a, "mine")
		if a.Tier != High || s.Floor != High || s.Detail == "" || len(a.Problems) != 1 || !strings.Contains(a.Problems[0], `"mine"`) {
			t.Errorf("glob %.30q: tier %s, signal %+v, problems %q", g, a.Tier, s, a.Problems)
		}
	}
	a := Assess(modifiedAll("README.md"), known(), []Rule{{ID: "mine", Tier: Low}})
	if a.Tier != High || len(a.Problems) != 1 {
		t.Errorf("a rule without paths: tier %s, problems %q", a.Tier, a.Problems)
	}
	// The other globs of the rule go on working.
	a = Assess(modifiedAll("src/a.go"), known(), []Rule{{ID: "mine", Paths: []string{"[bad", "src/**"}, Tier: Critical}})
	if a.Tier != Critical || len(a.Signals) != 3 {
		t.Errorf("tier %s, signals %v", a.Tier, ids(a))
	}
}

func TestCase137_PolicyRuleSeesOldPath(t *testing.T) {
	a := Assess(patchOf(renamed("guarded/a.go", "docs/a.md")), known(), []Rule{{ID: "mine", Paths: []string{"guarded/**"}, Tier: Critical}})
	if s := wantSignal(t, a, "mine"); a.Tier != Critical || !slices.Equal(s.Files, []string{"guarded/a.go"}) {
		t.Errorf("tier %s, files %v", a.Tier, s.Files)
	}
}
