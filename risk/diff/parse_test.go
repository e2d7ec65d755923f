package diff

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

const good = "diff --git a/z b/z\nindex 1111111..2222222 100644\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n"

// TestParseFaults: every fault says the line, what is wrong and what would be
// right, and harms no other file.
func TestParseFaults(t *testing.T) {
	head := "diff --git a/x b/x\n"
	tests := []struct {
		name, diff string
		kind       error
		says       string // of the error
		path       string // of the file, empty if it is only counted
	}{
		{"hunk cut off by a file", head + "index 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n", ErrMalformed,
			`line 7: "x": malformed diff: "diff --g…" begins with neither`, "x"},
		{"names cut off by a file", head + "index 1..2 100644\n--- a/x\n", ErrMalformed, "line 4: \"x\": malformed diff: \"diff --g…\" behind the line `---`: right is", "x"},
		{"no hunk behind the names", head + "index 1..2 100644\n--- a/x\n+++ b/x\n", ErrMalformed, `line 5: "x": malformed diff: no hunk follows the file's names: right is`, "x"},
		{"a hunk without names", head + "index 1..2 100644\n@@ -1 +1 @@\n-a\n+b\n", ErrMalformed, `line 3: "x": malformed diff: a hunk without the file's names above it: right is`, "x"},
		{"other name in the content", head + "index 1..2 100644\n--- a/y\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", ErrMalformed, "line 3: \"x\": malformed diff: `--- \"a/y\"` in the file \"x\": right is", "x"},
		{"modified, and new in the content", head + "index 1..2 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", ErrMalformed, "line 3: ", "x"},
		{"new, with an old name in the content", head + "new file mode 100644\nindex 0000000..2\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", ErrMalformed, "right is /dev/null", "x"},
		{"new, with old lines", head + "new file mode 100644\nindex 0000000..2\n--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", ErrMalformed, "line 1: \"x\": malformed diff: the file is added and its hunks have lines on both sides", "x"},
		{"new and deleted", head + "new file mode 100644\ndeleted file mode 100644\n", ErrMalformed, "line 1: \"x\": malformed diff: the file is both new and deleted: right is", "x"},
		{"renamed and copied", head + "rename from x\nrename to y\ncopy from x\n", ErrMalformed, "line 1: malformed diff: the file is both renamed and copied", ""},
		{"rename to nowhere", head + "rename from x\n", ErrMalformed, "only one of the lines `from` and `to`", ""},
		{"rename of other names", "diff --git a/x b/y\nrename from x\nrename to .github/y\n", ErrMalformed, "other names in `diff --git`", ".github/y"},
		{"two names and no rename", "diff --git a/x b/y\nindex 1..2 100644\n", ErrMalformed, "does not tell one name", ""},
		{"one mode", head + "old mode 100644\n", ErrMalformed, "only one of the lines `old mode`", "x"},
		{"a mode in words", head + "old mode 100644\nnew mode rwxr-x\n", ErrMalformed, `the mode "rwxr-x": right are six octal digits`, "x"},
		{"a mode twice", head + "old mode 100644\nnew mode 100755\nindex 1..2 100755\n", ErrMalformed, "a mode in the line `index` and in another one", "x"},
		{"a header line twice", head + "old mode 100644\nold mode 100755\n", ErrMalformed, `line 3: "x": malformed diff: a second line "old mode"`, "x"},
		{"an empty header line", head + "old mode \n", ErrMalformed, `line 2: "x": malformed diff: the line "old mode" says nothing`, "x"},
		{"index without two ids", head + "index 12 100644\n", ErrMalformed, "right is `index old..new mode`", "x"},
		{"modified out of nothing", head + "index 0000000..2222222 100644\n", ErrMalformed, "of the sides that exist", "x"},
		{"content left out", head + "index 1111111..2222222 100644\n", ErrMalformed, `line 1: "x": malformed diff: nothing shows how the file changed`, "x"},
		{"only a first line", head, ErrMalformed, "nothing shows how the file changed", "x"},
		{"new without content", head + "new file mode 100644\nindex 0000000..2222222\n", ErrMalformed, "nothing shows how the file changed", "x"},
		{"case-138 escape beyond a byte", `diff --git "a/\477" "b/\477"` + "\nold mode 100644\nnew mode 100755\n", ErrMalformed, `line 1: malformed diff: a bad escape at "\\477" in`, ""},
		{"case-138 unknown escape", `diff --git "a/\x41" "b/\x41"` + "\n", ErrMalformed, "a bad escape", ""},
		{"quote not closed", "diff --git \"a/x b/x\n", ErrMalformed, "has no closing quote", ""},
		{"zero byte in a name", "diff --git a/x\x00 b/x\x00\n", ErrMalformed, "zero byte", ""},
		{"binary patch of nothing", head + "index 1..2 100644\nGIT binary patch\n", ErrMalformed, "line 4: \"x\": malformed diff: \"diff --g…\" behind `GIT binary patch`: right is", "x"},
		{"binary patch cut off", head + "index 1..2 100644\nGIT binary patch\nliteral 5\nMcmZp0\n", ErrMalformed, "in a binary patch: right is", "x"},
		{"combined", "diff --combined x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n++a\n", ErrUnsupported, `line 1: "x": not supported: a combined diff`, "x"},
		{"combined hunk in a plain file", head + "index 1..2 100644\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n++a\n", ErrMalformed, `line 5: "x": malformed diff: no hunk follows`, "x"},
		{"only on one side", "Only in a: x\n", ErrUnsupported, "line 1: not supported: \"Only in …\" does not say what the file holds: right is", ""},
		{"unmerged", "* Unmerged path x\n", ErrUnsupported, "a merge that is not resolved", ""},
		{"colours", "\x1b[1mdiff --git a/x b/x\x1b[m\n", ErrUnsupported, "right is `git diff --no-color`", ""},
		{"UTF-16", "\xff\xfed\x00i\x00f\x00f\x00\n", ErrUnsupported, "right is `git diff --output=FILE`", ""},
		{"no diff", "hello\n", ErrMalformed, "line 1: malformed diff: \"hello\" belongs to no file: right is", ""},
		{"submodule as a log, in a log", "commit 1234567\n\n    text\n\nSubmodule s 1..2:\n", ErrUnsupported, "line 5: not supported: \"Submodul…\"", ""},
		{"content behind an empty line", head + "index 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n+c\n", ErrMalformed, "line 9: malformed diff: \"+c\" belongs to no file", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse(tt.diff+good, PatchLimits{})
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if n := len(p.Files); n == 0 || p.Files[n-1].Path() != "z" || p.Files[n-1].Unseen() {
				t.Fatalf("the file behind it is lost: %+v", p.Files)
			}
			if tt.path == "" {
				if p.Missing() == 0 {
					t.Error("nothing is missing")
				}
				return
			}
			if f := p.Files[0]; f.Path() != tt.path || !f.Truncated || f.Why == "" || f.Op == 0 {
				t.Errorf("listed as %+v", f)
			}
			if !strings.Contains(err.Error(), p.Files[0].Why) {
				t.Errorf("why %q is not in %v", p.Files[0].Why, err)
			}
		})
	}
}

// TestParseReads are good inputs beside the corpus.
func TestParseReads(t *testing.T) {
	tests := []struct {
		name, diff string
		want       File // without hunks
	}{
		{"case-141", "diff --git a/img.bin b/img.bin\nold mode 100644\nnew mode 100755\nindex 8352675..1592e5c\nBinary files a/img.bin and b/img.bin differ",
			File{Op: Modified, OldPath: "img.bin", NewPath: "img.bin", OldMode: ModeRegular, NewMode: ModeExecutable, Binary: true}},
		{"case-142", "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from x\nrename to y\n",
			File{Op: Renamed, OldPath: "x", NewPath: "y", OldMode: ModeRegular, NewMode: ModeExecutable, SameContent: true}},
		{"case-143", "diff --git a/s b/s\nindex 1111111..2222222 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit " + strings.Repeat("1", 40) + "\n+Subproject commit " + strings.Repeat("2", 40) + "-dirty\n",
			File{Op: Modified, OldPath: "s", NewPath: "s", OldMode: ModeSubmodule, NewMode: ModeSubmodule, OldBlob: strings.Repeat("1", 40), NewBlob: strings.Repeat("2", 40), Added: 1, Deleted: 1}},
		{"full ids", "diff --git a/x b/x\nindex " + strings.Repeat("1", 40) + ".." + strings.Repeat("2", 40) + " 100644\nBinary files a/x and b/x differ\n",
			File{Op: Modified, OldPath: "x", NewPath: "x", OldMode: ModeRegular, NewMode: ModeRegular, OldBlob: strings.Repeat("1", 40), NewBlob: strings.Repeat("2", 40), Binary: true}},
		{"backwards, as -R", "diff --git b/x a/x\nold mode 100755\nnew mode 100644\n",
			File{Op: Modified, OldPath: "x", NewPath: "x", OldMode: ModeExecutable, NewMode: ModeRegular, SameContent: true}},
		{"unprefixed rename between folders a and b", "diff --git a/x b/x\nsimilarity index 100%\nrename from a/x\nrename to b/x\n",
			File{Op: Renamed, OldPath: "a/x", NewPath: "b/x", OldMode: ModeUnknown, NewMode: ModeUnknown, SameContent: true}},
		{"one side quoted", "diff --git a/x \"b/\\tx\"\nsimilarity index 100%\nrename from x\nrename to \"\\tx\"\n",
			File{Op: Renamed, OldPath: "x", NewPath: "\tx", OldMode: ModeUnknown, NewMode: ModeUnknown, SameContent: true}},
		{"mnemonic prefixes", "diff --git i/x w/x\nold mode 100644\nnew mode 100755\n",
			File{Op: Modified, OldPath: "x", NewPath: "x", OldMode: ModeRegular, NewMode: ModeExecutable, SameContent: true}},
		{"type in one piece", "diff --git a/x b/x\nold mode 100644\nnew mode 120000\nindex 1111111..2222222\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
			File{Op: TypeChanged, OldPath: "x", NewPath: "x", OldMode: ModeRegular, NewMode: ModeSymlink, Added: 1, Deleted: 1}},
		{"plain new file", "diff -ruN old/x new/x\n--- /dev/null\t2020-01-01\n+++ b/x\t2020-01-01\n@@ -0,0 +1 @@\n+b\n",
			File{Op: Added, NewPath: "x", NewMode: ModeUnknown, Added: 1}},
		{"plain deleted file", "Index: x\n=====\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
			File{Op: Deleted, OldPath: "x", OldMode: ModeUnknown, Deleted: 1}},
		{"byte order mark", "\ufeffdiff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
			File{Op: Modified, OldPath: "x", NewPath: "x", OldMode: ModeRegular, NewMode: ModeExecutable, SameContent: true}},
	}
	for _, tt := range tests {
		p, err := Parse(tt.diff, PatchLimits{})
		if err != nil || len(p.Files) != 1 {
			t.Errorf("%s: %d files, %v", tt.name, len(p.Files), err)
			continue
		}
		got := p.Files[0]
		got.Hunks = nil
		if !sameFile(got, tt.want) {
			t.Errorf("%s: got  %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
	if p, err := Parse(" \n\n", PatchLimits{}); err == nil || p.Missing() == 0 {
		t.Errorf("a line of one space: %+v, %v", p, err)
	}
	if p, err := Parse("", PatchLimits{}); err != nil || len(p.Files) != 0 || p.Missing() != 0 {
		t.Errorf("nothing: %+v, %v", p, err)
	}
}

func sameFile(a, b File) bool {
	return a.Op == b.Op && a.OldPath == b.OldPath && a.NewPath == b.NewPath && a.OldMode == b.OldMode && a.NewMode == b.NewMode &&
		a.OldBlob == b.OldBlob && a.NewBlob == b.NewBlob && a.Binary == b.Binary && a.SameContent == b.SameContent &&
		a.Added == b.Added && a.Deleted == b.Deleted && a.Truncated == b.Truncated
}

func TestParseSeveralPlainFiles(t *testing.T) {
	one := "--- a/x\t2020-01-01\n+++ b/x\t2020-01-01\n@@ -1 +1 @@\n-a\n+b\n"
	p, err := Parse(one+strings.ReplaceAll(one, "/x", "/y"), PatchLimits{})
	if err != nil || len(p.Files) != 2 || p.Files[0].Path() != "x" || p.Files[1].Path() != "y" {
		t.Errorf("%+v, %v", p.Files, err)
	}
}

func TestParseLimits(t *testing.T) {
	three := good + strings.ReplaceAll(good, "/z", "/y") + strings.ReplaceAll(good, "/z", "/x")
	tests := []struct {
		name       string
		lim        PatchLimits
		whole, cut int // files read to their end, and those that were not
		missing    int
	}{
		{"fits", PatchLimits{Bytes: len(three), Files: 3, Lines: 9}, 3, 0, 0},
		{"files", PatchLimits{Files: 1}, 1, 0, 2},
		{"lines", PatchLimits{Lines: 5}, 1, 1, 1},
		{"lines, at the end of a file", PatchLimits{Lines: 3}, 1, 0, 2},
		{"bytes", PatchLimits{Bytes: len(three) - 1}, 2, 1, 1},
		{"bytes, at the end of a file", PatchLimits{Bytes: len(good)}, 0, 1, 1},
		{"lines of one file", PatchLimits{File: Limits{Lines: 2}}, 0, 3, 0},
		{"bytes of one file", PatchLimits{File: Limits{Bytes: 15}}, 0, 3, 0},
		{"a long first line", PatchLimits{File: Limits{LineBytes: 6}}, 0, 0, 3},
		{"a long line in a header", PatchLimits{File: Limits{LineBytes: 12}}, 0, 3, 0},
	}
	for _, tt := range tests {
		p, err := Read(strings.NewReader(three), tt.lim)
		if tt.name == "fits" != (err == nil) || err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", tt.name, err)
		}
		whole := 0
		for _, f := range p.Files {
			if !f.Unseen() {
				whole++
			}
		}
		if cut := len(p.Files) - whole; whole != tt.whole || cut != tt.cut || p.Missing() != tt.missing {
			t.Errorf("%s: %d whole, %d cut off, %d missing, want %d, %d, %d: %v", tt.name, whole, cut, p.Missing(), tt.whole, tt.cut, tt.missing, err)
		}
	}
}

func TestReadFails(t *testing.T) {
	r := io.MultiReader(strings.NewReader(good), iotest.ErrReader(io.ErrUnexpectedEOF))
	if p, err := Read(r, PatchLimits{}); !errors.Is(err, io.ErrUnexpectedEOF) || len(p.Files) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestParseManyFaults: an error stays readable, and everything is counted.
func TestParseManyFaults(t *testing.T) {
	p, err := Parse(strings.Repeat("diff --git a/x b/y\n", 1000), PatchLimits{})
	if p.Missing() != 1000 || err == nil || !strings.HasSuffix(err.Error(), "and 980 places more") {
		t.Errorf("%d missing, %v", p.Missing(), err)
	}
}

// TestParsePromises: headers that promise much take no time and no memory.
func TestParsePromises(t *testing.T) {
	one := "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2000000000 +1,2000000000 @@\n a\n"
	input := strings.Repeat(one, 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if p, err := Parse(input, PatchLimits{}); err == nil || len(p.Files) != 1000 {
		t.Errorf("%d files, %v", len(p.Files), err)
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 5<<20 {
		t.Errorf("%d bytes for an input of %d", allocated, len(input))
	}
}
