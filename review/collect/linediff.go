package collect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

const (
	// contextLines is what git shows around a change.
	contextLines = 3
	// maxEdits bounds the search for the shortest script: its memory grows with
	// the square. Beyond it the differing middle is shown as replaced, which is
	// true, if not the shortest way to say it.
	maxEdits = 1000
)

// compare makes the hunks that lead from one text to another. Lines end at "\n"
// and nowhere else.
func compare(before, after []byte) ([]diff.Hunk, error) {
	a, b := splitLines(string(before)), splitLines(string(after))
	if n := len(a) + len(b); n > diff.DefaultLines {
		return nil, fmt.Errorf("%d lines on both sides, at most %d are compared", n, diff.DefaultLines)
	}
	return hunks(script(a, b)), nil
}

// splitLines keeps line ends: a last line without one differs from one with it.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// script lists all lines of both sides in order, each with its role.
func script(a, b []string) []diff.Line {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	s := scriptWriter{lines: make([]diff.Line, 0, len(a)+len(b))}
	for _, l := range a[:head] {
		s.add(diff.ContextLine, l)
	}
	middle(&s, a[head:len(a)-tail], b[head:len(b)-tail])
	for _, l := range a[len(a)-tail:] {
		s.add(diff.ContextLine, l)
	}
	return s.lines
}

// scriptWriter numbers lines as they are written.
type scriptWriter struct {
	lines    []diff.Line
	old, new int
}

func (s *scriptWriter) add(op diff.LineOp, text string) {
	l := diff.Line{Op: op}
	l.Text, l.NoNewline = strings.CutSuffix(text, "\n")
	l.NoNewline = !l.NoNewline
	if op != diff.AddedLine {
		s.old++
		l.Old = s.old
	}
	if op != diff.DeletedLine {
		s.new++
		l.New = s.new
	}
	s.lines = append(s.lines, l)
}

// middle writes the part between common beginning and end.
func middle(s *scriptWriter, a, b []string) {
	keep, ok := shortest(a, b)
	if !ok {
		keep = nil
	}
	i, j := 0, 0
	for _, m := range keep {
		replace(s, a[i:m.a], b[j:m.b])
		s.add(diff.ContextLine, a[m.a])
		i, j = m.a+1, m.b+1
	}
	replace(s, a[i:], b[j:])
}

func replace(s *scriptWriter, a, b []string) {
	for _, l := range a {
		s.add(diff.DeletedLine, l)
	}
	for _, l := range b {
		s.add(diff.AddedLine, l)
	}
}

// match is a pair of equal lines that the script keeps.
type match struct{ a, b int }

// shortest finds the lines that a shortest edit script keeps, by Myers' greedy
// algorithm; false when it would take more than maxEdits edits.
func shortest(a, b []string) ([]match, bool) {
	n, m := len(a), len(b)
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+3) // furthest x on diagonal k, at k+limit+1
	at := func(k int) *int { return &v[k+limit+1] }
	var trace [][]int // after each round, its diagonals -d..d
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || (k != d && *at(k - 1) < *at(k + 1)) {
				x = *at(k + 1)
			} else {
				x = *at(k - 1) + 1
			}
			for x < n && x-k < m && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			*at(k) = x
			if x >= n && x-k >= m {
				return matches(trace, n, m), true
			}
		}
		trace = append(trace, append([]int(nil), v[limit+1-d:limit+2+d]...))
	}
	return nil, false
}

// matches walks the rounds back from the end.
func matches(trace [][]int, x, y int) []match {
	var out []match
	for d := len(trace); d > 0; d-- {
		prev := trace[d-1] // diagonals -(d-1)..(d-1)
		at := func(k int) int {
			if i := k + d - 1; i >= 0 && i < len(prev) {
				return prev[i]
			}
			return -1
		}
		k := x - y
		pk := k - 1
		if k == -d || (k != d && at(k-1) < at(k+1)) {
			pk = k + 1
		}
		px := at(pk)
		py := px - pk
		for x > px && y > py && x > 0 && y > 0 {
			x--
			y--
			out = append(out, match{x, y})
		}
		x, y = px, py
	}
	for x > 0 && y > 0 {
		x--
		y--
		out = append(out, match{x, y})
	}
	slices.Reverse(out)
	return out
}

// hunks cuts a script into pieces with context around each change.
func hunks(lines []diff.Line) []diff.Hunk {
	var out []diff.Hunk
	for i := 0; i < len(lines); {
		if lines[i].Op == diff.ContextLine {
			i++
			continue
		}
		start := max(0, i-contextLines)
		end := i
		// Changes with no more than twice the context between them share a hunk.
		for gap := 0; end < len(lines) && gap <= 2*contextLines; end++ {
			if lines[end].Op == diff.ContextLine {
				gap++
			} else {
				gap, i = 0, end
			}
		}
		end = min(len(lines), i+1+contextLines)
		out = append(out, hunk(lines, start, end))
		i = end
	}
	return out
}

// hunk counts a piece. Where a side has no line, its start names the line before.
func hunk(lines []diff.Line, start, end int) diff.Hunk {
	h := diff.Hunk{Lines: lines[start:end:end]}
	if start > 0 { // more than its context lies before it, so this is context too
		h.OldStart, h.NewStart = lines[start-1].Old, lines[start-1].New
	}
	for _, l := range h.Lines {
		if l.Old > 0 {
			h.OldLines++
		}
		if l.New > 0 {
			h.NewLines++
		}
	}
	if h.OldLines > 0 {
		h.OldStart++
	}
	if h.NewLines > 0 {
		h.NewStart++
	}
	return h
}
