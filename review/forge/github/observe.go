package github

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Observer is told of what happens to calls, for operators. Its methods return at
// once, and are called from many goroutines.
type Observer interface {
	// Attempt begins one attempt of a request: route is a template, with no name of
	// anybody's in it. The function that it returns ends it; status is 0 where no
	// answer came.
	Attempt(ctx context.Context, route string) (context.Context, func(status int, err error))
	// Waited: a request was held back for d, or was not made and sent back to wait
	// for d. reason is "limit", "secondary_limit" or "pace".
	Waited(reason string, d time.Duration)
	// Remaining: what an answer said of an installation's primary limit. resource is
	// "rest" or "graphql".
	Remaining(installation int64, resource string, remaining int, reset time.Time)
}

// unobserved is nobody.
type unobserved struct{}

func (unobserved) Attempt(ctx context.Context, _ string) (context.Context, func(int, error)) {
	return ctx, func(int, error) {}
}
func (unobserved) Waited(string, time.Duration)            {}
func (unobserved) Remaining(int64, string, int, time.Time) {}

// observed tells of each attempt and of what its answer says.
type observed struct {
	next http.RoundTripper
	to   Observer
}

func (o *observed) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	ctx, end := o.to.Attempt(req.Context(), c.route)
	resp, err := o.next.RoundTrip(req.WithContext(ctx))
	end(statusOf(resp), err)
	if resp != nil {
		o.remaining(c, resp)
	}
	return resp, err
}

// remaining reads GitHub's word on the primary limit, where it is one.
func (o *observed) remaining(c call, resp *http.Response) {
	left, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Remaining"))
	reset, err2 := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || err2 != nil || left < 0 || c.effect == mints {
		return
	}
	resource := "rest"
	if c.graphql {
		resource = "graphql"
	}
	o.to.Remaining(c.installation, resource, left, time.Unix(reset, 0))
}

// reason names a limit for the observer.
func (l limit) reason() string {
	if l.secondary {
		return "secondary_limit"
	}
	return "limit"
}
