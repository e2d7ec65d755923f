package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// maxApps bounds the Apps that are remembered; an organisation has dozens.
const maxApps = 1000

// missingFor is how long it is remembered that there is no such App.
const missingFor = time.Hour

// appCache remembers Apps' ids for good: they never change. It also remembers for
// a while which there are not.
type appCache struct {
	mu     sync.Mutex
	bySlug map[string]keptApp
}

// keptApp is an App's id or, until a time, the error that there is none.
type keptApp struct {
	id      int64
	missing error
	until   time.Time
}

func (a *appCache) get(slug string, now time.Time) (keptApp, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept, ok := a.bySlug[slug]
	return kept, ok && (kept.missing == nil || now.Before(kept.until))
}

func (a *appCache) put(slug string, kept keptApp) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.bySlug) >= maxApps {
		clear(a.bySlug)
	}
	a.bySlug[slug] = kept
}

// AppBySlug asks which App has the slug.
func (c *Client) AppBySlug(ctx context.Context, slug string) (int64, error) {
	now := c.host.clock.now()
	if kept, ok := c.host.apps.get(slug, now); ok {
		return kept.id, kept.missing
	}
	op := fmt.Sprintf("read the app %q", oneLine(slug))
	if slug == "" || slug == "." || slug == ".." {
		return 0, invalid(op, errors.New("want an App's slug"))
	}
	var app gh.App
	if _, err := c.getJSON(ctx, op, call{route: routeAppBySlug}, "apps/"+url.PathEscape(slug), &app); err != nil {
		if !forge.Temporary(err) {
			c.host.apps.put(slug, keptApp{missing: err, until: now.Add(missingFor)})
		}
		return 0, err
	}
	if app.GetSlug() != slug || app.GetID() <= 0 {
		return 0, malformed(op, errors.New("the answer is about another App"))
	}
	c.host.apps.put(slug, keptApp{id: app.GetID()})
	return app.GetID(), nil
}

var _ forge.AppReader = (*Client)(nil)
