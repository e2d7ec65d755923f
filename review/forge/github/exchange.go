package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/countersign/countersign/review/forge"
)

// errTooLarge marks an answer that is longer than we accept.
var errTooLarge = errors.New("answer is larger than allowed")

// exchange makes one attempt: it counts it for the session, bounds its time,
// and reads the whole bounded body, so that a body that breaks off or dawdles
// is a failed attempt like any other.
type exchange struct {
	next   http.RoundTripper
	limits Limits
}

func (e *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	forge.CallsFrom(req.Context()).Add(c.route)
	ctx, cancel := context.WithTimeout(req.Context(), e.limits.CallTimeout)
	defer cancel()
	resp, err := e.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, e.explain(req.Context(), ctx, err)
	}
	body, err := e.read(c, resp)
	if err != nil {
		return nil, e.explain(req.Context(), ctx, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp, nil
}

func (e *exchange) read(c call, resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return io.ReadAll(io.LimitReader(resp.Body, e.limits.ErrorBytes))
	}
	limit := c.maxBody
	if limit <= 0 {
		limit = e.limits.JSONBytes
	}
	if resp.ContentLength > limit {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d", errTooLarge, resp.ContentLength, limit)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("%w: want at most %d bytes", errTooLarge, limit)
	}
	return body, nil
}

// explain tells an attempt that ran out of its own time from a caller who gave
// up: only the first may be tried again.
func (e *exchange) explain(caller, attempt context.Context, err error) error {
	if caller.Err() == nil && attempt.Err() != nil {
		return fmt.Errorf("no answer within %s", e.limits.CallTimeout)
	}
	return err
}
