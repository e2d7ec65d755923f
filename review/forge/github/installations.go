package github

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// installations keeps what is shared by all calls of an installation.
type installations struct {
	limits Limits
	mu     sync.Mutex
	share  int // replicas that use the same installations
	byID   map[int64]*installation
}

func newInstallations(l Limits) *installations {
	return &installations{limits: l, share: 1, byID: make(map[int64]*installation)}
}

// get returns an installation's state. Above the bound one that is not in use
// is forgotten: it costs a token call when it comes back.
func (s *installations) get(id int64) *installation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if inst, ok := s.byID[id]; ok {
		return inst
	}
	if len(s.byID) >= s.limits.Installations {
		for old := range s.byID {
			delete(s.byID, old)
			break
		}
	}
	inst := &installation{id: id, turn: make(chan struct{}, 1), spend: newBudget(s.limits, s.share)}
	s.byID[id] = inst
	return inst
}

// setShare says how many replicas use the installations, this one included.
func (s *installations) setShare(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.share == max(n, 1) {
		return
	}
	s.share = max(n, 1)
	for _, inst := range s.byID {
		inst.spend.setShare(s.share)
	}
}

// installation is the shared state of one installation.
type installation struct {
	id    int64
	spend *budget

	turn  chan struct{} // held while the token is read or minted
	token token         // guarded by turn

	mu                      sync.Mutex
	restUntil, graphqlUntil time.Time // calls are refused until then
	unstated                int       // limits without a stated wait since a call was answered
	quotas                  [2]quota  // by index
}

// lock takes the token's turn, or gives up with the context. A mutex would
// leave callers waiting behind a mint that none of them can cancel.
func (i *installation) lock(ctx context.Context) error {
	select {
	case i.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *installation) unlock() { <-i.turn }

// block remembers a rate limit, and answers it with the wait that it asks for: one
// that GitHub does not state doubles until a call is answered.
func (i *installation) block(l limit, graphql bool, now time.Time) limit {
	i.mu.Lock()
	defer i.mu.Unlock()
	if l.unstated {
		l.after = min(l.after<<min(i.unstated, 10), longestWait)
		i.unstated++
	}
	until := now.Add(l.after)
	if (l.secondary || graphql) && until.After(i.graphqlUntil) {
		i.graphqlUntil = until
	}
	if (l.secondary || !graphql) && until.After(i.restUntil) {
		i.restUntil = until
	}
	return l
}

// quota is what an answer last said of a primary limit.
type quota struct {
	limit, left int
	reset       time.Time
}

// heard takes note of an answer that is no limit.
func (i *installation) heard(c call, resp *http.Response) {
	left, err := strconv.Atoi(resp.Header.Get("X-RateLimit-Remaining"))
	most, err2 := strconv.Atoi(resp.Header.Get("X-RateLimit-Limit"))
	reset, err3 := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unstated = 0
	if errors.Join(err, err2, err3) == nil && c.effect != mints {
		i.quotas[index(c)] = quota{limit: most, left: left, reset: time.Unix(reset, 0)}
	}
}

// index is 0 for REST and 1 for GraphQL, which have a primary limit each.
func index(c call) int {
	if c.graphql {
		return 1
	}
	return 0
}

// reservedFor is how long a call has to wait because what is left of the primary limit
// is kept for more urgent ones: the last tenth is not for the slow lane, the last
// twentieth for the fast one only.
func (i *installation) reservedFor(c call, lane forge.Lane, now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	q := i.quotas[index(c)]
	if c.effect == mints || lane == forge.LaneFast || !q.reset.After(now) {
		return 0
	}
	kept := q.limit / 20
	if lane == forge.LaneSlow {
		kept = q.limit / 10
	}
	if q.left >= kept {
		return 0
	}
	wait := q.reset.Sub(now)
	return min(wait+rand.N(wait/10+time.Second), longestWait) //nolint:gosec // jitter needs no secrecy
}

// answered forgets the limits that ended by now or were waited for: GitHub's
// answer outranks our arithmetic.
func (i *installation) answered(l limit, graphql bool, since time.Time) {
	until := since.Add(l.after)
	i.mu.Lock()
	defer i.mu.Unlock()
	if (l.secondary || graphql) && !i.graphqlUntil.After(until) {
		i.graphqlUntil = time.Time{}
	}
	if (l.secondary || !graphql) && !i.restUntil.After(until) {
		i.restUntil = time.Time{}
	}
}

// blockedFor is how long calls must wait, 0 when they need not.
func (i *installation) blockedFor(graphql bool, now time.Time) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	until := i.restUntil
	if graphql {
		until = i.graphqlUntil
	}
	return max(0, until.Sub(now))
}
