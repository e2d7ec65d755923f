package queue

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/app/store/pgtest"
	"github.com/countersign/countersign/handlers"
)

const (
	benchSecret = "a secret of the benchmark"
	benchAppID  = 4242
)

// BenchmarkIntake acknowledges signed pull_request deliveries of 24 kB over real
// HTTP, durably, while the jobs they make are worked. "one pull" is a burst on
// one pull request, "many pulls" gives each delivery a pull request of its own.
func BenchmarkIntake(b *testing.B) {
	payload, err := os.ReadFile("../../handlers/testdata/pull_request.json")
	if err != nil {
		b.Fatal(err)
	}
	durable := pgtest.Start(b, true) // as in production, and as SQLite is
	for _, database := range []string{"sqlite", "postgres"} {
		for _, shape := range []struct {
			name  string
			pulls int
		}{{"one pull", 1}, {"50 pulls", 50}, {"many pulls", 1 << 30}} {
			for _, conns := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("%s/%s/conns=%d", database, shape.name, conns), func(b *testing.B) {
					benchmarkIntake(b, durable, payload, conns, shape.pulls)
				})
			}
		}
	}
}

func benchmarkIntake(b *testing.B, durable *pgtest.Server, payload []byte, conns, pulls int) {
	run := func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil }
	var s *store.Store // nil: a new SQLite
	if onPostgres(b) {
		s = openStore(b, store.Options{URL: durable.Database(b)})
	}
	q := startQueue(b, Options{Store: s, Runners: allRunners(run), Logger: zerolog.Nop()})
	hook, err := handlers.New(handlers.Options{Secrets: [][]byte{[]byte(benchSecret)}, OwnAppID: benchAppID, Intake: q, Logger: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(hook)
	b.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns}}
	b.Cleanup(client.CloseIdleConnections)

	requests := signAll(b, payload, server.URL, min(pulls, 512))
	latencies := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	begin := time.Now()
	for range conns {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				sent := time.Now()
				if err := deliver(client, requests[i%len(requests)], "bench-"+strconv.Itoa(i)); err != nil {
					b.Error(err)
					return
				}
				latencies[i] = time.Since(sent)
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	b.StopTimer()
	slices.Sort(latencies)
	b.ReportMetric(float64(b.N)/took.Seconds(), "deliveries/s")
	b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(latencies[len(latencies)*99/100].Microseconds())/1000, "p99-ms")
	if got := count(b, q.store, `SELECT count(*) FROM deliveries`); got != b.N {
		b.Fatalf("stored %d of %d acknowledged deliveries", got, b.N)
	}
}

type signed struct {
	url       string
	body      []byte
	signature string
}

// signAll makes one body per pull request, so that signing costs the load
// generator nothing during the run.
func signAll(b *testing.B, payload []byte, url string, n int) []signed {
	b.Helper()
	all := make([]signed, n)
	for i := range all {
		number := []byte(`"number":` + strconv.Itoa(1000+i))
		body := bytes.ReplaceAll(payload, []byte(`"number":7`), number)
		mac := hmac.New(sha256.New, []byte(benchSecret))
		mac.Write(body)
		all[i] = signed{url: url, body: body, signature: "sha256=" + hex.EncodeToString(mac.Sum(nil))}
	}
	return all
}

func deliver(client *http.Client, s signed, guid string) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.url, bytes.NewReader(s.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "pull_request")
	req.Header.Set("X-GitHub-Delivery", guid)
	req.Header.Set("X-Hub-Signature-256", s.signature)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusAccepted || string(answer) != "accepted\n" {
		return fmt.Errorf("delivery %s: %s: %s", guid, res.Status, answer)
	}
	return nil
}
