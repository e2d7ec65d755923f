package session

import (
	"context"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/trail"
)

// recompute looks at CI again and lets the gate say what follows, with no other
// call than the one re-read and, where something changed, the one patch. No
// model, no patch, no policy is read again.
func (r *run) recompute(ctx context.Context) (Outcome, error) {
	r.s = r.prev
	r.posted = true // the decision before was posted: the same check is patched
	if err := r.recordDeliveries(ctx); err != nil {
		return Outcome{}, err
	}
	snap, err := r.client.Snapshot(ctx, forge.SnapshotRequest{Pull: r.turn.Pull, Head: r.s.HeadSHA})
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case snap.State != forge.PullOpen:
		// What was decided stays as it is. The time is one that any later event beats.
		err := r.o.Store.RememberPull(ctx, KnownPull{Ref: r.turn.Pull, HeadSHA: r.s.HeadSHA, BaseRef: r.s.BaseRef, DefaultBranch: r.s.DefaultBranch,
			State: forge.PullClosed, Draft: r.s.Draft, UpdatedAt: r.s.StartedAt})
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{}, r.finishClosed(ctx)
	case snap.HeadSHA != r.s.HeadSHA && len(r.turn.Events) > 0:
		// The push's own event is on its way; should it be lost, the clock asks.
		return Outcome{RecheckAt: r.now().Add(r.o.Settle)}, nil
	case snap.HeadSHA != r.s.HeadSHA || snap.Draft != r.s.Draft || snap.BaseRef != r.s.BaseRef:
		return r.evaluateAt(ctx, snap)
	}
	if r.finding != nil { // a check of an older head may be left open
		if err := r.closeOthers(ctx, r.s.HeadSHA); err != nil {
			return Outcome{}, err
		}
	}
	if err := r.readChecks(ctx, snap); err != nil {
		return Outcome{}, err
	}
	r.note("G4", trail.TypeCheckSummary, checkSummary(r.s.Evidence.Checks))
	r.again = true
	return r.conclude(ctx)
}

// evaluateAt evaluates what the forge shows now, of which no event told: it was
// lost, or is still on its way.
func (r *run) evaluateAt(ctx context.Context, snap forge.Snapshot) (Outcome, error) {
	r.hint = &Event{Name: "re-read", Action: "changed", HeadSHA: snap.HeadSHA, BaseRef: snap.BaseRef, DefaultBranch: r.prev.DefaultBranch, Draft: snap.Draft}
	r.turn.Events, r.posted = nil, false
	return r.evaluate(ctx)
}
