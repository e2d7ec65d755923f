package github

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rs/zerolog"
)

// retry repeats calls that GitHub failed to answer (5xx, resets, timeouts) and
// that are harmless to repeat. A call that creates something is never repeated
// here: its first attempt may have worked, and only its owner can tell by
// looking for what it would have made.
type retry struct {
	next   http.RoundTripper
	limits Limits
	clock  clock
	log    zerolog.Logger
}

func (r *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	for try := 1; ; try++ {
		attempt, err := again(req)
		if err != nil {
			return nil, err
		}
		resp, err := r.next.RoundTrip(attempt)
		if !c.repeatable() || try >= r.limits.Tries || !failedToAnswer(req.Context(), resp, err) {
			return resp, err
		}
		wait := backoff(r.limits.Backoff, try)
		if after := retryAfter(resp, r.clock.now()); after > wait {
			wait = after
		}
		if wait > r.limits.WaitInPlace || r.clock.sleep(req.Context(), wait) != nil {
			return resp, err
		}
		r.log.Debug().Str("route", c.route).Int64("installation", c.installation).
			Int("try", try+1).Dur("after", wait).Int("status", statusOf(resp)).Msg("github call tried again")
	}
}

// failedToAnswer reports whether nothing is known of the call's outcome and the
// caller still wants to know.
func failedToAnswer(ctx context.Context, resp *http.Response, err error) bool {
	if err != nil {
		var late *limitedError
		var open *openError
		return ctx.Err() == nil && !errors.Is(err, errTooLarge) && !errors.As(err, &late) && !errors.As(err, &open)
	}
	return resp.StatusCode >= http.StatusInternalServerError
}

// backoff doubles from first and spreads by half, so that workers that failed
// together do not come back together.
func backoff(first time.Duration, try int) time.Duration {
	d := first << min(try-1, 6)
	return d/2 + rand.N(d) //nolint:gosec // jitter needs no secrecy
}

func statusOf(resp *http.Response) int {
	if resp == nil {
		return 0
	}
	return resp.StatusCode
}
