package githubsim

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// router finds routes by path template. http.ServeMux refuses GitHub's own routes as ambiguous
// (issues/comments/{id} beside issues/{number}/comments); here the route with more literal parts wins.
type router struct{ routes []compiled }

type compiled struct {
	route
	method   string
	parts    []string
	rest     bool // the last part takes everything left
	literals int
}

func newRouter(routes []route) router {
	var r router
	for _, rt := range routes {
		method, path, _ := strings.Cut(rt.pattern, " ")
		c := compiled{route: rt, method: method, parts: strings.Split(strings.Trim(path, "/"), "/")}
		c.rest = strings.HasSuffix(path, "...}")
		for _, p := range c.parts {
			if !strings.HasPrefix(p, "{") {
				c.literals++
			}
		}
		r.routes = append(r.routes, c)
	}
	slices.SortStableFunc(r.routes, func(a, b compiled) int { return b.literals - a.literals })
	return r
}

// find returns the route for a request and gives the request its path values.
func (rt router) find(r *http.Request) *compiled {
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i := range rt.routes {
		c := &rt.routes[i]
		if c.method == r.Method && c.match(parts) {
			c.values(r, parts)
			return c
		}
	}
	return nil
}

func (c *compiled) match(parts []string) bool {
	if len(parts) < len(c.parts) || len(parts) > len(c.parts) && !c.rest {
		return false
	}
	for i, p := range c.parts {
		if !strings.HasPrefix(p, "{") && p != parts[i] {
			return false
		}
	}
	return true
}

func (c *compiled) values(r *http.Request, parts []string) {
	for i, p := range c.parts {
		if !strings.HasPrefix(p, "{") {
			continue
		}
		text := parts[i]
		name := strings.Trim(p, "{}")
		if c.rest && i == len(c.parts)-1 {
			text, name = strings.Join(parts[i:], "/"), strings.TrimSuffix(name, "...")
		}
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
		r.SetPathValue(name, text)
	}
}

// template is GitHub's path template of a route: what the request log and faults name.
func (c *compiled) template() string {
	if c == nil {
		return ""
	}
	_, path, _ := strings.Cut(c.pattern, " ")
	return strings.ReplaceAll(path, "...}", "}")
}
