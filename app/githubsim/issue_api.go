package githubsim

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCommentRunes is the longest body a comment may have, in characters.
const maxCommentRunes = 65_536

func issueRoutes() []route {
	const issue = "/repos/{owner}/{repo}/issues/{issue_number}"
	const perm = "issues:write|pull_requests:write"
	return []route{
		{"GET " + issue + "/comments", anyToken, "issues:read|pull_requests:read", listComments},
		{"POST " + issue + "/comments", anyToken, perm, createComment},
		{"PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}", anyToken, perm, updateComment},
		{"GET /repos/{owner}/{repo}/issues/comments/{comment_id}", anyToken, "issues:read|pull_requests:read", getComment},
		{"POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions", anyToken, perm, createReaction},
		{"POST " + issue + "/labels", anyToken, perm, addLabels},
		{"DELETE " + issue + "/labels/{name}", anyToken, perm, removeLabel},
		{"POST /repos/{owner}/{repo}/labels", anyToken, perm, createLabel},
	}
}

// issue finds the issue or pull request, and asks for the permission that its kind needs to be written.
func (c *call) issue() (*thread, error) {
	n, err := c.id("issue_number")
	if err != nil {
		return nil, err
	}
	t := c.repo.threads[int(n)]
	if t == nil {
		return nil, notFound()
	}
	return t, c.needFor(t)
}

// needFor: writing on a pull request takes pull_requests: write, issues: write is not enough.
func (c *call) needFor(t *thread) error {
	if c.r.Method == http.MethodGet {
		return nil
	}
	if t.pull != nil {
		return c.need("pull_requests:write")
	}
	return c.need("issues:write")
}

func listComments(c *call) (*reply, error) {
	t, err := c.issue()
	if err != nil {
		return nil, err
	}
	from, to := c.page(len(t.comments))
	out := []obj{}
	for _, one := range t.comments[from:to] {
		out = append(out, one.json())
	}
	return ok(out)
}

func (c *call) commentBody() (string, error) {
	var in struct {
		Body *string `json:"body"`
	}
	if err := c.decode(&in); err != nil {
		return "", err
	}
	switch {
	case in.Body == nil || strings.TrimSpace(*in.Body) == "":
		return "", invalid("IssueComment", "body", "missing_field", "")
	case utf8.RuneCountInString(*in.Body) > maxCommentRunes:
		return "", invalid("IssueComment", "body", "custom", "Body is too long (maximum is 65536 characters)")
	}
	return *in.Body, nil
}

func createComment(c *call) (*reply, error) {
	t, err := c.issue()
	if err != nil {
		return nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return nil, err
	}
	made := t.comment(c.me.account(), c.app(), body)
	if err := made.send("created", c.me.account(), nil); err != nil {
		return nil, err
	}
	return created(made.json())
}

// app is the App behind an installation token.
func (c *call) app() *AppHandle {
	if c.me.inst == nil {
		return nil
	}
	return c.me.inst.app
}

func (c *call) comment() (*comment, error) {
	id, err := c.id("comment_id")
	if err != nil {
		return nil, err
	}
	if found := c.repo.findComment(id); found != nil {
		return found, nil
	}
	return nil, notFound()
}

func getComment(c *call) (*reply, error) {
	one, err := c.comment()
	if err != nil {
		return nil, err
	}
	return ok(one.json())
}

func updateComment(c *call) (*reply, error) {
	one, err := c.comment()
	if err != nil {
		return nil, err
	}
	if err := c.needFor(one.thread); err != nil {
		return nil, err
	}
	if one.author != c.me.account() && c.me.inst != nil {
		return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	body, err := c.commentBody()
	if err != nil {
		return nil, err
	}
	if err := one.edit(c.me.account(), body); err != nil {
		return nil, err
	}
	return ok(one.json())
}

func createReaction(c *call) (*reply, error) {
	one, err := c.comment()
	if err != nil {
		return nil, err
	}
	var in struct {
		Content string `json:"content"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if !slices.Contains(reactionKinds(), in.Content) {
		return nil, invalid("Reaction", "content", "invalid", "")
	}
	re, isNew := one.react(c.me.account(), in.Content)
	body := obj{
		"id": re.id, "node_id": nodeID("REA", re.id), "user": c.sim.userJSON(re.user), "content": re.content, "created_at": stamp(re.created),
	}
	if isNew {
		return created(body)
	}
	return ok(body)
}

func addLabels(c *call) (*reply, error) {
	t, err := c.issue()
	if err != nil {
		return nil, err
	}
	var in any
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if o, isObj := in.(obj); isObj {
		in = o["labels"]
	}
	names, _ := in.([]any)
	for _, n := range names {
		name, isText := n.(string)
		if o, isObj := n.(obj); isObj {
			name, isText = o["name"].(string)
		}
		if !isText || name == "" {
			return nil, invalid("Label", "name", "invalid", "")
		}
		l := c.repo.label(name)
		if slices.Contains(t.labels, l) {
			continue
		}
		t.labels = append(t.labels, l)
		if t.pull != nil {
			if err := t.pull.send("labeled", c.me.account(), obj{"label": l.json()}); err != nil {
				return nil, err
			}
		}
	}
	return ok(t.labelsJSON())
}

func removeLabel(c *call) (*reply, error) {
	t, err := c.issue()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(t.labels, func(l *label) bool { return l.name == c.path("name") })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "Label does not exist")
	}
	gone := t.labels[i]
	t.labels = slices.Delete(t.labels, i, i+1)
	if t.pull != nil {
		if err := t.pull.send("unlabeled", c.me.account(), obj{"label": gone.json()}); err != nil {
			return nil, err
		}
	}
	return ok(t.labelsJSON())
}

func createLabel(c *call) (*reply, error) {
	var in struct {
		Name        string `json:"name"`
		Color       string `json:"color"`
		Description string `json:"description"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Name == "" {
		return nil, invalid("Label", "name", "missing_field", "")
	}
	if c.repo.labels[in.Name] != nil {
		return nil, invalid("Label", "name", "already_exists", "")
	}
	l := c.repo.label(in.Name)
	l.desc = in.Description
	if in.Color != "" {
		l.col = in.Color
	}
	return created(l.json())
}
