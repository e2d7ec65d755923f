package diff

import (
	"fmt"
	"strings"
)

// The lines that git writes between `diff --git` and a file's content.
const (
	oldMode = iota
	newMode
	deletedFile
	newFile
	copyFrom
	copyTo
	renameFrom
	renameTo
	similarity
	dissimilarity
	index
	headerLines // how many there are
)

var headerKeys = [headerLines]string{"old mode ", "new mode ", "deleted file mode ", "new file mode ", "copy from ", "copy to ",
	"rename from ", "rename to ", "similarity index ", "dissimilarity index ", "index "}

// gitHeader is one file's extended header: the values by line.
type gitHeader [headerLines]string

// take reads one line. It is not known if it is no header line.
func (h *gitHeader) take(line string) (known bool, err error) {
	for i, key := range headerKeys {
		value, ok := strings.CutPrefix(line, key)
		if !ok {
			continue
		}
		if h[i] != "" {
			return true, fmt.Errorf("%w: a second line %q for one file: right is one", ErrMalformed, strings.TrimSpace(key))
		}
		if value == "" {
			return true, fmt.Errorf("%w: the line %q says nothing", ErrMalformed, strings.TrimSpace(key))
		}
		h[i] = value
		return true, nil
	}
	return false, nil
}

func (h *gitHeader) has(i int) bool { return h[i] != "" }

// file puts together what the header says. On an error the file has whatever
// could still be told, with an operation; without a path it cannot be listed.
func (h *gitHeader) file(line gitLine) (File, error) {
	f := File{Op: Modified, OldMode: ModeUnknown, NewMode: ModeUnknown}
	if err := h.paths(&f, line); err != nil {
		return f, err
	}
	if err := h.modes(&f); err != nil {
		return f, err
	}
	return f, h.blobs(&f)
}

// paths sets the operation and both paths.
func (h *gitHeader) paths(f *File, line gitLine) error {
	moved := Op(0)
	from, to := h[renameFrom], h[renameTo]
	if from != "" || to != "" {
		moved = Renamed
	}
	if h.has(copyFrom) || h.has(copyTo) {
		if moved != 0 {
			return contradiction("is both renamed and copied")
		}
		moved, from, to = Copied, h[copyFrom], h[copyTo]
	}
	if moved != 0 {
		if err := movedPaths(f, moved, from, to); err != nil {
			return err
		}
		if h.has(newFile) || h.has(deletedFile) {
			return contradiction("is " + moved.String() + " and at once new or deleted")
		}
		if !line.names(f.OldPath, f.NewPath) {
			return contradiction("has other names in `diff --git` than in its lines `from` and `to`")
		}
		return nil
	}
	name, ok := line.sameName()
	if !ok {
		return fmt.Errorf("%w: the line `diff --git` does not tell one name, and no line `rename from` or `copy from` tells two: "+
			"right are git's own prefixes, as with `git -c diff.noprefix=false -c diff.mnemonicPrefix=false diff`", ErrMalformed)
	}
	f.OldPath, f.NewPath = name, name
	switch {
	case h.has(newFile) && h.has(deletedFile):
		return contradiction("is both new and deleted")
	case h.has(newFile):
		f.Op, f.OldPath, f.OldMode = Added, "", ModeNone
	case h.has(deletedFile):
		f.Op, f.NewPath, f.NewMode = Deleted, "", ModeNone
	}
	return nil
}

func movedPaths(f *File, op Op, from, to string) error {
	if from == "" || to == "" {
		return contradiction("is " + op.String() + " and has only one of the lines `from` and `to`")
	}
	oldPath, err := wholeName(from)
	if err != nil {
		return err
	}
	newPath, err := wholeName(to)
	if err != nil {
		return err
	}
	f.Op, f.OldPath, f.NewPath = op, oldPath, newPath
	return nil
}

func contradiction(what string) error {
	return fmt.Errorf("%w: the file %s: right is one or the other", ErrMalformed, what)
}

// modes sets both modes. A pure rename or copy names none unless it changes it:
// it is then not known whether the file is executable, or a symlink.
func (h *gitHeader) modes(f *File) error {
	for _, i := range []int{oldMode, newMode, deletedFile, newFile} {
		if h.has(i) && !isMode(h[i]) {
			return badMode(h[i])
		}
	}
	if h.has(oldMode) != h.has(newMode) {
		return contradiction("has only one of the lines `old mode` and `new mode`")
	}
	if h.has(oldMode) && f.Op != Modified && f.Op != Renamed && f.Op != Copied {
		return contradiction("is " + f.Op.String() + " and changes its mode")
	}
	switch {
	case f.Op == Added:
		f.NewMode = Mode(h[newFile])
	case f.Op == Deleted:
		f.OldMode = Mode(h[deletedFile])
	case h.has(oldMode):
		f.OldMode, f.NewMode = Mode(h[oldMode]), Mode(h[newMode])
		if f.Op == Modified && f.OldMode[:2] != f.NewMode[:2] {
			f.Op = TypeChanged // git writes a deletion and an addition
		}
	}
	return nil
}

// isMode reports whether s is six octal digits. Which of them git gives is for
// Mode.Known to say: old trees hold others.
func isMode(s string) bool {
	return len(s) == 6 && strings.Trim(s, "01234567") == ""
}

func badMode(s string) error {
	return fmt.Errorf("%w: the mode %.40q: right are six octal digits, as in 100644", ErrMalformed, s)
}

// blobs reads `index old..new[ mode]`. An abbreviated id is no id: 28 bits can
// be made to fit, and identities are bound to blobs.
func (h *gitHeader) blobs(f *File) error {
	oldID, newID, mode, err := h.index()
	if err != nil || oldID == "" {
		return err
	}
	if mode != "" {
		switch {
		case !isMode(mode):
			return badMode(mode)
		case h.has(oldMode) || f.Op == Added || f.Op == Deleted:
			return contradiction("has a mode in the line `index` and in another one")
		}
		f.OldMode, f.NewMode = Mode(mode), Mode(mode)
	}
	if f.HasOld() == isZero(oldID) || f.HasNew() == isZero(newID) {
		return contradiction("is " + f.Op.String() + ", and its line `index` says otherwise of the sides that exist")
	}
	if f.HasOld() && isFull(oldID) {
		f.OldBlob = oldID
	}
	if f.HasNew() && isFull(newID) {
		f.NewBlob = newID
	}
	return nil
}

// index returns the parts of the index line, empty if there is none.
func (h *gitHeader) index() (oldID, newID, mode string, err error) {
	if !h.has(index) {
		return "", "", "", nil
	}
	ids, mode, _ := strings.Cut(h[index], " ")
	oldID, newID, ok := strings.Cut(ids, "..")
	if !ok || !isHex(oldID) || !isHex(newID) {
		return "", "", "", fmt.Errorf("%w: `index %.160s`: right is `index old..new mode`, with two object ids", ErrMalformed, h[index])
	}
	return oldID, newID, mode, nil
}

func isHex(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func isZero(id string) bool { return strings.Trim(id, "0") == "" }

func isFull(id string) bool { return len(id) == 40 || len(id) == 64 }

// sameContent reports whether the header, of a file without hunks that is not
// binary, proves that no content changed. Git leaves the index line out when
// both blobs are one, and writes it for every other file.
func (h *gitHeader) sameContent(op Op) bool {
	oldID, newID, _, err := h.index()
	switch {
	case err != nil:
		return false
	case op == Added:
		return isEmptyBlob(newID)
	case op == Deleted:
		return isEmptyBlob(oldID)
	case op == TypeChanged:
		return false
	}
	return oldID == newID && (h.has(oldMode) || h.has(renameFrom) || h.has(copyFrom))
}

// isEmptyBlob also takes abbreviations: here the diff, which shows no line,
// says the same, and nothing rests on the id alone.
func isEmptyBlob(id string) bool {
	return len(id) >= 4 && (strings.HasPrefix(emptyBlob, id) || strings.HasPrefix(emptyBlob256, id))
}
