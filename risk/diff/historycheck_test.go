package diff_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

// everything is limits that no commit reaches.
var everything = diff.PatchLimits{Bytes: 1 << 30, Files: 1 << 20, Lines: 1 << 28, File: diff.Limits{Lines: 1 << 26, Bytes: 1 << 30, LineBytes: 1 << 30}}

// commit compares one commit: what is read of its diff, and what git says.
func (c *checker) commit(written string, rows []gitFile) error {
	patch, err := diff.Parse(written, everything)
	if err != nil {
		c.differ("%v", err)
	}
	c.sum.bytes += len(written)
	var want []gitFile
	for _, f := range rows {
		files, err := f.asWritten(c.blobs)
		if err != nil {
			return err
		}
		want = append(want, files...)
	}
	sections := sectionsOf(written)
	if len(patch.Files) != len(want) || len(patch.Files) != len(sections) || patch.Missing() != 0 {
		c.differ("%d files and %d missing, git names %d and writes %d", len(patch.Files), patch.Missing(), len(want), len(sections))
		return nil
	}
	places := newPlaces()
	at := c.at
	for i, f := range patch.Files {
		c.at = fmt.Sprintf("%s %q", at, f.Path())
		if err := c.file(f, want[i], sections[i]); err != nil {
			return err
		}
		places.add(f.Path(), sections[i])
	}
	c.at = at
	c.lineMap(patch, places)
	return nil
}

// sectionsOf cuts a diff where its files begin. No other line of git's begins
// so: content has a character before it.
func sectionsOf(written string) []string {
	if written == "" {
		return nil
	}
	parts := strings.Split("\n"+written, "\ndiff --git ")[1:]
	for i := range parts[:max(0, len(parts)-1)] {
		parts[i] += "\n"
	}
	return parts
}

// hunkHeaders returns git's own lines of a section that begin hunks.
func hunkHeaders(section string) []string {
	var list []string
	for {
		i := strings.Index(section, "\n@@ -")
		if i < 0 {
			return list
		}
		header, rest, _ := strings.Cut(section[i+1:], "\n")
		list = append(list, header)
		section = "\n" + rest
	}
}

// signs counts the lines of a section's hunks that begin with + and -.
func signs(section string) (added, deleted int) {
	_, hunks, _ := strings.Cut(section, "\n@@ -")
	return strings.Count(hunks, "\n+"), strings.Count(hunks, "\n-")
}

func (c *checker) file(f diff.File, git gitFile, section string) error {
	c.sum.files++
	c.sum.ops[f.Op]++
	hunks := f.Hunks
	f.Hunks = nil
	want := git.want()
	if len(c.way.patchArgs) > 0 {
		// Where lines of context are another number, git may find another diff
		// than the one that it counts.
		want.Added, want.Deleted = signs(section)
	}
	if got, want := fmt.Sprintf("%+v", f), fmt.Sprintf("%+v", want); got != want {
		c.differ("read as %s, git says %s", got, want)
	}
	f.Hunks = hunks
	if f.Unseen() {
		c.differ("counts as not seen")
	}
	c.headers(hunks, section)
	c.bareHunks(hunks, section)
	if f.Binary {
		c.sum.binaries++
		return nil
	}
	before, err := git.old.content(c.blobs)
	if err != nil {
		return err
	}
	after, err := git.new.content(c.blobs)
	if err != nil {
		return err
	}
	c.content(hunks, newText(before), newText(after))
	return nil
}

// headers compares each hunk's header with git's line.
func (c *checker) headers(hunks []diff.Hunk, section string) {
	var got []string
	for _, h := range hunks {
		text := fmt.Sprintf("@@ -%s +%s @@", span(h.OldStart, h.OldLines), span(h.NewStart, h.NewLines))
		if h.Section != "" {
			text += " " + h.Section
		}
		got = append(got, text)
	}
	if want := hunkHeaders(section); !slices.Equal(got, want) {
		c.differ("hunks %.300q, git writes %.300q", got, want)
	}
}

func span(start, count int) string {
	if count == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

// bareHunks reads the hunks once more as the `patch` of GitHub's files API holds
// them: without header, and without the last line end.
func (c *checker) bareHunks(hunks []diff.Hunk, section string) {
	i := strings.Index(section, "\n@@ -")
	if i < 0 {
		if len(hunks) > 0 {
			c.differ("%d hunks out of none", len(hunks))
		}
		return
	}
	again, err := diff.ParseHunks(strings.TrimSuffix(section[i+1:], "\n"), everything.File)
	same := slices.EqualFunc(hunks, again, func(a, b diff.Hunk) bool {
		return a.OldStart == b.OldStart && a.OldLines == b.OldLines && a.NewStart == b.NewStart && a.NewLines == b.NewLines &&
			a.Section == b.Section && slices.Equal(a.Lines, b.Lines)
	})
	if err != nil || !same {
		c.differ("bare hunks are read as others: %v", err)
	}
}

// content holds every line of the hunks against the line of that number in the
// blob, and what is between the hunks against the other blob: together they say
// that the hunks, applied to the old blob, give the new one.
func (c *checker) content(hunks []diff.Hunk, before, after text) {
	oldNext, newNext := 1, 1
	for _, h := range hunks {
		c.sum.hunks++
		oldAt, newAt := firstLine(h.OldStart, h.OldLines), firstLine(h.NewStart, h.NewLines)
		c.unchanged(before, after, oldNext, oldAt, newNext, newAt)
		for _, l := range h.Lines {
			c.sum.lines++
			if l.Op != diff.AddedLine {
				c.line("old", before, l, l.Old, oldAt)
				oldAt++
			}
			if l.Op != diff.DeletedLine {
				c.line("new", after, l, l.New, newAt)
				newAt++
			}
			if l.Op == diff.AddedLine && l.Old != 0 || l.Op == diff.DeletedLine && l.New != 0 {
				c.differ("%+v has a number on a side that it is not on", l)
			}
		}
		oldNext, newNext = oldAt, newAt
	}
	c.unchanged(before, after, oldNext, before.len()+1, newNext, after.len()+1)
}

// firstLine is the line that a hunk begins at; an empty range names the one
// before.
func firstLine(start, count int) int {
	if count == 0 {
		return start + 1
	}
	return start
}

func (c *checker) unchanged(before, after text, oldFirst, oldEnd, newFirst, newEnd int) {
	a, okOld := before.between(oldFirst, oldEnd)
	b, okNew := after.between(newFirst, newEnd)
	if !okOld || !okNew || !bytes.Equal(a, b) {
		c.differ("old lines %d to %d and new lines %d to %d are in no hunk and differ", oldFirst, oldEnd, newFirst, newEnd)
	}
}

func (c *checker) line(side string, blob text, l diff.Line, number, counted int) {
	want, open, ok := blob.line(number)
	if !ok || number != counted || l.Text != want || l.NoNewline != open {
		c.differ("%s line %d (%d counted) is %.100q, without end %t; the blob has %.100q, %t", side, number, counted, l.Text, l.NoNewline, want, open)
	}
}
