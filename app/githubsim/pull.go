package githubsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// Pull is a pull request.
type Pull struct {
	*thread
	pullID             int64 // the issue that it also is has an id of its own
	headRepo           *Repo
	headRef, headSHA   string
	baseRef, baseSHA   string
	draft, merged      bool
	mergeSHA           string
	mergedBy           *account
	mergedAt           time.Time
	closes             []int
	association        string
	maintainerCanWrite bool
	reviews            []*review       // oldest first
	reviewThreads      []*reviewThread // oldest first
}

// OpenPull opens a pull request and sends pull_request.opened (after the push that Changes make).
func (r *Repo) OpenPull(spec PullSpec) (*Pull, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	p, err := r.openPull(spec)
	if err != nil {
		return nil, fmt.Errorf("open pull request %q in %s: %w", spec.Title, r.fullName(), err)
	}
	return p, nil
}

func (r *Repo) openPull(spec PullSpec) (*Pull, error) {
	head := spec.HeadRepo
	if head == nil {
		head = r
	}
	if head.store != r.store {
		return nil, fmt.Errorf("head repository %s is no fork of it (set RepoSpec.ForkOf)", head.fullName())
	}
	if spec.Base == "" {
		spec.Base = r.defaultBranch
	}
	author := head.defaultAuthor()
	if spec.Author != "" {
		author = r.sim.account(spec.Author)
	}
	baseSHA := r.branches[spec.Base]
	if baseSHA == "" {
		return nil, fmt.Errorf("base branch %q has no commit yet", spec.Base)
	}
	if spec.Head == "" || head == r && spec.Head == spec.Base {
		return nil, fmt.Errorf("head branch %q: want one that is not the base", spec.Head)
	}
	if len(spec.Changes) > 0 {
		if err := head.pushForPull(spec, author, baseSHA); err != nil {
			return nil, err
		}
	}
	headSHA := head.branches[spec.Head]
	if headSHA == "" {
		return nil, fmt.Errorf("head branch %q has no commit yet (give Changes, or Commit to it first)", spec.Head)
	}
	if r.store.MergeBase(baseSHA, headSHA) == "" {
		return nil, fmt.Errorf("branches %q and %q have no common history", spec.Base, spec.Head)
	}
	p := &Pull{
		thread: r.newThread(spec.Title, spec.Body, author), pullID: r.sim.ids.next("pull"),
		headRepo: head, headRef: spec.Head, headSHA: headSHA, baseRef: spec.Base, baseSHA: baseSHA,
		draft: spec.Draft, closes: slices.Clone(spec.ClosesIssues), association: spec.Association, maintainerCanWrite: head != r,
	}
	p.mergeSHA = headSHA
	p.pull = p
	for _, name := range spec.Labels {
		p.labels = append(p.labels, r.label(name))
	}
	r.pulls = append(r.pulls, p)
	r.sim.nodes[nodeID("PR", p.pullID)] = p
	return p, p.send("opened", author, nil)
}

// pushForPull makes the head branch of a pull request, from the base's tip where it is new.
func (r *Repo) pushForPull(spec PullSpec, author *account, baseSHA string) error {
	message := spec.Message
	if message == "" {
		message = spec.Title
	}
	from := r.branches[spec.Head]
	if from == "" {
		from = baseSHA
	}
	who := spec.CommitAuthor
	if who == (Person{}) {
		who.Login = author.login
	}
	c, err := r.makeCommit([]string{from}, from, message, CommitSpec{Author: who, Changes: spec.Changes})
	if err != nil {
		return err
	}
	return r.moveBranch(spec.Head, c.SHA, false, author)
}

// Pull finds a pull request by number, or returns nil.
func (r *Repo) Pull(number int) *Pull {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	return r.findPull(int64(number))
}

func (r *Repo) findPull(number int64) *Pull {
	for _, p := range r.pulls {
		if int64(p.number) == number {
			return p
		}
	}
	return nil
}

// Number is the pull request's number.
func (p *Pull) Number() int { return p.number }

// Repo is the repository it was opened in.
func (p *Pull) Repo() *Repo { return p.repo }

// Author is the opener's login.
func (p *Pull) Author() string { return p.author.login }

// HeadSHA is the newest commit.
func (p *Pull) HeadSHA() string {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	return p.headSHA
}

// BaseSHA is the base branch's tip as of the last push or change of base.
func (p *Pull) BaseSHA() string {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	return p.baseSHA
}

func (p *Pull) mergeBase() string { return p.repo.store.MergeBase(p.baseSHA, p.headSHA) }

// commits are the pull request's own, oldest first.
func (p *Pull) commits() []gitstore.Commit { return p.repo.store.Ahead(p.baseSHA, p.headSHA) }

func (p *Pull) has(sha string) bool {
	return p.headSHA == sha || slices.ContainsFunc(p.commits(), func(c gitstore.Commit) bool { return c.SHA == sha })
}

// isFork tells whether the head is in another repository, or in one that is gone.
func (p *Pull) isFork() bool { return p.headRepo != p.repo }

func (p *Pull) synchronize(sha string, by *account) error {
	before := p.headSHA
	p.headSHA, p.mergeSHA, p.updated = sha, sha, p.repo.sim.now()
	if tip := p.repo.branches[p.baseRef]; tip != "" {
		p.baseSHA = tip
	}
	if err := p.reanchor(); err != nil {
		return err
	}
	return p.send("synchronize", by, obj{"before": before, "after": sha})
}

func (p *Pull) headLabel() string {
	if p.headRepo.deleted {
		return "unknown repository"
	}
	return p.headRepo.owner.login + ":" + p.headRef
}

// authorAssociation is what GitHub would say: it depends on what is visible, never on rights alone.
func (p *Pull) authorAssociation() string {
	if p.association != "" {
		return p.association
	}
	return p.repo.associationOf(p.author)
}

func (r *Repo) associationOf(a *account) string {
	switch role := r.roleOf(a); {
	case a == r.owner:
		return "OWNER"
	case roleWrites(role):
		return "COLLABORATOR"
	}
	for _, p := range r.pulls {
		if p.author == a && p.merged {
			return "CONTRIBUTOR"
		}
	}
	return "NONE"
}
