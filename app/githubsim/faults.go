package githubsim

import (
	"net"
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

// any tells whether there is a fault at all.
func (l *faultList) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}

// meant tells whether a fault is meant for a request.
func (f Fault) meant(q Request) bool {
	return (f.Route == "*" || f.Route == q.Route || f.Route == q.Method+" "+q.Route) &&
		(f.Operation == "" || f.Operation == q.Operation) &&
		(f.App == "" || f.App == q.App) && (f.Installation == 0 || f.Installation == q.Installation)
}

// fails tells a fault that spoils the answer from one that only delays it, makes it stale or watches.
func (f Fault) fails() bool { return f.Drop || f.Reset || f.Hang || f.Status != 0 }

// match returns the fault that hits this request, if one does. Every fault that is meant for it counts
// the request, whichever of them hits: call numbers mean the route's calls.
func (l *faultList) match(q Request) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *faultState
	for _, f := range l.all {
		if !f.meant(q) {
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
	if !s.faults.any() {
		s.serve(w, r, found)
		return
	}
	s.nameAsker(r, w.entry)
	f, hit := s.faults.match(*w.entry)
	if !hit {
		s.serve(w, r, found)
		return
	}
	if f.BeforeWork != nil {
		f.BeforeWork(*w.entry)
	}
	if f.ExpireToken {
		s.expire(r)
	}
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	w.stale, w.after = f.Stale, f.AfterWork
	if !f.fails() {
		s.serve(w, r, found)
		return
	}
	if f.After {
		s.serve(&recorder{ResponseWriter: discard{}, entry: w.entry, after: f.AfterWork}, r, found)
	}
	s.spoil(w, r, f)
}

// spoil gives the answer of a fault, or none.
func (s *Sim) spoil(w *recorder, r *http.Request, f Fault) {
	switch {
	case f.Hang:
		w.log(0) // it is in the request log while the caller waits
		w.journal = nil
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		drop(w, false)
		return
	case f.Drop, f.Reset:
		drop(w, f.Reset)
		return
	}
	w.Header().Set("Date", s.opts.Clock().UTC().Format(http.TimeFormat))
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

// nameAsker fills in who asks, as far as the token tells: faults may be meant for one App.
func (s *Sim) nameAsker(r *http.Request, q *Request) {
	_, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tokens[text]; t != nil && t.inst != nil {
		q.App, q.Installation = t.inst.app.spec.Slug, t.inst.id
		return
	}
	var claims struct {
		Iss any `json:"iss"`
	}
	if parts := strings.Split(text, "."); len(parts) == 3 && jwtPart(parts[1], &claims) {
		if a := s.appByIssuer(claims.Iss); a != nil {
			q.App = a.spec.Slug
		}
	}
}

// expire ends the token that a request carries.
func (s *Sim) expire(r *http.Request) {
	_, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tokens[strings.TrimSpace(text)]; t != nil {
		t.revoked = true
	}
}

// discard is where the answer of a request goes that does its work and then fails.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// drop closes the connection without an answer, as a broken network does; with reset the other side
// sees a reset, without an orderly end of the connection.
func drop(w *recorder, reset bool) {
	if h, ok := w.ResponseWriter.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			w.log(0)
			if tcp, isTCP := conn.(*net.TCPConn); isTCP && reset {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusBadGateway) // no connection to take away: the nearest thing
}
