package scan

import (
	"path"
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

// conflictMarkers finds what a merge leaves behind. A whole conflict, from "<" to
// ">" with a divider between, is taken for one; a single line that looks like one
// end is said, too, but may be a quotation.
func (s *scanner) conflictMarkers(src *source, report func(Finding)) (why string) {
	severity := High
	if tellsOfConflicts(src.path) {
		severity = Medium
	}
	for _, run := range src.runs {
		var c conflict
		for i, l := range run {
			if i&1023 == 0 && s.ctx.Err() != nil {
				return s.late()
			}
			switch marker(l.text) {
			case '<':
				c.flush(src, report, Medium)
				c.opened = true
				c.note(l)
			case '|', '=', '%', '+': // diff3's base; jj's changes
				if c.opened {
					c.divided = true
					c.note(l)
				}
			case '>':
				c.note(l)
				if c.opened && c.divided {
					c.flush(src, report, severity)
				} else {
					c.flush(src, report, Medium)
				}
			}
		}
		c.flush(src, report, Medium)
	}
	return s.late()
}

// conflict is what was seen of one, from its first marker on.
type conflict struct {
	opened, divided bool
	first           line // the first marker that the patch adds
}

func (c *conflict) note(l line) {
	if l.added && c.first.no == 0 {
		c.first = l
	}
}

// flush reports the conflict if the patch adds a part of it, and forgets it.
func (c *conflict) flush(src *source, report func(Finding), severity Severity) {
	if c.first.no > 0 {
		report(Finding{Rule: RuleConflictMarker, Path: src.path, Side: diff.Right, Line: c.first.no, Severity: severity, Quote: c.first.text,
			Title: "A merge conflict is left in the file",
			Why:   "The lines are both versions of a change with marks between them; neither a compiler nor a reader can tell which one was meant.",
			Do:    "Resolve the conflict and remove the marks."})
	}
	*c = conflict{}
}

// marker returns which of a conflict's marks a line is, 0 if none: seven of the
// sign at its start, then a blank and a label, or nothing.
func marker(text string) byte {
	if len(text) < 7 {
		return 0
	}
	c := text[0]
	switch c {
	case '<', '>', '|', '=', '%', '+':
	default:
		return 0
	}
	for i := 1; i < 7; i++ {
		if text[i] != c {
			return 0
		}
	}
	rest := strings.TrimRight(text[7:], "\r")
	switch {
	case rest == "" && (c == '=' || c == '|'), len(rest) > 1 && rest[0] == ' ' && c != '=':
		return c
	}
	return 0
}

// tellsOfConflicts reports whether files of that name quote conflicts: prose and
// patches. One that is left in them breaks nothing.
func tellsOfConflicts(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt", ".patch", ".diff", ".rej", ".orig":
		return true
	}
	return false
}
