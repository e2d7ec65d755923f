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

// newFile is an added file with these lines.
func newFile(path string, lines ...string) diff.File {
	h := diff.Hunk{NewStart: 1, NewLines: len(lines)}
	for i, text := range lines {
		h.Lines = append(h.Lines, diff.Line{Op: diff.AddedLine, New: i + 1, Text: text})
	}
	return diff.File{Op: diff.Added, NewPath: path, NewMode: diff.ModeRegular, NewBlob: "2", Added: len(lines), Hunks: []diff.Hunk{h}}
}

// change is a modified file with one hunk that begins at line no of both sides;
// a line's first character is its role.
func change(path string, no int, lines ...string) diff.File {
	h := diff.Hunk{OldStart: no, NewStart: no}
	oldNo, newNo := no, no
	for _, text := range lines {
		l := diff.Line{Op: diff.ContextLine, Old: oldNo, New: newNo, Text: text[1:]}
		switch text[0] {
		case '+':
			l.Op, l.Old = diff.AddedLine, 0
			newNo++
		case '-':
			l.Op, l.New = diff.DeletedLine, 0
			oldNo++
		default:
			oldNo++
			newNo++
		}
		h.Lines = append(h.Lines, l)
	}
	h.OldLines, h.NewLines = oldNo-no, newNo-no
	if h.OldLines == 0 { // a side without lines names the line before
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	return diff.File{Op: diff.Modified, OldPath: path, NewPath: path, OldMode: diff.ModeRegular, NewMode: diff.ModeRegular,
		OldBlob: "1", NewBlob: "2", Added: 1, Deleted: 1, Hunks: []diff.Hunk{h}}
}

func patchOf(files ...diff.File) diff.Patch {
	return diff.Patch{Repo: "acme/shop", Files: files, ChangedFiles: len(files)}
}

func scanOf(files ...diff.File) Result {
	return Patch(context.Background(), patchOf(files...), nil, Limits{})
}

// places spells findings of one rule as "path:line severity".
func places(r Result, rule string) []string {
	var list []string
	for _, f := range r.Findings {
		if f.Rule == rule {
			list = append(list, fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.Severity))
		}
	}
	slices.Sort(list)
	return list
}

func wantPlaces(t *testing.T, r Result, rule string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := places(r, rule); !slices.Equal(got, want) {
		t.Errorf("%s at %v, want %v", rule, got, want)
	}
	for _, f := range r.Findings {
		if f.Side != diff.Right || f.Title == "" || f.Why == "" || f.Do == "" || f.Severity == 0 || strings.HasSuffix(f.Title, ".") {
			t.Errorf("not a whole finding: %+v", f)
		}
	}
}

func wantState(t *testing.T, r Result, rule string, want risk.Tri) {
	t.Helper()
	if got := r.Content[rule].State; got != want {
		t.Errorf("%s is %s, want %s; gaps %v", rule, got, want, r.Gaps)
	}
}
