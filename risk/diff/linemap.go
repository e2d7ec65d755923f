package diff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Side is a side of the diff, as GitHub's comments name it. The zero value is
// no side.
type Side uint8

// The sides: the old file and the new one.
const (
	Left Side = iota + 1
	Right
)

// String returns the side as GitHub spells it; lower case is refused there.
func (s Side) String() string {
	switch s {
	case Left:
		return "LEFT"
	case Right:
		return "RIGHT"
	}
	return "side(" + strconv.Itoa(int(s)) + ")"
}

// LineMap knows the places of a patch that GitHub accepts for a line comment:
// the lines of its hunks, context included, on either side. Everything else is
// answered by 422, and one bad place refuses the whole review with it.
//
// A file without hunks (a pure rename, a binary, one that was left out) has no
// such place. Files go by Path, which for a rename is the new one on both sides;
// the two files as which git writes a change of type are one.
// A LineMap is not changed after it was made.
type LineMap struct {
	files map[string]*fileLines
}

type fileLines struct {
	left, right []span // sorted by first line, without overlap
	hunks       int
}

// span is an unbroken run of lines of one hunk, both ends included.
type span struct{ first, last, hunk int }

// NewLineMap returns the patch's line map.
func NewLineMap(p Patch) LineMap {
	m := LineMap{files: make(map[string]*fileLines, len(p.Files))}
	for _, f := range p.Files {
		fl := m.files[f.Path()]
		if fl == nil {
			fl = &fileLines{}
			m.files[f.Path()] = fl
		}
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				fl.left = extend(fl.left, l.Old, fl.hunks)
				fl.right = extend(fl.right, l.New, fl.hunks)
			}
			fl.hunks++
		}
	}
	for _, fl := range m.files {
		fl.left, fl.right = sorted(fl.left), sorted(fl.right)
	}
	return m
}

func extend(spans []span, line, hunk int) []span {
	if line <= 0 {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1].hunk == hunk && spans[n-1].last+1 == line {
		spans[n-1].last = line
		return spans
	}
	return append(spans, span{line, line, hunk})
}

// sorted orders the spans and drops what overlaps an earlier one. ParseHunks
// gives them in order and apart; a patch that was put together otherwise must
// not make a lookup wrong.
func sorted(spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	kept := spans[:0]
	for _, s := range spans {
		if n := len(kept); n > 0 && s.first <= kept[n-1].last {
			s.first = kept[n-1].last + 1
			if s.first > s.last {
				continue
			}
		}
		kept = append(kept, s)
	}
	return kept
}

func (m LineMap) spans(path string, side Side) []span {
	fl := m.files[path]
	switch {
	case fl == nil:
		return nil
	case side == Left:
		return fl.left
	case side == Right:
		return fl.right
	}
	return nil
}

// find returns the span that holds the line.
func find(spans []span, line int) (span, bool) {
	i, ok := slices.BinarySearchFunc(spans, line, func(s span, line int) int {
		switch {
		case s.last < line:
			return -1
		case s.first > line:
			return 1
		}
		return 0
	})
	if !ok {
		return span{}, false
	}
	return spans[i], true
}

// Accepts reports whether GitHub takes a comment on that line.
func (m LineMap) Accepts(path string, side Side, line int) bool {
	_, ok := find(m.spans(path, side), line)
	return ok
}

// AcceptsRange reports whether GitHub takes a comment on the lines start to
// line: start must come before line, and both must be in one hunk. A range of
// one line is no range there; NormalRange makes it a line.
func (m LineMap) AcceptsRange(path string, side Side, start, line int) bool {
	if start >= line {
		return false
	}
	spans := m.spans(path, side)
	a, okStart := find(spans, start)
	b, okLine := find(spans, line)
	return okStart && okLine && a.hunk == b.hunk
}

// NormalRange puts the two ends of a range in order, as a model may give them:
// a start that is missing (0 or less) or equal to line means that one line,
// and start is then 0.
func NormalRange(start, line int) (int, int) {
	switch {
	case start <= 0 || start == line:
		return 0, line
	case line <= 0:
		return 0, start
	case start > line:
		return line, start
	}
	return start, line
}

// Nearest returns the accepted line closest to the given one on that side, the
// earlier of two that are equally close. It is not ok when the side has none.
// A comment must not be moved there in silence: use it to look for the quoted
// text around a number that is off, or to tell the reader where to look.
func (m LineMap) Nearest(path string, side Side, line int) (nearest int, ok bool) {
	spans := m.spans(path, side)
	if len(spans) == 0 {
		return 0, false
	}
	i, _ := slices.BinarySearchFunc(spans, line, func(s span, line int) int { return cmp.Compare(s.last, line) })
	if i == len(spans) {
		return spans[i-1].last, true
	}
	if line >= spans[i].first {
		return line, true
	}
	if i > 0 && distance(spans[i-1].last, line) <= distance(line, spans[i].first) {
		return spans[i-1].last, true
	}
	return spans[i].first, true
}

// distance is b - a for a <= b, right even where the difference leaves int.
func distance(a, b int) uint64 { return uint64(b) - uint64(a) }

// GuessSide returns the side of a line that came without one: the new side
// where the line is on both, the old one where it is only there. Findings about
// deleted code live on the old side; a default of RIGHT would lose them.
func (m LineMap) GuessSide(path string, line int) (Side, bool) {
	switch {
	case m.Accepts(path, Right, line):
		return Right, true
	case m.Accepts(path, Left, line):
		return Left, true
	}
	return 0, false
}

// Resolve returns the changed file that a model's path names: itself, or what is
// left without a leading "./", "a/" or "b/", if exactly one changed file fits.
func (m LineMap) Resolve(path string) (string, bool) {
	if _, ok := m.files[path]; ok {
		return path, true
	}
	found := ""
	trimmed := strings.TrimPrefix(path, "./")
	for _, prefix := range []string{"", "a/", "b/"} {
		p, ok := strings.CutPrefix(trimmed, prefix)
		if _, changed := m.files[p]; !ok || !changed {
			continue
		}
		if found != "" && found != p {
			return "", false
		}
		found = p
	}
	return found, found != ""
}
