package forge

import (
	"context"
	"maps"
	"sync"
)

// Calls counts the requests made for one session, by route template, so that
// the trail can say what a decision cost. The zero value is ready.
type Calls struct {
	mu     sync.Mutex
	byName map[string]int
}

// Add counts one request to a route ("GET /repos/{owner}/{repo}/branches/{branch}").
func (c *Calls) Add(route string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = make(map[string]int)
	}
	c.byName[route]++
}

// ByRoute returns a copy of the counts.
func (c *Calls) ByRoute() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.byName)
}

// Total is the number of requests so far.
func (c *Calls) Total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, v := range c.byName {
		n += v
	}
	return n
}

type callsKey struct{}

// WithCalls returns a context whose requests are counted in c.
func WithCalls(ctx context.Context, c *Calls) context.Context {
	return context.WithValue(ctx, callsKey{}, c)
}

// CallsFrom returns the counter of the context, or nil.
func CallsFrom(ctx context.Context) *Calls {
	c, _ := ctx.Value(callsKey{}).(*Calls)
	return c
}
