package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// changes are what the disk has over the index.
type changes struct {
	read []string        // to be read
	gone map[string]bool // deleted, or no longer a file that git could hold
}

// changedOnDisk lists the files of the index that the disk has otherwise, or may
// have. Those that will not be read are kept back, with the reason.
func (r *Repo) changedOnDisk(ctx context.Context, rg *Range, staged map[string]entry) (changes, error) {
	out, err := r.whole(ctx, command{args: []string{"diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=dirty"}, workTree: true})
	if err != nil {
		return changes{}, err
	}
	root, err := os.OpenRoot(r.places.root)
	if err != nil {
		return changes{}, err
	}
	defer root.Close()
	c := changes{gone: make(map[string]bool)}
	rg.unread, rg.index = make(map[string]string), make(map[string]entry)
	seen := make(map[string]bool)
	left, special := r.opts.TreeBytes, 0
	for s := out; s != ""; {
		var head, path string
		head, s, _ = strings.Cut(s, "\x00")
		path, s, _ = strings.Cut(s, "\x00")
		if !strings.HasPrefix(head, ":") || path == "" {
			return changes{}, fmt.Errorf("git diff-files answered %.80q", head)
		}
		if seen[path] || !isTreePath(path) || namesGit(path) {
			continue // a conflict is listed twice
		}
		if seen[path] = true; strings.HasSuffix(head, " D") {
			c.gone[path] = true
			continue
		}
		switch size, why := onDisk(root, path, staged[path]); {
		case why == whyGone:
			c.gone[path] = true
		case why == whySpecial:
			c.gone[path] = true
			special++
		case why != "":
			rg.unread[path], rg.index[path] = why, staged[path]
		case size > r.opts.FileBytes || size > left:
			rg.unread[path] = fmt.Sprintf("%d bytes in the work tree, more than is read", size)
			rg.index[path] = staged[path]
		default:
			left -= size
			c.read = append(c.read, path)
		}
	}
	if special > 0 {
		rg.gaps = append(rg.gaps, fmt.Sprintf("%d tracked files are pipes, devices or the like on disk: they were taken for deleted", special))
	}
	return c, nil
}

// Reasons that are more than reasons.
const (
	whyGone    = "gone"
	whySpecial = "special"
)

// onDisk looks at one file on disk without reading it. No link leads out of root.
func onDisk(root *os.Root, path string, staged entry) (size int64, why string) {
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, whyGone
	case err != nil:
		return 0, "cannot be looked at in the work tree"
	case info.Mode().Type() == fs.ModeSymlink:
		return info.Size(), ""
	case info.IsDir():
		if staged.mode == "160000" {
			return 0, "" // a submodule: git reads which commit it is at, and enters no further
		}
		return 0, whyGone
	case !info.Mode().IsRegular():
		return 0, whySpecial
	}
	f, err := root.Open(path)
	if err != nil {
		return 0, "cannot be opened in the work tree"
	}
	_ = f.Close()
	return info.Size(), ""
}

// treeIndex is the index from which the tree is made: with nothing in it but
// paths, modes and ids.
const treeIndex = "index.tree"

// buildTree makes a tree of the index and, over it, what is read from disk. Each
// object is written to the private repository.
func (r *Repo) buildTree(ctx context.Context, staged map[string]entry, c changes) (string, error) {
	env := []string{"GIT_INDEX_FILE=" + r.runner.gitDir + "/" + treeIndex}
	if err := os.Remove(r.runner.gitDir + "/" + treeIndex); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(staged)) {
		if e := staged[path]; !c.gone[path] {
			fmt.Fprintf(&b, "%s %s 0\t%s\x00", e.mode, e.oid, path)
		}
	}
	if _, err := r.whole(ctx, command{args: []string{"update-index", "-z", "--index-info"}, stdin: b.String(), env: env}); err != nil {
		return "", err
	}
	if len(c.read) > 0 {
		paths := strings.Join(c.read, "\x00") + "\x00"
		if _, err := r.whole(ctx, command{args: []string{"update-index", "--add", "--remove", "-z", "--stdin"}, stdin: paths, env: env, workTree: true}); err != nil {
			return "", err
		}
	}
	// --missing-ok: a partial clone's index names objects that are not there.
	out, err := r.whole(ctx, command{args: []string{"write-tree", "--missing-ok"}, env: env})
	if err != nil {
		return "", err
	}
	tree := strings.TrimSuffix(out, "\n")
	if !isID(tree) {
		return "", fmt.Errorf("git write-tree answered %.80q", out)
	}
	return tree, nil
}

// commitTree makes the range's head. The same content on the same HEAD is the
// same commit.
func (r *Repo) commitTree(ctx context.Context, rg *Range, tree string) error {
	const who, when = "countersign", "1970-01-01T00:00:00Z"
	env := []string{"GIT_AUTHOR_NAME=" + who, "GIT_AUTHOR_EMAIL=" + who, "GIT_AUTHOR_DATE=" + when,
		"GIT_COMMITTER_NAME=" + who, "GIT_COMMITTER_EMAIL=" + who, "GIT_COMMITTER_DATE=" + when}
	out, err := r.whole(ctx, command{args: []string{"commit-tree", "-p", rg.Head, "-m", "work tree", tree}, env: env})
	if err != nil {
		return err
	}
	if rg.Head = strings.TrimSuffix(out, "\n"); !isID(rg.Head) {
		return fmt.Errorf("git commit-tree answered %.80q", out)
	}
	return nil
}

// untracked counts the files that git does not track and is not told to ignore:
// by the work tree's .gitignore files, the clone's info/exclude and the user's
// own list.
func (r *Repo) untracked(ctx context.Context, rg *Range) error {
	if err := r.layExcludes(); err != nil {
		return err
	}
	out, cut, err := r.run(ctx, command{
		args: []string{"ls-files", "--others", "--exclude-standard", "-z"}, workTree: true,
		env: []string{"GIT_INDEX_FILE=" + r.runner.gitDir + "/" + treeIndex},
	})
	if err != nil {
		return err
	}
	rg.UntrackedCount = strings.Count(out, "\x00")
	for path := range strings.SplitSeq(out, "\x00") {
		if path == "" || len(rg.Untracked) == MaxUntracked {
			break
		}
		rg.Untracked = append(rg.Untracked, path)
	}
	if cut {
		rg.gaps = append(rg.gaps, fmt.Sprintf("more than %d untracked files: they were not counted to the end", rg.UntrackedCount))
	}
	return nil
}

// filtered says which files were read without the program that git would have
// run over them (LFS, encryption): none is run here.
func (r *Repo) filtered(ctx context.Context, rg *Range, read []string) error {
	if len(read) == 0 {
		return nil
	}
	out, err := r.whole(ctx, command{
		args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: strings.Join(read, "\x00") + "\x00", workTree: true,
		env: []string{"GIT_INDEX_FILE=" + r.runner.gitDir + "/" + treeIndex},
	})
	if err != nil {
		return err
	}
	fields := strings.Split(out, "\x00") // path, attribute, value
	n, first := 0, ""
	for i := 2; i < len(fields); i += 3 {
		if v := fields[i]; v != "unspecified" && v != "unset" {
			if n++; n == 1 {
				first = fields[i-2]
			}
		}
	}
	if n > 0 {
		rg.gaps = append(rg.gaps, fmt.Sprintf("%d files have a filter (as for Git LFS), the first is %.200q: they were read from disk without it", n, first))
	}
	return nil
}
