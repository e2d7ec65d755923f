package diff

import (
	"slices"
	"testing"
)

func TestPaths(t *testing.T) {
	tests := []struct {
		name string
		file File
		want []string
	}{
		{"modified", File{Op: Modified, OldPath: "a", NewPath: "a"}, []string{"a"}},
		{"modified, one path given", File{Op: Modified, NewPath: "a"}, []string{"a"}},
		{"added", File{Op: Added, NewPath: "a"}, []string{"a"}},
		{"deleted", File{Op: Deleted, OldPath: "a"}, []string{"a"}},
		{"deleted, as GitHub lists it", File{Op: Deleted, NewPath: "a"}, []string{"a"}},
		{"case-137 renamed", File{Op: Renamed, OldPath: ".github/workflows/release.yml", NewPath: "docs/notes.txt"},
			[]string{"docs/notes.txt", ".github/workflows/release.yml"}},
		{"case-137 copied", File{Op: Copied, OldPath: "a", NewPath: "b"}, []string{"b", "a"}},
		{"deleted with two paths", File{Op: Deleted, OldPath: "a", NewPath: "b"}, []string{"a", "b"}},
	}
	for _, tt := range tests {
		if got := tt.file.Paths(); !slices.Equal(got, tt.want) || tt.file.Path() != tt.want[0] {
			t.Errorf("%s: paths %q, path %q, want %q", tt.name, got, tt.file.Path(), tt.want)
		}
	}
}

func TestCase026_Missing(t *testing.T) {
	for _, tt := range []struct{ said, have, want int }{{3200, 3000, 200}, {10, 9, 1}, {9, 10, 0}, {0, 0, 0}} {
		p := Patch{ChangedFiles: tt.said}
		for i := range tt.have {
			p.Files = append(p.Files, File{Op: Modified, NewPath: itoa(i)})
		}
		if got := p.Missing(); got != tt.want {
			t.Errorf("%d of %d: missing %d, want %d", tt.have, tt.said, got, tt.want)
		}
	}
	a, b := File{Op: Modified, OldPath: "a", NewPath: "a"}, File{Op: Renamed, OldPath: "b", NewPath: "a"}
	if got := (Patch{ChangedFiles: 3, Files: []File{a, a, b}}).Missing(); got != 1 {
		t.Errorf("a file listed twice: missing %d, want 1", got)
	}
	// Git tells a change of type as a deletion and an addition.
	gone, come := File{Op: Deleted, OldPath: "a"}, File{Op: Added, NewPath: "a"}
	if got := (Patch{ChangedFiles: 2, Files: []File{gone, come}}).Missing(); got != 0 {
		t.Errorf("deleted and added: missing %d, want 0", got)
	}
}

func TestCase029_Unseen(t *testing.T) {
	hunk := []Hunk{{Lines: []Line{{Op: AddedLine, New: 1}}}}
	tests := []struct {
		name string
		file File
		want bool
	}{
		{"hunks", File{Op: Modified, Hunks: hunk, Added: 1}, false},
		{"large file without patch", File{Op: Modified, Added: 429, Deleted: 460}, true},
		{"truncated", File{Op: Modified, Hunks: hunk, Truncated: true}, true},
		{"known binary", File{Op: Added, Binary: true, NewBlob: "1"}, false},
		{"perhaps a binary", File{Op: Added, NewBlob: "1"}, true},
		{"blob not known", File{Op: Added}, true},
		{"added empty", File{Op: Added, NewBlob: emptyBlob}, false},
		{"added empty, lines counted", File{Op: Added, NewBlob: emptyBlob, Added: 5}, true},
		{"deleted empty", File{Op: Deleted, OldBlob: emptyBlob256}, false},
		{"deleted without hunks", File{Op: Deleted, OldBlob: "1"}, true},
		{"pure rename", File{Op: Renamed, OldBlob: "1", NewBlob: "1"}, false},
		{"pure rename, blobs not known", File{Op: Renamed, NewBlob: "1"}, true},
		{"rename with a change", File{Op: Renamed, OldBlob: "1", NewBlob: "2"}, true},
		{"mode alone", File{Op: Modified, OldBlob: "1", NewBlob: "1", OldMode: ModeRegular, NewMode: ModeExecutable}, false},
		{"case-141 mode and perhaps a binary", File{Op: Modified, OldBlob: "1", NewBlob: "2", OldMode: ModeRegular, NewMode: ModeExecutable}, true},
		{"rename that a diff proves pure", File{Op: Renamed, SameContent: true}, false},
		{"proven the same, lines counted", File{Op: Renamed, SameContent: true, Added: 1}, true},
		{"proven the same, truncated", File{Op: Renamed, SameContent: true, Truncated: true}, true},
		{"nothing at all", File{Op: Modified, OldMode: ModeRegular, NewMode: ModeRegular}, true},
		{"case-143 submodule", File{Op: Modified, OldMode: ModeSubmodule, NewMode: ModeSubmodule, OldBlob: "1", NewBlob: "2"}, false},
	}
	for _, tt := range tests {
		if got := tt.file.Unseen(); got != tt.want {
			t.Errorf("%s: unseen %t", tt.name, got)
		}
	}
}
