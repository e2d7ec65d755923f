package diff

import (
	"errors"
	"strings"
	"testing"
)

// Cases of CASES.md, by number, that the tables beside this file do not hold.

// TestCase002_GoodPlacesAreKnownBeforehand: GitHub refuses a whole review for one
// bad place, so each place can be judged before anything is sent.
func TestCase002_GoodPlacesAreKnownBeforehand(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{modified(t, "x.go", "@@ -10,3 +10,4 @@\n a\n+b\n c\n d")}})
	var kept []int
	for _, line := range []int{11, 200, 13} {
		if m.Accepts("x.go", Right, line) {
			kept = append(kept, line)
		}
	}
	if len(kept) != 2 || kept[0] != 11 || kept[1] != 13 {
		t.Errorf("kept %v, want 11 and 13", kept)
	}
}

// TestCase013_NoLineIsNotLineZero: GitHub gives no line for a comment that is
// outdated. Nothing takes that for a place, and no place is found for it.
func TestCase013_NoLineIsNotLineZero(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{modified(t, "a.go", "@@ -0,0 +1,2 @@\n+a\n+b")}})
	for _, side := range []Side{Left, Right} {
		if m.Accepts("a.go", side, 0) || m.AcceptsRange("a.go", side, 0, 1) {
			t.Errorf("%s: line 0 is accepted", side)
		}
	}
	if s, ok := m.GuessSide("a.go", 0); ok {
		t.Errorf("line 0 is on the side %s", s)
	}
}

// TestCase015_LinesAreNumberedByTheFile, never by how far down the diff they are.
func TestCase015_LinesAreNumberedByTheFile(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{
		modified(t, "new.go", "@@ -0,0 +1,3 @@\n+a\n+b\n+c"),
		modified(t, "two.go", "@@ -5,2 +5,2 @@\n a\n-b\n+B\n@@ -90,2 +90,2 @@\n a\n-b\n+B"),
	}})
	for path, want := range map[string][]int{"new.go": {1, 2, 3}, "two.go": {5, 6, 90, 91}} {
		var got []int
		for line := range 200 {
			if m.Accepts(path, Right, line) {
				got = append(got, line)
			}
		}
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestCase016_CountsThatAreLeftOut(t *testing.T) {
	tests := []struct {
		patch       string
		left, right []int
	}{
		{"@@ -5 +5 @@\n-a\n+b", []int{5}, []int{5}},
		{"@@ -0,0 +1 @@\n+x", nil, []int{1}},
		{"@@ -3,2 +2,0 @@\n-a\n-b", []int{3, 4}, nil},
	}
	for _, tt := range tests {
		m := NewLineMap(Patch{Files: []File{modified(t, "x", tt.patch)}})
		for line := range 9 {
			for side, want := range map[Side][]int{Left: tt.left, Right: tt.right} {
				if got := m.Accepts("x", side, line); got != (len(want) > 0 && line >= want[0] && line <= want[len(want)-1]) {
					t.Errorf("%q %s %d: accepted %t", tt.patch, side, line, got)
				}
			}
		}
	}
}

// TestCase021_CarriageReturns: behind header lines they are nothing, behind
// content they are content, so that whoever quotes or suggests sees them.
func TestCase021_CarriageReturns(t *testing.T) {
	p, err := Parse("diff --git a/x b/x\r\nnew file mode 100644\r\nindex 0000000..1111111\r\n--- /dev/null\r\n+++ b/x\r\n@@ -0,0 +1,2 @@\r\n+a\r\n+b\r\n", PatchLimits{})
	if err != nil || len(p.Files) != 1 {
		t.Fatalf("%+v, %v", p.Files, err)
	}
	f := p.Files[0]
	if f.Op != Added || f.NewPath != "x" || f.NewMode != ModeRegular || len(f.Hunks) != 1 || f.Hunks[0].Section != "" {
		t.Errorf("read as %+v", f)
	}
	if l := f.Hunks[0].Lines[1]; l.Text != "b\r" || l.New != 2 {
		t.Errorf("line %+v", l)
	}
}

// TestCase138_QuotedNames come out as the bytes that trees and GitHub's API have.
func TestCase138_QuotedNames(t *testing.T) {
	for quoted, want := range map[string]string{
		`na\303\257ve.txt`: "naïve.txt",
		`tab\tname.go`:     "tab\tname.go",
		`caf\351`:          "caf\xe9",
		`q\"uo\\te`:        `q"uo\te`,
		`new\nline`:        "new\nline",
	} {
		names := []string{`"a/` + quoted + `"`, `"b/` + quoted + `"`}
		p, err := Parse("diff --git "+strings.Join(names, " ")+"\nindex 1111111..2222222 100644\n--- "+names[0]+"\n+++ "+names[1]+"\n@@ -1 +1 @@\n-a\n+b\n"+good, PatchLimits{})
		if err != nil || len(p.Files) != 2 || p.Files[0].OldPath != want || p.Files[0].NewPath != want || p.Missing() != 0 {
			t.Errorf("%s: %+v, %v", quoted, p.Files, err)
		}
	}
}

// TestCase142_RenamesOfEveryKind, and none harms the next file.
func TestCase142_RenamesOfEveryKind(t *testing.T) {
	head, modes, names := "diff --git a/x b/y\n", "old mode 100644\nnew mode 100755\n", "similarity index 90%\nrename from x\nrename to y\n"
	binary := "index 1111111..2222222\nBinary files a/x and b/y differ\n"
	for _, text := range []string{head + modes + names, head + names + binary, head + modes + names + binary} {
		p, err := Parse(text+good, PatchLimits{})
		if err != nil || len(p.Files) != 2 || p.Files[1].Path() != "z" {
			t.Fatalf("%q: %+v, %v", text, p.Files, err)
		}
		f := p.Files[0]
		if f.Op != Renamed || f.OldPath != "x" || f.NewPath != "y" || f.Binary != strings.Contains(text, "Binary") ||
			(f.NewMode == ModeExecutable) != strings.Contains(text, "mode") {
			t.Errorf("%q: %+v", text, f)
		}
	}
	// One that cannot be read is told of, and the next file is there all the same.
	p, err := Parse(head+"rename from x\n"+good, PatchLimits{})
	if !errors.Is(err, ErrMalformed) || len(p.Files) != 1 || p.Files[0].Path() != "z" || p.Missing() != 1 {
		t.Errorf("%+v, %d missing, %v", p.Files, p.Missing(), err)
	}
}

func TestCase143_Submodules(t *testing.T) {
	id := strings.Repeat("1", 40)
	added, err := Parse("diff --git a/s b/s\nnew file mode 160000\nindex 0000000..1111111\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit "+id+"\n", PatchLimits{})
	if f := added.Files; err != nil || len(f) != 1 || f[0].Op != Added || f[0].NewMode != ModeSubmodule || f[0].NewBlob != id || f[0].OldBlob != "" || f[0].Unseen() {
		t.Errorf("added: %+v, %v", f, err)
	}
	gone, err := Parse("diff --git a/s b/s\ndeleted file mode 160000\nindex 1111111..0000000\n--- a/s\n+++ /dev/null\n@@ -1 +0,0 @@\n-Subproject commit "+id+"\n", PatchLimits{})
	if f := gone.Files; err != nil || len(f) != 1 || f[0].Op != Deleted || f[0].OldMode != ModeSubmodule || f[0].OldBlob != id || f[0].NewBlob != "" {
		t.Errorf("deleted: %+v, %v", f, err)
	}
}

// TestCase150_OldNameAndBlob: the old side of a renamed file is to be read under
// its old name, or by its blob.
func TestCase150_OldNameAndBlob(t *testing.T) {
	before, after := strings.Repeat("1", 40), strings.Repeat("2", 40)
	p, err := Parse("diff --git a/old.ts b/new.ts\nsimilarity index 90%\nrename from old.ts\nrename to new.ts\nindex "+before+".."+after+" 100644\n--- a/old.ts\n+++ b/new.ts\n@@ -1 +1 @@\n-a\n+b\n", PatchLimits{})
	if err != nil || len(p.Files) != 1 {
		t.Fatalf("%+v, %v", p.Files, err)
	}
	if f := p.Files[0]; f.OldPath != "old.ts" || f.NewPath != "new.ts" || f.Path() != "new.ts" || f.OldBlob != before || f.NewBlob != after {
		t.Errorf("%+v", f)
	}
	for _, f := range []File{{Op: Added, NewPath: "x"}, {Op: Deleted, OldPath: "x"}} {
		if f.HasOld() == f.HasNew() {
			t.Errorf("%s exists on both sides or on none", f.Op)
		}
	}
}
