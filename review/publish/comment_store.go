package publish

import (
	"context"
	"errors"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// PostingStage is how far the review that is being posted has come.
type PostingStage string

// The stages of a posting.
const (
	// PostingNone: nothing is under way.
	PostingNone PostingStage = ""
	// PostingBegun: a pending review was meant to be begun. Whether it exists is not
	// known; it can hold no more than it was begun with.
	PostingBegun PostingStage = "begun"
	// PostingFilled: parts are being added to the known pending review, and how many
	// arrived is not known. It is dropped and begun again.
	PostingFilled PostingStage = "filled"
	// PostingSent: the known review is whole and was meant to be submitted. It is
	// pending, or everybody sees it.
	PostingSent PostingStage = "sent"
)

// Posting is the row of a pull request's reviews: what is under way, and who may
// write now.
type Posting struct {
	Pull  forge.PullRef
	Stage PostingStage
	// Seq numbers the plans, so that a review of an earlier plan is known as one.
	Seq int64
	// SessionID, HeadSHA and Digest name the plan that is under way, Parts are what
	// it brings.
	SessionID string
	HeadSHA   string
	Digest    string
	Parts     []PostingPart
	// Apart: the forge refused the plan's comments as a whole, so each is added on
	// its own.
	Apart bool
	// Review is the pending review, known from PostingFilled on.
	Review    forge.ReviewRef
	UpdatedAt time.Time

	// Owner holds the claim until LeaseUntil. Fence grows with every claim; a save
	// with an older one is refused.
	Owner      string
	LeaseUntil time.Time
	Fence      int64
}

// PostingPart is one comment or reply of a plan, and what it makes of the finding.
type PostingPart struct {
	Delivered Delivered `json:"delivered"`
	// Shown is false for a finding that is only noted: its thread is gone.
	Shown bool `json:"shown,omitempty"`
	// Refused: the forge did not take this part.
	Refused bool `json:"refused,omitempty"`
}

// DeliveryState is what became of a finding on the pull request.
type DeliveryState string

// The states of a delivered finding.
const (
	// DeliveryPosted: it stands as a comment.
	DeliveryPosted DeliveryState = "posted"
	// DeliveryRefused: its place was refused, so it stands in the review's body.
	DeliveryRefused DeliveryState = "refused"
	// DeliveryFixed: it was gone on a later head, and its thread says so where there
	// still was one.
	DeliveryFixed DeliveryState = "fixed"
	// DeliveryMoved: the same finding is known by another key now.
	DeliveryMoved DeliveryState = "moved"
)

// Open reports whether people still see the finding as one.
func (s DeliveryState) Open() bool { return s == DeliveryPosted || s == DeliveryRefused }

// Delivered is a finding that people were shown on a pull request.
type Delivered struct {
	Key   review.FindingKey    `json:"key"`
	State DeliveryState        `json:"state"`
	Rule  string               `json:"rule,omitempty"`
	From  review.FindingSource `json:"from"`
	Path  string               `json:"path"`
	// Severity is the one that it was shown with.
	Severity review.Severity `json:"severity"`
	// Likeness is equal for findings that differ in their line only.
	Likeness string `json:"likeness"`
	// Marker is the key in the comment's text: that of its first place.
	Marker review.FindingKey `json:"marker"`
	// ReviewID is the review that brought it. ThreadID and CommentID are known once
	// its thread was looked for.
	ReviewID  int64     `json:"review_id"`
	ThreadID  string    `json:"thread_id,omitempty"`
	CommentID int64     `json:"comment_id,omitempty"`
	HeadSHA   string    `json:"head_sha"`
	PostedAt  time.Time `json:"posted_at"`
	FixedSHA  string    `json:"fixed_sha,omitempty"`
	FixedAt   time.Time `json:"fixed_at,omitzero"`
}

// PostingClaim asks for the right to write a pull request's reviews.
type PostingClaim struct {
	Pull  forge.PullRef
	Owner string    // who asks; the same owner gets its own claim again
	Now   time.Time // a claim that ended before it is free
	Until time.Time
}

// ClaimedPosting is the answer to a claim.
type ClaimedPosting struct {
	// Granted is false while another owner holds the row; Posting then says until
	// when, and Open is empty.
	Granted bool
	Posting Posting
	// Open are the findings that stand on the pull request, at most MaxDelivered.
	Open []Delivered
}

// MaxDelivered bounds the open findings of one pull request that are read back.
const MaxDelivered = 1_000

// ErrPostingLost says that somebody else claimed the pull request's reviews
// meanwhile.
var ErrPostingLost = errors.New("the claim on this pull request's reviews was lost to another process")

// CommentStore keeps what was said on the lines of pull requests. Each method is
// one transaction.
type CommentStore interface {
	// ClaimPosting creates the pull request's row when there is none, and takes it
	// for the owner when it is free.
	ClaimPosting(ctx context.Context, c PostingClaim) (ClaimedPosting, error)
	// SavePosting writes the row and, by their keys, the findings, provided that
	// p.Fence is still the row's; ErrPostingLost otherwise, and nothing is written.
	// A zero LeaseUntil frees the row.
	SavePosting(ctx context.Context, p Posting, changed []Delivered) error
}
