package scan

import (
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

func TestConflictMarkers(t *testing.T) {
	tests := []struct {
		name, path string
		lines      []string
		want       []string
	}{
		{"whole", "a.go", []string{" x", "+<<<<<<< HEAD", "+a", "+=======", "+b", "+>>>>>>> main"}, []string{"a.go:2 high"}},
		{"CRLF", "a.go", []string{"+<<<<<<< HEAD\r", "+=======\r", "+>>>>>>> main\r"}, []string{"a.go:1 high"}},
		{"diff3", "a.go", []string{"+<<<<<<< a", "+||||||| base", "+=======", "+>>>>>>> b"}, []string{"a.go:1 high"}},
		{"jj", "a.go", []string{"+<<<<<<< conflict 1 of 1", "+%%%%%%% changes", "+x", "+>>>>>>> ends"}, []string{"a.go:1 high"}},
		{"two", "a.go", []string{"+<<<<<<< a", "+=======", "+>>>>>>> b", "+<<<<<<< a", "+=======", "+>>>>>>> b"}, []string{"a.go:1 high", "a.go:4 high"}},
		{"a part is new", "a.go", []string{" <<<<<<< a", "+=======", " >>>>>>> b"}, []string{"a.go:2 high"}},
		{"prose", "git.md", []string{"+<<<<<<< a", "+=======", "+>>>>>>> b"}, []string{"git.md:1 medium"}},
		{"an end alone", "a.go", []string{"+x", "+>>>>>>> main"}, []string{"a.go:2 medium"}},
		{"a start alone", "a.go", []string{"+<<<<<<< main", "+x"}, []string{"a.go:1 medium"}},

		{"underline", "a.rst", []string{"+Heading", "+======="}, nil},
		{"longer", "a.go", []string{"+<<<<<<<< HEAD", "+========", "+>>>>>>>> main"}, nil},
		{"indented", "a.go", []string{"+ <<<<<<< HEAD", "+\t>>>>>>> x"}, nil},
		{"shift", "a.cc", []string{"+cout <<<<<<< x"}, nil},
		{"not new", "a.go", []string{" <<<<<<< a", " =======", " >>>>>>> b", "+x"}, nil},
		{"resolved", "a.go", []string{"-<<<<<<< a", "-=======", "->>>>>>> b", "+x"}, nil},
		{"quoted mail", "a.txt", []string{"+>>>>>>>hello", "+>>>>>>>"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantPlaces(t, scanOf(change(tt.path, 1, tt.lines...)), RuleConflictMarker, tt.want...)
		})
	}
}

func TestConflictAcrossHunks(t *testing.T) {
	f := change("a.go", 1, "+<<<<<<< a")
	f.Hunks = append(f.Hunks, change("a.go", 90, "+=======", "+>>>>>>> b").Hunks...)
	wantPlaces(t, scanOf(f), RuleConflictMarker, "a.go:1 medium", "a.go:91 medium")
}

func TestDeceptivePath(t *testing.T) {
	moved := func(from, to string) diff.File {
		return diff.File{Op: diff.Renamed, OldPath: from, NewPath: to, OldMode: diff.ModeRegular, NewMode: diff.ModeRegular, OldBlob: "1", NewBlob: "1"}
	}
	gone := change("\u0430uth/x.go", 1, "-x")
	gone.Op, gone.NewPath = diff.Deleted, ""
	module := newFile("a\u200Bb")
	module.NewMode, module.Hunks = diff.ModeSubmodule, nil
	tests := []struct {
		file diff.File
		want bool
	}{
		{newFile("\u0430uth/x.go", "x"), true},
		{newFile("x\u202Etxt.go", "x"), true},
		{moved("a.go", `.github\CODEOWNERS`), true},
		{module, true},
		{moved("\u0430uth/x.go", "auth/x.go"), false},
		{change("\u0430uth/x.go", 1, "+x"), false},
		{gone, false},
		{newFile("docs/отчет.md", "x"), false},
		{newFile("naïve 👩\u200D💻.txt", "x"), false},
	}
	for _, tt := range tests {
		r := scanOf(tt.file)
		if tt.want {
			wantPlaces(t, r, RuleDeceptivePath, tt.file.Path()+":0 high")
			if !plain(r.Findings[0].Title) && visible(r.Findings[0].Title, 200) != r.Findings[0].Title {
				t.Errorf("title %+q", r.Findings[0].Title)
			}
			continue
		}
		wantPlaces(t, r, RuleDeceptivePath)
	}
}
