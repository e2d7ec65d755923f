package risk

import (
	"fmt"
	"slices"

	"github.com/countersign/countersign/risk/diff"
)

// facts is what the rules look at: the patch taken apart once.
type facts struct {
	patch   diff.Patch
	missing int // files of the patch that are not listed
	ctx     Context
	files   []fileFacts
	paths   []pathFacts // one for each path of each file
	matched [][]string  // for each of the policy's rules, the paths it matches
}

type fileFacts struct {
	diff.File
	at      place // the current path
	kinds   Kinds // over both paths
	watched bool  // the policy asks for a review of one of them
}

// pathFacts is one path of a changed file. Rules that ask about kinds ask here,
// so that a rename counts under both paths and says which one it was.
type pathFacts struct {
	place
	kinds   Kinds
	file    int
	current bool // Path of the file, not the previous one
}

func newFacts(p diff.Patch, c Context, matchers []matcher) *facts {
	f := &facts{patch: p, missing: p.Missing(), ctx: c, files: make([]fileFacts, len(p.Files)), matched: make([][]string, len(matchers))}
	ciPaths := foldedSet(c.CIPaths)
	for i, file := range p.Files {
		f.files[i].File = file
		for j, path := range file.Paths() {
			pf := pathFacts{place: newPlace(path), file: i, current: j == 0}
			pf.kinds = classifyPath(pf.place, file)
			if ciPaths[pf.folded] {
				pf.kinds = pf.kinds.Add(CI)
			}
			for k, m := range matchers {
				if m.matches(pf.place) {
					f.matched[k] = append(f.matched[k], path)
					pf.kinds = pf.kinds.Add(m.rule.Kind)
					f.files[i].watched = f.files[i].watched || m.asksForEyes()
				}
			}
			if pf.current {
				f.files[i].at = pf.place
			}
			f.files[i].kinds |= pf.kinds
			f.paths = append(f.paths, pf)
		}
	}
	return f
}

func foldedSet(paths []string) map[string]bool {
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[foldPath(p)] = true
	}
	return set
}

// verdict is what a rule says: it fired, resting on some files; or it could not
// be evaluated; or both, where a part of it could.
type verdict struct {
	fired, unknown bool
	files          []string
	detail         string
}

// on fires if there are files for it.
func on(files []string) verdict { return verdict{fired: len(files) > 0, files: files} }

func (v verdict) because(format string, args ...any) verdict {
	v.detail = fmt.Sprintf(format, args...)
	return v
}

// pathsWhere returns the paths, of both sides, that satisfy is.
func (f *facts) pathsWhere(is func(pathFacts) bool) []string {
	var list []string
	for _, p := range f.paths {
		if is(p) {
			list = append(list, p.path)
		}
	}
	return list
}

// filesWhere returns the current paths of the files that satisfy is.
func (f *facts) filesWhere(is func(fileFacts) bool) []string {
	var list []string
	for _, file := range f.files {
		if is(file) {
			list = append(list, file.Path())
		}
	}
	return list
}

func (f *facts) has(k Kind) bool {
	return slices.ContainsFunc(f.files, func(file fileFacts) bool { return file.kinds.Has(k) })
}

// docsOnly reports whether every file is docs and nothing else. Files that are
// not listed may be anything.
func (f *facts) docsOnly() bool {
	return f.missing == 0 && !slices.ContainsFunc(f.files, func(file fileFacts) bool { return file.kinds != KindsOf(Docs) })
}

// changedLines is what the source counted or what the hunks show, whichever is
// more: GitHub counts lines of files that it sends no hunks for.
func changedLines(f diff.File) int {
	shown := 0
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op != diff.ContextLine {
				shown++
			}
		}
	}
	return max(shown, max(0, f.Added)+max(0, f.Deleted))
}

// nothingToRead is for files that a reading would tell nothing about.
func (f fileFacts) nothingToRead() bool {
	return f.kinds.Within(KindsOf(Generated, Vendored, Binary)) || f.kinds == KindsOf(Docs) && isImage(f.at)
}

// needsReview reports whether somebody has to look at the file. A lock file is
// the dependency scanner's to read; until one has, it is anyone's.
func (f *facts) needsReview(file fileFacts) bool {
	if file.watched {
		return true
	}
	if file.kinds.Within(KindsOf(Docs, Generated, Vendored, Binary)) {
		return false
	}
	if isLock(file.at.fbase) && file.kinds == KindsOf(Dependency) {
		return f.ctx.Content[RuleDependencyChange].State == Unknown
	}
	return true
}
