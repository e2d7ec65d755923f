package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// maxApps bounds the Apps that are remembered; an organisation has dozens.
const maxApps = 1000

// appCache remembers Apps' ids for good: they never change.
type appCache struct {
	mu     sync.Mutex
	bySlug map[string]int64
}

func (a *appCache) get(slug string) (int64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, ok := a.bySlug[slug]
	return id, ok
}

func (a *appCache) put(slug string, id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.bySlug) >= maxApps {
		clear(a.bySlug)
	}
	a.bySlug[slug] = id
}

// AppBySlug asks which App has the slug.
func (c *Client) AppBySlug(ctx context.Context, slug string) (int64, error) {
	if id, ok := c.host.apps.get(slug); ok {
		return id, nil
	}
	op := fmt.Sprintf("read the app %q", oneLine(slug))
	if slug == "" || slug == "." || slug == ".." {
		return 0, invalid(op, errors.New("want an App's slug"))
	}
	var app gh.App
	if _, err := c.getJSON(ctx, op, call{route: routeAppBySlug}, "apps/"+url.PathEscape(slug), &app); err != nil {
		return 0, err
	}
	if app.GetSlug() != slug || app.GetID() <= 0 {
		return 0, malformed(op, errors.New("the answer is about another App"))
	}
	c.host.apps.put(slug, app.GetID())
	return app.GetID(), nil
}

var _ forge.AppReader = (*Client)(nil)
