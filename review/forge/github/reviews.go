package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

const (
	routeBeginReview  = "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews"
	routeSubmitReview = "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/events"
	routeDropReview   = "DELETE /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}"
	routeOwnReviews   = "POST /graphql OwnReviews"
	routeOwnThreads   = "POST /graphql OwnThreads"
	routeAddToReview  = "POST /graphql AddToReview"
)

// reviewBody is a pending review as it is begun: without an event, so that nobody
// else sees it.
type reviewBody struct {
	CommitID string          `json:"commit_id"`
	Body     string          `json:"body,omitempty"`
	Comments []reviewComment `json:"comments,omitempty"`
}

// reviewComment is a comment by line and side. The field `position` is never sent:
// what it counts is what reports contradict each other about (case 15).
type reviewComment struct {
	Path      string `json:"path"`
	Body      string `json:"body"`
	Line      int    `json:"line"`
	Side      string `json:"side"`
	StartLine int    `json:"start_line,omitempty"`
	StartSide string `json:"start_side,omitempty"`
}

func commentBody(c forge.LineComment) reviewComment {
	out := reviewComment{Path: c.Path, Body: c.Body, Line: c.Line, Side: c.Side}
	if c.StartLine > 0 {
		out.StartLine, out.StartSide = c.StartLine, c.Side
	}
	return out
}

// checkComments refuses what GitHub would answer with 422, or take for something
// else (case 23).
func checkComments(comments []forge.LineComment) error {
	for _, c := range comments {
		switch {
		case c.Path == "" || c.Body == "":
			return errors.New("a comment needs a path and a text")
		case c.Side != "LEFT" && c.Side != "RIGHT":
			return fmt.Errorf("side %q: want LEFT or RIGHT", oneLine(c.Side))
		case c.Line <= 0 || c.StartLine < 0 || (c.StartLine > 0 && c.StartLine >= c.Line):
			return fmt.Errorf("lines %d to %d: want a line from 1 and a beginning before it", c.StartLine, c.Line)
		}
	}
	return nil
}

// BeginReview makes a pending review. An error of kind Unavailable leaves open whether
// it exists: an account has one at most, so beginning again tells.
func (c *Client) BeginReview(ctx context.Context, pull forge.PullRef, head, body string, comments []forge.LineComment) (forge.ReviewRef, error) {
	op := fmt.Sprintf("begin a review of %s#%d at %s", pull.Repo.FullName(), pull.Number, short(head))
	if !isOID(head) {
		return forge.ReviewRef{}, invalid(op, errors.New("want a full commit id"))
	}
	if err := checkComments(comments); err != nil {
		return forge.ReviewRef{}, invalid(op, err)
	}
	in := reviewBody{CommitID: head, Body: body}
	for _, one := range comments {
		in.Comments = append(in.Comments, commentBody(one))
	}
	path, err := repoPath(pull.Repo, "pulls", strconv.Itoa(pull.Number), "reviews")
	if err != nil {
		return forge.ReviewRef{}, invalid(op, err)
	}
	a, err := c.rest(ctx, op, call{route: routeBeginReview, effect: creates}, http.MethodPost, path, in)
	if err != nil {
		return forge.ReviewRef{}, reviewRefusal(err)
	}
	var made gh.PullRequestReview
	if err := decode(op, a.body, &made); err != nil {
		return forge.ReviewRef{}, err
	}
	if made.GetID() <= 0 || made.GetNodeID() == "" || made.GetState() != "PENDING" {
		return forge.ReviewRef{}, malformed(op, errors.New("no id, or a review that is not pending, in the answer"))
	}
	return forge.ReviewRef{ID: made.GetID(), Node: made.GetNodeID()}, nil
}

// reviewRefusal tells apart why a review was refused, by the only thing that GitHub
// gives: its words.
func reviewRefusal(err error) error {
	var fe *forge.Error
	if !errors.As(err, &fe) || fe.Kind != forge.KindInvalid || fe.Err == nil {
		return err
	}
	words := strings.ToLower(fe.Err.Error())
	switch {
	case strings.Contains(words, "one pending review"):
		fe.Err = fmt.Errorf("%w: %w", forge.ErrReviewPending, fe.Err)
	case strings.Contains(words, "not part of the pull request"):
		fe.Err = fmt.Errorf("%w: %w", forge.ErrNotInPull, fe.Err)
	}
	return err
}

// SubmitReview makes a pending review visible. Repeating it is harmless: a second one
// is refused.
func (c *Client) SubmitReview(ctx context.Context, pull forge.PullRef, review forge.ReviewRef, body string) error {
	op := fmt.Sprintf("submit review %d of %s#%d", review.ID, pull.Repo.FullName(), pull.Number)
	path, err := repoPath(pull.Repo, "pulls", strconv.Itoa(pull.Number), "reviews", strconv.FormatInt(review.ID, 10), "events")
	if err != nil {
		return invalid(op, err)
	}
	in := struct {
		Body  string `json:"body,omitempty"`
		Event string `json:"event"`
	}{body, "COMMENT"}
	a, err := c.rest(ctx, op, call{route: routeSubmitReview, effect: idempotent}, http.MethodPost, path, in)
	if err != nil {
		return err
	}
	var now gh.PullRequestReview
	if err := decode(op, a.body, &now); err != nil {
		return err
	}
	if now.GetID() != review.ID || now.GetState() != "COMMENTED" {
		return malformed(op, errors.New("another review, or one that is not submitted, in the answer"))
	}
	return nil
}

// DropReview deletes a pending review.
func (c *Client) DropReview(ctx context.Context, pull forge.PullRef, review forge.ReviewRef) error {
	op := fmt.Sprintf("delete pending review %d of %s#%d", review.ID, pull.Repo.FullName(), pull.Number)
	path, err := repoPath(pull.Repo, "pulls", strconv.Itoa(pull.Number), "reviews", strconv.FormatInt(review.ID, 10))
	if err != nil {
		return invalid(op, err)
	}
	_, err = c.rest(ctx, op, call{route: routeDropReview, effect: idempotent}, http.MethodDelete, path, nil)
	if forge.IsKind(err, forge.KindNotFound) {
		return nil
	}
	return err
}

// maxReviewPages bounds the reviews and threads looked through, 100 a page.
const maxReviewPages = 10

const ownReviewsQuery = `query OwnReviews($owner: String!, $name: String!, $number: Int!, $before: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      number
      reviews(last: 100, before: $before) {
        pageInfo { hasPreviousPage startCursor }
        nodes { id databaseId state body viewerDidAuthor commit { oid } }
      }
    }
  }
}`

// OwnReviews lists our App's reviews: the forge itself says which are the viewer's,
// so that nobody's name or text can pretend.
func (c *Client) OwnReviews(ctx context.Context, pull forge.PullRef) ([]forge.OwnReview, error) {
	op := fmt.Sprintf("list our reviews of %s#%d", pull.Repo.FullName(), pull.Number)
	vars := pullVars(pull)
	var out []forge.OwnReview
	for range maxReviewPages {
		var data struct {
			Repository *struct {
				PullRequest *struct {
					Number  int `json:"number"`
					Reviews struct {
						PageInfo struct {
							HasPreviousPage bool   `json:"hasPreviousPage"`
							StartCursor     string `json:"startCursor"`
						} `json:"pageInfo"`
						Nodes []*reviewNode `json:"nodes"`
					} `json:"reviews"`
				} `json:"pullRequest"`
			} `json:"repository"`
		}
		if err := c.query(ctx, op, routeOwnReviews, graphRequest{Query: ownReviewsQuery, Variables: vars}, &data); err != nil {
			return nil, err
		}
		if data.Repository == nil || data.Repository.PullRequest == nil || data.Repository.PullRequest.Number != pull.Number {
			return nil, malformed(op, errors.New("another pull request, or none, in the answer"))
		}
		page := data.Repository.PullRequest.Reviews
		for i := len(page.Nodes) - 1; i >= 0; i-- {
			if r := page.Nodes[i]; r != nil && r.ViewerDidAuthor {
				out = append(out, r.own())
			}
		}
		if !page.PageInfo.HasPreviousPage || page.PageInfo.StartCursor == "" {
			return out, nil
		}
		vars["before"] = page.PageInfo.StartCursor
	}
	return out, nil // ours of longer ago are not looked for
}

type reviewNode struct {
	ID              string `json:"id"`
	DatabaseID      int64  `json:"databaseId"`
	State           string `json:"state"`
	Body            string `json:"body"`
	ViewerDidAuthor bool   `json:"viewerDidAuthor"`
	Commit          *struct {
		OID string `json:"oid"`
	} `json:"commit"`
}

func (r reviewNode) own() forge.OwnReview {
	o := forge.OwnReview{Ref: forge.ReviewRef{ID: r.DatabaseID, Node: r.ID}, Pending: r.State == "PENDING", Body: r.Body}
	if r.Commit != nil {
		o.CommitSHA = r.Commit.OID
	}
	return o
}

func pullVars(pull forge.PullRef) map[string]any {
	return map[string]any{"owner": pull.Repo.Owner, "name": pull.Repo.Name, "number": pull.Number}
}

// threadComments is how many comments of one thread are read: our replies to our own
// findings are among the first or nobody needs them.
const threadComments = 50

const ownThreadsQuery = `query OwnThreads($owner: String!, $name: String!, $number: Int!, $comments: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      number
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated
          comments(first: $comments) { nodes { databaseId body viewerDidAuthor pullRequestReview { databaseId } } }
        }
      }
    }
  }
}`

// OwnThreads lists the threads that our App began. Where their lines are now is not
// asked: an outdated one has none, and that proves nothing (case 13).
func (c *Client) OwnThreads(ctx context.Context, pull forge.PullRef) ([]forge.Thread, error) {
	op := fmt.Sprintf("list our threads of %s#%d", pull.Repo.FullName(), pull.Number)
	vars := pullVars(pull)
	vars["comments"] = threadComments
	var out []forge.Thread
	for range maxReviewPages {
		var data struct {
			Repository *struct {
				PullRequest *struct {
					Number        int `json:"number"`
					ReviewThreads struct {
						PageInfo struct {
							HasNextPage bool   `json:"hasNextPage"`
							EndCursor   string `json:"endCursor"`
						} `json:"pageInfo"`
						Nodes []*threadNode `json:"nodes"`
					} `json:"reviewThreads"`
				} `json:"pullRequest"`
			} `json:"repository"`
		}
		if err := c.query(ctx, op, routeOwnThreads, graphRequest{Query: ownThreadsQuery, Variables: vars}, &data); err != nil {
			return nil, err
		}
		if data.Repository == nil || data.Repository.PullRequest == nil || data.Repository.PullRequest.Number != pull.Number {
			return nil, malformed(op, errors.New("another pull request, or none, in the answer"))
		}
		page := data.Repository.PullRequest.ReviewThreads
		for _, t := range page.Nodes {
			if own, ok := t.own(); ok {
				out = append(out, own)
			}
		}
		if !page.PageInfo.HasNextPage || page.PageInfo.EndCursor == "" {
			return out, nil
		}
		vars["after"] = page.PageInfo.EndCursor
	}
	// A thread that is not found would be taken for a deleted one.
	return nil, &forge.Error{Kind: forge.KindTooLarge, Op: op, Err: fmt.Errorf("more than %d threads", 100*maxReviewPages)}
}

type threadNode struct {
	ID         string `json:"id"`
	IsResolved bool   `json:"isResolved"`
	IsOutdated bool   `json:"isOutdated"`
	Comments   struct {
		Nodes []*struct {
			DatabaseID        int64  `json:"databaseId"`
			Body              string `json:"body"`
			ViewerDidAuthor   bool   `json:"viewerDidAuthor"`
			PullRequestReview *struct {
				DatabaseID int64 `json:"databaseId"`
			} `json:"pullRequestReview"`
		} `json:"nodes"`
	} `json:"comments"`
}

// own is the thread, when our App began it.
func (t *threadNode) own() (forge.Thread, bool) {
	if t == nil || len(t.Comments.Nodes) == 0 || t.Comments.Nodes[0] == nil || !t.Comments.Nodes[0].ViewerDidAuthor {
		return forge.Thread{}, false
	}
	first := t.Comments.Nodes[0]
	out := forge.Thread{ID: t.ID, CommentID: first.DatabaseID, Body: first.Body, Resolved: t.IsResolved, Outdated: t.IsOutdated}
	if first.PullRequestReview != nil {
		out.ReviewID = first.PullRequestReview.DatabaseID
	}
	for _, r := range t.Comments.Nodes[1:] {
		if r != nil && r.ViewerDidAuthor {
			out.Replies = append(out.Replies, r.Body)
		}
	}
	return out, true
}

// maxAdded bounds the parts of one mutation.
const maxAdded = 100

// AddToReview adds comments and replies to a pending review in one mutation, each
// under a name of its own, so that a refused one does not take the others with it.
func (c *Client) AddToReview(ctx context.Context, pull forge.PullRef, review forge.ReviewRef, comments []forge.LineComment, replies []forge.Reply) (forge.Refused, error) {
	op := fmt.Sprintf("add to review %d of %s#%d", review.ID, pull.Repo.FullName(), pull.Number)
	if err := checkComments(comments); err != nil {
		return forge.Refused{}, invalid(op, err)
	}
	if n := len(comments) + len(replies); n > maxAdded {
		return forge.Refused{}, invalid(op, fmt.Errorf("%d parts at once: want at most %d", n, maxAdded))
	} else if n == 0 {
		return forge.Refused{}, nil
	}
	req, err := c.host.rest.NewRequest(http.MethodPost, c.host.graphql, addMutation(review, comments, replies))
	if err != nil {
		return forge.Refused{}, invalid(op, errors.New("the request cannot be formed"))
	}
	k := call{route: routeAddToReview, effect: creates, installation: c.installation, graphql: true}
	a, err := send(ctx, c.host.http, c.host.clock, op, k, req)
	if err != nil {
		return forge.Refused{}, err
	}
	return c.added(op, a, len(comments), len(replies))
}

// addMutation names its parts by their index; everything else is a variable.
func addMutation(review forge.ReviewRef, comments []forge.LineComment, replies []forge.Reply) graphRequest {
	var vars, fields strings.Builder
	values := make(map[string]any)
	sep := ""
	for i, one := range comments {
		fmt.Fprintf(&vars, "%s$c%d: AddPullRequestReviewThreadInput!", sep, i)
		fmt.Fprintf(&fields, "  c%d: addPullRequestReviewThread(input: $c%d) { thread { id } }\n", i, i)
		in := map[string]any{"pullRequestReviewId": review.Node, "path": one.Path, "line": one.Line, "side": one.Side, "body": one.Body}
		if one.StartLine > 0 {
			in["startLine"], in["startSide"] = one.StartLine, one.Side
		}
		values["c"+strconv.Itoa(i)], sep = in, ", "
	}
	for i, one := range replies {
		fmt.Fprintf(&vars, "%s$r%d: AddPullRequestReviewThreadReplyInput!", sep, i)
		fmt.Fprintf(&fields, "  r%d: addPullRequestReviewThreadReply(input: $r%d) { comment { id } }\n", i, i)
		values["r"+strconv.Itoa(i)] = map[string]any{"pullRequestReviewId": review.Node, "pullRequestReviewThreadId": one.ThreadID, "body": one.Body}
		sep = ", "
	}
	return graphRequest{Query: "mutation AddToReview(" + vars.String() + ") {\n" + fields.String() + "}", Variables: values}
}

// added reads which parts were taken. An error that belongs to no part is the whole
// call's.
func (c *Client) added(op string, a answer, comments, replies int) (forge.Refused, error) {
	var envelope struct {
		Data   map[string]json.RawMessage `json:"data"`
		Errors []struct {
			graphError
			Path []any `json:"path"`
		} `json:"errors"`
	}
	if err := decode(op, a.body, &envelope); err != nil {
		return forge.Refused{}, err
	}
	said := make(map[string]string)
	for _, e := range envelope.Errors {
		part, named := "", false
		if len(e.Path) > 0 {
			part, named = e.Path[0].(string)
		}
		if kind := graphKind(e.graphError); !named || kind == forge.KindRateLimited || kind == forge.KindUnavailable || kind == forge.KindForbidden {
			err := graphFailure(op, routeAddToReview, []graphError{e.graphError})
			var fe *forge.Error
			if errors.As(err, &fe) && fe.Kind == forge.KindRateLimited {
				return forge.Refused{}, c.limited(fe, a)
			}
			return forge.Refused{}, err
		}
		said[part] = oneLine(e.Message)
	}
	refused := forge.Refused{Comments: make(map[int]string), Replies: make(map[int]string)}
	for i := range comments {
		if why, no := notAdded(envelope.Data, said, "c"+strconv.Itoa(i), "thread"); no {
			refused.Comments[i] = why
		}
	}
	for i := range replies {
		if why, no := notAdded(envelope.Data, said, "r"+strconv.Itoa(i), "comment"); no {
			refused.Replies[i] = why
		}
	}
	return refused, nil
}

// notAdded reports whether a part is missing from the answer, with an error or
// without one: GitHub answers an impossible place with a null as well.
func notAdded(data map[string]json.RawMessage, said map[string]string, part, made string) (why string, missing bool) {
	var got map[string]*struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(data[part], &got); err == nil && got[made] != nil && got[made].ID != "" {
		return "", false
	}
	if why = said[part]; why == "" {
		why = "nothing was made"
	}
	return why, true
}
