package githubsim

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Edit changes title, body or base, and sends pull_request.edited with what they were.
func (p *Pull) Edit(e PullEdit) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	changes := obj{}
	if e.Title != nil {
		changes["title"] = obj{"from": p.title}
		p.title = *e.Title
	}
	if e.Body != nil {
		changes["body"] = obj{"from": p.body}
		p.body = *e.Body
	}
	if e.Base != nil {
		tip := p.repo.branches[*e.Base]
		if tip == "" {
			return fmt.Errorf("edit pull request %d of %s: no branch %q", p.number, p.repo.fullName(), *e.Base)
		}
		changes["base"] = obj{"ref": obj{"from": p.baseRef}, "sha": obj{"from": p.baseSHA}}
		p.baseRef, p.baseSHA = *e.Base, tip
		if err := p.reanchor(); err != nil {
			return err
		}
	}
	p.updated = p.repo.sim.now()
	by := p.author
	if e.By != "" {
		by = p.repo.sim.account(e.By)
	}
	return p.send("edited", by, obj{"changes": changes})
}

// ReadyForReview ends the draft.
func (p *Pull) ReadyForReview() error { return p.setDraft(false, "ready_for_review") }

// ConvertToDraft makes it a draft.
func (p *Pull) ConvertToDraft() error { return p.setDraft(true, "converted_to_draft") }

func (p *Pull) setDraft(on bool, action string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	p.draft, p.updated = on, p.repo.sim.now()
	return p.send(action, p.author, nil)
}

// Label adds a label and sends pull_request.labeled.
func (p *Pull) Label(name string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	l := p.repo.label(name)
	if !slices.Contains(p.labels, l) {
		p.labels = append(p.labels, l)
	}
	return p.send("labeled", p.author, obj{"label": l.json()})
}

// Close closes the pull request, after a merge commit on the base where merged is true.
func (p *Pull) Close(merged bool) error {
	if merged {
		return p.Merge("merge", "")
	}
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	return p.close(p.author)
}

// Merge merges it into its base by a method, merge or squash. GitHub's rules for required checks are
// not enforced here: MergeBlockedBy tells them. By defaults to the author.
func (p *Pull) Merge(method, by string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	who := p.author
	if by != "" {
		who = p.repo.sim.account(by)
	}
	tip := p.repo.branches[p.baseRef]
	tree, err := p.mergedTree(tip)
	if err != nil {
		return fmt.Errorf("merge pull request %d of %s: %w", p.number, p.repo.fullName(), err)
	}
	parents, message := []string{tip, p.headSHA}, fmt.Sprintf("Merge pull request #%d from %s", p.number, p.headLabel())
	if method == "squash" {
		parents, message = []string{tip}, fmt.Sprintf("%s (#%d)", p.title, p.number)
	}
	c, err := p.repo.writeCommit(tree, parents, message, CommitSpec{Author: Person{Login: who.login}, SignedByGitHub: true})
	if err != nil {
		return err
	}
	now := p.repo.sim.now()
	p.merged, p.mergeSHA, p.mergedBy, p.mergedAt = true, c.SHA, who, now
	p.state = "closed" // before the push, so that nothing takes the base's new commit for a push to it
	err = p.repo.moveBranch(p.baseRef, c.SHA, false, who)
	return errors.Join(err, p.close(who))
}

func (p *Pull) close(by *account) error {
	p.state, p.closed, p.updated = "closed", p.repo.sim.now(), p.repo.sim.now()
	return p.send("closed", by, nil)
}

// Reopen opens it again.
func (p *Pull) Reopen() error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	if p.merged {
		return fmt.Errorf("reopen pull request %d of %s: it is merged", p.number, p.repo.fullName())
	}
	if p.headRepo.deleted || p.headRepo.branches[p.headRef] == "" || p.repo.branches[p.baseRef] == "" {
		return fmt.Errorf("reopen pull request %d of %s: its branch is gone", p.number, p.repo.fullName())
	}
	p.state, p.closed, p.updated = "open", time.Time{}, p.repo.sim.now()
	return p.send("reopened", p.author, nil)
}
