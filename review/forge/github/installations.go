package github

import (
	"context"
	"sync"
	"time"
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

// block remembers a rate limit.
func (i *installation) block(l limit, graphql bool, now time.Time) {
	until := now.Add(l.after)
	i.mu.Lock()
	defer i.mu.Unlock()
	if (l.secondary || graphql) && until.After(i.graphqlUntil) {
		i.graphqlUntil = until
	}
	if (l.secondary || !graphql) && until.After(i.restUntil) {
		i.restUntil = until
	}
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
