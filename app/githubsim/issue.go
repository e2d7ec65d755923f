package githubsim

import (
	"fmt"
	"slices"
	"time"
)

// thread is what issues and pull requests share: a number, a text and comments.
type thread struct {
	repo                     *Repo
	pull                     *Pull // nil for a plain issue
	id                       int64
	number                   int
	title, body              string
	author                   *account
	state                    string // open or closed
	labels                   []*label
	comments                 []*comment
	created, updated, closed time.Time
}

type label struct {
	repo *Repo
	id   int64
	name string
	col  string
	desc string
}

type comment struct {
	thread           *thread
	id               int64
	author           *account
	app              *AppHandle // that wrote it, if one did
	body             string
	created, updated time.Time
	reactions        []*reaction
}

type reaction struct {
	id      int64
	user    *account
	content string
	created time.Time
}

func (r *Repo) newThread(title, body string, author *account) *thread {
	r.lastNo++
	t := &thread{
		repo: r, id: r.sim.ids.next("issue"), number: r.lastNo, title: title, body: body, author: author,
		state: "open", created: r.sim.now(), updated: r.sim.now(),
	}
	r.threads[t.number] = t
	return t
}

// OpenIssue opens a plain issue and returns its number.
func (r *Repo) OpenIssue(title, body, author string) int {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	return r.newThread(title, body, r.sim.account(author)).number
}

// label finds a label or makes it.
func (r *Repo) label(name string) *label {
	if l := r.labels[name]; l != nil {
		return l
	}
	l := &label{repo: r, id: r.sim.ids.next("label"), name: name, col: "ededed"}
	r.labels[name] = l
	return l
}

// Comment writes a comment on an issue or pull request and sends issue_comment.created.
func (r *Repo) Comment(number int, author, body string) (int64, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	t := r.threads[number]
	if t == nil {
		return 0, fmt.Errorf("comment in %s: no issue or pull request %d", r.fullName(), number)
	}
	c := t.comment(r.sim.account(author), nil, body)
	return c.id, c.send("created", c.author, nil)
}

// Comment writes a comment on the pull request and sends issue_comment.created.
func (p *Pull) Comment(author, body string) (int64, error) {
	return p.repo.Comment(p.number, author, body)
}

// Comments are the comments on the pull request, oldest first.
func (p *Pull) Comments() []Comment { return p.repo.Comments(p.number) }

// EditComment changes a comment and sends issue_comment.edited.
func (r *Repo) EditComment(id int64, by, body string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	c := r.findComment(id)
	if c == nil {
		return fmt.Errorf("edit comment %d of %s: no such comment", id, r.fullName())
	}
	return c.edit(r.sim.account(by), body)
}

// Comments lists the comments of an issue or pull request, oldest first.
func (r *Repo) Comments(number int) []Comment {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	t := r.threads[number]
	if t == nil {
		return nil
	}
	var out []Comment
	for _, c := range t.comments {
		one := Comment{
			ID: c.id, Number: number, Author: c.author.login, Body: c.body, CreatedAt: c.created, UpdatedAt: c.updated,
		}
		for _, re := range c.reactions {
			one.Reactions = append(one.Reactions, Reaction{Login: re.user.login, Content: re.content})
		}
		out = append(out, one)
	}
	return out
}

// Labels are the names of the labels on the pull request.
func (p *Pull) Labels() []string {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	var out []string
	for _, l := range p.labels {
		out = append(out, l.name)
	}
	return out
}

func (t *thread) comment(by *account, app *AppHandle, body string) *comment {
	now := t.repo.sim.now()
	c := &comment{thread: t, id: t.repo.sim.ids.next("comment"), author: by, app: app, body: body, created: now, updated: now}
	t.comments = append(t.comments, c)
	t.updated = now
	return c
}

func (c *comment) edit(by *account, body string) error {
	from := c.body
	c.body, c.updated = body, c.thread.repo.sim.now()
	return c.send("edited", by, obj{"changes": obj{"body": obj{"from": from}}})
}

func (r *Repo) findComment(id int64) *comment {
	for _, n := range sortedKeys(r.threads) {
		for _, c := range r.threads[n].comments {
			if c.id == id {
				return c
			}
		}
	}
	return nil
}

// react adds a reaction, once for each person and kind.
func (c *comment) react(by *account, content string) (re *reaction, isNew bool) {
	i := slices.IndexFunc(c.reactions, func(re *reaction) bool { return re.user == by && re.content == content })
	if i >= 0 {
		return c.reactions[i], false
	}
	re = &reaction{id: c.thread.repo.sim.ids.next("reaction"), user: by, content: content, created: c.thread.repo.sim.now()}
	c.reactions = append(c.reactions, re)
	return re, true
}

func (t *thread) labelsJSON() []obj {
	out := []obj{}
	for _, l := range t.labels {
		out = append(out, l.json())
	}
	return out
}

func (l *label) json() obj {
	return obj{
		"id": l.id, "node_id": nodeID("LA", l.id), "url": l.repo.apiURL() + "/labels/" + escapePath(l.name), "name": l.name,
		"color": l.col, "default": false, "description": l.desc,
	}
}

// json is an issue as webhooks carry it.
func (t *thread) json() obj {
	r := t.repo
	u, html := fmt.Sprintf("%s/issues/%d", r.apiURL(), t.number), fmt.Sprintf("%s/issues/%d", r.htmlURL(), t.number)
	o := obj{
		"id": t.id, "node_id": nodeID("I", t.id), "number": t.number, "url": u, "repository_url": r.apiURL(), "labels_url": u + "/labels{/name}",
		"comments_url": u + "/comments", "events_url": u + "/events", "timeline_url": u + "/timeline", "html_url": html,
		"title": t.title, "body": orNull(t.body), "user": r.sim.userJSON(t.author), "labels": t.labelsJSON(), "state": t.state,
		"state_reason": nil, "locked": false, "active_lock_reason": nil, "assignee": nil, "assignees": []obj{}, "milestone": nil,
		"comments": len(t.comments), "created_at": stamp(t.created), "updated_at": stamp(t.updated), "closed_at": stamp(t.closed),
		"author_association": r.associationOf(t.author), "performed_via_github_app": nil, "reactions": rollup(u, nil),
	}
	if p := t.pull; p != nil {
		html = fmt.Sprintf("%s/pull/%d", r.htmlURL(), t.number)
		o["html_url"], o["draft"] = html, p.draft
		o["pull_request"] = obj{
			"url": fmt.Sprintf("%s/pulls/%d", r.apiURL(), t.number), "html_url": html,
			"diff_url": html + ".diff", "patch_url": html + ".patch", "merged_at": stamp(p.mergedAt),
		}
	}
	return o
}

func rollup(url string, list []*reaction) obj {
	o := obj{"url": url + "/reactions", "total_count": len(list)}
	for _, kind := range reactionKinds() {
		o[kind] = 0
	}
	for _, re := range list {
		if n, isInt := o[re.content].(int); isInt {
			o[re.content] = n + 1
		}
	}
	return o
}

func reactionKinds() []string {
	return []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"}
}

func (c *comment) json() obj {
	r := c.thread.repo
	u := fmt.Sprintf("%s/issues/comments/%d", r.apiURL(), c.id)
	kind := "issues"
	if c.thread.pull != nil {
		kind = "pull"
	}
	o := obj{
		"id": c.id, "node_id": nodeID("IC", c.id), "url": u, "issue_url": fmt.Sprintf("%s/issues/%d", r.apiURL(), c.thread.number),
		"html_url": fmt.Sprintf("%s/%s/%d#issuecomment-%d", r.htmlURL(), kind, c.thread.number, c.id),
		"user":     r.sim.userJSON(c.author), "body": c.body, "created_at": stamp(c.created), "updated_at": stamp(c.updated),
		"author_association": r.associationOf(c.author), "reactions": rollup(u, c.reactions), "performed_via_github_app": nil,
	}
	if c.app != nil {
		o["performed_via_github_app"] = c.app.json()
	}
	return o
}
