package gitstore

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// gitTimeout bounds one git process: a diff of two small trees takes milliseconds.
const gitTimeout = time.Minute

// FileDiff is one changed file between two trees.
type FileDiff struct {
	Path, OldPath    string // OldPath differs from Path for renames only
	Status           byte   // A, D, M, R or T, as git names them
	OldMode, NewMode string // 000000 on the side where the file is not
	OldSHA, NewSHA   string // forty zeros on the side where the file is not
	Binary           bool
	Added, Deleted   int
	// Patch is the unified hunks from the first @@ on, without a final newline; empty for binary
	// files and for changes of name or mode alone.
	Patch string
}

type diffResult struct {
	files []FileDiff
	text  []byte
}

// Diff lists the files that differ between two trees, with renames found as git finds them by default.
// The caller must not change the result.
func (s *Store) Diff(oldTree, newTree string) ([]FileDiff, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.diff(oldTree, newTree)
	if err != nil {
		return nil, err
	}
	return r.files, nil
}

// DiffText is the whole diff as `git diff` prints it.
func (s *Store) DiffText(oldTree, newTree string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.diff(oldTree, newTree)
	if err != nil {
		return nil, err
	}
	if r.text == nil && len(r.files) > 0 {
		if r.text, err = s.run("diff-tree", "-r", "-M", "-p", "--no-color", "--no-ext-diff", "--no-textconv", oldTree, newTree); err != nil {
			return nil, err
		}
	}
	return r.text, nil
}

func (s *Store) diff(oldTree, newTree string) (*diffResult, error) {
	key := oldTree + newTree
	if r, ok := s.diffs[key]; ok {
		return r, nil
	}
	r := &diffResult{}
	if oldTree != newTree {
		out, err := s.run("diff-tree", "-r", "-M", "-z", "--raw", "--numstat", "-p", "--full-index", "--no-abbrev",
			"--no-color", "--no-ext-diff", "--no-textconv", oldTree, newTree)
		if err != nil {
			return nil, err
		}
		if r.files, err = parseDiff(out); err != nil {
			return nil, fmt.Errorf("read git's diff of %s and %s: %w", oldTree, newTree, err)
		}
	}
	s.diffs[key] = r
	return r, nil
}

// run saves what git does not have yet and starts it with an environment that no user's or system's
// configuration reaches.
func (s *Store) run(args ...string) ([]byte, error) {
	if err := s.flush(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.git, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"GIT_DIR=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "HOME=" + s.dir, "XDG_CONFIG_HOME=" + s.dir,
		"LC_ALL=C", "PATH=" + os.Getenv("PATH"),
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// flush writes the objects that only memory has as loose objects.
func (s *Store) flush() error {
	var buf bytes.Buffer
	zw, err := zlib.NewWriterLevel(&buf, zlib.BestSpeed)
	if err != nil {
		return fmt.Errorf("compress git objects: %w", err)
	}
	for i, id := range s.unsaved {
		o := s.objects[id]
		buf.Reset()
		zw.Reset(&buf)
		if _, err := fmt.Fprintf(zw, "%s %d\x00", o.kind, len(o.data)); err == nil {
			_, err = zw.Write(o.data)
			err = errors.Join(err, zw.Close())
			if err != nil {
				return fmt.Errorf("compress git object %s: %w", id, err)
			}
		}
		dir := filepath.Join(s.dir, "objects", id[:2])
		if !s.folders[dir] {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("save git object %s: %w", id, err)
			}
			s.folders[dir] = true
		}
		if err := os.WriteFile(filepath.Join(dir, id[2:]), buf.Bytes(), 0o600); err != nil {
			s.unsaved = s.unsaved[i:]
			return fmt.Errorf("save git object %s: %w", id, err)
		}
	}
	s.unsaved = nil
	return nil
}

// parseDiff reads the output of diff-tree -z --raw --numstat -p: raw records, counts, a NUL, patches.
func parseDiff(out []byte) ([]FileDiff, error) {
	var files []FileDiff
	rest := out
	field := func() (string, error) {
		f, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return "", errors.New("output ends in the middle of a record")
		}
		rest = after
		return string(f), nil
	}
	for len(rest) > 0 && rest[0] == ':' {
		head, err := field()
		if err != nil {
			return nil, err
		}
		parts := strings.Fields(head[1:])
		if len(parts) != 5 {
			return nil, fmt.Errorf("raw record %q: want five fields", head)
		}
		f := FileDiff{OldMode: parts[0], NewMode: parts[1], OldSHA: parts[2], NewSHA: parts[3], Status: parts[4][0]}
		if f.OldPath, err = field(); err != nil {
			return nil, err
		}
		f.Path = f.OldPath
		if f.Status == 'R' || f.Status == 'C' {
			if f.Path, err = field(); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	for i := range files {
		counts, err := field()
		if err != nil {
			return nil, err
		}
		parts := strings.SplitN(counts, "\t", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("count %q: want three fields", counts)
		}
		if parts[2] == "" { // a rename: both names follow
			if _, err := field(); err != nil {
				return nil, err
			}
			if _, err := field(); err != nil {
				return nil, err
			}
		}
		if parts[0] == "-" {
			files[i].Binary = true
			continue
		}
		files[i].Added, _ = strconv.Atoi(parts[0])
		files[i].Deleted, _ = strconv.Atoi(parts[1])
	}
	return files, addPatches(files, bytes.TrimPrefix(rest, []byte{0}))
}

// addPatches gives each file its section of the patch text, in order. A change of type is two sections.
func addPatches(files []FileDiff, text []byte) error {
	const mark = "diff --git "
	next := func() (string, error) {
		if !bytes.HasPrefix(text, []byte(mark)) {
			return "", errors.New("fewer patches than files")
		}
		section := text
		if i := bytes.Index(text, []byte("\n"+mark)); i >= 0 {
			section, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		return hunks(section), nil
	}
	for i := range files {
		patch, err := next()
		if err != nil {
			return fmt.Errorf("%s: %w", files[i].Path, err)
		}
		if files[i].Status == 'T' {
			second, err := next()
			if err != nil {
				return fmt.Errorf("%s: %w", files[i].Path, err)
			}
			patch = strings.Trim(patch+"\n"+second, "\n")
		}
		files[i].Patch = patch
	}
	return nil
}

// hunks cuts a section's header off. Lines end at \n and nowhere else.
func hunks(section []byte) string {
	i := bytes.Index(section, []byte("\n@@ "))
	if i < 0 {
		return ""
	}
	return strings.TrimSuffix(string(section[i+1:]), "\n")
}
