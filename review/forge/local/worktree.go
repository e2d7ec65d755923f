package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// indexBytes bounds the index file: some million files.
const indexBytes = 1 << 30

// checkWorkTree says why there is no work tree to read.
func (r *Repo) checkWorkTree() error {
	const op = "read the work tree"
	if r.places.root == "" {
		return refuse(forge.KindInvalid, op, errors.New("the repository is bare"), "name a head")
	}
	if w := r.settings.worktree; w != "" {
		at, err := filepath.EvalSymlinks(under(r.places.gitDir, w))
		if err != nil || at != r.places.root {
			return refuse(forge.KindInvalid, op, fmt.Errorf("core.worktree names another folder, %.200q", w), "name a head, or unset core.worktree")
		}
	}
	return nil
}

// entry is one file of the index.
type entry struct{ mode, oid string }

// snapshot reads the work tree into a commit of the private repository: the
// index as it stands, and over it what changed on disk since. The clone's index
// is believed where it says that a file on disk has not changed, by size, times
// and inode; not where a flag says so (assume-unchanged, skip-worktree), and not
// in what it says of whole folders.
func (r *Repo) snapshot(ctx context.Context, rg *Range) error {
	r.snapshots.Lock()
	defer r.snapshots.Unlock()
	if err := r.copyIndex(); err != nil {
		return err
	}
	if err := r.dropFlags(ctx); err != nil {
		return err
	}
	staged, unmerged, odd, err := r.staged(ctx)
	if err != nil {
		return err
	}
	if odd > 0 {
		rg.gaps = append(rg.gaps, fmt.Sprintf("the index holds %d paths that git refuses: they were left out", odd))
	}
	if unmerged > 0 {
		rg.gaps = append(rg.gaps, fmt.Sprintf("%d files are in conflict: they were read as they stand in the work tree", unmerged))
	}
	changed, err := r.changedOnDisk(ctx, rg, staged)
	if err != nil {
		return err
	}
	tree, err := r.buildTree(ctx, staged, changed)
	if err != nil {
		return err
	}
	if err := r.untracked(ctx, rg); err != nil {
		return err
	}
	if err := r.filtered(ctx, rg, changed.read); err != nil {
		return err
	}
	return r.commitTree(ctx, rg, tree)
}

// copyIndex copies the index, and what a split index is split from. The copy
// keeps its time: from it git tells which files may have changed within the same
// tick of the clock.
func (r *Repo) copyIndex() error {
	own := r.runner.gitDir
	if err := os.Remove(filepath.Join(own, "index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, err := filepath.Glob(filepath.Join(globLiteral(r.places.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, from := range append(names[:min(len(names), 8)], filepath.Join(r.places.gitDir, "index")) {
		if err := copyFile(from, filepath.Join(own, filepath.Base(from)), indexBytes); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func globLiteral(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// copyFile copies a regular file with its time of change.
func copyFile(from, to string, limit int64) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return fmt.Errorf("%.200q: want a regular file of at most %d bytes", from, limit)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, limit))
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// dropFlags takes back the flags by which an index keeps git from looking at a
// file. What a sparse checkout left out stays left out.
func (r *Repo) dropFlags(ctx context.Context) error {
	out, err := r.whole(ctx, command{args: []string{"ls-files", "-v", "-z"}, workTree: true})
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.places.root)
	if err != nil {
		return err
	}
	defer root.Close()
	var assumed, skipped strings.Builder
	for line := range strings.SplitSeq(out, "\x00") {
		tag, path, ok := strings.Cut(line, " ")
		if !ok || tag == "H" || !isTreePath(path) {
			continue
		}
		if tag == strings.ToLower(tag) {
			assumed.WriteString(path + "\x00")
		}
		if strings.EqualFold(tag, "S") {
			if _, err := root.Lstat(path); err == nil {
				skipped.WriteString(path + "\x00")
			}
		}
	}
	for flag, paths := range map[string]string{"--no-assume-unchanged": assumed.String(), "--no-skip-worktree": skipped.String()} {
		if paths == "" {
			continue
		}
		if _, err := r.whole(ctx, command{args: []string{"update-index", flag, "-z", "--stdin"}, stdin: paths, workTree: true}); err != nil {
			return err
		}
	}
	return nil
}

// staged lists the index. An index is a file like any other: it can hold paths
// that git would never have put there.
func (r *Repo) staged(ctx context.Context) (staged map[string]entry, unmerged, odd int, err error) {
	out, err := r.whole(ctx, command{args: []string{"ls-files", "--stage", "-z"}, workTree: true})
	if err != nil {
		return nil, 0, 0, err
	}
	staged = make(map[string]entry)
	conflicts := make(map[string]bool)
	for line := range strings.SplitSeq(out, "\x00") {
		head, path, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		f := strings.Split(head, " ")
		if len(f) != 3 || !isID(f[1]) {
			return nil, 0, 0, fmt.Errorf("git ls-files answered %.80q", line)
		}
		switch {
		case !isTreePath(path) || namesGit(path):
			odd++
		case f[2] != "0":
			conflicts[path] = true
		default:
			staged[path] = entry{f[0], f[1]}
		}
	}
	return staged, len(conflicts), odd, nil
}

// namesGit reports whether a part of the path is .git, which git refuses to
// track.
func namesGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}
