package risk

import (
	"path"
	"slices"
	"strings"
)

// place is a path taken apart once for all the questions asked about it. The
// exact parts serve what lowers attention, the folded ones what raises risk.
type place struct {
	path, base, ext string
	dirs            []string // the segments above base

	folded, fbase, fext string
	fdirs               []string
	words               [][]string // of every segment, without the extension
}

func newPlace(p string) place {
	var pl place
	pl.path, pl.folded = p, fold(p)
	pl.dirs, pl.base, pl.ext = split(pl.path)
	pl.fdirs, pl.fbase, pl.fext = split(pl.folded)
	for _, d := range pl.dirs {
		pl.words = append(pl.words, words(d))
	}
	pl.words = append(pl.words, words(strings.TrimSuffix(pl.base, pl.ext)))
	return pl
}

func split(p string) (dirs []string, base, ext string) {
	segs := strings.Split(p, "/")
	base = segs[len(segs)-1]
	return segs[:len(segs)-1], base, path.Ext(base)
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
