package githubsim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are GitHub's secondary limits, which hold for each installation or person alone. A limit of 0
// is off. Windows slide with Options.Clock, so that a scaled clock scales them.
type Limits struct {
	// PointsPerMinute is for REST: a read costs 1 point, a write 5.
	PointsPerMinute int
	// GraphQLPointsPerMinute is for GraphQL: a query costs 1 point, a mutation 5.
	GraphQLPointsPerMinute int
	// ContentPerMinute and ContentPerHour bound what creates content: POST, PUT and PATCH in a
	// repository, check runs included, and mutations.
	ContentPerMinute, ContentPerHour int
	// NoRetryAfter leaves Retry-After out of the refusals, as GitHub does at times.
	NoRetryAfter bool
}

// GitHubLimits are the limits that GitHub documents.
func GitHubLimits() Limits {
	return Limits{PointsPerMinute: 900, GraphQLPointsPerMinute: 2_000, ContentPerMinute: 80, ContentPerHour: 500}
}

// Refusals counts the requests that limits have refused.
type Refusals struct {
	Primary       int // the hourly limit
	Points        int // points a minute, of REST
	GraphQLPoints int
	ContentMinute int
	ContentHour   int
	Writes        int // Options.WritesPerMinute
}

// Refusals tells how often each limit has refused since the start.
func (s *Sim) Refusals() Refusals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusals
}

// hourly counts one resource of the primary limit.
type hourly struct {
	start time.Time // of the current hour
	used  int
}

// usage is what one token owner has used.
type usage struct {
	core, graphql         hourly
	points, graphqlPoints window
	content, writes       window
}

// window is what was spent lately, oldest first.
type window []spending

type spending struct {
	at   time.Time
	cost int
}

// since is the part of a window that is younger than a span, and what it cost.
func (w window) since(now time.Time, span time.Duration) (window, int) {
	i := slices.IndexFunc(w, func(s spending) bool { return now.Sub(s.at) < span })
	if i < 0 {
		return nil, 0
	}
	sum := 0
	for _, s := range w[i:] {
		sum += s.cost
	}
	return w[i:], sum
}

// wait is how long until a cost fits into a span again.
func (w window) wait(now time.Time, span time.Duration, cost, limit int) (time.Duration, bool) {
	recent, sum := w.since(now, span)
	for _, s := range recent {
		if sum+cost <= limit {
			break
		}
		sum -= s.cost
		if sum+cost <= limit {
			return span - now.Sub(s.at), true
		}
	}
	return 0, sum+cost > limit
}

func (c *call) usage() *usage {
	key := c.me.kind()
	switch {
	case c.me.inst != nil:
		key += strconv.FormatInt(c.me.inst.id, 10)
	case c.me.app != nil:
		key += strconv.FormatInt(c.me.app.spec.ID, 10)
	case c.me.user != nil:
		key += c.me.user.login
	}
	u := c.sim.usage[key]
	if u == nil {
		u = &usage{}
		c.sim.usage[key] = u
	}
	now := c.sim.now()
	for _, h := range []*hourly{&u.core, &u.graphql} {
		if now.Sub(h.start) >= time.Hour {
			*h = hourly{start: now}
		}
	}
	return u
}

func (c *call) isGraphQL() bool { return c.r.URL.Path == "/graphql" }

// hour is the primary limit's counter that the request is counted by: GraphQL has its own.
func (c *call) hour() *hourly {
	if c.isGraphQL() {
		return &c.usage().graphql
	}
	return &c.usage().core
}

// changes tells whether a request writes: by its method, and for GraphQL by its operation.
func (c *call) changes() bool {
	if !c.isGraphQL() {
		return c.r.Method != http.MethodGet && c.r.Method != http.MethodHead
	}
	return c.body != nil && c.body.mutation
}

// createsContent tells what counts by the limits for content.
func (c *call) createsContent() bool {
	switch {
	case !c.changes() || c.r.Method == http.MethodDelete || c.me.app != nil:
		return false
	case c.isGraphQL():
		return true
	}
	return strings.HasPrefix(c.r.URL.Path, "/repos/") && !strings.HasSuffix(c.r.URL.Path, "/rerequest")
}

// spend counts the request against the primary and the secondary limits.
func (s *Sim) spend(c *call) error {
	c.free = c.r.URL.Path == "/rate_limit"
	if c.free {
		return nil
	}
	h := c.hour()
	if h.used >= s.opts.RateLimit {
		s.refusals.Primary++
		return c.overPrimary()
	}
	h.used++
	return s.spendSecondary(c)
}

// overPrimary is the refusal of the hourly limit. GraphQL answers 200 with an error of its own.
func (c *call) overPrimary() error {
	e := refuse(http.StatusForbidden, "API rate limit exceeded for "+c.me.kind()+".")
	if c.isGraphQL() {
		e.instead = &reply{body: obj{"errors": []obj{{"type": "RATE_LIMITED", "message": e.message}}}}
	}
	return e
}

func (s *Sim) spendSecondary(c *call) error {
	l, u, now := s.opts.Limits, c.usage(), s.opts.Clock()
	if c.me.app != nil {
		return nil
	}
	cost := 1
	if c.changes() {
		cost = 5
	}
	points, limit, refused := &u.points, l.PointsPerMinute, &s.refusals.Points
	if c.isGraphQL() {
		points, limit, refused = &u.graphqlPoints, l.GraphQLPointsPerMinute, &s.refusals.GraphQLPoints
	}
	type rule struct {
		on      bool
		used    *window
		span    time.Duration
		cost    int
		limit   int
		refused *int
	}
	content := c.createsContent()
	rules := []rule{
		{true, points, time.Minute, cost, limit, refused},
		{content, &u.content, time.Minute, 1, l.ContentPerMinute, &s.refusals.ContentMinute},
		{content, &u.content, time.Hour, 1, l.ContentPerHour, &s.refusals.ContentHour},
		{c.r.Method != http.MethodGet && !c.isGraphQL(), &u.writes, time.Minute, 1, s.opts.WritesPerMinute, &s.refusals.Writes},
	}
	for _, r := range rules {
		if !r.on || r.limit <= 0 {
			continue
		}
		if wait, over := r.used.wait(now, r.span, r.cost, r.limit); over {
			*r.refused++
			return overSecondary(wait, l.NoRetryAfter)
		}
	}
	spent := map[*window]bool{}
	for _, r := range rules {
		if r.on && r.limit > 0 && !spent[r.used] {
			spent[r.used] = true
			recent, _ := r.used.since(now, time.Hour)
			*r.used = append(recent, spending{now, r.cost})
		}
	}
	return nil
}

func overSecondary(wait time.Duration, silent bool) error {
	e := refuse(http.StatusForbidden, secondaryText)
	e.doc = secondaryURL
	if !silent {
		e.header = map[string]string{"Retry-After": strconv.Itoa(int((wait + time.Second - 1) / time.Second))}
	}
	return e
}

// refund gives back what a 304 did not cost.
func (s *Sim) refund(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.hour().used--
}

// limitHeader tells what is left of the primary limit.
func (s *Sim) limitHeader(c *call) map[string]string {
	if c.me.kind() == "none" {
		return nil
	}
	h := c.hour()
	resource := "core"
	if c.isGraphQL() {
		resource = "graphql"
	}
	return map[string]string{
		"X-RateLimit-Limit":     strconv.Itoa(s.opts.RateLimit),
		"X-RateLimit-Remaining": strconv.Itoa(max(s.opts.RateLimit-h.used, 0)),
		"X-RateLimit-Used":      strconv.Itoa(h.used),
		"X-RateLimit-Reset":     strconv.FormatInt(h.start.Add(time.Hour).Unix(), 10),
		"X-RateLimit-Resource":  resource,
	}
}

func rateLimit(c *call) (*reply, error) {
	u := c.usage()
	one := func(h hourly) obj {
		return obj{
			"limit": c.sim.opts.RateLimit, "used": h.used, "remaining": max(c.sim.opts.RateLimit-h.used, 0),
			"reset": h.start.Add(time.Hour).Unix(),
		}
	}
	return ok(obj{"resources": obj{"core": one(u.core), "search": one(u.core), "graphql": one(u.graphql)}, "rate": one(u.core)})
}
