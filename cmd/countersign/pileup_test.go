package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/store/pgtest"
)

// mostMemory bounds a process with everything queued, in MiB.
const mostMemory = 512

// Deliveries pile up while GitHub gives no answer: each is acknowledged, and the
// process does not grow with them. DELIVERIES makes it large.
func TestDeliveriesPileUp(t *testing.T) {
	n := envInt(t, "DELIVERIES", 1_000)
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			s := newSite(t)
			if database == "postgres" {
				pg := pgtest.Start(t, true)
				s.url = pg.Database(t)
				s.env = append(s.env, "DATABASE_URL="+s.url, "COUNTERSIGN_REPLICA=one")
			}
			p := s.start()
			pull := s.open(1)[0]
			body, err := pull.Payload(s.app, "opened")
			s.must(err)
			s.sim.Fail(githubsim.Hang())
			before, _ := p.memory(t)
			took := pileUp(t, p.hook, body, n)
			now, most := p.memory(t)
			slices.Sort(took)
			t.Logf("%d deliveries of %d KiB queued: acknowledged in p50 %s, p99 %s, at most %s; %.0f MiB before, %.0f after, at most %.0f",
				n, len(body)>>10, took[n/2].Round(time.Microsecond), took[n*99/100].Round(time.Microsecond), took[n-1].Round(time.Microsecond), before, now, most)
			if most > mostMemory {
				t.Errorf("%.0f MiB at most, want %d", most, mostMemory)
			}
		})
	}
}

// pileUp sends n deliveries of as many pull requests, 16 at a time.
func pileUp(t *testing.T, hook string, body []byte, n int) []time.Duration {
	t.Helper()
	var payload map[string]any
	if err := json.Unmarshal(body, &payload); err != nil {
		t.Fatal(err)
	}
	pull := payload["pull_request"].(map[string]any) //nolint:forcetypeassert // of our own making
	numbers := make(chan []byte)
	go func() {
		defer close(numbers)
		for i := range n {
			payload["number"], pull["number"], pull["id"] = i+2, i+2, 900_000+i
			raw, err := json.Marshal(payload)
			if err != nil {
				t.Error(err)
			}
			numbers <- raw
		}
	}()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 10 * time.Second}
	for w := range 16 {
		wg.Go(func() {
			i := 0
			for raw := range numbers {
				i++
				begun := time.Now()
				code, err := deliverBy(client, hook, githubsim.Delivery{Event: "pull_request", GUID: fmt.Sprintf("%08d-0000-4000-8000-%012d", w, i), Body: raw})
				if err != nil || code != http.StatusAccepted {
					t.Errorf("answered %d, %v", code, err)
				}
				mu.Lock()
				took = append(took, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return took
}
