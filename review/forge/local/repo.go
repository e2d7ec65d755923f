package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// Options bounds what is read. A field of 0 or less means its default.
type Options struct {
	// Timeout is for one start of git; 2 minutes. The largest public repositories
	// need some seconds for their longest commands.
	Timeout time.Duration
	// OutputBytes of one start of git are read; diff.DefaultPatchBytes.
	OutputBytes int
	// FileBytes is the size up to which a file's text is compared, and up to
	// which a changed file of the work tree is read; 64 MiB.
	FileBytes int64
	// TreeBytes of changed files are read from the work tree; 1 GiB. They are
	// copied into a temporary folder.
	TreeBytes int64
	// Patch bounds what is kept of a diff.
	Patch diff.PatchLimits
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.OutputBytes <= 0 {
		o.OutputBytes = diff.DefaultPatchBytes
	}
	if o.FileBytes <= 0 {
		o.FileBytes = 64 << 20
	}
	if o.TreeBytes <= 0 {
		o.TreeBytes = 1 << 30
	}
	o.Patch = o.Patch.WithDefaults()
	return o
}

// Repo is an open repository. Its methods may be called at the same time.
type Repo struct {
	runner
	places
	opts     Options
	settings settings
	shallow  bool
	cut      map[string]bool // commits whose parents a shallow clone lacks

	blobs, sizes batch
	closing      sync.Once
	snapshots    sync.Mutex // one work tree is read at a time
}

// Open finds the repository that holds dir and makes the private one that reads
// it. Errors are of *forge.Error: KindNotFound when there is no repository or no
// git, KindInvalid when either cannot be used; the hint says what to do.
//
// Who owns the repository does not matter (git's safe.directory): nothing in it
// is obeyed. Close must be called.
func Open(ctx context.Context, dir string, opts Options) (*Repo, error) {
	p, err := locate(dir)
	if err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	home, _ := os.UserHomeDir() // none: all are strangers
	git, err := findGit(os.Getenv("PATH"), p.untrusted(home)...)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "countersign-git-") // 0700
	if err == nil {
		tmp, err = filepath.EvalSymlinks(tmp)
	}
	if err != nil {
		return nil, fmt.Errorf("make a private git folder: %w", err)
	}
	r := &Repo{
		runner: runner{git: git, dir: tmp, gitDir: filepath.Join(tmp, "git"), root: p.root, timeout: opts.Timeout, output: opts.OutputBytes},
		places: p, opts: opts,
	}
	r.blobs.args, r.sizes.args = []string{"cat-file", "--batch"}, []string{"cat-file", "--batch-check"}
	if err := r.setUp(ctx); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// Close ends what was started and removes the private repository.
func (r *Repo) Close() error {
	var err error
	r.closing.Do(func() {
		r.blobs.stop()
		r.sizes.stop()
		err = os.RemoveAll(r.runner.dir)
	})
	return err
}

// Root is the work tree's folder, empty for a bare repository.
func (r *Repo) Root() string { return r.places.root }

// Name is owner/name as the URL of origin has it, else the folder's name.
func (r *Repo) Name() string {
	if r.settings.remote != "" {
		return r.settings.remote
	}
	dir := r.places.root
	if dir == "" {
		dir = r.common
	}
	return strings.TrimSuffix(printable(filepath.Base(dir), 100), ".git")
}

// Shallow reports whether the clone lacks history on purpose. What it says of
// merge bases is then what it can know.
func (r *Repo) Shallow() bool { return r.shallow }

// setUp makes the private repository.
func (r *Repo) setUp(ctx context.Context) error {
	op := fmt.Sprintf("open repository %.200q", r.places.gitDir)
	if err := r.lay(); err != nil {
		return refuse(forge.KindInvalid, op, err, hintFor(err))
	}
	if err := r.checkVersion(ctx); err != nil {
		return err
	}
	var err error
	if r.settings, err = r.runner.settings(ctx, r.places); err != nil {
		var known *forge.Error
		if errors.As(err, &known) {
			return err
		}
		return refuse(forge.KindInvalid, op, err, hintFor(err))
	}
	config := r.settings.config(r.opts.FileBytes)
	if err := os.WriteFile(filepath.Join(r.runner.gitDir, "config"), []byte(config), 0o600); err != nil {
		return fmt.Errorf("write a private git folder: %w", err)
	}
	return nil
}

// hintFor says what helps against a repository that may not be read.
func hintFor(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "run as the user who owns the clone, or clone it anew"
	}
	return ""
}

// borrowed are the files of a git folder that are copied: single refs.
func borrowed() []string { return []string{"HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD"} }

// lay puts the private repository's files in place.
func (r *Repo) lay() error {
	own := r.runner.gitDir
	for _, dir := range []string{"objects/info", "objects/pack", "info"} {
		if err := os.MkdirAll(filepath.Join(own, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(own, "config"), nil, 0o600); err != nil {
		return err
	}
	alternates := quote(filepath.Join(r.common, "objects")) + "\n"
	if err := os.WriteFile(filepath.Join(own, "objects/info/alternates"), []byte(alternates), 0o600); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(r.common, "refs"), filepath.Join(own, "refs")); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(r.common, "packed-refs")); err == nil && info.Mode().IsRegular() {
		if err := os.Symlink(filepath.Join(r.common, "packed-refs"), filepath.Join(own, "packed-refs")); err != nil {
			return err
		}
	}
	for _, name := range borrowed() {
		if err := borrow(filepath.Join(r.places.gitDir, name), filepath.Join(own, name)); err != nil {
			return err
		}
	}
	return r.layShallow()
}

// borrow copies a small file, if it is there.
func borrow(from, to string) error {
	if target, err := os.Readlink(from); err == nil && strings.HasPrefix(target, "refs/") {
		return os.WriteFile(to, []byte("ref: "+target+"\n"), 0o600) // as very old versions of git wrote HEAD
	}
	text, err := readSmall(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text), 0o600)
}

// layShallow copies the list of commits whose parents are not in the clone: git
// would stumble over them.
func (r *Repo) layShallow() error {
	text, err := readSmall(filepath.Join(r.common, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.cut = make(map[string]bool)
	for line := range strings.Lines(text) {
		if id := strings.TrimSpace(line); isID(id) {
			r.cut[id] = true
		}
	}
	r.shallow = len(r.cut) > 0
	return os.WriteFile(filepath.Join(r.runner.gitDir, "shallow"), []byte(text), 0o600)
}

// quote writes a path the way git reads it in a list of alternates.
func quote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isID reports whether s is a full object id.
func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
