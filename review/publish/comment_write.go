package publish

import (
	"context"
	"errors"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

const (
	// settling is how long a forge that contradicts itself is given before it is
	// asked again.
	settling = 5 * time.Second
	// threadLag is how long a comment may be missing from a list before it counts as
	// deleted.
	threadLag = 2 * time.Minute
	// maxBegins bounds the attempts of one call to begin a review: with all comments,
	// without them, and once more after each when something old was in the way.
	maxBegins = 4
)

// run brings the pull request to what the view says.
func (k *posting) run(ctx context.Context) error {
	plan := k.plan()
	if k.row.Stage == PostingSent && k.row.Digest == plan.digest {
		return k.submit(ctx)
	}
	if k.row.Stage == PostingSent || k.row.Stage == PostingFilled {
		if err := k.retract(ctx); err != nil {
			return err
		}
		plan = k.plan()
	}
	return k.post(ctx, plan)
}

// plan is what there is to say now; the result says what of it is certain already.
func (k *posting) plan() commentPlan {
	plan := planComments(k.v, k.open, k.limits)
	k.res.NotCommented, k.res.Standing = plan.left, nil
	for _, d := range plan.standing {
		k.res.Standing = append(k.res.Standing, d.Key)
	}
	return plan
}

// post says the plan, from its beginning.
func (k *posting) post(ctx context.Context, plan commentPlan) error {
	parts, err := k.partsOf(ctx, plan)
	if err != nil {
		return err
	}
	same := k.row.Digest == plan.digest
	k.row.Parts = parts
	if len(shownOf(parts)) == 0 {
		if err := k.clear(ctx); err != nil {
			return err
		}
		return k.confirm(ctx, plan.noted)
	}
	if k.row.Stage != PostingBegun || !same {
		k.row.Seq++
		k.row.Apart = k.row.Apart && same
	}
	k.row.Stage, k.row.Digest, k.row.HeadSHA, k.row.SessionID = PostingBegun, plan.digest, k.v.HeadSHA, k.v.SessionID
	k.row.Review = forge.ReviewRef{}
	if err := k.save(ctx, plan.noted); err != nil {
		return err
	}
	k.note(plan.noted)
	if err := k.begin(ctx, plan); err != nil {
		return err
	}
	if k.row.Apart || len(k.replies()) > 0 {
		if empty, err := k.fill(ctx, plan); err != nil || empty {
			return err
		}
	}
	k.row.Stage = PostingSent
	if err := k.save(ctx, nil); err != nil {
		return err
	}
	return k.submit(ctx)
}

// partsOf makes the plan's parts, after looking for the threads that get a reply.
func (k *posting) partsOf(ctx context.Context, plan commentPlan) ([]PostingPart, error) {
	var parts []PostingPart
	for _, f := range plan.comments {
		parts = append(parts, PostingPart{Delivered: deliveredOf(f, k.v.HeadSHA), Shown: true})
	}
	threads, err := k.threads(ctx, plan.gone)
	if err != nil {
		return nil, err
	}
	for _, d := range plan.gone {
		t, found := threadOf(threads, d)
		if !found && d.State == DeliveryPosted && k.now().Sub(d.PostedAt) < threadLag {
			return nil, k.unsettled("the list of threads lacks a comment of a moment ago", settling)
		}
		d.State, d.FixedSHA = DeliveryFixed, k.v.HeadSHA
		d.ThreadID, d.CommentID = t.ID, t.CommentID
		parts = append(parts, PostingPart{Delivered: d, Shown: found})
	}
	return parts, nil
}

// threads lists ours where a finding that stands as a comment is gone.
func (k *posting) threads(ctx context.Context, gone []Delivered) ([]forge.Thread, error) {
	for _, d := range gone {
		if d.State != DeliveryPosted {
			continue
		}
		var threads []forge.Thread
		err := k.call(ctx, func(ctx context.Context) error {
			var err error
			threads, err = k.w.OwnThreads(ctx, k.v.Pull)
			return err
		})
		return threads, err
	}
	return nil, nil
}

// begin makes the pending review, or finds the one that an earlier attempt made.
func (k *posting) begin(ctx context.Context, plan commentPlan) error {
	for range maxBegins {
		var comments []forge.LineComment
		if !k.row.Apart {
			comments = commentsOf(plan.comments)
		}
		err := k.call(ctx, func(ctx context.Context) error {
			ref, err := k.w.BeginReview(ctx, k.v.Pull, k.v.HeadSHA, k.body(plan), comments)
			k.row.Review = ref
			return err
		})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, forge.ErrNotInPull):
			k.forget()
			return &SupersededError{Pull: k.v.Pull, HeadSHA: k.v.HeadSHA, Err: err}
		case !forge.IsKind(err, forge.KindInvalid):
			if !mayHaveHappened(err) {
				k.forget()
			}
			return err
		case errors.Is(err, forge.ErrReviewPending) || len(comments) == 0:
			if done, err := k.makeRoom(ctx, err); done || err != nil {
				return err
			}
		default:
			// A place was refused, and the forge does not say which: each on its own.
			k.row.Apart = true
			k.row.Seq++
			if err := k.save(ctx, nil); err != nil {
				return err
			}
		}
	}
	return k.unsettled("something was in the way of every attempt to begin a review", settling)
}

// makeRoom looks for the pending review that is in the way: it is adopted where it
// is the intended one, and dropped where it is not. A list that shows none is behind.
func (k *posting) makeRoom(ctx context.Context, refused error) (adopted bool, err error) {
	dropped := false
	list, err := k.ownReviews(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range list {
		if !r.Pending {
			continue
		}
		if finalLine(r.Body) == k.marker() {
			k.row.Review, k.res.Adopted = r.Ref, true
			return true, nil
		}
		if err := k.drop(ctx, r.Ref); err != nil {
			return false, err
		}
		dropped = true
	}
	switch {
	case dropped:
		return false, nil
	case errors.Is(refused, forge.ErrReviewPending):
		return false, k.unsettled("a pending review is in the way, and the list does not show it", settling)
	}
	k.forget()
	return false, refused
}

// fill adds the parts that are not in the pending review yet, each on its own. It
// answers empty when nothing was left to show.
func (k *posting) fill(ctx context.Context, plan commentPlan) (empty bool, err error) {
	k.row.Stage = PostingFilled
	if err := k.save(ctx, nil); err != nil {
		return false, err
	}
	var comments []forge.LineComment
	if k.row.Apart {
		comments = commentsOf(plan.comments)
	}
	var refused forge.Refused
	err = k.call(ctx, func(ctx context.Context) error {
		var err error
		refused, err = k.w.AddToReview(ctx, k.v.Pull, k.row.Review, comments, k.replies())
		return err
	})
	if err != nil {
		return false, err
	}
	comment, reply := 0, 0
	for i := range k.row.Parts {
		part := &k.row.Parts[i]
		switch {
		case part.Delivered.State == DeliveryPosted:
			_, part.Refused = refused.Comments[comment]
			comment++
		case part.Shown:
			_, part.Refused = refused.Replies[reply]
			reply++
		}
	}
	if comments, replies, inBody := k.counts(); comments+replies+inBody > 0 {
		return false, nil
	}
	if err := k.drop(ctx, k.row.Review); err != nil {
		return false, err
	}
	k.row.Review = forge.ReviewRef{}
	return true, k.confirm(ctx, nil)
}

// submit makes the review visible. A refusal means that it is visible already, which
// is looked at and not believed.
func (k *posting) submit(ctx context.Context) error {
	err := k.call(ctx, func(ctx context.Context) error {
		return k.w.SubmitReview(ctx, k.v.Pull, k.row.Review, k.body(k.plan()))
	})
	if forge.IsKind(err, forge.KindInvalid) || forge.IsKind(err, forge.KindNotFound) {
		k.res.Adopted = true
		err = k.look(ctx, err)
	}
	if err != nil {
		return err
	}
	return k.confirm(ctx, nil)
}

// look asks what became of the known review whose submission was refused; nil when
// people see it.
func (k *posting) look(ctx context.Context, refused error) error {
	list, err := k.ownReviews(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		switch {
		case r.Ref.ID != k.row.Review.ID:
		case r.Pending:
			return k.unsettled("the review is listed as pending, and cannot be submitted", settling)
		default:
			return nil
		}
	}
	if forge.IsKind(refused, forge.KindNotFound) {
		k.forget() // somebody deleted it before anybody saw it
		return k.unsettled("the pending review is gone", settling)
	}
	return k.unsettled("the review cannot be submitted, and the list does not show it", settling)
}

// retract takes back a review that is no longer what is wanted, or of which nobody
// knows how much it holds. One that people see already cannot be: it stays.
func (k *posting) retract(ctx context.Context) error {
	err := k.call(ctx, func(ctx context.Context) error { return k.w.DropReview(ctx, k.v.Pull, k.row.Review) })
	if forge.IsKind(err, forge.KindInvalid) {
		if err := k.look(ctx, err); err != nil {
			return err
		}
		return k.confirm(ctx, nil)
	}
	if err != nil {
		return err
	}
	k.row.Stage, k.row.Review = PostingNone, forge.ReviewRef{}
	return nil
}

// clear removes what an attempt that is not wanted any more may have left pending.
func (k *posting) clear(ctx context.Context) error {
	if k.row.Stage != PostingBegun {
		return nil
	}
	list, err := k.ownReviews(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Pending {
			if err := k.drop(ctx, r.Ref); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *posting) drop(ctx context.Context, ref forge.ReviewRef) error {
	return k.call(ctx, func(ctx context.Context) error { return k.w.DropReview(ctx, k.v.Pull, ref) })
}

func (k *posting) ownReviews(ctx context.Context) ([]forge.OwnReview, error) {
	var list []forge.OwnReview
	err := k.call(ctx, func(ctx context.Context) error {
		var err error
		list, err = k.w.OwnReviews(ctx, k.v.Pull)
		return err
	})
	return list, err
}

// confirm takes into the rows what people see now, and ends the posting.
func (k *posting) confirm(ctx context.Context, noted []Delivered) error {
	now := k.now()
	changed := noted
	if k.row.Review.ID != 0 {
		k.res.ReviewID = k.row.Review.ID
	}
	for _, part := range k.row.Parts {
		d := part.Delivered
		switch {
		case d.State == DeliveryFixed:
			d.FixedAt = now
			k.res.Fixed = append(k.res.Fixed, d.Key)
		case part.Refused:
			d.State, d.ReviewID, d.PostedAt = DeliveryRefused, k.row.Review.ID, now
			k.res.InBody = append(k.res.InBody, d.Key)
		default:
			d.ReviewID, d.PostedAt = k.row.Review.ID, now
			k.res.Posted = append(k.res.Posted, d.Key)
		}
		changed = append(changed, d)
	}
	if k.row.Stage == PostingNone && len(changed) == 0 {
		return nil
	}
	before := k.row
	k.forget()
	if err := k.save(ctx, changed); err != nil {
		k.row = before // the row must not say that it is over while these are not kept
		return err
	}
	k.note(changed)
	return nil
}

// forget ends what is under way.
func (k *posting) forget() {
	k.row.Stage, k.row.Parts, k.row.Digest, k.row.Apart, k.row.Review = PostingNone, nil, "", false, forge.ReviewRef{}
}

// note takes saved rows into what is known to be open.
func (k *posting) note(changed []Delivered) {
	byKey := make(map[review.FindingKey]Delivered)
	for _, d := range append(k.open, changed...) {
		byKey[d.Key] = d
	}
	k.open = nil
	for _, d := range byKey {
		if d.State.Open() {
			k.open = append(k.open, d)
		}
	}
}

// marker names this attempt in the review's body.
func (k *posting) marker() string { return reviewMarker(k.row.Digest, k.row.Seq) }

// body is the review's text, as far as it is known which parts are refused.
func (k *posting) body(plan commentPlan) string {
	byKey := make(map[review.FindingKey]review.Finding)
	for _, f := range plan.comments {
		byKey[f.ID()] = f
	}
	var refused []review.Finding
	for _, part := range k.row.Parts {
		if f, ok := byKey[part.Delivered.Key]; ok && part.Refused {
			refused = append(refused, f)
		}
	}
	comments, replies, _ := k.counts()
	return pullReviewBody(k.v, comments, replies, refused, k.marker())
}

// counts are the comments and replies that the review shows, and the findings in
// its body.
func (k *posting) counts() (comments, replies, inBody int) {
	for _, part := range k.row.Parts {
		posted := part.Delivered.State == DeliveryPosted
		switch {
		case posted && part.Refused:
			inBody++
		case posted:
			comments++
		case part.Shown && !part.Refused:
			replies++
		}
	}
	return comments, replies, inBody
}

// replies are the answers in the threads of findings that are gone.
func (k *posting) replies() []forge.Reply {
	var out []forge.Reply
	for _, part := range k.row.Parts {
		if d := part.Delivered; d.State == DeliveryFixed && part.Shown {
			out = append(out, forge.Reply{ThreadID: d.ThreadID, Body: fixedBody(d.Marker, d.FixedSHA)})
		}
	}
	return out
}

func commentsOf(list []review.Finding) []forge.LineComment {
	var out []forge.LineComment
	for _, f := range list {
		out = append(out, lineComment(f))
	}
	return out
}

func shownOf(parts []PostingPart) []PostingPart {
	var out []PostingPart
	for _, part := range parts {
		if part.Shown {
			out = append(out, part)
		}
	}
	return out
}
