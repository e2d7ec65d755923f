package collect

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// ContentReader reads a file's bytes at the head, at most so many.
type ContentReader func(ctx context.Context, f diff.File, most int64) ([]byte, error)

// Contents reads whole, within the budget, the files whose hunks do not tell
// enough: a workflow's permissions and triggers stand far from the step that
// changes, a comment may have been opened above the hunk, and a new file whose
// patch was left out shows nothing. Workflows come first.
//
// What is not read is no gap of its own: the scanner that misses it says so. Like
// Fill it stops with an error at a read that may work when it is tried again.
func Contents(ctx context.Context, p diff.Patch, read ContentReader, budget Budget) (map[string][]byte, error) {
	budget = budget.withDefaults()
	files := make(map[string][]byte)
	for _, f := range wholes(p) {
		bound := min(budget.FileBytes, budget.Bytes)
		if budget.Files <= 0 || bound <= 0 {
			break
		}
		budget.Files--
		data, err := read(ctx, f, bound)
		switch {
		case mendable(err):
			return nil, err
		case err != nil:
			continue
		}
		budget.Bytes -= int64(len(data))
		files[f.Path()] = data
	}
	return files, nil
}

// wholes are the files to read whole, those first that can do most harm.
func wholes(p diff.Patch) []diff.File {
	var list []diff.File
	for _, f := range p.Files {
		if wholeRank(f) > 0 {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b diff.File) int {
		return cmp.Or(cmp.Compare(wholeRank(a), wholeRank(b)), strings.Compare(a.Path(), b.Path()))
	})
	return list
}

// wholeRank is 0 for a file whose hunks are enough.
func wholeRank(f diff.File) int {
	regular := f.NewMode != diff.ModeSubmodule && f.NewMode != diff.ModeSymlink
	if !f.HasNew() || !regular || f.Binary || (f.Op == diff.Added && !f.Unseen()) {
		return 0
	}
	base := strings.ToLower(path.Base(f.Path()))
	switch {
	case risk.IsWorkflowPath(f.Path()), base == "action.yml", base == "action.yaml":
		return 1
	case f.Op == diff.Added: // its patch was left out
		return 2
	case risk.IsDependencyPath(f.Path()): // another version of what the file holds already is no new name
		return 3
	case slices.Contains([]string{".md", ".mdx", ".markdown", ".html", ".htm"}, path.Ext(base)):
		return 4
	}
	return 0
}
