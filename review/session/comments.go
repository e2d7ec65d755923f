package session

import (
	"context"
	"errors"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// commentLimits are the policy's bounds on line comments.
func (r *run) commentLimits() publish.CommentLimits {
	limits := publish.CommentLimits{Max: r.o.Policy.Comments.Max, MinSeverity: review.SeverityMedium}
	// The policy is valid; a word that is none leaves the default.
	_ = limits.MinSeverity.UnmarshalText([]byte(r.o.Policy.Comments.MinSeverity))
	return limits
}

// allowComments asks for permission to comment; see allowNotes.
func (r *run) allowComments() {
	verdict := permission.OfAction(permission.ReviewComment, "findings on the lines of "+r.s.HeadSHA, r.o.Policy.Actions, r.o.Policy.Mode)
	allowed := verdict.Decision == permission.Allow
	if !r.s.CommentsAllowed || !allowed {
		r.note("G3", trail.TypePermission, verdict)
	}
	r.s.CommentsAllowed = allowed
}

// postComments says the findings on their lines, once in a session that could. It
// answers the view with what is said there, and whether that is settled: while it is
// not, nobody knows which findings the review's check has to show.
func (r *run) postComments(ctx context.Context, v publish.View) (out publish.View, settled bool, again time.Time, err error) {
	if r.s.Commented == nil && r.s.CommentsAllowed && v.State == publish.StateDecided {
		again, err = r.comment(ctx, v)
		if err != nil || !again.IsZero() {
			return v, false, again, err
		}
	}
	if c := r.s.Commented; c != nil {
		v.Commented, v.CommentsLeft = c.Keys, c.Left
	}
	return v, true, time.Time{}, nil
}

// comment posts them. A refusal that only a person can mend is recorded and settles
// it: the findings are then told by the check alone.
func (r *run) comment(ctx context.Context, v publish.View) (again time.Time, err error) {
	limits := r.commentLimits()
	res, err := r.o.Publisher.Comment(ctx, r.client, r.turn.Pull.Repo, v, limits)
	var moved *publish.SupersededError
	switch {
	case ctx.Err() != nil:
		return again, ctx.Err()
	case errors.As(err, &moved):
		return again, r.supersedeQuietly(ctx)
	case err != nil:
		if again = r.noteFailed("comments", err); !again.IsZero() {
			return again, nil
		}
		res = publish.CommentResult{}
	}
	said := Commented{Keys: []review.FindingKey{}}
	for _, keys := range [][]review.FindingKey{res.Posted, res.InBody, res.Standing} {
		said.Keys = append(said.Keys, keys...)
	}
	for _, f := range res.NotCommented {
		if f.Anchor != nil && f.Severity >= limits.MinSeverity {
			said.Left++
		}
	}
	if res.ReviewID != 0 || len(res.Fixed) > 0 {
		r.note("G7", trail.TypePublish, commentedRecord(r.s.HeadSHA, res))
	}
	r.s.Commented = &said
	return again, r.save(ctx)
}

// supersedeQuietly ends a session whose head left the pull request while it was being
// published. Its check keeps what it says of its own commit; nothing more is said.
func (r *run) supersedeQuietly(ctx context.Context) error {
	r.s.Status = Superseded
	r.note("G7", trail.TypeRunEnd, runEnd{Status: r.s.Status, Calls: r.calls.ByRoute(), Total: r.calls.Total()})
	if err := r.save(ctx); err != nil {
		return err
	}
	return &ended{Outcome{Settle: r.o.Settle, RecheckAt: r.now().Add(r.o.Settle + time.Second)}}
}

// commentsRecord is what was said on the lines of a pull request.
type commentsRecord struct {
	Name     string              `json:"name"`
	HeadSHA  string              `json:"head_sha"`
	ReviewID int64               `json:"review_id,omitempty"`
	Posted   []review.FindingKey `json:"posted,omitempty"`
	InBody   []review.FindingKey `json:"in_body,omitempty"`
	Fixed    []review.FindingKey `json:"fixed,omitempty"`
	LeftOut  int                 `json:"left_out,omitempty"`
	Adopted  bool                `json:"adopted,omitempty"`
}

func commentedRecord(sha string, res publish.CommentResult) commentsRecord {
	rec := commentsRecord{Name: "pull request review", HeadSHA: sha, ReviewID: res.ReviewID, Adopted: res.Adopted}
	var n [3]int
	rec.Posted, n[0] = trail.Bound(res.Posted, listed)
	rec.InBody, n[1] = trail.Bound(res.InBody, listed)
	rec.Fixed, n[2] = trail.Bound(res.Fixed, listed)
	rec.LeftOut = n[0] + n[1] + n[2]
	return rec
}
