package risk

import (
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

func TestUnreadable(t *testing.T) {
	large := modified("big.go")
	large.Hunks, large.Added, large.Deleted = nil, 429, 460
	truncated := func(path string) diff.File {
		f := modified(path)
		f.Truncated, f.Why = true, "over the budget"
		return f
	}
	unread := known()
	unread.Unread = []string{"a.go", "a.pb.go"}
	noOp := modified("a.go")
	noOp.Op = 0
	tests := []struct {
		name  string
		patch diff.Patch
		ctx   Context
		files []string
	}{
		{"case-029 large file without patch", patchOf(large), known(), []string{"big.go"}},
		{"case-029 binary by name", patchOf(modified("logo.png")), known(), nil},
		{"truncated", patchOf(truncated("a.go"), modified("b.go")), known(), []string{"a.go"}},
		{"truncated docs", patchOf(truncated("README.md")), known(), []string{"README.md"}},
		{"truncated generated and vendored", patchOf(truncated("a.pb.go"), truncated("third_party/x.c")), known(), nil},
		{"truncated lock", patchOf(truncated("go.sum"), modified("go.mod")), known(), []string{"go.sum"}},
		{"unread", modifiedAll("a.go", "a.pb.go"), unread, []string{"a.go"}},
		{"unread by its old path", patchOf(renamed("a.go", "b.go")), unread, []string{"b.go"}},
		{"unknown mode", patchOf(withModes(modified("a.go"), diff.ModeRegular, diff.ModeUnknown)), known(), []string{"a.go"}},
		{"unknown mode of generated", patchOf(withModes(modified("a.pb.go"), diff.ModeUnknown, diff.ModeRegular)), known(), []string{"a.pb.go"}},
		{"no mode", patchOf(withModes(modified("a.go"), "", diff.ModeRegular)), known(), []string{"a.go"}},
		{"invented mode", patchOf(withModes(modified("a.go"), diff.ModeRegular, "100777")), known(), []string{"a.go"}},
		{"no operation", patchOf(noOp), known(), []string{"a.go"}},
		{"no path", patchOf(diff.File{Op: diff.Added, NewMode: diff.ModeRegular}), known(), []string{""}},
		{"pure rename", patchOf(renamed("a.go", "b.go")), known(), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Assess(tt.patch, tt.ctx, nil)
			s, fired := signal(a, "unreadable")
			if fired != (tt.files != nil) || fired && (!slices.Equal(s.Files, tt.files) || a.Tier < High || s.Detail == "") {
				t.Errorf("unreadable: %t %+v, tier %s, want %v", fired, s, a.Tier, tt.files)
			}
		})
	}
}

func TestCase026_MissingFilesSaySo(t *testing.T) {
	a := Assess(diff.Patch{Files: modifiedAll("README.md").Files, ChangedFiles: 3}, known(), nil)
	if s := wantSignal(t, a, "unreadable"); !strings.Contains(s.Detail, "2 of 3 files") {
		t.Errorf("detail %q", s.Detail)
	}
	wantNoSignal(t, a, "docs-only")
	wantNoSignal(t, Assess(diff.Patch{ChangedFiles: 1}, known(), nil), "no-files")
}
