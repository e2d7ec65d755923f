package local

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// place tells a file of a patch from all others.
type place struct {
	op       diff.Op
	old, new string
}

// join puts together what git lists and what its diff shows, in the list's order.
func join(rows []row, shown []diff.File, missing string) []diff.File {
	texts := make(map[place]diff.File, len(shown))
	for _, f := range shown {
		texts[place{f.Op, f.OldPath, f.NewPath}] = f
	}
	files := make([]diff.File, 0, len(rows))
	for _, r := range rows {
		f := diff.File{
			Op: r.op, OldPath: r.old, NewPath: r.new, OldMode: r.oldMode, NewMode: r.newMode, OldBlob: r.oldBlob, NewBlob: r.newBlob,
			Binary: r.binary, Added: r.added, Deleted: r.deleted,
		}
		if text, ok := textOf(texts, r); ok {
			show(&f, text)
		} else {
			f.Truncated, f.Why = true, missing
		}
		files = append(files, f)
	}
	return files
}

// textOf returns what the diff shows of a row. A change of type is written as a
// deletion and an addition; it is one file here, as on GitHub.
func textOf(texts map[place]diff.File, r row) (diff.File, bool) {
	if r.op != diff.TypeChanged {
		f, ok := texts[place{r.op, r.old, r.new}]
		return f, ok
	}
	before, ok1 := texts[place{diff.Deleted, r.old, ""}]
	after, ok2 := texts[place{diff.Added, "", r.new}]
	if !ok1 || !ok2 {
		return diff.File{}, false
	}
	both := diff.File{
		Op: diff.TypeChanged, OldPath: r.old, NewPath: r.new, OldBlob: before.OldBlob, NewBlob: after.NewBlob,
		Binary: before.Binary || after.Binary, Added: after.Added, Deleted: before.Deleted,
		Truncated: before.Truncated || after.Truncated, Why: before.Why,
	}
	if both.Why == "" {
		both.Why = after.Why
	}
	both.Hunks = oneHunk(before.Hunks, after.Hunks)
	return both, true
}

// oneHunk puts a deleted file and an added one into the one hunk that a change
// of all lines is. Each has at most one hunk.
func oneHunk(before, after []diff.Hunk) []diff.Hunk {
	if len(before) == 0 || len(after) == 0 {
		return slices.Concat(before, after)
	}
	b, a := before[0], after[0]
	return []diff.Hunk{{
		OldStart: b.OldStart, OldLines: b.OldLines, NewStart: a.NewStart, NewLines: a.NewLines,
		Lines: slices.Concat(b.Lines, a.Lines),
	}}
}

// show takes over what the diff shows of a file, unless it contradicts the list.
func show(f *diff.File, text diff.File) {
	f.Hunks, f.SameContent = text.Hunks, text.SameContent
	switch {
	case text.Truncated:
		f.Truncated, f.Why = true, text.Why
	case differ(f.OldBlob, text.OldBlob) || differ(f.NewBlob, text.NewBlob):
		f.Truncated, f.Why = true, "git's list and its diff name different contents"
	case text.SameContent && f.OldBlob == f.NewBlob: // git counts no lines of a binary, and says so here, too
		f.Binary, f.Added, f.Deleted = false, 0, 0
	case f.Op == diff.TypeChanged: // counted by git as if the types were one
		f.Added, f.Deleted, f.Binary = text.Added, text.Deleted, text.Binary
	case f.Binary != text.Binary || f.Added != text.Added || f.Deleted != text.Deleted:
		f.Truncated, f.Why = true, fmt.Sprintf("git counts %d added and %d deleted lines, its diff shows %d and %d", f.Added, f.Deleted, text.Added, text.Deleted)
	}
}

// differ reports whether two ids that are known are not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// addUnread marks the files of the work tree that were not read. The head's tree
// has what the index has in their place, so that git may call them unchanged.
func addUnread(p *diff.Patch, rg Range) {
	for _, path := range slices.Sorted(maps.Keys(rg.unread)) {
		at := slices.IndexFunc(p.Files, func(f diff.File) bool { return f.NewPath == path && f.HasNew() })
		if at < 0 {
			e := rg.index[path]
			at = len(p.Files)
			p.Files = append(p.Files, diff.File{Op: diff.Modified, OldPath: path, NewPath: path, OldMode: diff.Mode(e.mode), OldBlob: e.oid})
			p.ChangedFiles++
		}
		f := &p.Files[at]
		f.NewMode, f.NewBlob, f.Truncated, f.Why = diff.ModeUnknown, "", true, rg.unread[path]
	}
}

// tooLargeToCompare looks for files that git calls binary for their size alone.
func (r *Repo) tooLargeToCompare(ctx context.Context, p *diff.Patch) error {
	for i := range p.Files {
		f := &p.Files[i]
		if !f.Binary || f.Truncated {
			continue
		}
		for _, id := range []string{f.OldBlob, f.NewBlob} {
			if id == "" || f.OldMode == diff.ModeSubmodule && id == f.OldBlob || f.NewMode == diff.ModeSubmodule && id == f.NewBlob {
				continue
			}
			_, size, err := r.stat(ctx, id)
			if err != nil && !forge.IsKind(err, forge.KindNotFound) {
				return err
			}
			if err != nil || size > r.opts.FileBytes {
				f.Binary, f.Truncated = false, true
				f.Why = fmt.Sprintf("larger than %d bytes, above which nothing is compared", r.opts.FileBytes)
			}
		}
	}
	return nil
}
