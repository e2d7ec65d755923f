package collect

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// Dirs names the folders whose entries tell the patch's modes, sorted; "" is the
// root. A patch without merge base has none: its old side could not be asked
// for.
func Dirs(p diff.Patch) []string {
	if p.MergeBase == "" {
		return nil
	}
	dirs := make(map[string]bool)
	for _, f := range p.Files {
		for _, name := range f.Paths() {
			dirs[folder(name)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

func folder(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

// Modes fills in both modes and blob ids from the folders that were read at the
// merge base (under a renamed file's old path, case 150) and at the head. What
// was not found is diff.ModeUnknown. A blob that is not the one at the head
// means that the file list is of another head: the file is then truncated.
func Modes(p *diff.Patch, snap forge.Snapshot) []Gap {
	unknown := 0
	for i := range p.Files {
		f := &p.Files[i]
		if f.HasOld() {
			side(f, &f.OldMode, &f.OldBlob, snap.Base, f.OldPath)
		}
		if f.HasNew() {
			side(f, &f.NewMode, &f.NewBlob, snap.Head, f.NewPath)
		}
		if !f.ModesKnown() {
			unknown++
		}
		settle(f)
	}
	if unknown == 0 {
		return nil
	}
	return []Gap{{What: "modes", Detail: fmt.Sprintf("the modes of %d of %d files are unknown", unknown, len(p.Files))}}
}

// whyOtherHead marks a file that must not be read from blobs: they are not those
// of the row's patch.
const whyOtherHead = "the file list and the tree name different contents: the list is of another head"

// side fills in one side of a file.
func side(f *diff.File, mode *diff.Mode, blob *string, entries map[string]forge.TreeEntry, name string) {
	entry, ok := entries[name]
	*mode = diff.ModeUnknown
	if !ok || !diff.Mode(entry.Mode).Known() {
		return
	}
	*mode = diff.Mode(entry.Mode)
	switch *blob {
	case entry.OID:
	case "":
		*blob = entry.OID
	default:
		f.Truncated, f.Why = true, whyOtherHead
	}
}

// settle decides, now that both blobs are known, what a file without hunks is.
func settle(f *diff.File) {
	if f.HasOld() && f.HasNew() && kindOfMode(f.OldMode) != kindOfMode(f.NewMode) && f.ModesKnown() && f.Op == diff.Modified {
		f.Op = diff.TypeChanged
	}
	if len(f.Hunks) > 0 || f.Truncated || !f.HasOld() || !f.HasNew() || f.OldBlob == "" || f.NewBlob == "" {
		return
	}
	// No text changed by GitHub's word: the bytes are equal, or they are not text.
	f.Binary = f.OldBlob != f.NewBlob
}

// kindOfMode folds the modes of ordinary files into one.
func kindOfMode(m diff.Mode) diff.Mode {
	if m == diff.ModeExecutable || m == diff.ModeGroupWrite {
		return diff.ModeRegular
	}
	return m
}
