package gitstore_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

func newStore(t *testing.T) (*gitstore.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x.git")
	s, err := gitstore.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// tree stores files by path: .sh may be run, and what begins with link: is a symbolic link.
func tree(t *testing.T, s *gitstore.Store, files map[string]string) string {
	t.Helper()
	entries, contents := map[string]gitstore.Entry{}, map[string][]byte{}
	for p, text := range files {
		mode := gitstore.ModeFile
		switch {
		case strings.HasSuffix(p, ".sh"):
			mode = gitstore.ModeExecutable
		case strings.HasPrefix(text, "link:"):
			mode, text = gitstore.ModeSymlink, strings.TrimPrefix(text, "link:")
		}
		entries[p], contents[p] = gitstore.Entry{Mode: mode}, []byte(text)
	}
	id, err := s.WriteTree(entries, contents)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func commit(t *testing.T, s *gitstore.Store, root, message string, parents ...string) string {
	t.Helper()
	who := gitstore.Signature{Name: "Mona <mona>", Email: "mona@example.com", When: time.Unix(1_777_777_777, 0)}
	c, err := s.WriteCommit(gitstore.Commit{Tree: root, Parents: parents, Author: who, Committer: who, Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return c.SHA
}

// TestGitReadsTheObjects: ids, order of entries and form are git's own, by git's word.
func TestGitReadsTheObjects(t *testing.T) {
	s, dir := newStore(t)
	root := tree(t, s, map[string]string{"a": "1\n", "a.b": "2\n", "a-b/c": "3\n", "ab/c/d.sh": "#!/bin/sh\n", "z": "link:a", "ü": ""})
	first := commit(t, s, root, "one\n")
	second := commit(t, s, tree(t, s, map[string]string{"a": "1\n2\n"}), "two\n", first)
	if _, err := s.Diff(root, tree(t, s, map[string]string{"a": "1\n2\n"})); err != nil { // writes the objects out
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(context.Background(), "git", append([]string{"--git-dir", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if out := git("fsck", "--strict", "--full", "--no-dangling", second); strings.Contains(out, "error") || strings.Contains(out, "missing") {
		t.Errorf("git fsck: %s", out)
	}
	if got := git("rev-parse", second+"^^{tree}"); got != root {
		t.Errorf("git finds the tree %s; want %s", got, root)
	}
	list, err := s.List(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Mode+" "+e.Type+" "+e.SHA+"\t"+e.Path)
	}
	if want := git("-c", "core.quotePath=false", "ls-tree", "-r", "-t", root); strings.Join(got, "\n") != want {
		t.Errorf("listed:\n%s\ngit lists:\n%s", strings.Join(got, "\n"), want)
	}
	if base := s.MergeBase(first, second); base != first || git("merge-base", first, second) != first {
		t.Errorf("merge base %s; want %s", base, first)
	}
}

func TestDiff(t *testing.T) {
	s, _ := newStore(t)
	long := strings.Repeat("line\n", 40)
	old := tree(t, s, map[string]string{"gone": "x\n", "moved": long, "kept": "k\n", "text": "a\nb\n", "bin": "\x00a", "type": "x\n"})
	cur := tree(t, s, map[string]string{"new": "y\n", "to/moved": long + "more\n", "kept": "k\n", "text": "a\nc", "bin": "\x00b", "type": "link:x"})
	files, err := s.Diff(old, cur)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]gitstore.FileDiff{}
	for _, f := range files {
		got[f.Path] = f
	}
	if keys := slices.Sorted(maps.Keys(got)); strings.Join(keys, " ") != "bin gone new text to/moved type" {
		t.Fatalf("changed: %s", keys)
	}
	for _, row := range []struct {
		path, from string
		status     byte
		added, del int
		patch      string
	}{
		{"bin", "bin", 'M', 0, 0, ""},
		{"gone", "gone", 'D', 0, 1, "@@ -1 +0,0 @@\n-x"},
		{"new", "new", 'A', 1, 0, "@@ -0,0 +1 @@\n+y"},
		{"text", "text", 'M', 1, 1, "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file"},
		{"type", "type", 'T', 1, 1, "@@ -1 +0,0 @@\n-x\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file"},
		{"to/moved", "moved", 'R', 1, 0, "@@ -38,3 +38,4 @@ line\n line\n line\n line\n+more"},
	} {
		f := got[row.path]
		if f.OldPath != row.from || f.Status != row.status || f.Added != row.added || f.Deleted != row.del || f.Patch != row.patch {
			t.Errorf("%s: %+v; want %+v", row.path, f, row)
		}
	}
	if !got["bin"].Binary || got["new"].Binary {
		t.Error("binary is not told from text")
	}
	if text, err := s.DiffText(old, cur); err != nil || strings.Count("\n"+string(text), "\ndiff --git ") != len(files)+1 { // a change of type is two
		t.Errorf("the text has another number of sections than %d and one (%v):\n%s", len(files), err, text)
	}
	if same, err := s.Diff(old, old); err != nil || len(same) != 0 {
		t.Errorf("a tree differs from itself: %v, %v", same, err)
	}
}

func TestMerge(t *testing.T) {
	const text = "1\n2\n3\n4\n5\n6\n7\n"
	first, last := strings.Replace(text, "1", "one", 1), strings.Replace(text, "7", "seven", 1)
	type files = map[string]string
	for name, row := range map[string]struct{ base, ours, theirs, want files }{
		"nothing of theirs":  {files{"a": "1"}, files{"a": "2"}, files{"a": "1"}, files{"a": "2"}},
		"nothing of ours":    {files{"a": "1"}, files{"a": "1"}, files{"b": "1"}, files{"b": "1"}},
		"other files":        {files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, files{"a": "1", "b": "2"}, files{"a": "2", "b": "2"}},
		"the same change":    {files{"a": "1"}, files{"a": "2"}, files{"a": "2", "c": "3"}, files{"a": "2", "c": "3"}},
		"other lines":        {files{"a": text}, files{"a": first}, files{"a": last}, files{"a": strings.Replace(first, "7", "seven", 1)}},
		"the same line":      {files{"a": text}, files{"a": first}, files{"a": strings.Replace(text, "1", "I", 1)}, nil},
		"changed and gone":   {files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, files{"b": "1"}, nil},
		"gone and changed":   {files{"a": "1", "b": "1"}, files{"b": "1"}, files{"a": "2", "b": "1"}, nil},
		"two of one name":    {files{"b": "1"}, files{"a": "1", "b": "1"}, files{"a": "2", "b": "1"}, nil},
		"binary, both sides": {files{"a": "\x001"}, files{"a": "\x002"}, files{"a": "\x003"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newStore(t)
			got, err := s.Merge(tree(t, s, row.base), tree(t, s, row.ours), tree(t, s, row.theirs))
			if row.want == nil {
				if !errors.Is(err, gitstore.ErrConflict) {
					t.Errorf("got %s, %v; want a conflict", got, err)
				}
				return
			}
			if err != nil || got != tree(t, s, row.want) {
				t.Errorf("got %s, %v; want the tree of %q", got, err, row.want)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	s, _ := newStore(t)
	root := tree(t, s, map[string]string{"a": "1"})
	start := commit(t, s, root, "start")
	left, right := commit(t, s, root, "left", start), commit(t, s, root, "right", start)
	merge := commit(t, s, root, "merge", left, right)
	stranger := commit(t, s, root, "stranger")
	for name, row := range map[string][3]string{
		"siblings": {left, right, start}, "ancestor": {start, merge, start}, "itself": {left, left, left}, "strangers": {merge, stranger, ""},
	} {
		if got := s.MergeBase(row[0], row[1]); got != row[2] {
			t.Errorf("%s: merge base %q; want %q", name, got, row[2])
		}
	}
	var messages []string
	for _, c := range s.Ahead(left, merge) {
		messages = append(messages, c.Message)
	}
	if strings.Join(messages, " ") != "right merge" {
		t.Errorf("ahead: %s; want right, then merge", messages)
	}
	if got, err := s.Expand(merge[:7]); err != nil || got != merge {
		t.Errorf("%s stands for %s (%v); want %s", merge[:7], got, err, merge)
	}
	if _, err := s.Expand(merge[:6]); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("six digits: %v; want not found", err)
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	s, _ := newStore(t)
	for _, paths := range [][]string{{"a//b"}, {"/a"}, {"a/../b"}, {"./a"}, {".git/config"}, {"a/.git"}, {"a\x00b"}, {""}, {"a", "a/b"}} {
		files, contents := map[string]gitstore.Entry{}, map[string][]byte{}
		for _, p := range paths {
			files[p], contents[p] = gitstore.Entry{Mode: gitstore.ModeFile}, nil
		}
		if _, err := s.WriteTree(files, contents); err == nil {
			t.Errorf("paths %q were taken", paths)
		}
	}
}
