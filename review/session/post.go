package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// view is what this session can say now.
func (r *run) view() publish.View {
	return publish.View{
		Pull:           r.s.Pull,
		PullURL:        r.s.URL,
		BaseRef:        r.s.BaseRef,
		HeadSHA:        r.s.HeadSHA,
		SessionID:      r.s.ID,
		Observe:        r.o.Policy.Mode == permission.Observe,
		Assessment:     r.s.Assessment,
		Evidence:       r.s.Evidence,
		PolicySource:   r.o.PolicySource,
		PolicyRevision: r.s.PolicyRevision,
	}
}

// post writes the check: permission and every record so far stand in the trail
// before the write leaves, and the write's own record follows.
func (r *run) post(ctx context.Context, v publish.View) error {
	allowed := permission.OfAction(permission.CheckRun, r.s.CheckName+" on "+r.s.HeadSHA, r.o.Policy.Actions, r.o.Policy.Mode)
	if !r.posted || allowed.Decision != permission.Allow {
		r.note("G3", trail.TypePermission, allowed)
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	if allowed.Decision != permission.Allow {
		return nil // said in the trail; an ask never waits in silence, and nobody could see it
	}
	v.TrailHead = r.head
	opt := r.publishOptions()
	res, err := r.o.Publisher.Publish(ctx, r.client, r.turn.Pull.Repo, r.s.CheckName, v, opt)
	if err != nil {
		return err
	}
	r.posted, r.forced = true, true
	r.note("G7", trail.TypePublish, published(r.s.CheckName, r.s.HeadSHA, res))
	return nil
}

// publishOptions: a re-run begins a run of its own, once. What the forge does not
// show as we posted it is written again, once; where it shows another run as the
// newest, only a newer one is seen.
func (r *run) publishOptions() publish.PublishOptions {
	opt := publish.PublishOptions{NewRun: r.rerun && !r.posted}
	if r.finding != nil && !r.forced && r.finding.shownWrongly() {
		opt.Force = true
		opt.NewRun = opt.NewRun || r.finding.Reason == FoundOther
	}
	return opt
}

// close ends what is open when the pull request was closed or merged: by the
// forge's word, since deliveries come out of order and again (cases 53 and 56).
func (r *run) close(ctx context.Context) (Outcome, error) {
	r.s = r.prev
	if err := r.recordDeliveries(ctx); err != nil {
		return Outcome{}, err
	}
	if !r.known {
		return Outcome{}, r.forgetClosed(ctx)
	}
	head := r.prev.HeadSHA
	if ev, ok := newest(r.turn.Events); head == "" && ok {
		head = ev.HeadSHA
	}
	snap, err := r.client.Snapshot(ctx, forge.SnapshotRequest{Pull: r.turn.Pull, Head: head})
	switch {
	case err != nil:
		return Outcome{}, err
	case snap.State == forge.PullOpen:
		return r.evaluateAt(ctx, snap)
	}
	if err := r.forgetClosed(ctx); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, r.finishClosed(ctx)
}

// forgetClosed takes the pull request out of those that a head's events wake.
func (r *run) forgetClosed(ctx context.Context) error {
	ev, ok := newest(r.turn.Events)
	switch {
	case !ok && r.finding != nil && r.known:
		// Found by its absence from a list. No event of before may be newer.
		return r.o.Store.RememberPull(ctx, KnownPull{Ref: r.turn.Pull, HeadSHA: r.prev.HeadSHA, BaseRef: r.prev.BaseRef, DefaultBranch: r.prev.DefaultBranch,
			State: forge.PullClosed, Draft: r.prev.Draft, UpdatedAt: r.finding.UpdatedAt})
	case !ok:
		return nil
	}
	return r.o.Store.RememberPull(ctx, KnownPull{Ref: r.turn.Pull, HeadSHA: ev.HeadSHA, BaseRef: ev.BaseRef, DefaultBranch: ev.DefaultBranch,
		State: forge.PullClosed, Draft: ev.Draft, UpdatedAt: ev.UpdatedAt})
}

// endClosed ends a session that found its pull request closed.
func (r *run) endClosed(ctx context.Context) error {
	if err := r.finishClosed(ctx); err != nil {
		return err
	}
	return &ended{}
}

func (r *run) finishClosed(ctx context.Context) error {
	if err := r.closeOthers(ctx, ""); err != nil {
		return err
	}
	if r.rerun {
		if err := r.rerunDone(ctx); err != nil {
			return err
		}
	}
	r.s.Status = Closed
	r.note("G7", trail.TypeRunEnd, runEnd{Status: r.s.Status, Calls: r.calls.ByRoute(), Total: r.calls.Total()})
	return r.save(ctx)
}

// closeOthers ends every check of this pull request that still waits on a head
// other than the one given, and takes its word out of those that other pull
// requests share: superseded by it or, without one, closed.
func (r *run) closeOthers(ctx context.Context, head string) error {
	open, err := r.o.Publications.OpenPublications(ctx, r.turn.Pull.Repo.ID, r.turn.Pull.Number)
	if err != nil {
		return err
	}
	for _, p := range open {
		if p.Key.HeadSHA == head && p.Key.Name != publish.Rival(r.s.CheckName) {
			continue // this session's own
		}
		v := r.view()
		v.HeadSHA, v.State = p.Key.HeadSHA, publish.StateClosed
		if p.SessionID != "" {
			v.SessionID = p.SessionID
		}
		if head != "" {
			v.State, v.SupersededBy = publish.StateSuperseded, head
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
		v.TrailHead = r.head
		res, err := r.o.Publisher.Close(ctx, r.client, p, v)
		if err != nil {
			return err
		}
		if !res.Unchanged {
			r.note("G7", trail.TypePublish, published(p.Key.Name, p.Key.HeadSHA, res))
		}
	}
	return nil
}

// failGrace bounds the attempt to say on the check that something failed.
const failGrace = 20 * time.Second

// fail records the error and says it on the check where that is possible. What
// retrying cannot mend ends here; anything else goes back to the queue.
func (r *run) fail(ctx context.Context, cause error) (Outcome, error) {
	if ctx.Err() != nil || r.s.ID == "" {
		return Outcome{}, cause // stopping, or nothing was begun: the queue tries again
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failGrace)
	defer cancel()
	final := r.permanent(cause)
	if forge.IsKind(cause, forge.KindForbidden) {
		r.o.Host.Forget(r.turn.Pull.Repo.Installation)
	}
	retrying := !final && (!r.turn.LastAttempt || forge.Held(cause))
	r.note("G0", trail.TypeRunError, runError{Error: cause.Error(), Retrying: retrying, Calls: r.calls.ByRoute(), Total: r.calls.Total()})
	r.s.Status = Failed
	err := r.save(ctx)
	if err == nil && r.posted {
		v := r.view()
		v.State, v.Failure = publish.StateFailed, &publish.Failure{What: shortly(cause), Retrying: retrying, Permission: forge.IsKind(cause, forge.KindForbidden), Reference: r.s.ID}
		err = errors.Join(r.post(ctx, v), r.flush(ctx))
	}
	if err != nil {
		cause = errors.Join(cause, fmt.Errorf("say so on the check: %w", err))
	}
	if final && !forge.Temporary(err) { // else the retry is for saying so
		log := r.o.Logger.WithLevel(r.told.level(r.turn.Pull.Repo.Installation, cause, r.now())).Err(cause).Str("session", r.s.ID).Str("repo", r.turn.Pull.Repo.FullName()).Int("pull", r.turn.Pull.Number)
		log.Msg("session ended: retrying cannot mend this")
		return Outcome{}, nil
	}
	return Outcome{}, cause
}

// lagging is how many attempts "not found" is taken for a machine of the forge
// that has not heard of the push yet.
const lagging = 3

// permanent: the forge refused for a reason that only a person can remove.
func (r *run) permanent(err error) bool {
	return forge.IsKind(err, forge.KindForbidden) || forge.IsKind(err, forge.KindSuspended) ||
		(forge.IsKind(err, forge.KindNotFound) && r.turn.Attempt >= lagging)
}

// shortly is the cause as a title can say it; the error itself may hold text
// from outside.
func shortly(err error) string {
	var fe *forge.Error
	switch {
	case !errors.As(err, &fe):
		return "an internal error"
	case fe.Kind == forge.KindRateLimited:
		return "GitHub's rate limit"
	case fe.Kind == forge.KindForbidden:
		return "a permission is missing"
	case fe.Kind == forge.KindMalformed:
		return "GitHub's answer was incomplete"
	case fe.Status != 0:
		return fmt.Sprintf("GitHub answered %d", fe.Status)
	}
	return "GitHub did not answer"
}
