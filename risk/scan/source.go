package scan

import (
	"context"
	"iter"
	"strings"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// line is one line of the new side.
type line struct {
	no    int
	text  string // without "\n"; a "\r" at its end belongs to the line end
	added bool
}

// source is what is known of one file's new side.
type source struct {
	file diff.File
	path string

	// runs are unbroken runs of lines, in order: the hunks' new sides, or the one
	// run of the whole file where its content is known.
	runs  [][]line
	whole bool

	// gap says why added lines are not all there, for people; empty when they are.
	gap string
	// media is set where the gap is that of a binary file which holds no text by
	// its name: it is named, and it leaves no rule unknown.
	media bool

	// searched says that all of the lines here were searched for secrets, and masks
	// are those that were found. Nothing is shown of a file that was not.
	searched bool
	masks    []string
}

// newSource reads a file's new side from its hunks and, where the caller gave
// it, its whole content. It is not ok for a file that has no new side with lines.
func newSource(f diff.File, content []byte, given bool) (*source, bool) {
	if !f.HasNew() || f.NewMode == diff.ModeSubmodule {
		return nil, false
	}
	s := &source{file: f, path: f.Path()}
	switch {
	case given && !f.Unseen() && !f.Binary:
		s.whole = true
		s.runs = [][]line{wholeRun(f, string(content))}
		if !agrees(f, s.runs[0]) {
			// Content of another commit: lines would be wrong. The hunks are what the
			// check is about.
			s.whole, s.runs = false, hunkRuns(f)
		}
	case given && f.Op == diff.Added:
		s.whole = true
		s.runs = [][]line{allAdded(string(content))}
	case f.Binary:
		s.gap, s.media = "binary: no lines to look at", risk.IsMediaName(s.path)
	case f.Unseen():
		s.gap, s.runs = "the patch does not show all of its lines", hunkRuns(f)
	default:
		s.runs = hunkRuns(f)
		// A new file is one hunk from its first line on; whatever else says that it
		// is new shows a part.
		s.whole = f.Op == diff.Added && (len(s.runs) == 0 || len(s.runs) == 1 && s.runs[0][0].no == 1)
	}
	return s, true
}

// hunkRuns returns the new sides of the hunks.
func hunkRuns(f diff.File) [][]line {
	runs := make([][]line, 0, len(f.Hunks))
	for _, h := range f.Hunks {
		run := make([]line, 0, len(h.Lines))
		for _, l := range h.Lines {
			if l.Op != diff.DeletedLine {
				run = append(run, line{no: l.New, text: l.Text, added: l.Op == diff.AddedLine})
			}
		}
		if len(run) > 0 {
			runs = append(runs, run)
		}
	}
	return runs
}

// splitLines splits at "\n" and nowhere else; a last line end opens no line.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func allAdded(text string) []line {
	var run []line
	for i, t := range splitLines(text) {
		run = append(run, line{no: i + 1, text: t, added: true})
	}
	return run
}

// wholeRun is every line of the content, those marked that the hunks add.
func wholeRun(f diff.File, content string) []line {
	run := allAdded(content)
	for i := range run {
		run[i].added = false
	}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op == diff.AddedLine && l.New > 0 && l.New <= len(run) {
				run[l.New-1].added = true
			}
		}
	}
	return run
}

// agrees reports whether every line of the hunks' new side is in the content
// where the hunk says.
func agrees(f diff.File, run []line) bool {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op != diff.DeletedLine && (l.New < 1 || l.New > len(run) || run[l.New-1].text != l.Text) {
				return false
			}
		}
	}
	return true
}

// size is how many bytes of the new side there are to look at.
func (s *source) size() int {
	n := 0
	for _, run := range s.runs {
		for _, l := range run {
			n += len(l.text) + 1
		}
	}
	return n
}

// added returns the added lines. It ends early when ctx does; the caller asks ctx.
func (s *source) added(ctx context.Context) iter.Seq[line] {
	return func(yield func(line) bool) {
		for _, run := range s.runs {
			for i, l := range run {
				if i&1023 == 0 && ctx.Err() != nil {
					return
				}
				if l.added && !yield(l) {
					return
				}
			}
		}
	}
}

// show spells a piece of the file for people, its secrets masked. Nothing is
// shown of a file in which nobody looked for secrets.
func (s *source) show(text string, limit int) string {
	if !s.searched {
		return ""
	}
	return visible(mask(text, s.masks), limit)
}

// masked stands for a secret.
const masked = "[masked]"

// mask takes secrets out of a text.
func mask(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, masked)
	}
	return text
}

// texts returns the whole file after and before the change, where the content
// after is known: the hunks undo it.
func (s *source) texts() (now, old string, ok bool) {
	if !s.whole || s.gap != "" {
		return "", "", false
	}
	var a, b strings.Builder
	put := func(b *strings.Builder, text string) {
		b.WriteString(text)
		b.WriteByte('\n')
	}
	next := 0
	var run []line
	if len(s.runs) > 0 {
		run = s.runs[0]
	}
	for _, l := range run {
		put(&a, l.text)
	}
	if s.file.Op == diff.Added {
		return a.String(), "", true
	}
	for _, h := range s.file.Hunks {
		start := h.NewStart
		if h.NewLines == 0 {
			start++ // it names the line before
		}
		for ; next < len(run) && run[next].no < start; next++ {
			put(&b, run[next].text)
		}
		for _, l := range h.Lines {
			if l.Op != diff.AddedLine {
				put(&b, l.Text)
			}
			if l.Op != diff.DeletedLine {
				next++
			}
		}
	}
	for ; next < len(run); next++ {
		put(&b, run[next].text)
	}
	return a.String(), b.String(), true
}

// sides returns the runs of lines before and after the change, as many of the one
// as of the other. A line before the change is marked where the patch takes it
// out.
func (s *source) sides() (old, now [][]line) {
	if !s.whole || s.gap != "" {
		for _, h := range s.file.Hunks {
			a, b := hunkSides(h)
			old, now = append(old, a), append(now, b)
		}
		return old, now
	}
	run := []line{}
	if len(s.runs) > 0 {
		run = s.runs[0]
	}
	if s.file.Op == diff.Added {
		return [][]line{nil}, [][]line{run}
	}
	var before []line
	next := 0
	keep := func(until int) {
		for ; next < len(run) && run[next].no < until; next++ {
			before = append(before, line{no: len(before) + 1, text: run[next].text})
		}
	}
	for _, h := range s.file.Hunks {
		if h.NewLines == 0 {
			keep(h.NewStart + 1) // it names the line before
		} else {
			keep(h.NewStart)
		}
		a, _ := hunkSides(h)
		for _, l := range a {
			before = append(before, line{no: len(before) + 1, text: l.text, added: l.added})
		}
		next += h.NewLines
	}
	keep(len(run) + 1)
	return [][]line{before}, [][]line{run}
}

// hunkSides takes a hunk apart.
func hunkSides(h diff.Hunk) (old, now []line) {
	for _, l := range h.Lines {
		if l.Op != diff.AddedLine {
			old = append(old, line{no: l.Old, text: l.Text, added: l.Op == diff.DeletedLine})
		}
		if l.Op != diff.DeletedLine {
			now = append(now, line{no: l.New, text: l.Text, added: l.Op == diff.AddedLine})
		}
	}
	return old, now
}

// at returns the line of that number, where it is known.
func (s *source) at(no int) (line, bool) {
	for _, run := range s.runs {
		if len(run) == 0 {
			continue
		}
		if i := no - run[0].no; i >= 0 && i < len(run) && run[i].no == no {
			return run[i], true
		}
	}
	return line{}, false
}
