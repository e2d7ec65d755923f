package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// twoCommits has a main with one commit and a topic with one more.
func twoCommits(t *testing.T, initArgs ...string) *clone {
	c := newClone(t, initArgs...)
	c.write("a", "one\n")
	c.commit("base")
	c.git("checkout", "-q", "-b", "topic")
	c.write("a", "two\n")
	c.commit("topic")
	return c
}

func TestLinkedWorkTree(t *testing.T) {
	c := twoCommits(t)
	other := filepath.Join(t.TempDir(), "other tree")
	c.git("worktree", "add", "-q", "-b", "elsewhere", other, "main")
	if err := os.WriteFile(filepath.Join(other, "a"), []byte("three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, other, Options{})
	rg, p, _ := patchOf(t, r, "", "")
	if rg.MergeBase != c.git("rev-parse", "main") || r.Root() != other {
		t.Errorf("range %+v of %s", rg, r.Root())
	}
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if got, err := r.Content(t.Context(), rg, "a", 100); err != nil || string(got) != "three\n" {
		t.Errorf("content %q, %v", got, err)
	}
}

func TestBare(t *testing.T) {
	c := twoCommits(t)
	bare := filepath.Join(t.TempDir(), "api.git")
	c.git("clone", "-q", "--bare", c.dir, bare)
	c.git("--git-dir", bare, "config", "remote.origin.url", "https://user:secret@example.com/acme/api.git")
	r := open(t, bare, Options{})
	if _, err := r.Range(t.Context(), "main", ""); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("the work tree of a bare repository: %v", err)
	}
	_, p, _ := patchOf(t, r, "", "topic")
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if p.Repo != "acme/api" {
		t.Errorf("repo %q", p.Repo)
	}
}

func TestSHA256(t *testing.T) {
	c := twoCommits(t, "--object-format=sha256")
	c.write("a", "three\n")
	r := open(t, c.dir, Options{})
	rg, p, gaps := patchOf(t, r, "", "")
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if len(rg.Head) != 64 || len(p.Files[0].NewBlob) != 64 || len(gaps) > 0 {
		t.Errorf("range %+v, gaps %q", rg, gaps)
	}
	if got, err := r.Blob(t.Context(), forge.Repo{}, p.Files[0].NewBlob, 6); err != nil || string(got) != "three\n" {
		t.Errorf("blob %q, %v", got, err)
	}
	h, err := r.History(t.Context(), "", 9, FirstParent)
	if err != nil || len(h) != 2 {
		t.Fatalf("history %v, %v", h, err)
	}
	if p, _, err := r.Patch(t.Context(), h[1].Landed()); err != nil || rowsOf(p) != "added >100644 >a\n" {
		t.Errorf("the first commit: %v %v", p, err)
	}
}

func TestShallow(t *testing.T) {
	c := twoCommits(t)
	c.write("a", "three\n")
	c.commit("topic again")
	dir := filepath.Join(t.TempDir(), "shallow")
	c.git("clone", "-q", "--depth=1", "--no-single-branch", "file://"+c.dir, dir)
	r := open(t, dir, Options{})
	_, err := r.Range(t.Context(), "origin/main", "topic")
	if !forge.IsKind(err, forge.KindNotFound) || !strings.Contains(err.Error(), "git fetch --unshallow") || !r.Shallow() {
		t.Errorf("no merge base: %v", err)
	}
	if h, err := r.History(t.Context(), "", 9, FirstParent); err != nil || len(h) != 0 {
		t.Errorf("history %v, %v", h, err)
	}
}

func TestPartialClone(t *testing.T) {
	c := twoCommits(t)
	c.git("config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "partial")
	c.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+c.dir, dir)
	r := open(t, dir, Options{})
	rg, err := r.Range(t.Context(), "origin/main", "topic")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = r.Patch(t.Context(), rg); !forge.IsKind(err, forge.KindNotFound) || !strings.Contains(err.Error(), "--no-filter") {
		t.Errorf("a partial clone: %v", err)
	}
	c.git("-C", dir, "fetch", "-q", "--refetch", "--no-filter") // what the hint says
	if p, _, err := open(t, dir, Options{}).Patch(t.Context(), rg); err != nil || len(p.Files) != 1 {
		t.Errorf("after the fetch: %v, %v", p, err)
	}
}

func TestDefaultBase(t *testing.T) {
	c := twoCommits(t)
	c.git("branch", "-q", "develop", "main")
	head := c.git("rev-parse", "topic")
	cases := []struct {
		name, want string
		args       [][]string
	}{
		{"local main", "main", nil},
		{"origin's main", "origin/main", [][]string{{"update-ref", "refs/remotes/origin/main", "main"}}},
		{"origin/HEAD", "origin/develop", [][]string{{"update-ref", "refs/remotes/origin/develop", "develop"}, {"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop"}}},
		{"origin/HEAD to nowhere", "origin/main", [][]string{{"update-ref", "-d", "refs/remotes/origin/develop"}}},
		{"packed", "origin/main", [][]string{{"pack-refs", "--all"}}},
		{"none", "", [][]string{{"update-ref", "-d", "refs/remotes/origin/main"}, {"branch", "-q", "-D", "main"}}},
	}
	for _, tc := range cases {
		for _, args := range tc.args {
			c.git(args...)
		}
		rg, err := open(t, c.dir, Options{}).Range(t.Context(), "", head)
		if rg.BaseName != tc.want || (tc.want == "") != forge.IsKind(err, forge.KindNotFound) {
			t.Errorf("%s: base %q, %v: want %q", tc.name, rg.BaseName, err, tc.want)
		}
		if err != nil && !strings.Contains(err.Error(), "--base") {
			t.Errorf("%s: %v does not say what to do", tc.name, err)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	empty := t.TempDir()
	if _, err := Open(t.Context(), empty, Options{}); !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("no repository: %v", err)
	}
	c := newClone(t)
	r := open(t, c.dir, Options{})
	if _, err := r.Range(t.Context(), "", ""); !forge.IsKind(err, forge.KindNotFound) || !strings.Contains(err.Error(), "no commit yet") {
		t.Errorf("a branch without commit: %v", err)
	}
	dangling := filepath.Join(t.TempDir(), "x")
	if err := os.MkdirAll(dangling, 0o700); err != nil {
		t.Fatal(err)
	}
	for text, kind := range map[string]forge.Kind{"gitdir: /nowhere\n": forge.KindInvalid, "x": forge.KindInvalid} {
		if err := os.WriteFile(filepath.Join(dangling, ".git"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dangling, Options{}); !forge.IsKind(err, kind) {
			t.Errorf(".git with %q: %v", text, err)
		}
	}
	for key, value := range map[string]string{"extensions.objectFormat": "md5", "extensions.refStorage": "reftable"} {
		c := newClone(t)
		c.git("config", key, value)
		if _, err := Open(t.Context(), c.dir, Options{}); !forge.IsKind(err, forge.KindInvalid) {
			t.Errorf("%s %s: %v", key, value, err)
		}
	}
	c.write(".git/config", "[core\n")
	if _, err := Open(t.Context(), c.dir, Options{}); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("a broken configuration: %v", err)
	}
}

func TestGitThatCannotBeUsed(t *testing.T) {
	c := twoCommits(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := Open(t.Context(), c.dir, Options{}); !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("no git: %v", err)
	}
	for version, ok := range map[string]bool{"git version 2.17.1": false, "git version 2.29.9": false, "nothing": false, "git version x.y.z": false} {
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), c.dir, Options{}); ok == (err != nil) || !forge.IsKind(err, forge.KindInvalid) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// A configuration that sends the work tree elsewhere is not followed.
func TestCoreWorktreeIsNotFollowed(t *testing.T) {
	c := twoCommits(t)
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "a"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.git("config", "core.worktree", secret)
	if _, err := open(t, c.dir, Options{}).Range(t.Context(), "", ""); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("a work tree elsewhere: %v", err)
	}
}

func TestStrangeNames(t *testing.T) {
	c := newClone(t)
	c.write("base", "x\n")
	c.commit("base")
	c.git("checkout", "-q", "-b", "topic")
	names := []string{"new\nline", "tab\tname", "\xff\xfe", "-p", "--output=x", ":(top)x", `quo"te\`, "a b", "dir/ \x01", "é", ".gitmodules "}
	for _, name := range names {
		c.write(name, "content of "+name)
	}
	c.git("add", "--", ".")
	c.git("commit", "-qm", "strange")
	r := open(t, c.dir, Options{})
	for _, head := range []string{"topic", ""} {
		rg, p, gaps := patchOf(t, r, "", head)
		got := make(map[string]bool)
		for _, f := range p.Files {
			got[f.NewPath] = !f.Unseen() && len(f.Hunks) == 1
		}
		for _, name := range names {
			if !got[name] {
				t.Errorf("%q is not in the patch, or unseen", name)
			}
			if data, err := r.Content(t.Context(), rg, name, 100); err != nil || string(data) != "content of "+name {
				t.Errorf("content of %q: %q, %v", name, data, err)
			}
		}
		if len(p.Files) != len(names) || len(gaps) > 0 {
			t.Errorf("%d files, gaps %q", len(p.Files), gaps)
		}
	}
}

func TestSubmodule(t *testing.T) {
	sub := twoCommits(t)
	c := newClone(t)
	c.write("x", "x\n")
	c.commit("base")
	c.git("submodule", "--quiet", "add", sub.dir, "sub")
	c.commit("with submodule")
	old, moved := c.git("-C", "sub", "rev-parse", "HEAD"), c.git("-C", "sub", "rev-parse", "HEAD~1")
	c.write("sub/untracked", "dirty")
	r := open(t, c.dir, Options{})
	if _, p, _ := patchOf(t, r, "HEAD", ""); len(p.Files) != 0 {
		t.Errorf("a dirty submodule is a change: %s", rowsOf(p))
	}
	c.git("-C", "sub", "checkout", "-q", "HEAD~1")
	_, p, gaps := patchOf(t, r, "HEAD", "")
	want(t, rowsOf(p), "modified 160000>160000 sub>sub")
	if f := p.Files[0]; f.OldBlob != old || f.NewBlob != moved || len(gaps) > 0 {
		t.Errorf("file %+v, gaps %q", f, gaps)
	}
	_, p, _ = patchOf(t, open(t, c.path("sub"), Options{}), "HEAD~0", sub.git("rev-parse", "topic"))
	want(t, rowsOf(p), "modified 100644>100644 a>a")
}

// An untouched work tree shows no changes, whatever its line ends.
func TestAutocrlf(t *testing.T) {
	c := newClone(t)
	c.git("config", "core.autocrlf", "true")
	c.write("a.txt", "one\r\ntwo\r\n")
	c.write("b.txt", "one\ntwo\n")
	c.commit("base")
	if got := c.git("cat-file", "-p", "HEAD:a.txt"); got != "one\ntwo" {
		t.Fatalf("stored as %q", got)
	}
	c.write("a.txt", "one\r\ntwo\r\n") // touched: git has to look
	r := open(t, c.dir, Options{})
	if _, p, _ := patchOf(t, r, "", ""); len(p.Files) != 0 {
		t.Errorf("changes in an untouched work tree:\n%s", rowsOf(p))
	}
	c.write("a.txt", "one\r\nthree\r\n")
	_, p, _ := patchOf(t, r, "", "")
	if len(p.Files) != 1 || p.Files[0].Added != 1 || p.Files[0].Hunks[0].Lines[2].Text != "three" {
		t.Errorf("patch %+v", p.Files)
	}
}

func TestOwnerName(t *testing.T) {
	for url, want := range map[string]string{
		"https://github.com/acme/api.git":                     "acme/api",
		"https://user:token@github.com/acme/api/":             "acme/api",
		"git@github.com:acme/api.git":                         "acme/api",
		"ssh://git@example.com:22/acme/api":                   "acme/api",
		"/srv/git/acme/api.git":                               "",
		`C:\acme\api`:                                         "",
		"../acme/api":                                         "",
		"https://github.com/acme":                             "",
		"https://github.com/acme/<b>":                         "",
		"ext::sh -c touch% /tmp/x":                            "",
		"https://github.com/acme/" + strings.Repeat("x", 101): "",
	} {
		if got := ownerName(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

// TestPatchIsGitsOwn holds patches against what git lists, over a history with
// every kind of change.
func TestPatchIsGitsOwn(t *testing.T) {
	c := newClone(t)
	for i := range 40 {
		switch name := fmt.Sprintf("dir%d/f%d", i%3, i%7); i % 8 {
		case 0, 1:
			c.write(name, lines(10+i, name))
		case 2:
			c.write(name, lines(30+i, name)+"tail without end")
		case 3:
			c.write("bin", string([]byte{0, byte(i)})+lines(3, name))
		case 4:
			_, _ = c.try("mv", "-k", fmt.Sprintf("dir%d/f%d", (i-3)%3, (i-3)%7), fmt.Sprintf("moved%d", i))
		case 5:
			_ = os.Remove(c.path(fmt.Sprintf("dir%d/f%d", (i-5)%3, (i-5)%7)))
			if err := os.Chmod(c.path("bin"), os.FileMode(0o644|(i&16)<<2|0o100)); err != nil {
				t.Fatal(err)
			}
		case 6:
			_ = os.Remove(c.path("link"))
			if err := os.Symlink(name, c.path("link")); err != nil {
				t.Fatal(err)
			}
		case 7:
			_ = os.Remove(c.path("link"))
			c.write("link", lines(3, name))
		}
		c.commit(fmt.Sprint(i))
	}
	r := open(t, c.dir, Options{})
	commits, err := r.History(t.Context(), "", 100, FirstParent)
	if err != nil || len(commits) != 40 {
		t.Fatalf("%d commits, %v", len(commits), err)
	}
	ops := make(map[diff.Op]int)
	for _, commit := range commits {
		rg := commit.Landed()
		p, gaps, err := r.Patch(t.Context(), rg)
		if err != nil || len(gaps) > 0 {
			t.Fatalf("%s: %v, gaps %q", commit.Subject, err, gaps)
		}
		raw := c.git("-c", "core.abbrev=40", "diff", "--raw", "-M", rg.MergeBase, rg.Head)
		var mine []string
		for _, f := range p.Files {
			ops[f.Op]++
			if f.Unseen() || !f.ModesKnown() {
				t.Errorf("%s: %s is unseen", commit.Subject, f.Path())
			}
			mine = append(mine, rawLine(f))
		}
		var theirs []string
		for line := range strings.Lines(raw) {
			head, paths, _ := strings.Cut(strings.TrimSpace(line), "\t")
			fields := strings.Fields(head)
			theirs = append(theirs, strings.Join(fields[:4], " ")+" "+fields[4][:1]+"\t"+paths)
		}
		if got, want := strings.Join(mine, "\n"), strings.Join(theirs, "\n"); got != want {
			t.Errorf("%s:\n%s\ngit says\n%s", commit.Subject, got, want)
		}
	}
	for op := diff.Added; op <= diff.TypeChanged; op++ {
		if ops[op] == 0 && op != diff.Copied {
			t.Errorf("the history has no file that is %v", op)
		}
	}
}

// rawLine writes a file as git diff --raw does, without the similarity.
func rawLine(f diff.File) string {
	mode := func(m diff.Mode) string {
		if m == diff.ModeNone {
			return "000000"
		}
		return string(m)
	}
	id := func(s string) string {
		if s == "" {
			return strings.Repeat("0", 40)
		}
		return s
	}
	letter := map[diff.Op]string{diff.Added: "A", diff.Modified: "M", diff.Deleted: "D", diff.Renamed: "R", diff.TypeChanged: "T"}[f.Op]
	paths := f.Path()
	if f.Op == diff.Renamed {
		paths = f.OldPath + "\t" + f.NewPath
	}
	return fmt.Sprintf(":%s %s %s %s %s\t%s", mode(f.OldMode), mode(f.NewMode), id(f.OldBlob), id(f.NewBlob), letter, paths)
}
