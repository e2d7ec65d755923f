package githubsim

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// Fail breaks requests that match from now on. Faults are looked at in the order they were added; the
// first that hits wins. The returned function takes the fault back.
func (s *Sim) Fail(f Fault) (undo func()) { return s.faults.add(f) }

// Lag makes the next n answers of a route stale: see Fault.Stale.
func (s *Sim) Lag(route string, n int) (undo func()) {
	return s.Fail(Fault{Route: route, Times: n, Stale: true})
}

// ClearFaults takes every fault back.
func (s *Sim) ClearFaults() { s.faults.clear() }

// Requests lists what was asked so far, oldest first.
func (s *Sim) Requests() []Request { return s.journal.list() }

// ResetRequests empties the request log.
func (s *Sim) ResetRequests() { s.journal.reset() }

type faultState struct {
	Fault
	seen, hit int
}

type faultList struct {
	mu  sync.Mutex
	all []*faultState
}

func (l *faultList) add(f Fault) func() {
	st := &faultState{Fault: f}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, st)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, one := range l.all {
			if one == st {
				l.all = append(l.all[:i:i], l.all[i+1:]...)
				return
			}
		}
	}
}

func (l *faultList) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

// match returns the fault that hits this request, if one does. Every fault of the route counts the
// request, whichever of them hits: call numbers mean the route's calls.
func (l *faultList) match(method, path string) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *faultState
	for _, f := range l.all {
		if f.Route != "*" && f.Route != path && f.Route != method+" "+path {
			continue
		}
		f.seen++
		first, times := max(f.Nth, 1), f.Times
		if times == 0 && f.Nth > 0 {
			times = 1
		}
		if found == nil && f.seen >= first && (times == 0 || f.hit < times) {
			found = f
		}
	}
	if found == nil {
		return Fault{}, false
	}
	found.hit++
	return found.Fault, true
}

// serveFaulty answers, or fails on purpose.
func (s *Sim) serveFaulty(w *recorder, r *http.Request, found *compiled) {
	f, hit := s.faults.match(r.Method, found.template())
	if !hit {
		s.serve(w, r, found)
		return
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	w.stale = f.Stale
	if !f.Drop && f.Status == 0 {
		s.serve(w, r, found)
		return
	}
	if f.After {
		s.serve(&recorder{ResponseWriter: discard{}, entry: w.entry}, r, found)
	}
	if f.Drop {
		drop(w)
		return
	}
	for k, v := range f.Header {
		w.Header().Set(k, v)
	}
	body := f.Body
	if body == "" {
		body = `{"message":"` + strings.ReplaceAll(http.StatusText(f.Status), `"`, "") + `"}`
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(body))
}

// discard is where the answer of a request goes that does its work and then fails.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// drop closes the connection without an answer, as a broken network does.
func drop(w *recorder) {
	if h, ok := w.ResponseWriter.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			w.log(0)
			_ = conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusBadGateway) // no connection to take away: the nearest thing
}

// maxJournal bounds the request log; the oldest entries go first.
const maxJournal = 100_000

type journal struct {
	mu  sync.Mutex
	all []Request
}

func (j *journal) add(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.all) >= maxJournal {
		j.all = append([]Request(nil), j.all[maxJournal/2:]...)
	}
	j.all = append(j.all, r)
}

func (j *journal) list() []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Request(nil), j.all...)
}

func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = nil
}
