package githubsim

import (
	"fmt"
	"slices"
	"strings"
)

// account is a person, an organisation or a bot.
type account struct {
	id    int64
	login string
	typ   string // User, Organization or Bot
	name  string
	email string
}

// User describes a person.
type User struct {
	Login string // a login that ends in [bot] is a Bot
	Name  string // defaults to the login
	Email string // defaults to GitHub's noreply address
	ID    int64  // 0 means a generated one
}

// AddUser registers a person or bot with details; accounts that are only named appear by themselves.
func (s *Sim) AddUser(u User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.Login == "" || s.accounts[strings.ToLower(u.Login)] != nil {
		return fmt.Errorf("add user %q: want a login that is not taken", u.Login)
	}
	a := s.account(u.Login)
	if u.ID != 0 {
		a.id = u.ID
	}
	if u.Name != "" {
		a.name = u.Name
	}
	if u.Email != "" {
		a.email = u.Email
		s.emails[strings.ToLower(u.Email)] = a
	}
	return nil
}

// AddOrg registers an organisation; owners of repositories are organisations by themselves.
func (s *Sim) AddOrg(login string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(login, "Organization")
	if a.typ != "Organization" {
		return fmt.Errorf("add organisation %q: the login is taken by a %s", login, a.typ)
	}
	return nil
}

// UserToken makes a personal access token for a person and returns it.
func (s *Sim) UserToken(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := newTokenText("ghp_")
	s.tokens[text] = &token{user: s.account(login)}
	return text
}

// account finds an account or makes it: logins that end in [bot] are bots, others people.
func (s *Sim) account(login string) *account {
	typ := "User"
	if strings.HasSuffix(login, "[bot]") {
		typ = "Bot"
	}
	return s.accountOf(login, typ)
}

func (s *Sim) accountOf(login, typ string) *account {
	if a := s.accounts[strings.ToLower(login)]; a != nil {
		return a
	}
	kind := "user"
	if typ == "Organization" {
		kind = "org"
	}
	a := &account{id: s.ids.next(kind), login: login, typ: typ, name: login}
	a.email = fmt.Sprintf("%d+%s@users.noreply.github.com", a.id, login)
	s.accounts[strings.ToLower(login)] = a
	s.emails[strings.ToLower(a.email)] = a
	return a
}

// userJSON is GitHub's simple-user; nil is null.
func (s *Sim) userJSON(a *account) any {
	if a == nil {
		return nil
	}
	prefix := map[string]string{"User": "U", "Organization": "O", "Bot": "BOT"}[a.typ]
	path, html := strings.ReplaceAll(strings.ReplaceAll(a.login, "[", "%5B"), "]", "%5D"), "https://github.com/"+a.login
	if a.typ == "Bot" {
		html = "https://github.com/apps/" + strings.TrimSuffix(a.login, "[bot]")
	}
	u := s.url + "/users/" + path
	return obj{
		"login": a.login, "id": a.id, "node_id": nodeID(prefix, a.id), "gravatar_id": "", "type": a.typ,
		"avatar_url": fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", a.id), "url": u, "html_url": html,
		"followers_url": u + "/followers", "following_url": u + "/following{/other_user}", "gists_url": u + "/gists{/gist_id}",
		"starred_url": u + "/starred{/owner}{/repo}", "subscriptions_url": u + "/subscriptions", "organizations_url": u + "/orgs",
		"repos_url": u + "/repos", "events_url": u + "/events{/privacy}", "received_events_url": u + "/received_events",
		"site_admin": false, "user_view_type": "public",
	}
}

// orgJSON is how an organisation stands in webhooks.
func (s *Sim) orgJSON(a *account) obj {
	u := s.url + "/orgs/" + a.login
	return obj{
		"login": a.login, "id": a.id, "node_id": nodeID("O", a.id), "url": u, "repos_url": u + "/repos",
		"events_url": u + "/events", "hooks_url": u + "/hooks", "issues_url": u + "/issues", "members_url": u + "/members{/member}",
		"public_members_url": u + "/public_members{/member}", "description": "",
		"avatar_url": fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", a.id),
	}
}

// Team describes a team of an organisation.
type Team struct {
	Org, Slug   string
	Members     []string
	Maintainers []string
	Repos       []*Repo
	// Permission on Repos: pull, triage, push, maintain or admin. Empty means push.
	Permission string
}

type team struct {
	id      int64
	org     *account
	slug    string
	members map[string]string // lower-case login → member or maintainer
	order   []*account
	repos   []*Repo
	role    string
}

// AddTeam makes a team, or replaces the one of that name.
func (s *Sim) AddTeam(t Team) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	org := s.accountOf(t.Org, "Organization")
	if org.typ != "Organization" || t.Slug == "" {
		return fmt.Errorf("add team %s/%s: want an organisation and a slug", t.Org, t.Slug)
	}
	role, err := roleName(t.Permission, "write")
	if err != nil {
		return fmt.Errorf("add team %s/%s: %w", t.Org, t.Slug, err)
	}
	made := &team{id: s.ids.next("team"), org: org, slug: t.Slug, members: map[string]string{}, repos: t.Repos, role: role}
	for how, logins := range map[string][]string{"member": t.Members, "maintainer": t.Maintainers} {
		for _, l := range logins {
			made.members[strings.ToLower(l)] = how
		}
	}
	for _, l := range slices.Concat(t.Maintainers, t.Members) {
		made.order = append(made.order, s.account(l))
	}
	s.teams = slices.DeleteFunc(s.teams, func(o *team) bool { return o.org == org && o.slug == t.Slug })
	s.teams = append(s.teams, made)
	return nil
}

func (s *Sim) team(org, slug string) *team {
	for _, t := range s.teams {
		if strings.EqualFold(t.org.login, org) && strings.EqualFold(t.slug, slug) {
			return t
		}
	}
	return nil
}

// roles are ordered by what they allow.
func roleRank(role string) int {
	return slices.Index([]string{"none", "read", "triage", "write", "maintain", "admin"}, role)
}

func roleWrites(role string) bool { return roleRank(role) >= roleRank("write") }

// roleName reads a role or one of the older permission names.
func roleName(name, fallback string) (string, error) {
	switch name {
	case "":
		return fallback, nil
	case "pull":
		return "read", nil
	case "push":
		return "write", nil
	}
	if roleRank(name) < 0 {
		return "", fmt.Errorf("permission %q: want none, read, triage, write, maintain or admin", name)
	}
	return name, nil
}
