package local

import (
	"os"
	"strings"
	"testing"
)

// An index can say of single files that a file system monitor saw no change.
func TestTheMonitorOfTheIndexIsNotBelieved(t *testing.T) {
	c := newClone(t)
	c.write("a", "one\n")
	c.write(".git/quiet", "#!/bin/sh\nprintf 'token\\0'\n")
	if err := os.Chmod(c.path(".git/quiet"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.git("config", "core.fsmonitor", c.path(".git/quiet"))
	c.git("config", "core.untrackedCache", "true")
	c.commit("base")
	c.git("update-index", "--fsmonitor")
	c.git("status")
	c.git("update-index", "--fsmonitor-valid", "a")
	c.write("a", "two two\n")
	c.write("new", "x\n")
	if out := c.git("diff", "--name-only"); out != "" {
		t.Fatalf("plain git is not deceived: %s", out)
	}
	rg, p, _ := patchOf(t, open(t, c.dir, Options{}), "", "")
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if rg.UntrackedCount != 1 {
		t.Errorf("untracked %q", rg.Untracked)
	}
}

func TestKindsOfIndex(t *testing.T) {
	cases := map[string][][]string{
		"split":     {{"update-index", "--split-index"}},
		"version 4": {{"update-index", "--index-version", "4"}},
		"sparse":    {{"sparse-checkout", "set", "--cone", "--sparse-index", "in"}},
	}
	for name, setUp := range cases {
		t.Run(name, func(t *testing.T) {
			c := newClone(t)
			for _, file := range []string{"a", "in/b", "out/deep/c", "out/d"} {
				c.write(file, "one\n")
			}
			c.commit("base")
			for _, args := range setUp {
				c.git(args...)
			}
			r := open(t, c.dir, Options{})
			if _, p, gaps := patchOf(t, r, "", ""); len(p.Files) != 0 || len(gaps) != 0 {
				t.Errorf("untouched:\n%s%q", rowsOf(p), gaps)
			}
			c.write("in/b", "two\n")
			c.write("a", "two\n")
			c.git("add", "a")
			_, p, _ := patchOf(t, r, "", "")
			want(t, rowsOf(p), "modified 100644>100644 a>a\nmodified 100644>100644 in/b>in/b")
		})
	}
}

func TestConflictIsReadAsItStands(t *testing.T) {
	c := twoCommits(t)
	c.git("checkout", "-q", "main")
	c.write("a", "three\n")
	c.commit("other")
	if out, err := c.try("merge", "topic"); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	r := open(t, c.dir, Options{})
	rg, p, gaps := patchOf(t, r, "", "")
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if len(gaps) != 1 || !strings.Contains(gaps[0], "1 files are in conflict") {
		t.Errorf("gaps %q", gaps)
	}
	if got, err := r.Content(t.Context(), rg, "a", 1000); err != nil || !strings.HasPrefix(string(got), "<<<<<<< ") {
		t.Errorf("content %q, %v", got, err)
	}
}

// Filters have no program here, and that is said.
func TestFiltersAreSaid(t *testing.T) {
	c := twoCommits(t)
	c.write(".gitattributes", "a filter=lfs\n")
	c.write("a", "three\n")
	_, p, gaps := patchOf(t, open(t, c.dir, Options{}), "", "")
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if len(gaps) != 1 || !strings.Contains(gaps[0], `1 files have a filter (as for Git LFS), the first is "a"`) {
		t.Errorf("gaps %q", gaps)
	}
}

func TestIndexWithPathsThatGitRefuses(t *testing.T) {
	for path, want := range map[string]bool{"a/b": true, "../b": false, "a/../b": false, "/b": false, "a//b": false, "": false, "a\x00": false, ".": false} {
		if got := isTreePath(path); got != want {
			t.Errorf("isTreePath(%q) = %v", path, got)
		}
	}
	if !namesGit("a/.GIT/config") || namesGit("a/.github") {
		t.Error("namesGit")
	}
}
