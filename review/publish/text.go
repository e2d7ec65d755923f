package publish

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// All text from outside passes through this file on its way to people: names as
// code, sentences as prose, addresses as link. It was written by strangers and
// is read by people, by GitHub (mentions, references, closing keywords) and by
// other bots (commands).

// zeroWidth is put inside what GitHub would otherwise act on. GitHub looks for
// mentions and references in the rendered text, so an escaped "@" would still be
// one; a zero-width space between the sign and the name is not.
const zeroWidth = "&#8203;"

// short is the usual seven digits of a SHA.
func short(sha string) string { return first(sha, 7) }

// first is at most n bytes of an ASCII text.
func first(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// visible replaces what shows nothing or changes how the rest is shown: control
// characters, line ends, directional overrides, invisible characters, broken
// UTF-8. The result is one line.
func visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹0x%02X›", s[0])
		case hidden(r):
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// hidden reports whether a character shows nothing of its own. Besides Unicode's
// own categories these are letters and symbols that are drawn empty.
func hidden(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u2800', '\u3164', '\uFFA0', utf8.RuneError:
		return true
	}
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || (unicode.Is(unicode.Zs, r) && r != ' ')
}

// clip cuts s to at most n bytes, at the border of a character, and shows that it
// did.
func clip(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	if n < len(mark) {
		return ""
	}
	return cutRune(s, n-len(mark)) + mark
}

// cutRune is the longest start of s with at most n bytes that splits no character
// and no CR LF pair.
func cutRune(s string, n int) string {
	if n >= len(s) {
		return s
	}
	if n <= 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if n > 0 && s[n] == '\n' && s[n-1] == '\r' {
		n--
	}
	return s[:n]
}

// code shows a name from outside in code font: inside it GitHub reads no Markdown,
// mention or reference. The fence is longer than any run of backticks in the
// name. A pipe would end a table's cell even there, so such a name is written in
// HTML.
func code(s string) string {
	s = clip(visible(s), maxNameBytes)
	switch {
	case strings.TrimSpace(s) == "":
		return "`(empty)`"
	case strings.Contains(s, "|"):
		return "<code>" + escapeWithin(s, maxNameMarkup) + "</code>"
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || (strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ")) {
		s = " " + s + " " // Markdown takes one blank from each side
	}
	return fence + s + fence
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// prose shows a sentence from outside as plain words.
func prose(s string) string {
	return escapeWithin(clip(visible(strings.TrimSpace(s)), maxTextBytes), maxTextMarkup)
}

// escapeWithin cuts s further where escaping makes too much of it.
func escapeWithin(s string, limit int) string {
	out := escape(s)
	for len(out) > limit {
		s = clip(s, len(s)*3/4)
		out = escape(s)
	}
	return out
}

// escape takes the meaning from every character that Markdown, HTML or GitHub
// gives one. s is one line.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '@', '#':
			b.WriteByte(c)
			b.WriteString(zeroWidth)
		case '\\', '`', '*', '_', '[', ']', '<', '>', '&', '|', '~', '$', '!':
			fmt.Fprintf(&b, "&#%d;", c)
		case ':':
			b.WriteByte(c)
			if strings.HasPrefix(s[i+1:], "//") { // no address becomes a link by itself
				b.WriteString(zeroWidth)
			}
		case '.':
			if i >= 3 && strings.EqualFold(s[i-3:i], "www") {
				b.WriteString(zeroWidth)
			}
			b.WriteByte(c)
		case '-':
			if i >= 2 && strings.EqualFold(s[i-2:i], "gh") { // GH-12 is a reference too
				b.WriteString(zeroWidth)
			}
			b.WriteByte(c)
		case '/':
			if strings.Trim(s[:i], "-+>.) \t0123456789") == "" { // no command, behind whatever a line may begin with
				b.WriteString(zeroWidth)
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// plain shows a text from outside where no Markdown is read: in a title. A mention
// there would be read by other bots.
func plain(s string) string {
	return strings.ReplaceAll(visible(strings.TrimSpace(s)), "@", "＠")
}

// link is label, which is Markdown of ours, leading to an address: only to http
// and https on the given host. Any other address is left out and the label stays.
func link(label, address, host string) string {
	u, err := url.Parse(address)
	if err != nil || host == "" || !strings.EqualFold(u.Host, host) || !plainHost(host) || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return label
	}
	safe := linkEscapes().Replace(u.String())
	if len(safe) > maxTextBytes || visible(safe) != safe {
		return label
	}
	return "[" + label + "](" + safe + ")"
}

// plainHost: the host is written as it is read. Any other would be escaped or
// shown as something else.
func plainHost(host string) bool {
	return strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") == ""
}

// linkEscapes percent-encodes what would end a link's address.
func linkEscapes() *strings.Replacer {
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "[", "%5B", "]", "%5D", `\`, "%5C", " ", "%20", "|", "%7C", "`", "%60", `"`, "%22")
}

// hostOf is the host of an address, empty when it is no http address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return ""
	}
	return u.Host
}

// plural is "1 file" or "3 files".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// count writes a number with thousands separated: 1,204.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// join lists words: "a", "a and b", "a, b and c".
func join(words []string, last string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
