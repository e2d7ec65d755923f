package publish

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Fit cuts Markdown to at most limit bytes of valid UTF-8 (cases 30, 34 and 38).
// What is cut ends between lines where there are any, code fences and <details>
// that the cut left open are closed, and a note says how much is missing; more
// names where the rest is, or is empty.
func Fit(s string, limit int, more string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= limit {
		return s
	}
	// The note's own numbers are bounded by those of the whole text.
	reserve := len(cutNote(len(s), more))
	for room := limit - reserve; room > 0; {
		kept := cutLine(s, room)
		closing := closers(kept)
		if total := len(kept) + len(closing) + reserve; total <= limit {
			return kept + closing + cutNote(len(s)-len(kept), more)
		}
		room = len(kept) - len(closing)
	}
	return cutRune(strings.TrimSpace(cutNote(len(s), "")), limit)
}

func cutNote(bytes int, more string) string {
	note := fmt.Sprintf("\n\n*Truncated: %s left out.*", plural(bytes, "byte", "bytes"))
	if more != "" {
		note += " " + more
	}
	return note
}

// cutLine is the longest start of s with at most n bytes that ends with a whole
// line; a text that has none so far is cut at a character.
func cutLine(s string, n int) string {
	kept := cutRune(s, n)
	if i := strings.LastIndexByte(kept, '\n'); i > len(kept)/2 {
		return strings.TrimSuffix(kept[:i], "\r")
	}
	return outsideLink(kept)
}

// outsideLink goes back to before a Markdown link whose address was cut.
func outsideLink(s string) string {
	if i := strings.LastIndex(s, "]("); i >= 0 && !strings.Contains(s[i:], ")") {
		if j := strings.LastIndexByte(s[:i], '['); j >= 0 {
			return cutRune(s, j)
		}
	}
	return s
}

// closers end what s leaves open: a code fence, and each <details>.
func closers(s string) string {
	fence, depth := "", 0
	for line := range strings.SplitSeq(s, "\n") {
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "":
			if mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.Trim(line, " \r"+mark[:1]) == "" {
				fence = ""
			}
		default:
			depth += strings.Count(line, "<details") - strings.Count(line, "</details>")
		}
	}
	var b strings.Builder
	if fence != "" {
		b.WriteString("\n" + fence)
	}
	if depth > 0 {
		b.WriteString(strings.Repeat("\n\n</details>", depth))
	}
	return b.String()
}

// fenceOf is the run of backticks or tildes that begins a code fence on this line,
// empty when none does.
func fenceOf(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 || trimmed == "" || (trimmed[0] != '`' && trimmed[0] != '~') {
		return ""
	}
	n := 1
	for n < len(trimmed) && trimmed[n] == trimmed[0] {
		n++
	}
	if n < 3 {
		return ""
	}
	return trimmed[:n]
}

// fitTitle cuts a title to so many characters and bytes.
func fitTitle(s string, width, size int) string {
	if utf8.RuneCountInString(s) > width {
		n := 0
		for i := range s {
			if n == width-1 {
				s = s[:i] + "…"
				break
			}
			n++
		}
	}
	return clip(s, size)
}
