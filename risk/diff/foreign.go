package diff

import (
	"fmt"
	"strings"
)

// atPlainFile reports whether a file as diff -u writes it begins here: `---`,
// `+++` and a hunk. In git's output no file begins so, and a commit's message
// must not be able to forge one.
func (p *patchParser) atPlainFile() bool {
	if p.git || p.mail || !strings.HasPrefix(p.rest, "--- ") {
		return false
	}
	_, rest, _ := strings.Cut(p.rest, "\n")
	if !strings.HasPrefix(rest, "+++ ") {
		return false
	}
	_, rest, _ = strings.Cut(rest, "\n")
	return strings.HasPrefix(rest, hunkStart)
}

// plainFile reads a file of diff -u. It tells neither modes nor blobs.
func (p *patchParser) plainFile() {
	first := strings.TrimPrefix(p.peek(), "--- ")
	p.begin()
	f, err := p.plainSection(first)
	p.end(f, err)
}

func (p *patchParser) plainSection(first string) (File, error) {
	f := File{Op: Modified, OldMode: ModeUnknown, NewMode: ModeUnknown}
	second := strings.TrimPrefix(p.peek(), "+++ ")
	p.skip()
	if long := max(len(first), len(second)); long > p.patchLim.File.LineBytes {
		return File{}, p.whole(fmt.Errorf("%w: a name of %d bytes, at most %d are read", ErrTooLarge, long, p.patchLim.File.LineBytes))
	}
	var err error
	if f.OldPath, err = plainName(first); err != nil {
		return File{}, p.whole(err)
	}
	if f.NewPath, err = plainName(second); err != nil {
		return File{}, err
	}
	switch {
	case f.OldPath == devNull && f.NewPath == devNull:
		return File{}, p.whole(contradiction("exists on neither side"))
	case f.OldPath == devNull:
		f.Op, f.OldPath, f.OldMode = Added, "", ModeNone
		f.NewPath = strings.TrimPrefix(f.NewPath, "b/")
	case f.NewPath == devNull:
		f.Op, f.NewPath, f.NewMode = Deleted, "", ModeNone
		f.OldPath = strings.TrimPrefix(f.OldPath, "a/")
	case prefixed(f.OldPath) && prefixed(f.NewPath) && f.OldPath[0] != f.NewPath[0]:
		f.OldPath, f.NewPath = f.OldPath[2:], f.NewPath[2:]
	}
	return f, p.hunks(&f)
}

// combinedFile refuses a merge's diff against several parents at once. Its
// columns and numbers are of another kind; the file is listed all the same.
func (p *patchParser) combinedFile(line string) {
	p.begin()
	f := File{}
	_, name, _ := strings.Cut(strings.TrimPrefix(line, "diff --"), " ")
	if path, err := wholeName(name); err == nil {
		f = File{Op: Modified, OldPath: path, NewPath: path, OldMode: ModeUnknown, NewMode: ModeUnknown}
	}
	p.end(f, p.whole(fmt.Errorf("%w: a combined diff, of a merge against all its parents: right is a diff against one, "+
		"as from `git diff A B` or `git show -m`", ErrUnsupported)))
}

// isCommit reports whether git log or git show begins a commit here.
func isCommit(line string) bool {
	id, ok := strings.CutPrefix(line, "commit ")
	id, _, _ = strings.Cut(id, " ")
	return ok && isHex(id) && len(id) >= 4
}

// isMail reports whether git format-patch begins a mail here.
func isMail(line string) bool {
	rest, ok := strings.CutPrefix(line, "From ")
	id, _, ok2 := strings.Cut(rest, " ")
	return ok && ok2 && isHex(id) && isFull(id)
}

// isPreamble reports whether the line is one that programs put above a plain
// file and that says nothing of its own.
func isPreamble(line string) bool {
	return strings.HasPrefix(line, "Index: ") || strings.HasPrefix(line, "=====") ||
		strings.HasPrefix(line, "diff -") && !strings.HasPrefix(line, "diff --")
}

// message passes over a commit's message, as far as the next file. Git indents
// messages, but not in mails, so only there may a line look like a submodule's.
func (p *patchParser) message() {
	p.git = true
	at := p.lineNo
	passed := p.toFileStart()
	if p.mail {
		return
	}
	for line := range strings.Lines(passed) {
		at++
		if strings.HasPrefix(line, submoduleLog) || strings.HasPrefix(line, unmerged) {
			p.unlisted++
			p.report(&Fault{Line: at, Err: strayError(line)})
		}
	}
}

// Lines in which git tells a change without a diff.
const (
	submoduleLog = "Submodule "
	unmerged     = "* Unmerged path "
)

// stray refuses a line that belongs to no file, and what follows it up to the
// next one: it may be all that is left of a file.
func (p *patchParser) stray(line string) {
	p.unlisted++
	p.report(&Fault{Line: p.lineNo + 1, Err: strayError(line)})
	p.skip()
	p.toFileStart()
}

func strayError(line string) error {
	what := func(kind error, wrong, right string) error {
		return fmt.Errorf("%w: %q %s: right is %s", kind, glimpse(line), wrong, right)
	}
	switch {
	case strings.HasPrefix(line, submoduleLog):
		return what(ErrUnsupported, "tells a submodule's change as a log", "`git diff --submodule=short`")
	case strings.HasPrefix(line, unmerged):
		return what(ErrUnsupported, "tells of a merge that is not resolved", "a diff between two commits")
	case strings.HasPrefix(line, "Only in "), strings.HasPrefix(line, "Binary files "):
		return what(ErrUnsupported, "does not say what the file holds", "`git diff --no-index`, or diff with -N and -a")
	case strings.HasPrefix(line, "\x1b"):
		return what(ErrUnsupported, "has colours in it", "`git diff --no-color`")
	case strings.HasPrefix(line, "\xff\xfe"), strings.HasPrefix(line, "\xfe\xff"):
		return what(ErrUnsupported, "is UTF-16, as PowerShell's > writes it", "`git diff --output=FILE`")
	}
	return what(ErrMalformed, "belongs to no file", "`diff --git a/name b/name`")
}
