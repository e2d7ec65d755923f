package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/telemetry"
)

// Ops is what operators see of a process: health, readiness and metrics. It is
// there before the service and outlives it, so that neither a long migration
// nor a slow stop looks like a dead process.
type Ops struct {
	metrics *telemetry.Metrics
	health  *health
	server  *http.Server
}

// NewOps returns an Ops that says "starting".
func NewOps(version string, logger zerolog.Logger) *Ops {
	m := telemetry.New(telemetry.Options{Version: version})
	o := &Ops{metrics: m, health: newHealth(m, logger)}
	mux := http.NewServeMux()
	o.health.routes(mux)
	mux.Handle(MetricsPath, m.Handler(logger))
	o.server = newServer(mux, logger)
	return o
}

// Serve serves health, readiness and metrics on the listener until Close. The
// address is for operators: metrics tell what the service does.
func (o *Ops) Serve(l net.Listener) error {
	if err := o.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics on %s: %w", l.Addr(), err)
	}
	return nil
}

// opsGrace lets a scrape end that is under way.
const opsGrace = 2 * time.Second

// Close ends Serve.
func (o *Ops) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), opsGrace)
	defer cancel()
	if err := o.server.Shutdown(ctx); err != nil {
		return o.server.Close()
	}
	return nil
}

// newServer bounds what a connection may take. GitHub sends 25 MB at most and
// gives up after 10 s.
func newServer(h http.Handler, logger zerolog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ErrorLog: telemetry.StdLogger(logger),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
}
