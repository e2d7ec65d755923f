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
	if snap.HeadSHA != r.s.HeadSHA || snap.State != forge.PullOpen || snap.Draft != r.s.Draft || snap.BaseRef != r.s.BaseRef {
		// An event was lost or is still on its way: what is there now counts.
		r.hint = &Event{Name: "re-read", Action: "changed", HeadSHA: snap.HeadSHA, BaseRef: snap.BaseRef, DefaultBranch: r.s.DefaultBranch, Draft: snap.Draft}
		r.turn.Events, r.posted = nil, false
		return r.evaluate(ctx)
	}
	if err := r.readChecks(ctx, snap); err != nil {
		return Outcome{}, err
	}
	r.note("G4", trail.TypeCheckSummary, checkSummary(r.s.Evidence.Checks))
	return r.publish(ctx, r.gate())
}
