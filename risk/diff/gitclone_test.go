package diff_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// clone is a bare repository that is only read.
type clone struct {
	dir     string
	missing map[string]bool // objects that it lacks
}

// git prepares a git on the clone with a fixed environment: no settings of the
// machine or of a user, no program of the clone's own choice.
func (c clone) git(ctx context.Context, args ...string) *exec.Cmd {
	fixed := []string{"--git-dir", c.dir, "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.attributesFile=" + os.DevNull, "-c", "diff.renameLimit=1000", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	cmd := exec.CommandContext(ctx, "git", append(fixed, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0"}
	return cmd
}

// run gives git its input and returns all of its output.
func (c clone) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := c.git(ctx, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("this test reads real history and needs git in PATH: %w", err)
	case errors.As(err, &exit):
		return "", fmt.Errorf("git %s in %s: %w: %s", strings.Join(args, " "), c.dir, err, exit.Stderr)
	case err != nil:
		return "", fmt.Errorf("git %s in %s: %w", strings.Join(args, " "), c.dir, err)
	}
	return string(out), nil
}

// unpack makes a clone of the bundle in testdata/history.
func unpack(t *testing.T) clone {
	t.Helper()
	bundle, err := filepath.Abs("../../testdata/history/history.bundle")
	if err != nil {
		t.Fatal(err)
	}
	c := clone{dir: filepath.Join(t.TempDir(), "history.git")}
	for _, args := range [][]string{{"init", "--quiet", "--bare"}, {"fetch", "--quiet", bundle, "refs/heads/*:refs/heads/*"}} {
		if _, err := c.run(t.Context(), "", args...); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// findMissing notes what the clone lacks: snapshots may leave out the largest
// files.
func (c *clone) findMissing(ctx context.Context) error {
	out, err := c.run(ctx, "", "rev-list", "--objects", "--all", "--missing=print", "--filter=object:type=blob", "--filter-provided-objects")
	if err != nil {
		return err
	}
	c.missing = map[string]bool{}
	for line := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "?"); ok {
			c.missing[id] = true
		}
	}
	return nil
}

// commit is one commit with the parent that it is compared with: the first,
// none for a root.
type commit struct {
	id, parent string
	merge      bool
}

func (c clone) commits(ctx context.Context) ([]commit, error) {
	out, err := c.run(ctx, "", "rev-list", "--all", "--parents", "--topo-order")
	if err != nil {
		return nil, err
	}
	var list []commit
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		one := commit{id: ids[0], merge: len(ids) > 2}
		if len(ids) > 1 {
			one.parent = ids[1]
		}
		list = append(list, one)
	}
	return list, nil
}

// diffTree runs git diff-tree over the commits, one after the other in one
// process. Its output has each commit's id before what it says of it.
func (c clone) diffTree(ctx context.Context, commits []commit, config []string, args ...string) (string, error) {
	var in strings.Builder
	for _, one := range commits {
		in.WriteString(strings.TrimSpace(one.id+" "+one.parent) + "\n")
	}
	all := append(append([]string{}, config...), "diff-tree", "--stdin", "--root", "--always", "-r", "--no-ext-diff", "--no-textconv")
	return c.run(ctx, in.String(), append(all, args...)...)
}

// blobs is a git that hands out blobs.
type blobs struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	kept map[string][]byte // of the commits at hand; forget empties it
}

func (c clone) blobs(ctx context.Context) (*blobs, error) {
	b := &blobs{cmd: c.git(ctx, "cat-file", "--batch"), kept: map[string][]byte{}}
	var err error
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.out = bufio.NewReaderSize(out, 1<<16)
	return b, b.cmd.Start()
}

func (b *blobs) close() error {
	return errors.Join(b.in.Close(), b.cmd.Wait())
}

func (b *blobs) forget() { clear(b.kept) }

// read returns a blob's content.
func (b *blobs) read(id string) ([]byte, error) {
	if data, ok := b.kept[id]; ok {
		return data, nil
	}
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, err
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	parts := strings.Fields(head)
	if len(parts) != 3 || parts[1] != "blob" {
		return nil, fmt.Errorf("read blob %s: git says %q", id, head)
	}
	size, err := strconv.Atoi(parts[2])
	if err != nil {
		return nil, err
	}
	data := make([]byte, size+1) // and the line end behind it
	if _, err := io.ReadFull(b.out, data); err != nil {
		return nil, err
	}
	b.kept[id] = bytes.Clone(data[:size])
	return b.kept[id], nil
}
