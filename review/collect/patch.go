package collect

import (
	"context"
	"fmt"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// Gap is something that could not be collected.
type Gap = review.Unread

// FileReader reads what a pull request changes.
type FileReader interface {
	Compare(ctx context.Context, repo forge.Repo, base, head string) (forge.Comparison, error)
	PullFiles(ctx context.Context, ref forge.PullRef) ([]forge.ComparedFile, error)
}

// Patch reads the pull request's files against its merge base. The comparison
// holds 300 of them; beyond that, or when GitHub finds it too large, the file
// list is read, up to 3,000. The count is held against the pull request's own,
// with one re-read when they differ, since GitHub's lists lag behind (case 26).
//
// Modes and most old blob ids are still unknown: Modes fills them in. Files
// whose patch GitHub left out are marked as truncated until Fill has read them.
// An error means that the files could not be read at all.
func Patch(ctx context.Context, r FileReader, pull forge.Pull) (diff.Patch, []Gap, error) {
	p := diff.Patch{
		Repo: pull.Ref.Repo.FullName(), Base: pull.BaseSHA, Head: pull.HeadSHA,
		ChangedFiles: pull.ChangedFiles,
	}
	var gaps []Gap
	rows, mergeBase, err := readRows(ctx, r, pull)
	if err != nil {
		return diff.Patch{}, nil, err
	}
	if len(rows) != pull.ChangedFiles && len(rows) < maxFiles {
		again, base, err := readRows(ctx, r, pull)
		if err != nil {
			return diff.Patch{}, nil, err
		}
		rows, mergeBase = again, base
	}
	p.MergeBase = mergeBase
	if mergeBase == "" {
		gaps = append(gaps, Gap{What: "modes", Detail: "GitHub named no merge base for a comparison of this size"})
	}
	p.Files = make([]diff.File, 0, len(rows))
	for _, row := range rows {
		p.Files = append(p.Files, file(row))
	}
	// A count that is behind the list proves nothing against it.
	p.ChangedFiles = max(p.ChangedFiles, len(p.Files))
	if n := p.Missing(); n > 0 {
		gaps = append(gaps, Gap{What: "files", Detail: fmt.Sprintf("%d of %d changed files could be listed", len(p.Files), p.ChangedFiles)})
	}
	return p, gaps, nil
}

// maxFiles is where GitHub's file list ends.
const maxFiles = 3000

// readRows reads the file rows from whichever source holds them all, and the
// merge base where the comparison answers.
func readRows(ctx context.Context, r FileReader, pull forge.Pull) (rows []forge.ComparedFile, mergeBase string, err error) {
	cmp, err := r.Compare(ctx, pull.Ref.Repo, pull.BaseSHA, pull.HeadSHA)
	switch {
	case forge.IsKind(err, forge.KindTooLarge): // case 24: a size GitHub refuses is not an error
	case err != nil:
		return nil, "", err
	case cmp.Complete:
		return cmp.Files, cmp.MergeBase, nil
	}
	files, err := r.PullFiles(ctx, pull.Ref)
	if err != nil {
		return nil, "", err
	}
	return files, cmp.MergeBase, nil
}

// Truncated lists the files of which part was not seen.
func Truncated(p diff.Patch) []review.TruncatedFile {
	var out []review.TruncatedFile
	for _, f := range p.Files {
		if f.Truncated {
			out = append(out, review.TruncatedFile{Path: f.Path(), Why: f.Why})
		}
	}
	return out
}
