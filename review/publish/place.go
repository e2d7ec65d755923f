package publish

import (
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk/diff"
)

// Place fills in where the forge accepts a comment on each finding, and leaves
// alone those for which there is no such place: they are told elsewhere. The
// findings are copied, and nothing but Anchor, Key and Suggestion is changed. A
// finding keeps the key that it has by its own path, whatever the anchor's is.
//
// The forge refuses a whole review for one wrong place, so an anchor lies in a hunk
// for certain: on one side, within one hunk, on lines and never on line 0 (cases 1,
// 4, 5, 7, 10, 23). A suggestion stays only where it replaces exactly its lines.
func Place(findings []review.Finding, p diff.Patch) []review.Finding {
	m := diff.NewLineMap(p)
	out := make([]review.Finding, len(findings))
	for i, f := range findings {
		f.Key = f.ID()
		f.Anchor = anchorOf(f, m)
		if f.Suggestion != "" && !exact(f, p) {
			f.Suggestion = ""
		}
		out[i] = f
	}
	return out
}

// anchorOf is the place of a comment on the finding, nil when there is none.
func anchorOf(f review.Finding, m diff.LineMap) *review.Anchor {
	path, known := m.Resolve(f.Path)
	start, line := diff.NormalRange(f.StartLine, f.Line)
	if !known || line <= 0 {
		return nil
	}
	side, known := sideFor(f.Side, path, start, line, m)
	if !known {
		return nil
	}
	start, line, known = within(m, path, side, start, line)
	if !known {
		return nil
	}
	return &review.Anchor{Path: path, Side: review.Side(side.String()), StartLine: start, Line: line}
}

// sideFor is the side that the finding names. One that names none is where its
// last line is, or its first: findings about deleted code are on the left (case 5).
func sideFor(named review.Side, path string, start, line int, m diff.LineMap) (diff.Side, bool) {
	switch review.Side(strings.ToUpper(strings.TrimSpace(string(named)))) {
	case review.SideLeft:
		return diff.Left, true
	case review.SideRight:
		return diff.Right, true
	case "":
		if side, ok := m.GuessSide(path, line); ok || start == 0 {
			return side, ok
		}
		return m.GuessSide(path, start)
	}
	return 0, false // no side of a diff: nobody knows what is meant
}

// within cuts a range to the part of it in one hunk: that of its last line, or else
// of its first. A single line is in a hunk or has no place.
func within(m diff.LineMap, path string, side diff.Side, start, line int) (int, int, bool) {
	switch {
	case start == 0 || m.AcceptsRange(path, side, start, line):
		return start, line, m.Accepts(path, side, line)
	case m.Accepts(path, side, line):
		first := line
		for m.AcceptsRange(path, side, first-1, line) {
			first--
		}
		start, line = diff.NormalRange(first, line)
		return start, line, true
	case m.Accepts(path, side, start):
		last := start
		for m.AcceptsRange(path, side, start, last+1) {
			last++
		}
		start, line = diff.NormalRange(start, last)
		return start, line, true
	}
	return 0, 0, false
}
