package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/countersign/countersign/review/forge"
)

// Range is what a change lies between: from the merge base to the head, never
// from the tip of the base, which holds other people's changes (case 151).
type Range struct {
	Base      string // commit id of the branch to merge into
	MergeBase string // commit id; the id of the empty tree for a commit without parent
	Head      string // commit id; of the private copy for a work tree, with HEAD as its parent
	BaseName  string // as it was given or found: origin/main
	WorkTree  bool   // the head is the work tree as it was when Range was called

	// Untracked files of the work tree that are not ignored: they are no part of
	// the change until they are added. The first MaxUntracked of UntrackedCount.
	Untracked      []string
	UntrackedCount int

	gaps   []string
	unread map[string]string // files of the work tree that were not read, and why
	index  map[string]entry  // what the index has in their place
}

// MaxUntracked bounds the names of untracked files in a Range.
const MaxUntracked = 100

// Range resolves a change. An empty base is the default branch: where
// origin/HEAD points to, else the first of the user's init.defaultBranch, main
// and master that exists on origin, else in the clone. An empty head is the work
// tree with its index: all that `git commit -a` would take, read now.
//
// Names are those that git rev-parse knows, without reflogs (@{1}) and upstreams
// (@{u}). Of several merge bases it is the one that git diff BASE...HEAD takes.
//
// Errors are of *forge.Error: KindNotFound for a name, a branch without commits,
// a base that cannot be guessed, and histories without a common commit;
// KindInvalid for a work tree that is not there.
func (r *Repo) Range(ctx context.Context, base, head string) (Range, error) {
	tip := head
	if tip == "" {
		tip = "HEAD"
		if err := r.checkWorkTree(); err != nil {
			return Range{}, err
		}
	}
	headID, err := r.Resolve(ctx, tip)
	if err != nil {
		return Range{}, err
	}
	rg := Range{Head: headID, BaseName: base}
	if base == "" {
		if rg.BaseName, rg.Base, err = r.defaultBase(ctx); err != nil {
			return Range{}, err
		}
	} else if rg.Base, err = r.Resolve(ctx, base); err != nil {
		return Range{}, err
	}
	if rg.MergeBase, err = r.mergeBase(ctx, rg.Base, headID); err != nil {
		return Range{}, err
	}
	if head == "" {
		rg.WorkTree = true
		if err := r.snapshot(ctx, &rg); err != nil {
			return Range{}, r.wrap("read the work tree", err)
		}
	}
	return rg, nil
}

// Resolve returns the id of the commit that a name stands for.
func (r *Repo) Resolve(ctx context.Context, name string) (string, error) {
	op := fmt.Sprintf("resolve %.200q", name)
	if name == "" || len(name) > 1000 || name[0] == '-' || strings.ContainsFunc(name, unicode.IsControl) {
		return "", refuse(forge.KindInvalid, op, errors.New("no name of a commit"), "right is a branch, a tag or a commit id")
	}
	out, err := r.whole(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}})
	if err != nil {
		return "", r.unresolved(op, name, err)
	}
	// Old versions repeat --end-of-options.
	lines := strings.Fields(out)
	if len(lines) == 0 || !isID(lines[len(lines)-1]) {
		return "", refuse(forge.KindMalformed, op, fmt.Errorf("git answered %.80q", out), "")
	}
	return lines[len(lines)-1], nil
}

// unresolved says why a name has no commit.
func (r *Repo) unresolved(op, name string, err error) error {
	var f *failure
	if !errors.As(err, &f) || f.code < 0 {
		return r.wrap(op, err)
	}
	hint := "right is a branch, a tag or a commit id of this clone"
	switch {
	case name == "HEAD":
		hint = "the branch has no commit yet: commit first, or name a head"
	case r.shallow || r.settings.partial:
		hint = "or it is not in this clone: " + r.missingHint()
	}
	return refuse(forge.KindNotFound, op, errors.New("no such commit"), hint)
}

// defaultBase finds the branch that a change is probably meant for.
func (r *Repo) defaultBase(ctx context.Context) (name, id string, err error) {
	const remotes = "refs/remotes/"
	if out, err := r.whole(ctx, command{args: []string{"symbolic-ref", "--quiet", remotes + "origin/HEAD"}}); err == nil {
		ref := strings.TrimSuffix(out, "\n")
		if id, err := r.Resolve(ctx, ref); err == nil {
			return strings.TrimPrefix(ref, remotes), id, nil
		}
	}
	var names []string
	if r.settings.branch != "" {
		names = append(names, r.settings.branch)
	}
	names = append(names, "main", "master")
	for _, where := range []string{remotes + "origin/", "refs/heads/"} {
		for _, name := range names {
			id, err := r.Resolve(ctx, where+name)
			if err == nil {
				return strings.TrimPrefix(strings.TrimPrefix(where, remotes), "refs/heads/") + name, id, nil
			}
			if forge.Temporary(err) {
				return "", "", err
			}
		}
	}
	return "", "", refuse(forge.KindNotFound, "find the default branch",
		fmt.Errorf("no origin/HEAD and no branch %s", strings.Join(names, ", ")), "name the branch to merge into with --base")
}

// mergeBase returns git's own choice for BASE...HEAD.
func (r *Repo) mergeBase(ctx context.Context, base, head string) (string, error) {
	op := fmt.Sprintf("find the merge base of %s and %s", short(base), short(head))
	out, err := r.whole(ctx, command{args: []string{"merge-base", base, head}})
	if id := strings.TrimSuffix(out, "\n"); err == nil && isID(id) {
		return id, nil
	}
	var f *failure
	if !errors.As(err, &f) || f.code != 1 || f.stderr != "" {
		return "", r.wrap(op, err)
	}
	hint := "the two histories are unrelated: name another base"
	if r.shallow {
		hint = r.missingHint()
	}
	return "", refuse(forge.KindNotFound, op, errors.New("no common commit"), hint)
}
