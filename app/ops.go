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
	tracing *telemetry.Tracing
	server  *http.Server
}

// NewOps returns an Ops that says "starting". tracing may be nil: no traces.
func NewOps(version string, logger zerolog.Logger, tracing *telemetry.Tracing) *Ops {
	m := telemetry.New(telemetry.Options{Version: version})
	o := &Ops{metrics: m, health: newHealth(m, logger), tracing: tracing}
	mux := http.NewServeMux()
	o.health.routes(mux)
	mux.Handle(MetricsPath, m.Handler(logger))
	o.server = newServer(mux, logger)
	return o
}

func (o *Ops) probe() probe { return probe{metrics: o.metrics, tracing: o.tracing} }

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

// Close ends Serve, and hands over the last spans.
func (o *Ops) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), opsGrace)
	defer cancel()
	err := o.server.Shutdown(ctx)
	if err != nil {
		err = o.server.Close()
	}
	if terr := o.tracing.Close(context.Background()); terr != nil {
		err = errors.Join(err, fmt.Errorf("hand over the last traces: %w", terr))
	}
	return err
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
