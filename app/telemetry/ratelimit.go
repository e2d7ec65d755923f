package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxInstallations bounds the installations whose limits are remembered; with
// more, one that was heard of before is forgotten.
const maxInstallations = 10_000

// rateLimits remembers what GitHub said is left of each installation's primary
// limit, and shows the least: an installation cannot be a label.
type rateLimits struct {
	now  func() time.Time
	desc *prometheus.Desc
	mu   sync.Mutex
	left map[limitKey]limitLeft
}

type limitKey struct {
	installation int64
	resource     string
}

type limitLeft struct {
	remaining int
	reset     time.Time
}

func newRateLimits(now func() time.Time) *rateLimits {
	return &rateLimits{now: now, left: make(map[limitKey]limitLeft), desc: prometheus.NewDesc(namespace+"_github_rate_limit_remaining",
		"Requests left until GitHub's primary limit, of the installation that has least; absent when none is known.", []string{"resource"}, nil)}
}

// Remaining keeps what an answer said of an installation's limit.
func (m *Metrics) Remaining(installation int64, resource string, remaining int, reset time.Time) {
	m.limits.set(limitKey{installation, within(resource, []string{"rest", "graphql"})}, limitLeft{remaining, reset})
}

func (r *rateLimits) set(k limitKey, l limitLeft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.left[k]; !ok && len(r.left) >= maxInstallations {
		for old := range r.left {
			delete(r.left, old)
			break
		}
	}
	r.left[k] = l
}

// Describe implements prometheus.Collector.
func (r *rateLimits) Describe(out chan<- *prometheus.Desc) { out <- r.desc }

// Collect implements prometheus.Collector. A limit that was reset meanwhile says
// nothing any more.
func (r *rateLimits) Collect(out chan<- prometheus.Metric) {
	for resource, n := range r.least() {
		out <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, float64(n), resource)
	}
}

func (r *rateLimits) least() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, least := r.now(), make(map[string]int)
	for k, l := range r.left {
		if !l.reset.After(now) {
			delete(r.left, k)
			continue
		}
		if n, ok := least[k.resource]; !ok || l.remaining < n {
			least[k.resource] = l.remaining
		}
	}
	return least
}
