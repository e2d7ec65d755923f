package risk

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/risk/diff"
)

func somePaths() []string {
	return []string{"main.go", "README.md", "docs/a.png", "auth/login.go", "auth/login_test.go", "Makefile", ".github/workflows/ci.yml",
		"db/migrations/1.sql", ".env", "main.tf", "package.json", "package-lock.json", "go.sum", "vendor/x/y.go", "a.pb.go", "x.png",
		"CODEOWNERS", "AGENTS.md", "app.yml", "third_party/z.c", ".gitmodules", "testdata/x.go", "lib/a.jar", "guarded/x.go"}
}

func genPath() *rapid.Generator[string] { return rapid.SampledFrom(somePaths()) }

func genMode() *rapid.Generator[diff.Mode] {
	return rapid.SampledFrom([]diff.Mode{diff.ModeRegular, diff.ModeRegular, diff.ModeRegular, diff.ModeExecutable, diff.ModeSymlink,
		diff.ModeSubmodule, diff.ModeUnknown})
}

func genFile() *rapid.Generator[diff.File] {
	return rapid.Custom(func(t *rapid.T) diff.File {
		from, to := genPath().Draw(t, "from"), genPath().Draw(t, "to")
		var f diff.File
		switch rapid.IntRange(0, 3).Draw(t, "op") {
		case 0:
			f = added(to)
		case 1:
			f = deleted(from)
		case 2:
			f = renamed(from, to)
		default:
			f = modified(to)
		}
		if f.HasOld() {
			f.OldMode = genMode().Draw(t, "old mode")
		}
		if f.HasNew() {
			f.NewMode = genMode().Draw(t, "new mode")
		}
		f.Truncated = rapid.IntRange(0, 9).Draw(t, "truncated") == 0
		f.Added += rapid.SampledFrom([]int{0, 1, 500, 900}).Draw(t, "lines")
		return f
	})
}

func genContext() *rapid.Generator[Context] {
	tri := rapid.SampledFrom([]Tri{Unknown, No, Yes})
	return rapid.Custom(func(t *rapid.T) Context {
		c := Context{
			Author:        Author{tri.Draw(t, "write"), tri.Draw(t, "first"), tri.Draw(t, "automation")},
			RequiredKnown: rapid.Bool().Draw(t, "required known"),
			ExactRevert:   tri.Draw(t, "revert"),
			Content:       map[string]ContentFact{},
		}
		if rapid.Bool().Draw(t, "required") {
			c.RequiredNames, c.RequiredWorkflows = []string{"build"}, []string{".github/workflows/ci.yml"}
		}
		for _, r := range RuleIDs() {
			if r.Content {
				c.Content[r.ID] = ContentFact{State: tri.Draw(t, r.ID)}
			}
		}
		return c
	})
}

func someRules() []Rule {
	return []Rule{{ID: "mine", Paths: []string{"guarded/**"}, Kind: Auth, Tier: High}, {Paths: []string{"third_party/**"}, Ask: true}}
}

// TestMoreFilesNeverLower: adding a file never lowers the tier. The two rules
// that miss a manifest are the exception: the file may be that manifest.
func TestMoreFilesNeverLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(genFile(), 0, 5).Draw(t, "files")
		c := genContext().Draw(t, "context")
		more := genFile().Draw(t, "more")
		before := Assess(patchOf(files...), c, someRules())
		if missesManifest(before) {
			return
		}
		after := Assess(patchOf(append(files, more)...), c, someRules())
		if after.Tier < before.Tier {
			t.Fatalf("%s with %v, %s with %s more", before.Tier, ids(before), after.Tier, more.Path())
		}
	})
}

// TestRenameIsNeverLower: a rename is at least as risky as a change at either
// of its paths.
func TestRenameIsNeverLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := genPath().Draw(t, "from"), genPath().Draw(t, "to")
		c := genContext().Draw(t, "context")
		rename := Assess(patchOf(renamed(from, to)), c, someRules()).Tier
		for _, path := range []string{from, to} {
			// A lock renamed from its manifest, or vendored code from a
			// manifest, is no case that a rename could hide.
			alone := Assess(modifiedAll(path), c, someRules())
			if alone.Tier > rename && !missesManifest(alone) {
				t.Fatalf("%s → %s is %s, %s alone is %s: %v", from, to, rename, path, alone.Tier, ids(alone))
			}
		}
	})
}

func TestOrderOfFilesIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(genFile(), 0, 6).Draw(t, "files")
		c := genContext().Draw(t, "context")
		shuffled := rapid.Permutation(files).Draw(t, "order")
		a, b := Assess(patchOf(files...), c, someRules()), Assess(patchOf(shuffled...), c, someRules())
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("\n%+v\n%+v", a, b)
		}
	})
}

// TestEveryTierHasReasons: the floor is that of a signal, a raise has one too,
// and the tier is the highest floor plus at most one step.
func TestEveryTierHasReasons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(genFile(), 0, 5).Draw(t, "files")
		c := genContext().Draw(t, "context")
		a := Assess(patchOf(files...), c, someRules())
		if len(a.Signals) == 0 {
			t.Fatal("no reason at all")
		}
		floor, raised := Low, false
		for _, s := range a.Signals {
			floor, raised = max(floor, s.Floor), raised || s.Raise
		}
		want := floor
		if raised && c.ExactRevert != Yes {
			want = min(floor+1, Critical)
		}
		if a.Floor != floor || a.Tier != want || a.Raised != (want > floor) {
			t.Fatalf("floor %s, tier %s, raised %t, want %s and %s", a.Floor, a.Tier, a.Raised, floor, want)
		}
		for _, f := range a.Files {
			if f.Kinds == 0 {
				t.Fatalf("%s has no kind", f.Path)
			}
		}
	})
}

// TestWorseFactsNeverLower: turning an unknown or a no into a yes never lowers
// the tier, but for the exact revert.
func TestWorseFactsNeverLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(genFile(), 0, 5).Draw(t, "files")
		c := genContext().Draw(t, "context")
		before := Assess(patchOf(files...), c, nil).Tier
		for _, r := range RuleIDs() {
			if r.Content {
				c.Content[r.ID] = ContentFact{State: Yes}
				if after := Assess(patchOf(files...), c, nil).Tier; after < before {
					t.Fatalf("%s found: %s after %s", r.ID, after, before)
				}
			}
		}
	})
}
