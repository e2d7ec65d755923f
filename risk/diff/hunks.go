package diff

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits bounds what is read of a patch. A field of 0 or less means its
// default. What exceeds a limit is given up file by file, and said so.
type Limits struct {
	Lines     int // hunk lines of one file, markers included
	Bytes     int // bytes of one file's hunks
	LineBytes int // bytes of one line, without its line end
}

// The default limits.
const (
	DefaultLines     = 100_000  // five times what GitHub's diff media type gives for a whole pull request
	DefaultBytes     = 16 << 20 // the largest generated files of ordinary repositories, in full
	DefaultLineBytes = 1 << 20  // minified bundles; a longer line is nothing that anyone reads
)

// WithDefaults returns the limits with every unset field filled in.
func (l Limits) WithDefaults() Limits {
	def := func(v, d int) int {
		if v <= 0 {
			return d
		}
		return v
	}
	return Limits{
		Lines:     def(l.Lines, DefaultLines),
		Bytes:     def(l.Bytes, DefaultBytes),
		LineBytes: def(l.LineBytes, DefaultLineBytes),
	}
}

// ErrTooLarge is wrapped by errors that name an exceeded limit. The input may be
// fine; it was not read to its end.
var ErrTooLarge = errors.New("too large")

// ErrMalformed is wrapped by errors about input that git would not write: broken
// hunks and headers, and headers that contradict each other.
var ErrMalformed = errors.New("malformed diff")

// maxLineNumber is the largest line number that a header may reach, far beyond
// any file and such that no sum of a start and a count overflows an int.
const maxLineNumber = 1<<31 - 1

// ParseHunks reads the `patch` field of GitHub's files API: hunks without file
// headers. The empty string has no hunks.
//
// It is our own parser because the header's counts, and nothing else, say where
// a hunk ends: a deleted line `-- a/x` reads `--- a/x` and is no file header. A
// body that is longer or shorter than its counts, a hunk that overlaps the one
// before, and numbers beyond 32 bits are errors. An omitted count is 1. A line
// that begins with a backslash is a marker and advances no counter, wherever it
// stands. A blank line inside a hunk is blank context whose space got lost.
//
// On an error, which wraps ErrTooLarge or ErrMalformed, the hunks before the
// broken one are returned with it: the file is then truncated, and the rest of
// the patch is unharmed. Texts share memory with patch.
func ParseHunks(patch string, lim Limits) ([]Hunk, error) {
	lim = lim.WithDefaults()
	if len(patch) > lim.Bytes {
		return nil, fmt.Errorf("read hunks: %w: %d bytes, at most %d are read", ErrTooLarge, len(patch), lim.Bytes)
	}
	p := hunkParser{rest: patch}
	p.allow(lim)
	var hunks []Hunk
	for p.more() {
		h, err := p.hunk()
		if err == nil && p.more() && !strings.HasPrefix(p.rest, hunkStart) {
			p.lineNo++
			err = tooLong(h)
		}
		if err != nil {
			return hunks, fmt.Errorf("read hunks: line %d: %w", p.lineNo, err)
		}
		if n := len(hunks); n > 0 {
			if err := follows(hunks[n-1], h); err != nil {
				return hunks, fmt.Errorf("read hunks: before line %d: %w", p.lineNo, err)
			}
		}
		hunks = append(hunks, h)
	}
	return hunks, nil
}

// hunkStart begins every hunk header.
const hunkStart = "@@ "

type hunkParser struct {
	rest   string
	before string // rest, before the line that was read last
	lineNo int    // of the line that was read last, from 1
	lim    Limits // of the file that is being read
	lines  int    // how many more may be read of it
	bytes  int
	buf    []Line // of the hunk that is being read
}

// allow sets what may be read from here on.
func (p *hunkParser) allow(lim Limits) { p.lim, p.lines, p.bytes = lim, lim.Lines, lim.Bytes }

func (p *hunkParser) more() bool { return p.rest != "" }

// next takes one line off the input, without its "\n".
func (p *hunkParser) next() (string, error) {
	line, rest, _ := strings.Cut(p.rest, "\n")
	p.before, p.rest = p.rest, rest
	p.lineNo++
	p.lines--
	p.bytes -= len(p.before) - len(rest)
	switch {
	case p.lines < 0:
		return "", fmt.Errorf("%w: more than %d lines", ErrTooLarge, p.lim.Lines)
	case p.bytes < 0:
		return "", fmt.Errorf("%w: more than %d bytes", ErrTooLarge, p.lim.Bytes)
	case len(line) > p.lim.LineBytes:
		return "", fmt.Errorf("%w: a line of %d bytes, at most %d are read", ErrTooLarge, len(line), p.lim.LineBytes)
	}
	return line, nil
}

func (p *hunkParser) hunk() (Hunk, error) {
	header, err := p.next()
	if err != nil {
		return Hunk{}, err
	}
	h, err := parseHeader(header)
	if err != nil {
		return Hunk{}, err
	}
	// A header costs its author a few bytes and may promise billions of lines:
	// room is taken for the lines that are there.
	h.Lines = p.buf[:0]
	oldNo, newNo := h.OldStart, h.NewStart
	oldEnd, newEnd := h.OldStart+h.OldLines, h.NewStart+h.NewLines
	for oldNo < oldEnd || newNo < newEnd {
		if !p.more() {
			return Hunk{}, fmt.Errorf("%w: the hunk ends after %d of %d old and %d of %d new lines: "+
				"the input is cut off, or the hunk's header counts too many", ErrMalformed,
				oldNo-h.OldStart, h.OldLines, newNo-h.NewStart, h.NewLines)
		}
		text, err := p.next()
		if err != nil {
			return Hunk{}, err
		}
		if isMarker(text) {
			h.markNoNewline()
			continue
		}
		line, ok := bodyLine(text)
		if !ok {
			return Hunk{}, fmt.Errorf("%w: %q begins with neither a space, +, - nor a backslash, after %d of %d old and %d of %d new lines of the hunk",
				ErrMalformed, glimpse(text), oldNo-h.OldStart, h.OldLines, newNo-h.NewStart, h.NewLines)
		}
		if line.Op != AddedLine {
			line.Old = oldNo
			oldNo++
		}
		if line.Op != DeletedLine {
			line.New = newNo
			newNo++
		}
		if oldNo > oldEnd || newNo > newEnd {
			return Hunk{}, tooLong(h)
		}
		h.Lines = append(h.Lines, line)
		p.buf = h.Lines
	}
	for isMarker(p.rest) {
		if _, err := p.next(); err != nil {
			return Hunk{}, err
		}
		h.markNoNewline()
	}
	h.Lines = slices.Clone(h.Lines)
	return h, nil
}

func tooLong(h Hunk) error {
	return fmt.Errorf("%w: more lines than the %d old and %d new ones that the hunk's header counts: "+
		"lines were added, or the header counts too few", ErrMalformed, h.OldLines, h.NewLines)
}

// isMarker reports whether the text begins with a line such as "\ No newline at
// end of file". Its words depend on the language of the git that wrote it.
func isMarker(s string) bool { return strings.HasPrefix(s, `\`) }

func (h *Hunk) markNoNewline() {
	if n := len(h.Lines); n > 0 {
		h.Lines[n-1].NoNewline = true
	}
}

func bodyLine(text string) (line Line, ok bool) {
	if text == "" || text == "\r" {
		return Line{Op: ContextLine, Text: text}, true
	}
	switch text[0] {
	case ' ':
		return Line{Op: ContextLine, Text: text[1:]}, true
	case '+':
		return Line{Op: AddedLine, Text: text[1:]}, true
	case '-':
		return Line{Op: DeletedLine, Text: text[1:]}, true
	}
	return Line{}, false
}

// glimpse is the beginning of a line for an error: enough to find it by, and too
// little to show a secret that the line may hold.
func glimpse(line string) string {
	const shown = 8
	if len(line) <= shown {
		return line
	}
	return line[:shown] + "…"
}

// parseHeader reads `@@ -a[,b] +c[,d] @@[ section]`.
func parseHeader(line string) (Hunk, error) {
	bad := func(what string) (Hunk, error) {
		return Hunk{}, fmt.Errorf("%w: hunk header %q %s: right is `@@ -start,count +start,count @@`", ErrMalformed, glimpse(line), what)
	}
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return bad("does not begin with `@@ -`")
	}
	oldRange, rest, ok := strings.Cut(rest, " +")
	if !ok {
		return bad("has no new range")
	}
	newRange, section, ok := strings.Cut(rest, " @@")
	if !ok {
		return bad("does not close with @@")
	}
	section = strings.TrimSuffix(section, "\r")
	if section != "" && section[0] != ' ' {
		return bad("has text right behind the closing @@")
	}
	var h Hunk
	if h.OldStart, h.OldLines, ok = parseRange(oldRange); !ok {
		return bad("has a bad old range")
	}
	if h.NewStart, h.NewLines, ok = parseRange(newRange); !ok {
		return bad("has a bad new range")
	}
	if h.OldLines == 0 && h.NewLines == 0 {
		return bad("counts no lines")
	}
	h.Section = strings.TrimPrefix(section, " ")
	return h, nil
}

// parseRange reads `start[,count]`. Lines count from 1, so only an empty range
// starts at 0.
func parseRange(s string) (start, count int, ok bool) {
	first, second, hasCount := strings.Cut(s, ",")
	start, ok = parseNumber(first)
	if !ok {
		return 0, 0, false
	}
	count = 1
	if hasCount {
		if count, ok = parseNumber(second); !ok {
			return 0, 0, false
		}
	}
	if start == 0 && count != 0 || count > maxLineNumber-start {
		return 0, 0, false
	}
	return start, count, true
}

// parseNumber takes digits only: no sign, no space.
func parseNumber(s string) (int, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// follows checks that h begins behind prev on both sides. Hunks that overlap or
// go backwards would give one line two meanings.
func follows(prev, h Hunk) error {
	if first(h.OldStart, h.OldLines) < end(prev.OldStart, prev.OldLines) ||
		first(h.NewStart, h.NewLines) < end(prev.NewStart, prev.NewLines) {
		return fmt.Errorf("%w: @@ -%d,%d +%d,%d @@ begins before the end of the hunk above it", ErrMalformed,
			h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	}
	return nil
}

// first and end give a range's first line and the one behind its last. The
// start of an empty range names the line before it.
func first(start, count int) int {
	if count == 0 {
		return start + 1
	}
	return start
}

func end(start, count int) int { return first(start, count) + count }
