package scan

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// readablePaths are a file of every format, and of none.
func readablePaths() []string {
	return []string{"package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "go.mod", "go.sum", "Cargo.toml", "Cargo.lock", "uv.lock",
		"pyproject.toml", "Pipfile", "Pipfile.lock", "requirements.txt", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock", "pom.xml",
		"build.gradle", "libs.versions.toml", ".npmrc", "pip.conf", ".yarnrc.yml", ".cargo/config.toml", "nuget.config", "a.csproj", "mix.exs"}
}

// holds checks what must be so of any finding about a file.
func holds(t *testing.T, r Result, path, before, after string) {
	t.Helper()
	for _, f := range r.Findings {
		last := len(splitLines(after))
		if f.Side == diff.Left {
			last = len(splitLines(before))
		}
		if f.Path != path || f.Line < 0 || f.Line > last || f.Title == "" || f.Side != diff.Left && f.Side != diff.Right {
			t.Fatalf("%+v of %d lines", f, last)
		}
		if visible(f.Title, 1<<10) != f.Title {
			t.Fatalf("title %+q", f.Title)
		}
	}
}

func FuzzDependencies(f *testing.F) {
	for i := range readablePaths() {
		f.Add(uint8(i), "", "{\"dependencies\": {\"x\": \"1\"}}")
	}
	f.Add(uint8(1), "{\n\"packages\":{\n\"node_modules/x\":{\n\"version\":\"1\",\n\"integrity\":\"sha512-a\"}}}", "{\n\"packages\":{\n\"node_modules/x\":{\n\"version\":\"1\",\n\"integrity\":\"sha512-b\"}}}")
	f.Add(uint8(3), "packages:\n  /x@1.0.0:\n    resolution: {integrity: a}\n", "packages:\n  /x@1.0.0:\n    resolution: {integrity: b, tarball: https://e/x}\n")
	f.Add(uint8(7), "[[package]]\nname = \"x\"\n", "[[package]]\nname = \"x\"\nsource = \"git+https://e/x#1\"\n")
	f.Add(uint8(9), "[project]\ndependencies = [\n\"a\",\n]\n", "[project]\ndependencies = [\n\"a\",\n\"b @ git+ssh://u:p@e/b\",\n]\n[tool.uv.sources]\nb = {path='''x'''}\n")
	f.Add(uint8(17), "<dependency>\n<groupId>a</groupId>", "<dependency>\n<!-- x\n--><groupId>a</groupId><artifactId>b</artifactId>\n</dependency>")
	f.Fuzz(func(t *testing.T, which uint8, before, after string) {
		if len(before) > 2000 || len(after) > 2000 || before == after {
			return
		}
		path := readablePaths()[int(which)%len(readablePaths())]
		p, files := hunked(path, before, after)
		src, ok := newSource(p.Files[0], files[path], true)
		if old, now := src.sides(); ok && src.whole && (textOf(old) != before && textOf(old)+"\n" != before && textOf(old) != before+"\n" || len(now) != len(old)) {
			t.Fatalf("before: %q, want %q", textOf(old), before)
		}
		whole := Patch(context.Background(), p, files, Limits{})
		holds(t, whole, path, before, after)
		holds(t, Patch(context.Background(), p, nil, Limits{}), path, before, after)
		if again := Patch(context.Background(), p, files, Limits{}); fmt.Sprint(again) != fmt.Sprint(whole) {
			t.Fatalf("%v, before %v", again, whole)
		}
	})
}

func textOf(runs [][]line) string {
	var b strings.Builder
	for _, run := range runs {
		for _, l := range run {
			b.WriteString(l.text + "\n")
		}
	}
	return b.String()
}

func FuzzTests(f *testing.F) {
	paths := []string{"a_test.go", "tests/test_a.py", "a.test.ts", "spec/a_spec.rb", "src/lib.rs", "src/test/ATest.java", "ATests.cs", "tests/ATest.php", "ATests.swift",
		"a_test.exs", "a_test.dart", "a_test.cc"}
	for i := range paths {
		f.Add(uint8(i), "func TestA(t *testing.T) {\n", "t.Skip()\n")
	}
	f.Add(uint8(2), "it('a', () => {\n", "it.skip('a', () => {\n  this.skip()\n")
	f.Add(uint8(5), "@Test\nvoid a() {}\n@Test\nvoid b() {}\n", "@Test\n@Disabled\nvoid b() {}\n")
	f.Fuzz(func(t *testing.T, which uint8, before, after string) {
		if len(before) > 2000 || len(after) > 2000 || before == after {
			return
		}
		path := paths[int(which)%len(paths)]
		p, files := hunked(path, before, after)
		if len(p.Files[0].Hunks) == 0 {
			return // the same lines
		}
		r := Patch(context.Background(), p, files, Limits{})
		holds(t, r, path, before, after)
		if got := Patch(context.Background(), p, nil, Limits{}); got.Content[risk.RuleTestsRemoved].State == risk.Unknown {
			t.Fatal(got.Gaps)
		}
	})
}

func FuzzComposite(f *testing.F) {
	const path = "x/action.yml"
	f.Add("runs:\n  using: composite\n", "name: x\nruns:\n  using: composite\n  steps:\n    - run: |\n        echo ${{ github.head_ref }}\n")
	f.Add("", "a:\nruns:\n  using: 'composite'\n  steps:\n  - uses: a/b@v1\n  x: 1\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before) > 2000 || len(after) > 2000 || before == after {
			return
		}
		p, files := hunked(path, before, after)
		holds(t, Patch(context.Background(), p, files, Limits{WorkflowBytes: 4 << 10}), path, before, after)
	})
}

// Readers take about as long as a text is large, whatever is in it.
func TestHostileDependencies(t *testing.T) {
	const size = 64 << 10
	for name, text := range map[string]string{
		"lists": strings.Repeat("[", size), "objects": strings.Repeat("{\"a\":", size/5), "closed": strings.Repeat("}", size), "keys": strings.Repeat("a.", size/2) + " = 1",
		"quotes": strings.Repeat("\"", size), "lines": strings.Repeat("[\n", size/2), "entries": strings.Repeat("\"a\": {\"version\": \"1\"},\n", size/24),
		"same": strings.Repeat("x==1 --hash=sha256:a\n", size/21), "continued": strings.Repeat("x \\\n", size/4), "indents": deepIndent(1000),
		"elements": strings.Repeat("<url>http://a\n", size/14), "comments": strings.Repeat("<!--", size/4), "gems": strings.Repeat("gem 'a', ", size/9),
		"registries": strings.Repeat("registry=https://e.example/\n", size/28), "tables": strings.Repeat("[[package]]\nname=\"a\"\n", size/21),
	} {
		for _, path := range readablePaths() {
			read := formatOf(path)
			if read == nil {
				continue
			}
			runs := [][]line{allAdded(text)}
			start := time.Now()
			read(runs, false)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%s as %s took %s", name, path, d)
			}
		}
	}
	// Names are only looked for secrets where they are shown.
	const n = 5000
	many := newFile(".npmrc", splitLines(strings.Repeat("registry=https://e.example/\n", n))...)
	r := Patch(context.Background(), patchOf(many), nil, Limits{CredentialBytes: 1})
	if len(r.Findings) != 100 || r.More[risk.RuleDependencyChange] != n-100 {
		t.Errorf("%d findings, %v more", len(r.Findings), r.More)
	}
}

func deepIndent(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}
