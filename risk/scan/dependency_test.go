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

func TestDependencyChangeElsewhere(t *testing.T) {
	for _, tt := range []dependencyCase{
		{"bump", "go.mod", `
 require (
-	github.com/a/b v1.0.0
+	github.com/a/b v1.0.1
 	github.com/c/d v1.0.0 // indirect`, no, nil},
		{"indirect becomes direct", "go.mod", `
-	github.com/a/b v1.0.0 // indirect
+	github.com/a/b v1.0.0`, no, nil},
		{"new", "go.mod", `
+	github.com/a/b v1.0.0 // indirect`, yes, []string{"10 New dependency github.com/a/b from the default registry"}},
		{"replace", "go.mod", `
+replace github.com/a/b => github.com/evil/b v1.0.0`, yes, []string{"10 A dependency is replaced: github.com/a/b by github.com/evil/b v1.0.0"}},
		{"replacement bumped", "go.mod", `
-replace github.com/a/b => github.com/e/b v1.0.0
+replace github.com/a/b => github.com/e/b v1.0.1`, no, nil},
		{"exclude", "go.mod", `
+exclude github.com/a/b v1.0.0`, no, nil},
		{"toolchain", "go.mod", `
-go 1.25.0
+go 1.26.0
-toolchain go1.25.1
+toolchain go1.26.1`, no, nil},
		{"bump", "go.sum", `
-github.com/a/b v1.0.0 h1:aa=
-github.com/a/b v1.0.0/go.mod h1:bb=
+github.com/a/b v1.0.1 h1:cc=
+github.com/a/b v1.0.1/go.mod h1:dd=
+github.com/new/x v1.0.1/go.mod h1:dd=`, no, nil},
		{"other content", "go.sum", `
-github.com/a/b v1.0.0 h1:aa=
+github.com/a/b v1.0.0 h1:bb=`, yes, []string{"10 Same version, other content: dependency github.com/a/b"}},
		{"new", "go.sum", `
+github.com/a/b v1.0.0 h1:aa=
+github.com/a/b v1.0.0/go.mod h1:bb=`, yes, []string{"10 New dependency github.com/a/b from the default registry"}},

		{"bump", "requirements.txt", `
-Foo_Bar==1.0 \
-    --hash=sha256:aa
+foo-bar==1.1 \
+    --hash=sha256:bb
 x`, no, nil},
		{"hash", "requirements.txt", `
 foo==1.0 \
-    --hash=sha256:aa
+    --hash=sha256:bb`, yes, []string{"11 Same version, other content: dependency foo"}},
		{"index", "requirements/dev.txt", `
+--extra-index-url https://u:p@evil.example/simple
 foo==1.0  # x`, yes, []string{"10 Another registry or source of packages evil.example"}},
		{"url", "requirements.txt", `
+foo @ git+https://github.com/evil/foo@main`, yes, []string{"10 New dependency foo from git github.com/evil/foo"}},
		{"comment", "requirements.txt", `
+# foo==1.0`, no, nil},
		{"bump", "pyproject.toml", `
 [project]
 dependencies = [
-    "foo[x]>=1.0,<2",
+    "foo[x]>=1.1,<2",
 ]`, no, nil},
		{"new in a list", "pyproject.toml", `
 dependencies = [
+    "evil>=1.1",
     "foo[x]>=1.1,<2",`, yes, []string{"11 New dependency evil from the default registry"}},
		{"poetry", "pyproject.toml", `
 [tool.poetry.dependencies]
-foo = "^1.0"
+foo = "^1.1"
+bar = {git = "https://evil.example/bar.git"}`, yes, []string{"12 New dependency bar from git evil.example/bar"}},
		{"linter's settings", "pyproject.toml", `
 [tool.ruff]
-line-length = 100
+line-length = 120
+target-version = "py310"`, no, nil},
		{"build backend", "pyproject.toml", `
 [build-system]
-build-backend = "hatchling.build"
+build-backend = "evil"`, yes, []string{"11 Install script added or changed: build-backend"}},
		{"bump", "poetry.lock", `
 [[package]]
 name = "foo"
-version = "1.0"
+version = "1.1"
 description = "x"
 files = [
-    {file = "foo-1.0-py3-none-any.whl", hash = "sha256:aa"},
+    {file = "foo-1.1-py3-none-any.whl", hash = "sha256:bb"},
 ]`, no, nil},
		{"bump far from its name", "poetry.lock", `
 files = [
-    {file = "foo-1.0-py3-none-any.whl", hash = "sha256:aa"},
-    {file = "foo-1.0.tar.gz", hash = "sha256:cc"},
+    {file = "foo-1.1-py3-none-any.whl", hash = "sha256:bb"},
+    {file = "foo-1.1.tar.gz", hash = "sha256:dd"},
 ]`, no, nil},
		{"other content", "uv.lock", `
 [[package]]
 name = "foo"
 version = "1.0"
 source = { registry = "https://pypi.org/simple" }
-sdist = { url = "https://files.pythonhosted.org/a/foo-1.0.tar.gz", hash = "sha256:aa", size = 1 }
+sdist = { url = "https://files.pythonhosted.org/a/foo-1.0.tar.gz", hash = "sha256:bb", size = 1 }`, yes,
			[]string{"14 Same version, other content: dependency foo"}},

		{"bump", "Cargo.toml", `
 [dependencies]
-serde = "1.0.1"
+serde = "1.0.2"
 tokio = { version = "1", features = ["full"] }`, no, nil},
		{"features", "Cargo.toml", `
-tokio = { version = "1", features = ["full"] }
+tokio = { version = "1", features = ["rt", "net"] }`, no, nil},
		{"new git", "Cargo.toml", `
 [dependencies.evil]
+git = "https://evil.example/x"
+rev = "abc"
 `, yes, []string{"11 New dependency evil from git evil.example/x"}},
		{"patch", "Cargo.toml", `
+[patch.crates-io]
+serde = { path = "../serde" }`, yes, []string{"11 A dependency is replaced: serde"}},
		{"build script", "Cargo.toml", `
 [package]
+build = "x.rs"`, yes, []string{"11 Install script added or changed: build"}},
		{"bump", "Cargo.lock", `
 [[package]]
 name = "serde"
-version = "1.0.1"
+version = "1.0.2"
 source = "registry+https://github.com/rust-lang/crates.io-index"
-checksum = "aa"
+checksum = "bb"
 dependencies = [
- "x",
+ "y",
 ]`, no, nil},
		{"other content", "Cargo.lock", `
 [[package]]
 name = "serde"
 version = "1.0.1"
 source = "registry+https://github.com/rust-lang/crates.io-index"
-checksum = "aa"
+checksum = "bb"`, yes, []string{"14 Same version, other content: dependency serde"}},
		{"other source", "Cargo.lock", `
 name = "serde"
 version = "1.0.1"
-source = "registry+https://github.com/rust-lang/crates.io-index"
+source = "git+https://evil.example/serde#abc"`, yes, []string{"12 Dependency serde now comes from git evil.example/serde"}},
		{"new", "Cargo.lock", `
+[[package]]
+name = "evil"
+version = "1.0.1"
+source = "registry+https://github.com/rust-lang/crates.io-index"
+checksum = "aa"
+
 [[package]]
 name = "serde"`, yes, []string{"11 New dependency evil from the default registry"}},

		{"own member", "Cargo.lock", `
+[[package]]
+name = "ours"
+version = "0.1.0"
+
 [[package]]
 name = "serde"`, no, nil},
		{"path moved", "Cargo.toml", `
-ours = { path = "../ours", version = "0.1" }
+ours = { path = "../ours", version = "0.2" }`, no, nil},
		{"one more file", "uv.lock", `
 name = "foo"
 version = "1.0"
 source = { registry = "https://pypi.org/simple" }
+sdist = { url = "https://files.pythonhosted.org/a/foo-1.0.tar.gz", hash = "sha256:bb", size = 1 }
 wheels = [
     { url = "https://files.pythonhosted.org/a/foo-1.0-py3-none-any.whl", hash = "sha256:aa", size = 1 },`, yes,
			[]string{"13 Same version, one more file: dependency foo"}},
		{"bump", "Gemfile", `
-gem "rails", "~> 7.0"
+gem "rails", "~> 7.1"`, no, nil},
		{"source", "Gemfile", `
-gem "rails", "~> 7.0"
+gem "rails", github: "evil/rails"
+source "https://evil.example"`, yes, []string{"10 Dependency rails now comes from git github.com/evil/rails", "11 Another registry or source of packages evil.example"}},
		{"bump", "Gemfile.lock", `
     rack (2.0)
-    rails (7.0)
-      rack (>= 1)
+    rails (7.1)
+      rack (>= 2)`, no, nil},
		{"new", "Gemfile.lock", `
     rack (2.0)
+    evil (7.0)`, yes, []string{"11 New dependency evil from the default registry"}},

		{"another platform", "Gemfile.lock", `
 CHECKSUMS
   a (1.0) sha256=aa
+  a (1.0-x86_64-linux) sha256=bb`, no, nil},
		{"other content", "Gemfile.lock", `
 CHECKSUMS
-  a (1.0) sha256=aa
+  a (1.0) sha256=bb`, yes, []string{"11 Same version, other content: dependency a"}},
		{"bump", "composer.json", `
   "require": {
-    "a/b": "^1.0",
+    "a/b": "^1.1",
     "php": ">=8"`, no, nil},
		{"script", "composer.json", `
   "scripts": {
+    "post-install-cmd": ["@php x"],`, yes, []string{"11 Install script added or changed: post-install-cmd"}},
		{"bump", "composer.lock", `
             "name": "a/b",
-            "version": "1.0.0",
+            "version": "1.0.1",
             "source": {
                 "type": "git",
                 "url": "https://github.com/a/b.git",
-                "reference": "aa"
+                "reference": "bb"
             },
             "dist": {
                 "type": "zip",
-                "url": "https://api.github.com/repos/a/b/zipball/aa",
-                "reference": "aa",
+                "url": "https://api.github.com/repos/a/b/zipball/bb",
+                "reference": "bb",
                 "shasum": ""`, no, nil},
		{"other repository", "composer.lock", `
             "name": "a/b",
             "version": "1.0.0",
             "source": {
                 "type": "git",
-                "url": "https://github.com/a/b.git",
+                "url": "https://github.com/evil/b.git",
                 "reference": "aa"`, yes, []string{"14 Dependency a/b now comes from github.com/evil/b"}},

		{"bump", "pom.xml", `
       <groupId>a</groupId>
       <artifactId>b</artifactId>
-      <version>1.0</version>
+      <version>1.1</version>
     </dependency>`, no, nil},
		{"new", "pom.xml", `
     <dependencies>
+    <dependency>
+      <groupId>a</groupId>
+      <artifactId>b</artifactId>
+      <version>1.0</version>
+    </dependency>`, yes, []string{"11 New dependency a:b from the default registry"}},
		{"repository", "pom.xml", `
     <repository>
+      <url>https://evil.example/m2</url>
     </repository>`, yes, []string{"11 Another registry or source of packages evil.example"}},
		{"bump", "build.gradle.kts", `
-    implementation("a.b:c:1.0")
+    implementation("a.b:c:1.1")
-    id("org.x") version "1"
+    id("org.x") version "2"`, no, nil},
		{"new", "build.gradle", `
+    implementation 'a.b:c:1.0'`, yes, []string{"10 New dependency a.b:c from the default registry"}},
		{"bump", "gradle/libs.versions.toml", `
 [versions]
-okhttp = "4.0.0"
+okhttp = "4.1.0"`, no, nil},
		{"new", "gradle/libs.versions.toml", `
 [libraries]
+evil = { module = "a.b:evil", version.ref = "x" }`, yes, []string{"11 New dependency a.b:evil from the default registry"}},
		{"wrapper", "gradle/wrapper/gradle-wrapper.properties", `
-distributionUrl=https\://services.gradle.org/distributions/gradle-8.1-bin.zip
+distributionUrl=https\://services.gradle.org/distributions/gradle-8.2-bin.zip`, no, nil},
		{"bump", "src/App.csproj", `
-    <PackageReference Include="A.B" Version="1.0" />
+    <PackageReference Include="A.B" Version="1.1" />`, no, nil},
		{"source", "NuGet.config", `
+    <add key="evil" value="https://evil.example/v3/index.json" />`, yes, []string{"10 Another registry or source of packages evil.example"}},
		{"source", ".cargo/config.toml", `
+[source.crates-io]
+replace-with = "evil"
+[source.evil]
+registry = "https://evil.example/index"`, yes, []string{"11 Another registry or source of packages source.crates-io.replace-with", "13 Another registry or source of packages evil.example"}},
		{"no reader", "mix.exs", `
+{:x, "~> 1"}`, risk.Unknown, nil},
		{"robot's settings", ".github/dependabot.yml", `
+version: 2`, no, nil},
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

	cut := change("package-lock.json", 1, "-x", "+y")
	cut.Hunks, cut.Truncated = nil, true
	wantState(t, scanOf(cut), risk.RuleDependencyChange, risk.Unknown)
	r = Patch(context.Background(), p, files, Limits{DependencyBytes: 100})
	wantState(t, r, risk.RuleDependencyChange, risk.Unknown)
	// Nothing about dependencies.
	wantState(t, scanOf(change("a.go", 1, "+x")), risk.RuleDependencyChange, no)
}
