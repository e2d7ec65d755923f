package forge

import (
	"context"
	"errors"
)

// What a KindInvalid of BeginReview means, where the forge says so: the error wraps
// one of these. One that wraps neither refuses the place of a comment, as far as
// anybody can tell.
var (
	// ErrReviewPending: the account has a pending review on the pull request.
	ErrReviewPending = errors.New("there is a pending review already")
	// ErrNotInPull: the commit is not part of the pull request any more.
	ErrNotInPull = errors.New("the commit is not part of the pull request")
)

// LineComment is a remark on lines of the diff, as part of a review. Its place
// must lie in a hunk: one that does not is refused, and every comment of the same
// call with it.
type LineComment struct {
	Path string
	Side string // LEFT or RIGHT, upper case
	// StartLine is 0 for a comment on one line, else below Line and in its hunk.
	StartLine int
	Line      int
	Body      string
}

// ReviewRef names one pull-request review: by number in REST, by node in GraphQL.
type ReviewRef struct {
	ID   int64
	Node string
}

// OwnReview is a review that our App wrote.
type OwnReview struct {
	Ref ReviewRef
	// Pending: nobody else sees it yet. An account has at most one on a pull request.
	Pending   bool
	CommitSHA string
	Body      string
}

// Thread is a conversation on lines that a comment of our App began.
type Thread struct {
	ID       string // GraphQL node
	ReviewID int64  // the review that its first comment belongs to
	// CommentID and Body are those of the first comment; Replies are the later ones
	// that our App wrote, pending ones too.
	CommentID int64
	Body      string
	Replies   []string
	Resolved  bool
	Outdated  bool
}

// Reply is one more comment in a thread.
type Reply struct {
	ThreadID string
	Body     string
}

// ReviewWriter writes reviews of our App, so that each appears exactly once: a
// review is begun pending, which only its author sees and of which an account has
// at most one on a pull request, and becomes visible as a whole by being submitted.
type ReviewWriter interface {
	// BeginReview makes a pending review on the commit. KindInvalid: a comment's
	// place was refused, a pending one exists, or the commit left the pull request.
	BeginReview(ctx context.Context, pull PullRef, head, body string, comments []LineComment) (ReviewRef, error)
	// AddToReview adds to a pending review, each item on its own: it answers which
	// were refused, by their index, and why.
	AddToReview(ctx context.Context, pull PullRef, review ReviewRef, comments []LineComment, replies []Reply) (Refused, error)
	// SubmitReview makes a pending review visible, as event COMMENT with this body.
	// KindInvalid: it is pending no more, which may be an earlier attempt's success.
	SubmitReview(ctx context.Context, pull PullRef, review ReviewRef, body string) error
	// DropReview deletes a pending review. One that is gone is no error; KindInvalid:
	// it was submitted.
	DropReview(ctx context.Context, pull PullRef, review ReviewRef) error
	// OwnReviews lists our App's reviews of a pull request, newest first.
	OwnReviews(ctx context.Context, pull PullRef) ([]OwnReview, error)
	// OwnThreads lists the threads that our App began, pending ones too.
	OwnThreads(ctx context.Context, pull PullRef) ([]Thread, error)
}

// Refused says which parts of a review the forge did not take, by index.
type Refused struct {
	Comments map[int]string
	Replies  map[int]string
}
