package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
	"pgregory.net/rapid"
)

// fakeBlobs answers by id.
type fakeBlobs struct {
	data  map[string]string
	err   error // answered to everything
	calls int
}

func (f *fakeBlobs) Blob(_ context.Context, _ forge.Repo, oid string, max int64) ([]byte, error) {
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	s, ok := f.data[oid]
	if !ok {
		return nil, &forge.Error{Kind: forge.KindNotFound, Op: "read blob", Err: errors.New("no such blob")}
	}
	if int64(len(s)) > max {
		return nil, &forge.Error{Kind: forge.KindTooLarge, Op: "read blob"}
	}
	return []byte(s), nil
}

func large(name string) diff.File {
	return diff.File{Op: diff.Modified, OldPath: name, NewPath: name, OldMode: "100644", NewMode: "100644", OldBlob: "old", NewBlob: "new",
		Added: 1, Deleted: 1, Truncated: true, Why: whyNoPatch}
}

func TestFill(t *testing.T) {
	blobs := map[string]string{"old": "a\nb\nc\n", "new": "a\nB\nc\n", "nul": "a\x00b", "big": strings.Repeat("x", 100)}
	change := func(f diff.File, c func(*diff.File)) diff.File { c(&f); return f }
	for name, tc := range map[string]struct {
		f         diff.File
		budget    Budget
		calls     int
		hunks     int
		binary    bool
		truncated string // part of why; empty: not truncated
	}{
		"case-029 large file is read": {large("a.go"), Budget{}, 2, 1, false, ""},
		"added":                       {change(large("a.go"), func(f *diff.File) { f.Op, f.OldPath, f.OldBlob = diff.Added, "", "" }), Budget{}, 1, 1, false, ""},
		"deleted":                     {change(large("a.go"), func(f *diff.File) { f.Op, f.NewPath, f.NewBlob = diff.Deleted, "", "" }), Budget{}, 1, 1, false, ""},
		"really binary":               {change(large("a.go"), func(f *diff.File) { f.NewBlob = "nul" }), Budget{}, 2, 0, true, ""},
		"source called binary":        {change(large("a.go"), func(f *diff.File) { f.Binary, f.Truncated, f.Why = true, false, "" }), Budget{}, 2, 1, false, ""},
		"a picture is left alone":     {change(large("a.PNG"), func(f *diff.File) { f.Binary, f.Truncated, f.Why = true, false, "" }), Budget{}, 0, 0, true, ""},
		"submodule": {change(large("sub"), func(f *diff.File) {
			f.OldMode, f.NewMode, f.Binary, f.Truncated, f.Why = "160000", "160000", true, false, ""
		}), Budget{}, 0, 0, true, ""},
		"the list is of another head": {change(large("a.go"), func(f *diff.File) { f.Why = whyOtherHead }), Budget{}, 0, 0, false, "another head"},
		"a patch that was garbled":    {change(large("a.go"), func(f *diff.File) { f.Why, f.Hunks = "bad hunk", []diff.Hunk{{}, {}} }), Budget{}, 2, 1, false, ""},
		"garbled and not to be had":   {change(large("a.go"), func(f *diff.File) { f.Why, f.NewBlob = "bad hunk", "zzz" }), Budget{}, 2, 0, false, "bad hunk: read blob"},
		"too large":                   {change(large("a.go"), func(f *diff.File) { f.NewBlob = "big" }), Budget{FileBytes: 99}, 2, 0, false, "larger than 99 bytes"},
		"over the budget of bytes":    {large("a.go"), Budget{Bytes: 6}, 1, 0, false, "budget"},
		"gone":                        {change(large("a.go"), func(f *diff.File) { f.OldBlob = "zzz" }), Budget{}, 1, 0, false, "no such blob"},
		"unknown blob":                {change(large("a.go"), func(f *diff.File) { f.OldBlob = "" }), Budget{}, 0, 0, false, "not known"},
		"empty before":                {change(large("a.go"), func(f *diff.File) { f.OldBlob = emptyBlob }), Budget{}, 1, 1, false, ""},
		"source called binary, gone":  {change(large("a.go"), func(f *diff.File) { f.Binary, f.Truncated, f.Why, f.NewBlob = true, false, "", "zzz" }), Budget{}, 2, 0, true, "called binary"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &fakeBlobs{data: blobs}
			p := diff.Patch{Files: []diff.File{tc.f}}
			gaps, err := Fill(t.Context(), r, forge.Repo{}, &p, tc.budget)
			if err != nil {
				t.Fatal(err)
			}
			f := p.Files[0]
			if r.calls != tc.calls || len(f.Hunks) != tc.hunks || f.Binary != tc.binary || f.Truncated != (tc.truncated != "") || !strings.Contains(f.Why, tc.truncated) {
				t.Errorf("%d calls, %d hunks, binary %v, truncated %v because %q", r.calls, len(f.Hunks), f.Binary, f.Truncated, f.Why)
			}
			if failed := f.Truncated && wanting(&tc.f); failed != (len(gaps) == 1) {
				t.Errorf("gaps %v", gaps)
			}
			if tc.hunks > 0 && f.Added+f.Deleted == 0 {
				t.Error("no lines are counted")
			}
		})
	}
	r := &fakeBlobs{data: blobs}
	p := diff.Patch{}
	for i := range 5 {
		p.Files = append(p.Files, large(fmt.Sprint(i)))
	}
	if gaps, err := Fill(t.Context(), r, forge.Repo{}, &p, Budget{Files: 2}); err != nil || len(gaps) != 1 || r.calls != 4 || len(Truncated(p)) != 3 {
		t.Errorf("gaps %v, %v, %d calls, truncated %v", gaps, err, r.calls, Truncated(p))
	}
}

// What passes must not become a verdict that lasts until the next push.
func TestFillTellsWhatPassesFromWhatLasts(t *testing.T) {
	for kind, passes := range map[forge.Kind]bool{
		forge.KindUnavailable: true, forge.KindRateLimited: true, forge.KindUnauthorized: true, forge.KindSuspended: true,
		forge.KindForbidden: false, forge.KindNotFound: false, forge.KindInvalid: false, forge.KindTooLarge: false, forge.KindMalformed: false,
	} {
		refusal := &forge.Error{Kind: kind, Op: "read blob", RetryAfter: time.Minute}
		r := &fakeBlobs{err: refusal}
		p := diff.Patch{Files: []diff.File{large("a.go"), large("b.go"), large("c.go")}}
		gaps, err := Fill(t.Context(), r, forge.Repo{}, &p, Budget{})
		switch {
		case passes && (!errors.Is(err, refusal) || gaps != nil || r.calls != 1):
			t.Errorf("%s: gaps %v, error %v, %d calls; want the error at once", kind, gaps, err, r.calls)
		case !passes && (err != nil || len(gaps) != 1 || r.calls != 3 || len(Truncated(p)) != 3):
			t.Errorf("%s: gaps %v, error %v, truncated %v", kind, gaps, err, Truncated(p))
		}
	}
}

// apply rebuilds the new text from the old one and hunks.
func apply(before string, hunks []diff.Hunk) (string, error) {
	old := splitLines(before)
	var out strings.Builder
	at := 0 // old lines consumed
	for _, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		if start < at {
			return "", fmt.Errorf("hunk begins at %d, %d are consumed", start, at)
		}
		for ; at < start; at++ {
			out.WriteString(old[at])
		}
		newNo := strings.Count(out.String(), "\n") + 1
		for _, l := range h.Lines {
			text := l.Text
			if !l.NoNewline {
				text += "\n"
			}
			if l.Op != diff.AddedLine {
				if at >= len(old) || old[at] != text || l.Old != at+1 {
					return "", fmt.Errorf("old line %d is %q, not %q (%d)", at+1, old[min(at, len(old)-1)], text, l.Old)
				}
				at++
			}
			if l.Op != diff.DeletedLine {
				if l.New != newNo {
					return "", fmt.Errorf("new line %d is numbered %d", newNo, l.New)
				}
				newNo++
				out.WriteString(text)
			}
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String(), nil
}

// render writes hunks as GitHub would, for the parser.
func render(hunks []diff.Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			b.WriteString(map[diff.LineOp]string{diff.ContextLine: " ", diff.AddedLine: "+", diff.DeletedLine: "-"}[l.Op] + l.Text + "\n")
			if l.NoNewline {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

func TestCompareProperties(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "", "x\r", "\u2028", "@@ -1 +1 @@", "\\ No"})
	text := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "\n")
		if rapid.Bool().Draw(t, "newline") && s != "" {
			s += "\n"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		hunks, err := compare([]byte(before), []byte(after))
		if err != nil {
			t.Fatal(err)
		}
		got, err := apply(before, hunks)
		if err != nil || got != after {
			t.Fatalf("applied: %q, want %q (%v)\n%s", got, after, err, render(hunks))
		}
		if (len(hunks) == 0) != (before == after) {
			t.Fatalf("%d hunks between %q and %q", len(hunks), before, after)
		}
		parsed, err := diff.ParseHunks(render(hunks), diff.Limits{})
		if err != nil || len(parsed) != len(hunks) {
			t.Fatalf("git's reader refuses them: %v\n%s", err, render(hunks))
		}
		added, deleted := countLines(hunks)
		if n := edits(splitLines(before), splitLines(after)); added+deleted != n {
			t.Fatalf("%d edits, the fewest are %d\n%s", added+deleted, n, render(hunks))
		}
	})
}

// edits is the length of a shortest script, by the textbook table.
func edits(a, b []string) int {
	prev := make([]int, len(b)+1)
	for _, x := range a {
		cur := make([]int, len(b)+1)
		for j, y := range b {
			if x == y {
				cur[j+1] = prev[j] + 1
			} else {
				cur[j+1] = max(cur[j], prev[j+1])
			}
		}
		prev = cur
	}
	return len(a) + len(b) - 2*prev[len(b)]
}

func TestCompareGivesUpOnShortestOnly(t *testing.T) {
	var a, b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	hunks, err := compare([]byte(a.String()), []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := apply(a.String(), hunks); err != nil || got != b.String() {
		t.Errorf("applied: %d bytes, %v", len(got), err)
	}
	if _, err := compare([]byte(strings.Repeat("\n", diff.DefaultLines+1)), nil); err == nil {
		t.Error("a text without bounds was compared")
	}
}
