package githubsim

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

func appRoutes() []route {
	return []route{
		{"GET /app", appOnly, "", func(c *call) (*reply, error) { return ok(c.me.app.json()) }},
		{"GET /apps/{app_slug}", anyToken, "", appBySlug},
		{"GET /app/installations", appOnly, "", listInstallations},
		{"GET /app/installations/{installation_id}", appOnly, "", getInstallation},
		{"POST /app/installations/{installation_id}/access_tokens", appOnly, "", createToken},
		{"GET /repos/{owner}/{repo}/installation", appOnly, "", repoInstallation},
		{"GET /orgs/{org}/installation", appOnly, "", func(c *call) (*reply, error) { return accountInstallation(c, c.path("org"), "Organization") }},
		{"GET /users/{username}/installation", appOnly, "", func(c *call) (*reply, error) { return accountInstallation(c, c.path("username"), "") }},
		{"GET /installation/repositories", anyToken, "", installationRepos},
		{"DELETE /installation/token", anyToken, "", func(c *call) (*reply, error) {
			c.me.tok.revoked = true
			return &reply{status: http.StatusNoContent}, nil
		}},
	}
}

func (a *AppHandle) json() obj {
	s := a.sim
	return obj{
		"id": a.spec.ID, "slug": a.spec.Slug, "node_id": nodeID("A", a.spec.ID), "client_id": a.clientID(),
		"owner": s.userJSON(a.owner), "name": a.spec.Name, "description": "",
		"external_url": "https://github.com/apps/" + a.spec.Slug, "html_url": "https://github.com/apps/" + a.spec.Slug,
		"created_at": stamp(a.created), "updated_at": stamp(a.created),
		"permissions": maps.Clone(a.spec.Permissions), "events": a.events(),
	}
}

func appBySlug(c *call) (*reply, error) {
	for _, a := range c.sim.apps {
		if a.spec.Slug == c.path("app_slug") {
			return ok(a.json())
		}
	}
	return nil, notFound()
}

func (i *Installation) json() obj {
	base := i.sim.url + "/app/installations/" + strconv.FormatInt(i.id, 10)
	o := obj{
		"id": i.id, "account": i.sim.userJSON(i.account), "access_tokens_url": base + "/access_tokens",
		"client_id": i.app.clientID(), "repositories_url": i.sim.url + "/installation/repositories",
		"html_url": fmt.Sprintf("https://github.com/organizations/%s/settings/installations/%d", i.account.login, i.id),
		"app_id":   i.app.spec.ID, "app_slug": i.app.spec.Slug, "target_id": i.account.id, "target_type": i.account.typ,
		"permissions": maps.Clone(i.perms), "events": i.app.events(), "repository_selection": i.selection(),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "single_file_name": nil,
		"has_multiple_single_files": false, "single_file_paths": []string{},
		"suspended_by": nil, "suspended_at": nil,
	}
	if i.suspended {
		o["suspended_by"], o["suspended_at"] = i.sim.userJSON(i.account), stamp(i.updated)
	}
	return o
}

// stub is how an installation is named in the webhooks of a repository.
func (i *Installation) stub() obj {
	return obj{"id": i.id, "node_id": nodeID("MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u", i.id)}
}

func (a *AppHandle) installations() []*Installation {
	var out []*Installation
	for _, i := range a.sim.installs {
		if i.app == a && !i.deleted {
			out = append(out, i)
		}
	}
	return out
}

func listInstallations(c *call) (*reply, error) {
	all := c.me.app.installations()
	from, to := c.page(len(all))
	out := []obj{}
	for _, i := range all[from:to] {
		out = append(out, i.json())
	}
	return ok(out)
}

func (c *call) installation() (*Installation, error) {
	id, err := c.id("installation_id")
	if err != nil {
		return nil, err
	}
	for _, i := range c.me.app.installations() {
		if i.id == id {
			return i, nil
		}
	}
	return nil, notFound()
}

func getInstallation(c *call) (*reply, error) {
	i, err := c.installation()
	if err != nil {
		return nil, err
	}
	return ok(i.json())
}

func repoInstallation(c *call) (*reply, error) {
	for _, i := range c.me.app.installations() {
		if i.covers(c.repo) {
			return ok(i.json())
		}
	}
	return nil, notFound()
}

func accountInstallation(c *call, login, typ string) (*reply, error) {
	for _, i := range c.me.app.installations() {
		if strings.EqualFold(i.account.login, login) && (typ == "" || typ == i.account.typ) {
			return ok(i.json())
		}
	}
	return nil, notFound()
}

func createToken(c *call) (*reply, error) {
	i, err := c.installation()
	if err != nil {
		return nil, err
	}
	if i.suspended {
		return nil, suspended()
	}
	var in struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	t := &token{inst: i, perms: i.perms, expires: c.sim.now().Add(tokenLifetime)}
	if len(in.Permissions) > 0 {
		t.perms = map[string]string{"metadata": "read"}
		for name, level := range in.Permissions {
			if !covers(i.perms[name], level) {
				return nil, refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			}
			t.perms[name] = level
		}
	}
	var chosen []obj
	if len(in.Repositories)+len(in.RepositoryIDs) > 0 {
		t.repos = map[int64]bool{}
		chosen = []obj{}
		for _, r := range i.list() {
			for _, name := range in.Repositories {
				if strings.EqualFold(name, r.name) {
					t.repos[r.id] = true
				}
			}
			for _, id := range in.RepositoryIDs {
				if id == r.id {
					t.repos[r.id] = true
				}
			}
			if t.repos[r.id] {
				chosen = append(chosen, r.json())
			}
		}
		if len(t.repos) < max(len(in.Repositories), len(in.RepositoryIDs)) {
			return nil, refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
	}
	text := newTokenText("ghs_")
	c.sim.tokens[text] = t
	out := obj{
		"token": text, "expires_at": stamp(t.expires), "permissions": maps.Clone(t.perms), "repository_selection": i.selection(),
	}
	if chosen != nil {
		out["repositories"], out["repository_selection"] = chosen, "selected"
	}
	return created(out)
}

func installationRepos(c *call) (*reply, error) {
	if c.me.inst == nil {
		return nil, refuse(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	var all []*Repo
	for _, r := range c.me.inst.list() {
		if c.me.sees(r) {
			all = append(all, r)
		}
	}
	from, to := c.page(len(all))
	list := []obj{}
	for _, r := range all[from:to] {
		list = append(list, r.json())
	}
	return ok(obj{"total_count": len(all), "repository_selection": c.me.inst.selection(), "repositories": list})
}
