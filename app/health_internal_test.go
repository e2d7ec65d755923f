package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
)

func get(h http.Handler, method, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), method, path, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// Each thing that is not ready is named, and nothing else is said.
func TestReadiness(t *testing.T) {
	const secret = "postgres://u:hunter2@db/x"
	ok := func(context.Context) error { return nil }
	silent := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("dial %s: %w", secret, ctx.Err())
	}
	for _, tc := range []struct {
		name   string
		life   func(*health)
		status int
		want   string
	}{
		{"not open yet", func(*health) {}, 503, `{"ready":false,"database":"starting","migrations":"starting","queue":"starting","process":"ok"}`},
		{"not started", func(h *health) { h.opened(ok) }, 503, `{"ready":false,"database":"ok","migrations":"ok","queue":"starting","process":"ok"}`},
		{"ready", func(h *health) { h.opened(ok); h.working() }, 200, `{"ready":true,"database":"ok","migrations":"ok","queue":"ok","process":"ok"}`},
		{"database silent", func(h *health) { h.opened(silent); h.working() }, 503,
			`{"ready":false,"database":"no answer within 1s","migrations":"no answer within 1s","queue":"ok","process":"ok"}`},
		{"older schema", func(h *health) {
			h.opened(func(context.Context) error { return fmt.Errorf("%w: at 3 of 4", store.ErrOlder) })
			h.working()
		}, 503, `{"ready":false,"database":"ok","migrations":"migrations are not done","queue":"ok","process":"ok"}`},
		{"stopping", func(h *health) { h.opened(ok); h.working(); h.ending() }, 503, `{"ready":false,"database":"ok","migrations":"ok","queue":"ok","process":"stopping"}`},
		{"closed", func(h *health) { h.opened(ok); h.working(); h.ending(); h.closed() }, 503,
			`{"ready":false,"database":"starting","migrations":"starting","queue":"starting","process":"stopping"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log strings.Builder
			o := NewOps("1.2.3", zerolog.New(&log), nil)
			tc.life(o.health)
			begun := time.Now()
			code, body := get(o.server.Handler, http.MethodGet, ReadyPath)
			if code != tc.status || body != tc.want {
				t.Errorf("answered %d %s, want %d %s", code, body, tc.status, tc.want)
			}
			if d := time.Since(begun); d > 3*time.Second {
				t.Errorf("took %s", d)
			}
			if code, body := get(o.server.Handler, http.MethodGet, HealthPath); code != 200 || body != `{"status":"ok"}` {
				t.Errorf("health: %d %s, whatever else is broken", code, body)
			}
			_, metrics := get(o.server.Handler, http.MethodGet, MetricsPath)
			if want := fmt.Sprintf("countersign_ready %d", map[bool]int{true: 1, false: 0}[tc.status == 200]); !strings.Contains(metrics, want) {
				t.Errorf("the metrics do not say %s", want)
			}
		})
	}
}

// Whoever asks in a loop does not become load of the database.
func TestReadinessIsAskedOnce(t *testing.T) {
	o := NewOps("1", zerolog.Nop(), nil)
	at, asked := time.Unix(1_790_000_000, 0), 0
	o.health.now = func() time.Time { return at }
	o.health.opened(func(context.Context) error { asked++; return errors.New("down") })
	o.health.working()
	for range 100 {
		get(o.server.Handler, http.MethodGet, ReadyPath)
	}
	if asked != 1 {
		t.Errorf("the database was asked %d times", asked)
	}
	at = at.Add(readyFor)
	get(o.server.Handler, http.MethodHead, ReadyPath)
	if asked != 2 {
		t.Errorf("an old answer holds for ever")
	}
	if code, _ := get(o.server.Handler, http.MethodPost, ReadyPath); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", code)
	}
}
