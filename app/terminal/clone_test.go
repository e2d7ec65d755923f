package terminal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone is a repository in a temporary folder, made by git itself.
type clone struct {
	t   *testing.T
	dir string
}

func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{t: t, dir: t.TempDir()}
	c.git("init", "-q", "-b", "main")
	c.write("README.md", "# shop\n")
	c.write("cart/cart.go", "package cart\n")
	c.commit("start")
	return c
}

func (c *clone) git(args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", append([]string{"-C", c.dir, "-c", "user.name=mona", "-c", "user.email=mona@example.com"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c *clone) write(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clone) commit(message string) string {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "-m", message)
	return c.git("rev-parse", "HEAD")
}
