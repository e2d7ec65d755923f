package github

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/rs/zerolog"
)

const (
	// unstatedWait is GitHub's advice for a secondary limit without Retry-After: a
	// minute, then longer each time.
	unstatedWait = time.Minute
	// longestWait is a primary limit's window; a longer demand is a broken header.
	longestWait = time.Hour
)

// limitedError refuses a call because GitHub refused an earlier one and its
// time has not come. No request was made.
type limitedError struct{ after time.Duration }

func (e *limitedError) Error() string {
	return fmt.Sprintf("rate limited for another %s", e.after.Round(time.Second))
}

// obeyLimits waits for short limits once, and returns long ones. What GitHub
// said is remembered per installation: going on calling during a limit is what
// gets Apps banned.
type obeyLimits struct {
	next    http.RoundTripper
	state   *installations
	inPlace time.Duration
	clock   clock
	log     zerolog.Logger
	watch   Observer
}

func (l *obeyLimits) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	inst := l.state.get(c.installation)
	if wait := inst.reservedFor(c, forge.PriorityFrom(req.Context()).Lane, l.clock.now()); wait > 0 {
		l.watch.Waited("limit", wait)
		return nil, &limitedError{after: wait}
	}
	if wait := inst.blockedFor(c.graphql, l.clock.now()); wait > 0 {
		l.watch.Waited("limit", wait)
		if wait > l.inPlace || l.clock.sleep(req.Context(), wait) != nil {
			return nil, &limitedError{after: wait}
		}
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	now := l.clock.now()
	limit, limited := limitOf(resp, now)
	if !limited {
		inst.heard(c, resp)
		return resp, nil
	}
	limit = inst.block(limit, c.graphql, now)
	l.watch.Waited(limit.reason(), limit.after)
	l.log.Warn().Str("route", c.route).Int64("installation", c.installation).
		Dur("after", limit.after).Bool("secondary", limit.secondary).Msg("github rate limit")
	if limit.after > l.inPlace || l.clock.sleep(req.Context(), limit.after) != nil {
		return resp, nil
	}
	second, err := again(req)
	if err != nil {
		return nil, err
	}
	if resp, err = l.next.RoundTrip(second); err != nil {
		return nil, err
	}
	if more, limited := limitOf(resp, l.clock.now()); limited {
		inst.block(more, c.graphql, l.clock.now())
	} else {
		inst.answered(limit, c.graphql, now)
	}
	return resp, nil
}

// limit is what an answer says about calling again.
type limit struct {
	after     time.Duration
	secondary bool // counts for REST and GraphQL alike
	unstated  bool // GitHub did not say how long
}

// limitOf reports whether an answer is a rate limit. 403 is also how GitHub
// says that a permission is missing, so the header or the text must say so
// (case 41); 429 always is one.
func limitOf(resp *http.Response, now time.Time) (limit, bool) {
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests {
		return limit{}, false
	}
	if after := retryAfter(resp, now); after > 0 {
		return limit{after: after, secondary: true}, true
	}
	if resp.Header.Get("X-RateLimit-Remaining") == "0" {
		return limit{after: untilReset(resp, now)}, true
	}
	if resp.StatusCode == http.StatusTooManyRequests || saysLimited(resp) {
		return limit{after: unstatedWait, secondary: true, unstated: true}, true
	}
	return limit{}, false
}

// retryAfter reads Retry-After, in seconds or as a date; 0 when it is not there.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp == nil {
		return 0
	}
	raw := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if raw == "" {
		return 0
	}
	if s, err := strconv.ParseInt(raw, 10, 32); err == nil {
		return clampWait(time.Duration(s) * time.Second)
	}
	if t, err := http.ParseTime(raw); err == nil {
		return clampWait(t.Sub(now))
	}
	return unstatedWait
}

// untilReset reads X-RateLimit-Reset, seconds since 1970.
func untilReset(resp *http.Response, now time.Time) time.Duration {
	s, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || s <= 0 {
		return unstatedWait
	}
	return clampWait(time.Unix(s, 0).Sub(now))
}

func clampWait(d time.Duration) time.Duration { return min(max(d, time.Second), longestWait) }

// saysLimited looks for the words of a secondary limit in the (buffered) body.
func saysLimited(resp *http.Response) bool {
	text := strings.ToLower(string(peek(resp)))
	return strings.Contains(text, "secondary rate limit") ||
		strings.Contains(text, "abuse detection") ||
		strings.Contains(text, "api rate limit exceeded")
}

// peek returns the body of a buffered answer and leaves it readable.
func peek(resp *http.Response) []byte {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil // not reached: exchange has buffered it
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}
