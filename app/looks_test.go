package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countersign/countersign/app"
	"github.com/countersign/countersign/app/store"
)

// What the tests of the reconciler share: a transport that watches it, and a world
// whose webhooks get lost.

// reconciling looks at everything this often, with hardly a pause.
func reconciling(every time.Duration) furnish {
	return func(w *world) {
		w.settings.Reconcile = every
		w.gentle = app.Gentleness{Grace: time.Millisecond, Call: 5 * time.Millisecond, Wake: 10 * time.Millisecond, Stale: time.Hour, Poll: 5 * time.Millisecond}
		if w.base == nil {
			w.base = newLooks(w)
		}
	}
}

// looks is a transport that counts the reconciler's looks at repositories, and what
// they showed.
type looks struct {
	next  http.RoundTripper
	mu    sync.Mutex
	repos []string
	at    []time.Time
	// hide is a check run that GitHub no longer has.
	hide int64
}

func newLooks(w *world) *looks {
	return &looks{next: w.transport()}
}

func (l *looks) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	hide := l.hide
	l.mu.Unlock()
	if hide != 0 && strings.HasSuffix(r.URL.Path, "/check-runs/"+strconv.FormatInt(hide, 10)) {
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"message":"Not Found"}`)), Request: r}, nil
	}
	if !strings.HasSuffix(r.URL.Path, "/graphql") {
		return l.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var q struct {
		Query     string
		Variables struct{ Owner, Name string }
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(q.Query, "query OpenPulls") {
		return l.next.RoundTrip(r)
	}
	l.mu.Lock()
	l.repos, l.at = append(l.repos, q.Variables.Owner+"/"+q.Variables.Name), append(l.at, time.Now())
	l.mu.Unlock()
	resp, err := l.next.RoundTrip(r)
	if err != nil || hide == 0 {
		return resp, err
	}
	defer resp.Body.Close()
	return without(resp, hide)
}

// without takes a check run out of an answer.
func without(resp *http.Response, id int64) (*http.Response, error) {
	var answer any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	var walk func(any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		case []any:
			v = slices.DeleteFunc(v, func(x any) bool {
				m, ok := x.(map[string]any)
				return ok && m["databaseId"] == float64(id)
			})
			for i := range v {
				v[i] = walk(v[i])
			}
			return v
		}
		return v
	}
	out, err := json.Marshal(walk(answer))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	return resp, err
}

func (l *looks) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.repos)
}

func (w *world) looks() *looks {
	l, ok := w.base.(*looks)
	if !ok {
		w.t.Fatal("no looks are counted")
	}
	return l
}

// swept waits for n further whole looks at the repositories of the world.
func (w *world) swept(n int) {
	w.t.Helper()
	from := len(w.looks().list())
	w.until(func() bool { return len(w.looks().list()) >= from+n }, func() string { return "nothing was looked at" })
}

// dropped does something of which no webhook arrives.
func (w *world) dropped(do func()) {
	w.t.Helper()
	w.must(w.sim.WaitIdle(w.t.Context()))
	w.sim.Hold()
	do()
	for _, d := range w.sim.Held() {
		w.must(w.sim.DropHeld(d.GUID))
	}
	w.sim.Release()
}

// settled waits until nothing that was found is left to do.
func (w *world) settled() {
	w.t.Helper()
	w.until(func() bool {
		var n int
		w.must(w.service.Store().DB().QueryRowContext(w.t.Context(), `SELECT count(*) FROM reconcile_findings WHERE state <> 'settled'`).Scan(&n))
		return n == 0
	}, func() string { return "findings are left" })
	w.idle()
}

// edit changes the database while the service is down.
func (w *world) edit(query string, args ...any) {
	w.t.Helper()
	s, err := store.Open(w.t.Context(), store.Options{Path: w.settings.Database})
	w.must(err)
	defer s.Close() //nolint:errcheck // the next start tells
	_, err = s.DB().ExecContext(w.t.Context(), query, args...)
	w.must(err)
}
