package risk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

// What makes a source change large: changed lines, or files, of kind source.
const (
	largeLines = 800
	largeFiles = 40
)

func ofKind(k Kind) func(*facts) verdict {
	return func(f *facts) verdict { return on(f.pathsOf(k)) }
}

func (f *facts) pathsOf(k Kind) []string {
	return f.pathsWhere(func(p pathFacts) bool { return p.kinds.Has(k) })
}

// both fires where the two kinds are found in one patch, at two different paths:
// ci/login.sh alone is one thing with two names.
func both(a, b Kind) func(*facts) verdict {
	return func(f *facts) verdict {
		if !f.has(a) || !f.has(b) {
			return verdict{}
		}
		files := unique(append(f.pathsOf(a), f.pathsOf(b)...))
		return verdict{fired: len(files) > 1, files: files}
	}
}

// scanned asks a scanner. Where the rule applies to the patch and no scanner
// answered, the rule is unknown.
func scanned(id string, applies func(*facts) bool) func(*facts) verdict {
	return func(f *facts) verdict {
		fact := f.ctx.Content[id]
		return verdict{fired: fact.State == Yes, unknown: fact.State != Yes && fact.State != No && applies(f), files: fact.Files}
	}
}

func anyFile(f *facts) bool { return len(f.files) > 0 }

func (k Kind) in(f *facts) bool { return f.has(k) }

func hasWorkflow(f *facts) bool {
	return slices.ContainsFunc(f.paths, func(p pathFacts) bool { return isWorkflow(p.folded) })
}

// requiredWorkflow is exact as far as the required names and their workflows are
// known. Where they are not, a new workflow may report any name; a changed one
// leaves the rule unknown, above the floor that CI has anyway.
func requiredWorkflow(f *facts) verdict {
	required := foldedSet(f.ctx.RequiredWorkflows)
	var v verdict
	for _, p := range f.paths {
		if !isWorkflow(p.folded) {
			if required[p.folded] {
				v.files = append(v.files, p.path)
			}
			continue
		}
		switch {
		case required[p.folded], f.appears(p) && (len(f.ctx.RequiredNames) > 0 || !f.ctx.RequiredKnown):
			v.files = append(v.files, p.path)
		case !f.ctx.RequiredKnown:
			v.unknown = true
		}
	}
	v.fired = len(v.files) > 0
	if v.fired && !f.ctx.RequiredKnown {
		v = v.because("which checks are required, or which workflows report them, is not known in full")
	}
	return v
}

// appears reports whether there was no file at this path before.
func (f *facts) appears(p pathFacts) bool {
	switch f.files[p.file].Op {
	case diff.Modified, diff.Deleted, diff.TypeChanged:
		return false
	}
	return p.current
}

func continuousIntegration(f *facts) verdict {
	v := on(f.pathsOf(CI))
	if !f.ctx.RequiredKnown && hasWorkflow(f) {
		v = v.because("which checks are required is not known; a changed workflow may report one")
	}
	return v
}

// lockWithoutManifest stands in for a reading of the lock file. Where the scanner
// read every entry and found other versions from the same registries only, as
// every bot's bump of an indirect dependency is, there is nothing to stand in for.
// A lock file that is gone pins nothing any more, whatever it held.
func lockWithoutManifest(f *facts) verdict {
	read := f.ctx.Content[RuleDependencyChange].State == No
	var locks []place
	changed := manifests{}
	for _, p := range f.paths {
		switch {
		case isFixture(p.place) || p.kinds.Has(Vendored):
		case isLock(p.fbase) && read && f.files[p.file].HasNew():
		case isLock(p.fbase):
			locks = append(locks, p.place)
		default:
			changed.add(p.place)
		}
	}
	changed.sort()
	var files []string
	for _, l := range locks {
		if !changed.of(l) {
			files = append(files, l.path)
		}
	}
	return on(files)
}

func vendoredWithoutManifest(f *facts) verdict {
	if f.has(Dependency) {
		return verdict{}
	}
	return on(f.pathsWhere(func(p pathFacts) bool { return p.kinds.Has(Vendored) && isManaged(p.place) }))
}

func deceptivePath(f *facts) verdict {
	return on(f.pathsWhere(func(p pathFacts) bool { return deceives(p.path) }))
}

// executableBit fires for a bit that was not there. An unknown mode before is
// none; a copy is a new file, whatever it was copied from.
func executableBit(f *facts) verdict {
	return on(f.filesWhere(func(file fileFacts) bool {
		had := file.HasOld() && file.Op != diff.Copied && file.OldMode == diff.ModeExecutable
		return file.NewMode == diff.ModeExecutable && !had
	}))
}

func symlink(f *facts) verdict {
	return on(f.filesWhere(func(file fileFacts) bool {
		return file.OldMode == diff.ModeSymlink || file.NewMode == diff.ModeSymlink
	}))
}

// unreadable fires where something of the patch was not seen: files that are
// counted but not listed, hunks left out, modes or operations that nobody
// established. Generated and vendored files and binaries are exempt from the
// reading, not from the listing, and a program that is called a binary is none.
func unreadable(f *facts) verdict {
	unread := make(map[string]bool, len(f.ctx.Unread))
	for _, path := range f.ctx.Unread {
		unread[path] = true
	}
	listed := make(map[string]bool, len(f.paths))
	for _, p := range f.paths {
		listed[p.path] = true
	}
	why := ""
	files := f.filesWhere(func(file fileFacts) bool {
		reason := ""
		switch {
		case file.Path() == "", moved(file.Op) && (file.OldPath == "" || file.NewPath == ""):
			reason = "a path is not known"
		case file.Op < diff.Added || file.Op > diff.TypeChanged:
			reason = "an operation is not known"
		case !file.ModesKnown():
			reason = "a mode is not known"
		case file.nothingToRead():
		case file.Truncated:
			reason = cmp.Or(file.Why, "content was not read")
		case slices.ContainsFunc(file.Paths(), func(p string) bool { return unread[p] }):
			reason = "content was not read"
		case file.Unseen():
			reason = "there are no hunks"
		case file.Binary && file.kinds.Has(Source):
			reason = "a program is binary"
		}
		if reason != "" && (why == "" || reason < why) {
			why = reason // the same one for any order of the files
		}
		return reason != ""
	})
	for path := range unread {
		if !listed[path] { // said of a file that we do not even know
			files, why = append(files, path), "content was not read"
		}
	}
	v := on(files)
	if f.missing > 0 {
		v.fired = true
		return v.because("%d of %d files are missing from the list", f.missing, f.patch.ChangedFiles)
	}
	v.detail = why
	return v
}

func moved(op diff.Op) bool { return op == diff.Renamed || op == diff.Copied }

func agentInstructions(f *facts) verdict {
	return on(f.pathsWhere(func(p pathFacts) bool { return isInstructions(p.place) }))
}

func docsOnly(f *facts) verdict {
	return verdict{fired: len(f.files) > 0 && f.docsOnly(), files: f.pathsOf(Docs)}
}

func noFiles(f *facts) verdict { return verdict{fired: len(f.files) == 0 && f.missing == 0} }

// testsRemoved fires for a test file that is deleted, or renamed to something
// that is no test, while other files of source change. Tests that are skipped
// inside a file are a scanner's to find.
func testsRemoved(f *facts) verdict {
	sources := 0
	for _, file := range f.files {
		if file.kinds.Has(Source) {
			sources++
		}
	}
	if sources == 0 {
		return verdict{}
	}
	v := scanned(RuleTestsRemoved, Test.in)(f)
	for _, p := range f.paths {
		if p.kinds.Has(Test) && f.gone(p) && f.sourceBeside(p.file, sources) {
			v.files = append(v.files, p.path)
		}
	}
	v.fired = v.fired || len(v.files) > 0
	return v
}

// gone reports whether no test is left of what was at this path.
func (f *facts) gone(p pathFacts) bool {
	file := f.files[p.file]
	switch file.Op {
	case diff.Deleted:
		return true
	case diff.Renamed:
		return !p.current && !classify(file.at).Has(Test)
	}
	return false
}

// sourceBeside reports whether there is source other than in that file.
func (f *facts) sourceBeside(file, sources int) bool {
	return sources > 1 || !f.files[file].kinds.Has(Source)
}

func largeChange(f *facts) verdict {
	lines := 0
	files := f.filesWhere(func(file fileFacts) bool {
		if !file.kinds.Has(Source) {
			return false
		}
		lines += changedLines(file.File)
		return true
	})
	if lines < largeLines && len(files) < largeFiles {
		return verdict{}
	}
	return on(files).because("%d lines in %d source files", lines, len(files))
}

func newcomer(f *facts) verdict {
	a := f.ctx.Author
	if len(f.files) == 0 || f.docsOnly() || a.Write == Yes || a.FirstContribution == No || a.VerifiedAutomation == Yes {
		return verdict{}
	}
	if a.Write != No || a.FirstContribution != Yes {
		return verdict{unknown: true}
	}
	return verdict{fired: true, detail: "no write access, first contribution"}
}

func exactRevert(f *facts) verdict { return verdict{fired: f.ctx.ExactRevert == Yes} }

// unique returns the strings sorted, each once.
func unique(list []string) []string {
	slices.SortFunc(list, strings.Compare)
	return slices.Compact(list)
}
