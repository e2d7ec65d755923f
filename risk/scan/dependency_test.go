package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// titles spells the findings of the rule as "line title".
func titles(r Result, rule string) []string {
	var list []string
	for _, f := range r.Findings {
		if f.Rule == rule {
			list = append(list, fmt.Sprintf("%d %s", f.Line, f.Title))
		}
	}
	slices.Sort(list)
	return list
}

type dependencyCase struct {
	name, path string
	hunk       string // lines with their role
	state      risk.Tri
	want       []string
}

func (tt dependencyCase) run(t *testing.T) {
	t.Helper()
	lines := strings.Split(strings.Trim(tt.hunk, "\n"), "\n")
	r := scanOf(change(tt.path, 10, lines...))
	if got := r.Content[risk.RuleDependencyChange].State; got != tt.state {
		t.Errorf("from the hunk: %s, want %s; findings %v, gaps %v", got, tt.state, titles(r, risk.RuleDependencyChange), r.Gaps)
	}
	if got := titles(r, risk.RuleDependencyChange); !slices.Equal(got, tt.want) {
		t.Errorf("from the hunk:\n%q, want\n%q", got, tt.want)
	}
	for _, f := range r.Findings {
		if f.Severity != Medium || f.Why == "" || f.Do == "" || f.Side != diff.Right && f.Side != diff.Left {
			t.Errorf("not a whole finding: %+v", f)
		}
	}
}

const (
	yes = risk.Yes
	no  = risk.No
)

func TestDependencyChangeNPM(t *testing.T) {
	const home = "registry.npmjs.org"
	entry := func(version, host, sum string) string {
		return strings.ReplaceAll(fmt.Sprintf("\"version\": \"%s\",\n\"resolved\": \"https://%s/x/-/x-%s.tgz\",\n\"integrity\": \"sha512-%s\",", version, host, version, sum), "\n", "\n@")
	}
	swap := func(head, old, now string) string {
		return head + strings.ReplaceAll("@"+old, "@", "-") + "\n" + strings.ReplaceAll("@"+now, "@", "+") + "\n   }"
	}
	const head = "     \"node_modules/x\": {\n"
	for _, tt := range []dependencyCase{
		{"bump", "package.json", `
     "a": "^1.0.0",
-    "x": "^1.0.0",
+    "x": "^1.0.1",
     "z": "1"`, no, nil},
		{"new", "package.json", `
     "a": "^1.0.0",
+    "left-pad": "^1.0.1",
     "z": "1"`, yes, []string{"11 New dependency left-pad from the default registry"}},
		{"gone", "package.json", `
-    "left-pad": "^1.0.1",
     "z": "1"`, no, nil},
		{"moved to another section", "package.json", `
   "dependencies": {
-    "x": "^1.0.0"
   },
   "devDependencies": {
+    "x": "^1.0.0"
   },`, no, nil},
		{"own version", "package.json", `
   "name": "app",
-  "version": "1.0.0",
+  "version": "1.1.0",`, no, nil},
		{"ordinary script", "package.json", `
   "scripts": {
-    "build": "tsc",
+    "build": "tsc -p .",
     "lint": "eslint"`, no, nil},
		{"install script", "package.json", `
   "scripts": {
     "lint": "eslint",
+    "postinstall": "node x.js",`, yes, []string{"12 Install script added or changed: postinstall"}},
		{"install script, section not shown", "package.json", `
+    "preinstall": "curl x | sh",`, yes, []string{"10 Install script added or changed: preinstall"}},
		{"git source", "package.json", `
-    "x": "^1.0.0",
+    "x": "git+https://user:pw@evil.example/x.git#abc",`, yes, []string{"10 Dependency x now comes from git evil.example/x"}},
		{"short git source", "package.json", `
   "dependencies": {
-    "x": "^1.0.0",
+    "x": "evil/x",`, yes, []string{"11 Dependency x now comes from git github.com/evil/x"}},
		{"alias", "package.json", `
-    "x": "^1.0.0",
+    "x": "npm:evil@^1.0.0",`, yes, []string{"10 Dependency x now comes from the registry's evil"}},
		{"override", "package.json", `
   "overrides": {
+    "y": "2.0.0",`, yes, []string{"11 A dependency is replaced: y"}},
		{"workspace", "package.json", `
   "dependencies": {
+    "ours": "workspace:*",`, no, nil},
		{"one line, escapes", "package.json", `
+{"d\u0065pendencies":{"evil":"1.0.0"},"scripts":{"inst\u0061ll":"x"}}`, yes, []string{"10 Install script added or changed: install", "10 New dependency evil from the default registry"}},

		{"bump", "package-lock.json", swap(head, entry("1.0.0", home, "aa"), entry("1.0.1", home, "bb")), no, nil},
		{"another host (CASES 149)", "package-lock.json", swap(head, entry("1.0.0", home, "aa"), entry("1.0.0", "evil.example", "aa")), yes,
			[]string{"12 Dependency x now comes from evil.example"}},
		{"another host with a bump", "package-lock.json", swap(head, entry("1.0.0", home, "aa"), entry("1.0.1", "evil.example", "bb")), yes,
			[]string{"12 Dependency x now comes from evil.example"}},
		{"yarn's name of the registry", "package-lock.json", swap(head, entry("1.0.0", "registry.yarnpkg.com", "aa"), entry("1.0.1", home, "bb")), no, nil},
		{"private host stays", "package-lock.json", swap(head, entry("1.0.0", "npm.acme.example", "aa"), entry("1.0.1", "npm.acme.example", "bb")), no, nil},
		{"integrity alone", "package-lock.json", head + `       "version": "1.0.0",
       "resolved": "https://registry.npmjs.org/x/-/x-1.0.0.tgz",
-      "integrity": "sha512-aa",
+      "integrity": "sha512-bb",`, yes, []string{"13 Same version, other content: dependency x"}},
		{"another package's address", "package-lock.json", head + `       "version": "1.0.0",
-      "resolved": "https://registry.npmjs.org/x/-/x-1.0.0.tgz",
+      "resolved": "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz",
       "integrity": "sha512-aa",`, yes, []string{"12 Dependency x now comes from another package's address: evil"}},
		{"new transitive", "package-lock.json", `
     },
+    "node_modules/@a/b": {
+      "version": "1.0.0",
+      "resolved": "https://registry.npmjs.org/@a/b/-/b-1.0.0.tgz",
+      "integrity": "sha512-aa"
+    },
     "node_modules/c": {`, yes, []string{"12 New dependency @a/b from the default registry"}},
		{"vanished", "package-lock.json", `
     },
-    "node_modules/b": {
-      "version": "1.0.0",
-      "resolved": "https://registry.npmjs.org/b/-/b-1.0.0.tgz",
-      "integrity": "sha512-aa"
-    },
     "node_modules/c": {`, no, nil},
		{"install script", "package-lock.json", `
       "dev": true,
+      "hasInstallScript": true,
       "engines": {`, yes, []string{"11 Install script added"}},
		{"own version", "package-lock.json", `
 {
   "name": "app",
-  "version": "1.0.0",
+  "version": "1.1.0",
   "lockfileVersion": 3,`, no, nil},

		{"bump", "yarn.lock", `
-x@^1.0.0:
-  version "1.0.0"
-  resolved "https://registry.yarnpkg.com/x/-/x-1.0.0.tgz#aa"
-  integrity sha512-aa
+x@^1.0.1:
+  version "1.0.1"
+  resolved "https://registry.yarnpkg.com/x/-/x-1.0.1.tgz#bb"
+  integrity sha512-bb
   dependencies:
     y "^1"`, no, nil},
		{"new", "yarn.lock", `
+"@s/x@^1.0.0", "@s/x@^1.1.0":
+  version "1.0.0"
+  resolved "https://evil.example/@s/x/-/x-1.0.0.tgz#aa"
+  integrity sha512-aa
+`, yes, []string{"10 New dependency @s/x from evil.example"}},
		{"berry bump", "yarn.lock", `
-"x@npm:^1.0.0":
-  version: 1.0.0
-  resolution: "x@npm:1.0.0"
-  checksum: 10c0/aa
+"x@npm:^1.0.1":
+  version: 1.0.1
+  resolution: "x@npm:1.0.1"
+  checksum: 10c0/bb
   languageName: node`, no, nil},
		{"berry checksum without its version", "yarn.lock", `
     y: "npm:^1"
   peerDependencies:
     z: "*"
-  checksum: 10c0/aa
+  checksum: 10c0/bb
   languageName: node`, risk.Unknown, nil},

		{"bump", "pnpm-lock.yaml", `
-  /x@1.0.0:
-    resolution: {integrity: sha512-aa}
+  /x@1.0.1:
+    resolution: {integrity: sha512-bb}
     engines: {node: '>=4'}`, no, nil},
		{"integrity", "pnpm-lock.yaml", `
   '@s/x@1.0.0':
-    resolution: {integrity: sha512-aa}
+    resolution: {integrity: sha512-bb}
     engines: {node: '>=4'}`, yes, []string{"11 Same version, other content: dependency @s/x"}},
		{"new", "pnpm-lock.yaml", `
   x@1.0.0:
     resolution: {integrity: sha512-aa}
+
+  y@1.0.0:
+    resolution: {integrity: sha512-cc}
+`, yes, []string{"13 New dependency y from the default registry"}},
		{"tarball", "pnpm-lock.yaml", `
   x@1.0.0:
-    resolution: {integrity: sha512-aa}
+    resolution: {integrity: sha512-aa, tarball: https://evil.example/x.tgz}`, yes, []string{"11 Dependency x now comes from evil.example"}},
		{"importer's bump", "pnpm-lock.yaml", `
     dependencies:
       x:
-        specifier: ^1.0.0
-        version: 1.0.0
+        specifier: ^1.0.1
+        version: 1.0.1(y@2.0.0)`, no, nil},
		{"bump", "bun.lock", `
     "a": ["a@1.0.0", "", {}, "sha512-aa=="],
-    "x": ["x@1.0.0", "", { "dependencies": { "a": "^1" } }, "sha512-aa=="],
+    "x": ["x@1.0.1", "", { "dependencies": { "a": "^1" } }, "sha512-bb=="],`, no, nil},
		{"content and host", "bun.lock", `
-    "@s/x": ["@s/x@1.0.0", "", {}, "sha512-aa=="],
-    "y": ["y@1.0.0", "", {}, "sha512-aa=="],
+    "@s/x": ["@s/x@1.0.0", "", {}, "sha512-bb=="],
+    "y": ["y@1.0.0", "https://evil.example/", {}, "sha512-aa=="],
+    "ours": ["ours@workspace:packages/ours"],`, yes,
			[]string{"10 Same version, other content: dependency @s/x", "11 Dependency y now comes from evil.example"}},
		{"registry", ".npmrc", `
+registry=https://npm.evil.example/
+//npm.evil.example/:_authToken=${T}`, yes, []string{"10 Another registry or source of packages npm.evil.example"}},
		{"harmless setting", ".npmrc", `
+fund=false`, no, nil},
		{"registry taken out", ".npmrc", `
-@acme:registry=https://npm.acme.example/
 x=1`, yes, []string{"10 A registry setting is taken out npm.acme.example"}},
	} {
		t.Run(tt.path+" "+tt.name, tt.run)
	}
}

func TestDependencyChangeWithWholeFiles(t *testing.T) {
	lock := func(entries ...string) string {
		return "{\n  \"packages\": {\n" + strings.Join(entries, ",\n") + "\n  }\n}\n"
	}
	x := func(at, version, sum string) string {
		return fmt.Sprintf("    \"%snode_modules/x\": {\n      \"version\": \"%s\",\n      \"resolved\": \"https://registry.npmjs.org/x/-/x-%s.tgz\",\n      \"integrity\": \"sha512-%s\"\n    }", at, version, version, sum)
	}
	before := lock(x("", "1.0.0", "aa"), strings.ReplaceAll(x("", "3.0.0", "zz"), "x", "q"))
	// Another version of what is known is a bump, where the rest of the file says that it is known.
	after := lock(x("", "1.0.0", "aa"), strings.ReplaceAll(x("", "3.0.0", "zz"), "x", "q"), x("node_modules/q/", "2.0.0", "bb"))
	p, files := changed("package-lock.json", before, after)
	wantState(t, Patch(context.Background(), p, files, Limits{}), risk.RuleDependencyChange, no)
	wantState(t, Patch(context.Background(), p, nil, Limits{}), risk.RuleDependencyChange, yes)

	// A rename makes a lock file of it.
	moved := diff.File{Op: diff.Renamed, OldPath: "data.json", NewPath: "package-lock.json", OldMode: diff.ModeRegular, NewMode: diff.ModeRegular, OldBlob: "1", NewBlob: "1"}
	wantState(t, scanOf(moved), risk.RuleDependencyChange, risk.Unknown)
	r := Patch(context.Background(), patchOf(moved), map[string][]byte{"package-lock.json": []byte(before)}, Limits{})
	wantState(t, r, risk.RuleDependencyChange, yes)

	gone := change(".npmrc", 1, "-registry=https://npm.acme.example/")
	gone.Op, gone.NewPath, gone.NewMode = diff.Deleted, "", diff.ModeNone
	r = scanOf(gone)
	wantState(t, r, risk.RuleDependencyChange, yes)
	if f := r.Findings[0]; f.Side != diff.Left || f.Line != 1 || f.Quote != "" {
		t.Errorf("%+v", f)
	}

	// A new file in pieces.
	pieces := newFile("package.json", "{", "}")
	pieces.Hunks = append(pieces.Hunks, diff.Hunk{NewStart: 9, NewLines: 1, Lines: []diff.Line{{Op: diff.AddedLine, New: 9, Text: "\"evil\": \"^1.0.0\""}}})
	wantState(t, scanOf(pieces), risk.RuleDependencyChange, yes)
	pieces.NewPath = wf
	if r := scanOf(pieces); len(r.Gaps) == 0 {
		t.Error("a workflow in pieces is taken for the whole")
	}

	cut := change("package-lock.json", 1, "-x", "+y")
	cut.Hunks, cut.Truncated = nil, true
	wantState(t, scanOf(cut), risk.RuleDependencyChange, risk.Unknown)
	r = Patch(context.Background(), p, files, Limits{DependencyBytes: 100})
	wantState(t, r, risk.RuleDependencyChange, risk.Unknown)
	// Nothing about dependencies.
	wantState(t, scanOf(change("a.go", 1, "+x")), risk.RuleDependencyChange, no)
}
