package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app"
)

// ask reads a page of the service.
func (w *world) ask(base, path string) (int, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	w.must(err)
	resp, err := http.DefaultClient.Do(req)
	w.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	w.must(err)
	return resp.StatusCode, string(body)
}

// withOps serves the operators' pages; the address is returned by the pointer.
func withOps(base *string) furnish {
	return func(w *world) {
		w.ops = app.NewOps("test", zerolog.New(w.log), w.tracing)
		var lc net.ListenConfig
		l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
		w.must(err)
		*base = "http://" + l.Addr().String()
		done := make(chan error, 1)
		go func() { done <- w.ops.Serve(l) }()
		w.t.Cleanup(func() {
			w.must(w.ops.Close())
			w.must(<-done)
		})
	}
}

// Health and readiness are on both addresses, metrics on the operators' only;
// a stop shows in readiness while deliveries are still taken, and the operators'
// address outlives the service.
func TestHealthOverALife(t *testing.T) {
	var ops string
	w := newWorld(t, withOps(&ops), func(w *world) { w.settings.Drain = 2 * time.Second })
	public := strings.TrimSuffix(w.hook, app.HookPath)
	w.until(func() bool { code, _ := w.ask(ops, app.ReadyPath); return code == 200 }, func() string { return "never ready" })
	for _, base := range []string{ops, public} {
		if code, body := w.ask(base, app.HealthPath); code != 200 {
			t.Errorf("health: %d %s", code, body)
		}
		if code, body := w.ask(base, app.ReadyPath); code != 200 {
			t.Errorf("ready: %d %s", code, body)
		}
	}
	if code, _ := w.ask(public, app.MetricsPath); code != 404 {
		t.Errorf("the webhook's address shows metrics: %d", code)
	}
	w.stop()
	w.until(func() bool { code, _ := w.ask(public, app.ReadyPath); return code == 503 }, func() string { return "ready while it stops" })
	p := w.docs("late")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.must(w.sim.WaitIdle(ctx))
	for _, d := range w.sim.Deliveries() {
		if d.Event == "pull_request" && d.Status != http.StatusAccepted {
			t.Errorf("a delivery of #%d was answered %d while balancers were told", p.Number(), d.Status)
		}
	}
	w.halt()
	if code, body := w.ask(ops, app.ReadyPath); code != 503 || !strings.Contains(body, `"process":"stopping"`) {
		t.Errorf("after the stop: %d %s", code, body)
	}
}

// A session shows in the metrics, and nothing that names whom it was about.
func TestMetricsOfASession(t *testing.T) {
	var ops string
	w := newWorld(t, withOps(&ops))
	p := w.docs("guide")
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low"))
	w.idle()
	_, text := w.ask(ops, app.MetricsPath)
	for _, want := range []string{
		`countersign_deliveries_total{event="pull_request",outcome="accepted"} 1`,
		`countersign_acknowledgement_seconds_count{outcome="accepted"}`,
		`countersign_turns_total{kind="pull",outcome="done"}`, `countersign_turns_total{kind="head",outcome="done"}`,
		`countersign_publications_total{result="created"} 3`, `countersign_publications_total{result="patched"}`,
		`countersign_gates_total{decision="pending",tier="low"} 1`, `countersign_gates_total{decision="approved",tier="low"} 1`,
		`countersign_delivery_to_gate_seconds_count{turn="evaluate"} 1`,
		`countersign_github_calls_total{route="POST /graphql Snapshot",status="2xx"} 2`, `countersign_github_call_seconds_count{route="POST /graphql Pull"} 1`,
		`countersign_queue_jobs{state="running"} 0`, "countersign_deliveries_waiting 0", "countersign_ready",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not shown: %s", want)
		}
	}
	named := regexp.MustCompile(`acme|shop|mona|guide|[0-9a-f]{40}|4711`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "countersign_") && named.MatchString(line[:strings.LastIndexByte(line, ' ')]) {
			t.Errorf("names somebody: %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
