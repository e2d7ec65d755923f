package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/countersign/countersign/handlers"
)

func TestDepth(t *testing.T) { onBoth(t, testDepth) }

// What waits is counted, with the age of the first; what ended is not.
func testDepth(t *testing.T) {
	begun, release := make(chan struct{}, 1), make(chan struct{})
	q := newQueue(t, Options{Runners: allRunners(func(ctx context.Context, turn Turn) (Outcome, error) {
		if turn.Subject == pull(1) {
			begun <- struct{}{}
			<-release
		}
		return Outcome{}, nil
	})})
	depth := func() Depth {
		t.Helper()
		d, err := q.Depth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := depth(); d.Deliveries != 0 || len(d.Jobs) != 0 || !d.First.IsZero() {
		t.Errorf("an empty queue: %+v", d)
	}
	before := time.Now()
	for i := range 3 {
		accept(t, q, fmt.Sprint("d", i), pull(i+1))
	}
	d := depth()
	if d.Deliveries != 3 || d.Jobs["available"] != 3 || d.First.Before(before.Add(-time.Second)) || d.First.After(time.Now()) {
		t.Errorf("three deliveries: %+v", d)
	}
	if due := d.Due["available"]; due.Before(before.Add(-time.Second)) || due.After(time.Now().Add(time.Second)) {
		t.Errorf("the first is due %v", due)
	}
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	receive(t, begun, "the turn")
	until(t, "the others are done", func() bool { return depth().Deliveries == 1 })
	if d := depth(); d.Jobs["running"] != 1 || d.Due["running"].IsZero() {
		t.Errorf("one at work: %+v", d)
	}
	close(release)
	until(t, "all are done", func() bool { d := depth(); return d.Deliveries == 0 && len(d.Jobs) == 0 })
}

// BenchmarkDepth is a scrape's question with 20,000 deliveries queued.
func BenchmarkDepth(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			q := newQueue(b, Options{Runners: allRunners(func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil })})
			var batch []*received
			for i := range 20_000 {
				d, err := q.store.Prepare(delivery(fmt.Sprint("g", i), handlers.PullSubject(1, i+1)))
				if err != nil {
					b.Fatal(err)
				}
				if batch = append(batch, &received{delivery: d}); len(batch) == maxBatch || i == 19_999 {
					if err := q.commitDeliveries(b.Context(), batch); err != nil {
						b.Fatal(err)
					}
					batch = nil
				}
			}
			b.ResetTimer()
			for b.Loop() {
				if d, err := q.Depth(b.Context()); err != nil || d.Deliveries != 20_000 {
					b.Fatal(d, err)
				}
			}
		})
	}
}
