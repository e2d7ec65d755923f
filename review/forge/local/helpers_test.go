package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// clone is a repository made by plain git.
type clone struct {
	t   *testing.T
	dir string
}

func newClone(t *testing.T, initArgs ...string) *clone {
	t.Helper()
	c := &clone{t, filepath.Join(t.TempDir(), "clone")}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return c
}

// gitEnv is the environment of the git that sets tests up.
func gitEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
	}
}

// try runs git in the clone and returns its output and error.
func (c *clone) try(args ...string) (string, error) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = c.dir, gitEnv(filepath.Dir(c.dir))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c *clone) git(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func (c *clone) path(name string) string { return filepath.Join(c.dir, name) }

// write writes a file; its folder is made.
func (c *clone) write(name, content string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(c.path(name), []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// commit commits everything and returns the commit's id.
func (c *clone) commit(message string) string {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "--allow-empty", "-m", message)
	return c.git("rev-parse", "HEAD")
}

// open opens a repository for the length of the test.
func open(t *testing.T, dir string, opts Options) *Repo {
	t.Helper()
	r, err := Open(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(r.runner.dir); !os.IsNotExist(err) {
			t.Errorf("the private folder is still there: %v", err)
		}
	})
	return r
}

// patchOf reads the patch of a range of names.
func patchOf(t *testing.T, r *Repo, base, head string) (Range, diff.Patch, []string) {
	t.Helper()
	rg, err := r.Range(t.Context(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	p, gaps, err := r.Patch(t.Context(), rg)
	if err != nil {
		t.Fatal(err)
	}
	return rg, p, gaps
}

// rowsOf writes a patch's files as `op mode>mode path>path +added -deleted`.
func rowsOf(p diff.Patch) string {
	var b strings.Builder
	for _, f := range p.Files {
		b.WriteString(f.Op.String() + " " + string(f.OldMode) + ">" + string(f.NewMode) + " " + f.OldPath + ">" + f.NewPath)
		if f.Binary {
			b.WriteString(" binary")
		}
		if f.Truncated {
			b.WriteString(" truncated: " + f.Why)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(strings.ReplaceAll(want, "\t", "")) {
		t.Errorf("got\n%s\nwant\n%s", got, strings.ReplaceAll(want, "\t", ""))
	}
}
