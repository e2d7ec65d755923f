package githubsim_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

// queryAs is query for somebody else's token.
func (w *world) queryAs(as *http.Client, text string, vars map[string]any) gjson.Result {
	w.t.Helper()
	status, got := w.rest(as, http.MethodPost, "/graphql", string(must(json.Marshal(map[string]any{"query": text, "variables": vars}))))
	if status != http.StatusOK {
		w.t.Fatalf("GraphQL answered %d: %s", status, got)
	}
	return got
}

const threadsQuery = `query { repository(owner: "acme", name: "shop") { pullRequest(number: 1) {
  id
  reviews(first: 20) { totalCount nodes { id databaseId state body submittedAt author { login } commit { oid } comments(first: 10) { totalCount } } }
  latestReviews(first: 20) { nodes { databaseId state author { login } } }
  reviewThreads(first: 20) { totalCount nodes { id isResolved isOutdated path line startLine diffSide subjectType resolvedBy { login }
    comments(first: 20) { totalCount nodes { id databaseId body path line originalLine state isMinimized minimizedReason diffHunk author { login }
      replyTo { databaseId } pullRequestReview { databaseId state } originalCommit { oid } } } } }
} } }`

func (w *world) threads(as *http.Client) gjson.Result {
	w.t.Helper()
	got := w.queryAs(as, threadsQuery, nil)
	if got.Get("errors").Exists() {
		w.t.Fatalf("the query failed: %s", got.Get("errors"))
	}
	return got.Get("data.repository.pullRequest")
}

// failing are the paths of an answer's errors with their types.
func failing(got gjson.Result) []string {
	var out []string
	for _, e := range got.Get("errors").Array() {
		var path []string
		for _, p := range e.Get("path").Array() {
			path = append(path, p.String())
		}
		out = append(out, strings.Join(path, ".")+" "+e.Get("type").String())
	}
	return out
}

// TestReviewByMutations covers CASES 2: one bad place does not lose the others.
func TestReviewByMutations(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	must(p.SubmitReview("hubot", "COMMENT", "", githubsim.NewComment{Path: "long.txt", Line: 30, Body: "mine"}))
	before := w.threads(nil)
	made := w.query(`mutation($p: ID!) { addPullRequestReview(input: {pullRequestId: $p, body: "soon"}) { pullRequestReview { id databaseId state } } }`,
		map[string]any{"p": before.Get("id").String()})
	id := made.Get("data.addPullRequestReview.pullRequestReview.id").String()
	if made.Get("errors").Exists() || made.Get("data.addPullRequestReview.pullRequestReview.state").String() != "PENDING" {
		t.Fatalf("add: %s", made)
	}
	got := w.query(`mutation($r: ID!, $t: ID!) {
		a: addPullRequestReviewThread(input: {pullRequestReviewId: $r, path: "long.txt", line: 10, side: RIGHT, startLine: 9, startSide: RIGHT, body: "one"}) { thread { id line startLine } }
		b: addPullRequestReviewThread(input: {pullRequestReviewId: $r, path: "long.txt", line: 20, body: "two"}) { thread { id } }
		c: addPullRequestReviewThread(input: {pullRequestReviewId: $r, path: "README.md", line: 1, body: "three"}) { thread { id } }
		d: addPullRequestReviewThread(input: {pullRequestReviewId: $r, path: "src/a.go", line: 3, side: LEFT, body: "four"}) { thread { id diffSide } }
		e: addPullRequestReviewThreadReply(input: {pullRequestReviewId: $r, pullRequestReviewThreadId: $t, body: "five"}) { comment { body state replyTo { databaseId } } }
		f: addPullRequestReviewThread(input: {pullRequestReviewId: $r, path: "long.txt", subjectType: FILE, body: "six"}) { thread { id subjectType } }
		g: addPullRequestReviewThread(input: {pullRequestReviewId: "PRR_none", path: "long.txt", line: 10, body: "seven"}) { thread { id } }
	}`, map[string]any{"r": id, "t": before.Get("reviewThreads.nodes.0.id").String()})
	if want := []string{"b UNPROCESSABLE", "c UNPROCESSABLE", "g NOT_FOUND"}; !slices.Equal(failing(got), want) {
		t.Errorf("errors %v; want %v: %s", failing(got), want, got)
	}
	for path, want := range map[string]string{
		"data.a.thread.startLine": "9", "data.b": "", "data.c": "", "data.d.thread.diffSide": "LEFT", "data.f.thread.subjectType": "FILE",
		"data.e.comment.state": "PENDING", "data.e.comment.replyTo.databaseId": before.Get("reviewThreads.nodes.0.comments.nodes.0.databaseId").String(),
		"errors.0.message": "Line could not be resolved", "errors.1.message": "Path could not be resolved",
	} {
		if got.Get(path).String() != want {
			t.Errorf("%s is %q; want %q", path, got.Get(path), want)
		}
	}
	if seen := w.threads(w.person("mona")); seen.Get("reviewThreads.totalCount").Int() != 1 || seen.Get("reviewThreads.nodes.0.comments.totalCount").Int() != 1 || seen.Get("reviews.totalCount").Int() != 1 {
		t.Errorf("somebody else sees what is pending: %s", seen)
	}
	if seen := w.threads(nil); seen.Get("reviewThreads.totalCount").Int() != 4 || seen.Get("reviewThreads.nodes.0.comments.totalCount").Int() != 2 ||
		seen.Get("reviews.nodes.1.state").String() != "PENDING" || seen.Get("reviews.nodes.1.author.login").String() != "countersign" || seen.Get("latestReviews.nodes.#").Int() != 1 {
		t.Errorf("the author sees %s", seen)
	}
	done := w.query(`mutation($r: ID!) { submitPullRequestReview(input: {pullRequestReviewId: $r, event: COMMENT, body: "now"}) { pullRequestReview { state body } } }`, map[string]any{"r": id})
	if done.Get("data.submitPullRequestReview.pullRequestReview.state").String() != "COMMENTED" {
		t.Errorf("submit: %s", done)
	}
	if seen := w.threads(w.person("mona")); seen.Get("reviewThreads.totalCount").Int() != 4 || seen.Get("latestReviews.nodes.#").Int() != 2 {
		t.Errorf("somebody else sees after that: %s", seen)
	}
	if again := w.query(`mutation($r: ID!) { submitPullRequestReview(input: {pullRequestReviewId: $r, event: COMMENT, body: "now"}) { pullRequestReview { state } } }`, map[string]any{"r": id}); !slices.Equal(failing(again), []string{"submitPullRequestReview UNPROCESSABLE"}) {
		t.Errorf("submit again: %s", again)
	}
	if late := w.query(`mutation($r: ID!) { addPullRequestReviewThread(input: {pullRequestReviewId: $r, path: "long.txt", line: 10, body: "late"}) { thread { id } } }`, map[string]any{"r": id}); len(failing(late)) != 1 {
		t.Errorf("a thread for what is submitted: %s", late)
	}
}

// TestNullThreads: GitHub may refuse a place by a null alone.
func TestNullThreads(t *testing.T) {
	w := newWorld(t, githubsim.Options{NullThreads: true})
	p := w.withLongFile()
	got := w.query(`mutation($p: ID!) { addPullRequestReviewThread(input: {pullRequestId: $p, path: "long.txt", line: 20, body: "b"}) { thread { id } } }`,
		map[string]any{"p": w.threads(nil).Get("id").String()})
	if got.Get("errors").Exists() || !got.Get("data.addPullRequestReviewThread").Exists() || got.Get("data.addPullRequestReviewThread.thread").Type != gjson.Null {
		t.Errorf("got %s; want a null thread without an error", got)
	}
	if len(p.Threads()) != 0 || len(p.Reviews()) != 1 {
		t.Errorf("left %v and %v; want the pending review alone", p.Threads(), p.Reviews())
	}
}

func TestResolveAndMinimize(t *testing.T) {
	const resolve = `mutation($t: ID!) { resolveReviewThread(input: {threadId: $t}) { thread { isResolved resolvedBy { login } } } }`
	const minimize = `mutation($c: ID!) { minimizeComment(input: {subjectId: $c, classifier: OUTDATED}) { minimizedComment { isMinimized minimizedReason } } }`
	for name, row := range map[string]struct {
		perms            map[string]string
		resolve, minimal string
	}{
		"pull requests": {map[string]string{"pull_requests": "write", "contents": "read"}, "FORBIDDEN", ""},
		"both":          {map[string]string{"pull_requests": "write", "contents": "write"}, "", ""},
		"contents":      {map[string]string{"pull_requests": "read", "contents": "write"}, "", "FORBIDDEN"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, githubsim.Options{})
			p := w.withLongFile()
			w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 10})
			w.inst.WithholdPermissions(row.perms)
			node := w.threads(nil).Get("reviewThreads.nodes.0")
			got := w.query(resolve, map[string]any{"t": node.Get("id").String()})
			if got.Get("errors.0.type").String() != row.resolve || got.Get("data.resolveReviewThread.thread.isResolved").Bool() != (row.resolve == "") || p.Threads()[0].Resolved != (row.resolve == "") {
				t.Errorf("resolve: %s", got)
			}
			got = w.query(minimize, map[string]any{"c": node.Get("comments.nodes.0.id").String()})
			if got.Get("errors.0.type").String() != row.minimal || p.ReviewComments()[0].Minimized != map[bool]string{true: "outdated"}[row.minimal == ""] {
				t.Errorf("minimize: %s", got)
			}
		})
	}
}

func TestPeopleInThreads(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 10})
	id := p.Threads()[0].ID
	reply := must(p.ReplyInThread(id, "mona", "because"))
	if err := p.ResolveThread(id, "mona"); err != nil {
		t.Fatal(err)
	}
	node := w.threads(nil).Get("reviewThreads.nodes.0")
	if !node.Get("isResolved").Bool() || node.Get("resolvedBy.login").String() != "mona" || node.Get("comments.nodes.1.author.login").String() != "mona" {
		t.Errorf("the thread is %s", node)
	}
	if err := p.UnresolveThread(id); err != nil || p.Threads()[0].Resolved {
		t.Errorf("unresolve: %v, %+v", err, p.Threads()[0])
	}
	if err := p.DeleteReviewComment(reply); err != nil || len(p.ReviewComments()) != 1 {
		t.Errorf("delete: %v, %+v", err, p.ReviewComments())
	}
	if err := p.DeleteReviewComment(p.ReviewComments()[0].ID); err != nil || len(p.Threads()) != 0 {
		t.Errorf("delete the last one: %v, %+v", err, p.Threads())
	}
	for what, err := range map[string]error{
		"a comment that is gone": p.DeleteReviewComment(reply), "a thread that is gone": p.ResolveThread(id, "mona"), "a review that is none": p.DismissReview(1, "mona", "m"),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := p.ReplyInThread(id, "mona", "b"); err == nil {
		t.Error("a reply in a thread that is gone: no error")
	}
	if _, err := p.SubmitReview("mona", "APPROVE", ""); err == nil {
		t.Error("the author approves: no error")
	}
}

// TestPendingIsDeletedByMutation: a person's pending review is not there for an App.
func TestPendingIsDeletedByMutation(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	mona := w.person("mona")
	w.rest(mona, http.MethodPost, reviewsPath, `{"comments":[{"path":"long.txt","line":10,"body":"b"}]}`)
	const drop = `mutation($r: ID!) { deletePullRequestReview(input: {pullRequestReviewId: $r}) { pullRequestReview { databaseId } } }`
	vars := map[string]any{"r": p.Reviews()[0].NodeID}
	if got := w.query(drop, vars); !slices.Equal(failing(got), []string{"deletePullRequestReview NOT_FOUND"}) {
		t.Errorf("an App deletes it: %s", got)
	}
	if got := w.queryAs(mona, drop, vars); got.Get("errors").Exists() || len(p.Reviews())+len(p.Threads()) != 0 {
		t.Errorf("its author deletes it: %s, %v", got, p.Reviews())
	}
}

func TestNodes(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	w.rest(w.person("mona"), http.MethodPost, reviewsPath, `{"comments":[{"path":"long.txt","line":10,"body":"b"}]}`)
	w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 10})
	shown := w.threads(nil)
	for id, typ := range map[string]string{
		shown.Get("id").String(): "PullRequest",
		p.Reviews()[1].NodeID:    "PullRequestReview",
		p.Threads()[1].ID:        "PullRequestReviewThread",
		shown.Get("reviewThreads.nodes.0.comments.nodes.0.id").String(): "PullRequestReviewComment",
		p.Reviews()[0].NodeID: "", p.Threads()[0].ID: "", "PR_none": "",
	} {
		got := w.query(`query($id: ID!) { node(id: $id) { __typename id } }`, map[string]any{"id": id})
		if got.Get("data.node.__typename").String() != typ || (got.Get("errors.0.type").String() == "NOT_FOUND") != (typ == "") {
			t.Errorf("node %s is %s; want %q", id, got, typ)
		}
	}
}
