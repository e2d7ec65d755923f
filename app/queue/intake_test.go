package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestInsertedJobIsWorkedAtOnce(t *testing.T) { onBoth(t, testInsertedJobIsWorkedAtOnce) }

func testInsertedJobIsWorkedAtOnce(t *testing.T) {
	turns := make(chan Turn, 10)
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, t Turn) (Outcome, error) {
		turns <- t
		return Outcome{}, nil
	})})
	// The first turn may meet a producer that is still starting.
	accept(t, q, "a-1", pull(7))
	turn := receive(t, turns, "the turn")
	if got := guids(turn.Events); !slices.Equal(got, []string{"a-1"}) {
		t.Errorf("events: got %v, want [a-1]", got)
	}
	if turn.Attempt != 1 || turn.MaxAttempts != DefaultMaxAttempts || turn.Subject != pull(7) || turn.Generation != 1 {
		t.Errorf("turn: got %+v", turn)
	}
	until(t, "the subject is idle", isIdle(t, q.store, pull(7).Key))

	// From now on the bell must start it long before River's poll of 500 ms would:
	// of five idle inserts, the fastest tells, whatever else the machine does.
	fastest := time.Hour
	for i := range 5 {
		sent := time.Now()
		accept(t, q, id("b-%d", i), pull(8))
		receive(t, turns, "the turn")
		fastest = min(fastest, time.Since(sent))
		until(t, "the subject is idle", isIdle(t, q.store, pull(8).Key))
	}
	if fastest > 100*time.Millisecond {
		t.Errorf("insert to work took %s at best; the bell does not ring", fastest)
	}
}

func TestCase051_RepeatedDeliveriesAreOneEvaluation(t *testing.T) {
	onBoth(t, testCase051_RepeatedDeliveriesAreOneEvaluation)
}

func testCase051_RepeatedDeliveriesAreOneEvaluation(t *testing.T) {
	const ids, times = 20, 10
	var seen sync.Map
	var events atomic.Int64
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		for _, e := range turn.Events {
			if _, twice := seen.LoadOrStore(e.GUID, true); twice {
				t.Errorf("delivery %s was given to two turns", e.GUID)
			}
			events.Add(1)
		}
		return Outcome{}, nil
	})})
	var fresh [ids]atomic.Int64
	var wg sync.WaitGroup
	for i := range ids {
		for range times {
			wg.Go(func() {
				ok, err := q.Accept(context.Background(), delivery(id("d-%d", i), pull(i)))
				if err != nil {
					t.Errorf("accept: %v", err)
				}
				if ok {
					fresh[i].Add(1)
				}
			})
		}
	}
	wg.Wait()
	for i := range ids {
		if n := fresh[i].Load(); n != 1 {
			t.Errorf("delivery d-%d: %d of %d were fresh, want 1", i, n, times)
		}
	}
	until(t, "all are worked", func() bool { return events.Load() == ids })
	if n := count(t, q.store, `SELECT count(*) FROM deliveries`); n != ids {
		t.Errorf("stored %d deliveries, want %d", n, ids)
	}
}

func TestCase053_RepeatLaterIsKnown(t *testing.T) { onBoth(t, testCase053_RepeatLaterIsKnown) }

func testCase053_RepeatLaterIsKnown(t *testing.T) {
	q := newQueue(t, Options{Runners: allRunners(func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil })})
	accept(t, q, "d-1", pull(1))
	again := delivery("d-1", pull(1))
	again.Event.ReceivedAt = again.Event.ReceivedAt.Add(5 * time.Second) // the id decides, no time does
	fresh, err := q.Accept(context.Background(), again)
	if err != nil || fresh {
		t.Errorf("the same id 5 s later: got fresh=%v, %v; want a repeat", fresh, err)
	}
	// Two ids for one cause are two events of one turn.
	accept(t, q, "d-2", pull(1))
	if n := count(t, q.store, `SELECT count(*) FROM river_job WHERE kind = 'subject'`); n != 1 {
		t.Errorf("two deliveries of one pull request made %d jobs, want 1", n)
	}
}

func TestCase054_SenderThatHangsUpLosesNothing(t *testing.T) {
	onBoth(t, testCase054_SenderThatHangsUpLosesNothing)
}

func testCase054_SenderThatHangsUpLosesNothing(t *testing.T) {
	q := newQueue(t, Options{Runners: allRunners(func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil })})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := q.Accept(ctx, delivery("d-1", pull(1)))
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("accept: %v", err)
	}
	until(t, "the delivery is stored", func() bool { return count(t, q.store, `SELECT count(*) FROM deliveries`) == 1 })
}

func TestEventsCoalesce(t *testing.T) { onBoth(t, testEventsCoalesce) }

func testEventsCoalesce(t *testing.T) {
	turns, release := make(chan Turn, 100), make(chan struct{})
	q := startQueue(t, Options{Runners: allRunners(func(ctx context.Context, t Turn) (Outcome, error) {
		turns <- t
		select {
		case <-release:
		case <-ctx.Done():
		}
		return Outcome{}, nil
	})})
	accept(t, q, "first", pull(7))
	receive(t, turns, "the first turn")
	var want []string
	for i := range 50 {
		want = append(want, id("e-%02d", i))
		accept(t, q, want[i], pull(7))
	}
	close(release)
	second := receive(t, turns, "the second turn")
	if got := guids(second.Events); !slices.Equal(got, want) {
		t.Errorf("second turn: got %v, want all 50 in order", got)
	}
	until(t, "the subject is idle", isIdle(t, q.store, pull(7).Key))
	if n := len(turns); n != 0 {
		t.Errorf("%d more turns, want none", n)
	}
}

func TestTurnsHaveAtMostMaxTurnEvents(t *testing.T) { onBoth(t, testTurnsHaveAtMostMaxTurnEvents) }

func testTurnsHaveAtMostMaxTurnEvents(t *testing.T) {
	const extra = 3
	var sizes []int
	q := newQueue(t, Options{Runners: allRunners(func(_ context.Context, t Turn) (Outcome, error) {
		sizes = append(sizes, len(t.Events))
		return Outcome{}, nil
	})})
	var wg sync.WaitGroup
	for i := range MaxTurnEvents + extra {
		wg.Go(func() { accept(t, q, id("e-%d", i), pull(7)) })
	}
	wg.Wait()
	if err := q.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	until(t, "the subject is idle", isIdle(t, q.store, pull(7).Key))
	stop(t, q)
	if want := []int{MaxTurnEvents, extra}; !slices.Equal(sizes, want) {
		t.Errorf("events per turn: got %v, want %v", sizes, want)
	}
}

func TestStoppedQueueRefuses(t *testing.T) { onBoth(t, testStoppedQueueRefuses) }

func testStoppedQueueRefuses(t *testing.T) {
	q := startQueue(t, Options{Runners: allRunners(func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil })})
	stop(t, q)
	stop(t, q) // harmless
	if _, err := q.Accept(context.Background(), delivery("late", pull(1))); !errors.Is(err, ErrStopped) {
		t.Errorf("accept after stop: got %v, want ErrStopped", err)
	}
}

func TestBatcher(t *testing.T) {
	poison := errors.New("poison")
	var mu sync.Mutex
	var sizes []int
	gate := make(chan struct{})
	b := newBatcher(4, func(_ context.Context, items []int) error {
		<-gate
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, len(items))
		if slices.Contains(items, 3) {
			return poison
		}
		return nil
	})
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = b.do(context.Background(), i) })
	}
	until(t, "all wait or are being committed", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.active && len(b.waiting) >= len(errs)-b.most
	})
	close(gate)
	wg.Wait()
	for i, err := range errs {
		if want := i == 3; errors.Is(err, poison) != want {
			t.Errorf("item %d: got %v; only the one that cannot be committed may fail", i, err)
		}
	}
	if most := slices.Max(sizes); most > 4 {
		t.Errorf("a batch of %d, want at most 4", most)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.do(ctx, 11); !errors.Is(err, ErrStopped) {
		t.Errorf("after close: got %v, want ErrStopped", err)
	}
}

func TestBatcherIsBounded(t *testing.T) {
	block, started := make(chan struct{}), make(chan struct{}, 1)
	b := newBatcher(1, func(context.Context, []int) error {
		select {
		case started <- struct{}{}:
		default:
		}
		<-block
		return nil
	})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(block)
	wg.Go(func() { _ = b.do(context.Background(), 0) })
	receive(t, started, "the first commit")
	for i := range maxWaiting {
		if err := b.enqueue(request[int]{item: i, done: make(chan error, 1)}); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
	}
	if err := b.do(context.Background(), 1); !errors.Is(err, ErrOverloaded) {
		t.Errorf("got %v, want ErrOverloaded", err)
	}
}

func TestOptionsSayWhatIsMissing(t *testing.T) { onBoth(t, testOptionsSayWhatIsMissing) }

func testOptionsSayWhatIsMissing(t *testing.T) {
	s := tempStore(t)
	run := func(context.Context, Turn) (Outcome, error) { return Outcome{}, nil }
	incomplete := allRunners(run)
	delete(incomplete, "repo")
	for _, tc := range []struct {
		name string
		opts Options
		want string
	}{
		{"no store", Options{Runners: allRunners(run)}, "queue: no store is set"},
		{"no runner", Options{Store: s, Runners: incomplete}, `queue: no runner is set for subjects of kind "repo"; NotHandled is one that only records`},
	} {
		_, err := New(tc.opts)
		if got := fmt.Sprint(err); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
