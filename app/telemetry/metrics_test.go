package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"github.com/countersign/countersign/app/telemetry"
)

// scrape is what Prometheus reads.
func scrape(t testing.TB, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(zerolog.Nop()).ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series counts the lines that are ours.
func series(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "countersign_") {
			n++
		}
	}
	return n
}

// Whatever is told, the number of series stays bounded: the labels' sets are
// closed.
func TestLabelsAreBounded(t *testing.T) {
	m := telemetry.New(telemetry.Options{Version: "1.2.3"})
	word := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		m.Delivery(word.Draw(t, "event"), word.Draw(t, "outcome"), time.Second)
		m.Turn(word.Draw(t, "kind"), word.Draw(t, "end"), time.Second)
		m.Gate(word.Draw(t, "decision"), word.Draw(t, "tier"), false, time.Second)
		m.Call("GET /x/"+word.Draw(t, "route"), rapid.Int().Draw(t, "status"), time.Second)
		m.Wait(word.Draw(t, "reason"), time.Second)
		m.Published(word.Draw(t, "result"))
		m.DatabaseFailed(word.Draw(t, "where"))
		m.Remaining(rapid.Int64().Draw(t, "installation"), word.Draw(t, "resource"), 1, time.Now().Add(time.Hour))
	})
	for i := range 500 {
		m.Call(fmt.Sprintf("GET /repos/acme/shop%d", i), 200, time.Second)
	}
	text := scrape(t, m)
	// 100 routes of 12 lines, and a route's statuses.
	if n := series(text); n > 2500 {
		t.Errorf("%d series", n)
	}
	for _, want := range []string{`event="other"`, `kind="other"`, `decision="other"`, `route="other"`, `result="other"`, `where="other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no series with %s", want)
		}
	}
}

func TestWhatIsCounted(t *testing.T) {
	m := telemetry.New(telemetry.Options{Version: "1.2.3"})
	m.Delivery("pull_request", "accepted", 4*time.Millisecond)
	m.Turn("pull", "done", time.Second)
	m.Gate("approved", "low", true, 12*time.Second)
	m.Gate("pending", "low", false, -1)
	m.Call("GET /app", 204, time.Millisecond)
	m.Call("GET /app", 429, time.Millisecond)
	m.Call("GET /app", 0, time.Millisecond)
	m.Wait("limit", time.Minute)
	m.Published("created")
	m.Woken(3)
	m.TrailFailed()
	m.DatabaseFailed("turn")
	m.Ready(true)
	text := scrape(t, m)
	for _, want := range []string{
		`countersign_build_info{goversion="go`, `version="1.2.3"} 1`,
		`countersign_deliveries_total{event="pull_request",outcome="accepted"} 1`,
		`countersign_acknowledgement_seconds_bucket{outcome="accepted",le="0.005"} 1`,
		`countersign_turns_total{kind="pull",outcome="done"} 1`, `countersign_turn_seconds_count{kind="pull"} 1`,
		`countersign_gates_total{decision="approved",tier="low"} 1`, `countersign_gates_total{decision="pending",tier="low"} 1`,
		`countersign_delivery_to_gate_seconds_sum{turn="recompute"} 12`,
		`countersign_github_calls_total{route="GET /app",status="2xx"} 1`, `countersign_github_calls_total{route="GET /app",status="429"} 1`,
		`countersign_github_calls_total{route="GET /app",status="none"} 1`,
		`countersign_github_wait_seconds_sum{reason="limit"} 60`,
		`countersign_publications_total{result="created"} 1`, "countersign_reconciler_wakes_total 3",
		"countersign_trail_append_failures_total 1", `countersign_database_errors_total{where="turn"} 1`, "countersign_ready 1",
		"go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not shown: %s", want)
		}
	}
	if strings.Contains(text, `turn="evaluate"`) {
		t.Error("a gate that no delivery asked for has a time since its delivery")
	}
}

// The least of all installations is shown, and forgotten once it was reset.
func TestRateLimitRemaining(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	m := telemetry.New(telemetry.Options{Now: func() time.Time { return now }})
	m.Remaining(1, "rest", 4000, now.Add(time.Minute))
	m.Remaining(2, "rest", 17, now.Add(2*time.Minute))
	m.Remaining(2, "graphql", 4999, now.Add(2*time.Minute))
	const name = `countersign_github_rate_limit_remaining{resource="rest"} `
	if text := scrape(t, m); !strings.Contains(text, name+"17\n") || strings.Contains(text, name+"4000") {
		t.Errorf("want the least:\n%s", text)
	}
	now = now.Add(90 * time.Second)
	m.Remaining(2, "rest", 12, now.Add(time.Minute))
	if text := scrape(t, m); !strings.Contains(text, name+"12\n") {
		t.Errorf("want the newest of an installation:\n%s", text)
	}
	now = now.Add(time.Hour)
	if text := scrape(t, m); strings.Contains(text, "rate_limit_remaining{") {
		t.Errorf("a limit that was reset is shown:\n%s", text)
	}
}

// Scrapes do not become load, and a database that does not answer leaves a gap
// and not a stale value.
func TestDepth(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	m := telemetry.New(telemetry.Options{Now: func() time.Time { return now }})
	if text := scrape(t, m); strings.Contains(text, "queue_jobs") {
		t.Error("a depth without a queue")
	}
	asked, broken := 0, false
	m.WatchDepth(func(ctx context.Context) (telemetry.Depth, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("asked without a deadline")
		}
		asked++
		if broken {
			return telemetry.Depth{}, errors.New("no answer")
		}
		return telemetry.Depth{Jobs: map[string]int64{"available": 7, "made up": 1}, Oldest: map[string]time.Duration{"available": 90 * time.Second}, Deliveries: 9, OldestDelivery: time.Minute}, nil
	})
	for range 5 {
		text := scrape(t, m)
		for _, want := range []string{`countersign_queue_jobs{state="available"} 7`, `countersign_queue_jobs{state="running"} 0`,
			`countersign_queue_oldest_seconds{state="available"} 90`, "countersign_deliveries_waiting 9", "countersign_deliveries_waiting_oldest_seconds 60"} {
			if !strings.Contains(text, want) {
				t.Errorf("not shown: %s", want)
			}
		}
		if strings.Contains(text, "made up") {
			t.Error("a state of no set is a label")
		}
	}
	if asked != 1 {
		t.Errorf("5 scrapes in a moment asked the database %d times", asked)
	}
	now, broken = now.Add(10*time.Second), true
	if text := scrape(t, m); asked != 2 || strings.Contains(text, "countersign_queue_jobs{") {
		t.Errorf("after %d questions and a failure:\n%s", asked, text)
	}
	// The next scrape counts it: metrics of one scrape are gathered side by side.
	if text := scrape(t, m); !strings.Contains(text, `database_errors_total{where="metrics"} 1`) {
		t.Errorf("the failure is not counted:\n%s", text)
	}
}

func BenchmarkDelivery(b *testing.B) {
	m := telemetry.New(telemetry.Options{})
	b.ReportAllocs()
	for b.Loop() {
		m.Delivery("pull_request", "accepted", time.Millisecond)
	}
}

func BenchmarkCall(b *testing.B) {
	m := telemetry.New(telemetry.Options{})
	b.ReportAllocs()
	for b.Loop() {
		m.Call("GET /repos/{owner}/{repo}/pulls/{pull_number}/files", 200, time.Millisecond)
	}
}
