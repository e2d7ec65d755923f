package githubsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PullReview is a snapshot of a review of a pull request, one that is pending included.
type PullReview struct {
	ID           int64
	NodeID       string
	Author, Body string
	State        string // PENDING, COMMENTED, APPROVED, CHANGES_REQUESTED or DISMISSED
	CommitID     string
	Comments     int
	SubmittedAt  time.Time // zero while it is pending
}

// ReviewComment is a snapshot of a comment on the diff.
type ReviewComment struct {
	ID, ReviewID int64
	ThreadID     string // GraphQL's
	InReplyTo    int64  // 0 for the comment that begins its thread
	Author, Body string
	Path, Side   string
	// Line and StartLine are 0 for an outdated comment, a comment on a file, and StartLine for one line.
	Line, StartLine                 int
	OriginalLine, OriginalStartLine int
	CommitID, OriginalCommitID      string
	Pending                         bool
	Minimized                       string // the reason, empty while it is shown
}

// ReviewThread is a snapshot of a conversation on the diff.
type ReviewThread struct {
	ID         string // GraphQL's
	Path, Side string
	Line       int // 0 for an outdated thread and one on a file
	StartLine  int
	Resolved   bool
	ResolvedBy string
	Outdated   bool
	Comments   []ReviewComment
}

// Reviews lists the reviews of the pull request, oldest first, those that are pending too.
func (p *Pull) Reviews() []PullReview {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	var out []PullReview
	for _, v := range p.reviews {
		out = append(out, v.snapshot())
	}
	return out
}

func (v *review) snapshot() PullReview {
	return PullReview{
		ID: v.id, NodeID: nodeID("PRR", v.id), Author: v.author.login, Body: v.body, State: v.state, CommitID: v.commit,
		Comments: len(v.comments()), SubmittedAt: v.submitted,
	}
}

// ReviewComments lists the comments on the diff, oldest first, those of pending reviews too.
func (p *Pull) ReviewComments() []ReviewComment {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	var out []ReviewComment
	for _, m := range p.reviewComments(func(*reviewComment) bool { return true }) {
		out = append(out, m.snapshot())
	}
	return out
}

func (m *reviewComment) snapshot() ReviewComment {
	t := m.thread
	c := ReviewComment{
		ID: m.id, ReviewID: m.review.id, ThreadID: nodeID("PRRT", t.id), Author: m.author.login, Body: m.body, Path: t.now.path, Side: t.place.side,
		Line: t.now.line, StartLine: t.now.startLine, OriginalLine: t.place.line, OriginalStartLine: t.place.startLine,
		CommitID: t.now.commit, OriginalCommitID: t.commit, Pending: m.review.state == reviewPending, Minimized: m.minimized,
	}
	if m.replyTo != nil {
		c.InReplyTo = m.replyTo.id
	}
	return c
}

// Threads lists the conversations on the diff, oldest first, those of pending reviews too.
func (p *Pull) Threads() []ReviewThread {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	var out []ReviewThread
	for _, t := range p.reviewThreads {
		one := ReviewThread{
			ID: nodeID("PRRT", t.id), Path: t.now.path, Side: t.place.side, Line: t.now.line, StartLine: t.now.startLine,
			Resolved: t.resolved != nil, Outdated: t.now.outdated,
		}
		if t.resolved != nil {
			one.ResolvedBy = t.resolved.login
		}
		for _, m := range t.comments {
			one.Comments = append(one.Comments, m.snapshot())
		}
		out = append(out, one)
	}
	return out
}

// NewComment is a comment that a person writes on lines of the diff.
type NewComment struct {
	Path string
	Side string // LEFT or RIGHT; empty means RIGHT
	// StartLine is 0 for a comment on one line; Line is 0 for a comment on the file.
	StartLine, Line int
	Body            string
}

// SubmitReview reviews the head as a person does: event is APPROVE, REQUEST_CHANGES or COMMENT. It sends
// pull_request_review.submitted, and pull_request_review_comment.created for each comment.
func (p *Pull) SubmitReview(login, event, body string, comments ...NewComment) (PullReview, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	by := p.repo.sim.account(login)
	v, err := p.submitReview(by, event, body, comments)
	if err != nil {
		return PullReview{}, fmt.Errorf("review pull request %d of %s as %s: %w", p.number, p.repo.fullName(), login, err)
	}
	return v.snapshot(), nil
}

func (p *Pull) submitReview(by *account, event, body string, comments []NewComment) (*review, error) {
	var drafts []draft
	for _, n := range comments {
		pl := place{path: n.Path, side: n.Side, line: n.Line, startLine: n.StartLine, hasStarts: n.StartLine != 0, file: n.Line == 0}
		if pl.side == "" {
			pl.side = sideRight
		}
		if pl.hasStarts {
			pl.startSide = pl.side
		}
		drafts = append(drafts, draft{place: pl, body: n.Body})
	}
	if err := p.checkEvent(by, event, body, len(drafts)); err != nil {
		return nil, err
	}
	v, err := p.newReview(by, nil, "", body, drafts)
	if err != nil {
		return nil, err
	}
	return v, v.submit(event, nil)
}

// DismissReview takes a verdict back, as a maintainer does; it sends pull_request_review.dismissed.
func (p *Pull) DismissReview(id int64, by, message string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	err := errors.New("no such review")
	if v := p.findReview(id); v != nil {
		err = v.dismiss(p.repo.sim.account(by), message)
	}
	if err != nil {
		return fmt.Errorf("dismiss review %d of pull request %d of %s: %w", id, p.number, p.repo.fullName(), err)
	}
	return nil
}

// ReplyInThread replies to a thread as a person does, and sends the events of it.
func (p *Pull) ReplyInThread(threadID, login, body string) (int64, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	t, err := p.threadByNode(threadID)
	if err != nil {
		return 0, err
	}
	m, err := p.replyAs(p.repo.sim.account(login), nil, t, body)
	if err != nil {
		return 0, fmt.Errorf("reply in thread %s: %w", threadID, err)
	}
	return m.id, nil
}

// ResolveThread resolves a conversation as a person does.
func (p *Pull) ResolveThread(threadID, login string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	t, err := p.threadByNode(threadID)
	if err != nil {
		return err
	}
	t.resolved = p.repo.sim.account(login)
	return nil
}

// UnresolveThread opens a conversation again.
func (p *Pull) UnresolveThread(threadID string) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	t, err := p.threadByNode(threadID)
	if err != nil {
		return err
	}
	t.resolved = nil
	return nil
}

// DeleteReviewComment deletes a comment on the diff, and its thread where it was the last one there.
func (p *Pull) DeleteReviewComment(id int64) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	m := p.repo.findReviewComment(id)
	if m == nil || m.thread.pull != p {
		return fmt.Errorf("delete review comment %d of pull request %d of %s: no such comment", id, p.number, p.repo.fullName())
	}
	m.delete()
	return nil
}

func (p *Pull) threadByNode(id string) (*reviewThread, error) {
	i := slices.IndexFunc(p.reviewThreads, func(t *reviewThread) bool { return nodeID("PRRT", t.id) == id })
	if i < 0 {
		return nil, fmt.Errorf("thread %s of pull request %d of %s: no such thread", id, p.number, p.repo.fullName())
	}
	return p.reviewThreads[i], nil
}

// announce tells about a review that was submitted, and about each of its comments.
func (v *review) announce(comments []*reviewComment) error {
	errs := []error{v.send("submitted", v.author)}
	for _, m := range comments {
		errs = append(errs, m.send("created", v.author))
	}
	return errors.Join(errs...)
}

// minimizeReason is how GitHub shows a classifier: off-topic for OFF_TOPIC.
func minimizeReason(classifier string) string {
	return strings.ReplaceAll(strings.ToLower(classifier), "_", "-")
}
