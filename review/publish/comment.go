package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// Line comments are posted as one pull-request review, which is begun pending, so
// that nobody sees it, and appears as a whole by being submitted:
//
//	       plan, save          begin             save          submit          save
//	none  ----------->  begun  ----->  (pending)  ---->  sent  ----->  (seen)  ---->  none
//	  ^                  |  |                             ^  |
//	  |   begin again:   |  | its parts one by one        |  | killed, or no answer:
//	  |   refused means  |  v                             |  v submit again, or drop
//	  |   that one is    | filled  -----------------------+  where the plan changed;
//	  |   there          |   |        save                   refused means that it
//	  +------------------+---+  killed: drop, begin again    is seen already
//
// The forge itself keeps it from being twice: an account has one pending review on a
// pull request, and a review is submitted once. So no step believes a list that
// lacks something: a second begin is refused while a first one exists, and what a
// stale list hides is asked again later.

// CommentResult is what a session said on the lines of a pull request, and what it
// left for the checks to say. Keys are in the order of their findings, worst first.
type CommentResult struct {
	// ReviewID is the review that this call submitted; 0 when it had nothing to say.
	ReviewID int64
	// Posted are findings commented by this call; InBody those whose place the forge
	// refused, which stand in full in the review's body.
	Posted, InBody []review.FindingKey
	// Standing were commented, or put into a body, before, and nothing new is said.
	Standing []review.FindingKey
	// Fixed are gone; their threads say so where there still are any.
	Fixed []review.FindingKey
	// NotCommented stand and are said nowhere on the pull request's lines: they have
	// no place, are below the least severity, or there was no room.
	NotCommented []review.Finding
	// Adopted: an earlier attempt's review was found and completed.
	Adopted bool
	// Calls counts the requests to the forge.
	Calls int
}

// SupersededError says that the commit is not part of the pull request any more, so
// nothing was posted (case 12). Trying again is useless; the newer head has its own
// session.
type SupersededError struct {
	Pull    forge.PullRef
	HeadSHA string
	Err     error
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("comment on %s#%d at %s: the commit is no longer part of the pull request: %v", e.Pull.Repo.FullName(), e.Pull.Number, short(e.HeadSHA), e.Err)
}

// Unwrap gives the forge's refusal.
func (e *SupersededError) Unwrap() error { return e.Err }

// UnsettledError says that the forge contradicts itself, as it does for seconds
// after a write: its list lacks what it says is there. The caller comes back when
// After has passed. forge.Temporary holds for it.
type UnsettledError struct {
	Pull  forge.PullRef
	What  string
	After time.Duration
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("comment on %s#%d: %s; asked again after %s", e.Pull.Repo.FullName(), e.Pull.Number, e.What, e.After)
}

// Unwrap makes it a refusal that waiting mends.
func (e *UnsettledError) Unwrap() error {
	return &forge.Error{Kind: forge.KindUnavailable, Op: "comment", RetryAfter: e.After, Err: errors.New(e.What)}
}

// Comment says the view's findings on the lines of its pull request: each once,
// whatever breaks, in one review with the event COMMENT, since verdicts live in
// checks. Findings that are gone are answered in their threads by the same review.
// The findings must have been placed (Place). It asks for two requests where there
// is something new, and for none where there is nothing.
//
// Only a decided view is commented: a draft's findings change with every push, so
// they wait until it is ready, as its review does, and a pull request that is paused
// or over is left in peace. In observe mode comments are posted: whoever tries us
// out wants to see what we find.
//
// Errors: *SupersededError, nothing is to be done; *BusyError, another process is at
// it; *UnsettledError and every forge error that is temporary, call again with the
// same view or a newer one; other forge errors are refusals that a person has to
// mend. The result is whole without an error and with *SupersededError. With any
// other nobody knows yet what is commented, so the checks should not take it up.
func (p *Publisher) Comment(ctx context.Context, w forge.ReviewWriter, repo forge.Repo, v View, limits CommentLimits) (CommentResult, error) {
	if err := v.validate(); err != nil {
		return CommentResult{}, err
	}
	if p.comments == nil {
		return CommentResult{}, errors.New("comment: the publisher has no store for comments; set Options.Comments")
	}
	if v.Pull.Repo.ID != repo.ID {
		return CommentResult{}, fmt.Errorf("comment: the view is about repository %d, not %d", v.Pull.Repo.ID, repo.ID)
	}
	if v.State != StateDecided {
		return CommentResult{}, nil
	}
	v.Pull.Repo = repo
	key := Key{RepoID: repo.ID, HeadSHA: v.HeadSHA, Name: fmt.Sprintf("comments on pull request %d", v.Pull.Number)}
	unlock, err := p.keys.lock(ctx, Key{RepoID: repo.ID, Name: key.Name})
	if err != nil {
		return CommentResult{}, fmt.Errorf("comment on pull request %d: %w", v.Pull.Number, err)
	}
	defer unlock()
	claimed, err := p.claimPosting(ctx, key, v.Pull)
	if err != nil {
		return CommentResult{}, err
	}
	k := &posting{Publisher: p, w: w, v: v, limits: limits, row: claimed.Posting, open: claimed.Open}
	k.row.Pull = v.Pull
	if err = k.run(ctx); err != nil {
		err = fmt.Errorf("comment on pull request %d at %s: %w", v.Pull.Number, short(v.HeadSHA), err)
	}
	return k.res, errors.Join(err, k.release(ctx))
}

// claimPosting asks for the pull request's row until it is free or the wait is over.
func (p *Publisher) claimPosting(ctx context.Context, key Key, pull forge.PullRef) (ClaimedPosting, error) {
	deadline := time.NewTimer(p.wait)
	defer deadline.Stop()
	for {
		now := p.now()
		claimed, err := p.comments.ClaimPosting(ctx, PostingClaim{Pull: pull, Owner: p.owner, Now: now, Until: now.Add(leaseFor)})
		if err != nil {
			return ClaimedPosting{}, err
		}
		if claimed.Granted {
			return claimed, nil
		}
		again := time.NewTimer(p.poll)
		select {
		case <-again.C:
		case <-deadline.C:
			again.Stop()
			return ClaimedPosting{}, &BusyError{Key: key, Owner: claimed.Posting.Owner, Until: claimed.Posting.LeaseUntil}
		case <-ctx.Done():
			again.Stop()
			return ClaimedPosting{}, ctx.Err()
		}
	}
}

// posting is one Comment at work: it holds the pull request's row.
type posting struct {
	*Publisher
	w      forge.ReviewWriter
	v      View
	limits CommentLimits
	row    Posting
	open   []Delivered
	res    CommentResult
}

// call runs one request that must end before the claim does.
func (k *posting) call(ctx context.Context, f func(context.Context) error) error {
	left := k.row.LeaseUntil.Sub(k.now()) - leaseMargin
	if left <= 0 {
		return ErrPostingLost
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	k.res.Calls++
	return f(ctx)
}

// save writes the row and what changed with it, and prolongs the claim.
func (k *posting) save(ctx context.Context, changed []Delivered) error {
	k.row.UpdatedAt = k.now()
	k.row.LeaseUntil = k.row.UpdatedAt.Add(leaseFor)
	return k.comments.SavePosting(ctx, k.row, changed)
}

// release gives the row back, also when the caller's context has ended.
func (k *posting) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseMargin)
	defer cancel()
	k.row.UpdatedAt = k.now()
	k.row.LeaseUntil = time.Time{}
	err := k.comments.SavePosting(ctx, k.row, nil)
	if errors.Is(err, ErrPostingLost) {
		return nil // it ended by itself, and everything before was saved
	}
	return err
}

// unsettled is the error of a contradiction that time solves.
func (k *posting) unsettled(what string, wait time.Duration) error {
	return &UnsettledError{Pull: k.v.Pull, What: what, After: wait}
}
