package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/app/telemetry"
)

// The paths that operators' tools ask.
const (
	// HealthPath: the process lives. It asks nothing of anybody, so that a broken
	// database does not make a supervisor kill what would recover by itself.
	HealthPath = "/healthz"
	// ReadyPath: deliveries can be accepted and worked now.
	ReadyPath = "/readyz"
	// MetricsPath is served on the operators' address only.
	MetricsPath = "/metrics"
)

const (
	// readyTimeout is how long the database may take to answer.
	readyTimeout = time.Second
	// readyFor is how long an answer holds: whoever asks in a loop, and on the
	// public address anybody may, does not become load of the database.
	readyFor = 500 * time.Millisecond
)

// What is not ready, in words that give nothing away: the page may be public.
const (
	stateOK       = "ok"
	stateStarting = "starting"
	stateSilent   = "no answer within 1s"
	stateOlder    = "migrations are not done"
	stateStopping = "stopping"
)

// health knows what stands between the process and its work.
type health struct {
	metrics *telemetry.Metrics
	logger  zerolog.Logger
	now     func() time.Time

	mu       sync.Mutex
	database func(context.Context) error // nil: not open yet
	started  bool
	stopping bool
	last     readiness
	at       time.Time
}

// readiness is the body of /readyz.
type readiness struct {
	Ready bool `json:"ready"`
	// Database, Migrations, Queue and Process are "ok" or say what is not.
	Database   string `json:"database"`
	Migrations string `json:"migrations"`
	Queue      string `json:"queue"`
	Process    string `json:"process"`
}

func newHealth(m *telemetry.Metrics, logger zerolog.Logger) *health {
	return &health{metrics: m, logger: logger, now: time.Now}
}

// opened: the database is open and has every migration.
func (h *health) opened(ready func(context.Context) error) {
	h.change(func() { h.database = ready })
}

// working: the queue has started.
func (h *health) working() { h.change(func() { h.started = true }) }

// ending: no more deliveries, please.
func (h *health) ending() { h.change(func() { h.stopping = true }) }

// closed: the database is about to be closed and must not be asked any more.
func (h *health) closed() { h.change(func() { h.database, h.started, h.stopping = nil, false, true }) }

func (h *health) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.at = time.Time{} // what was found before holds no more
}

// look finds what is not ready. One look at a time: those who wait get the same
// answer.
func (h *health) look(ctx context.Context) readiness {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if age := now.Sub(h.at); !h.at.IsZero() && age >= 0 && age < readyFor {
		return h.last
	}
	r := readiness{Database: stateStarting, Migrations: stateStarting, Queue: stateStarting, Process: stateOK}
	if h.database != nil {
		r.Database, r.Migrations = h.ask(ctx)
	}
	if h.started {
		r.Queue = stateOK
	}
	if h.stopping {
		r.Process = stateStopping
	}
	r.Ready = !slices.ContainsFunc([]string{r.Database, r.Migrations, r.Queue, r.Process}, func(s string) bool { return s != stateOK })
	h.last, h.at = r, now
	h.metrics.Ready(r.Ready)
	return r
}

// ask says how the database and its migrations are. The reason goes to the log.
func (h *health) ask(ctx context.Context) (database, migrations string) {
	// Not the caller's context: it may hang up, and others wait for the answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	err := h.database(ctx)
	switch {
	case err == nil:
		return stateOK, stateOK
	case errors.Is(err, store.ErrOlder):
		return stateOK, stateOlder
	}
	h.metrics.DatabaseFailed("ready")
	if h.last.Database != stateSilent {
		h.logger.Warn().Err(err).Msg("not ready: the database does not answer")
	}
	return stateSilent, stateSilent
}

func (h *health) serveHealth(w http.ResponseWriter, r *http.Request) {
	if !mayAsk(w, r) {
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": stateOK})
}

func (h *health) serveReady(w http.ResponseWriter, r *http.Request) {
	if !mayAsk(w, r) {
		return
	}
	state := h.look(r.Context())
	status := http.StatusOK
	if !state.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, state)
}

func mayAsk(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"error": "ask with GET"})
	return false
}

// writeJSON writes one line. A connection that is gone by now changes nothing.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// routes adds the pages that are no secret.
func (h *health) routes(mux *http.ServeMux) {
	mux.HandleFunc(HealthPath, h.serveHealth)
	mux.HandleFunc(ReadyPath, h.serveReady)
}
