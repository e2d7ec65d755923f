package telemetry

import (
	"time"
)

// Delivery counts an answered webhook request. event is the request's header,
// outcome what became of it.
func (m *Metrics) Delivery(event, outcome string, took time.Duration) {
	outcome = within(outcome, outcomes())
	m.deliveries.WithLabelValues(within(event, events()), outcome).Inc()
	m.acknowledgement.WithLabelValues(outcome).Observe(took.Seconds())
}

// outcomes of a webhook request.
func outcomes() []string {
	return []string{"accepted", "repeated", "ignored", "pong", "refused", "not_stored"}
}

// Turn counts a turn of a subject.
func (m *Metrics) Turn(kind, outcome string, took time.Duration) {
	kind = within(kind, []string{"pull", "head", "repo", "installation"})
	m.turns.WithLabelValues(kind, within(outcome, turnOutcomes())).Inc()
	m.turnSeconds.WithLabelValues(kind).Observe(took.Seconds())
}

// turnOutcomes: done, nothing done yet (postponed), failed by GitHub's limit,
// by GitHub, by the database, by ourselves, or stopped with the process.
func turnOutcomes() []string {
	return []string{"done", "postponed", "limited", "forge_error", "database_error", "error", "panic", "stopped"}
}

// Gate counts a finished gate. waited is the time since the oldest delivery that
// asked for it; negative where none did. again says that the gate was recomputed
// because of CI, without a new session.
func (m *Metrics) Gate(decision, tier string, again bool, waited time.Duration) {
	m.sessions.WithLabelValues(
		within(decision, []string{"blocked", "changes_requested", "pending", "needs_human", "not_reviewed", "approved"}),
		within(tier, []string{"low", "medium", "high", "critical"})).Inc()
	if waited < 0 {
		return
	}
	turn := "evaluate"
	if again {
		turn = "recompute"
	}
	m.toGate.WithLabelValues(turn).Observe(waited.Seconds())
}

// Call counts one attempt of a request to GitHub. route is a template; status is
// 0 where no answer came.
func (m *Metrics) Call(route string, status int, took time.Duration) {
	route = m.routes.value(route)
	m.calls.WithLabelValues(route, class(status)).Inc()
	m.callSeconds.WithLabelValues(route).Observe(took.Seconds())
}

// Wait counts that a request to GitHub was held back.
func (m *Metrics) Wait(reason string, d time.Duration) {
	m.waits.WithLabelValues(within(reason, []string{"limit", "secondary_limit", "pace", "retry", "points"})).Observe(d.Seconds())
}

// Published counts a check that was handed to GitHub.
func (m *Metrics) Published(result string) {
	m.publications.WithLabelValues(within(result, []string{"created", "patched", "unchanged", "failed"})).Inc()
}

// Woken counts pull requests that the reconciler woke.
func (m *Metrics) Woken(n int) { m.wakes.Add(float64(max(n, 0))) }

// TrailFailed counts an append to the trail that failed.
func (m *Metrics) TrailFailed() { m.trailFailures.Inc() }

// DatabaseFailed counts a failure of the database.
func (m *Metrics) DatabaseFailed(where string) {
	m.databaseErrors.WithLabelValues(within(where, []string{"intake", "turn", "trail", "ready", "metrics"})).Inc()
}

// Ready keeps what the last look at readiness found.
func (m *Metrics) Ready(ok bool) {
	if ok {
		m.ready.Set(1)
		return
	}
	m.ready.Set(0)
}
