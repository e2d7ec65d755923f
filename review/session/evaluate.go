package session

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// evaluate takes a pull request through the gates, from intake to publication.
func (r *run) evaluate(ctx context.Context) (Outcome, error) {
	if err := r.in(ctx, "G0", r.start); err != nil {
		return Outcome{}, err
	}
	var pull forge.Pull
	err := r.in(ctx, "G1", func(ctx context.Context) (err error) {
		pull, err = r.readPull(ctx)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	var found found
	err = r.in(ctx, "G4", func(ctx context.Context) (err error) { // what is there
		found, err = r.collect(ctx, pull)
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	if err := r.judge(ctx, pull, found); err != nil {
		return Outcome{}, err
	}
	return r.conclude(ctx)
}

// judge takes what was read through the gates that ask nobody.
func (r *run) judge(ctx context.Context, pull forge.Pull, found found) error {
	assessed := r.assess(found)
	var allowed review.Permission
	quick := func(gate string, f func()) {
		_ = r.in(ctx, gate, func(context.Context) error { f(); return nil })
	}
	quick("G3", func() { allowed = r.permit(found, assessed) })
	quick("G2", func() { r.plan(pull, found, assessed, allowed) })
	r.evidence(found, assessed, allowed) // G4: the record of it
	return r.in(ctx, "G5", func(ctx context.Context) error {
		r.review(pull)
		return r.checkpoint(ctx)
	})
}

// conclude is what follows from the evidence: the gate, and its publication.
func (r *run) conclude(ctx context.Context) (out Outcome, err error) {
	var outcome review.Outcome
	_ = r.in(ctx, "G6", func(context.Context) error { outcome = r.gate(); return nil })
	err = r.in(ctx, "G7", func(ctx context.Context) (err error) {
		out, err = r.publish(ctx, outcome)
		return err
	})
	return out, err
}

// start opens the session: the deliveries are chained, and the check goes back
// to in progress on the head that the payload names, before anything but the
// base's rules is read.
func (r *run) start(ctx context.Context) error {
	now := r.now()
	if err := r.newSession(now); err != nil {
		return err
	}
	// Kept before the deliveries are marked: a process that dies in between
	// leaves a session that the next turn resumes.
	if err := r.o.Store.SaveSession(ctx, r.s); err != nil {
		return err
	}
	begun := runStart{Reason: r.reason(), Mode: r.o.Policy.Mode}
	if r.known && (r.prev.Status == Running || r.prev.Status == Failed) {
		begun.Resumes = r.prev.ID
		wrote, err := r.o.Store.SessionRecords(ctx, r.prev.ID)
		if err != nil {
			return err
		}
		begun.NotWritten = notWritten(wrote)
	}
	r.note("G0", trail.TypeRunStart, begun)
	if err := r.recordDeliveries(ctx); err != nil {
		return err
	}
	if r.s.HeadSHA == "" {
		return nil // nothing names the head yet: reading the pull request will
	}
	if r.onlyWords() {
		return r.nameCheck(ctx)
	}
	return r.announce(ctx)
}

// onlyWords: nothing but the title or the description of what was decided has changed.
// That may change the intent, not what was read of the patch: the check stays as it is
// until something follows from it (case 64).
func (r *run) onlyWords() bool {
	if !r.known || r.prev.Status != Decided || r.rerun || r.hint != nil ||
		r.s.HeadSHA != r.prev.HeadSHA || r.s.BaseRef != r.prev.BaseRef || r.s.DefaultBranch != r.prev.DefaultBranch || r.s.Draft != r.prev.Draft {
		return false
	}
	edited := false
	for _, ev := range r.turn.Events {
		if ev.Name != "pull_request" {
			continue
		}
		if ev.Action != "edited" || ev.BaseChanged {
			return false
		}
		edited = true
	}
	return edited
}

func (r *run) newSession(now time.Time) error {
	id, err := r.o.Log.NewID()
	if err != nil {
		return fmt.Errorf("make a session id: %w", err)
	}
	plan, err := r.o.Log.NewID()
	if err != nil {
		return fmt.Errorf("make a plan id: %w", err)
	}
	r.s = Session{ID: id, PlanID: plan, Pull: r.turn.Pull, Status: Running, PolicyRevision: r.revision, StartedAt: now}
	ev, ok := newest(r.turn.Events)
	if r.hint != nil {
		ev, ok = *r.hint, true
	}
	switch {
	case ok:
		r.s.HeadSHA, r.s.BaseRef, r.s.DefaultBranch, r.s.Draft = ev.HeadSHA, ev.BaseRef, ev.DefaultBranch, ev.Draft
	case r.known:
		// Nothing names the head: it is read before anything is said. The one of
		// the session before may be old, or merged.
		r.s.URL = r.prev.URL
	}
	return nil
}

func (r *run) reason() string {
	if r.hint != nil {
		return "the pull request is not as it was decided"
	}
	if ev, ok := newest(r.turn.Events); ok {
		return ev.Name + " " + ev.Action
	}
	switch {
	case r.rerun:
		return "a re-run was asked for"
	case r.known:
		return "the session before did not end"
	}
	return "seen for the first time"
}

// announce is the session's first write: the check is in progress.
func (r *run) announce(ctx context.Context) error {
	if err := r.nameCheck(ctx); err != nil {
		return err
	}
	v := r.view()
	v.State = publish.StateInProgress
	if err := r.post(ctx, v); err != nil || !r.rerun {
		return err
	}
	return r.rerunDone(ctx)
}

// rerunDone: the new run is there, or nobody needs one any more. A further
// request is one for another.
func (r *run) rerunDone(ctx context.Context) error {
	for _, sha := range []string{r.s.HeadSHA, r.prev.HeadSHA} {
		if sha == "" {
			continue
		}
		if err := r.o.Store.SetRerun(ctx, r.turn.Pull.Repo.ID, sha, false); err != nil {
			return err
		}
	}
	return nil
}

// nameCheck chooses the check's name: `countersign` only where it guards
// something (DESIGN section 8, "what a green check proves").
func (r *run) nameCheck(ctx context.Context) error {
	r.s.CheckName = publish.AdvisoryName
	if r.s.BaseRef == r.s.DefaultBranch {
		r.s.CheckName = publish.CheckName
		return nil
	}
	rules, err := r.client.BranchRules(ctx, r.turn.Pull.Repo, r.s.BaseRef)
	if err != nil {
		return fmt.Errorf("read the rules of %s: %w", r.s.BaseRef, err)
	}
	for _, req := range rules.Required {
		if req.Name == publish.CheckName && req.AppID == r.o.Host.AppID() {
			r.s.CheckName = publish.CheckName
		}
	}
	return nil
}

// readPull reads the pull request as it is now; the payload was only a hint.
func (r *run) readPull(ctx context.Context) (forge.Pull, error) {
	pull, err := r.client.Pull(ctx, r.turn.Pull)
	if err != nil {
		return pull, err
	}
	if err := r.o.Store.RememberPull(ctx, known(pull)); err != nil {
		return pull, err
	}
	hinted := r.s.HeadSHA
	r.readAt = pull.UpdatedAt
	baseMoved := r.s.BaseRef != pull.BaseRef || r.s.DefaultBranch != pull.DefaultBranch
	r.s.Pull, r.s.URL = pull.Ref, pull.URL
	r.s.BaseRef, r.s.BaseSHA, r.s.DefaultBranch, r.s.Draft = pull.BaseRef, pull.BaseSHA, pull.DefaultBranch, pull.Draft
	r.s.HeadSHA = pull.HeadSHA
	if pull.State != forge.PullOpen {
		return pull, r.endClosed(ctx)
	}
	if hinted == "" || baseMoved { // nothing told which check and which head this is about
		if err := r.nameCheck(ctx); err != nil {
			return pull, err
		}
		h, err := r.o.Store.Head(ctx, pull.Ref.Repo.ID, pull.HeadSHA, r.now())
		if err != nil {
			return pull, err
		}
		r.rerun = r.rerun || h.Rerun
	}
	if err := r.closeOthers(ctx, r.s.HeadSHA); err != nil {
		return pull, err
	}
	if hinted != pull.HeadSHA || baseMoved {
		// The payload was late: the check belongs on the head that is there now.
		r.posted = false
		if err := r.announce(ctx); err != nil {
			return pull, err
		}
	}
	return pull, r.checkpoint(ctx)
}

func known(p forge.Pull) KnownPull {
	return KnownPull{Ref: p.Ref, HeadSHA: p.HeadSHA, BaseRef: p.BaseRef, DefaultBranch: p.DefaultBranch,
		State: p.State, Draft: p.Draft, Private: p.Private, UpdatedAt: p.UpdatedAt}
}

// review is G5. Who reviewed, or why nobody did, is part of the evidence.
func (r *run) review(pull forge.Pull) {
	result := notReviewed(r.s.Evidence, r.s.Assessment, pull.Draft)
	r.s.Evidence.Reviewers = append(r.s.Evidence.Reviewers, result)
	r.note("G5", trail.TypeReviewDecision, reviewDecision{Status: result.Status, Reason: result.Reason})
}

// gate computes what follows from the evidence, and records it.
func (r *run) gate() review.Outcome {
	out := review.Gate(r.s.Evidence, reviewRules(r.o.Policy, r.s.Assessment))
	r.note("G6", trail.TypeGateDecision, gateDecision(out, r.s))
	r.automaticApprovals(out)
	r.decision = out.Gate.Decision
	return out
}

// publish posts the decision, then the checks that explain it, and ends the session's
// records. The decision is kept before them: whatever becomes of them, it stands, and
// a turn that died in between is taken up by a recomputation.
func (r *run) publish(ctx context.Context, out review.Outcome) (Outcome, error) {
	v := r.view()
	v.State, v.Outcome = publish.StateDecided, out
	if r.s.Draft {
		v.State = publish.StateDraft
	}
	if err := r.post(forge.WithLane(ctx, forge.LaneFast), v); err != nil { // somebody waits for it
		return Outcome{}, err
	}
	r.decided(out)
	r.s.Status, r.s.DecidedAt = Decided, r.now()
	r.note("G7", trail.TypeFinalReport, r.finalReport(out))
	allowed := r.allowNotes()
	if err := r.save(ctx); err != nil {
		return Outcome{}, err
	}
	var again time.Time
	if allowed {
		var err error
		if again, err = r.postNotes(ctx, v); err != nil {
			return Outcome{}, err
		}
	}
	r.note("G7", trail.TypeRunEnd, runEnd{Status: r.s.Status, Calls: r.calls.ByRoute(), Total: r.calls.Total()})
	if err := r.save(ctx); err != nil {
		return Outcome{}, err
	}
	return Outcome{RecheckAt: sooner(r.recheckAt(out), again)}, nil
}

// Bounds of looking again at checks that could not all be read: half as long as
// it has been tried, for a day.
const (
	rereadSoonest = 2 * time.Minute
	rereadFor     = 24 * time.Hour
)

// recheckAt is when to look again without an event: the wait for required
// checks ends, "no checks at all" becomes a fact or, for a check that outlives
// the wait, once more after another one, should its event be lost. Checks that
// could not all be read are read again.
func (r *run) recheckAt(out review.Outcome) time.Time {
	tried := r.now().Sub(r.s.StartedAt)
	switch {
	case !r.s.Evidence.Checks.Complete && tried < rereadFor:
		return r.now().Add(max(rereadSoonest, tried/2))
	case out.Gate.Decision != review.Pending:
		return time.Time{}
	case r.recheck.IsZero():
		return r.now().Add(r.o.Policy.Checks.Wait)
	}
	return r.recheck
}
