package githubsim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

// mutationRoot holds the mutations that are simulated: see testdata/github/mutations.txt.
func (c *call) mutationRoot() gqlexec.Object {
	fields := obj{}
	for name, run := range map[string]func(gqlexec.Args) (obj, error){
		"addPullRequestReview":            c.addReview,
		"addPullRequestReviewThread":      c.addThread,
		"addPullRequestReviewThreadReply": c.addThreadReply,
		"submitPullRequestReview":         c.submitReviewNode,
		"deletePullRequestReview":         c.deleteReviewNode,
		"resolveReviewThread":             func(a gqlexec.Args) (obj, error) { return c.setResolved(a, c.me.account()) },
		"unresolveReviewThread":           func(a gqlexec.Args) (obj, error) { return c.setResolved(a, nil) },
		"minimizeComment":                 c.minimize,
	} {
		typ := strings.ToUpper(name[:1]) + name[1:] + "Payload"
		fields[name] = gqlexec.Func(func(a gqlexec.Args) (any, error) {
			in, _ := a["input"].(map[string]any)
			out, err := run(in)
			if err != nil {
				return nil, unprocessableField(err)
			}
			out["clientMutationId"] = in["clientMutationId"]
			return gql(typ, out), nil
		})
	}
	return gql("Mutation", fields)
}

// unprocessableField is a refusal as GraphQL tells it.
func unprocessableField(err error) error {
	var why refusal
	if errors.As(err, &why) {
		return &gqlexec.Error{Type: "UNPROCESSABLE", Message: why.Error()}
	}
	return err
}

func noNode(id string) error {
	return &gqlexec.Error{Type: "NOT_FOUND", Message: fmt.Sprintf("Could not resolve to a node with the global id of '%s'", id)}
}

// onPull checks that the caller sees a node's pull request and has a permission there. A person who sees
// it may review, and needs the right to write for what takes contents: write.
func (c *call) onPull(p *Pull, id, perm string) error {
	if p == nil || !c.me.sees(p.repo) {
		return noNode(id)
	}
	c.repo = p.repo
	if c.me.inst == nil && perm == "pull_requests:write" {
		return nil
	}
	return c.allowed(perm)
}

func (c *call) pullNode(id string) *Pull {
	p, _ := c.sim.nodes[id].(*Pull)
	return p
}

// reviewNode is the review that a mutation works on: named, or the caller's pending one on the pull
// request named. It is nil where there is none on that.
func (c *call) reviewNode(a gqlexec.Args) (*review, error) {
	id := a.String("pullRequestReviewId")
	if id == "" {
		id = a.String("pullRequestId")
		p := c.pullNode(id)
		if err := c.onPull(p, id, "pull_requests:write"); err != nil {
			return nil, err
		}
		return p.pendingOf(c.me.account()), nil
	}
	v, isReview := c.sim.nodes[id].(*review)
	if !isReview || !v.visibleTo(c.me.account()) {
		return nil, noNode(id)
	}
	if err := c.onPull(v.pull, id, "pull_requests:write"); err != nil {
		return nil, err
	}
	if v.author != c.me.account() {
		return nil, &gqlexec.Error{Type: "FORBIDDEN", Message: "Resource not accessible by integration"}
	}
	return v, nil
}

// pendingNode is reviewNode where it is pending.
func (c *call) pendingNode(a gqlexec.Args) (*review, error) {
	v, err := c.reviewNode(a)
	switch {
	case err != nil:
		return nil, err
	case v == nil || v.state != reviewPending:
		return nil, refusal("Could not find pending pull request review")
	}
	return v, nil
}

// draftArgs reads a thread's input.
func draftArgs(a gqlexec.Args) draft {
	d := draft{body: a.String("body"), place: place{path: a.String("path"), side: sideRight, startSide: sideRight}}
	d.line, _ = a.Int("line")
	d.startLine, d.hasStarts = a.Int("startLine")
	if s := a.String("side"); s != "" {
		d.side = s
	}
	if s := a.String("startSide"); s != "" {
		d.startSide = s
	}
	if !d.hasStarts {
		d.startSide = ""
	}
	if a.String("subjectType") == "FILE" {
		d.file, d.line, d.startLine, d.hasStarts, d.startSide = true, 0, 0, false, ""
	}
	return d
}

func (c *call) addReview(a gqlexec.Args) (obj, error) {
	id := a.String("pullRequestId")
	p := c.pullNode(id)
	if err := c.onPull(p, id, "pull_requests:write"); err != nil {
		return nil, err
	}
	var drafts []draft
	threads, _ := a["threads"].([]any)
	for _, one := range threads {
		in, _ := one.(map[string]any)
		drafts = append(drafts, draftArgs(in))
	}
	comments, _ := a["comments"].([]any)
	for _, one := range comments {
		in, _ := one.(map[string]any)
		d := draft{body: gqlexec.Args(in).String("body"), place: place{path: gqlexec.Args(in).String("path")}}
		d.position, _ = gqlexec.Args(in).Int("position")
		var err error
		if d.place, err = p.byPosition(p.headSHA, d.place); err != nil {
			return nil, err
		}
		drafts = append(drafts, d)
	}
	event, body := a.String("event"), a.String("body")
	if event != "" {
		if err := p.checkEvent(c.me.account(), event, body, len(drafts)); err != nil {
			return nil, err
		}
	}
	v, err := p.newReview(c.me.account(), c.app(), a.String("commitOID"), body, drafts)
	if err == nil && event != "" {
		err = v.submit(event, nil)
	}
	if err != nil {
		return nil, err
	}
	return obj{"pullRequestReview": c.gqlReview(v), "reviewEdge": gql("PullRequestReviewEdge", obj{"node": c.gqlReview(v), "cursor": ""})}, nil
}

// addThread adds to a pending review, or makes one where the pull request is named and has none.
func (c *call) addThread(a gqlexec.Args) (obj, error) {
	v, err := c.reviewNode(a)
	if err == nil && v == nil {
		v, err = c.pullNode(a.String("pullRequestId")).newReview(c.me.account(), c.app(), "", "", nil)
	}
	switch {
	case err != nil:
		return nil, err
	case v.state != reviewPending:
		return nil, refusal("Could not find pending pull request review")
	}
	t, err := v.newThread(draftArgs(a))
	var why refusal
	if errors.As(err, &why) && c.sim.opts.NullThreads {
		return obj{"thread": nil}, nil
	}
	if err != nil {
		return nil, err
	}
	v.pull.addThread(t)
	return obj{"thread": c.gqlThread(t)}, nil
}

func (c *call) threadNode(id, perm string) (*reviewThread, error) {
	t, isThread := c.sim.nodes[id].(*reviewThread)
	if !isThread || !t.visibleTo(c.me.account()) {
		return nil, noNode(id)
	}
	return t, c.onPull(t.pull, id, perm)
}

// addThreadReply adds to a pending review; without one the reply is visible at once.
func (c *call) addThreadReply(a gqlexec.Args) (obj, error) {
	t, err := c.threadNode(a.String("pullRequestReviewThreadId"), "pull_requests:write")
	if err != nil {
		return nil, err
	}
	if a.String("pullRequestReviewId") == "" {
		m, err := t.pull.replyAs(c.me.account(), c.app(), t, a.String("body"))
		if err != nil {
			return nil, err
		}
		return obj{"comment": c.gqlReviewComment(m)}, nil
	}
	v, err := c.pendingNode(a)
	switch {
	case err != nil:
		return nil, err
	case v.pull != t.pull:
		return nil, refusal("Pull request review thread is on another pull request")
	}
	m, err := v.reply(t, a.String("body"))
	if err != nil {
		return nil, err
	}
	return obj{"comment": c.gqlReviewComment(m)}, nil
}

func (c *call) submitReviewNode(a gqlexec.Args) (obj, error) {
	v, err := c.pendingNode(a)
	if err != nil {
		return nil, err
	}
	var body *string
	if text, given := a["body"].(string); given {
		body = &text
	}
	if err := v.submit(a.String("event"), body); err != nil {
		return nil, err
	}
	return obj{"pullRequestReview": c.gqlReview(v)}, nil
}

func (c *call) deleteReviewNode(a gqlexec.Args) (obj, error) {
	v, err := c.reviewNode(a)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, noNode(a.String("pullRequestReviewId"))
	}
	shown := c.gqlReview(v)
	if err := v.drop(); err != nil {
		return nil, err
	}
	return obj{"pullRequestReview": shown}, nil
}

// setResolved: an App needs contents: write for it, pull_requests: write is not enough.
func (c *call) setResolved(a gqlexec.Args, by *account) (obj, error) {
	t, err := c.threadNode(a.String("threadId"), "contents:write")
	if err != nil {
		return nil, err
	}
	t.resolved = by
	return obj{"thread": c.gqlThread(t)}, nil
}

// minimize hides a comment, which takes the right to write on pull requests.
func (c *call) minimize(a gqlexec.Args) (obj, error) {
	id := a.String("subjectId")
	m, isComment := c.sim.nodes[id].(*reviewComment)
	if !isComment || !m.review.visibleTo(c.me.account()) {
		return nil, noNode(id)
	}
	if err := c.onPull(m.thread.pull, id, "pull_requests:write"); err != nil {
		return nil, err
	}
	m.minimized = minimizeReason(a.String("classifier"))
	return obj{"minimizedComment": c.gqlReviewComment(m)}, nil
}
