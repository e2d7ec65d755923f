package terminal

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge/local"
	"github.com/countersign/countersign/risk/diff"
)

// RangeOptions name a change in a clone.
type RangeOptions struct {
	// Dir is a folder of the clone; empty is the current one.
	Dir string
	// Base is what the change would be merged into; empty is the default branch.
	// Head is its last commit; empty is the work tree.
	Base, Head string
}

// localBudget bounds what is read whole from a clone, where a read costs little.
func localBudget() collect.Budget {
	return collect.Budget{Files: 400, Bytes: 32 << 20, FileBytes: 2 << 20}
}

// Range judges a change in a local clone, of which nothing is run.
func Range(ctx context.Context, o RangeOptions) (report Report, err error) {
	repo, err := open(ctx, o.Dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	rg, err := repo.Range(ctx, o.Base, o.Head)
	if err != nil {
		return Report{}, err
	}
	l, err := look(ctx, repo, rg)
	if err != nil {
		return Report{}, err
	}
	if n := rg.UntrackedCount; n > 0 {
		verb := "are"
		if n == 1 {
			verb = "is"
		}
		l.notes = append(l.notes, fmt.Sprintf("%s that git does not track %s no part of the change until `git add`: %s", plural(n, "file"), verb, few(rg.Untracked)))
	}
	return l.judge(ctx)
}

func open(ctx context.Context, dir string) (*local.Repo, error) {
	if dir == "" {
		dir = "."
	}
	return local.Open(ctx, dir, local.Options{})
}

// look reads a range: its patch, and whole the files of which hunks do not tell
// enough.
func look(ctx context.Context, repo *local.Repo, rg local.Range) (looked, error) {
	patch, gaps, err := repo.Patch(ctx, rg)
	if err != nil {
		return looked{}, err
	}
	l := looked{reading: unknowable(patch)}
	for _, g := range gaps {
		l.reading.Unread = append(l.reading.Unread, review.Unread{What: "diff", Detail: g})
	}
	l.reading.Files, err = collect.Contents(ctx, patch, func(ctx context.Context, f diff.File, most int64) ([]byte, error) {
		return repo.Content(ctx, rg, f.Path(), most)
	}, localBudget())
	if err != nil {
		return looked{}, err
	}
	l.source = Source{Kind: "range", Name: repo.Name(), Base: rg.Base, MergeBase: rg.MergeBase, Head: rg.Head, Against: rg.BaseName, WorkTree: rg.WorkTree}
	if rg.WorkTree {
		l.source.Head = ""
	}
	return l, nil
}
