package githubsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// Repo is a repository.
type Repo struct {
	sim           *Sim
	id            int64
	owner         *account
	name          string
	private       bool
	defaultBranch string
	parent        *Repo
	store         *gitstore.Store
	created       time.Time
	pushed        time.Time
	deleted       bool

	branches  map[string]string // name → commit
	roles     map[string]string // lower-case login → role
	required  map[string]*protection
	rulesets  []ruleset
	labels    map[string]*label
	threads   map[int]*thread // issues and pull requests by number
	lastNo    int
	pulls     []*Pull
	runs      []*checkRun
	suites    []*checkSuite
	statuses  []*commitStatus
	props     map[string]string
	workflows map[string]int64 // run ids by sha, path and event
}

type protection struct{ checks []CheckRef }

// ruleset is one ruleset's required status checks for branches that match.
type ruleset struct {
	id       int64
	branches []string
	checks   []CheckRef
}

// AddRepo makes an empty repository. Its owner is an organisation unless UserOwned says otherwise.
func (s *Sim) AddRepo(spec RepoSpec) (*Repo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := spec.Owner + "/" + spec.Name
	if spec.Owner == "" || spec.Name == "" || strings.ContainsAny(full, " \t\n") || strings.Count(full, "/") != 1 {
		return nil, fmt.Errorf("add repository %q: want an owner and a name", full)
	}
	if s.repos[strings.ToLower(full)] != nil {
		return nil, fmt.Errorf("add repository %s: it exists", full)
	}
	typ := "Organization"
	if spec.UserOwned {
		typ = "User"
	}
	if spec.DefaultBranch == "" {
		spec.DefaultBranch = "main"
	}
	r := &Repo{
		sim: s, id: s.ids.next("repo"), owner: s.accountOf(spec.Owner, typ), name: spec.Name, private: spec.Private,
		defaultBranch: spec.DefaultBranch, parent: spec.ForkOf, created: s.now(), pushed: s.now(),
		branches: map[string]string{}, roles: map[string]string{}, required: map[string]*protection{},
		labels: map[string]*label{}, threads: map[int]*thread{}, props: map[string]string{}, workflows: map[string]int64{},
	}
	if r.parent != nil {
		r.store, r.defaultBranch = r.parent.store, r.parent.defaultBranch
		maps.Copy(r.branches, r.parent.branches)
	} else {
		var err error
		if r.store, err = s.newStore(); err != nil {
			return nil, fmt.Errorf("add repository %s: %w", full, err)
		}
	}
	if r.owner.typ != "Organization" {
		r.roles[strings.ToLower(r.owner.login)] = "admin"
	}
	s.repos[strings.ToLower(full)] = r
	s.repoList = append(s.repoList, r)
	return r, nil
}

// Repo finds a repository by owner and name, or returns nil.
func (s *Sim) Repo(owner, name string) *Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[strings.ToLower(owner+"/"+name)]
}

// ID is the repository's id.
func (r *Repo) ID() int64 { return r.id }

// Owner is the owner's login.
func (r *Repo) Owner() string { return r.owner.login }

// Name is the repository's name without its owner.
func (r *Repo) Name() string { return r.name }

// FullName is owner/name.
func (r *Repo) FullName() string { return r.fullName() }

func (r *Repo) fullName() string { return r.owner.login + "/" + r.name }

// Delete removes the repository: a fork that is gone leaves `head.repo: null` behind.
func (r *Repo) Delete() {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	r.deleted = true
	delete(r.sim.repos, strings.ToLower(r.fullName()))
	r.sim.repoList = slices.DeleteFunc(r.sim.repoList, func(o *Repo) bool { return o == r })
}

// SetCollaborator gives a person a role: none, read, triage, write, maintain or admin.
func (r *Repo) SetCollaborator(login, role string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	name, err := roleName(role, "")
	if err != nil || name == "" {
		return errors.Join(fmt.Errorf("set collaborator %s of %s", login, r.fullName()), err)
	}
	r.sim.account(login)
	r.roles[strings.ToLower(login)] = name
	return nil
}

// roleOf is a person's role: the highest of direct, team and public access.
func (r *Repo) roleOf(a *account) string {
	if a == nil {
		return "none"
	}
	best := "none"
	if !r.private {
		best = "read"
	}
	raise := func(role string) {
		if roleRank(role) > roleRank(best) {
			best = role
		}
	}
	key := strings.ToLower(a.login)
	raise(r.roles[key])
	for _, t := range r.sim.teams {
		if t.members[key] != "" && slices.Contains(t.repos, r) {
			raise(t.role)
		}
	}
	return best
}

// RequireChecks protects a branch and requires status checks there; none only protects it.
func (r *Repo) RequireChecks(branch string, checks ...CheckRef) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	r.required[branch] = &protection{checks: slices.Clone(checks)}
}

// Unprotect takes a branch's protection away.
func (r *Repo) Unprotect(branch string) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	delete(r.required, branch)
}

// AddRuleset adds a ruleset that requires status checks on branches: names, patterns as path.Match
// knows them, or ~DEFAULT_BRANCH and ~ALL.
func (r *Repo) AddRuleset(branches []string, checks ...CheckRef) int64 {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	rs := ruleset{id: r.sim.ids.next("ruleset"), branches: slices.Clone(branches), checks: slices.Clone(checks)}
	r.rulesets = append(r.rulesets, rs)
	return rs.id
}

// SetProperty sets a custom property of the repository.
func (r *Repo) SetProperty(name, value string) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	r.props[name] = value
}

// resolve turns a commit id, an abbreviation, a branch, refs/…, heads/…, pull/N/head or HEAD into a commit.
func (r *Repo) resolve(ref string) (gitstore.Commit, error) {
	name := strings.TrimPrefix(ref, "refs/")
	name = strings.TrimPrefix(name, "heads/")
	if ref == "" || ref == "HEAD" {
		name = r.defaultBranch
	}
	if sha := r.branches[name]; sha != "" {
		return r.store.Commit(sha)
	}
	if rest, ok := strings.CutPrefix(name, "pull/"); ok {
		for _, p := range r.pulls {
			if rest == fmt.Sprintf("%d/head", p.number) {
				return r.store.Commit(p.headSHA)
			}
		}
	}
	sha, err := r.store.Expand(ref)
	if err != nil {
		return gitstore.Commit{}, err
	}
	return r.store.Commit(sha)
}
