package diff

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// PatchLimits bounds what is read of a whole diff. A field of 0 or less means
// its default. What exceeds a limit is given up, and said so.
type PatchLimits struct {
	Bytes int // of the whole input
	Files int
	Lines int    // hunk lines of all files together, markers included
	File  Limits // of each file; LineBytes holds for header lines as well
}

// The default limits of a whole diff.
const (
	DefaultPatchBytes = 256 << 20 // read in some seconds, in a few times its size of memory
	DefaultPatchFiles = 30_000    // ten times what GitHub lists of a pull request
	DefaultPatchLines = 8_000_000 // what DefaultPatchBytes holds of ordinary source
)

// WithDefaults returns the limits with every unset field filled in.
func (l PatchLimits) WithDefaults() PatchLimits {
	def := func(v, d int) int {
		if v <= 0 {
			return d
		}
		return v
	}
	return PatchLimits{
		Bytes: def(l.Bytes, DefaultPatchBytes),
		Files: def(l.Files, DefaultPatchFiles),
		Lines: def(l.Lines, DefaultPatchLines),
		File:  l.File.WithDefaults(),
	}
}

// ErrUnsupported is wrapped by errors about output of git that does not say
// what changed in the way that is read here, such as combined diffs.
var ErrUnsupported = errors.New("not supported")

// Fault is one place of a diff that could not be read.
type Fault struct {
	Line int    // of the input, from 1
	Path string // of the file, empty if it is not known
	Err  error  // what is wrong and what would be right; wraps ErrMalformed, ErrTooLarge or ErrUnsupported
}

// Error gives the line, the file and what is wrong.
func (f *Fault) Error() string {
	if f.Path == "" {
		return fmt.Sprintf("line %d: %v", f.Line, f.Err)
	}
	return fmt.Sprintf("line %d: %.200q: %v", f.Line, f.Path, f.Err)
}

// Unwrap returns what is wrong.
func (f *Fault) Unwrap() error { return f.Err }

// maxFaults is how many faults an error names one by one.
const maxFaults = 20

// Read reads a diff from r as Parse does, never more of it than the limit and
// one byte. An error of r leaves no patch: nobody knows what is missing.
func Read(r io.Reader, lim PatchLimits) (Patch, error) {
	lim = lim.WithDefaults()
	var b strings.Builder
	if _, err := io.Copy(&b, io.LimitReader(r, int64(lim.Bytes)+1)); err != nil {
		return Patch{}, fmt.Errorf("read diff: %w", err)
	}
	return Parse(b.String(), lim)
}

// Parse reads a whole unified diff as git diff, git show, git log -p, git
// format-patch and GitHub write it, and the plain output of diff -u.
//
// It is our own parser for the reason that ParseHunks is: only the counts in
// hunk headers say where a file ends. A parser that looks for the next header
// instead (sourcegraph/go-diff) can be made to see files in a hunk's content,
// and one that checks no counts takes half a diff for a whole one.
// TestGoDiffDiffers holds the list.
//
// Nothing is dropped in silence. A file that could not be read to its end is
// listed, Truncated, with the reason; the files behind it are read. What cannot
// be listed, since its name or kind cannot be told, is counted in ChangedFiles,
// so that Missing is above 0. In both cases the error, of Faults, says where, what
// is wrong and what would be right, and the patch holds everything else.
//
// What a diff does not tell stays unknown: the modes of a pure rename or copy,
// and blob ids that are abbreviated (git diff --full-index writes them out). A
// change of type is a deletion and an addition, as git writes it.
//
// The message of a mail (GitHub's .patch, git format-patch) is its author's free
// text, and a file in it that begins with `diff --git` is listed with the real
// ones: read .diff instead. No message can make a real file vanish.
//
// Texts share memory with diff.
func Parse(diff string, lim PatchLimits) (Patch, error) {
	p := patchParser{patchLim: lim.WithDefaults()}
	p.linesLeft = p.patchLim.Lines
	p.rest = strings.TrimPrefix(diff, "\ufeff")
	cut := len(p.rest) > p.patchLim.Bytes
	if cut {
		p.rest = p.rest[:strings.LastIndexByte(p.rest[:p.patchLim.Bytes], '\n')+1]
	}
	p.run()
	if cut {
		p.cutOff()
	}
	p.patch.ChangedFiles = p.patch.listed() + p.unlisted
	return p.patch, p.err()
}

type patchParser struct {
	hunkParser
	patchLim  PatchLimits
	linesLeft int // hunk lines that may still be read
	start     int // the first line of the file that is being read
	behind    int // how much input there is behind that line
	patch     Patch
	unlisted  int  // files, or what may be files, that are not in patch.Files
	git       bool // a line was seen that only git writes
	mail      bool // the input has mails: a line "-- " ends the diff in each
	faults    []error
	faultsCut int // faults beyond maxFaults
}

// The lines that begin a file.
const (
	gitStart      = "diff --git "
	ccStart       = "diff --cc "
	combinedStart = "diff --combined "
)

func isFileStart(s string) bool {
	return strings.HasPrefix(s, "diff --") &&
		(strings.HasPrefix(s, gitStart) || strings.HasPrefix(s, ccStart) || strings.HasPrefix(s, combinedStart))
}

// run reads the input to its end or to a limit. Every round takes at least one
// line off it.
func (p *patchParser) run() {
	for p.more() && !p.full() {
		line := p.peek()
		switch {
		case strings.HasPrefix(line, gitStart):
			p.gitFile()
		case isFileStart(line):
			p.combinedFile(line)
		case p.atPlainFile():
			p.plainFile()
		case isCommit(line):
			p.message()
		case isMail(line):
			p.mail = true
			p.message()
		case p.mail && line == "-- ":
			p.message()
		case line == "" || isPreamble(line):
			p.skip()
		default:
			p.stray(line)
		}
	}
}

// peek returns the next line without its end, and without the carriage return
// that Windows tools put behind header lines: in a name git would quote it.
func (p *patchParser) peek() string {
	line, _, _ := strings.Cut(p.rest, "\n")
	return strings.TrimSuffix(line, "\r")
}

// skip takes one line off the input.
func (p *patchParser) skip() {
	_, p.rest, _ = strings.Cut(p.rest, "\n")
	p.lineNo++
}

// toFileStart goes to the next line that begins a file, which may be the one at
// hand, and returns what it passed. No line of a hunk begins like that.
func (p *patchParser) toFileStart() string {
	all := p.rest
	for at := 0; ; {
		if isFileStart(all[at:]) {
			p.rest = all[at:]
			break
		}
		i := strings.Index(all[at:], "\ndiff --")
		if i < 0 {
			p.rest = ""
			break
		}
		at += i + 1
	}
	passed := all[:len(all)-len(p.rest)]
	p.lineNo += strings.Count(passed, "\n")
	return passed
}

// full ends the reading at a limit and counts what is left.
func (p *patchParser) full() bool {
	var err error
	switch {
	case !isFileStart(p.rest) && !p.atPlainFile():
		return false
	case len(p.patch.Files) >= p.patchLim.Files:
		err = fmt.Errorf("%w: more than %d files, of which the first are read", ErrTooLarge, p.patchLim.Files)
	case p.linesLeft <= 0:
		err = fmt.Errorf("%w: more than %d lines, of which the first are read", ErrTooLarge, p.patchLim.Lines)
	default:
		return false
	}
	p.report(&Fault{Line: p.lineNo + 1, Err: err})
	p.unlisted++
	p.skip()
	for {
		p.toFileStart()
		if !p.more() {
			break
		}
		p.unlisted++
		p.skip()
	}
	return true
}

// cutOff marks the end of an input of which only the beginning was read.
func (p *patchParser) cutOff() {
	err := fmt.Errorf("%w: more than %d bytes, of which the first are read", ErrTooLarge, p.patchLim.Bytes)
	p.unlisted++
	if n := len(p.patch.Files); n > 0 {
		p.patch.Files[n-1].truncate(err)
	}
	p.report(&Fault{Line: p.lineNo + 1, Err: err})
}

// truncate marks the file as not read to its end, for the first reason.
func (f *File) truncate(why error) {
	if !f.Truncated {
		f.Truncated, f.Why = true, why.Error()
	}
}

// report records a fault.
func (p *patchParser) report(f *Fault) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, f)
	} else {
		p.faultsCut++
	}
}

func (p *patchParser) err() error {
	if p.faultsCut > 0 {
		p.faults = append(p.faults, fmt.Errorf("and %d places more", p.faultsCut))
	}
	if err := errors.Join(p.faults...); err != nil {
		return fmt.Errorf("read diff: %w", err)
	}
	return nil
}
