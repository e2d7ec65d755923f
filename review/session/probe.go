package session

import (
	"context"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
)

// Probe watches sessions, for operators: it changes nothing, must return at once,
// and may be called from several goroutines.
type Probe interface {
	// Gate begins one of the gates "G0" to "G8"; the function that it returns ends
	// it. The context is that of everything the gate does. at is asked when the
	// gate ends, and only by a probe that keeps what it says.
	Gate(ctx context.Context, gate string, at func() Place) (context.Context, func(error))
	// Decided tells of a finished gate. waited is the time since the oldest delivery
	// that asked for it, negative where none did. again: it was recomputed because
	// of CI, without a new session.
	Decided(d review.Decision, t risk.Tier, again bool, waited time.Duration)
}

// Place is where a session stands: ids and words of closed sets, and never a title,
// a path or anything else that somebody wrote.
type Place struct {
	Session  string
	RepoID   int64
	Pull     int
	HeadSHA  string
	Decision string // empty before G6
	Tier     string // empty before G4
	// Deliveries are the ids that woke the turn, the first few of them.
	Deliveries []string
}

// maxPlaced bounds the deliveries that a place names.
const maxPlaced = 5

// in runs a gate under the probe.
func (r *run) in(ctx context.Context, gate string, f func(context.Context) error) error {
	if r.o.Probe == nil {
		return f(ctx)
	}
	ctx, end := r.o.Probe.Gate(ctx, gate, r.place)
	err := f(ctx)
	end(err)
	return err
}

func (r *run) place() Place {
	p := Place{Session: r.s.ID, RepoID: r.turn.Pull.Repo.ID, Pull: r.turn.Pull.Number, HeadSHA: r.s.HeadSHA, Decision: r.decision.String(), Tier: r.s.Assessment.Tier.String()}
	for _, ev := range r.turn.Events[:min(len(r.turn.Events), maxPlaced)] {
		p.Deliveries = append(p.Deliveries, ev.GUID)
	}
	return p
}

// decided tells the probe, once the decision is published.
func (r *run) decided(out review.Outcome) {
	if r.o.Probe == nil {
		return
	}
	waited := time.Duration(-1)
	for _, ev := range r.turn.Events {
		if !ev.ReceivedAt.IsZero() {
			waited = max(waited, r.now().Sub(ev.ReceivedAt))
		}
	}
	r.o.Probe.Decided(out.Gate.Decision, r.s.Assessment.Tier, r.again, waited)
}
