package diff

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// places returns the line numbers that a file's hunks have on one side.
func places(hunks []Hunk, of func(Line) int) []int {
	list := []int{}
	for _, h := range hunks {
		for _, l := range h.Lines {
			if n := of(l); n > 0 {
				list = append(list, n)
			}
		}
	}
	return list
}

func oldNo(l Line) int { return l.Old }
func newNo(l Line) int { return l.New }

func TestParseHunks(t *testing.T) {
	tests := []struct {
		name        string
		patch       string
		left, right []int
	}{
		{"no hunks", "", []int{}, []int{}},
		{"case-016 omitted counts", "@@ -5 +5 @@\n-a\n+b", []int{5}, []int{5}},
		{"case-016 new file", "@@ -0,0 +1 @@\n+x", []int{}, []int{1}},
		{"case-016 deletion only", "@@ -3,2 +2,0 @@\n-a\n-b", []int{3, 4}, []int{}},
		{"case-008 marker between", "@@ -1,2 +1,2 @@\n context\n-old line\n\\ No newline at end of file\n+new line\n\\ No newline at end of file",
			[]int{1, 2}, []int{1, 2}},
		{"case-008 marker in another language", "@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+b", []int{1}, []int{1}},
		{"case-008 marker first", "@@ -1 +1 @@\n\\ odd\n-a\n+b", []int{1}, []int{1}},
		{"case-021 carriage returns", "@@ -1,3 +1,3 @@ func x()\r\n a\r\n-b\r\n+B\r\n c\r\n", []int{1, 2, 3}, []int{1, 2, 3}},
		{"a deleted patch header", "@@ -1,3 +1,1 @@\n--- a/x\n-++ b/x\n @@ -1 +1 @@", []int{1, 2, 3}, []int{1}},
		{"added text that looks like a hunk", "@@ -1,0 +2,2 @@\n+@@ -1,9 +1,9 @@\n+diff --git a/x b/x", []int{}, []int{2, 3}},
		{"two hunks", "@@ -1 +1 @@\n-a\n+b\n@@ -10,2 +10,3 @@ func f() {\n x\n+y\n z\n", []int{1, 10, 11}, []int{1, 10, 11, 12}},
		{"stripped blank context", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c", []int{1, 2, 3}, []int{1, 2, 3}},
		{"other line ends are text", "@@ -1 +1,2 @@\n-a\u2028@@ -9 +9 @@\n+b\u0085\f\v\r@@\n+c", []int{1}, []int{1, 2}},
		{"inserted at the top without context", "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -1 +3 @@\n-x\n+y", []int{1}, []int{1, 2, 3}},
		{"inserted right behind a hunk", "@@ -4,2 +4,2 @@\n a\n-b\n+B\n@@ -5,0 +6 @@\n+x", []int{4, 5}, []int{4, 5, 6}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hunks, err := ParseHunks(tt.patch, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := places(hunks, oldNo); !slices.Equal(got, tt.left) {
				t.Errorf("left %v, want %v", got, tt.left)
			}
			if got := places(hunks, newNo); !slices.Equal(got, tt.right) {
				t.Errorf("right %v, want %v", got, tt.right)
			}
		})
	}
}

func TestParseHunksKeepsContent(t *testing.T) {
	hunks, err := ParseHunks("@@ -1,2 +1,2 @@ func f() {\r\n a\u2028b\n-old\r\n+new\r\n\\ No newline at end of file\n", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Line{
		{Op: ContextLine, Old: 1, New: 1, Text: "a\u2028b"},
		{Op: DeletedLine, Old: 2, Text: "old\r"},
		{Op: AddedLine, New: 2, Text: "new\r", NoNewline: true},
	}
	if len(hunks) != 1 || !slices.Equal(hunks[0].Lines, want) || hunks[0].Section != "func f() {" {
		t.Errorf("got %+v, want section and lines %+v", hunks, want)
	}
}

func TestParseHunksRefuses(t *testing.T) {
	good := "@@ -1 +1 @@\n-a\n+b\n"
	tests := []struct {
		name, patch string
		lim         Limits
		want        error
		kept        int
	}{
		{"too short", "@@ -1,3 +1,3 @@\n a\n-b\n+c", Limits{}, ErrMalformed, 0},
		{"too long", "@@ -1 +1 @@\n-a\n+b\n+c", Limits{}, ErrMalformed, 0},
		{"more deletions than counted", "@@ -1 +1,2 @@\n-a\n-b\n+c", Limits{}, ErrMalformed, 0},
		{"a deletion too many", "@@ -1 +1 @@\n-a\n-b\n+c", Limits{}, ErrMalformed, 0},
		{"second hunk broken", good + "@@ -9 +9 @@\n*x", Limits{}, ErrMalformed, 1},
		{"hunks overlap", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -2 +2 @@\n-b\n+c", Limits{}, ErrMalformed, 1},
		{"hunks go back behind an insertion", "@@ -5,0 +6 @@\n+a\n@@ -5 +7 @@\n-a\n+b", Limits{}, ErrMalformed, 1},
		{"hunks go back", "@@ -9 +9 @@\n-a\n+b\n@@ -1 +1 @@\n-a\n+b", Limits{}, ErrMalformed, 1},
		{"not a header", "diff --git a/x b/x\n", Limits{}, ErrMalformed, 0},
		{"combined diff", "@@@ -1 -1 +1 @@@\n++a", Limits{}, ErrMalformed, 0},
		{"negative count", "@@ -1,-1 +1 @@\n+a", Limits{}, ErrMalformed, 0},
		{"sign", "@@ -+1 +1 @@\n+a", Limits{}, ErrMalformed, 0},
		{"line zero", "@@ -0,1 +1 @@\n-a\n+b", Limits{}, ErrMalformed, 0},
		{"nothing counted", "@@ -1,0 +1,0 @@\n", Limits{}, ErrMalformed, 0},
		{"number beyond 32 bits", "@@ -99999999999 +1 @@\n-a\n+b", Limits{}, ErrMalformed, 0},
		{"sum beyond 32 bits", "@@ -2147483647,2147483647 +1 @@\n-a", Limits{}, ErrMalformed, 0},
		{"promise of two billion lines", "@@ -1,2147483646 +1,2147483646 @@\n a\n", Limits{}, ErrMalformed, 0},
		{"no closing", "@@ -1 +1\n-a\n+b", Limits{}, ErrMalformed, 0},
		{"too many bytes", good, Limits{Bytes: 5}, ErrTooLarge, 0},
		{"too many lines", good + "@@ -9 +9 @@\n-a\n+b\n", Limits{Lines: 4}, ErrTooLarge, 1},
		{"long line", "@@ -1 +1 @@\n-a\n+" + strings.Repeat("b", 20), Limits{LineBytes: 15}, ErrTooLarge, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hunks, err := ParseHunks(tt.patch, tt.lim)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if len(hunks) != tt.kept {
				t.Errorf("%d hunks kept, want %d", len(hunks), tt.kept)
			}
		})
	}
}

// TestParseHunksCorpus reads real git output of single files with hunks, cut at the first
// hunk header as GitHub's `patch` field is, and compares with what git counted
// and, where it accepts the input, with another parser.
func TestParseHunksCorpus(t *testing.T) {
	read := 0
	for _, c := range corpus(t) {
		i := strings.Index(c.diff, "\n@@ -") + 1
		if len(c.Files) != 1 || i == 0 || !strings.HasPrefix(c.diff, "diff --git ") {
			continue // several files, no hunks, or text around them: TestParseCorpus reads it
		}
		read++
		t.Run(c.name, func(t *testing.T) {
			hunks, err := ParseHunks(c.diff[i:], Limits{})
			if strings.Contains(c.Note, "error") {
				if err == nil {
					t.Errorf("accepted; note: %s", c.Note)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			added, deleted := counts(hunks)
			if f := c.Files[0]; added != f.Added || deleted != f.Deleted {
				t.Errorf("+%d -%d, git says +%d -%d", added, deleted, f.Added, f.Deleted)
			}
			compareWithGitdiff(t, c.diff, hunks)
		})
	}
	if read < 30 {
		t.Errorf("only %d cases read", read)
	}
}

func compareWithGitdiff(t *testing.T, data string, hunks []Hunk) {
	t.Helper()
	files, _, err := gitdiff.Parse(strings.NewReader(data))
	if err != nil || len(files) != 1 {
		t.Logf("no second opinion: %d files, %v", len(files), err)
		return
	}
	if len(files[0].TextFragments) != len(hunks) {
		t.Fatalf("%d hunks, gitdiff finds %d", len(hunks), len(files[0].TextFragments))
	}
	for i, frag := range files[0].TextFragments {
		if len(frag.Lines) != len(hunks[i].Lines) {
			t.Fatalf("hunk %d: %d lines, gitdiff finds %d", i, len(hunks[i].Lines), len(frag.Lines))
		}
		for j, l := range frag.Lines {
			ours := hunks[i].Lines[j]
			text := ours.Text
			if !ours.NoNewline {
				text += "\n"
			}
			ops := map[LineOp]gitdiff.LineOp{ContextLine: gitdiff.OpContext, AddedLine: gitdiff.OpAdd, DeletedLine: gitdiff.OpDelete}
			if text != l.Line || ops[ours.Op] != l.Op {
				t.Errorf("hunk %d line %d: %+v, gitdiff finds %v %q", i, j, ours, l.Op, l.Line)
			}
		}
	}
}

func counts(hunks []Hunk) (added, deleted int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case AddedLine:
				added++
			case DeletedLine:
				deleted++
			}
		}
	}
	return added, deleted
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzParseHunks(f *testing.F) {
	f.Add("@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("@@ -5 +5 @@\n-a\n+b\n@@ -9,0 +10 @@\n+x")
	f.Add("@@ -1,2147483646 +0,0 @@\n-a")
	f.Add("@@ -1 +1 @@\n--- a\n+++ b\n")
	f.Fuzz(func(t *testing.T, patch string) {
		hunks, err := ParseHunks(patch, Limits{Lines: 1000, Bytes: 1 << 16, LineBytes: 1 << 12})
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTooLarge) {
			t.Fatalf("untyped error %v", err)
		}
		lastOld, lastNew, read := 0, 0, 0
		for _, h := range hunks {
			o, n := 0, 0
			for _, l := range h.Lines {
				read++
				if strings.Contains(l.Text, "\n") {
					t.Fatalf("a line end inside %q", l.Text)
				}
				if (l.Op != AddedLine) != (l.Old > 0) || (l.Op != DeletedLine) != (l.New > 0) {
					t.Fatalf("numbers do not fit the operation: %+v", l)
				}
				if l.Old > 0 {
					if o++; l.Old <= lastOld {
						t.Fatalf("old line %d after %d", l.Old, lastOld)
					}
					lastOld = l.Old
				}
				if l.New > 0 {
					if n++; l.New <= lastNew {
						t.Fatalf("new line %d after %d", l.New, lastNew)
					}
					lastNew = l.New
				}
			}
			if o != h.OldLines || n != h.NewLines {
				t.Fatalf("%d and %d lines, header counts %d and %d", o, n, h.OldLines, h.NewLines)
			}
		}
		if read > strings.Count(patch, "\n")+1 {
			t.Fatalf("%d lines out of %q", read, patch)
		}
	})
}

func BenchmarkParseHunks(b *testing.B) {
	var s strings.Builder
	for i := range 2000 {
		start := i*20 + 1
		s.WriteString("@@ -" + itoa(start) + ",7 +" + itoa(start) + ",7 @@ func name(ctx context.Context) error {\n")
		for range 3 {
			s.WriteString(" \tif err := doSomething(ctx, argument); err != nil {\n")
		}
		s.WriteString("-\t\treturn err\n+\t\treturn fmt.Errorf(\"do something: %w\", err)\n")
		for range 3 {
			s.WriteString(" \t// and a line of comment that is about as long as they are\n")
		}
	}
	patch := s.String()
	b.SetBytes(int64(len(patch)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHunks(patch, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
