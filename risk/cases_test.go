package risk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// The cases of CASES.md that end in a tier, by number.

func copied(from, to string) diff.File {
	f := renamed(from, to)
	f.Op = diff.Copied
	return f
}

func TestCase024_EveryFileOfALargePatchIsAssessed(t *testing.T) {
	var paths []string
	for i := range 300 {
		paths = append(paths, fmt.Sprintf("docs/%d.md", i))
	}
	a := Assess(modifiedAll(append(paths, "auth/login.go")...), known(), nil)
	if len(a.Files) != 301 || a.Tier != High {
		t.Errorf("%d files, %s", len(a.Files), a.Tier)
	}
}

func TestCase026_MissingFilesSaySo(t *testing.T) {
	a := Assess(diff.Patch{Files: modifiedAll("README.md").Files, ChangedFiles: 3}, known(), nil)
	if s := wantSignal(t, a, "unreadable"); !strings.Contains(s.Detail, "2 of 3 files") {
		t.Errorf("detail %q", s.Detail)
	}
	wantNoSignal(t, a, "docs-only")
	wantNoSignal(t, Assess(diff.Patch{ChangedFiles: 1}, known(), nil), "no-files")
}

func TestCase026_TheSameFileTwiceHidesNone(t *testing.T) {
	p := modifiedAll("README.md", "README.md")
	if s := wantSignal(t, Assess(p, known(), nil), "unreadable"); !strings.Contains(s.Detail, "1 of 2 files") {
		t.Errorf("detail %q", s.Detail)
	}
}

func TestCase029_FileWithoutPatch(t *testing.T) {
	a := Assess(patchOf(withCounts(modified("big.go"))), known(), nil)
	wantSignal(t, a, "unreadable")
	if s := wantSignal(t, a, "large-change"); !strings.Contains(s.Detail, "889 lines") || a.Tier != Critical {
		t.Errorf("detail %q, tier %s", s.Detail, a.Tier)
	}
	a = Assess(modifiedAll("logo.png"), known(), nil)
	wantSignal(t, a, "binary")
	wantNoSignal(t, a, "unreadable")
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

func TestCase133_Globs(t *testing.T) {
	matches := []struct{ glob, path string }{
		{"/root.go", "root.go"}, {"./root.go", "root.go"}, {"dir/", "dir/x/a.go"}, {"{a,b}/**", "b/x.go"}, {"[x{]{a,b}.go", "{b.go"},
		{"a/**/b", "a/b"}, {"a/**/b", "a/x/y/b"}, {"**/b", "b"}, {"a/**", "a/x"}, {`a\*b`, "a*b"}, {`app/\(x\)`, "app/(x)"},
		{"app/(auth)/**", "app/(auth)/page.tsx"}, {"[!a]", "b"}, {"a?c", "abc"},
	}
	for _, tt := range matches {
		a := Assess(modifiedAll(tt.path), known(), []Rule{{ID: "mine", Paths: []string{tt.glob}, Tier: High}})
		if s := wantSignal(t, a, "mine"); len(s.Files) != 1 || len(a.Problems) > 0 {
			t.Errorf("%s does not match %s: %q", tt.glob, tt.path, a.Problems)
		}
	}
	for _, tt := range []struct{ glob, path string }{{"root.go", "x/root.go"}, {"*.go", "x/a.go"}, {"a/*", "a/x/y"}, {"dir/", "dirx/a"}, {"a?c", "a/c"}} {
		wantNoSignal(t, Assess(modifiedAll(tt.path), known(), []Rule{{ID: "mine", Paths: []string{tt.glob}, Tier: High}}), "mine")
	}
	for _, glob := range []string{"src/!(en).ts", "**/*.!(css)", "@(a|b)", "a+(b)", "a?(b)", `a\b`, `src\auth\**`, "!src/**", "a//b", "../a", "a/./b"} {
		if a := Assess(modifiedAll("README.md"), known(), []Rule{{ID: "mine", Paths: []string{glob}}}); len(a.Problems) != 1 || a.Tier != High {
			t.Errorf("%s is taken: %s", glob, a.Tier)
		}
	}
}

func TestCase137_BothPathsCount(t *testing.T) {
	checkFloors(t, []floorCase{
		{"rename out of workflows", patchOf(renamed(".github/workflows/release.yml", "docs/notes.txt")), High, "ci"},
		{"rename into workflows", patchOf(renamed("docs/notes.txt", ".github/workflows/release.yml")), High, "ci"},
		{"copy of a workflow", patchOf(copied(".github/workflows/release.yml", "docs/notes.txt")), High, "ci"},
		{"deletion", patchOf(deleted(".github/CODEOWNERS")), High, "policy"},
		{"two kinds of one rename", patchOf(renamed("auth/a", "ci/a")), Critical, "auth-and-ci"},
	})
}

func TestCase137_PolicyRuleSeesOldPath(t *testing.T) {
	a := Assess(patchOf(renamed("guarded/a.go", "docs/a.md")), known(), []Rule{{ID: "mine", Paths: []string{"guarded/**"}, Tier: Critical}})
	if s := wantSignal(t, a, "mine"); a.Tier != Critical || !slices.Equal(s.Files, []string{"guarded/a.go"}) {
		t.Errorf("tier %s, files %v", a.Tier, s.Files)
	}
}

func TestCase141_BinaryBecomesExecutable(t *testing.T) {
	f := diff.File{Op: diff.Modified, OldPath: "img.bin", NewPath: "img.bin", OldMode: diff.ModeRegular, NewMode: diff.ModeExecutable,
		OldBlob: "8352675", NewBlob: "1592e5c", Binary: true}
	a := Assess(patchOf(f), known(), nil)
	wantSignal(t, a, "executable-bit")
	wantSignal(t, a, "binary")
	wantNoSignal(t, a, "unreadable")
}

func TestCase142_RenameWithMode(t *testing.T) {
	a := Assess(patchOf(withModes(renamed("auth/a", "docs/a.txt"), diff.ModeRegular, diff.ModeExecutable)), known(), nil)
	wantSignal(t, a, "executable-bit")
	if s := wantSignal(t, a, "auth"); !slices.Equal(s.Files, []string{"auth/a"}) {
		t.Errorf("auth rests on %v, want the old path", s.Files)
	}
	if a.Files[0].Path != "docs/a.txt" || a.Files[0].PreviousPath != "auth/a" || !a.Files[0].NeedsReview {
		t.Errorf("file %+v", a.Files[0])
	}
}

func TestCase143_Submodules(t *testing.T) {
	submodule := func(f diff.File, oldMode, newMode diff.Mode) diff.Patch {
		f.Hunks = nil
		return patchOf(withModes(f, oldMode, newMode))
	}
	checkFloors(t, []floorCase{
		{"URL", modifiedAll(".gitmodules"), High, "submodule"},
		{"moved", submodule(modified("third_party/x"), diff.ModeSubmodule, diff.ModeSubmodule), High, "submodule"},
		{"removed", submodule(deleted("third_party/x"), diff.ModeSubmodule, ""), High, "submodule"},
		{"named like docs", submodule(added("docs"), "", diff.ModeSubmodule), High, "submodule"},
		{"in place of a program", submodule(modified("main.go"), diff.ModeRegular, diff.ModeSubmodule), High, "submodule"},
		{"in a sensitive place", submodule(modified("auth"), diff.ModeSubmodule, diff.ModeSubmodule), High, "auth"},
	})
	p := submodule(modified("auth"), diff.ModeSubmodule, diff.ModeSubmodule)
	p.Files, p.ChangedFiles = append(p.Files, modified("Makefile")), 2
	wantSignal(t, Assess(p, known(), nil), "auth-and-ci")
}

func TestCase147_CaseAndLookAlikes(t *testing.T) {
	checkFloors(t, []floorCase{
		{"BUILD.bat", modifiedAll("BUILD.bat"), Medium, "build"},
		{".GitHub/workflows", modifiedAll(".GitHub/workflows/x.yml"), High, "ci"},
		{"dockerfile", modifiedAll("dockerfile"), High, "infra"},
		{"Docs/x.go is not docs", modifiedAll("Docs/x.go"), Medium, "source"},
		{"README.MD is not docs", modifiedAll("README.MD"), Medium, "source"},
		{"capitals that split a word", modifiedAll("internal/AuTh/x.go"), High, "auth"},
		{"look-alike", modifiedAll("internal/\u0430uth/x.go"), High, "auth"},
		{"long s folds too", modifiedAll("internal/\u017Fe\u017F\u017Fion/x.go"), High, "auth"},
	})
}

// TestCase147_PolicyRulesFold: the policy's rules raise, so they match in any case.
// What lowers attention does not, and rules that allow are not of this package.
func TestCase147_PolicyRulesFold(t *testing.T) {
	for glob, path := range map[string]string{"build.bat": "BUILD.bat", "Dockerfile": "dockerfile", "résumé/**": "RÉSUMÉ/x", "docs/**": "Docs/x.md"} {
		wantSignal(t, Assess(modifiedAll(path), known(), []Rule{{ID: "mine", Paths: []string{glob}, Tier: Critical}}), "mine")
	}
}

// TestCase149_ChangedHost: that a lock file takes a package from elsewhere is for a
// scanner to see; the tier follows, with the manifest changed as well.
func TestCase149_ChangedHost(t *testing.T) {
	p := modifiedAll("package.json", "package-lock.json")
	for state, want := range map[Tri]Tier{No: Medium, Yes: High} {
		c := known()
		c.Content[RuleDependencyChange] = ContentFact{State: state, Files: []string{"package-lock.json"}}
		if a := Assess(p, c, nil); a.Tier != want || len(a.Files) != 2 {
			t.Errorf("scanner says %s: %s, %+v", state, a.Tier, a.Files)
		}
	}
	c := known()
	delete(c.Content, RuleDependencyChange)
	if a := Assess(p, c, nil); !slices.Contains(a.Unknown, RuleDependencyChange) || !a.Files[0].NeedsReview || !a.Files[1].NeedsReview {
		t.Errorf("no scanner: unknown %v, files %+v", a.Unknown, a.Files)
	}
}

func TestCase149_LockFilesAreTiered(t *testing.T) {
	checkFloors(t, []floorCase{
		{"manifest and lock", modifiedAll("package.json", "package-lock.json"), Medium, "dependency"},
		{"workspace manifest and root lock", modifiedAll("packages/a/package.json", "yarn.lock"), Medium, "dependency"},
		{"lock among other manifests", modifiedAll("z/go.mod", "a/go.mod", "m/go.mod", "m/go.sum"), Medium, "dependency"},
		{"lock in a fixture", modifiedAll("testdata/go.sum"), Medium, "test"},
		{"manifest by its extension", modifiedAll("Gemfile.lock", "acme.gemspec"), Medium, "dependency"},
		{"nuget keeps locks below", modifiedAll("src/a/packages.lock.json", "Directory.Packages.props"), Medium, "dependency"},
		{"terraform lock", modifiedAll(".terraform.lock.hcl", "main.tf"), High, "infra"},
		{"read, and nothing but versions", modifiedAll("package-lock.json"), Medium, "dependency"},
		{"read, and gone", patchOf(deleted("Cargo.lock")), High, "lock-without-manifest"},
	})
	unread := known()
	unread.Content[RuleDependencyChange] = ContentFact{State: Unknown}
	for _, tt := range []floorCase{
		{"lock alone", modifiedAll("package-lock.json"), High, "lock-without-manifest"},
		{"deleted lock", patchOf(deleted("Cargo.lock")), High, "lock-without-manifest"},
		{"lock in another folder", modifiedAll("a/package-lock.json", "b/package.json"), High, "lock-without-manifest"},
		{"lock in a folder whose name begins the same", modifiedAll("a/package-lock.json", "ab/package.json"), High, "lock-without-manifest"},
		{"lock below its manifest", modifiedAll("a/package-lock.json", "package.json"), High, "lock-without-manifest"},
		{"lock of another tool", modifiedAll("go.sum", "package.json"), High, "lock-without-manifest"},
		{"manifest in another case", modifiedAll("Cargo.lock", "cargo.TOML"), High, "lock-without-manifest"},
		{"manifest of a vendored package", modifiedAll("package-lock.json", "node_modules/x/package.json"), High, "lock-without-manifest"},
		{"manifest in a fixture", modifiedAll("go.sum", "testdata/go.mod"), High, "lock-without-manifest"},
		{"nuget, beside", modifiedAll("src/a/packages.lock.json", "src/b/b.csproj"), High, "lock-without-manifest"},
	} {
		if a := Assess(tt.patch, unread, nil); a.Tier != tt.tier || a.Signals[0].Rule != tt.rule {
			t.Errorf("%s: %s by %v, want %s by %s", tt.name, a.Tier, ids(a), tt.tier, tt.rule)
		}
	}
}

// TestCase151_DocsOnlyByTheMergeBase: the patch is taken against the merge base,
// so other people's change of auth/ on the base is not in it.
func TestCase151_DocsOnlyByTheMergeBase(t *testing.T) {
	checkFloors(t, []floorCase{{"docs", modifiedAll("docs/a.md"), Low, "docs-only"}})
}
