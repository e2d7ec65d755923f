package app_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/countersign/countersign/app/telemetry"
)

// otlpServer is an OTLP collector.
type otlpServer struct {
	mu    sync.Mutex
	spans []*spans.Span
	about string
}

func (c *otlpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, res := range sent.ResourceSpans {
		c.about = res.Resource.String()
		for _, scope := range res.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// The gates of a session are spans of one trace, with its calls below them, and
// nothing that anybody wrote.
func TestTraces(t *testing.T) {
	c := &otlpServer{}
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	tracing, err := telemetry.TracingFromEnv(context.Background(), os.LookupEnv, "1.2.3")
	if err != nil || tracing == nil {
		t.Fatal(tracing, err)
	}
	var ops string
	w := newWorld(t, func(w *world) { w.tracing = tracing }, withOps(&ops))
	p := w.docs("guide")
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low"))
	w.idle()
	w.halt()
	w.must(tracing.Close(context.Background()))

	c.mu.Lock()
	defer c.mu.Unlock()
	byID := make(map[string]*spans.Span)
	for _, s := range c.spans {
		byID[string(s.SpanId)] = s
	}
	seen := make(map[string]int)
	for _, s := range c.spans {
		text := s.String()
		for _, leak := range []string{"Change guide", "shop needs", "docs/guide.md", "acme", "mona", "ghs_", "# guide"} {
			if strings.Contains(text, leak) {
				t.Errorf("a span shows %q: %s", leak, text)
			}
		}
		parent := byID[string(s.ParentSpanId)]
		seen[s.Name]++
		switch {
		case s.Name == "turn pull" || s.Name == "turn head" || s.Name == "turn repo":
			if parent != nil {
				t.Errorf("%s is below %s", s.Name, parent.Name)
			}
		case parent == nil && !strings.Contains(s.Name, "/app"): // the start asks who we are
			t.Errorf("%s is below nothing", s.Name)
		}
	}
	for _, gate := range []string{"G0", "G1", "G2", "G3", "G4", "G5", "G6", "G7"} {
		if seen[gate] == 0 {
			t.Errorf("no span of %s in %v", gate, seen)
		}
	}
	if seen["POST /graphql Snapshot"] < 2 || seen["POST /repos/{owner}/{repo}/check-runs"] < 1 {
		t.Errorf("calls are no spans: %v", seen)
	}
	at := slices.IndexFunc(c.spans, func(s *spans.Span) bool { return s.Name == "G6" })
	if at < 0 {
		t.Fatal("no gate")
	}
	text := c.spans[at].String()
	for _, want := range []string{"countersign.session", "countersign.repository_id", p.HeadSHA(), `"pending"`, `"low"`, "countersign.deliveries"} {
		if !strings.Contains(text, want) {
			t.Errorf("the gate's span has no %s: %s", want, text)
		}
	}
	if !strings.Contains(c.about, "countersign") || !strings.Contains(c.about, "1.2.3") {
		t.Errorf("the resource is %s", c.about)
	}
}
