package risk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold spells a path the way raising rules compare it: Unicode case folding,
// and letters that look like ASCII ones as those. `.GitHub/Workflows` folds to
// `.github/workflows`, `аuth` with a Cyrillic a to `auth`. Folding merges names
// that differ, which is safe for rules that raise and for nothing else.
func fold(path string) string {
	if isLowerASCII(path) {
		return path
	}
	return strings.Map(func(r rune) rune {
		r = foldRune(r)
		if a := lookAlike(r); a != 0 {
			return a
		}
		return r
	}, path)
}

func isLowerASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
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
// same shape, fullwidth forms, and the signs that stand in for dot, slash, dash
// and underscore.
func lookAlike(r rune) rune {
	if r >= '\uFF01' && r <= '\uFF5E' {
		return unicode.ToLower(r - 0xFEE0)
	}
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
	case 'ⅼ', 'ǀ':
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
	case '․', '。':
		return '.'
	case '∕', '⁄', '⧸':
		return '/'
	case '‐', '‑', '‒', '–', '−':
		return '-'
	}
	return 0
}

// deceives reports whether a path reads as something it is not: it holds a
// control, an invisible or a direction-changing character, or a word of mixed
// scripts all of whose letters pass for ASCII.
//
// A word wholly in another script is an honest name, and so is one with a
// letter that no ASCII letter looks like.
func deceives(path string) bool {
	if isPlainASCII(path) {
		return false
	}
	prev := rune(0)
	for _, r := range path {
		// Emoji and several scripts are written with joiners. Bytes that are
		// not UTF-8 come out as RuneError, which no case below names: git
		// allows them and they imitate nothing.
		joins := (r == '\u200C' || r == '\u200D') && prev >= utf8.RuneSelf
		if !joins && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || isBlank(r)) {
			return true
		}
		prev = r
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for _, word := range strings.FieldsFunc(path, func(r rune) bool { return !isWord(r) }) {
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

// isBlank names the letters and spaces that show nothing, besides format and
// control characters: Hangul fillers, the Braille blank, wide spaces.
func isBlank(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800':
		return true
	}
	return r > '~' && unicode.Is(unicode.Zs, r) && r != '\u3000' && r != '\u00A0'
}

func passesForASCII(word string) bool {
	ascii, alike := 0, 0
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			ascii++
		case lookAlike(foldRune(r)) != 0:
			alike++
		default:
			return false
		}
	}
	return ascii > 0 && alike > 0
}

// words splits a path segment into lower-case words: at everything that is no
// letter or digit, where a lower-case letter or digit meets an upper-case one,
// and before the last of several capitals. OAuth2Client gives o, auth2, client;
// authMiddleware gives auth, middleware; author stays one word.
func words(segment string) []string {
	var list []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			list = append(list, fold(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(segment)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			prev := runes[i-1]
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(prev) || unicode.IsDigit(prev) || unicode.IsUpper(prev) && nextLower {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return list
}
