package forge

import (
	"context"
	"time"
)

// Lane says how long a call may wait for others of its installation when GitHub's
// limits leave no room for all. An earlier lane goes first.
type Lane uint8

// The lanes.
const (
	// LaneFast: somebody waits for a required check: its conclusion, a merge group.
	LaneFast Lane = iota
	// LaneNormal: everything else of a session.
	LaneNormal
	// LaneSlow: nobody waits: the reconciler, comments' replies, clearing up.
	LaneSlow
)

// Priority orders calls that wait: by lane, then the newest head first, since an
// older one is the likelier to be given up.
type Priority struct {
	Lane Lane
	// Newest is when the head became known; the later goes first.
	Newest time.Time
}

type priorityKey struct{}

// WithPriority returns a context whose calls wait with this priority.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// WithLane returns a context whose calls wait in another lane.
func WithLane(ctx context.Context, l Lane) context.Context {
	p := PriorityFrom(ctx)
	p.Lane = l
	return WithPriority(ctx, p)
}

// PriorityFrom returns the priority of the context's calls; LaneNormal without one.
func PriorityFrom(ctx context.Context) Priority {
	if p, ok := ctx.Value(priorityKey{}).(Priority); ok {
		return p
	}
	return Priority{Lane: LaneNormal}
}
