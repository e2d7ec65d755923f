package publish

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk/diff"
)

// maxSuggestionBytes bounds a suggestion: one that is larger is no small change, and
// a comment with it would have to be cut.
const maxSuggestionBytes = 16 << 10

// exact reports whether the finding's suggestion can be applied by a button: it
// replaces exactly the lines that the finding names and leaves a file that is whole.
// An applicable block that damages a file is worse than none.
func exact(f review.Finding, p diff.Patch) bool {
	a := f.Anchor
	start, line := diff.NormalRange(f.StartLine, f.Line)
	if a == nil || a.Side != review.SideRight || a.StartLine != start || a.Line != line || !harmless(f.Suggestion) {
		return false
	}
	r, ok := replacedOf(p, *a)
	if !ok {
		return false
	}
	lines := strings.Split(strings.TrimSuffix(f.Suggestion, "\n"), "\n")
	return sameEnds(r.carriage, lines) && !slices.Equal(r.lines, lines) &&
		!repeats(r.above, r.lines, lines) && !repeats(reversed(r.below), reversed(r.lines), reversed(lines))
}

// harmless: the block shows all that it would write, and no line of it is a command
// to a bot. It is sent as it is, so nothing in it can be escaped.
func harmless(s string) bool {
	if len(s) > maxSuggestionBytes || !utf8.ValidString(s) {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && hidden(r) }) {
			return false
		}
		if t := strings.TrimLeft(line, " \t"); len(t) > 1 && t[0] == '/' && isLetter(t[1]) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return (c|0x20) >= 'a' && (c|0x20) <= 'z' }

// replaced is what a suggestion takes away, and what is around it in the hunk.
type replaced struct {
	lines, above, below []string
	carriage            ends
}

// ends says how the lines of a file end, as far as the patch shows it.
type ends uint8

const (
	endsLF ends = 1 << iota
	endsCRLF
)

// replacedOf reads the lines of an anchor on the right side. It is not ok where
// what is next to them cannot be seen, since a suggestion may then repeat it, and
// where the file's last line has no end, which a suggestion would give it.
func replacedOf(p diff.Patch, a review.Anchor) (replaced, bool) {
	first := a.Line
	if a.StartLine > 0 {
		first = a.StartLine
	}
	var r replaced
	found := false
	for _, f := range p.Files {
		if f.Path() != a.Path {
			continue
		}
		if f.Truncated {
			return replaced{}, false
		}
		for _, h := range f.Hunks {
			right := rightOf(h)
			for _, l := range right {
				if strings.HasSuffix(l.Text, "\r") {
					r.carriage |= endsCRLF
				} else if !l.NoNewline {
					r.carriage |= endsLF
				}
			}
			if i, j := indexOf(right, first), indexOf(right, a.Line); i >= 0 && j >= i {
				if found || right[j].NoNewline || !seesAround(h, right, i, j) {
					return replaced{}, false
				}
				found = true
				r.above, r.lines, r.below = texts(right[:i]), texts(right[i:j+1]), texts(right[j+1:])
			}
		}
	}
	return r, found
}

// rightOf are the lines of a hunk that the new file has.
func rightOf(h diff.Hunk) []diff.Line {
	var out []diff.Line
	for _, l := range h.Lines {
		if l.New > 0 {
			out = append(out, l)
		}
	}
	return out
}

func indexOf(lines []diff.Line, n int) int {
	return slices.IndexFunc(lines, func(l diff.Line) bool { return l.New == n })
}

// seesAround: the lines next to the range are in the hunk, or the file has none
// there. A hunk that ends with a change ends with its file.
func seesAround(h diff.Hunk, right []diff.Line, i, j int) bool {
	top := i > 0 || right[i].New == 1
	bottom := j < len(right)-1 || h.Lines[len(h.Lines)-1].Op != diff.ContextLine
	return top && bottom
}

func texts(lines []diff.Line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return out
}

// sameEnds reports whether the suggestion's lines end as the file's do (case 21). A
// file of both kinds has no right answer.
func sameEnds(file ends, lines []string) bool {
	for _, l := range lines {
		body, carriage := strings.CutSuffix(l, "\r")
		if strings.Contains(body, "\r") || carriage != (file == endsCRLF) {
			return false
		}
	}
	return file == endsLF || file == endsCRLF
}

// repeats reports whether the suggestion begins with the lines above it, any number
// of them: applied, they would stand there twice (case 17). Lines that the replaced
// ones begin with as well are no repetition. For the lines below, everything is
// given in reverse.
func repeats(above, old, lines []string) bool {
	for n := 1; n <= min(len(above), len(lines)); n++ {
		next, begin := above[len(above)-n:], lines[:n]
		if sameText(next, begin) && !blank(begin) && (n > len(old) || !sameText(next, old[:n])) {
			return true
		}
	}
	return false
}

func sameText(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool { return strings.TrimSpace(x) == strings.TrimSpace(y) })
}

func blank(lines []string) bool { return strings.TrimSpace(strings.Join(lines, "")) == "" }

func reversed(lines []string) []string {
	out := slices.Clone(lines)
	slices.Reverse(out)
	return out
}
