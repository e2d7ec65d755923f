// Package telemetry counts what the service does, in Prometheus' form. It is
// told by those who do it, or wraps their ports; it must not decide anything,
// and nothing waits for it.
//
// Every label has a bounded set of values: words of closed sets, route
// templates, status classes. No repository, installation, commit or path is
// ever a label. What is in no set counts as "other".
package telemetry

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

const namespace = "countersign"

// Metrics is one process' counters. It is safe for concurrent use; there is no
// global registry, so that each service of a test has its own.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time

	deliveries      *prometheus.CounterVec
	acknowledgement *prometheus.HistogramVec
	turns           *prometheus.CounterVec
	turnSeconds     *prometheus.HistogramVec
	sessions        *prometheus.CounterVec
	toGate          *prometheus.HistogramVec
	calls           *prometheus.CounterVec
	callSeconds     *prometheus.HistogramVec
	waits           *prometheus.HistogramVec
	publications    *prometheus.CounterVec
	wakes           prometheus.Counter
	trailFailures   prometheus.Counter
	databaseErrors  *prometheus.CounterVec
	ready           prometheus.Gauge

	routes *known
	limits *rateLimits
	depths *depths
}

// Options are what Metrics has to be told.
type Options struct {
	Version string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// New returns metrics that count from zero.
func New(o Options) *Metrics {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), now: o.Now, routes: newKnown(maxRoutes), limits: newRateLimits(o.Now)}
	m.depths = newDepths(m)
	m.define()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.limits, m.depths)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "1, with the version of the program and of Go."}, []string{"version", "goversion"})
	build.WithLabelValues(o.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(build)
	return m
}

// The buckets, in seconds. An acknowledgement has ten by GitHub's rule; a gate
// may wait for CI for an hour.
func quick() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

func medium() []float64 { return []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30} }

func slow() []float64 {
	return []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 1800, 3600}
}

func (m *Metrics) define() {
	m.deliveries = m.counter("deliveries_total", "Webhook requests by event and by what became of them.", "event", "outcome")
	m.acknowledgement = m.histogram("acknowledgement_seconds", "Time to answer a webhook request; GitHub waits ten seconds.", quick(), "outcome")
	m.turns = m.counter("turns_total", "Turns of subjects by kind of subject and outcome.", "kind", "outcome")
	m.turnSeconds = m.histogram("turn_seconds", "Duration of a turn.", slow(), "kind")
	m.sessions = m.counter("gates_total", "Finished gates by decision and risk tier.", "decision", "tier")
	m.toGate = m.histogram("delivery_to_gate_seconds", "Time from the oldest delivery of a turn to its published decision.", slow(), "turn")
	m.calls = m.counter("github_calls_total", "Requests to GitHub by route template and status class, each attempt.", "route", "status")
	m.callSeconds = m.histogram("github_call_seconds", "Duration of one attempt of a request to GitHub.", medium(), "route")
	m.waits = m.histogram("github_wait_seconds", "Time that a request to GitHub was held back, or was to be held back.", slow(), "reason")
	m.publications = m.counter("publications_total", "Checks handed to GitHub, by what became of them.", "result")
	m.databaseErrors = m.counter("database_errors_total", "Failures of the database, by who met them.", "where")
	m.wakes = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "reconciler_wakes_total", Help: "Pull requests that the reconciler found without a current check and woke."})
	m.trailFailures = prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "trail_append_failures_total", Help: "Records that could not be appended to the trail; nothing is published without them."})
	m.ready = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "ready", Help: "1 when the last look at readiness found nothing missing."})
	m.registry.MustRegister(m.wakes, m.trailFailures, m.ready)
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// scrapeTimeout bounds one answer of the handler, and maxScrapes how many are
// made at once.
const (
	scrapeTimeout = 5 * time.Second
	maxScrapes    = 4
)

// Handler serves the metrics. What one collector could not tell is logged and
// left out; the rest is served all the same.
func (m *Metrics) Handler(logger zerolog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: complaints{logger}, ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout,
	})
}

// complaints puts the handler's errors into our log.
type complaints struct{ logger zerolog.Logger }

func (c complaints) Println(v ...any) {
	c.logger.Warn().Interface("cause", v).Msg("metrics are incomplete")
}
