package githubsim

import (
	"net/http"
	"strings"
)

func peopleRoutes() []route {
	return []route{
		{"GET /rate_limit", anyToken, "", rateLimit},
		{"GET /user", anyToken, "", func(c *call) (*reply, error) {
			if c.me.user == nil {
				return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
			}
			return ok(c.sim.userJSON(c.me.user))
		}},
		{"GET /users/{username}", anyToken, "", func(c *call) (*reply, error) {
			a := c.sim.accounts[strings.ToLower(c.path("username"))]
			if a == nil {
				return nil, notFound()
			}
			return ok(c.sim.userJSON(a))
		}},
		{"GET /repos/{owner}/{repo}/collaborators/{username}/permission", anyToken, "metadata:read", collaboratorPermission},
		{"GET /orgs/{org}/teams/{team_slug}/memberships/{username}", anyToken, "members:read", teamMembership},
		{"GET /orgs/{org}/teams/{team_slug}/members", anyToken, "members:read", teamMembers},
		{"GET /orgs/{org}/teams/{team_slug}/repos", anyToken, "members:read", teamRepos},
	}
}

// collaboratorPermission answers with the four old levels; maintain and triage show in role_name only.
func collaboratorPermission(c *call) (*reply, error) {
	a := c.sim.accounts[strings.ToLower(c.path("username"))]
	if a == nil {
		return nil, notFound()
	}
	role := c.repo.roleOf(a)
	level := map[string]string{"maintain": "write", "triage": "read"}[role]
	if level == "" {
		level = role
	}
	user, isObj := c.sim.userJSON(a).(obj)
	if isObj {
		user["permissions"] = rolePermissions(role)
		user["role_name"] = role
	}
	return ok(obj{"permission": level, "role_name": role, "user": user})
}

func rolePermissions(role string) obj {
	r := roleRank(role)
	return obj{
		"pull": r >= roleRank("read"), "triage": r >= roleRank("triage"), "push": r >= roleRank("write"),
		"maintain": r >= roleRank("maintain"), "admin": r >= roleRank("admin"),
	}
}

// orgTeam finds the team; only the organisation's own installation or a person sees it.
func (c *call) orgTeam() (*team, error) {
	t := c.sim.team(c.path("org"), c.path("team_slug"))
	if t == nil || c.me.inst != nil && c.me.inst.account != t.org {
		return nil, notFound()
	}
	return t, nil
}

func teamMembership(c *call) (*reply, error) {
	t, err := c.orgTeam()
	if err != nil {
		return nil, err
	}
	role := t.members[strings.ToLower(c.path("username"))]
	if role == "" {
		return nil, notFound()
	}
	return ok(obj{
		"state": "active", "role": role,
		"url": c.sim.url + "/orgs/" + t.org.login + "/teams/" + t.slug + "/memberships/" + c.path("username"),
	})
}

func teamMembers(c *call) (*reply, error) {
	t, err := c.orgTeam()
	if err != nil {
		return nil, err
	}
	from, to := c.page(len(t.order))
	out := []any{}
	for _, a := range t.order[from:to] {
		out = append(out, c.sim.userJSON(a))
	}
	return ok(out)
}

func teamRepos(c *call) (*reply, error) {
	t, err := c.orgTeam()
	if err != nil {
		return nil, err
	}
	var seen []*Repo
	for _, r := range t.repos {
		if c.me.sees(r) {
			seen = append(seen, r)
		}
	}
	from, to := c.page(len(seen))
	out := []obj{}
	for _, r := range seen[from:to] {
		out = append(out, r.json())
	}
	return ok(out)
}
