package scan

import (
	"testing"

	"github.com/countersign/countersign/risk"
)

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

		{"another commit", "Cargo.lock", `
 name = "x"
 version = "0.1.0"
-source = "git+https://github.com/a/x?branch=main#aaaa"
+source = "git+https://github.com/a/x?branch=main#bbbb"`, yes, []string{"12 Dependency x moves to other code of git github.com/a/x"}},
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
