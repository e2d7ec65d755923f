package publish_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk/diff"
)

// changed is a patch of the given files: path and hunks in turn.
func changed(t testing.TB, files ...string) diff.Patch {
	t.Helper()
	var p diff.Patch
	for i := 0; i < len(files); i += 2 {
		f := diff.File{Op: diff.Modified, OldPath: files[i], NewPath: files[i]}
		if files[i+1] != "" {
			hunks, err := diff.ParseHunks(files[i+1], diff.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			f.Hunks = hunks
		}
		p.Files = append(p.Files, f)
	}
	return p
}

const twoHunks = "@@ -10,3 +10,4 @@\n ten\n+eleven\n twelve\n thirteen\n@@ -40,4 +41,2 @@\n a\n-b\n-c\n d\n"

func at(path string, side review.Side, start, line int) review.Finding {
	return review.Finding{Path: path, Side: side, StartLine: start, Line: line, Title: "x"}
}

func TestPlace(t *testing.T) {
	p := changed(t, "a.go", twoHunks, "del.go", "@@ -40,4 +40,1 @@\n keep\n-41\n-42\n-43\n", "new/a.rb", "", "b/c.go", "@@ -1 +1 @@\n-x\n+y\n", "c.go", "@@ -1 +1 @@\n-x\n+y\n")
	p.Files[2].Op, p.Files[2].OldPath = diff.Renamed, "old/a.rb"
	for _, c := range []struct {
		name string
		f    review.Finding
		want string
	}{
		{"in a hunk", at("a.go", review.SideRight, 0, 11), "a.go RIGHT 0-11"},
		{"case-001: outside every hunk", at("a.go", review.SideRight, 0, 200), ""},
		{"case-004: an unchanged file", at("logic/other.go", "", 0, 5), ""},
		{"case-004: ./", at("./a.go", "", 0, 11), "a.go RIGHT 0-11"},
		{"case-004: b/", at("b/a.go", "", 0, 11), "a.go RIGHT 0-11"},
		{"case-004: a file that is really called so", at("b/c.go", "", 0, 1), "b/c.go RIGHT 0-1"},
		{"case-005: only in the old file", at("del.go", "", 0, 42), "del.go LEFT 0-42"},
		{"case-005: in both", at("a.go", "", 0, 10), "a.go RIGHT 0-10"},
		{"case-005: in neither", at("del.go", "", 0, 50), ""},
		{"case-005: the start alone tells", at("del.go", "", 42, 99), "del.go LEFT 42-43"},
		{"a side that was named is not changed", at("del.go", review.SideRight, 0, 42), ""},
		{"lower case", at("del.go", "left", 0, 42), "del.go LEFT 0-42"},
		{"no side of a diff", at("a.go", "BOTH", 0, 11), ""},
		{"case-007: equal", at("a.go", review.SideRight, 11, 11), "a.go RIGHT 0-11"},
		{"case-007: the wrong way round", at("a.go", review.SideRight, 13, 11), "a.go RIGHT 11-13"},
		{"case-007: start 0", at("a.go", review.SideRight, 0, 12), "a.go RIGHT 0-12"},
		{"case-007: only a start", at("a.go", review.SideRight, 12, 0), "a.go RIGHT 0-12"},
		{"across two hunks: the part of the last line", at("a.go", review.SideRight, 12, 42), "a.go RIGHT 41-42"},
		{"across two hunks: one line", at("a.go", review.SideRight, 12, 41), "a.go RIGHT 0-41"},
		{"beyond its hunk", at("a.go", review.SideRight, 12, 30), "a.go RIGHT 12-13"},
		{"around a hunk", at("a.go", review.SideRight, 1, 30), ""},
		{"case-010: a pure rename", at("new/a.rb", "", 0, 3), ""},
		{"case-023: no line", at("a.go", review.SideRight, 0, 0), ""},
		{"below 0", at("a.go", review.SideRight, -3, -1), ""},
		{"no path", at("", "", 0, 1), ""},
	} {
		got := publish.Place([]review.Finding{c.f}, p)[0]
		if a := anchorText(got.Anchor); a != c.want {
			t.Errorf("%s: %q, want %q", c.name, a, c.want)
		}
		if got.Key != c.f.ID() || got.Path != c.f.Path || got.Line != c.f.Line || got.StartLine != c.f.StartLine {
			t.Errorf("%s: the finding itself was changed: %+v", c.name, got)
		}
	}
}

func anchorText(a *review.Anchor) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %d-%d", a.Path, a.Side, a.StartLine, a.Line)
}

// Whatever a model says, what comes out is accepted, or nothing comes out.
func TestPlaceGivesOnlyPlacesThatAreAccepted(t *testing.T) {
	p := changed(t, "a.go", twoHunks, "dir/b.go", "@@ -0,0 +1,2 @@\n+one\n+two\n", "gone.go", "@@ -1,2 +0,0 @@\n-one\n-two\n")
	m := diff.NewLineMap(p)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.IntRange(-2, 60), rapid.Int())
		f := review.Finding{
			Path:      rapid.SampledFrom([]string{"a.go", "./a.go", "b/dir/b.go", "gone.go", "../a.go", "A.GO", ""}).Draw(t, "path"),
			Side:      rapid.SampledFrom([]review.Side{"", review.SideLeft, review.SideRight, "right", "?"}).Draw(t, "side"),
			StartLine: line.Draw(t, "start"), Line: line.Draw(t, "line"),
			Suggestion: rapid.SampledFrom([]string{"", "eleven!", "ten\nnew", "a\r\nb", "/approve", "new\n"}).Draw(t, "suggestion"),
		}
		got := publish.Place([]review.Finding{f}, p)[0]
		if got.Anchor == nil {
			if got.Suggestion != "" {
				t.Fatalf("a suggestion for no place: %+v", got)
			}
			return
		}
		a, side := *got.Anchor, diff.Right
		if a.Side == review.SideLeft {
			side = diff.Left
		}
		if !m.Accepts(a.Path, side, a.Line) || a.Line <= 0 || (a.StartLine != 0 && !m.AcceptsRange(a.Path, side, a.StartLine, a.Line)) {
			t.Fatalf("%+v has no place at %+v", f, a)
		}
		start, end := diff.NormalRange(f.StartLine, f.Line)
		if start == 0 {
			start = end
		}
		if a.Line > end || a.Line < start || (a.StartLine != 0 && a.StartLine < start) {
			t.Fatalf("%+v was moved to %+v", f, a)
		}
		if got.Suggestion != "" && (a.Side != review.SideRight || got.Suggestion != f.Suggestion) {
			t.Fatalf("suggestion at %+v: %q", a, got.Suggestion)
		}
	})
}

func TestSuggestionsOnlyWhereExact(t *testing.T) {
	const lf = "@@ -9,5 +9,7 @@\n nine\n // note\n+eleven\n+twelve\n thirteen\n fourteen\n fifteen\n"
	crlf := strings.ReplaceAll(lf, "\n", "\r\n")
	mixed := strings.Replace(lf, " nine\n", " nine\r\n", 1)
	const atEnd = "@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n\\ No newline at end of file\n"
	const added = "@@ -0,0 +1,2 @@\n+one\n+two\n"
	const braces = "@@ -1,6 +1,6 @@\n func a() {\n }\n-old\n+}\n }\n }\n last\n"
	for _, c := range []struct {
		name, patch string
		start, line int
		suggestion  string
		want        bool
	}{
		{"one line", lf, 0, 11, "elf", true},
		{"a range", lf, 11, 12, "elf\nzwoelf\n", true},
		{"more lines than before", lf, 0, 11, "elf\nzwoelf\nthree", true},
		{"case-017: repeats the line above", lf, 11, 12, "// note\nelf", false},
		{"case-017: repeats two lines above", lf, 11, 12, "nine\n// note\nelf", false},
		{"case-017: indented otherwise", lf, 11, 12, "\t// note\nelf", false},
		{"case-017: repeats the line below", lf, 11, 12, "elf\nthirteen", false},
		{"case-017: repeats two lines below", lf, 11, 12, "elf\nthirteen\nfourteen\n", false},
		{"begins as the replaced lines do", braces, 0, 3, "}\nx", true},
		{"what is there already", lf, 11, 12, "eleven\ntwelve", false},
		{"case-021: LF for a CRLF file", crlf, 0, 11, "elf", false},
		{"case-021: CRLF for a CRLF file", crlf, 0, 11, "elf\r", true},
		{"case-021: CRLF in one line of two", crlf, 11, 12, "elf\r\nzwoelf", false},
		{"case-021: CRLF for an LF file", lf, 0, 11, "elf\r", false},
		{"case-021: both kinds of ends", mixed, 0, 11, "elf", false},
		{"case-021: a bare CR", lf, 0, 11, "el\rf", false},
		{"the last line has no end", atEnd, 0, 2, "drei", false},
		{"before a last line without end", atEnd, 0, 1, "eins", true},
		{"a whole new file", added, 1, 2, "eins\nzwei", true},
		{"at the border of a hunk", lf, 0, 9, "neun", false},
		{"at the other border", lf, 0, 15, "fuenfzehn", false},
		{"across the hunk's end", lf, 12, 40, "x", false},
		{"a bidirectional override", lf, 0, 11, "elf\u202e", false},
		{"not UTF-8", lf, 0, 11, "\xff", false},
		{"a command to a bot", lf, 0, 11, "elf\n/approve", false},
		{"a Go comment", lf, 0, 11, "// elf", true},
		{"too large", lf, 0, 11, strings.Repeat("x", 17<<10), false},
	} {
		f := review.Finding{Path: "a.go", Side: review.SideRight, StartLine: c.start, Line: c.line, Suggestion: c.suggestion}
		got := publish.Place([]review.Finding{f}, changed(t, "a.go", c.patch))[0]
		if (got.Suggestion != "") != c.want {
			t.Errorf("%s: suggestion kept: %v, want %v", c.name, got.Suggestion != "", c.want)
		}
		if got.Anchor == nil {
			t.Errorf("%s: the finding lost its place", c.name)
		}
	}
	left := review.Finding{Path: "a.go", Side: review.SideLeft, Line: 3, Suggestion: "x"}
	if got := publish.Place([]review.Finding{left}, changed(t, "a.go", braces))[0]; got.Anchor == nil || got.Suggestion != "" {
		t.Errorf("on the left side: %+v", got)
	}
}
