package publish

import (
	"math"
	"strings"
)

// lines gathers the lines of one section within a byte budget and counts what it
// leaves out. With every section bounded, the whole text is.
type lines struct {
	b       strings.Builder
	budget  int
	most    int // entries
	entries int
	left    int
}

// moreRoom is kept free for the line that counts what was left out.
const moreRoom = 160

func newLines(budget int) *lines { return &lines{budget: budget, most: MaxList} }

// newWhole is for what a check is there to list: as much as there is room for.
func newWhole(budget int) *lines { return &lines{budget: budget, most: math.MaxInt} }

// add takes one line, or counts it as left out: after the most entries, and once
// the budget is used up. Later lines are then left out too, so that what is shown
// is always the beginning. It reports whether it took the line.
func (l *lines) add(line string) bool {
	if l.left > 0 || l.entries == l.most || l.b.Len()+len(line)+1+moreRoom > l.budget {
		l.left++
		return false
	}
	l.entries++
	l.b.WriteString(line)
	l.b.WriteByte('\n')
	return true
}

// addCount takes a line that stands for n entries. It is never pushed out by
// others: where nothing fits any more, its entries are counted with theirs.
func (l *lines) addCount(line string, n int) {
	if l.left > 0 || l.b.Len()+len(line)+1+moreRoom > l.budget {
		l.left += n
		return
	}
	l.b.WriteString(line)
	l.b.WriteByte('\n')
}

// string is the section's text; more says where the rest is.
func (l *lines) string(more string) string {
	if l.left == 0 {
		return l.b.String()
	}
	s := "- and " + count(l.left) + " more"
	if more != "" && len(s)+len(more)+2 < moreRoom {
		s += ", " + more
	}
	return l.b.String() + s + "\n"
}

// fold hides a section until it is opened.
func fold(title, body string) string {
	if body == "" {
		return ""
	}
	return "<details><summary>" + title + "</summary>\n\n" + body + "\n</details>\n"
}
