package githubsim

import (
	"encoding/json"
	"fmt"
)

// body writes a payload as it would be sent now to an App about a repository.
func (r *Repo) body(app *AppHandle, by *account, payload obj) ([]byte, error) {
	var inst *Installation
	if app != nil {
		for _, i := range app.installations() {
			if i.covers(r) {
				inst = i
			}
		}
	}
	raw, err := json.Marshal(r.envelope(inst, by, payload))
	if err != nil {
		return nil, fmt.Errorf("build webhook payload: %w", err)
	}
	return raw, nil
}

// Payload builds the body of a pull_request event as it would be sent now, without sending it. The
// App decides which installation it names; nil names none, as a repository's own webhook.
func (p *Pull) Payload(app *AppHandle, action string) ([]byte, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	payload, err := p.payload(action, nil)
	if err != nil {
		return nil, err
	}
	return p.repo.body(app, p.author, payload)
}

// CheckRunPayload builds the body of a check_run event.
func (r *Repo) CheckRunPayload(app *AppHandle, runID int64, action string) ([]byte, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	run := r.findRun(runID)
	if run == nil {
		return nil, fmt.Errorf("build check_run payload: no run %d in %s", runID, r.fullName())
	}
	return r.body(app, run.suite.sender(), run.payload(action, nil))
}

// CheckSuitePayload builds the body of a check_suite event for a suite's id.
func (r *Repo) CheckSuitePayload(app *AppHandle, suiteID int64, action string) ([]byte, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	for _, s := range r.suites {
		if s.id == suiteID {
			return r.body(app, s.sender(), s.payload(action))
		}
	}
	return nil, fmt.Errorf("build check_suite payload: no suite %d in %s", suiteID, r.fullName())
}

// StatusPayload builds the body of a status event for the newest status of a context.
func (r *Repo) StatusPayload(app *AppHandle, sha, context string) ([]byte, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	for _, st := range r.latestStatuses(sha) {
		if st.context == context {
			payload, err := st.payload()
			if err != nil {
				return nil, err
			}
			return r.body(app, st.creator, payload)
		}
	}
	return nil, fmt.Errorf("build status payload: no status %q on %.7s of %s", context, sha, r.fullName())
}

// CommentPayload builds the body of an issue_comment event.
func (r *Repo) CommentPayload(app *AppHandle, commentID int64, action string) ([]byte, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	c := r.findComment(commentID)
	if c == nil {
		return nil, fmt.Errorf("build issue_comment payload: no comment %d in %s", commentID, r.fullName())
	}
	return r.body(app, c.author, c.payload(action, nil))
}

// PushPayload builds the body of a push event for a branch's newest commit.
func (r *Repo) PushPayload(app *AppHandle, branch string) ([]byte, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	tip, err := r.resolve("refs/heads/" + branch)
	if err != nil {
		return nil, fmt.Errorf("build push payload: branch %q of %s: %w", branch, r.fullName(), err)
	}
	before := ""
	if len(tip.Parents) > 0 {
		before = tip.Parents[0]
	}
	payload, err := r.pushPayload(branch, before, tip.SHA, false, r.defaultAuthor())
	if err != nil {
		return nil, err
	}
	return r.body(app, r.defaultAuthor(), payload)
}

// Payload builds the body of a merge_group event.
func (g *MergeGroup) Payload(app *AppHandle, action string) ([]byte, error) {
	g.repo.sim.mu.Lock()
	defer g.repo.sim.mu.Unlock()
	return g.repo.body(app, g.queue(), g.payload(action, ""))
}

// Payload builds the body of an installation event.
func (i *Installation) Payload(action string) ([]byte, error) {
	i.sim.mu.Lock()
	defer i.sim.mu.Unlock()
	raw, err := json.Marshal(i.payload(action, obj{"repositories": i.repoStubs()}))
	if err != nil {
		return nil, fmt.Errorf("build installation payload: %w", err)
	}
	return raw, nil
}

// Review is a pull request review as an event shows it, of SendReview: it is not kept, and no API lists it.
// SubmitReview makes one that stays.
type Review struct {
	Author   string
	State    string // approved, changes_requested, commented or dismissed: lower case, as events have it
	Body     string
	CommitID string // defaults to the head
}

// SendReview sends pull_request_review.submitted for a review that is not kept.
func (p *Pull) SendReview(v Review) error {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	by := p.repo.sim.account(v.Author)
	return p.repo.sendRepo("pull_request_review", "submitted", by, p.reviewPayload("submitted", v, by), nil)
}

// ReviewPayload builds the body of a pull_request_review event.
func (p *Pull) ReviewPayload(app *AppHandle, action string, v Review) ([]byte, error) {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	by := p.repo.sim.account(v.Author)
	return p.repo.body(app, by, p.reviewPayload(action, v, by))
}

func (p *Pull) reviewPayload(action string, v Review, by *account) obj {
	if v.CommitID == "" {
		v.CommitID = p.headSHA
	}
	r, id := p.repo, p.repo.sim.ids.next("review")
	html := fmt.Sprintf("%s/pull/%d#pullrequestreview-%d", r.htmlURL(), p.number, id)
	pr := p.simpleJSON()
	now := stamp(r.sim.now())
	return withAction(action, obj{"pull_request": pr, "review": obj{
		"id": id, "node_id": nodeID("PRR", id), "user": r.sim.userJSON(by), "body": orNull(v.Body), "commit_id": v.CommitID,
		"submitted_at": now, "updated_at": now, "state": v.State, "html_url": html, "pull_request_url": pr["url"],
		"author_association": r.associationOf(by),
		"_links":             obj{"html": obj{"href": html}, "pull_request": obj{"href": pr["url"]}},
	}})
}

// Send queues a webhook with a body of the caller's own, signed for the App.
func (a *AppHandle) Send(event, action string, body []byte) error {
	a.sim.mu.Lock()
	defer a.sim.mu.Unlock()
	if a.spec.WebhookURL == "" {
		return fmt.Errorf("send %s to app %s: it has no webhook URL", event, a.spec.Slug)
	}
	a.queue(Delivery{Event: event, Action: action, Body: body})
	return nil
}
