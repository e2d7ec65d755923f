package risk

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// place is a path taken apart once for all the questions asked about it. The
// exact parts serve what lowers attention, the folded ones what raises risk.
type place struct {
	path string

	// Empty where the path is odd, so that nothing that lowers attention knows it.
	base, ext string
	dirs      []string // the segments above base

	folded, fbase, fext string
	fdirs               []string
	words               [][]string // of every segment, without the extension
}

func newPlace(p string) place {
	pl := place{path: p, folded: foldPath(p)}
	pl.fdirs, pl.fbase, pl.fext = split(pl.folded)
	if !isOdd(p) {
		pl.dirs, pl.base, pl.ext = split(p)
	}
	// Folding loses where one word ends (authMiddleware) and finds words that
	// capitals hide (AuTh), so the rules see both.
	pl.words = segmentWords(pl.fdirs, pl.fbase, pl.fext)
	if p != pl.folded {
		pl.words = append(pl.words, segmentWords(pl.dirs, pl.base, pl.ext)...)
	}
	return pl
}

func split(p string) (dirs []string, base, ext string) {
	segs := strings.Split(p, "/")
	base = segs[len(segs)-1]
	return segs[:len(segs)-1], base, path.Ext(base)
}

func segmentWords(dirs []string, base, ext string) [][]string {
	stem := strings.TrimSuffix(base, ext)
	if stem == "" {
		stem = base // a dotfile is all extension
	}
	list := make([][]string, 0, 2*len(dirs)+2)
	for _, d := range dirs {
		list = append(list, words(d))
	}
	return append(list, words(stem))
}

// under reports whether the folded path lies below the given folder, counted
// from the root.
func (p place) under(dir string) bool {
	return len(p.folded) > len(dir) && p.folded[len(dir)] == '/' && p.folded[:len(dir)] == dir
}

// inFolded reports whether any folder of the folded path satisfies f.
func (p place) inFolded(f func(string) bool) bool { return slices.ContainsFunc(p.fdirs, f) }

// inExact reports whether any folder of the path, spelled as it is, satisfies f.
func (p place) inExact(f func(string) bool) bool { return slices.ContainsFunc(p.dirs, f) }

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(x string) bool { return strings.HasPrefix(s, x) })
}

func hasAnySuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
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
