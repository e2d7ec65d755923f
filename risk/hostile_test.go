package risk

import (
	"strings"
	"testing"
	"unicode"

	"github.com/countersign/countersign/risk/diff"
)

// disguises are spellings by which somebody may hope that a path is not known.
// Each is for a path in lower-case ASCII.
func disguises() map[string]func(string) string {
	everyOther := func(p string) string {
		i := 0
		return strings.Map(func(r rune) rune {
			i++
			if i%2 == 0 {
				return unicode.ToUpper(r)
			}
			return r
		}, p)
	}
	shifted := func(base rune) func(string) string {
		return func(p string) string {
			return strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' {
					return r - 'a' + base
				}
				return r
			}, p)
		}
	}
	return map[string]func(string) string{
		"capitals":          strings.ToUpper,
		"every other":       everyOther,
		"fullwidth":         shifted('\uFF41'),
		"mathematical":      shifted('\U0001D41A'),
		"cyrillic":          strings.NewReplacer("a", "а", "c", "с", "e", "е", "o", "о", "p", "р", "s", "ѕ", "i", "і").Replace,
		"other slash":       func(p string) string { return strings.ReplaceAll(p, "/", "\u2215") },
		"other dot":         func(p string) string { return strings.ReplaceAll(p, ".", "\u2024") },
		"backslash":         func(p string) string { return strings.ReplaceAll(p, "/", `\`) },
		"dot segment":       func(p string) string { return "./" + p },
		"dot-dot segment":   func(p string) string { return "testdata/x/../../" + p },
		"empty segment":     func(p string) string { return strings.ReplaceAll("/"+p, "/", "//") },
		"trailing dot":      func(p string) string { return p + "." },
		"trailing space":    func(p string) string { return p + " " },
		"trailing slash":    func(p string) string { return p + "/" },
		"invisible":         func(p string) string { return p[:2] + "\u200B" + p[2:] },
		"invisible mark":    func(p string) string { return p[:2] + "\u034F" + p[2:] },
		"control character": func(p string) string { return p[:2] + "\x01" + p[2:] },
		"decomposed":        func(p string) string { return strings.ReplaceAll(p, "é", "e\u0301") },
	}
}

// TestDisguiseNeverLowers: a path that raises risk raises it in any disguise,
// alone, for a policy's rule, and together with another kind.
func TestDisguiseNeverLowers(t *testing.T) {
	paths := []string{"auth/login.go", ".github/workflows/ci.yml", "codeowners", ".github/countersign.yml", "db/migrations/1.sql",
		"secrets/prod.txt", "main.tf", ".env.production", "agents.md", "makefile", ".gitmodules", "package.json", "guardé/x.go"}
	rules := []Rule{{ID: "mine", Paths: []string{"guardé/**"}, Tier: Critical}}
	beside := []diff.File{modified("Makefile"), modified("internal/auth/x.go")}
	for name, disguise := range disguises() {
		for _, path := range paths {
			odd := disguise(path)
			plain, dressed := Assess(modifiedAll(path), known(), rules), Assess(modifiedAll(odd), known(), rules)
			if dressed.Tier < plain.Tier {
				t.Errorf("%s: %s is %s, %q is %s %v", name, path, plain.Tier, odd, dressed.Tier, ids(dressed))
			}
			for _, other := range beside {
				plain, dressed = Assess(patchOf(modified(path), other), known(), rules), Assess(patchOf(modified(odd), other), known(), rules)
				if dressed.Tier < plain.Tier {
					t.Errorf("%s: %s with %s is %s, %q is %s %v", name, path, other.Path(), plain.Tier, odd, dressed.Tier, ids(dressed))
				}
			}
		}
	}
}

// TestOddPathIsNeverLow: what lowers attention does not know a path that some
// system takes for another.
func TestOddPathIsNeverLow(t *testing.T) {
	for _, path := range []string{"README.md ", "./README.md", `docs\a.md`, "docs/../README.md", "docs//a.md", "/README.md", "docs./a.md", "./Form.designer.cs"} {
		a := Assess(modifiedAll(path), known(), nil)
		if a.Tier != High || !a.Files[0].NeedsReview {
			t.Errorf("%q is %s, %+v", path, a.Tier, a.Files)
		}
	}
}

func TestRequiredPathsAreFolded(t *testing.T) {
	c := known()
	c.RequiredWorkflows, c.RequiredNames = []string{".github/workflows/CI.yml"}, []string{"build"}
	c.CIPaths = []string{"./scripts/Build.sh"}
	for path, rule := range map[string]string{`.github\workflows\ci.yml`: "required-workflow", "scripts/build.sh": "ci"} {
		wantSignal(t, Assess(modifiedAll(path), c, nil), rule)
	}
}

// TestLongPathMatchesEveryRule: the cost of a match must not be the author's to
// choose, and a rule must not be missed for it.
func TestLongPathMatchesEveryRule(t *testing.T) {
	long := strings.Repeat("a/", maxMatchBytes) + "x.go"
	a := Assess(modifiedAll(long), known(), []Rule{{ID: "mine", Paths: []string{"b/**"}, Tier: Critical}})
	wantSignal(t, a, "mine")
	short := strings.Repeat("a", maxMatchBytes)
	wantNoSignal(t, Assess(modifiedAll(short), known(), []Rule{{ID: "mine", Paths: []string{"b/**"}, Tier: Critical}}), "mine")
}

func TestContentStateOutOfRangeIsUnknown(t *testing.T) {
	c := known()
	c.Content[RuleCredential] = ContentFact{State: 9}
	if a := Assess(modifiedAll("a.go"), c, nil); len(a.Unknown) != 1 || a.Unknown[0] != RuleCredential {
		t.Errorf("unknown %v", a.Unknown)
	}
}
