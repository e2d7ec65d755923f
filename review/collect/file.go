package collect

import (
	"fmt"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// whyNoPatch marks a file whose changes GitHub counts and does not show.
const whyNoPatch = "GitHub sent no patch"

// emptyBlob is git's id of no bytes.
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// file turns a row of GitHub's lists into a changed file.
func file(row forge.ComparedFile) diff.File {
	f := diff.File{NewPath: row.Path, OldPath: row.Path, NewBlob: row.Blob, Added: row.Additions, Deleted: row.Deletions}
	switch row.Status {
	case "added":
		f.Op, f.OldPath = diff.Added, ""
	case "removed":
		f.Op, f.NewPath = diff.Deleted, ""
		f.OldBlob, f.NewBlob = row.Blob, ""
	case "renamed":
		f.Op, f.OldPath = diff.Renamed, row.PreviousPath
	case "copied":
		f.Op, f.OldPath = diff.Copied, row.PreviousPath
	case "modified", "changed", "unchanged": // the trees tell a change of type
		f.Op = diff.Modified
	default:
		f.Op = diff.Modified
		f.Truncated, f.Why = true, fmt.Sprintf("GitHub calls it %.40q", row.Status)
	}
	if row.HasPatch {
		withPatch(&f, row)
	} else {
		withoutPatch(&f, row)
	}
	return f
}

// withPatch reads the hunks and holds them against GitHub's counts: a patch that
// was cut at a line end would otherwise look whole.
func withPatch(f *diff.File, row forge.ComparedFile) {
	hunks, err := diff.ParseHunks(row.Patch, diff.Limits{})
	f.Hunks = hunks
	if err != nil {
		f.Truncated, f.Why = true, err.Error()
		return
	}
	added, deleted := countLines(hunks)
	if added != row.Additions || deleted != row.Deletions {
		f.Truncated = true
		f.Why = fmt.Sprintf("GitHub's patch shows +%d -%d of +%d -%d lines", added, deleted, row.Additions, row.Deletions)
	}
}

// withoutPatch tells apart why a patch is absent: counted changes were left out
// for their size (case 29); without any, the file is binary, empty, or only
// renamed or changed in mode, which Modes settles by the blobs.
func withoutPatch(f *diff.File, row forge.ComparedFile) {
	switch {
	case row.Changes > 0 || row.Additions > 0 || row.Deletions > 0:
		f.Truncated, f.Why = true, whyNoPatch
		f.Added = max(f.Added, row.Changes-f.Deleted) // never fewer than GitHub counts
	case f.Op == diff.Added || f.Op == diff.Deleted:
		f.Binary = row.Blob != emptyBlob
	case row.Status == "modified" || row.Status == "changed":
		f.Binary = true
	}
}

func countLines(hunks []diff.Hunk) (added, deleted int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case diff.AddedLine:
				added++
			case diff.DeletedLine:
				deleted++
			}
		}
	}
	return added, deleted
}
