package githubsim

import (
	"errors"
	"fmt"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// MergeGroup is an entry of a merge queue.
type MergeGroup struct {
	repo             *Repo
	baseRef, baseSHA string
	headRef          string
	head             gitstore.Commit
}

// MergeGroup puts pull requests into the merge queue of a base branch, as one group: a commit on the
// base with their changes, under gh-readonly-queue/. It sends merge_group.checks_requested.
func (r *Repo) MergeGroup(base string, pulls ...*Pull) (*MergeGroup, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	tip := r.branches[base]
	if tip == "" || len(pulls) == 0 {
		return nil, fmt.Errorf("merge group on %s:%s: want a base branch with commits and at least one pull request", r.fullName(), base)
	}
	at := tip
	for _, p := range pulls {
		tree, err := p.mergedTree(at)
		if err != nil {
			return nil, fmt.Errorf("merge group with pull request %d: %w", p.number, err)
		}
		c, err := r.writeCommit(tree, []string{at, p.headSHA}, fmt.Sprintf("Merge pull request #%d from %s", p.number, p.headLabel()),
			CommitSpec{Author: Person{Login: p.author.login}, SignedByGitHub: true})
		if err != nil {
			return nil, err
		}
		at = c.SHA
	}
	head, err := r.store.Commit(at)
	if err != nil {
		return nil, err
	}
	last := pulls[len(pulls)-1]
	g := &MergeGroup{
		repo: r, baseRef: base, baseSHA: tip, head: head, headRef: fmt.Sprintf("gh-readonly-queue/%s/pr-%d-%s", base, last.number, tip),
	}
	if err := r.moveBranch(g.headRef, head.SHA, false, last.author); err != nil {
		return nil, err
	}
	return g, g.send("checks_requested", "")
}

// HeadSHA is the group's commit, whose checks decide.
func (g *MergeGroup) HeadSHA() string { return g.head.SHA }

// HeadRef is the group's branch, without refs/heads/.
func (g *MergeGroup) HeadRef() string { return g.headRef }

// queue is the account that GitHub's merge queue acts as.
func (g *MergeGroup) queue() *account { return g.repo.sim.account("github-merge-queue[bot]") }

// Destroy ends the group and its branch; reason is merged, invalidated or dequeued. It sends
// merge_group.destroyed.
func (g *MergeGroup) Destroy(reason string) error {
	g.repo.sim.mu.Lock()
	defer g.repo.sim.mu.Unlock()
	err := g.repo.dropBranch(g.headRef, g.queue())
	return errors.Join(err, g.send("destroyed", reason))
}

func (g *MergeGroup) payload(action, reason string) obj {
	out := withAction(action, obj{"merge_group": obj{
		"head_sha": g.head.SHA, "head_ref": "refs/heads/" + g.headRef, "base_sha": g.baseSHA, "base_ref": "refs/heads/" + g.baseRef,
		"head_commit": simpleCommit(g.head),
	}})
	if reason != "" {
		out["reason"] = reason
	}
	return out
}

func (g *MergeGroup) send(action, reason string) error {
	return g.repo.sendRepo("merge_group", action, g.queue(), g.payload(action, reason), nil)
}
