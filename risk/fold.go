package risk

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold spells a path or a glob the way raising rules compare them: Unicode case
// folding and compatibility forms, letters that look like ASCII ones as those,
// nothing that does not show. `.GitHub/Workflows` folds to `.github/workflows`,
// `аuth` with a Cyrillic a to `auth`. Folding merges names that differ, which is
// safe for rules that raise and for nothing else.
func fold(s string) string {
	if isLowerASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		r = foldRune(r)
		if a := lookAlike(r); a != 0 {
			return a
		}
		return r
	}, norm.NFKC.String(s))
}

// foldPath is fold for a path, which it also brings to the one that some system
// would open for it: `.\docs\..\CODEOWNERS. ` is `codeowners` on Windows.
func foldPath(p string) string {
	f := fold(p)
	if !isOdd(f) {
		return f
	}
	var segs []string
	for _, seg := range strings.Split(path.Clean("/"+strings.ReplaceAll(f, `\`, "/")), "/") {
		if seg = strings.TrimRight(seg, ". "); seg != "" {
			segs = append(segs, seg)
		}
	}
	return strings.Join(segs, "/")
}

// isOdd reports whether a path has a form that git does not list or that some
// system takes for another path: backslashes, empty segments, "." and "..",
// segments that end in a dot or a space.
func isOdd(p string) bool {
	if strings.Contains(p, `\`) {
		return true
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == "" || strings.HasSuffix(seg, ".") || strings.HasSuffix(seg, " ") {
			return true
		}
	}
	return false
}

// isLowerASCII reports whether folding changes nothing.
func isLowerASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// foldRune goes by way of the upper case, since some letters (the long s, the
// dotless i) are lower case already and meet their ASCII sibling only there.
func foldRune(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }

// lookAlike returns the ASCII letter or sign that a folded rune is easily taken
// for, 0 if there is none: Cyrillic, Greek, Armenian and other letters with the
// same shape, and the signs that stand in for dot, slash, dash and underscore.
// Fullwidth, mathematical and other styled forms are what NFKC folds.
func lookAlike(r rune) rune {
	switch r {
	case 'а', 'α', 'ɑ':
		return 'a'
	case 'ь', 'в':
		return 'b'
	case 'с', 'ϲ':
		return 'c'
	case 'ԁ':
		return 'd'
	case 'е', 'ҽ':
		return 'e'
	case 'ɡ', 'ց':
		return 'g'
	case 'һ', 'հ', 'н':
		return 'h'
	case 'і', 'ι', 'ӏ', 'ı', 'ɩ':
		return 'i'
	case 'ј', 'ϳ':
		return 'j'
	case 'κ', 'к':
		return 'k'
	case 'ǀ':
		return 'l'
	case 'м':
		return 'm'
	case 'ո':
		return 'n'
	case 'о', 'ο', 'օ', 'σ':
		return 'o'
	case 'р', 'ρ':
		return 'p'
	case 'ԛ', 'զ':
		return 'q'
	case 'г':
		return 'r'
	case 'ѕ', 'ꜱ':
		return 's'
	case 'т', 'τ':
		return 't'
	case 'υ', 'ս', 'ʋ':
		return 'u'
	case 'ν', 'ѵ':
		return 'v'
	case 'ԝ', 'ѡ', 'ω':
		return 'w'
	case 'х', 'χ':
		return 'x'
	case 'у', 'γ', 'ү':
		return 'y'
	case 'ᴢ':
		return 'z'
	case '。':
		return '.'
	case '∕', '⁄', '⧸':
		return '/'
	case '‐', '‑', '‒', '–', '−':
		return '-'
	}
	return 0
}

// deceives reports whether a path reads as something it is not: it is odd, it
// holds a control, an invisible or a direction-changing character, or a word of
// mixed scripts all of whose letters pass for ASCII.
//
// A word wholly in another script is an honest name, and so is one with a
// letter that no ASCII letter looks like.
func deceives(p string) bool {
	if p != "" && isOdd(p) {
		return true
	}
	if isPlainASCII(p) {
		return false
	}
	prev := rune(0)
	for _, r := range p {
		// Bytes that are not UTF-8 come out as RuneError, which is not hidden:
		// git allows them and they imitate nothing.
		if isHidden(r) && !joins(prev, r) {
			return true
		}
		prev = r
	}
	isWord := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r >= utf8.RuneSelf && strings.ContainsAny(fold(string(r)), `./\`)
	}
	for _, word := range strings.FieldsFunc(p, func(r rune) bool { return !isWord(r) }) {
		if passesForASCII(word) {
			return true
		}
	}
	return false
}

func isPlainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isHidden reports whether a character shows nothing: controls, format
// characters, line separators, fillers, and spaces other than the common ones.
func isHidden(r rune) bool {
	switch r {
	case ' ', '\u00A0', '\u3000':
		return false
	case '\u2800': // the Braille blank is a symbol to Unicode
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// joins reports whether a hidden character is part of how the one before it is
// written: emoji and several scripts have joiners and variation selectors, and
// the keycaps 0 to 9 are ASCII digits with one.
func joins(prev, r rune) bool {
	if r == '\u200C' || r == '\u200D' {
		return prev >= utf8.RuneSelf
	}
	return unicode.Is(unicode.Variation_Selector, r) && (prev >= utf8.RuneSelf || prev >= '0' && prev <= '9')
}

// passesForASCII reports whether a word mixes ASCII with what is taken for it.
// The ordinals of 1ª and nº are how Romance languages write.
func passesForASCII(word string) bool {
	ascii, alike := 0, 0
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			ascii++
		case r == 'ª', r == 'º', !isPlainASCII(fold(string(r))):
			return false
		default:
			alike++
		}
	}
	return ascii > 0 && alike > 0
}
