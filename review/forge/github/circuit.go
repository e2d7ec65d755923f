package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// circuitFailures are calls in a row, over all installations, without one answer
	// between them: by then it is GitHub that is down, and not a repository.
	circuitFailures = 10
	// circuitPause is before the first probe; it doubles to circuitLongest.
	circuitPause   = 5 * time.Second
	circuitLongest = time.Minute
)

// circuit stops calling while GitHub gives no answer at all, but for one probe at a
// time: every job that goes on trying costs a worker the time of its timeouts, and
// GitHub what it needs to come back. Any answer but a 5xx closes it.
type circuit struct {
	next  http.RoundTripper
	clock clock
	watch Observer
	log   zerolog.Logger

	mu      sync.Mutex
	failed  int // in a row
	pause   time.Duration
	until   time.Time // no call before; zero: closed
	probing bool
}

// openError refuses a call because GitHub is down. No request was made.
type openError struct{ after time.Duration }

func (e *openError) Error() string {
	return fmt.Sprintf("GitHub gives no answer; asked again in %s", e.after.Round(time.Second))
}

func (c *circuit) RoundTrip(req *http.Request) (*http.Response, error) {
	probe, err := c.enter()
	if err != nil {
		c.watch.Waited("circuit", err.after)
		return nil, err
	}
	resp, failure := c.next.RoundTrip(req)
	c.leave(probe, said(req.Context(), resp, failure))
	return resp, failure
}

// enter lets a call through, as a probe where the circuit is open.
func (c *circuit) enter() (probe bool, refused *openError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.until.IsZero() {
		return false, nil
	}
	now := c.clock.now()
	if c.probing || now.Before(c.until) {
		return false, &openError{after: max(c.until.Sub(now), time.Second)}
	}
	c.probing = true
	return true, nil
}

// verdict is what a call tells of GitHub.
type verdict uint8

const (
	verdictNone verdict = iota // the caller gave up, or no request was made
	verdictAnswer
	verdictSilence
)

func said(ctx context.Context, resp *http.Response, err error) verdict {
	var late *limitedError
	switch {
	case err == nil && resp.StatusCode < http.StatusInternalServerError:
		return verdictAnswer
	case err == nil:
		return verdictSilence
	case ctx.Err() != nil, errors.As(err, &late):
		return verdictNone
	case errors.Is(err, errTooLarge):
		return verdictAnswer
	}
	return verdictSilence
}

func (c *circuit) leave(probe bool, v verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if probe {
		c.probing = false
	}
	switch v {
	case verdictAnswer:
		if !c.until.IsZero() {
			c.log.Info().Msg("GitHub answers again")
		}
		c.failed, c.pause, c.until = 0, 0, time.Time{}
	case verdictSilence:
		c.failed++
		if c.failed < circuitFailures || (!c.until.IsZero() && !probe) {
			return // calls that were under way when it opened tell nothing new
		}
		c.pause = min(max(2*c.pause, circuitPause), circuitLongest)
		c.until = c.clock.now().Add(c.pause)
		c.log.Error().Int("failures", c.failed).Dur("pause", c.pause).Msg("GitHub gives no answer: no further calls for now")
	}
}
