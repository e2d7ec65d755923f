package risk

import (
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// TestFloors has a row for each line of the table that paths, modes and counts
// decide. Everything else is known and quiet.
func TestFloors(t *testing.T) {
	exec := func(f diff.File) diff.File { return withModes(f, f.OldMode, diff.ModeExecutable) }
	checkFloors(t, []floorCase{
		{"no files", patchOf(), Low, "no-files"},
		{"docs", modifiedAll("README.md", "docs/login.png", "auth/README.md"), Low, "docs-only"},
		{"a picture in the docs", patchOf(func() diff.File {
			f := modified("docs/login.png")
			f.Binary = true
			return f
		}()), Low, "docs-only"},
		{"source", modifiedAll("main.go"), Medium, "source"},
		{"docs and source", modifiedAll("main.go", "README.md"), Medium, "source"},
		{"tests are never skipped", modifiedAll("main_test.go"), Medium, "test"},
		{"tests alone are never high", modifiedAll("auth/login_test.go", "tests/Dockerfile", "testdata/key.pem", "e2e/session.ts"), Medium, "test"},
		{"config", modifiedAll("app.yml"), Medium, "config"},
		{"generated", modifiedAll("a.pb.go"), Medium, "generated"},
		{"binary", modifiedAll("logo.png"), Medium, "binary"},
		{"vendored with its manifest", modifiedAll("vendor/x.org/y.go", "go.mod"), Medium, "dependency"},
		{"vendored alone", modifiedAll("vendor/x.org/y.go"), High, "vendored-without-manifest"},
		{"third party needs no manifest", modifiedAll("third_party/z.c"), Medium, "vendored"},
		{"auth", modifiedAll("internal/auth/session.go"), High, "auth"},
		{"secrets", modifiedAll(".env.production"), High, "secrets"},
		{"db", modifiedAll("db/migrations/1.up.sql"), High, "db-migration"},
		{"ci", modifiedAll("Makefile"), High, "ci"},
		{"infra", modifiedAll("main.tf"), High, "infra"},
		{"policy", modifiedAll(".github/countersign.yml"), High, "policy"},
		{"code owners under docs", modifiedAll("docs/CODEOWNERS"), High, "policy"},
		{"agents' instructions", modifiedAll("AGENTS.md"), Medium, "agent-instructions"},
		{"agents' hook", modifiedAll(".claude/hooks/format.py"), Medium, "agent-instructions"},
		{"action in an agent's folder", modifiedAll(".github/actions/.claude/action.yml"), High, "ci"},
		{"secrets in an agent's folder", modifiedAll(".claude/.env"), High, "secrets"},
		{"manifest", modifiedAll("package.json"), Medium, "dependency"},
		{"auth and ci", modifiedAll("auth/a.go", "Makefile"), Critical, "auth-and-ci"},
		{"auth and ci in one name", modifiedAll("ci/login.sh"), High, "auth"},
		{"auth and db", modifiedAll("auth/a.go", "db/1.sql"), Critical, "auth-and-db"},
		{"ci and secrets", modifiedAll("Makefile", "secrets/a.txt"), Critical, "ci-and-secrets"},
		{"auth tests and ci are not auth and ci", modifiedAll("auth/a_test.go", "Makefile"), High, "ci"},
		{"executable bit", patchOf(exec(modified("run.sh"))), High, "executable-bit"},
		{"added executable", patchOf(exec(added("run.sh"))), High, "executable-bit"},
		{"copy of an executable", patchOf(withModes(copied("a.sh", "b.sh"), diff.ModeExecutable, diff.ModeExecutable)), High, "executable-bit"},
		{"symlink becomes executable", patchOf(withModes(modified("run.sh"), diff.ModeSymlink, diff.ModeExecutable)), High, "executable-bit"},
		{"executable docs", patchOf(exec(modified("README.md"))), High, "executable-bit"},
		{"prose that runs", patchOf(withModes(modified("INSTALL"), diff.ModeExecutable, diff.ModeExecutable)), Medium, "source"},
		{"still executable", patchOf(withModes(modified("run.sh"), diff.ModeExecutable, diff.ModeExecutable)), Medium, "source"},
		{"executable no more", patchOf(withModes(modified("run.sh"), diff.ModeExecutable, diff.ModeRegular)), Medium, "source"},
		{"deleted executable", patchOf(withModes(deleted("run.sh"), diff.ModeExecutable, "")), Medium, "source"},
		{"symlink added", patchOf(withModes(added("README.md"), "", diff.ModeSymlink)), High, "symlink"},
		{"symlink removed", patchOf(withModes(deleted("x"), diff.ModeSymlink, "")), High, "symlink"},
	})
}

func TestRequiredWorkflow(t *testing.T) {
	const ci = ".github/workflows/ci.yml"
	exact := func(c *Context) { c.RequiredWorkflows, c.RequiredNames = []string{ci}, []string{"build"} }
	tests := []struct {
		name    string
		file    diff.File
		ctx     func(*Context)
		fired   bool
		unknown bool
	}{
		{"changed", modified(ci), exact, true, false},
		{"changed in another case", modified(".github/Workflows/CI.yml"), exact, true, false},
		{"deleted", deleted(ci), exact, true, false},
		{"renamed away", renamed(ci, "old.yml"), exact, true, false},
		{"another one changed", modified(".github/workflows/lint.yml"), exact, false, false},
		{"another one added", added(".github/workflows/lint.yml"), exact, true, false},
		{"another one renamed", renamed(".github/workflows/a.yml", ".github/workflows/b.yml"), exact, true, false},
		{"another one renamed away", renamed(".github/workflows/a.yml", "a.yml"), exact, false, false},
		{"added in a subfolder, where none is run", added(".github/workflows/x/lint.yml"), exact, false, false},
		{"another one deleted", deleted(".github/workflows/lint.yml"), exact, false, false},
		{"another one becomes a symlink", func() diff.File {
			f := withModes(modified(".github/workflows/lint.yml"), diff.ModeRegular, diff.ModeSymlink)
			f.Op = diff.TypeChanged
			return f
		}(), exact, false, false},
		{"another CI's file that reports one", modified("Jenkinsfile"), func(c *Context) { exact(c); c.RequiredWorkflows = []string{"jenkinsfile"} }, true, false},
		{"added, nothing required", added(ci), func(*Context) {}, false, false},
		{"added, not known", added(ci), func(c *Context) { c.RequiredKnown = false }, true, false},
		{"changed, not known", modified(ci), func(c *Context) { c.RequiredKnown = false }, false, true},
		{"changed, not known in full", modified(ci), func(c *Context) { exact(c); c.RequiredKnown = false }, true, false},
		{"no workflow, not known", modified("main.go"), func(c *Context) { c.RequiredKnown = false }, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := known()
			tt.ctx(&c)
			a := Assess(patchOf(tt.file), c, nil)
			if _, fired := signal(a, "required-workflow"); fired != tt.fired || fired && a.Tier != Critical {
				t.Errorf("fired %t at %s, want %t", fired, a.Tier, tt.fired)
			}
			if unknown := slices.Contains(a.Unknown, "required-workflow"); unknown != tt.unknown {
				t.Errorf("unknown %v", a.Unknown)
			}
			if tt.unknown {
				if s := wantSignal(t, a, "ci"); s.Detail == "" || a.Tier != High {
					t.Errorf("ci %+v at %s: the doubt is not said", s, a.Tier)
				}
			}
		})
	}
}

func TestContentRules(t *testing.T) {
	patch := patchOf(modified("go.mod"), modified(".github/workflows/ci.yml"), modified("a.go"), modified("a_test.go"))
	none := known()
	none.Content = nil
	a := Assess(patch, none, nil)
	want := []string{RuleCredential, RuleDependencyChange, RuleActionPin, RuleHiddenCharacters, RuleHiddenText, RuleTestsRemoved}
	if !slices.Equal(a.Unknown, want) {
		t.Errorf("unknown %v, want %v", a.Unknown, want)
	}
	if a := Assess(modifiedAll("README.md"), none, nil); !slices.Equal(a.Unknown, []string{RuleCredential, RuleHiddenCharacters, RuleHiddenText}) {
		t.Errorf("unknown for docs %v: rules that cannot apply are listed", a.Unknown)
	}
	for _, r := range RuleIDs() {
		if r.Content != slices.Contains(want, r.ID) {
			t.Errorf("%s is marked as a scanner's: %t", r.ID, r.Content)
		}
		if !r.Content {
			continue
		}
		c := known()
		c.Content[r.ID] = ContentFact{State: Yes, Files: []string{"a.go"}}
		a := Assess(patch, c, nil)
		s := wantSignal(t, a, r.ID)
		if s.Floor != r.Floor || s.Raise != r.Raise || !slices.Equal(s.Files, []string{"a.go"}) {
			t.Errorf("%s: signal %+v, table %+v", r.ID, s, r)
		}
		if a.Tier < r.Floor || r.Raise && !a.Raised {
			t.Errorf("%s: tier %s, raised %t", r.ID, a.Tier, a.Raised)
		}
		wantNoSignal(t, Assess(patch, known(), nil), r.ID)
	}
}

func TestCIPaths(t *testing.T) {
	c := known()
	c.CIPaths = []string{"scripts/Build.sh", "tests/run.sh", "docs/check.md"}
	for _, path := range []string{"scripts/BUILD.sh", "tests/run.sh", "docs/check.md"} {
		a := Assess(modifiedAll(path), c, nil)
		if a.Tier != High || !a.Files[0].NeedsReview {
			t.Errorf("%s that a required job runs is %s, %+v", path, a.Tier, a.Files[0])
		}
	}
}

func TestLockNeedsReviewUntilScanned(t *testing.T) {
	patch := modifiedAll("go.mod", "go.sum")
	for state, want := range map[Tri]bool{Unknown: true, No: false, Yes: false} {
		c := known()
		c.Content[RuleDependencyChange] = ContentFact{State: state}
		if a := Assess(patch, c, nil); a.Files[1].NeedsReview != want || !a.Files[0].NeedsReview {
			t.Errorf("scanner says %s: %+v", state, a.Files)
		}
	}
}

func TestRuleIDs(t *testing.T) {
	seen := map[string]bool{}
	last := Critical
	for _, r := range RuleIDs() {
		if r.ID == "" || strings.Trim(r.ID, "abcdefghijklmnopqrstuvwxyz-") != "" || seen[r.ID] {
			t.Errorf("id %q is empty, repeated or not in kebab case", r.ID)
		}
		seen[r.ID] = true
		if r.Sentence == "" || strings.HasSuffix(r.Sentence, ".") {
			t.Errorf("%s: sentence %q", r.ID, r.Sentence)
		}
		if r.ID == RuleAskPath {
			break
		}
		if r.Floor > last {
			t.Errorf("%s comes after a lower floor", r.ID)
		}
		last = r.Floor
	}
}

func TestSignalsAreOrdered(t *testing.T) {
	c := known()
	c.Author = Author{Write: No, FirstContribution: Yes}
	patch := modifiedAll("b.go", "auth/a.go", "Makefile", "x.yml", "b.go")
	patch.ChangedFiles--
	a := Assess(patch, c, []Rule{{ID: "mine", Paths: []string{"**"}, Tier: Critical}})
	want := []string{"auth-and-ci", "mine", "auth", "ci", "build", "source", "config", "newcomer"}
	if got := ids(a); !slices.Equal(got, want) {
		t.Errorf("signals %v, want %v", got, want)
	}
	if s := wantSignal(t, a, "source"); !slices.Equal(s.Files, []string{"auth/a.go", "b.go"}) {
		t.Errorf("files %v are not sorted or not unique", s.Files)
	}
}
