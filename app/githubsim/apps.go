package githubsim

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// actionsAppID is GitHub Actions' App id on github.com.
const actionsAppID = 15368

// DefaultPermissions are what a pull-request bot's App asks for.
func DefaultPermissions() map[string]string {
	return map[string]string{
		"metadata": "read", "contents": "read", "actions": "read", "statuses": "read", "merge_queues": "read",
		"members": "read", "checks": "write", "pull_requests": "write", "issues": "write",
	}
}

// AppHandle is a registered GitHub App.
type AppHandle struct {
	sim     *Sim
	spec    App
	key     *rsa.PrivateKey // nil for Apps that only appear as the owner of a check
	bot     *account
	owner   *account
	created time.Time
}

// AddApp registers an App.
func (s *Sim) AddApp(spec App) (*AppHandle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec.Key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, fmt.Errorf("make a key for app %s: %w", spec.Slug, err)
		}
		spec.Key = key
	}
	return s.addApp(spec)
}

func (s *Sim) addApp(spec App) (*AppHandle, error) {
	if spec.Slug == "" || spec.Slug != strings.ToLower(spec.Slug) {
		return nil, fmt.Errorf("add app %q: want a slug in lower case", spec.Slug)
	}
	if spec.ID == 0 {
		spec.ID = s.ids.next("app")
	}
	if s.apps[spec.ID] != nil {
		return nil, fmt.Errorf("add app %s: id %d is taken", spec.Slug, spec.ID)
	}
	if spec.Name == "" {
		spec.Name = spec.Slug
	}
	if spec.Owner == "" {
		spec.Owner = spec.Slug
	}
	if spec.Permissions == nil {
		spec.Permissions = DefaultPermissions()
	}
	spec.Permissions = maps.Clone(spec.Permissions)
	spec.Permissions["metadata"] = "read"
	a := &AppHandle{sim: s, spec: spec, key: spec.Key, created: s.now()}
	a.bot = s.account(spec.Slug + "[bot]")
	a.owner = s.account(spec.Owner)
	s.apps[spec.ID] = a
	return a, nil
}

// appOrMake finds an App by id or registers a stranger's, for checks by Apps nobody described.
func (s *Sim) appOrMake(id int64) (*AppHandle, error) {
	if id == 0 {
		id = actionsAppID
	}
	if a := s.apps[id]; a != nil {
		return a, nil
	}
	return s.addApp(App{ID: id, Slug: fmt.Sprintf("app-%d", id)})
}

// ID is the App's id.
func (a *AppHandle) ID() int64 { return a.spec.ID }

// Slug is the App's name in URLs and logins.
func (a *AppHandle) Slug() string { return a.spec.Slug }

// BotLogin is the account the App writes as: slug[bot].
func (a *AppHandle) BotLogin() string { return a.bot.login }

// PrivateKeyPEM is the App's private key as GitHub hands it out: PKCS#1 in PEM. It is nil for Apps
// that were not added with AddApp.
func (a *AppHandle) PrivateKeyPEM() []byte {
	if a.key == nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)})
}

// SetWebhook changes where and with which secret webhooks are sent; an empty URL sends none.
func (a *AppHandle) SetWebhook(url, secret string) {
	a.sim.mu.Lock()
	defer a.sim.mu.Unlock()
	a.spec.WebhookURL, a.spec.WebhookSecret = url, secret
}

// Ping sends the ping event that GitHub sends when a webhook is set up.
func (a *AppHandle) Ping() error {
	a.sim.mu.Lock()
	defer a.sim.mu.Unlock()
	return a.sim.sendTo(a, nil, nil, "ping", "", obj{
		"zen": "Keep it logically awesome.", "hook_id": a.hookID(),
		"hook": obj{
			"type": "App", "id": a.hookID(), "name": "web", "active": true, "events": a.events(), "app_id": a.spec.ID,
			"config":     obj{"content_type": "json", "url": a.spec.WebhookURL, "insecure_ssl": "0", "secret": "********"},
			"updated_at": stamp(a.created), "created_at": stamp(a.created),
		},
	})
}

func (a *AppHandle) hookID() int64 { return 470_000_000 + a.spec.ID }

func (a *AppHandle) clientID() string { return fmt.Sprintf("Iv23li%014d", a.spec.ID) }

func (a *AppHandle) events() []string {
	if a.spec.Events == nil {
		return []string{
			"check_run", "check_suite", "issue_comment", "merge_group", "pull_request", "pull_request_review",
			"pull_request_review_comment", "push", "status",
		}
	}
	return a.spec.Events
}

func (a *AppHandle) subscribed(event string) bool {
	return event == "installation" || event == "installation_repositories" || event == "ping" || slices.Contains(a.events(), event)
}

// Installation is an App installed on an account.
type Installation struct {
	sim       *Sim
	app       *AppHandle
	id        int64
	account   *account
	all       bool
	repos     map[int64]bool
	perms     map[string]string
	created   time.Time
	updated   time.Time
	suspended bool
	deleted   bool
}

// Install installs an App on an account, for the repositories named or, without any, for all of the
// account's, now and later. It sends installation.created.
func (s *Sim) Install(app *AppHandle, account string, repos ...*Repo) (*Installation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if app == nil {
		return nil, errors.New("install app: want an app")
	}
	acc := s.accounts[strings.ToLower(account)]
	if acc == nil {
		return nil, fmt.Errorf("install app %s: no account %q (add a repository or user first)", app.spec.Slug, account)
	}
	for _, i := range s.installs {
		if i.app == app && i.account == acc && !i.deleted {
			return nil, fmt.Errorf("install app %s: already installed on %s", app.spec.Slug, account)
		}
	}
	inst := &Installation{
		sim: s, app: app, id: s.ids.next("install"), account: acc, all: len(repos) == 0,
		repos: map[int64]bool{}, perms: maps.Clone(app.spec.Permissions), created: s.now(), updated: s.now(),
	}
	for _, r := range repos {
		if r.owner != acc {
			return nil, fmt.Errorf("install app %s on %s: repository %s belongs to another account", app.spec.Slug, account, r.fullName())
		}
		inst.repos[r.id] = true
	}
	s.installs = append(s.installs, inst)
	return inst, inst.send("created", obj{"repositories": inst.repoStubs()})
}

// ID is the installation's id.
func (i *Installation) ID() int64 { return i.id }

// Suspend stops the installation's tokens; it sends installation.suspend.
func (i *Installation) Suspend() error { return i.setSuspended(true, "suspend") }

// Unsuspend lets it work again; it sends installation.unsuspend.
func (i *Installation) Unsuspend() error { return i.setSuspended(false, "unsuspend") }

func (i *Installation) setSuspended(on bool, action string) error {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	i.suspended, i.updated = on, i.sim.now()
	return i.send(action, nil)
}

// Delete uninstalls the App; it sends installation.deleted.
func (i *Installation) Delete() error {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	err := i.send("deleted", obj{"repositories": i.repoStubs()})
	i.deleted = true
	return err
}

// SetPermissions replaces what the owner has granted, and sends installation.new_permissions_accepted.
// Tokens that exist keep what they were made with.
func (i *Installation) SetPermissions(perms map[string]string) error {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	i.perms, i.updated = maps.Clone(perms), i.sim.now()
	i.perms["metadata"] = "read"
	return i.send("new_permissions_accepted", nil)
}

// WithholdPermissions replaces what the owner has granted without telling anyone: the state of an
// installation whose owner has not accepted what the App newly asks for. Tokens that exist lose it too.
func (i *Installation) WithholdPermissions(perms map[string]string) {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	i.perms = maps.Clone(perms)
	i.perms["metadata"] = "read"
	for _, t := range i.sim.tokens {
		if t.inst == i {
			t.perms = i.perms
		}
	}
}

// AddRepos adds repositories; it sends installation_repositories.added.
func (i *Installation) AddRepos(repos ...*Repo) error { return i.changeRepos("added", true, repos) }

// RemoveRepos takes repositories away; it sends installation_repositories.removed.
func (i *Installation) RemoveRepos(repos ...*Repo) error {
	return i.changeRepos("removed", false, repos)
}

func (i *Installation) changeRepos(action string, on bool, repos []*Repo) error {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	stubs := []obj{}
	for _, r := range repos {
		if on {
			i.repos[r.id] = true
		} else {
			delete(i.repos, r.id)
		}
		stubs = append(stubs, r.stub())
	}
	added, removed := stubs, []obj{}
	if !on {
		added, removed = removed, added
	}
	i.updated = i.sim.now()
	payload := obj{
		"action": action, "installation": i.json(), "sender": i.sim.userJSON(i.account), "requester": nil,
		"repository_selection": i.selection(), "repositories_added": added, "repositories_removed": removed,
	}
	return i.sim.sendTo(i.app, i, nil, "installation_repositories", action, payload)
}

// RevokeTokens makes every token of the installation invalid at once.
func (i *Installation) RevokeTokens() {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	for _, t := range i.sim.tokens {
		if t.inst == i {
			t.revoked = true
		}
	}
}

// ExpireTokens makes the tokens of every installation invalid at once, before their time.
func (s *Sim) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if t.inst != nil {
			t.revoked = true
		}
	}
}

func (i *Installation) payload(action string, more obj) obj {
	payload := obj{"action": action, "installation": i.json(), "sender": i.sim.userJSON(i.account)}
	if action == "created" {
		payload["requester"] = nil
	}
	maps.Copy(payload, more)
	return payload
}

func (i *Installation) send(action string, more obj) error {
	return i.sim.sendTo(i.app, i, nil, "installation", action, i.payload(action, more))
}

func (i *Installation) covers(r *Repo) bool {
	return !r.deleted && r.owner == i.account && (i.all || i.repos[r.id])
}

func (i *Installation) selection() string {
	if i.all {
		return "all"
	}
	return "selected"
}

// list is what the installation covers, in order of creation.
func (i *Installation) list() []*Repo {
	var out []*Repo
	for _, r := range i.sim.repoList {
		if i.covers(r) {
			out = append(out, r)
		}
	}
	return out
}

func (i *Installation) repoStubs() []obj {
	out := []obj{}
	for _, r := range i.list() {
		out = append(out, r.stub())
	}
	return out
}
