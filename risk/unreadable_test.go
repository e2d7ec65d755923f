package risk

import (
	"slices"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

func TestUnreadable(t *testing.T) {
	truncated := func(path string) diff.File {
		f := modified(path)
		f.Truncated, f.Why = true, "over the budget"
		return f
	}
	unread := known()
	unread.Unread = []string{"a.go"}
	exempt := known()
	exempt.Unread = []string{"a.pb.go"}
	binary := func(path string) diff.File {
		f := modified(path)
		f.Hunks, f.Binary, f.Added, f.Deleted = nil, true, 0, 0
		return f
	}
	noOp := modified("a.go")
	noOp.Op = 0
	tests := []struct {
		name  string
		patch diff.Patch
		ctx   Context
		files []string
	}{
		{"truncated", patchOf(truncated("a.go"), modified("b.go")), known(), []string{"a.go"}},
		{"truncated docs", patchOf(truncated("README.md")), known(), []string{"README.md"}},
		{"truncated generated and vendored", patchOf(truncated("a.pb.go"), truncated("third_party/x.c")), known(), nil},
		{"truncated lock", patchOf(truncated("go.sum"), modified("go.mod")), known(), []string{"go.sum"}},
		{"unread", modifiedAll("a.go", "b.go"), unread, []string{"a.go"}},
		{"unread and not listed", modifiedAll("b.go"), unread, []string{"a.go"}},
		{"unread generated", modifiedAll("a.pb.go"), exempt, nil},
		{"a picture", patchOf(binary("logo.png"), binary("docs/a.png")), known(), nil},
		{"a picture that has lines nobody saw", patchOf(withCounts(binary("logo.png"))), known(), []string{"logo.png"}},
		{"a picture of the docs that has lines nobody saw", patchOf(withCounts(binary("docs/a.png"))), known(), []string{"docs/a.png"}},
		{"a program that is binary", patchOf(binary("main.go")), known(), []string{"main.go"}},
		{"a name that says nothing, binary", patchOf(binary("bin/tool")), known(), nil},
		{"a name that says nothing, called binary and not looked into", patchOf(func() diff.File {
			f := binary("bin/tool")
			f.Truncated = true
			return f
		}()), known(), []string{"bin/tool"}},
		{"unread by its old path", patchOf(renamed("a.go", "b.go")), unread, []string{"b.go"}},
		{"unknown mode", patchOf(withModes(modified("a.go"), diff.ModeRegular, diff.ModeUnknown)), known(), []string{"a.go"}},
		{"unknown mode of generated", patchOf(withModes(modified("a.pb.go"), diff.ModeUnknown, diff.ModeRegular)), known(), []string{"a.pb.go"}},
		{"no mode", patchOf(withModes(modified("a.go"), "", diff.ModeRegular)), known(), []string{"a.go"}},
		{"invented mode", patchOf(withModes(modified("a.go"), diff.ModeRegular, "100777")), known(), []string{"a.go"}},
		{"no operation", patchOf(noOp), known(), []string{"a.go"}},
		{"operation of another version", patchOf(func() diff.File {
			f := modified("a.go")
			f.Op = diff.TypeChanged + 1
			return f
		}()), known(), []string{"a.go"}},
		{"no path", patchOf(modified("")), known(), []string{""}},
		{"rename from nowhere", patchOf(renamed("", "b.go")), known(), []string{"b.go"}},
		{"rename to nowhere", patchOf(renamed("a.go", "")), known(), []string{"a.go"}},
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

// TestUnreadableSaysWhy: the reader's own reason is the one that people see.
func TestUnreadableSaysWhy(t *testing.T) {
	for why, want := range map[string]string{"over the budget": "over the budget", "": "content was not read"} {
		f := modified("a.go")
		f.Truncated, f.Why = true, why
		if s := wantSignal(t, Assess(patchOf(f), known(), nil), "unreadable"); s.Detail != want {
			t.Errorf("detail %q, want %q", s.Detail, want)
		}
	}
}
