package githubsim

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

func reviewCommentRoutes() []route {
	const pull = "/repos/{owner}/{repo}/pulls/{pull_number}"
	const one = "/repos/{owner}/{repo}/pulls/comments/{comment_id}"
	return []route{
		{"GET " + pull + "/comments", anyToken, "pull_requests:read", listReviewComments},
		{"POST " + pull + "/comments", anyToken, "", createReviewComment},
		{"POST " + pull + "/comments/{comment_id}/replies", anyToken, "", createReviewReply},
		{"GET " + one, anyToken, "pull_requests:read", getReviewComment},
		{"PATCH " + one, anyToken, "", updateReviewComment},
		{"DELETE " + one, anyToken, "", deleteReviewComment},
	}
}

// listReviewComments shows what was submitted; since leaves out what is older.
func listReviewComments(c *call) (*reply, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	all := p.public()
	if since := c.query("since"); since != "" {
		all = slices.DeleteFunc(all, func(m *reviewComment) bool {
			at, isText := stamp(m.updated).(string)
			return isText && at < since
		})
	}
	by := c.query("sort")
	if by == "" && c.query("direction") != "" {
		by = "created"
	}
	return c.commentPage(all, by)
}

// createReviewComment makes a comment of its own, which GitHub wraps into a review that is submitted at
// once; with in_reply_to it continues a thread and everything but the body is ignored.
func createReviewComment(c *call) (*reply, error) {
	if err := c.mayReview(); err != nil {
		return nil, err
	}
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in struct {
		commentInput
		CommitID    string `json:"commit_id"`
		SubjectType string `json:"subject_type"`
		InReplyTo   int64  `json:"in_reply_to"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Body == nil {
		return nil, notSupplied("body")
	}
	if in.InReplyTo != 0 {
		return c.replyIn(p, in.InReplyTo, *in.Body)
	}
	if in.CommitID == "" {
		return nil, notSupplied("commit_id")
	}
	if !p.has(in.CommitID) {
		return nil, invalid("PullRequestReviewComment", "end_commit_oid", "custom", "end_commit_oid is not part of the pull request")
	}
	d, err := in.draftOrFile(p, in.CommitID, in.SubjectType)
	if err != nil {
		return nil, err
	}
	v, err := p.newReview(c.me.account(), c.app(), in.CommitID, "", []draft{d})
	if err != nil {
		return nil, threadInvalid(err)
	}
	if err := v.submit("COMMENT", nil); err != nil {
		return nil, unprocessable(err)
	}
	return created(v.comments()[0].json())
}

func (in commentInput) draftOrFile(p *Pull, commit, subject string) (draft, error) {
	if subject != "file" {
		return in.draft(p, commit)
	}
	if in.Path == nil {
		return draft{}, notSupplied("path")
	}
	return draft{body: *in.Body, place: place{path: *in.Path, side: sideRight, file: true}}, nil
}

// threadInvalid is the 422 of a single comment: GitHub answers a field here where it answers a text for
// a whole review.
func threadInvalid(err error) error {
	var why refusal
	errors.As(err, &why)
	switch why {
	case refusal("Line could not be resolved"):
		return invalid("PullRequestReviewComment", "pull_request_review_thread.line", "custom", "pull_request_review_thread.line must be part of the diff")
	case refusal("Start line could not be resolved"):
		return invalid("PullRequestReviewComment", "pull_request_review_thread.start_line", "custom", "pull_request_review_thread.start_line must be part of the same hunk as the line.")
	case refusal("Path could not be resolved"):
		return invalid("PullRequestReviewComment", "pull_request_review_thread.path", "invalid", "")
	case refusal("User can only have one pending review per pull request"):
		return invalid("PullRequestReview", "user_id", "custom", "user_id can only have one pending review per pull request")
	}
	return unprocessable(err)
}

func createReviewReply(c *call) (*reply, error) {
	if err := c.mayReview(); err != nil {
		return nil, err
	}
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	id, err := c.id("comment_id")
	if err != nil {
		return nil, err
	}
	var in struct {
		Body *string `json:"body"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Body == nil {
		return nil, notSupplied("body")
	}
	return c.replyIn(p, id, *in.Body)
}

// replyIn continues a thread at its first comment; replies to replies are not supported.
func (c *call) replyIn(p *Pull, id int64, body string) (*reply, error) {
	found := p.reviewComments(func(m *reviewComment) bool { return m.id == id && m.review.state != reviewPending })
	if len(found) == 0 || found[0].replyTo != nil {
		return nil, notFound()
	}
	m, err := p.replyAs(c.me.account(), c.app(), found[0].thread, body)
	if err != nil {
		return nil, threadInvalid(err)
	}
	return created(m.json())
}

// replyAs replies at once: a review of one comment.
func (p *Pull) replyAs(by *account, app *AppHandle, t *reviewThread, body string) (*reviewComment, error) {
	if strings.TrimSpace(body) == "" {
		return nil, refusal("Body can't be blank")
	}
	v, err := p.newReview(by, app, "", "", nil)
	if err != nil {
		return nil, err
	}
	m, err := v.reply(t, body)
	if err != nil {
		_ = v.drop() // it is pending, and that is all drop asks for
		return nil, err
	}
	return m, v.submit("COMMENT", nil)
}

func (c *call) reviewComment() (*reviewComment, error) {
	id, err := c.id("comment_id")
	if err != nil {
		return nil, err
	}
	if m := c.repo.findReviewComment(id); m != nil && m.review.visibleTo(c.me.account()) {
		return m, nil
	}
	return nil, notFound()
}

func (r *Repo) findReviewComment(id int64) *reviewComment {
	if m, isComment := r.sim.nodes[nodeID("PRRC", id)].(*reviewComment); isComment && m.thread.pull.repo == r {
		return m
	}
	return nil
}

// changeable is a comment that the caller may edit or delete: one's own, or any for a person who may write.
func (c *call) changeable() (*reviewComment, error) {
	if err := c.mayReview(); err != nil {
		return nil, err
	}
	m, err := c.reviewComment()
	if err != nil {
		return nil, err
	}
	if m.author != c.me.account() && (c.me.inst != nil || !roleWrites(c.repo.roleOf(c.me.user))) {
		return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return m, nil
}

func getReviewComment(c *call) (*reply, error) {
	m, err := c.reviewComment()
	if err != nil {
		return nil, err
	}
	return ok(m.json())
}

func updateReviewComment(c *call) (*reply, error) {
	m, err := c.changeable()
	if err != nil {
		return nil, err
	}
	var in struct {
		Body *string `json:"body"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Body == nil:
		return nil, notSupplied("body")
	case strings.TrimSpace(*in.Body) == "":
		return nil, unprocessable(refusal("Body can't be blank"))
	}
	if err := checkBody(*in.Body); err != nil {
		return nil, unprocessable(err)
	}
	m.body, m.updated = *in.Body, c.sim.now()
	return ok(m.json())
}

func deleteReviewComment(c *call) (*reply, error) {
	m, err := c.changeable()
	if err != nil {
		return nil, err
	}
	m.delete()
	return &reply{status: http.StatusNoContent}, nil
}
