package telemetry_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/telemetry"
)

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// Traces are off unless the standard variables name a collector.
func TestTracingFromEnv(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, tc := range []struct {
		name string
		vars map[string]string
		on   bool
		want string
	}{
		{"nothing", nil, false, ""},
		{"empty", map[string]string{endpoint: " "}, false, ""},
		{"an endpoint", map[string]string{endpoint: "http://127.0.0.1:4318"}, true, ""},
		{"of traces alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, true, ""},
		{"switched off", map[string]string{endpoint: "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		{"no traces", map[string]string{endpoint: "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{"gRPC", map[string]string{endpoint: "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "want http/protobuf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tracing, err := telemetry.TracingFromEnv(t.Context(), env(tc.vars), "1")
			if (tracing != nil) != tc.on || (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, %v", tracing != nil, err)
			}
			if err := tracing.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// Off, a span is nothing: no allocation, and what it would say is not asked for.
func TestNoTracingCostsNothing(t *testing.T) {
	var off *telemetry.Tracing
	kind := func(error) string { t.Error("asked for the error's kind"); return "" }
	at := func() []telemetry.Attr { t.Error("asked for attributes"); return nil }
	ctx, err := context.Background(), errors.New("x")
	if n := testing.AllocsPerRun(100, func() {
		got, end := off.Start(ctx, "G4", kind, at)
		end(err)
		if got != ctx {
			t.Error("another context")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSpanOff(b *testing.B) {
	var off *telemetry.Tracing
	b.ReportAllocs()
	for b.Loop() {
		_, end := off.Start(b.Context(), "G4", func(error) string { return "" }, func() []telemetry.Attr { return nil })
		end(nil)
	}
}

func BenchmarkSpanOn(b *testing.B) {
	// Nobody listens there: spans are queued, and dropped beyond the queue's bound.
	b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	on, err := telemetry.TracingFromEnv(b.Context(), env(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}), "1")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, end := on.Start(b.Context(), "G4", func(error) string { return "" }, func() []telemetry.Attr {
			return []telemetry.Attr{{Key: "countersign.session", Text: "01J"}, {Key: "countersign.pull", Number: 7}}
		})
		end(nil)
	}
}
