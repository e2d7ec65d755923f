package githubsim

import "fmt"

// Push adds a commit to the head branch and returns its id.
func (p *Pull) Push(changes ...Change) (string, error) {
	return p.PushCommit("Change "+p.title, CommitSpec{Changes: changes})
}

// PushCommit adds a commit with a message and people of one's own; the author defaults to the pull
// request's.
func (p *Pull) PushCommit(message string, spec CommitSpec) (string, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	return p.push(p.headSHA, message, spec, false)
}

// ForcePush replaces the pull request's commits with one that makes the changes on the merge base.
func (p *Pull) ForcePush(changes ...Change) (string, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	return p.push(p.mergeBase(), p.title, CommitSpec{Changes: changes}, true)
}

func (p *Pull) push(parent, message string, spec CommitSpec, forced bool) (string, error) {
	if p.headRepo.deleted {
		return "", fmt.Errorf("push to pull request %d of %s: its fork is gone", p.number, p.repo.fullName())
	}
	if spec.Author == (Person{}) {
		spec.Author.Login = p.author.login
	}
	c, err := p.headRepo.makeCommit([]string{parent}, parent, message, spec)
	if err != nil {
		return "", fmt.Errorf("push to pull request %d of %s: %w", p.number, p.repo.fullName(), err)
	}
	return c.SHA, p.headRepo.moveBranch(p.headRef, c.SHA, forced, p.headRepo.pusher(spec))
}

// ResetTo force-pushes the head branch to a commit that exists: a SHA that comes back.
func (p *Pull) ResetTo(sha string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	if _, err := p.repo.store.Commit(sha); err != nil {
		return fmt.Errorf("reset pull request %d of %s: %w", p.number, p.repo.fullName(), err)
	}
	return p.headRepo.moveBranch(p.headRef, sha, true, p.author)
}

// Rebase force-pushes one commit with the pull request's changes on the base's present tip.
func (p *Pull) Rebase() (string, error) {
	return p.replay(func(tip string) []string { return []string{tip} }, p.title, true)
}

// UpdateBranch merges the base's present tip into the head branch, as GitHub's button does.
func (p *Pull) UpdateBranch() (string, error) {
	return p.replay(func(tip string) []string { return []string{p.headSHA, tip} },
		fmt.Sprintf("Merge branch '%s' into %s", p.baseRef, p.headRef), false)
}

func (p *Pull) replay(parents func(tip string) []string, message string, forced bool) (string, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	tip := p.repo.branches[p.baseRef]
	tree, err := p.mergedTree(tip)
	if err != nil {
		return "", fmt.Errorf("update pull request %d of %s: %w", p.number, p.repo.fullName(), err)
	}
	spec := CommitSpec{Author: Person{Login: p.author.login}, SignedByGitHub: !forced}
	c, err := p.headRepo.writeCommit(tree, parents(tip), message, spec)
	if err != nil {
		return "", err
	}
	return c.SHA, p.headRepo.moveBranch(p.headRef, c.SHA, forced, p.author)
}

// mergedTree is the tree of a commit with the pull request's changes applied.
func (p *Pull) mergedTree(tip string) (string, error) {
	var trees [3]string
	for i, sha := range []string{p.repo.store.MergeBase(tip, p.headSHA), tip, p.headSHA} {
		c, err := p.repo.store.Commit(sha)
		if err != nil {
			return "", err
		}
		trees[i] = c.Tree
	}
	return p.repo.store.Merge(trees[0], trees[1], trees[2])
}
