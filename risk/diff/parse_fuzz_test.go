package diff

import (
	"errors"
	"strings"
	"testing"
)

// FuzzParse: whatever the input is, it is read without a crash, no line that
// begins a file is lost, and what was read fits its numbers.
func FuzzParse(f *testing.F) {
	for _, c := range corpus(f) {
		if len(c.diff) < 1<<12 {
			f.Add(c.diff)
		}
	}
	f.Add(good + good)
	f.Fuzz(func(t *testing.T, diff string) {
		lim := PatchLimits{Bytes: 1 << 16, Files: 50, Lines: 500, File: Limits{Lines: 100, Bytes: 1 << 12, LineBytes: 1 << 10}}
		p, err := Parse(diff, lim)
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrUnsupported) {
			t.Fatalf("untyped error %v", err)
		}
		if len(p.Files) > lim.Files || p.ChangedFiles < p.listed() {
			t.Fatalf("%d files listed, %d changed", len(p.Files), p.ChangedFiles)
		}
		if err == nil && p.Missing() > 0 {
			t.Fatalf("%d missing and no error", p.Missing())
		}
		starts := strings.Count("\n"+diff, "\ndiff --git ")
		if have := len(p.Files) + p.ChangedFiles - p.listed(); have < starts && len(diff) < lim.Bytes {
			t.Fatalf("%d files and %d of them told: %v", starts, have, err)
		}
		for _, file := range p.Files {
			checkFile(t, file)
			if err == nil && file.Truncated {
				t.Fatalf("%q is cut off and no error", file.Path())
			}
		}
		// Its identity and its line map are computed of everything that is read.
		p.Identity()
		NewLineMap(p)
	})
}

func checkFile(t *testing.T, f File) {
	t.Helper()
	if f.Op == 0 || f.Path() == "" || f.Truncated != (f.Why != "") {
		t.Fatalf("half a file: %+v", f)
	}
	if added, deleted := counts(f.Hunks); added != f.Added || deleted != f.Deleted {
		t.Fatalf("%q counts +%d -%d and has +%d -%d", f.Path(), f.Added, f.Deleted, added, deleted)
	}
	for i, h := range f.Hunks {
		o, n := 0, 0
		for _, l := range h.Lines {
			if strings.Contains(l.Text, "\n") {
				t.Fatalf("a line end inside %q", l.Text)
			}
			if l.Old > 0 {
				if l.Old != h.OldStart+o {
					t.Fatalf("old line %d in place %d of a hunk at %d", l.Old, o, h.OldStart)
				}
				o++
			}
			if l.New > 0 {
				if l.New != h.NewStart+n {
					t.Fatalf("new line %d in place %d of a hunk at %d", l.New, n, h.NewStart)
				}
				n++
			}
		}
		if o != h.OldLines || n != h.NewLines {
			t.Fatalf("%d and %d lines, header counts %d and %d", o, n, h.OldLines, h.NewLines)
		}
		if i > 0 && follows(f.Hunks[i-1], h) != nil {
			t.Fatalf("hunk %d overlaps the one before", i)
		}
	}
}
