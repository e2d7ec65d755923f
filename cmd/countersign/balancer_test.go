package main_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// balancer gives each delivery to the next replica that takes it, as what stands
// in front of several processes does: one that cannot be reached is passed over.
type balancer struct {
	srv    *httptest.Server
	client *http.Client

	mu       sync.Mutex
	replicas []string // where they take webhooks
	next     int
	took     []time.Duration // from asking to the acknowledgement
	refused  int             // deliveries that none took
}

func newBalancer(t testing.TB) *balancer {
	t.Helper()
	b := &balancer{client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
	b.srv = httptest.NewServer(b)
	t.Cleanup(b.srv.Close)
	return b
}

func (b *balancer) add(hook string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = append(b.replicas, hook)
}

func (b *balancer) remove(hook string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, r := range b.replicas {
		if r == hook {
			b.replicas = append(b.replicas[:i:i], b.replicas[i+1:]...)
			return
		}
	}
}

// order is the replicas, beginning with the next one.
func (b *balancer) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.replicas)
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, b.replicas[(b.next+i)%n])
	}
	b.next++
	return out
}

// ServeHTTP tries each replica, again and again for as long as GitHub waits.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 9*time.Second)
	defer cancel()
	begin := time.Now()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for ctx.Err() == nil {
		for _, hook := range b.order() {
			code, err := b.forward(ctx, hook, r.Header, body)
			if err == nil && code < http.StatusInternalServerError {
				b.mu.Lock()
				b.took = append(b.took, time.Since(begin))
				b.mu.Unlock()
				w.WriteHeader(code)
				return
			}
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	b.refused++
	b.mu.Unlock()
	w.WriteHeader(http.StatusBadGateway)
}

func (b *balancer) forward(ctx context.Context, hook string, h http.Header, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = h.Clone()
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
