package scan

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// concern is what is wrong with a character.
type concern uint8

const (
	harmless    concern = iota
	directional         // changes the reading direction of what follows
	invisible           // shows nothing, where no script or emoji needs it
	lineBreak           // ends a line for some readers and not for others
)

// hiddenCharacters finds, in added lines, the characters of the rule
// hidden-characters: one finding a line and concern, at the line, with the number
// of such characters in it.
func (s *scanner) hiddenCharacters(src *source, report func(Finding)) (why string) {
	for l := range src.added(s.ctx) {
		if plain(l.text) {
			continue
		}
		var count [lineBreak + 1]int
		var first [lineBreak + 1]rune
		stray := strayIn(src.path)
		binary := isData(src.path) && controls(l.text)
		eachHidden(l.text, l.no == 1, func(_ int, r rune, c concern) {
			if binary && r < utf8.RuneSelf {
				return
			}
			stray = stray && isStray(r)
			if count[c]++; count[c] == 1 {
				first[c] = r
			}
		})
		for c := directional; c <= lineBreak; c++ {
			if count[c] > 0 {
				f := hiddenFinding(src.path, l, c, first[c], count[c])
				if stray && count[c] <= maxStray {
					f.Severity = Medium
				}
				report(f)
			}
		}
	}
	return s.late()
}

// maxStray is how many characters in a line are left over from a translation
// service or from copied text; they are too few to spell anything.
const maxStray = 3

// strayIn reports whether files of that name are for people to read, where a
// character too many changes nothing that runs.
func strayIn(p string) bool {
	m := markupOf(p)
	return m == markupMarkdown || m == markupRST || m == markupAsciidoc || risk.IsTranslationPath(p)
}

// isStray reports whether a character is one that comes along with copied text.
func isStray(r rune) bool {
	switch r {
	case '\u200B', '\u200C', '\u200D', '\u200E', '\u200F', '\u2060', '\uFEFF', '\u00AD':
		return true
	}
	return false
}

// isData reports whether files of that name are data that git may take for text.
func isData(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".binpb", ".pb", ".bin", ".dat", ".mo", ".idx", ".pack", ".db", ".sqlite", ".sqlite3", ".msgpack", ".cbor", ".avro", ".parquet", ".pkl":
		return true
	}
	return false
}

// controls reports whether a line is binary data that git took for text: it has
// control characters that no text has. Those that act on a terminal or a reader
// are not among them.
func controls(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= 1 && r <= 6 || r >= 0x0E && r <= 0x1A || r >= 0x1C && r <= 0x1F }) >= 0
}

func hiddenFinding(path string, l line, c concern, r rune, n int) Finding {
	f := Finding{Rule: RuleHiddenCharacters, Path: path, Side: diff.Right, Line: l.no, Severity: High, Quote: l.text}
	what := fmt.Sprintf("U+%04X", r)
	if n > 1 {
		what = fmt.Sprintf("%s and %d more", what, n-1)
	}
	switch c {
	case directional:
		f.Title = "Characters change the reading direction: " + what
		f.Why = "The line reads differently from what a compiler or a shell takes it for: text after such a character is shown in another order."
		f.Do = "Remove the characters, or write them as escapes where the program needs them."
	case lineBreak:
		f.Title = "A line end inside a line: " + what
		f.Why = "Some editors, terminals and languages end the line here and others do not, so what looks like a comment may be code, or may be overwritten by what follows."
		f.Do = "Use an ordinary line end, or write the character as an escape."
	case harmless, invisible:
		f.Title = "Characters that show nothing: " + what
		f.Why = "Two names or texts that look the same differ, or text is there that nobody sees; neither emoji nor a script needs the characters here."
		f.Do = "Remove the characters, or write them as escapes where the program needs them."
	}
	return f
}

// plain reports whether a line has none of the characters this file is about:
// ASCII without backspace, delete and a carriage return before the end. It is the
// answer for nearly every line, so it only looks at bytes.
func plain(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= utf8.RuneSelf, c == '\b', c == 0x7F:
			return false
		case c == '\r' && strings.TrimRight(text[i:], "\r") != "":
			return false
		}
	}
	return true
}

// eachHidden calls f for every character of the text that is of concern.
// A byte order mark is none at the start of a file.
func eachHidden(text string, startOfFile bool, f func(at int, r rune, c concern)) {
	text = strings.TrimRight(text, "\r")
	prev := rune(-1)
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		if r == flag {
			if n := flagTags(text[i+size:]); n > 0 {
				i, prev = i+size+n, flag
				continue
			}
		}
		if c := concernOf(r); c != harmless && (i > 0 || !startOfFile || r != '\uFEFF') {
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			if c != invisible || !needed(prev, r, next, text) {
				f(i, r, c)
			}
		}
		prev = r
		i += size
	}
}

// concernOf says what a character is, without regard to where it stands.
func concernOf(r rune) concern {
	switch {
	case r < utf8.RuneSelf:
		if r == '\b' || r == 0x7F {
			return invisible
		}
		if r == '\r' {
			return lineBreak
		}
		return harmless
	case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
		return directional
	case r == '\u0085', r == '\u2028', r == '\u2029':
		return lineBreak
	case r == '\u2800': // the Braille blank is a symbol to Unicode
		return invisible
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // Arabic number signs are of Cf and show
		return harmless
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return invisible
	}
	return harmless
}

// flag is the black flag, which tags turn into the flag of a region.
const flag = '\U0001F3F4'

// flagTags returns the length of the tags at the start of the text that, after a
// black flag, make one of the three flags that Unicode recommends. Tags can spell
// any ASCII text, so no others are taken for a flag.
func flagTags(text string) int {
	for _, region := range [...]string{"gbeng", "gbsct", "gbwls"} {
		n := 0
		for _, c := range region {
			r, size := utf8.DecodeRuneInString(text[n:])
			if r != 0xE0000+c {
				break
			}
			n += size
		}
		if r, size := utf8.DecodeRuneInString(text[n:]); n == 4*len(region) && r == 0xE007F {
			return n + size
		}
	}
	return 0
}

// needed reports whether an invisible character is part of how emoji or a script
// are written at this place. It has to follow at once what it belongs to, so that
// a run of such characters, which could spell a message, is not needed.
func needed(prev, r, next rune, text string) bool {
	switch {
	case r == '\u200D':
		return isPictograph(prev) && isPictograph(next) || joins(prev) && r != next
	case r == '\u200C':
		return joins(prev)
	case r == '\u200E', r == '\u200F', r == '\u061C': // marks of direction, of their own no override
		return hasRightToLeft(text)
	case r == '\u200B': // where words may break, in scripts that put no space between them
		return unbroken(prev) || unbroken(next) || prev != r && next != r && strings.IndexFunc(text, unspaced) >= 0
	case r == '\u00AD': // where a word may be hyphenated: words of other letters than ASCII
		return unicode.IsLetter(prev) && unicode.IsLetter(next) && (prev >= utf8.RuneSelf || next >= utf8.RuneSelf)
	case r == '\u034F':
		return unicode.IsMark(prev) || unicode.IsMark(next)
	case r == '\u2800':
		return unicode.Is(unicode.Braille, prev) && prev != '\u2800' || unicode.Is(unicode.Braille, next) && strings.Trim(text, "\u2800 \t") != ""
	case r == '\u115F', r == '\u1160':
		return shows(unicode.Hangul, prev) || shows(unicode.Hangul, next)
	case r >= 0x1D173 && r <= 0x1D17A:
		return in(prev, 0x1D100, 0x1D1FF) || in(next, 0x1D100, 0x1D1FF)
	case unicode.Is(unicode.Variation_Selector, r):
		return selects(prev, r)
	}
	return formats(prev, r, next)
}

// selects reports whether a variation selector chooses a form of the character
// before it.
func selects(prev, r rune) bool {
	switch {
	case in(r, 0x180B, 0x180F):
		return unicode.Is(unicode.Mongolian, prev) && !unicode.Is(unicode.Variation_Selector, prev)
	case in(r, 0xE0100, 0xE01EF):
		return unicode.Is(unicode.Han, prev)
	case r == '\uFE0E' || r == '\uFE0F': // text or emoji form; keycaps are ASCII digits and signs
		return isPictograph(prev) && prev != '\uFE0F' || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	}
	return unicode.In(prev, unicode.Han, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean, unicode.Sm, unicode.Egyptian_Hieroglyphs) ||
		in(prev, 0x3000, 0x303F) || in(prev, 0xFF00, 0xFFEF)
}

// formats reports whether a script has a format character of its own here.
func formats(prev, r, next rune) bool {
	for _, script := range []*unicode.RangeTable{unicode.Mongolian, unicode.Khmer, unicode.Egyptian_Hieroglyphs, unicode.Duployan} {
		own := unicode.Is(script, r)
		switch script {
		case unicode.Mongolian:
			own = r == '\u180E'
		case unicode.Duployan:
			own = in(r, 0x1BCA0, 0x1BCA3)
		case unicode.Egyptian_Hieroglyphs:
			own = in(r, 0x13430, 0x1343F)
		}
		if own && (shows(script, prev) || shows(script, next)) {
			return true
		}
	}
	return false
}

// shows reports whether a character is of the script and shows.
func shows(script *unicode.RangeTable, r rune) bool {
	return unicode.Is(script, r) && concernOf(r) == harmless
}

func in(r, first, last rune) bool { return r >= first && r <= last }

// isPictograph is generous: symbols, and the selector or the skin tone at the end
// of one. What stands alone beside a symbol carries no message.
func isPictograph(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return false
	case r == '\uFE0F', r == '\u2139', r == '\u203C', r == '\u2049', r == '\u3030', r == '\u303D', r == '\u00A9', r == '\u00AE':
		return true
	}
	return unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) && r != '\u2800' || in(r, 0x1F000, 0x1FAFF)
}

// joins reports whether a letter or mark is of a script whose letters are joined
// or kept apart by a zero-width joiner or non-joiner.
func joins(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r)) && concernOf(r) == harmless &&
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Manichaean,
			unicode.Psalter_Pahlavi, unicode.Phags_Pa, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Sogdian,
			unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
			unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Balinese, unicode.Javanese,
			unicode.Tibetan, unicode.Limbu, unicode.Meetei_Mayek, unicode.Brahmi, unicode.Grantha, unicode.Tirhuta, unicode.Newa)
}

// unbroken reports whether a character is of a script without spaces between
// words.
func unbroken(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese,
		unicode.Balinese, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// unspaced reports whether a letter is of a script whose writers set zero-width
// spaces by hand, also beside words of other scripts.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

func hasRightToLeft(text string) bool {
	for _, r := range text {
		if unicode.IsLetter(r) && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam) {
			return true
		}
	}
	return false
}
