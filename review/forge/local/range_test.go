package local

import (
	"os"
	"strings"
	"testing"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

func lines(n int, mark string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(mark + " line " + strings.Repeat("x", i) + "\n")
	}
	return b.String()
}

// Case 151: what happened on the base is not this change's.
func TestRangeIsThreeDot(t *testing.T) {
	c := newClone(t)
	c.write("auth/login.go", "one\n")
	c.write("docs/a.md", "one\n")
	base := c.commit("base")
	c.git("checkout", "-q", "-b", "topic")
	c.write("docs/a.md", "two\n")
	head := c.commit("topic")
	c.git("checkout", "-q", "main")
	c.write("auth/login.go", "two\n")
	tip := c.commit("main goes on")
	c.git("checkout", "-q", "topic")

	rg, p, gaps := patchOf(t, open(t, c.path("docs"), Options{}), "", "topic")
	if rg.Base != tip || rg.MergeBase != base || rg.Head != head || rg.BaseName != "main" || rg.WorkTree || len(gaps) > 0 {
		t.Errorf("range %+v, gaps %q", rg, gaps)
	}
	want(t, rowsOf(p), `modified 100644>100644 docs/a.md>docs/a.md`)
	if p.MergeBase != base || p.Head != head || p.Base != tip || p.Missing() != 0 || p.Repo != "clone" {
		t.Errorf("patch %+v", p)
	}
	if f := p.Files[0]; len(f.Hunks) != 1 || f.Added != 1 || f.Deleted != 1 || f.Hunks[0].Lines[1].Text != "two" {
		t.Errorf("file %+v", f)
	}
}

func TestRangeOfTheWorkTree(t *testing.T) {
	c := newClone(t)
	for _, name := range []string{"unstaged", "staged", "both", "gone", "removed", "mode", "link", "same", "deep/folder"} {
		c.write(name, lines(20, name))
	}
	c.write("moved", lines(40, "moved"))
	c.write("pipe", "x")
	c.write(".gitignore", "*.o\n")
	c.commit("base")
	c.git("checkout", "-q", "-b", "topic")
	c.write("committed", "on topic\n")
	head := c.commit("topic")

	c.write("unstaged", "new\n")
	c.write("staged", "new\n")
	c.git("add", "staged")
	c.write("both", "new\n")
	c.git("add", "both")
	c.write("both", "newer\n")
	c.git("mv", "moved", "moved to")
	c.git("rm", "-q", "removed")
	c.write("added", "added\n")
	c.git("add", "added")
	c.write("intended", "intended\n")
	c.git("add", "-N", "intended")
	c.write("untracked", "x\n")
	c.write("ignored.o", "x\n")
	for _, err := range []error{
		os.Remove(c.path("gone")), os.Chmod(c.path("mode"), 0o755), os.Remove(c.path("link")), os.Symlink("/etc/passwd", c.path("link")),
		os.RemoveAll(c.path("deep")), os.Symlink("/etc", c.path("deep")), os.Remove(c.path("pipe")), mkfifo(c.path("pipe")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	status := c.git("status", "--porcelain")
	r := open(t, c.dir, Options{})
	rg, p, gaps := patchOf(t, r, "", "")
	want(t, rowsOf(p), `added >100644 >added
		modified 100644>100644 both>both
		added >100644 >committed
		deleted 100644> deep/folder>
		deleted 100644> gone>
		added >100644 >intended
		type_changed 100644>120000 link>link
		modified 100644>100755 mode>mode
		renamed 100644>100644 moved>moved to
		deleted 100644> pipe>
		deleted 100644> removed>
		modified 100644>100644 staged>staged
		modified 100644>100644 unstaged>unstaged`)
	if len(gaps) != 1 || !strings.Contains(gaps[0], "1 tracked files are pipes") {
		t.Errorf("gaps %q", gaps)
	}
	// The links are untracked themselves.
	if strings.Join(rg.Untracked, " ") != "deep untracked" || rg.UntrackedCount != 2 {
		t.Errorf("untracked %d %q", rg.UntrackedCount, rg.Untracked)
	}
	if got, err := r.Content(t.Context(), rg, "both", 100); err != nil || string(got) != "newer\n" {
		t.Errorf("content %q, %v", got, err)
	}
	if got, err := r.Content(t.Context(), rg, "link", 100); err != nil || string(got) != "/etc/passwd" {
		t.Errorf("content of a link %q, %v", got, err)
	}
	if _, err := r.Content(t.Context(), rg, "deep/folder", 100); !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("content behind a link: %v", err)
	}
	if again := c.git("status", "--porcelain"); again != status || c.git("rev-parse", "HEAD") != head {
		t.Errorf("the work tree was changed:\n%s\nwas\n%s", again, status)
	}
	again, _, _ := patchOf(t, r, "main", "")
	if again.Head != rg.Head || !rg.WorkTree {
		t.Errorf("the same work tree has the heads %s and %s", rg.Head, again.Head)
	}
}

// A binary file that is only renamed has no text, and nothing of it is unread.
func TestRenamedBinaryIsWhole(t *testing.T) {
	c := newClone(t)
	c.write("a.bin", "x\x00"+lines(50, "a"))
	base := c.commit("start")
	c.git("mv", "a.bin", "b.bin")
	head := c.commit("rename")
	_, p, gaps := patchOf(t, open(t, c.dir, Options{}), base, head)
	if len(p.Files) != 1 || p.Files[0].Op != diff.Renamed || p.Files[0].Unseen() || len(gaps) > 0 {
		t.Errorf("%+v, gaps %q", p.Files, gaps)
	}
}
