package local

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's checksum
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// An index can claim that files need not be looked at.
func TestFlagsOfTheIndexAreNotBelieved(t *testing.T) {
	c := newClone(t)
	for _, name := range []string{"assumed", "skipped", "absent", "plain"} {
		c.write(name, "one\n")
	}
	c.commit("base")
	c.git("update-index", "--assume-unchanged", "assumed")
	c.git("update-index", "--skip-worktree", "skipped", "absent")
	c.write("assumed", "two\n")
	c.write("skipped", "two\n")
	if err := os.Remove(c.path("absent")); err != nil {
		t.Fatal(err)
	}
	if out := c.git("diff", "--name-only"); out != "" {
		t.Fatalf("plain git is not deceived: %s", out)
	}
	_, p, _ := patchOf(t, open(t, c.dir, Options{}), "", "")
	want(t, rowsOf(p), "modified 100644>100644 assumed>assumed\nmodified 100644>100644 skipped>skipped")
}

// An index also holds the ids of whole folders, which need not be those of its
// entries.
func TestTreesOfTheIndexAreNotBelieved(t *testing.T) {
	c := newClone(t)
	c.write("a", "one\n")
	c.commit("base")
	c.git("read-tree", "HEAD")
	c.write("a", "two\n")
	before, after := c.git("rev-parse", "HEAD:a"), c.git("hash-object", "-w", "a")
	index, err := os.ReadFile(c.path(".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	from, _ := hex.DecodeString(before)
	to, _ := hex.DecodeString(after)
	body := bytes.Replace(index[:len(index)-sha1.Size], from, to, 1)
	sum := sha1.Sum(body) //nolint:gosec // git's checksum
	if err := os.WriteFile(c.path(".git/index"), append(body, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	c.git("update-index", "--refresh")
	if tree := c.git("write-tree"); tree != c.git("rev-parse", "HEAD^{tree}") {
		t.Fatal("plain git is not deceived")
	}
	_, p, _ := patchOf(t, open(t, c.dir, Options{}), "", "")
	want(t, rowsOf(p), "modified 100644>100644 a>a")
}

// A file that changed within the tick in which the index was written can have the
// size and the times that the index knows. Git finds such files by the index's
// own time, which the copy must therefore keep.
func TestTheCopyOfTheIndexKeepsItsTime(t *testing.T) {
	c := twoCommits(t)
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(c.path(".git/index"), at, at); err != nil {
		t.Fatal(err)
	}
	r := open(t, c.dir, Options{})
	if err := r.copyIndex(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(r.runner.gitDir, "index"))
	if err != nil || !info.ModTime().Equal(at) {
		t.Errorf("the copy is of %v, the index of %v, %v", info.ModTime(), at, err)
	}
}

// Replacements and grafts are the clone's word against its own commits.
func TestReplacementsAndGraftsAreNotFollowed(t *testing.T) {
	c := twoCommits(t)
	head, base := c.git("rev-parse", "topic"), c.git("rev-parse", "main")
	c.git("checkout", "-q", "--orphan", "clean", "main")
	harmless := c.commit("nothing here")
	c.git("checkout", "-q", "topic")
	c.git("replace", head, harmless)
	c.write(".git/info/grafts", head+"\n")
	rg, p, _ := patchOf(t, open(t, c.dir, Options{}), "main", "topic")
	if rg.MergeBase != base {
		t.Errorf("merge base %s, want %s", rg.MergeBase, base)
	}
	want(t, rowsOf(p), "modified 100644>100644 a>a")
}

// An attribute in the change itself must not make its text unseen.
func TestAttributesDoNotHideText(t *testing.T) {
	c := twoCommits(t)
	c.write(".gitattributes", "* -diff binary\n")
	c.write("a", "hidden\n")
	for _, head := range []string{"", "topic"} {
		_, p, _ := patchOf(t, open(t, c.dir, Options{}), "main", head)
		for _, f := range p.Files {
			if f.Binary || f.Unseen() || len(f.Hunks) == 0 {
				t.Errorf("head %q: %s is hidden", head, f.Path())
			}
		}
		c.commit("hide")
	}
}

// A clone can store any bytes under an id.
func TestBlobIsHeldAgainstItsID(t *testing.T) {
	c := twoCommits(t)
	id := c.git("rev-parse", "topic:a")
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, err := z.Write([]byte("blob 4\x00evil"))
	file := c.path(filepath.Join(".git/objects", id[:2], id[2:]))
	if err := errors.Join(err, z.Close(), os.Remove(file), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := open(t, c.dir, Options{})
	if data, err := r.Blob(t.Context(), forge.Repo{}, id, 100); !forge.IsKind(err, forge.KindMalformed) {
		t.Errorf("other bytes pass for a blob: %q, %v", data, err)
	}
}

func TestBlobRefusals(t *testing.T) {
	c := twoCommits(t)
	r := open(t, c.dir, Options{})
	id, tree := c.git("rev-parse", "topic:a"), c.git("rev-parse", "topic^{tree}")
	for range 2 { // an answer that broke off must not shift the next ones
		for _, tc := range []struct {
			id   string
			max  int64
			kind forge.Kind
		}{
			{id, 3, forge.KindTooLarge}, {tree, 100, forge.KindNotFound}, {strings.Repeat("1", 40), 100, forge.KindNotFound},
			{"HEAD", 100, forge.KindInvalid}, {id + "\n" + id, 100, forge.KindInvalid}, {id, 0, forge.KindInvalid},
		} {
			if data, err := r.Blob(t.Context(), forge.Repo{}, tc.id, tc.max); !forge.IsKind(err, tc.kind) {
				t.Errorf("blob %q to %d: %q, %v", tc.id, tc.max, data, err)
			}
		}
		if data, err := r.Blob(t.Context(), forge.Repo{}, id, 4); err != nil || string(data) != "two\n" {
			t.Errorf("blob: %q, %v", data, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Blob(ctx, forge.Repo{}, id, 4); !forge.IsKind(err, forge.KindUnavailable) {
		t.Errorf("cancelled: %v", err)
	}
	rg, err := r.Range(t.Context(), "", "topic")
	if err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]forge.Kind{"b": forge.KindNotFound, "../a": forge.KindInvalid, "./a": forge.KindInvalid, "": forge.KindInvalid, "/a": forge.KindInvalid, "no\nfile": forge.KindNotFound} {
		if _, err := r.Content(t.Context(), rg, path, 100); !forge.IsKind(err, kind) {
			t.Errorf("content of %q: %v", path, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Blob(t.Context(), forge.Repo{}, id, 4); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("closed: %v", err)
	}
}

// What exceeds a limit is in the patch, truncated, with the reason.
func TestLimits(t *testing.T) {
	c := newClone(t)
	c.write("a", "one\n")
	c.write("big", "one\n")
	c.commit("base")
	c.write("big", lines(300, "big"))
	c.write("small", "small\n")
	c.git("checkout", "-q", "-b", "topic")
	c.commit("topic")
	c.write("a", lines(300, "a"))
	cases := []struct {
		name, head string
		opts       Options
		want, why  string
	}{
		{"output", "topic", Options{OutputBytes: 2000}, "big small", "the diff is longer than 2000 bytes"},
		{"lines", "topic", Options{Patch: diff.PatchLimits{File: diff.Limits{Lines: 100}}}, "big", "100"},
		{"size", "topic", Options{FileBytes: 1000}, "big", "larger than 1000 bytes"},
		{"work tree", "", Options{FileBytes: 1000}, "a big", "more than is read"},
		{"all of the work tree", "", Options{TreeBytes: 1000}, "a", "more than is read"},
	}
	for _, tc := range cases {
		r := open(t, c.dir, tc.opts)
		rg, p, gaps := patchOf(t, r, "main", tc.head)
		var cut []string
		why := ""
		for _, f := range p.Files {
			if f.Truncated {
				cut = append(cut, f.Path())
				why += f.Why
			}
		}
		if got := strings.Join(slices.Sorted(slices.Values(cut)), " "); got != tc.want || !strings.Contains(why, tc.why) || len(gaps) == 0 || p.Missing() != 0 {
			t.Errorf("%s: truncated %q because %q, gaps %q", tc.name, got, why, gaps)
		}
		if tc.head == "" {
			if _, err := r.Content(t.Context(), rg, "a", 1<<20); !forge.IsKind(err, forge.KindTooLarge) {
				t.Errorf("%s: content: %v", tc.name, err)
			}
		}
	}
	r := open(t, c.dir, Options{OutputBytes: 100})
	rg := Commit{SHA: c.git("rev-parse", "topic"), Parent: c.git("rev-parse", "main")}.Landed()
	if _, _, err := r.Patch(t.Context(), rg); !forge.IsKind(err, forge.KindTooLarge) {
		t.Errorf("a list that is cut: %v", err)
	}
	r = open(t, c.dir, Options{})
	r.timeout = time.Nanosecond
	if _, _, err := r.Patch(t.Context(), rg); !forge.IsKind(err, forge.KindUnavailable) {
		t.Errorf("the time limit: %v", err)
	}
}

func TestHistory(t *testing.T) {
	c := twoCommits(t)
	c.git("checkout", "-q", "main")
	c.write("b", "on main\n")
	c.commit("main \x1b[31mgoes\u202e on " + strings.Repeat("x", 300))
	parent := c.git("rev-parse", "HEAD")
	c.git("merge", "-q", "--no-ff", "-m", "Merge pull request #1", "topic")
	r := open(t, c.dir, Options{})
	all, err := r.History(t.Context(), "main", 10, FirstParent)
	if err != nil || len(all) != 3 || all[0].Subject != "Merge pull request #1" || all[2].Parent != "" {
		t.Fatalf("history %+v, %v", all, err)
	}
	if s := all[1].Subject; !strings.HasPrefix(s, "main [31mgoes on xxx") || len(s) != MaxSubject || all[1].Time.IsZero() {
		t.Errorf("commit %+v", all[1])
	}
	merges, err := r.History(t.Context(), "", 10, Merges)
	if err != nil || len(merges) != 1 || merges[0].Parent != parent {
		t.Fatalf("merges %+v, %v", merges, err)
	}
	p, _, err := r.Patch(t.Context(), merges[0].Landed())
	if err != nil {
		t.Fatal(err)
	}
	want(t, rowsOf(p), "modified 100644>100644 a>a")
	if few, err := r.History(t.Context(), "", 2, FirstParent); err != nil || len(few) != 2 {
		t.Errorf("two of them: %v, %v", few, err)
	}
}
