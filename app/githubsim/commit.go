package githubsim

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// Commit makes a commit on a branch and returns its id. A branch that does not exist starts at the
// default branch's tip. It sends push, and synchronize for every open pull request of that branch.
func (r *Repo) Commit(branch, message string, spec CommitSpec) (string, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	return r.commit(branch, message, spec)
}

func (r *Repo) commit(branch, message string, spec CommitSpec) (string, error) {
	before := r.branches[branch]
	parent := before
	if parent == "" {
		parent = r.branches[r.defaultBranch]
	}
	var parents []string
	if parent != "" {
		parents = []string{parent}
	}
	c, err := r.makeCommit(parents, parent, message, spec)
	if err != nil {
		return "", fmt.Errorf("commit to %s:%s: %w", r.fullName(), branch, err)
	}
	return c.SHA, r.moveBranch(branch, c.SHA, false, r.pusher(spec))
}

// makeCommit stores a commit whose tree is that of the commit `from` with the changes applied.
func (r *Repo) makeCommit(parents []string, from, message string, spec CommitSpec) (gitstore.Commit, error) {
	files := map[string]gitstore.Entry{}
	if from != "" {
		c, err := r.store.Commit(from)
		if err != nil {
			return gitstore.Commit{}, err
		}
		old, err := r.store.Files(c.Tree)
		if err != nil {
			return gitstore.Commit{}, err
		}
		files = maps.Clone(old)
	}
	contents, err := applyChanges(files, spec.Changes)
	if err != nil {
		return gitstore.Commit{}, err
	}
	tree, err := r.store.WriteTree(files, contents)
	if err != nil {
		return gitstore.Commit{}, err
	}
	return r.writeCommit(tree, parents, message, spec)
}

func (r *Repo) writeCommit(tree string, parents []string, message string, spec CommitSpec) (gitstore.Commit, error) {
	when := spec.Date
	if when.IsZero() {
		when = r.sim.now()
	}
	author := r.person(spec.Author, r.defaultAuthor())
	committer := author
	signed := ""
	if spec.SignedByGitHub {
		signed = "GitHub"
		committer = gitstore.Signature{Name: "GitHub", Email: "noreply@github.com"}
		r.sim.emails[committer.Email] = r.sim.account("web-flow")
	}
	if spec.Committer != (Person{}) {
		committer = r.person(spec.Committer, r.owner)
	}
	author.When, committer.When = when.UTC(), when.UTC()
	return r.store.WriteCommit(gitstore.Commit{
		Tree: tree, Parents: parents, Author: author, Committer: committer, Message: message, Signed: signed,
	})
}

func (r *Repo) defaultAuthor() *account {
	if r.owner.typ == "Organization" {
		return r.sim.account("octocat")
	}
	return r.owner
}

// person fills in what the account knows and remembers whose address it is.
func (r *Repo) person(p Person, fallback *account) gitstore.Signature {
	if p == (Person{}) {
		p.Login = fallback.login
	}
	g := gitstore.Signature{Name: p.Name, Email: p.Email}
	if p.Login != "" {
		a := r.sim.account(p.Login)
		if g.Email == "" {
			g.Email = a.email
		}
		if g.Name == "" {
			g.Name = a.name
		}
		r.sim.emails[strings.ToLower(g.Email)] = a
	}
	if g.Name == "" {
		g.Name = g.Email
	}
	return g
}

// pusher is who a push is attributed to.
func (r *Repo) pusher(spec CommitSpec) *account {
	for _, p := range []Person{spec.Committer, spec.Author} {
		if p.Login != "" {
			return r.sim.account(p.Login)
		}
	}
	return r.defaultAuthor()
}

// applyChanges edits a set of files in place and returns the new contents by path.
func applyChanges(files map[string]gitstore.Entry, changes []Change) (map[string][]byte, error) {
	contents := map[string][]byte{}
	for _, ch := range changes {
		old, exists := files[ch.Path]
		if (ch.Delete || ch.RenameTo != "") && !exists {
			return nil, fmt.Errorf("change of %q: no such file", ch.Path)
		}
		if ch.Delete {
			delete(files, ch.Path)
			delete(contents, ch.Path)
			continue
		}
		path, e := ch.Path, old
		keep := exists && ch.Content == "" && ch.Mode != "" && ch.Mode != old.Mode
		if ch.RenameTo != "" {
			path = ch.RenameTo
			keep = ch.Content == ""
			delete(files, ch.Path)
			if data, ok := contents[ch.Path]; ok {
				contents[path] = data
				delete(contents, ch.Path)
			}
		}
		if ch.Mode != "" {
			e.Mode = ch.Mode
		}
		switch e.Mode {
		case "":
			e.Mode = gitstore.ModeFile
		case gitstore.ModeFile, gitstore.ModeExecutable, gitstore.ModeSymlink, gitstore.ModeSubmodule:
		default:
			return nil, fmt.Errorf("change of %q: mode %q: want 100644, 100755, 120000 or 160000", ch.Path, ch.Mode)
		}
		if e.Mode == gitstore.ModeSubmodule && !keep {
			if len(ch.Content) != 40 {
				return nil, fmt.Errorf("change of %q: a submodule's content is a commit id of forty digits", ch.Path)
			}
			e.SHA = ch.Content
			delete(contents, path)
		} else if !keep {
			contents[path] = []byte(ch.Content)
		}
		files[path] = e
	}
	return contents, nil
}

// moveBranch points a branch at a commit and tells whoever watches it.
func (r *Repo) moveBranch(branch, sha string, forced bool, by *account) error {
	before := r.branches[branch]
	r.branches[branch] = sha
	r.pushed = r.sim.now()
	errs := []error{r.sendPush(branch, before, sha, forced, by)}
	errs = append(errs, r.requestSuites(branch, before, sha))
	for _, base := range r.sim.repoList {
		for _, p := range base.pulls {
			if p.state == "open" && p.headRepo == r && p.headRef == branch && p.headSHA != sha {
				errs = append(errs, p.synchronize(sha, by))
			}
		}
	}
	return errors.Join(errs...)
}

// CreateBranch makes a branch at a commit, an abbreviation of one, or another branch.
func (r *Repo) CreateBranch(name, at string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	c, err := r.resolve(at)
	if err != nil {
		return fmt.Errorf("create branch %s of %s at %q: %w", name, r.fullName(), at, err)
	}
	if r.branches[name] != "" {
		return fmt.Errorf("create branch %s of %s: it exists", name, r.fullName())
	}
	return r.moveBranch(name, c.SHA, false, r.defaultAuthor())
}

// Reset points a branch at a commit that exists, as a force-push does.
func (r *Repo) Reset(branch, at string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	c, err := r.resolve(at)
	if err != nil {
		return fmt.Errorf("reset branch %s of %s to %q: %w", branch, r.fullName(), at, err)
	}
	return r.moveBranch(branch, c.SHA, true, r.defaultAuthor())
}

// DeleteBranch removes a branch. It sends push with deleted: true, and closes the open pull requests
// from and into it, as GitHub does.
func (r *Repo) DeleteBranch(name string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	if r.branches[name] == "" || name == r.defaultBranch {
		return fmt.Errorf("delete branch %s of %s: want a branch that exists and is not the default one", name, r.fullName())
	}
	return r.dropBranch(name, r.defaultAuthor())
}

func (r *Repo) dropBranch(name string, by *account) error {
	before := r.branches[name]
	delete(r.branches, name)
	errs := []error{r.sendRepo("push", "", by, r.deletionPayload(name, before, by), nil)}
	for _, base := range r.sim.repoList {
		for _, p := range base.pulls {
			if p.state == "open" && (p.headRepo == r && p.headRef == name || base == r && p.baseRef == name) {
				errs = append(errs, p.close(by))
			}
		}
	}
	return errors.Join(errs...)
}

// Branch is the commit a branch points at, or "".
func (r *Repo) Branch(name string) string {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	return r.branches[name]
}

// File returns a file's content at a ref.
func (r *Repo) File(ref, path string) (string, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	c, err := r.resolve(ref)
	if err != nil {
		return "", fmt.Errorf("read %s of %s at %q: %w", path, r.fullName(), ref, err)
	}
	e, err := r.store.Lookup(c.Tree, path)
	if err != nil {
		return "", fmt.Errorf("read %s of %s at %q: %w", path, r.fullName(), ref, err)
	}
	data, err := r.store.Blob(e.SHA)
	return string(data), err
}
