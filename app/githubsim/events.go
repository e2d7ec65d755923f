package githubsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// envelope adds what every repository event carries.
func (r *Repo) envelope(inst *Installation, by *account, payload obj) obj {
	out := obj{"repository": r.json(), "sender": r.sim.userJSON(by)}
	if r.owner.typ == "Organization" {
		out["organization"] = r.sim.orgJSON(r.owner)
	}
	if inst != nil {
		out["installation"] = inst.stub()
	}
	maps.Copy(out, payload)
	return out
}

// sendRepo sends an event to every App that is installed on the repository and wants it, or to one.
func (r *Repo) sendRepo(event, action string, by *account, payload obj, only *AppHandle) error {
	var errs []error
	for _, i := range r.sim.installs {
		if i.deleted || i.suspended || !i.covers(r) || only != nil && i.app != only {
			continue
		}
		if need := eventPermission(event); need != "" && i.perms[need] == "" {
			continue
		}
		errs = append(errs, r.sim.sendTo(i.app, i, r, event, action, r.envelope(i, by, payload)))
	}
	return errors.Join(errs...)
}

// eventPermission is the permission an App needs (read is enough) to be told of an event at all.
func eventPermission(event string) string {
	return map[string]string{
		"check_run": "checks", "check_suite": "checks", "status": "statuses", "pull_request": "pull_requests",
		"pull_request_review": "pull_requests", "pull_request_review_comment": "pull_requests", "merge_group": "merge_queues", "push": "contents",
	}[event]
}

// sendTo queues one delivery for one App, if it wants it.
func (s *Sim) sendTo(app *AppHandle, inst *Installation, r *Repo, event, action string, payload obj) error {
	if app.spec.WebhookURL == "" || !app.subscribed(event) {
		return nil
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("build %s event: %w", event, err)
	}
	d := Delivery{Event: event, Action: action, Body: body}
	if inst != nil {
		d.InstallationID = inst.id
	}
	if r != nil {
		d.Repository = r.fullName()
	}
	app.queue(d)
	return nil
}

// queue gives a delivery its ids and hands it to the queue.
func (a *AppHandle) queue(d Delivery) {
	d.ID, d.GUID, d.App, d.QueuedAt = a.sim.ids.next("delivery"), newGUID(), a.spec.Slug, a.sim.opts.Clock().UTC()
	a.sim.hooks.add(d, hookTarget{url: a.spec.WebhookURL, secret: a.spec.WebhookSecret, appID: a.spec.ID, hookID: a.hookID()})
}

func withAction(action string, more ...obj) obj {
	out := obj{"action": action}
	for _, m := range more {
		maps.Copy(out, m)
	}
	return out
}

func (p *Pull) payload(action string, more obj) (obj, error) {
	pr, err := p.json()
	if err != nil {
		return nil, fmt.Errorf("build pull_request event: %w", err)
	}
	out := withAction(action, obj{"number": p.number, "pull_request": pr}, more)
	if action == "edited" && out["changes"] == nil {
		out["changes"] = obj{}
	}
	if action == "synchronize" && out["before"] == nil {
		out["before"], out["after"] = p.baseSHA, p.headSHA
	}
	return out, nil
}

func (p *Pull) send(action string, by *account, more obj) error {
	payload, err := p.payload(action, more)
	if err != nil {
		return err
	}
	return p.repo.sendRepo("pull_request", action, by, payload, nil)
}

func (c *comment) payload(action string, more obj) obj {
	return withAction(action, obj{"issue": c.thread.json(), "comment": c.json()}, more)
}

func (c *comment) send(action string, by *account, more obj) error {
	return c.thread.repo.sendRepo("issue_comment", action, by, c.payload(action, more), nil)
}

// sender is the account behind an App's own doing.
func (s *checkSuite) sender() *account { return s.app.bot }

func (run *checkRun) payload(action string, more obj) obj {
	return withAction(action, obj{"check_run": run.hookJSON()}, more)
}

// send tells about a run: created and completed to every App, the rest to the run's own.
func (run *checkRun) send(action string, by *account, more obj) error {
	if by == nil {
		by = run.suite.sender()
	}
	var only *AppHandle
	if action == "rerequested" || action == "requested_action" {
		only = run.suite.app
	}
	return run.suite.repo.sendRepo("check_run", action, by, run.payload(action, more), only)
}

func (s *checkSuite) payload(action string) obj {
	suite := s.json()
	delete(suite, "repository")
	return withAction(action, obj{"check_suite": suite})
}

// send tells about a suite: completed to every App, the rest to the suite's own.
func (s *checkSuite) send(action string, ownOnly bool) error {
	var only *AppHandle
	if ownOnly {
		only = s.app
	}
	return s.repo.sendRepo("check_suite", action, s.sender(), s.payload(action), only)
}

func (st *commitStatus) payload() (obj, error) {
	c, err := st.repo.store.Commit(st.sha)
	if err != nil {
		return nil, fmt.Errorf("build status event: %w", err)
	}
	commit := st.repo.commitJSON(c)
	return obj{
		"id": st.id, "sha": st.sha, "name": st.repo.fullName(), "target_url": orNull(st.target), "avatar_url": st.simpleJSON()["avatar_url"],
		"context": st.context, "description": orNull(st.description), "state": st.state, "commit": commit,
		"branches": st.repo.branchesAt(c), "created_at": stamp(st.created), "updated_at": stamp(st.created),
	}, nil
}

func (st *commitStatus) send() error {
	payload, err := st.payload()
	if err != nil {
		return err
	}
	return st.repo.sendRepo("status", "", st.creator, payload, nil)
}

const zeroSHA = "0000000000000000000000000000000000000000"

// maxPushCommits is how many commits a push event lists.
const maxPushCommits = 2048

func (r *Repo) sendPush(branch, before, after string, forced bool, by *account) error {
	payload, err := r.pushPayload(branch, before, after, forced, by)
	if err != nil {
		return err
	}
	return r.sendRepo("push", "", by, payload, nil)
}

func (r *Repo) pushPayload(branch, before, after string, forced bool, by *account) (obj, error) {
	own := r.store.Ahead(before, after)
	if before == "" && branch != r.defaultBranch {
		own = r.store.Ahead(r.branches[r.defaultBranch], after)
	}
	commits := []obj{}
	for _, c := range own[max(0, len(own)-maxPushCommits):] {
		one, err := r.pushCommit(c)
		if err != nil {
			return nil, err
		}
		commits = append(commits, one)
	}
	tip, err := r.store.Commit(after)
	if err != nil {
		return nil, fmt.Errorf("build push event: %w", err)
	}
	head, err := r.pushCommit(tip)
	if err != nil {
		return nil, err
	}
	isNew := before == ""
	if isNew {
		before = zeroSHA
	}
	return obj{
		"ref": "refs/heads/" + branch, "before": before, "after": after, "base_ref": nil, "created": isNew, "deleted": false, "forced": forced,
		"compare": r.htmlURL() + "/compare/" + before[:12] + "..." + after[:12], "commits": commits, "head_commit": head,
		"pusher": obj{"name": by.login, "email": by.email}, "repository": r.pushJSON(),
	}, nil
}

// deletionPayload is the push event of a branch that is gone: no commit, and zeros for one.
func (r *Repo) deletionPayload(branch, before string, by *account) obj {
	return obj{
		"ref": "refs/heads/" + branch, "before": before, "after": zeroSHA, "base_ref": nil, "created": false, "deleted": true, "forced": false,
		"compare": r.htmlURL() + "/compare/" + before[:12] + "..." + zeroSHA[:12], "commits": []obj{}, "head_commit": nil,
		"pusher": obj{"name": by.login, "email": by.email}, "repository": r.pushJSON(),
	}
}

// pushCommit is a commit in a push event, with the paths it touched against its first parent.
func (r *Repo) pushCommit(c gitstore.Commit) (obj, error) {
	parent := gitstore.EmptyTree
	if len(c.Parents) > 0 {
		p, err := r.store.Commit(c.Parents[0])
		if err != nil {
			return nil, fmt.Errorf("build push event: %w", err)
		}
		parent = p.Tree
	}
	added, removed, modified, err := r.touched(parent, c.Tree)
	if err != nil {
		return nil, fmt.Errorf("build push event: %w", err)
	}
	o := simpleCommit(c)
	o["distinct"], o["url"] = true, r.htmlURL()+"/commit/"+c.SHA
	o["added"], o["removed"], o["modified"] = added, removed, modified
	for key, g := range map[string]gitstore.Signature{"author": c.Author, "committer": c.Committer} {
		who := obj{"name": g.Name, "email": g.Email, "date": stamp(g.When)}
		if a := r.accountOf(g); a != nil {
			who["username"] = a.login
		}
		o[key] = who
	}
	return o, nil
}

// touched compares two trees by path alone: no renames, and no git process.
func (r *Repo) touched(old, cur string) (added, removed, modified []string, err error) {
	before, err := r.store.Files(old)
	if err != nil {
		return nil, nil, nil, err
	}
	after, err := r.store.Files(cur)
	if err != nil {
		return nil, nil, nil, err
	}
	added, removed, modified = []string{}, []string{}, []string{}
	for _, p := range sortedKeys(after) {
		switch was, ok := before[p]; {
		case !ok:
			added = append(added, p)
		case was.SHA != after[p].SHA || was.Mode != after[p].Mode:
			modified = append(modified, p)
		}
	}
	for _, p := range sortedKeys(before) {
		if _, ok := after[p]; !ok {
			removed = append(removed, p)
		}
	}
	return added, removed, modified, nil
}
