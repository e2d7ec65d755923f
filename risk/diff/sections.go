package diff

import (
	"errors"
	"fmt"
	"strings"
)

// gitFile reads the file that begins at this line, `diff --git`.
func (p *patchParser) gitFile() {
	p.git = true
	first := strings.TrimPrefix(p.peek(), gitStart)
	p.begin()
	f, err := p.gitSection(first)
	p.end(f, err)
}

// begin takes a file's first line.
func (p *patchParser) begin() {
	p.skip()
	p.start, p.behind = p.lineNo, len(p.rest)
}

// end lists a file, or counts it where it has no path. After an error it goes
// to the next file.
func (p *patchParser) end(f File, err error) {
	if err != nil {
		line := p.lineNo
		var at located
		if errors.As(err, &at) {
			line = at.line
		}
		fault := &Fault{Line: line, Path: f.Path(), Err: err}
		f.truncate(fault)
		p.report(fault)
		// The line that broke off a hunk may begin the next file.
		if len(p.before) <= p.behind && isFileStart(p.before) {
			p.rest = p.before
			p.lineNo--
		}
		p.toFileStart()
	}
	if f.Path() == "" {
		p.unlisted++
		return
	}
	p.patch.Files = append(p.patch.Files, f)
}

// located is an error about another line than the one that was read last.
type located struct {
	error
	line int
}

func (l located) Unwrap() error { return l.error }

// whole says that an error is about the file as such, ahead that it is about the
// next line.
func (p *patchParser) whole(err error) error { return located{err, p.start} }
func (p *patchParser) ahead(err error) error { return located{err, p.lineNo + 1} }

// gitSection reads a file behind its first line: header, then content.
func (p *patchParser) gitSection(first string) (File, error) {
	if len(first) > p.patchLim.File.LineBytes {
		return File{}, p.whole(p.longLine(first))
	}
	names, err := parseGitLine(first)
	if err != nil {
		return File{}, p.whole(err)
	}
	var h gitHeader
	lineErr := p.header(&h)
	f, err := h.file(names)
	if lineErr != nil {
		return f, lineErr
	}
	if err != nil {
		return f, p.whole(err)
	}
	if err := p.content(&f); err != nil {
		return f, err
	}
	return f, p.consistent(&f, &h)
}

// header reads header lines as far as they go.
func (p *patchParser) header(h *gitHeader) error {
	for p.more() {
		line := p.peek()
		if len(line) > p.patchLim.File.LineBytes {
			return p.ahead(p.longLine(line))
		}
		known, err := h.take(line)
		if !known {
			return nil
		}
		p.skip()
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *patchParser) longLine(line string) error {
	return fmt.Errorf("%w: a line of %d bytes, at most %d are read", ErrTooLarge, len(line), p.patchLim.File.LineBytes)
}

// content reads what follows the header: hunks, something binary, or nothing.
func (p *patchParser) content(f *File) error {
	line := p.peek()
	switch {
	case strings.HasPrefix(line, "--- "):
		if err := p.contentNames(f); err != nil {
			return err
		}
		return p.hunks(f)
	case strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(line, " differ"):
		p.skip()
		f.Binary = true
	case line == "GIT binary patch":
		p.skip()
		f.Binary = true
		return p.binaryPatch()
	case strings.HasPrefix(line, "@@"):
		return p.ahead(fmt.Errorf("%w: a hunk without the file's names above it: right is a line `--- a/name` and a line `+++ b/name`", ErrMalformed))
	}
	return nil
}

// contentNames reads `--- ` and `+++ `, which must name what the header does.
func (p *patchParser) contentNames(f *File) error {
	for _, side := range []struct {
		key, path string
		exists    bool
	}{{"--- ", f.OldPath, f.HasOld()}, {"+++ ", f.NewPath, f.HasNew()}} {
		line := p.peek()
		text, ok := strings.CutPrefix(line, side.key)
		if !ok {
			return p.ahead(fmt.Errorf("%w: %q behind the line `---`: right is `+++ b/name`", ErrMalformed, glimpse(line)))
		}
		if len(line) > p.patchLim.File.LineBytes {
			return p.ahead(p.longLine(line))
		}
		p.skip()
		name, err := contentName(text)
		if err != nil {
			return err
		}
		switch {
		case !side.exists && name != devNull:
			return fmt.Errorf("%w: `%s%.200q` in a file that is %v: right is %s", ErrMalformed, side.key, name, f.Op, devNull)
		case side.exists && !named(name, side.path):
			return fmt.Errorf("%w: `%s%.200q` in the file %.200q: right is the name in the lines above", ErrMalformed, side.key, name, side.path)
		}
	}
	return nil
}

// hunks reads the file's hunks, at least one, and what must not follow them.
func (p *patchParser) hunks(f *File) error {
	lim := p.patchLim.File
	lim.Lines = min(lim.Lines, p.linesLeft)
	p.allow(lim)
	defer func() { p.linesLeft -= lim.Lines - max(p.lines, 0) }()
	for strings.HasPrefix(p.rest, hunkStart) {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		if n := len(f.Hunks); n > 0 {
			if err := follows(f.Hunks[n-1], h); err != nil {
				return err
			}
		}
		f.Hunks = append(f.Hunks, h)
		f.count(h)
	}
	if len(f.Hunks) == 0 {
		return p.ahead(fmt.Errorf("%w: no hunk follows the file's names: right is `@@ -start,count +start,count @@`", ErrMalformed))
	}
	if p.more() && strings.IndexByte(` +-\`, p.rest[0]) >= 0 && !(p.mail && p.peek() == "-- ") && !p.atPlainFile() {
		return p.ahead(tooLong(f.Hunks[len(f.Hunks)-1]))
	}
	return nil
}

func (f *File) count(h Hunk) {
	for _, l := range h.Lines {
		switch l.Op {
		case AddedLine:
			f.Added++
		case DeletedLine:
			f.Deleted++
		}
	}
}

// binaryPatch passes over the two blocks of `git diff --binary`, each a line
// with its kind and size, lines of base 85, and an empty line. They are not kept.
func (p *patchParser) binaryPatch() error {
	for block := range 2 {
		line := p.peek()
		if !strings.HasPrefix(line, "literal ") && !strings.HasPrefix(line, "delta ") {
			if block == 1 {
				return nil // the second, for the way back, may be left out
			}
			return p.ahead(fmt.Errorf("%w: %q behind `GIT binary patch`: right is `literal SIZE` or `delta SIZE`", ErrMalformed, glimpse(line)))
		}
		p.skip()
		for line = p.peek(); line != ""; line = p.peek() {
			if !isBase85(line) {
				return p.ahead(fmt.Errorf("%w: %q in a binary patch: right is a line of base 85, or an empty one at its end", ErrMalformed, glimpse(line)))
			}
			p.skip()
		}
		if !p.more() {
			return fmt.Errorf("%w: the binary patch has no empty line at its end: the input is cut off", ErrMalformed)
		}
		p.skip()
	}
	return nil
}

// isBase85 reports whether the line has the form that git gives it: a letter for
// how many bytes it holds, up to 52, then five characters for every four.
func isBase85(line string) bool {
	n := 0
	switch c := line[0]; {
	case 'A' <= c && c <= 'Z':
		n = int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		n = int(c-'a') + 27
	}
	return n > 0 && len(line) == 1+(n+3)/4*5 && strings.IndexByte(line, ' ') < 0
}

// consistent checks what only the whole file tells.
func (p *patchParser) consistent(f *File, h *gitHeader) error {
	for _, hunk := range f.Hunks {
		if f.Op == Added && hunk.OldLines > 0 || f.Op == Deleted && hunk.NewLines > 0 {
			return p.whole(contradiction("is " + f.Op.String() + " and its hunks have lines on both sides"))
		}
	}
	if f.OldMode == ModeSubmodule || f.NewMode == ModeSubmodule {
		f.commits()
	}
	if f.Binary || len(f.Hunks) > 0 {
		return nil
	}
	if f.SameContent = h.sameContent(f.Op); f.SameContent {
		return nil
	}
	return p.whole(fmt.Errorf("%w: nothing shows how the file changed: the input is cut off, "+
		"or git was told to leave changes out (as with -w): right are hunks or `Binary files differ`", ErrMalformed))
}

// commits takes a submodule's two commits from its hunk, where they stand in
// full.
func (f *File) commits() {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			id, ok := strings.CutPrefix(l.Text, "Subproject commit ")
			id = strings.TrimSuffix(strings.TrimSuffix(id, "\r"), "-dirty")
			if !ok || !isHex(id) || !isFull(id) {
				continue
			}
			if l.Op != AddedLine && f.OldMode == ModeSubmodule {
				f.OldBlob = id
			}
			if l.Op != DeletedLine && f.NewMode == ModeSubmodule {
				f.NewBlob = id
			}
		}
	}
}
