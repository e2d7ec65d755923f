package scan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// hunked is a modified file with hunks as git makes them, with three lines of
// context.
func hunked(path, before, after string) (diff.Patch, map[string][]byte) {
	a, b := splitLines(before), splitLines(after)
	same := make([][]int, len(a)+1) // the longest common subsequence from here
	for i := range same {
		same[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same[i][j] = max(same[i+1][j], same[i][j+1]); a[i] == b[j] {
				same[i][j] = same[i+1][j+1] + 1
			}
		}
	}
	var lines []diff.Line
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, diff.Line{Old: i + 1, New: j + 1, Text: a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || same[i+1][j] >= same[i][j+1]):
			lines = append(lines, diff.Line{Op: diff.DeletedLine, Old: i + 1, Text: a[i]})
			i++
		default:
			lines = append(lines, diff.Line{Op: diff.AddedLine, New: j + 1, Text: b[j]})
			j++
		}
	}
	near := func(i int) bool {
		return slices.ContainsFunc(lines[max(0, i-3):min(len(lines), i+4)], func(l diff.Line) bool { return l.Op != diff.ContextLine })
	}
	f := change(path, 1)
	f.Hunks = nil
	old, now := 0, 0
	for i, l := range lines {
		if near(i) {
			if i == 0 || !near(i-1) {
				f.Hunks = append(f.Hunks, diff.Hunk{OldStart: old + 1, NewStart: now + 1})
			}
			h := &f.Hunks[len(f.Hunks)-1]
			h.Lines = append(h.Lines, l)
			if l.Op != diff.AddedLine {
				h.OldLines++
			}
			if l.Op != diff.DeletedLine {
				h.NewLines++
			}
		}
		old, now = max(old, l.Old), max(now, l.New)
	}
	for i := range f.Hunks { // a side without lines names the line before
		if h := &f.Hunks[i]; h.OldLines == 0 {
			h.OldStart--
		} else if h.NewLines == 0 {
			h.NewStart--
		}
	}
	return patchOf(f), map[string][]byte{path: []byte(after)}
}

// locked is one entry of a generated lock file.
type locked struct {
	name, version, host, sum string
	uses                     []string
}

type lockWriter struct {
	path  string
	home  string
	write func(list []locked) string
}

func lockWriters() []lockWriter {
	uses := func(e locked, indent, form string) string {
		var b strings.Builder
		for _, u := range e.uses {
			fmt.Fprintf(&b, indent+form+"\n", u)
		}
		return b.String()
	}
	each := func(head, foot string, one func(locked) string) func([]locked) string {
		return func(list []locked) string {
			var b strings.Builder
			for _, e := range list {
				b.WriteString(one(e))
			}
			return head + b.String() + foot
		}
	}
	return []lockWriter{
		{"package-lock.json", "registry.npmjs.org", each("{\n  \"packages\": {\n", "    \"\": {}\n  }\n}\n", func(e locked) string {
			return fmt.Sprintf("    \"node_modules/%[1]s\": {\n      \"version\": \"%[2]s\",\n      \"resolved\": \"https://%[3]s/%[1]s/-/%[1]s-%[2]s.tgz\",\n      \"integrity\": \"sha512-%[4]s\",\n      \"dependencies\": {\n%[5]s        \"z\": \"1\"\n      }\n    },\n",
				e.name, e.version, e.host, e.sum, uses(e, "        ", "\"%s\": \"^1.0.0\","))
		})},
		{"yarn.lock", "registry.yarnpkg.com", each("# yarn lockfile v1\n\n", "", func(e locked) string {
			return fmt.Sprintf("%[1]s@^1.0.0:\n  version \"%[2]s\"\n  resolved \"https://%[3]s/%[1]s/-/%[1]s-%[2]s.tgz#00\"\n  integrity sha512-%[4]s\n  dependencies:\n%[5]s    z \"1\"\n\n",
				e.name, e.version, e.host, e.sum, uses(e, "    ", "%s \"^1.0.0\""))
		})},
		{"pnpm-lock.yaml", "", each("lockfileVersion: '9.0'\n\npackages:\n\n", "snapshots:\n\n  z@1.0.0: {}\n", func(e locked) string {
			tarball := ""
			if e.host != "" {
				tarball = fmt.Sprintf(", tarball: https://%s/%s.tgz", e.host, e.name)
			}
			return fmt.Sprintf("  %s@%s:\n    resolution: {integrity: sha512-%s%s}\n    engines: {node: '>=4'}\n\n", e.name, e.version, e.sum, tarball)
		})},
		{"Cargo.lock", "github.com/rust-lang/crates.io-index", each("version = 4\n\n", "", func(e locked) string {
			return fmt.Sprintf("[[package]]\nname = \"%s\"\nversion = \"%s\"\nsource = \"registry+https://%s\"\nchecksum = \"%s\"\ndependencies = [\n%s]\n\n",
				e.name, e.version, e.host, e.sum, uses(e, " ", "\"%s\","))
		})},
		{"uv.lock", "pypi.org", each("version = 1\n\n", "", func(e locked) string {
			return fmt.Sprintf("[[package]]\nname = \"%[1]s\"\nversion = \"%[2]s\"\nsource = { registry = \"https://%[3]s/simple\" }\ndependencies = [\n%[5]s]\nsdist = { url = \"https://files.pythonhosted.org/%[1]s-%[2]s.tar.gz\", hash = \"sha256:%[4]s\" }\n\n",
				e.name, e.version, e.host, e.sum, uses(e, "    ", "{ name = \"%s\" },"))
		})},
		{"go.sum", "", each("", "", func(e locked) string {
			return fmt.Sprintf("example.com/%[1]s v%[2]s h1:%[3]s=\nexample.com/%[1]s v%[2]s/go.mod h1:m%[3]s=\n", e.name, e.version, e.sum)
		})},
	}
}

// What was done to a generated lock file is what the scanner says of the whole of
// it; of the hunks alone it never says that nothing happened where something did.
func TestLockFilesProperty(t *testing.T) {
	for _, w := range lockWriters() {
		t.Run(w.path, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { lockProperty(t, w) })
		})
	}
}

func lockProperty(t *rapid.T, w lockWriter) {
	name := rapid.StringMatching(`[a-y][a-y0-9]{1,6}`)
	sum := rapid.StringMatching(`[a-f0-9]{16}`)
	list := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) locked {
		return locked{name.Draw(t, "name"), fmt.Sprintf("1.0.%d", rapid.IntRange(0, 5).Draw(t, "patch")), w.home, sum.Draw(t, "sum"),
			rapid.SliceOfN(name, 0, 9).Draw(t, "uses")}
	}), 1, 12, func(e locked) string { return e.name }).Draw(t, "entries")
	slices.SortFunc(list, func(a, b locked) int { return strings.Compare(a.name, b.name) })

	danger := false
	var after []locked
	for _, e := range list {
		switch op := rapid.SampledFrom([]string{"keep", "keep", "keep", "bump", "gone", "host", "sum", "new"}).Draw(t, "op"); {
		case op == "gone":
			continue
		case op == "bump":
			e.version, e.sum = strings.Replace(e.version, "1.0.", "1.1.", 1), sum.Draw(t, "sum")
		case op == "host" && w.home != "" || op == "host" && w.path == "pnpm-lock.yaml":
			e.host, danger = "evil.example", true
		case op == "sum":
			was := e.sum
			e.sum = sum.Draw(t, "sum")
			danger = danger || e.sum != was
		case op == "new":
			danger = true
			after = append(after, locked{e.name + "zz", "1.0.0", w.home, sum.Draw(t, "sum"), nil})
		}
		after = append(after, e)
	}
	slices.SortFunc(after, func(a, b locked) int { return strings.Compare(a.name, b.name) })
	before, now := w.write(list), w.write(after)
	if before == now {
		return
	}
	p, files := hunked(w.path, before, now)
	whole := Patch(context.Background(), p, files, Limits{}).Content[risk.RuleDependencyChange].State
	want := risk.No
	if danger {
		want = risk.Yes
	}
	if whole != want {
		t.Fatalf("of the whole file: %s, want %s\n%s\n---\n%s", whole, want, before, now)
	}
	switch got := Patch(context.Background(), p, nil, Limits{}).Content[risk.RuleDependencyChange].State; {
	case danger && got == risk.No:
		t.Fatalf("of the hunks: %s\n%s\n---\n%s", got, before, now)
	case !danger && got == risk.Yes:
		t.Fatalf("a false alarm of the hunks\n%s\n---\n%s", before, now)
	}
}
