package githubsim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// usage counts what one token owner has used.
type usage struct {
	start  time.Time // of the current hour
	used   int
	writes []time.Time // of the last minute, for the secondary limit
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
	now := c.sim.now()
	if u == nil || now.Sub(u.start) >= time.Hour {
		u = &usage{start: now}
		c.sim.usage[key] = u
	}
	return u
}

// spend counts the request against the primary and the secondary limit.
func (s *Sim) spend(c *call) error {
	c.free = c.r.URL.Path == "/rate_limit"
	if c.free {
		return nil
	}
	u := c.usage()
	if u.used >= s.opts.RateLimit {
		e := refuse(http.StatusForbidden, "API rate limit exceeded for "+c.me.kind()+".")
		e.header = map[string]string{"X-RateLimit-Remaining": "0"}
		return e
	}
	u.used++
	if s.opts.WritesPerMinute <= 0 || c.r.Method == http.MethodGet || c.r.URL.Path == "/graphql" || c.me.app != nil {
		return nil
	}
	now := s.opts.Clock()
	recent := u.writes[:0]
	for _, t := range u.writes {
		if now.Sub(t) < time.Minute {
			recent = append(recent, t)
		}
	}
	u.writes = recent
	if len(u.writes) >= s.opts.WritesPerMinute {
		wait := time.Minute - now.Sub(u.writes[0])
		e := refuse(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
		e.header = map[string]string{"Retry-After": strconv.Itoa(int(wait/time.Second) + 1)}
		return e
	}
	u.writes = append(u.writes, now)
	return nil
}

// refund gives back what a 304 did not cost.
func (s *Sim) refund(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.usage().used--
}

// limitHeader tells what is left of the primary limit.
func (s *Sim) limitHeader(c *call) map[string]string {
	if c.me.kind() == "none" {
		return nil
	}
	u := c.usage()
	resource := "core"
	if strings.HasPrefix(c.r.URL.Path, "/graphql") {
		resource = "graphql"
	}
	return map[string]string{
		"X-RateLimit-Limit":     strconv.Itoa(s.opts.RateLimit),
		"X-RateLimit-Remaining": strconv.Itoa(max(s.opts.RateLimit-u.used, 0)),
		"X-RateLimit-Used":      strconv.Itoa(u.used),
		"X-RateLimit-Reset":     strconv.FormatInt(u.start.Add(time.Hour).Unix(), 10),
		"X-RateLimit-Resource":  resource,
	}
}

func rateLimit(c *call) (*reply, error) {
	u := c.usage()
	one := obj{
		"limit": c.sim.opts.RateLimit, "used": u.used, "remaining": max(c.sim.opts.RateLimit-u.used, 0),
		"reset": u.start.Add(time.Hour).Unix(),
	}
	return ok(obj{"resources": obj{"core": one, "search": one, "graphql": one}, "rate": one})
}
