package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing makes spans and hands them to a collector. A nil Tracing makes none and
// costs nothing.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Attr is something that a span says: a word, or a number where Text is empty.
type Attr struct {
	Key    string
	Text   string
	Number int64
}

// TracingFromEnv returns a Tracing that exports by OTLP over HTTP to where the
// standard variables say (OTEL_EXPORTER_OTLP_ENDPOINT, or that of traces alone), with
// the headers, timeouts and certificates that their siblings name; the library
// reads those itself. It is nil when no endpoint is named, or tracing is switched
// off. Nothing is asked of the collector yet: one that is down loses spans, and
// nothing waits for it.
func TracingFromEnv(ctx context.Context, env func(string) (string, bool), version string) (*Tracing, error) {
	get := func(name string) string { v, _ := env(name); return strings.TrimSpace(v) }
	if get("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" ||
		strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || get("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	protocol := get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = get("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL (environment): is %q; want http/protobuf, to the collector's port for it (4318), or leave it unset", protocol)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	return newTracing(ctx, version, sdk.WithBatcher(exporter))
}

func newTracing(ctx context.Context, version string, to sdk.TracerProviderOption) (*Tracing, error) {
	// The environment's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "countersign"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("describe this process for traces: %w", err)
	}
	p := sdk.NewTracerProvider(to, sdk.WithResource(about))
	return &Tracing{provider: p, tracer: p.Tracer("countersign")}, nil
}

// Start begins a span. at is asked when it ends, and only if the span is kept. An
// error marks the span by kind, a word of the caller's: an error's text may hold
// what a stranger wrote.
func (t *Tracing) Start(ctx context.Context, name string, kind func(error) string, at func() []Attr) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, func(err error) {
		if span.IsRecording() {
			for _, a := range at() {
				if a.Text != "" {
					span.SetAttributes(attribute.String(a.Key, a.Text))
				} else if a.Number != 0 {
					span.SetAttributes(attribute.Int64(a.Key, a.Number))
				}
			}
			if err != nil {
				span.SetStatus(codes.Error, kind(err))
			}
		}
		span.End()
	}
}

// flushGrace bounds the last export.
const flushGrace = 3 * time.Second

// Close hands over what is left. The collector may be gone: then it is lost.
func (t *Tracing) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushGrace)
	defer cancel()
	return t.provider.Shutdown(ctx)
}
