package diff

import "strconv"

// Op is what happened to a file. The zero value is no operation at all: a
// reader that leaves it has not established what happened.
type Op uint8

// The operations, as git names them.
const (
	Added Op = iota + 1
	Modified
	Deleted
	Renamed
	Copied
	TypeChanged // a file became a symlink, a submodule, or the reverse
)

// String returns the operation in lower case, as in "type_changed".
func (o Op) String() string {
	switch o {
	case Added:
		return "added"
	case Modified:
		return "modified"
	case Deleted:
		return "deleted"
	case Renamed:
		return "renamed"
	case Copied:
		return "copied"
	case TypeChanged:
		return "type_changed"
	}
	return "op(" + strconv.Itoa(int(o)) + ")"
}

// Mode is a git file mode in octal, the way trees spell it. The empty mode
// means that this side does not exist.
type Mode string

// The modes of blobs and submodules in a tree. Neither list-files nor compare
// tells modes; a side whose tree could not be read has ModeUnknown, which is
// never taken for a regular file.
const (
	ModeNone       Mode = ""
	ModeRegular    Mode = "100644"
	ModeGroupWrite Mode = "100664" // written by git before 2005, still found in old trees
	ModeExecutable Mode = "100755"
	ModeSymlink    Mode = "120000"
	ModeSubmodule  Mode = "160000"
	ModeUnknown    Mode = "unknown"
)

// Known reports whether the mode is one that git gives to an existing file.
func (m Mode) Known() bool {
	switch m {
	case ModeRegular, ModeGroupWrite, ModeExecutable, ModeSymlink, ModeSubmodule:
		return true
	}
	return false
}

// LineOp is the role of a line in a hunk.
type LineOp uint8

// The roles: unchanged, only on the new side, only on the old side.
const (
	ContextLine LineOp = iota
	AddedLine
	DeletedLine
)

// Line is one line of a hunk. Old and New count from 1 and are 0 on a side that
// does not have the line. Text has no "\n" and may end in, or hold, "\r".
type Line struct {
	Op        LineOp
	NoNewline bool // the file ends here, without a line end
	Old, New  int
	Text      string
}

// Hunk is one contiguous piece of a change with its context. The numbers are
// those of its header: a count of 0 means that the side has no line here, and
// its start then names the line before (0 at the top of the file).
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Section            string // what follows the second @@; a hint by git, not content
	Lines              []Line
}

// File is one changed file.
//
// Added and Deleted are line counts as the source tells them: GitHub counts
// lines of files whose hunks it leaves out. A file without hunks is not a file
// without changes.
type File struct {
	Op               Op
	OldPath, NewPath string // empty on a side that does not exist
	OldMode, NewMode Mode
	OldBlob, NewBlob string // object ids: of a blob, or of a submodule's commit
	Binary           bool
	SameContent      bool // proven without blob ids: both sides hold the same, a missing side counting as empty
	Added, Deleted   int
	Hunks            []Hunk
	Truncated        bool   // hunks are missing, some or all
	Why              string // why they are, for people
}

// Path returns the path by which GitHub lists the file: the new one, or the old
// one when the file is gone.
func (f File) Path() string {
	if f.NewPath != "" && f.Op != Deleted {
		return f.NewPath
	}
	if f.OldPath != "" {
		return f.OldPath
	}
	return f.NewPath
}

// Paths returns every path that the change touches: the current one first, then
// the previous one where it differs. Rules look at all of them, since a rename
// out of a guarded folder is a change of that folder.
func (f File) Paths() []string {
	cur := f.Path()
	if prev := f.OldPath; prev != "" && prev != cur {
		return []string{cur, prev}
	}
	if f.Op == Deleted && f.NewPath != "" && f.NewPath != cur {
		return []string{cur, f.NewPath}
	}
	return []string{cur}
}

// HasOld reports whether the file exists before the change.
func (f File) HasOld() bool { return f.Op != Added }

// HasNew reports whether the file exists after the change.
func (f File) HasNew() bool { return f.Op != Deleted }

// ModesKnown reports whether the mode is known on each side that exists. An
// empty mode on an existing side counts as unknown: nobody established it.
func (f File) ModesKnown() bool {
	return (!f.HasOld() || f.OldMode.Known()) && (!f.HasNew() || f.NewMode.Known())
}

// Patch is everything a pull request changes between its merge base and its
// head. It is never taken against the tip of the base: other people's changes
// there are not this author's.
type Patch struct {
	Repo                  string // owner/name
	Base, MergeBase, Head string // commit ids
	Files                 []File
	ChangedFiles          int // how many files GitHub says there are
}

// Missing returns how many files GitHub counts that are not in Files, never
// less than 0. Above 0 the patch is incomplete and proves nothing about the
// rest. A file that is listed twice counts once: pages that shift while they are
// read repeat one file and lose another.
func (p Patch) Missing() int { return max(0, p.ChangedFiles-p.listed()) }

// listed returns how many different files are in Files.
func (p Patch) listed() int {
	type row struct {
		op       Op
		from, to string
	}
	listed := make(map[row]bool, len(p.Files))
	for _, f := range p.Files {
		listed[row{f.Op, f.OldPath, f.NewPath}] = true
	}
	return len(listed)
}

// emptyBlob and emptyBlob256 are the ids of the blob without content, in
// repositories of either hash.
const (
	emptyBlob    = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	emptyBlob256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
)

// Unseen reports whether content changed, or may have, that the hunks do not
// show: the file is truncated, or it has no hunks and nothing proves that there
// are none. GitHub leaves hunks out for large and for binary files alike, and an
// absent patch is not an empty one. Binary files and submodules have nothing to
// show.
func (f File) Unseen() bool {
	switch {
	case f.Truncated:
		return true
	case f.Binary || len(f.Hunks) > 0 || f.OldMode == ModeSubmodule || f.NewMode == ModeSubmodule:
		return false
	case f.Added > 0 || f.Deleted > 0:
		return true
	case f.SameContent:
		return false
	case f.Op == Added:
		return f.NewBlob != emptyBlob && f.NewBlob != emptyBlob256
	case f.Op == Deleted:
		return f.OldBlob != emptyBlob && f.OldBlob != emptyBlob256
	}
	// A rename, a copy or a change of mode alone: the blobs prove it. GitHub
	// counts no lines for a binary either.
	return f.OldBlob == "" || f.OldBlob != f.NewBlob
}
