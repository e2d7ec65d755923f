package github

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// pace keeps what is asked for one installation below GitHub's secondary limits, so
// that they are met as a delay and not as a refusal (case 44): going on calling
// while being refused is what gets Apps banned. Calls that have to wait go by
// their priority; what would wait for long is not made, for its job to come back.
type pace struct {
	next    http.RoundTripper
	state   *installations
	inPlace time.Duration
	clock   clock
	watch   Observer
}

func (p *pace) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	if c.effect == mints { // asked as the App, not as the installation
		return p.next.RoundTrip(req)
	}
	wait, err := p.state.get(c.installation).spend.admit(req.Context(), c, p.clock, p.inPlace)
	if wait > 0 {
		p.watch.Waited("pace", wait)
	}
	if err != nil {
		return nil, err
	}
	return p.next.RoundTrip(req)
}

// What GitHub counts, by its documentation on secondary limits: a REST or GraphQL read
// is 1 point, a write 5.
const (
	readPoints  = 1
	writePoints = 5
)

// budget is what one installation has spent, and who waits to spend more.
type budget struct {
	mu      sync.Mutex
	share   int       // replicas that spend beside us, at least 1
	content [2]window // a minute, an hour
	points  [2]window // REST, GraphQL
	waiting []*waiting
	arrived int64
	booked  []booking
}

// waiting is a call that waits its turn.
type waiting struct {
	priority forge.Priority
	number   int64
	writes   bool
}

// booking is a call that was sent away, by when it was told to come back.
type booking struct {
	lane  forge.Lane
	until time.Time
}

// maxBooked bounds the bookings that are counted.
const maxBooked = 10_000

func newBudget(l Limits, share int) *budget {
	b := &budget{share: share}
	b.content[0] = window{span: time.Minute, limit: l.WritesPerMinute}
	b.content[1] = window{span: time.Hour, limit: l.WritesPerHour}
	b.points[0] = window{span: time.Minute, limit: l.PointsPerMinute}
	b.points[1] = window{span: time.Minute, limit: l.GraphQLPointsPerMinute}
	return b
}

// headroom is the part of a limit that a lane may fill, in hundredths. What is above
// is kept for the lanes before it, so that a conclusion does not wait behind
// comments; a tenth stays free for what GitHub counts and we do not see.
func headroom(l forge.Lane) int {
	switch l {
	case forge.LaneFast:
		return 90
	case forge.LaneSlow:
		return 70
	}
	return 80
}

// admit waits until a call may be made and notes it as made. A wait longer than
// inPlace is not begun: the call is refused at once with the time at which its turn
// is likely. waited is how long it was, or would be.
func (b *budget) admit(ctx context.Context, c call, clk clock, inPlace time.Duration) (waited time.Duration, err error) {
	w := &waiting{priority: forge.PriorityFrom(ctx), writes: c.isWrite()}
	begun := clk.now()
	defer b.leave(w)
	for {
		now := clk.now()
		wait, admitted := b.try(w, c, now)
		if admitted {
			return now.Sub(begun), nil
		}
		if now.Sub(begun)+wait > inPlace {
			wait = b.book(w, c, now)
			return wait, &limitedError{after: wait}
		}
		if err := clk.sleep(ctx, wait); err != nil {
			return wait, &limitedError{after: wait}
		}
	}
}

// leastPause is between two looks of a call that waits for one before it.
const leastPause = 20 * time.Millisecond

// try makes a call's spending where there is room and nobody is before it.
func (b *budget) try(w *waiting, c call, now time.Time) (wait time.Duration, admitted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.line(w)
	wait = b.fits(c, w.priority.Lane, before+1, now)
	if before == 0 && wait == 0 {
		for _, s := range b.windows(c) {
			s.window.add(now, s.cost)
		}
		return 0, true
	}
	return max(wait, leastPause), false
}

// line puts a call into the line and counts those before it that want the same.
func (b *budget) line(w *waiting) (before int) {
	if w.number == 0 {
		b.arrived++
		w.number = b.arrived
		i, _ := slices.BinarySearchFunc(b.waiting, w, compareWaiting)
		b.waiting = slices.Insert(b.waiting, i, w)
	}
	for _, o := range b.waiting {
		if o == w {
			return before
		}
		if o.writes == w.writes {
			before++
		}
	}
	return before
}

func (b *budget) leave(w *waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
}

func compareWaiting(a, o *waiting) int {
	return cmp.Or(cmp.Compare(a.priority.Lane, o.priority.Lane), o.priority.Newest.Compare(a.priority.Newest), cmp.Compare(a.number, o.number))
}

type cost struct {
	window *window
	cost   int
}

// windows are what a call is counted in.
func (b *budget) windows(c call) []cost {
	points := readPoints
	if c.isWrite() {
		points = writePoints
	}
	counted := &b.points[0]
	if c.graphql {
		counted = &b.points[1]
	}
	out := []cost{{counted, points}}
	if c.isWrite() {
		out = append(out, cost{&b.content[0], 1}, cost{&b.content[1], 1})
	}
	return out
}

// fits is how long until n calls of a kind fit into every window.
func (b *budget) fits(c call, lane forge.Lane, n int, now time.Time) (wait time.Duration) {
	for _, s := range b.windows(c) {
		limit := max(s.window.limit*headroom(lane)/100/b.share, s.cost)
		wait = max(wait, s.window.wait(now, n*s.cost, limit))
	}
	return wait
}

// book tells a call when to come back: behind those that wait and those that were
// told so before it, and spread, so that they do not come back together.
func (b *budget) book(w *waiting, c call, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.booked = slices.DeleteFunc(b.booked, func(k booking) bool { return !k.until.After(now) })
	n := b.line(w) + 1
	for _, k := range b.booked {
		if k.lane <= w.priority.Lane {
			n++
		}
	}
	wait := max(b.fits(c, w.priority.Lane, n, now), time.Second)
	wait += rand.N(wait/10 + time.Second) //nolint:gosec // jitter needs no secrecy
	wait = min(wait, longestWait)
	if len(b.booked) < maxBooked {
		b.booked = append(b.booked, booking{w.priority.Lane, now.Add(wait)})
	}
	return wait
}

// setShare divides the limits among the replicas that spend them.
func (b *budget) setShare(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.share = max(n, 1)
}
