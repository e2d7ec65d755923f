package githubsim

import (
	"fmt"
	"strings"
)

func (v *review) htmlURL() string {
	return fmt.Sprintf("%s/pull/%d#pullrequestreview-%d", v.pull.repo.htmlURL(), v.pull.number, v.id)
}

func (p *Pull) apiURL() string { return fmt.Sprintf("%s/pulls/%d", p.repo.apiURL(), p.number) }

// json is a review as REST shows it: one that is pending was not submitted at any time.
func (v *review) json() obj {
	r := v.pull.repo
	o := obj{
		"id": v.id, "node_id": nodeID("PRR", v.id), "user": r.sim.userJSON(v.author), "body": v.body, "state": v.state, "commit_id": v.commit,
		"html_url": v.htmlURL(), "pull_request_url": v.pull.apiURL(), "author_association": r.associationOf(v.author),
		"_links": obj{"html": obj{"href": v.htmlURL()}, "pull_request": obj{"href": v.pull.apiURL()}},
	}
	if v.state != reviewPending {
		o["submitted_at"] = stamp(v.submitted)
	}
	return o
}

// hookJSON is a review in an event: the state in lower case, no text as null.
func (v *review) hookJSON() obj {
	o := v.json()
	o["state"], o["body"], o["submitted_at"], o["updated_at"] = strings.ToLower(v.state), orNull(v.body), stamp(v.submitted), stamp(v.updated)
	return o
}

func orNullInt(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func (m *reviewComment) apiURL() string {
	return fmt.Sprintf("%s/pulls/comments/%d", m.thread.pull.repo.apiURL(), m.id)
}

func (m *reviewComment) htmlURL() string {
	return fmt.Sprintf("%s/pull/%d#discussion_r%d", m.thread.pull.repo.htmlURL(), m.thread.pull.number, m.id)
}

// json is a review comment as REST shows it. An outdated one has no line and no position any more; the
// commit is the newest that has its line.
func (m *reviewComment) json() obj {
	t := m.thread
	r := t.pull.repo
	o := obj{
		"id": m.id, "node_id": nodeID("PRRC", m.id), "url": m.apiURL(), "html_url": m.htmlURL(), "pull_request_url": t.pull.apiURL(),
		"pull_request_review_id": m.review.id, "diff_hunk": t.hunk, "path": t.now.path, "commit_id": t.now.commit, "original_commit_id": t.commit,
		"user": r.sim.userJSON(m.author), "body": m.body, "created_at": stamp(m.created), "updated_at": stamp(m.updated),
		"author_association": r.associationOf(m.author), "reactions": rollup(m.apiURL(), nil),
		"position": orNullInt(t.now.position), "original_position": t.position, "subject_type": "line",
		"line": orNullInt(t.now.line), "original_line": t.place.line, "side": t.place.side,
		"start_line": orNullInt(t.now.startLine), "original_start_line": orNullInt(t.place.startLine), "start_side": orNull(t.place.startSide),
		"_links": obj{
			"self": obj{"href": m.apiURL()}, "html": obj{"href": m.htmlURL()}, "pull_request": obj{"href": t.pull.apiURL()},
		},
	}
	if t.place.file {
		o["subject_type"], o["original_line"] = "file", nil
	}
	if m.replyTo != nil {
		o["in_reply_to_id"] = m.replyTo.id
	}
	return o
}

// send tells about a review. Events carry the pull request in its short form.
func (v *review) send(action string, by *account) error {
	return v.pull.repo.sendRepo("pull_request_review", action, by, v.payload(action), nil)
}

func (v *review) payload(action string) obj {
	return withAction(action, obj{"pull_request": v.pull.simpleJSON(), "review": v.hookJSON()})
}

func (m *reviewComment) send(action string, by *account) error {
	payload := withAction(action, obj{"pull_request": m.thread.pull.simpleJSON(), "comment": m.json()})
	return m.thread.pull.repo.sendRepo("pull_request_review_comment", action, by, payload, nil)
}
