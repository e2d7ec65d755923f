package diff

import (
	"fmt"
	"strings"
)

// devNull stands for the side that does not exist, in the lines --- and +++.
const devNull = "/dev/null"

var errNoName = fmt.Errorf("%w: a name that is empty or holds a zero byte, which no file has", ErrMalformed)

// gitLine is what `diff --git ` says of a file's two names. Git puts a prefix
// before each (a/ and b/, or what its settings make of them) and only a space
// between them, which names may hold as well.
type gitLine struct {
	text     string // unquoted names that are not equal: only known names can tell where to cut
	old, new string // with prefixes, when text is empty
}

// parseGitLine reads the rest of a line behind "diff --git ".
func parseGitLine(s string) (gitLine, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return gitLine{}, errNoName
	}
	if strings.HasPrefix(s, `"`) {
		old, rest, err := unquote(s)
		if err != nil {
			return gitLine{}, err
		}
		second, ok := strings.CutPrefix(rest, " ")
		if !ok {
			return gitLine{}, fmt.Errorf("%w: %.200q has one name: right are two, as in `diff --git a/x b/x`", ErrMalformed, s)
		}
		name, err := wholeName(second)
		return gitLine{old: old, new: name}, err
	}
	// A name with a quote in it is quoted, so this can only be where one begins.
	if i := strings.Index(s, ` "`); i >= 0 {
		name, err := wholeName(s[i+1:])
		return gitLine{old: s[:i], new: name}, err
	}
	if mid := len(s) / 2; len(s)%2 == 1 && s[mid] == ' ' {
		l := gitLine{old: s[:mid], new: s[mid+1:]}
		if _, ok := l.sameName(); ok {
			return l, nil
		}
	}
	return gitLine{text: s}, nil
}

// sameName returns the one name that both sides have, without its prefix. Two
// equal texts have no prefix: git's prefixes differ from side to side, so that
// `a/x a/x` is a file x in a folder a.
func (l gitLine) sameName() (string, bool) {
	switch {
	case l.text != "" || l.old == "":
		return "", false
	case l.old == l.new:
		return l.old, true
	case prefixed(l.old) && prefixed(l.new) && l.old[0] != l.new[0] && l.old[2:] == l.new[2:]:
		return l.old[2:], true
	}
	return "", false
}

// names reports whether the line gives these two names, with or without
// prefixes.
func (l gitLine) names(from, to string) bool {
	if l.text != "" {
		s := l.text
		if s == from+" "+to {
			return true
		}
		// P/from P/to
		cut := len(from) + 2
		return len(s) == cut+1+2+len(to) && s[cut] == ' ' && named(s[:cut], from) && named(s[cut+1:], to)
	}
	return named(l.old, from) && named(l.new, to)
}

// named reports whether a name in a header is this path, with or without prefix.
func named(header, path string) bool {
	return header == path || prefixed(header) && header[2:] == path
}

// prefixed reports whether the name begins with one of git's prefixes: a/ and
// b/, or with diff.mnemonicPrefix those for commit, index, work tree, object and
// for the two sides of --no-index.
func prefixed(name string) bool {
	return len(name) > 2 && name[1] == '/' && strings.IndexByte("abciwo12", name[0]) >= 0
}

// contentName reads the name in a `--- ` or `+++ ` line. Git ends names that
// hold a space with a tab, so that programs which expect a date there do not cut
// them. A name with a tab in it is quoted.
func contentName(s string) (string, error) { return wholeName(strings.TrimSuffix(s, "\t")) }

// plainName reads such a name as other programs than git write it, with a tab
// and a date behind it.
func plainName(s string) (string, error) {
	if strings.HasPrefix(s, `"`) {
		name, _, err := unquote(s)
		return name, err
	}
	name, _, _ := strings.Cut(s, "\t")
	return wholeName(name)
}

// wholeName reads a name that fills s, quoted or not.
func wholeName(s string) (string, error) {
	name := s
	if strings.HasPrefix(s, `"`) {
		var rest string
		var err error
		if name, rest, err = unquote(s); err != nil {
			return "", err
		}
		if rest != "" {
			return "", fmt.Errorf("%w: %q stands behind the quoted name %.200q: right is nothing", ErrMalformed, glimpse(rest), name)
		}
	}
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return "", errNoName
	}
	return name, nil
}

// unquote reads the C-quoted name at the beginning of s. Escapes stand for
// bytes, which need not be UTF-8. What git never writes is refused, not guessed.
func unquote(s string) (name, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			c, n := escape(s[i+1:])
			if n == 0 {
				return "", "", fmt.Errorf("%w: a bad escape at %.4q in a quoted name: right are one of \\a \\b \\t \\n \\v \\f \\r \\\" \\\\ and three octal digits up to \\377",
					ErrMalformed, s[i:])
			}
			b.WriteByte(c)
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", fmt.Errorf("%w: the quoted name %.200q has no closing quote", ErrMalformed, s)
}

// escape reads what follows a backslash and returns its length, 0 if it is none.
func escape(s string) (c byte, n int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`abtnvfr"\`, s[0]); i >= 0 {
		return "\a\b\t\n\v\f\r\"\\"[i], 1
	}
	if len(s) < 3 || s[0] < '0' || s[0] > '3' || s[1] < '0' || s[1] > '7' || s[2] < '0' || s[2] > '7' {
		return 0, 0
	}
	return (s[0]-'0')<<6 | (s[1]-'0')<<3 | (s[2] - '0'), 3
}
