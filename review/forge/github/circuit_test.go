package github

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// While GitHub gives no answer it is asked by one probe at a time, more and more
// rarely; everything else is sent away without a request, as held and not as failed.
func TestCircuit(t *testing.T) {
	for name, down := range map[string]func(int, *http.Request, string) (*http.Response, error){
		"502": always(502, `{}`),
		"reset": func(int, *http.Request, string) (*http.Response, error) {
			return nil, errors.New("connection reset by peer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answer: always(200, branchBody)}
				c := newTestClient(t, f)
				if err := readBranch(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				f.answer = down
				for f.calls < 1+circuitFailures {
					if fe := asForge(t, readBranch(t.Context(), c)); fe.Kind != forge.KindUnavailable {
						t.Fatalf("GitHub is down: %v", fe)
					}
				}
				before := f.calls
				fe := asForge(t, readBranch(t.Context(), c))
				if f.calls != before || fe.Kind != forge.KindUnavailable || !forge.Held(fe) || fe.RetryAfter <= 0 || fe.RetryAfter > circuitPause {
					t.Errorf("open: %d requests, %v, held %v, after %s", f.calls-before, fe, forge.Held(fe), fe.RetryAfter)
				}
				probes, begun := 0, time.Now()
				for time.Since(begun) < 10*time.Minute {
					before := f.calls
					_ = readBranch(t.Context(), c)
					probes += f.calls - before
					time.Sleep(100 * time.Millisecond)
				}
				if probes < 10 || probes > 14 {
					t.Errorf("%d probes in ten minutes, want one a minute at last", probes)
				}
				f.answer = always(200, branchBody)
				time.Sleep(circuitLongest)
				for range 3 {
					if err := readBranch(t.Context(), c); err != nil {
						t.Errorf("GitHub is back: %v", err)
					}
				}
			})
		})
	}
}

// One broken repository is no outage: any answer between its failures keeps the
// circuit closed, and so does a caller that gives up.
func TestCircuitStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n%circuitFailures == 0 {
				return reply(404, `{"message":"Not Found"}`), nil
			}
			return reply(500, `{}`), nil
		}}
		c := newTestClient(t, f)
		for range 5 * circuitFailures {
			if fe := asForge(t, readBranch(t.Context(), c)); forge.Held(fe) {
				t.Fatalf("after %d requests: %v", f.calls, fe)
			}
		}
	})
}

// A wait that GitHub does not state doubles until a call is answered.
func TestUnstatedWaitsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secondary := `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
		f := &fake{answer: always(403, secondary)}
		c := newTestClient(t, f)
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute} {
			_ = readBranch(t.Context(), c)
			fe := asForge(t, readBranch(t.Context(), c))
			if f.calls != i+1 || !forge.Held(fe) || fe.RetryAfter != want {
				t.Fatalf("%d: %d requests, wait %s, want %s: %v", i, f.calls, fe.RetryAfter, want, fe)
			}
			time.Sleep(want)
		}
		f.answer = always(200, branchBody)
		if err := readBranch(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		f.answer = always(403, secondary)
		_ = readBranch(t.Context(), c)
		if fe := asForge(t, readBranch(t.Context(), c)); fe.RetryAfter != time.Minute {
			t.Errorf("after an answer it begins anew: %s", fe.RetryAfter)
		}
	})
}

// The last of the primary limit is kept for what somebody waits for.
func TestPrimaryLimitIsKeptForTheFastLane(t *testing.T) {
	for left, want := range map[string][3]bool{"600": {true, true, true}, "400": {true, true, false}, "200": {true, false, false}, "0": {true, false, false}} {
		synctest.Test(t, func(t *testing.T) {
			reset := time.Now().Add(30 * time.Minute)
			f := &fake{answer: always(200, branchBody, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", left, "X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))}
			c := newTestClient(t, f)
			if err := readBranch(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			for lane, may := range want {
				err := readBranch(inLane(t.Context(), forge.Lane(lane)), c) //nolint:gosec // 0 to 2
				switch {
				case (err == nil) != may:
					t.Errorf("%s left, lane %d: %v, want it to go: %v", left, lane, err, may)
				case err != nil && (asForge(t, err).RetryAfter < 29*time.Minute || asForge(t, err).RetryAfter > 34*time.Minute):
					t.Errorf("%s left, lane %d: told to come back in %s, want at the reset", left, lane, asForge(t, err).RetryAfter)
				}
			}
			time.Sleep(time.Until(reset) + time.Second)
			if err := readBranch(inLane(t.Context(), forge.LaneSlow), c); err != nil {
				t.Errorf("after the reset: %v", err)
			}
		})
	}
}

// A clock that is far off is found out from GitHub's refusal, and GitHub's time is
// used from then on; the operator is told once.
func TestCase049_ClockThatIsFarOff(t *testing.T) {
	for _, off := range []time.Duration{-3 * time.Hour, -10 * time.Minute, 11 * time.Minute, 5 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			f, log := &fake{answer: always(200, branchBody)}, &bytes.Buffer{}
			f.onToken = func(n int) *http.Response {
				claims := appClaims(t, f.seen[len(f.seen)-1].auth)
				now := time.Now()
				if claims.IssuedAt.After(now) || claims.ExpiresAt.Before(now) {
					return reply(401, `{"message":"'Expiration time' claim ('exp') is too far in the future, or 'iat' is"}`, "Date", now.UTC().Format(http.TimeFormat))
				}
				return reply(201, `{"token":"ghs_x","expires_at":"`+now.Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
			}
			h := newTestHost(t, f, func(o *Options) {
				o.Now = func() time.Time { return time.Now().Add(off) }
				o.Logger = logger(log)
			})
			for _, installation := range []int64{7, 8} {
				c, err := h.Client(installation)
				if err != nil {
					t.Fatal(err)
				}
				if err := readBranch(t.Context(), c.(*Client)); err != nil { //nolint:forcetypeassert // our own
					t.Errorf("%s off: %v", off, err)
				}
			}
			if f.tokens != 3 || bytes.Count(log.Bytes(), []byte("NTP")) != 1 {
				t.Errorf("%s off: %d requests for two tokens, want one more; log\n%s", off, f.tokens, log)
			}
		})
	}
}
