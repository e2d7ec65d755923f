package github

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign/countersign/review/forge"
)

func inLane(ctx context.Context, l forge.Lane) context.Context {
	return forge.WithPriority(ctx, forge.Priority{Lane: l})
}

// A large pull request's writes are spread: what does not fit into GitHub's minute is
// sent away with a time, nothing sleeps, reads go on and a conclusion finds room.
func TestCase044_WritesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(201, createdBody)}
		c := newTestClient(t, f)
		begun := time.Now()
		made := 0
		var sent *forge.Error
		for sent == nil && made < 200 {
			if err := create(inLane(t.Context(), forge.LaneSlow), c); err != nil {
				sent = asForge(t, err)
			} else {
				made++
			}
		}
		if made != 56 || sent.Kind != forge.KindRateLimited || sent.RetryAfter < time.Minute || sent.RetryAfter > 70*time.Second || time.Since(begun) > 0 {
			t.Errorf("%d slow writes in a minute, then %v after %s, told to come back in %s; want 56 (70 of 100), at once, in about a minute", made, sent, time.Since(begun), sent.RetryAfter)
		}
		if err := readBranch(t.Context(), withAnswer(c, f, always(200, branchBody))); err != nil || time.Since(begun) > 0 {
			t.Errorf("a read waited for the writes: %v, %s", err, time.Since(begun))
		}
		f.answer = always(201, createdBody)
		for i := range 16 {
			if err := create(inLane(t.Context(), forge.LaneFast), c); err != nil || time.Since(begun) > 0 {
				t.Fatalf("a conclusion waited for comments: the %d. %v", i+1, err)
			}
		}
		time.Sleep(sent.RetryAfter)
		if err := create(inLane(t.Context(), forge.LaneSlow), c); err != nil {
			t.Errorf("it came back when it was told to, and was sent away: %v", err)
		}
	})
}

// The hour's limit holds as well, and the wait for it is told and not slept.
func TestHourOfWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(201, createdBody)}
		c := newTestClient(t, f)
		begun, made := time.Now(), 0
		for time.Since(begun) < 55*time.Minute {
			if err := create(inLane(t.Context(), forge.LaneFast), c); err == nil {
				made++
				continue
			}
			time.Sleep(time.Second)
		}
		if made != 450 {
			t.Errorf("%d writes in an hour, want 450", made)
		}
	})
}

// model counts as GitHub does.
type model struct {
	writes, rest, graphql []time.Time // a point each
}

func within(list []time.Time, now time.Time, span time.Duration) int {
	i, _ := slices.BinarySearchFunc(list, now.Add(-span), func(t, since time.Time) int {
		if t.After(since) {
			return 1
		}
		return -1
	})
	return len(list) - i
}

func (m *model) add(c call, now time.Time) string {
	points := 1
	if c.isWrite() {
		points = 5
		m.writes = append(m.writes, now)
	}
	list := &m.rest
	if c.graphql {
		list = &m.graphql
	}
	for range points {
		*list = append(*list, now)
	}
	for _, l := range []struct {
		list  []time.Time
		span  time.Duration
		limit int
	}{{m.writes, time.Minute, 80}, {m.writes, time.Hour, 500}, {m.rest, time.Minute, 900}, {m.graphql, time.Minute, 2_000}} {
		if n := within(l.list, now, l.span); n > l.limit {
			return fmt.Sprintf("%d in %s, GitHub allows %d", n, l.span, l.limit)
		}
	}
	return ""
}

// Whatever arrives in whatever lane at up to three replicas, GitHub's windows are never
// exceeded, and a conclusion is not kept from its part by what is less urgent.
func TestWindowsAreNeverExceeded(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's own
		replicas := 1 + r.IntN(3)
		limits, err := Limits{}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		var budgets []*budget
		for range replicas {
			budgets = append(budgets, newBudget(limits, replicas))
		}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		clk := clock{now: func() time.Time { return now }}
		var m model
		kept, crowd := 0, 1+r.IntN(4)
		for range 30_000 {
			now = now.Add(rand.N(time.Duration(crowd) * 300 * time.Millisecond)) //nolint:gosec // a test's own
			c := call{effect: []effect{read, read, creates, idempotent}[r.IntN(4)], graphql: r.IntN(3) == 0}
			lane := forge.Lane(r.IntN(3)) //nolint:gosec // 0 to 2
			_, err := budgets[r.IntN(replicas)].admit(inLane(t.Context(), lane), c, clk, 0)
			var late *limitedError
			switch {
			case err == nil:
				if over := m.add(c, now); over != "" {
					t.Fatalf("seed %d, %d replicas: %s", seed, replicas, over)
				}
			case !errors.As(err, &late) || late.after < time.Second || late.after > longestWait:
				t.Fatalf("refused with %v", err)
			default:
				kept++
			}
		}
		if kept == 0 {
			t.Errorf("seed %d: nothing had to wait: this shows nothing", seed)
		}
	}
}

// Calls that wait go by their lane, then the newest head first.
func TestWaitingCallsGoByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{WritesPerMinute: 10, WaitInPlace: 10 * time.Minute}
		f := &fake{answer: always(201, createdBody)}
		c := clientOf(t, newTestHost(t, f, func(o *Options) { o.Limits = limits }))
		for range 9 {
			if err := create(inLane(t.Context(), forge.LaneFast), c); err != nil {
				t.Fatal(err)
			}
		}
		head := time.Now()
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		for _, w := range []struct {
			name string
			p    forge.Priority
		}{
			{"slow", forge.Priority{Lane: forge.LaneSlow, Newest: head}},
			{"normal, old", forge.Priority{Lane: forge.LaneNormal, Newest: head.Add(-time.Hour)}},
			{"normal, new", forge.Priority{Lane: forge.LaneNormal, Newest: head}},
			{"fast, old", forge.Priority{Lane: forge.LaneFast, Newest: head.Add(-time.Hour)}},
			{"fast, new", forge.Priority{Lane: forge.LaneFast, Newest: head}},
		} {
			all.Go(func() {
				if err := create(forge.WithPriority(t.Context(), w.p), c); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, w.name)
			})
			synctest.Wait()
		}
		all.Wait()
		if got := strings.Join(order, "; "); got != "fast, new; fast, old; normal, new; normal, old; slow" {
			t.Errorf("they went %s", got)
		}
	})
}

// Those that are sent away are told different times, behind each other.
func TestSentAwayInALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(201, createdBody)}
		c := newTestClient(t, f)
		var waits []time.Duration
		for range 64 + 200 {
			if err := create(t.Context(), c); err != nil {
				waits = append(waits, asForge(t, err).RetryAfter)
			}
		}
		if len(waits) != 200 {
			t.Fatalf("%d were sent away, want 200", len(waits))
		}
		if last := waits[199]; last < 3*time.Minute || last > 6*time.Minute {
			t.Errorf("the last of 200 is told to come back in %s, want the fourth minute or so", last)
		}
	})
}

// A caller that gives up leaves the line.
func TestWaitingCallThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(201, createdBody)}
		h := newTestHost(t, f, func(o *Options) { o.Limits = Limits{WritesPerMinute: 2, WaitInPlace: 10 * time.Minute} })
		c := clientOf(t, h)
		if err := create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() { gone <- create(ctx, c) }()
		synctest.Wait()
		cancel()
		if err := <-gone; err == nil {
			t.Error("it was made although its caller gave up")
		}
		if b := h.state.get(acme.Installation).spend; len(b.waiting) != 0 {
			t.Errorf("%d calls still wait", len(b.waiting))
		}
	})
}

// Replicas share what one installation may.
func TestShareOfReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(http.StatusCreated, createdBody)}
		h := newTestHost(t, f, nil)
		c := clientOf(t, h)
		h.SetShare(3)
		made := 0
		for create(inLane(t.Context(), forge.LaneFast), c) == nil {
			made++
		}
		if made != 24 {
			t.Errorf("%d writes a minute of one in three, want 24", made)
		}
	})
}
