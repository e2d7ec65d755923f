package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// witness is an Observer that remembers.
type witness struct {
	mu    sync.Mutex
	lines []string
}

func (w *witness) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

type spanKey struct{}

// roundTrip is a transport of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (w *witness) Attempt(ctx context.Context, route string) (context.Context, func(int, error)) {
	return context.WithValue(ctx, spanKey{}, route), func(status int, err error) { w.say("%s %d %v", route, status, err != nil) }
}
func (w *witness) Waited(reason string, d time.Duration) { w.say("wait %s %s", reason, d) }
func (w *witness) Remaining(inst int64, resource string, left int, _ time.Time) {
	w.say("left %d %s %d", inst, resource, left)
}

// Each attempt is told with its route's template, and what its answer says of the
// limits; nothing else of it.
func TestObserver(t *testing.T) {
	w := &witness{}
	tries := 0
	answers := roundTrip(func(req *http.Request) (*http.Response, error) {
		if req.Context().Value(spanKey{}) != routeCompare {
			t.Error("the call is not made under the observer's context")
		}
		tries++
		switch tries {
		case 1:
			return nil, fmt.Errorf("connection reset")
		case 2:
			return reply(502, ``), nil
		}
		return reply(200, `{}`, "X-RateLimit-Remaining", "4771", "X-RateLimit-Reset", "1790000000"), nil
	})
	c := clock{now: time.Now}
	limits, err := Limits{Backoff: time.Microsecond}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	wire := &retry{next: &observed{next: &exchange{next: answers, limits: limits}, to: w}, limits: limits, clock: c}
	req, err := http.NewRequestWithContext(withCall(t.Context(), call{route: routeCompare, installation: 9}), http.MethodGet, "http://x/repos/acme/shop/compare/a...b", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := wire.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want := []string{routeCompare + " 0 true", routeCompare + " 502 false", routeCompare + " 200 false", "left 9 rest 4771"}
	if !slices.Equal(w.lines, want) {
		t.Errorf("told %q, want %q", w.lines, want)
	}
}

// A limit is told whether it is waited for or sent back.
func TestObserverOfWaits(t *testing.T) {
	w := &witness{}
	answers := roundTrip(func(*http.Request) (*http.Response, error) {
		return reply(429, ``, "Retry-After", "120"), nil
	})
	limits, err := Limits{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	wire := &obeyLimits{next: answers, state: newInstallations(limits), inPlace: time.Second, clock: clock{now: func() time.Time { return time.Unix(1_790_000_000, 0) }}, watch: w}
	for range 2 {
		req, err := http.NewRequestWithContext(withCall(t.Context(), call{route: routeCompare, installation: 9}), http.MethodGet, "http://x/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := wire.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
	want := []string{"wait secondary_limit 2m0s", "wait limit 2m0s"}
	if !slices.Equal(w.lines, want) {
		t.Errorf("told %q, want %q", w.lines, want)
	}
}
