package github

import (
	"context"
	"net/http"
	"time"
)

// effect says what repeating a request would do.
type effect uint8

const (
	read       effect = iota // changes nothing
	idempotent               // repeating it leaves the same state
	creates                  // repeating it may make a second thing
	mints                    // makes a token: harmless to repeat, and not content
)

// call is what the transport has to know of a request and cannot read off it.
// It travels in the request's context.
type call struct {
	route        string // template, for counting and hints: never a raw path
	effect       effect
	installation int64
	maxBody      int64 // 0: Limits.JSONBytes
	revalidate   bool  // worth keeping for If-None-Match
	graphql      bool  // counted against GraphQL's own primary limit
}

type callKey struct{}

func withCall(ctx context.Context, c call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callOf returns the call of a request. One without is treated as the most
// dangerous kind: never repeated.
func callOf(req *http.Request) call {
	c, ok := req.Context().Value(callKey{}).(call)
	if !ok {
		return call{route: "unknown", effect: creates}
	}
	return c
}

// repeatable reports whether an attempt whose outcome is unknown may be made
// again.
func (c call) repeatable() bool { return c.effect != creates }

// isWrite reports whether GitHub counts the call as creating content.
func (c call) isWrite() bool { return c.effect == creates || c.effect == idempotent }

// again copies a request for another attempt, body included. Requests are made
// by http.NewRequest over a buffer, so the body can always be had again.
func again(req *http.Request) (*http.Request, error) {
	next := req.Clone(req.Context())
	if req.Body == nil || req.GetBody == nil {
		return next, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	next.Body = body
	return next, nil
}

// clock is the time, and waiting for it.
type clock struct{ now func() time.Time }

// sleep waits d or until the context ends. It refuses at once when the context
// would end first: a wait that cannot be finished only delays the answer.
func (clock) sleep(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return context.DeadlineExceeded
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
