package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// oldest is the first version of git that is used: older ones do not know
// --end-of-options everywhere, or SHA-256.
const oldestMajor, oldestMinor = 2, 30

// runner starts git in one fixed environment.
type runner struct {
	git     string // absolute
	dir     string // the private folder, where commands run
	gitDir  string // the private repository in it
	root    string // the work tree, empty without
	timeout time.Duration
	output  int
}

// command is one start of git.
type command struct {
	args     []string
	env      []string // beyond the fixed ones
	stdin    string
	workTree bool // the command reads the work tree
	home     bool // reads the user's own settings, and nothing else
}

// environ is all that git gets to see of the process's environment: nothing but
// what a program on Windows cannot start without.
func (r *runner) environ(c command) []string {
	null := os.DevNull
	home, xdg := r.dir, r.dir
	env := []string{
		"PATH=" + filepath.Dir(r.git),
		"TMPDIR=" + r.dir, "TEMP=" + r.dir, "TMP=" + r.dir,
		"GIT_DIR=" + r.gitDir,
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
		"GIT_ALLOW_PROTOCOL=", "GIT_PROTOCOL_FROM_USER=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_ATTR_NOSYSTEM=1",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=:",
		"LC_ALL=C", "LANGUAGE=", "TERM=dumb", "TZ=UTC",
	}
	if c.home {
		home, xdg = os.Getenv("HOME"), os.Getenv("XDG_CONFIG_HOME")
	} else {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM="+null, "GIT_CONFIG_GLOBAL="+null)
	}
	env = append(env, "HOME="+home)
	if xdg != "" {
		env = append(env, "XDG_CONFIG_HOME="+xdg)
	}
	if c.workTree {
		env = append(env, "GIT_WORK_TREE="+r.root)
	}
	if runtime.GOOS == "windows" {
		env = append(env, "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
	}
	return append(env, c.env...)
}

// errCut stops the copying of output that is longer than its bound.
var errCut = errors.New("more output than is read")

// capped keeps the first max bytes written to it and refuses the rest.
type capped struct {
	strings.Builder
	max int
	cut bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.max - c.Len(); len(p) > room {
		c.cut = true
		c.Builder.Write(p[:room])
		return room, errCut
	}
	return c.Builder.Write(p)
}

// tail keeps the first bytes of what git says in anger; the rest is dropped, not
// refused, since git would die of it.
type tail struct{ strings.Builder }

func (t *tail) Write(p []byte) (int, error) {
	t.Builder.Write(p[:min(len(p), max(0, 2000-t.Len()))])
	return len(p), nil
}

// failure is a git that ended with an error.
type failure struct {
	verb   string
	code   int // -1 when it did not end by itself
	stderr string
	err    error
}

func (f *failure) Error() string {
	if f.stderr == "" {
		return fmt.Sprintf("git %s: %v", f.verb, f.err)
	}
	return fmt.Sprintf("git %s: %.300q", f.verb, f.stderr)
}

func (f *failure) Unwrap() error { return f.err }

// cmd prepares a start of git. It ends when ctx does.
func (r *runner) cmd(ctx context.Context, c command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.git, append([]string{"--no-pager"}, c.args...)...)
	cmd.Dir = r.dir
	cmd.Env = r.environ(c)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run starts git and returns its output; cut says that there was more of it than
// the bound.
func (r *runner) run(ctx context.Context, c command) (out string, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	cmd := r.cmd(ctx, c)
	stdout, stderr := &capped{max: r.output}, &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), stdout, stderr
	err = cmd.Run()
	switch {
	case stdout.cut:
		return stdout.String(), true, nil
	case ctx.Err() != nil:
		return "", false, &failure{verb: c.args[0], code: -1, err: ctx.Err()}
	case err != nil:
		return "", false, &failure{verb: c.args[0], code: cmd.ProcessState.ExitCode(), stderr: strings.TrimSpace(stderr.String()), err: err}
	}
	return stdout.String(), false, nil
}

// whole is run for output that is of no use when it is cut.
func (r *runner) whole(ctx context.Context, c command) (string, error) {
	out, cut, err := r.run(ctx, c)
	if cut {
		return "", refuse(forge.KindTooLarge, "git "+c.args[0], fmt.Errorf("more than %d bytes of output", r.output), "")
	}
	return out, err
}

// refuse makes an error of the port.
func refuse(kind forge.Kind, op string, err error, hint string) error {
	return &forge.Error{Kind: kind, Op: op, Err: err, Hint: hint}
}

// wrap says what a failed git means. Errors of the port pass unchanged.
func (r *Repo) wrap(op string, err error) error {
	var known *forge.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return refuse(forge.KindUnavailable, op, err, "")
	}
	var f *failure
	if errors.As(err, &f) && isMissingObject(f.stderr) {
		return refuse(forge.KindNotFound, op, err, r.missingHint())
	}
	return refuse(forge.KindMalformed, op, err, "")
}

// isMissingObject reports whether git says that it lacks an object.
func isMissingObject(stderr string) bool {
	return slices.ContainsFunc([]string{"unable to read", "bad object", "missing", "could not read", "unable to find", "Could not read", "cannot read", "not a valid object"},
		func(s string) bool { return strings.Contains(stderr, s) })
}

// missingHint says how to get objects that a clone lacks: nothing is fetched
// here.
func (r *Repo) missingHint() string {
	switch {
	case r.settings.partial:
		return "this is a partial clone and nothing is fetched here: run `git fetch --refetch --no-filter` in it, or clone without --filter"
	case r.shallow:
		return "this is a shallow clone: run `git fetch --unshallow` in it"
	}
	return "objects are missing from this clone: `git fsck` tells which"
}

// findGit returns the absolute path of git: the first in PATH outside the given
// folders. Relative entries are passed over, and so is a git that the clone
// itself brings.
func findGit(path string, outside ...string) (string, error) {
	name := "git"
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || slices.ContainsFunc(outside, func(o string) bool { return within(o, file) || within(o, dir) }) {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return filepath.Join(dir, name), nil
		}
	}
	return "", refuse(forge.KindNotFound, "find git", exec.ErrNotFound, "install git, or put its absolute folder into PATH; a git inside the repository is never started")
}

// untrusted lists the folders from which no git is started: the repository's own,
// and every repository around them, since a submodule is as hostile as what it
// is part of. Those that hold the user's home folder are the user's.
func (p places) untrusted(home string) []string {
	dirs := []string{p.root, p.gitDir, p.common}
	for _, at := range []string{p.root, p.gitDir, p.common} {
		for ; at != "" && at != filepath.Dir(at) && !(home != "" && within(at, home)); at = filepath.Dir(at) {
			if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
				dirs = append(dirs, at)
			}
		}
	}
	return dirs
}

// within reports whether path is dir or below it. An empty dir holds nothing.
func within(dir, path string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// checkVersion refuses a git that is too old.
func (r *runner) checkVersion(ctx context.Context) error {
	const op = "start git"
	out, err := r.whole(ctx, command{args: []string{"version"}})
	if err != nil {
		return refuse(forge.KindInvalid, op, err, "")
	}
	version := strings.TrimPrefix(strings.TrimSpace(out), "git version ")
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return refuse(forge.KindInvalid, op, fmt.Errorf("its version reads %.40q", version), "")
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err := errors.Join(err1, err2); err != nil {
		return refuse(forge.KindInvalid, op, fmt.Errorf("its version reads %.40q", version), "")
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return refuse(forge.KindInvalid, op, fmt.Errorf("git %.40s is too old", version), fmt.Sprintf("right is %d.%d or newer", oldestMajor, oldestMinor))
	}
	return nil
}
