package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Depth is how much waits, in the whole database: replicas that share one say
// the same, so take the maximum over them and never the sum.
type Depth struct {
	// Jobs counts by state: "available" (due), "scheduled", "retryable",
	// "pending" and "running".
	Jobs map[string]int64
	// Oldest is how long the job of a state that is first in line is due
	// ("available"), or at work ("running").
	Oldest map[string]time.Duration
	// Deliveries were acknowledged and not worked yet; OldestDelivery is the age
	// of the first.
	Deliveries     int64
	OldestDelivery time.Duration
}

// Bounds of asking how deep the queue is: a scrape must not become load.
const (
	depthTimeout = time.Second
	depthFor     = 5 * time.Second
)

// WatchDepth lets every scrape tell how much waits. ask is called at most every
// five seconds; when it fails, the values are left out rather than stale.
func (m *Metrics) WatchDepth(ask func(context.Context) (Depth, error)) { m.depths.watch(ask) }

func newDepths(m *Metrics) *depths {
	d := &depths{metrics: m}
	d.jobs = prometheus.NewDesc(namespace+"_queue_jobs", "Jobs by state, in the whole database.", []string{"state"}, nil)
	d.oldest = prometheus.NewDesc(namespace+"_queue_oldest_seconds", "How long the first job of a state is due, or at work.", []string{"state"}, nil)
	d.deliveries = prometheus.NewDesc(namespace+"_deliveries_waiting", "Deliveries that were acknowledged and are not worked yet.", nil, nil)
	d.age = prometheus.NewDesc(namespace+"_deliveries_waiting_oldest_seconds", "Age of the oldest delivery that is not worked yet; 0 when none waits.", nil, nil)
	return d
}

func (d *depths) watch(ask func(context.Context) (Depth, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ask, d.at = ask, time.Time{}
}

type depths struct {
	metrics                       *Metrics
	jobs, oldest, deliveries, age *prometheus.Desc

	mu   sync.Mutex
	ask  func(context.Context) (Depth, error) // nil: there is no queue yet
	last Depth
	ok   bool
	at   time.Time
}

// Describe implements prometheus.Collector.
func (d *depths) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.jobs, d.oldest, d.deliveries, d.age} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (d *depths) Collect(out chan<- prometheus.Metric) {
	now, ok := d.get()
	if !ok {
		return
	}
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	for _, state := range []string{"available", "scheduled", "retryable", "pending", "running"} {
		gauge(d.jobs, float64(now.Jobs[state]), state)
	}
	for _, state := range []string{"available", "running"} {
		gauge(d.oldest, max(0, now.Oldest[state].Seconds()), state)
	}
	gauge(d.deliveries, float64(now.Deliveries))
	gauge(d.age, max(0, now.OldestDelivery.Seconds()))
}

func (d *depths) get() (Depth, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.metrics.now()
	if since := now.Sub(d.at); since >= 0 && since < depthFor && !d.at.IsZero() {
		return d.last, d.ok
	}
	if d.ask == nil {
		return Depth{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), depthTimeout)
	defer cancel()
	depth, err := d.ask(ctx)
	if err != nil {
		d.metrics.DatabaseFailed("metrics")
	}
	d.last, d.ok, d.at = depth, err == nil, now
	return d.last, d.ok
}
