package diff

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLineMap(t *testing.T) {
	deleted := modified(t, "gone.go", "@@ -1,2 +0,0 @@\n-a\n-b")
	deleted.Op, deleted.NewPath, deleted.NewMode = Deleted, "", ModeNone
	renamed := modified(t, "new.go", "@@ -7,2 +7,2 @@\n a\n-b\n+c")
	renamed.Op, renamed.OldPath = Renamed, "old.go"
	typeOld := modified(t, "type", "@@ -1,3 +0,0 @@\n-a\n-b\n-c")
	typeOld.Op, typeOld.NewPath, typeOld.NewMode = Deleted, "", ModeNone
	typeNew := modified(t, "type", "@@ -0,0 +1,2 @@\n+a\n+b")
	typeNew.Op, typeNew.OldPath, typeNew.OldMode, typeNew.NewMode = Added, "", ModeNone, ModeSymlink
	m := NewLineMap(Patch{Files: []File{
		typeOld, typeNew,
		modified(t, "x.go", "@@ -10,3 +10,4 @@\n a\n+b\n c\n d\n@@ -40,4 +41,1 @@\n a\n-b\n-c\n-d"),
		deleted, renamed,
		{Op: Renamed, OldPath: "old/a.rb", NewPath: "new/a.rb"},
	}})
	tests := []struct {
		name string
		path string
		side Side
		line int
		want bool
	}{
		{"case-001 outside every hunk", "x.go", Right, 200, false},
		{"case-004 unchanged file", "logic/other.go", Right, 5, false},
		{"case-005 deleted code", "x.go", Left, 42, true},
		{"case-005 not on the new side", "x.go", Right, 42, false},
		{"case-010 pure rename", "new/a.rb", Right, 3, false},
		{"case-010 pure rename, old name", "old/a.rb", Left, 3, false},
		{"case-023 line 0", "x.go", Right, 0, false},
		{"first line", "x.go", Right, 10, true},
		{"context on the old side", "x.go", Left, 10, true},
		{"before the hunk", "x.go", Right, 9, false},
		{"last line", "x.go", Right, 13, true},
		{"behind the hunk", "x.go", Right, 14, false},
		{"deleted file by its old path", "gone.go", Left, 2, true},
		{"deleted file has no new side", "gone.go", Right, 1, false},
		{"renamed file's old side goes by the new path", "new.go", Left, 8, true},
		{"renamed file's old path", "old.go", Left, 8, false},
		{"no side", "x.go", 0, 10, false},
		{"a change of type, the old side", "type", Left, 3, true},
		{"a change of type, the new side", "type", Right, 2, true},
		{"a change of type, behind the new side", "type", Right, 3, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := m.Accepts(tt.path, tt.side, tt.line); got != tt.want {
				t.Errorf("Accepts(%s, %s, %d) = %t", tt.path, tt.side, tt.line, got)
			}
		})
	}
}

func TestLineMapRange(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{
		modified(t, "x.go", "@@ -10,3 +10,3 @@\n a\n-b\n+B\n c\n@@ -13,2 +13,2 @@\n a\n-b\n+B"),
	}})
	tests := []struct {
		name        string
		start, line int
		want        bool
	}{
		{"inside", 10, 12, true},
		{"across neighbouring hunks", 12, 13, false},
		{"case-007 one line", 11, 11, false},
		{"case-007 backwards", 12, 10, false},
		{"starts outside", 9, 11, false},
		{"ends outside", 13, 20, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := m.AcceptsRange("x.go", Right, tt.start, tt.line); got != tt.want {
				t.Errorf("AcceptsRange(%d, %d) = %t", tt.start, tt.line, got)
			}
		})
	}
}

func TestCase007_NormalRange(t *testing.T) {
	for _, tt := range [][4]int{{7, 7, 0, 7}, {9, 7, 7, 9}, {0, 7, 0, 7}, {-1, 7, 0, 7}, {3, 7, 3, 7}, {7, 0, 0, 7}} {
		if start, line := NormalRange(tt[0], tt[1]); start != tt[2] || line != tt[3] {
			t.Errorf("NormalRange(%d, %d) = %d, %d, want %d, %d", tt[0], tt[1], start, line, tt[2], tt[3])
		}
	}
}

func TestCase005_GuessSide(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{modified(t, "x.go", "@@ -40,4 +40,1 @@\n a\n-b\n-c\n-d")}})
	for line, want := range map[int]Side{40: Right, 42: Left, 50: 0} {
		if got, ok := m.GuessSide("x.go", line); got != want || ok != (want != 0) {
			t.Errorf("line %d: %s %t, want %s", line, got, ok, want)
		}
	}
}

func TestCase004_Resolve(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{{NewPath: "a.go"}, {NewPath: "b/c.go"}, {NewPath: "c.go"}, {NewPath: "a/d.go"}, {NewPath: "d.go"}}})
	tests := map[string]string{
		"a.go": "a.go", "./a.go": "a.go", "b/a.go": "a.go", "a/a.go": "a.go", "logic/other.go": "",
		"b/c.go": "b/c.go", "./b/c.go": "", "a/c.go": "c.go", "./a/d.go": "", "": "",
	}
	for path, want := range tests {
		if got, ok := m.Resolve(path); got != want || ok != (want != "") {
			t.Errorf("%q: %q %t, want %q", path, got, ok, want)
		}
	}
}

func TestNearest(t *testing.T) {
	m := NewLineMap(Patch{Files: []File{modified(t, "x.go", "@@ -10,2 +10,2 @@\n a\n-b\n+B\n@@ -20,2 +20,2 @@\n a\n-b\n+B"), {NewPath: "bin"}}})
	for line, want := range map[int]int{1: 10, 10: 10, 11: 11, 12: 11, 15: 11, 16: 20, 19: 20, 21: 21, 99: 21, math.MinInt: 10, math.MaxInt: 21} {
		if got, ok := m.Nearest("x.go", Right, line); got != want || !ok {
			t.Errorf("nearest to %d is %d %t, want %d", line, got, ok, want)
		}
	}
	if _, ok := m.Nearest("bin", Right, 1); ok {
		t.Error("a file without hunks has a nearest line")
	}
}

// TestLineMapProperties holds the map against the lines one by one.
func TestLineMapProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFile().Draw(t, "file")
		m := NewLineMap(Patch{Files: []File{f}})
		left, right := map[int]int{}, map[int]int{}
		for i, h := range f.Hunks {
			for _, l := range h.Lines {
				left[l.Old], right[l.New] = i+1, i+1
			}
		}
		for line := -1; line < 90; line++ {
			checkLine(t, m, f.Path(), Left, line, left)
			checkLine(t, m, f.Path(), Right, line, right)
		}
	})
}

func checkLine(t *rapid.T, m LineMap, path string, side Side, line int, hunkOf map[int]int) {
	want := line > 0 && hunkOf[line] > 0
	if got := m.Accepts(path, side, line); got != want {
		t.Fatalf("%s %d: accepted %t, want %t", side, line, got, want)
	}
	if n, ok := m.Nearest(path, side, line); ok && (!m.Accepts(path, side, n) || want && n != line) {
		t.Fatalf("%s %d: nearest %d", side, line, n)
	}
	for _, other := range []int{line + 1, line + 4} {
		sameHunk := want && hunkOf[other] == hunkOf[line]
		if got := m.AcceptsRange(path, side, line, other); got != sameHunk {
			t.Fatalf("%s %d-%d: accepted %t, want %t", side, line, other, got, sameHunk)
		}
	}
}

func FuzzLineMap(f *testing.F) {
	f.Add("@@ -10,3 +10,4 @@\n a\n+b\n c\n d\n", "x.go", 12, 10)
	f.Add("@@ -1 +0,0 @@\n-a\n", "./x.go", 1, 9)
	f.Fuzz(func(t *testing.T, patch, path string, line, start int) {
		hunks, _ := ParseHunks(patch, Limits{Lines: 200})
		// The same hunks twice are a patch that nobody should build.
		m := NewLineMap(Patch{Files: []File{{NewPath: path, Hunks: append(hunks, hunks...)}}})
		for _, side := range []Side{Left, Right} {
			if m.AcceptsRange(path, side, start, line) && (start >= line || !m.Accepts(path, side, line) || !m.Accepts(path, side, start)) {
				t.Fatal("a range is accepted whose ends are not")
			}
			if n, ok := m.Nearest(path, side, line); ok && !m.Accepts(path, side, n) {
				t.Fatalf("nearest line %d is not accepted", n)
			}
		}
		if s, ok := m.GuessSide(path, line); ok && !m.Accepts(path, s, line) {
			t.Fatalf("guessed side %s is not accepted", s)
		}
		if got, ok := m.Resolve(path); !ok || got != path {
			t.Fatalf("a changed path resolves to %q", got)
		}
	})
}
