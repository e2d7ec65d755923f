package githubsim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

const reviewsPath = "/repos/acme/shop/pulls/1/reviews"

// rest sends a body as it stands and returns the status and the answer; a nil client is the installation's.
func (w *world) rest(as *http.Client, method, path, body string) (int, gjson.Result) {
	w.t.Helper()
	if as == nil {
		as = w.gh.Client()
	}
	req := must(http.NewRequestWithContext(context.Background(), method, w.url+path, strings.NewReader(body)))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := as.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, gjson.ParseBytes(must(io.ReadAll(resp.Body)))
}

// person is a client with somebody's own token.
func (w *world) person(login string) *http.Client {
	return &http.Client{Transport: w.check.Transport(bearer(w.sim.UserToken(login)))}
}

// numbered is a file of n lines, "line 1" and so on.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// withLongFile opens a pull request that changes lines 10 and 30 of a file with 40 lines.
func (w *world) withLongFile() *githubsim.Pull {
	must(w.repo.Commit("main", "long", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "long.txt", Content: numbered(40)}}}))
	return w.pull(githubsim.Change{Path: "long.txt", Content: edited(numbered(40), 10, 30)}, githubsim.Change{Path: "src/a.go", Delete: true})
}

func edited(text string, lines ...int) string {
	for _, n := range lines {
		text = strings.Replace(text, fmt.Sprintf("line %d\n", n), fmt.Sprintf("LINE %d\n", n), 1)
	}
	return text
}

func TestReviewRefusals(t *testing.T) {
	long := strings.Repeat("x", 65_537)
	comment := func(place string) string {
		return `{"event":"COMMENT","body":"b","comments":[{"body":"fine","path":"long.txt","line":10},` + place + `]}`
	}
	for name, row := range map[string]struct{ body, want string }{
		"a line outside the diff":     {comment(`{"body":"b","path":"long.txt","line":20}`), `["Line could not be resolved"]`},
		"a line of the other side":    {comment(`{"body":"b","path":"src/a.go","line":1,"side":"RIGHT"}`), `["Line could not be resolved"]`},
		"line 0":                      {comment(`{"body":"b","path":"long.txt","line":0}`), `["Line could not be resolved"]`},
		"a file outside the diff":     {comment(`{"body":"b","path":"README.md","line":1}`), `["Path could not be resolved"]`},
		"a start outside the diff":    {comment(`{"body":"b","path":"long.txt","start_line":2,"line":10}`), `["Start line could not be resolved"]`},
		"a start after the line":      {comment(`{"body":"b","path":"long.txt","start_line":11,"line":10}`), "must precede the end line"},
		"a start on the line":         {comment(`{"body":"b","path":"long.txt","start_line":10,"line":10}`), "must precede the end line"},
		"a start in another hunk":     {comment(`{"body":"b","path":"long.txt","start_line":10,"line":30}`), "part of the same hunk"},
		"a side in lower case":        {comment(`{"body":"b","path":"long.txt","line":10,"side":"right"}`), `not a member of`},
		"a comment without text":      {comment(`{"body":" ","path":"long.txt","line":10}`), `["Body can't be blank"]`},
		"a comment too long":          {comment(`{"body":"` + long + `","path":"long.txt","line":10}`), "maximum is 65536"},
		"a comment without a line":    {comment(`{"body":"b","path":"long.txt"}`), `"line\" wasn't supplied`},
		"a text too long":             {`{"event":"COMMENT","body":"` + long + `"}`, "maximum is 65536"},
		"COMMENT with nothing":        {`{"event":"COMMENT"}`, `["Body can't be blank"]`},
		"REQUEST_CHANGES, no text":    {`{"event":"REQUEST_CHANGES","comments":[{"body":"b","path":"long.txt","line":10}]}`, `["Body can't be blank"]`},
		"an event that is none":       {`{"event":"LIKE","body":"b"}`, "not included in the list"},
		"a commit of another history": {`{"event":"COMMENT","body":"b","commit_id":"` + strings.Repeat("a", 40) + `"}`, "not part of the pull request"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, githubsim.Options{})
			p := w.withLongFile()
			status, got := w.rest(nil, http.MethodPost, reviewsPath, row.body)
			if status != http.StatusUnprocessableEntity || !strings.Contains(got.Raw, row.want) {
				t.Errorf("%d %s; want 422 with %s", status, got, row.want)
			}
			if len(p.Reviews())+len(p.ReviewComments()) > 0 {
				t.Errorf("a refused review left %v, %v behind", p.Reviews(), p.ReviewComments())
			}
			w.check.Reset() // bodies that the description forbids as well
		})
	}
}

func TestAuthorsCannotJudgeTheirOwnPull(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.withLongFile()
	mona := w.person("mona")
	for event, want := range map[string]string{"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"} {
		status, got := w.rest(mona, http.MethodPost, reviewsPath, `{"event":"`+event+`","body":"b"}`)
		if status != http.StatusUnprocessableEntity || got.Get("errors.0").String() != "Can not "+want+" your own pull request" {
			t.Errorf("%s: %d %s", event, status, got)
		}
	}
	if status, got := w.rest(mona, http.MethodPost, reviewsPath, `{"event":"COMMENT","body":"b"}`); status != http.StatusOK {
		t.Errorf("a comment by the author: %d %s", status, got)
	}
}

func TestPendingReview(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	status, made := w.rest(nil, http.MethodPost, reviewsPath, `{"body":"soon","comments":[{"path":"long.txt","line":10,"start_line":9,"side":"RIGHT","body":"why?"},{"path":"src/a.go","side":"LEFT","line":3,"body":"gone"}]}`)
	one := fmt.Sprintf("%s/%d", reviewsPath, made.Get("id").Int())
	if status != http.StatusOK || made.Get("state").String() != "PENDING" || made.Get("submitted_at").Exists() || made.Get("user.login").String() != "countersign[bot]" {
		t.Fatalf("create: %d %s", status, made)
	}
	if status, got := w.rest(nil, http.MethodPost, reviewsPath, `{"event":"COMMENT","body":"again"}`); status != http.StatusUnprocessableEntity ||
		got.Get("errors.0").String() != "User can only have one pending review per pull request" {
		t.Errorf("a second one: %d %s", status, got)
	}
	mona := w.person("mona")
	for path, empty := range map[string]bool{reviewsPath: true, "/repos/acme/shop/pulls/1/comments": true, one: false, one + "/comments": false} {
		status, got := w.rest(mona, http.MethodGet, path, "")
		if empty && got.Raw != "[]" || !empty && status != http.StatusNotFound {
			t.Errorf("somebody else reads %s: %d %s", path, status, got)
		}
	}
	if _, got := w.rest(nil, http.MethodGet, "/repos/acme/shop/pulls/1", ""); got.Get("review_comments").Int() != 0 {
		t.Errorf("pending comments count: %s", got.Get("review_comments"))
	}
	if _, got := w.rest(nil, http.MethodGet, one+"/comments", ""); got.Get("#").Int() != 2 || got.Get("0.start_line").Int() != 9 {
		t.Errorf("the author reads the comments: %s", got)
	}
	w.idle()
	before := len(w.sim.Deliveries())
	status, got := w.rest(nil, http.MethodPost, one+"/events", `{"event":"COMMENT","body":"now"}`)
	if status != http.StatusOK || got.Get("state").String() != "COMMENTED" || got.Get("body").String() != "now" || got.Get("submitted_at").String() == "" {
		t.Errorf("submit: %d %s", status, got)
	}
	var events []string
	for _, d := range w.sim.Deliveries()[before:] {
		events = append(events, d.Event+"."+d.Action)
	}
	if want := []string{"pull_request_review.submitted", "pull_request_review_comment.created", "pull_request_review_comment.created"}; !slices.Equal(events, want) {
		t.Errorf("events %v; want %v", events, want)
	}
	if _, got := w.rest(mona, http.MethodGet, "/repos/acme/shop/pulls/1/comments?per_page=1&page=2", ""); got.Get("#").Int() != 1 || got.Get("0.body").String() != "gone" || got.Get("0.side").String() != "LEFT" {
		t.Errorf("the second comment: %s", got)
	}
	if _, got := w.rest(nil, http.MethodGet, "/repos/acme/shop/pulls/1", ""); got.Get("review_comments").Int() != 2 {
		t.Errorf("review_comments is %s; want 2", got.Get("review_comments"))
	}
	for _, path := range []string{one, one + "/events"} {
		method := http.MethodDelete
		if strings.HasSuffix(path, "events") {
			method = http.MethodPost
		}
		if status, got := w.rest(nil, method, path, `{"event":"COMMENT"}`); status != http.StatusUnprocessableEntity {
			t.Errorf("%s of a submitted review: %d %s", method, status, got)
		}
	}
	if status, got := w.rest(nil, http.MethodPut, one, `{"body":"better"}`); status != http.StatusOK || got.Get("body").String() != "better" {
		t.Errorf("update: %d %s", status, got)
	}
	if all := p.Reviews(); len(all) != 1 || all[0].Body != "better" || all[0].Comments != 2 {
		t.Errorf("snapshot %+v", all)
	}
}

func TestPendingReviewDeleted(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	_, made := w.rest(nil, http.MethodPost, reviewsPath, `{"comments":[{"path":"long.txt","line":10,"body":"why?"}]}`)
	one := fmt.Sprintf("%s/%d", reviewsPath, made.Get("id").Int())
	if status, _ := w.rest(w.person("mona"), http.MethodDelete, one, ""); status != http.StatusNotFound {
		t.Errorf("somebody else deletes it: %d", status)
	}
	if status, got := w.rest(nil, http.MethodDelete, one, ""); status != http.StatusOK || got.Get("id").Int() != made.Get("id").Int() {
		t.Errorf("delete: %d %s", status, got)
	}
	if len(p.Reviews())+len(p.Threads()) != 0 {
		t.Errorf("left behind: %v, %v", p.Reviews(), p.Threads())
	}
	if status, _ := w.rest(nil, http.MethodDelete, one, ""); status != http.StatusNotFound {
		t.Errorf("delete again: %d; want 404", status)
	}
	if status, got := w.rest(nil, http.MethodPost, reviewsPath, `{"event":"COMMENT","body":"b"}`); status != http.StatusOK {
		t.Errorf("the next one: %d %s", status, got)
	}
}

func TestReviewsNeedPermission(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.withLongFile()
	_, made := w.rest(nil, http.MethodPost, reviewsPath, `{"comments":[{"path":"long.txt","line":10,"body":"why?"}]}`)
	one := fmt.Sprintf("%s/%d", reviewsPath, made.Get("id").Int())
	w.inst.WithholdPermissions(map[string]string{"contents": "write", "pull_requests": "read"})
	for _, row := range [][3]string{
		{http.MethodPost, reviewsPath, `{"event":"COMMENT","body":"b"}`}, {http.MethodPost, one + "/events", `{"event":"COMMENT","body":"b"}`},
		{http.MethodDelete, one, ""}, {http.MethodPut, one, `{"body":"b"}`}, {http.MethodPut, one + "/dismissals", `{"message":"m"}`},
		{http.MethodPost, "/repos/acme/shop/pulls/1/comments", `{"body":"b","path":"long.txt","line":10,"commit_id":"x"}`},
	} {
		if status, got := w.rest(nil, row[0], row[1], row[2]); status != http.StatusForbidden || got.Get("message").String() != "Resource not accessible by integration" {
			t.Errorf("%s %s: %d %s; want 403", row[0], row[1], status, got)
		}
	}
	if status, _ := w.rest(nil, http.MethodGet, reviewsPath, ""); status != http.StatusOK {
		t.Errorf("reading takes no more than read: %d", status)
	}
}

func TestDismissal(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	v := must(p.SubmitReview("hubot", "REQUEST_CHANGES", "no"))
	c := must(p.SubmitReview("hubot", "COMMENT", "hm"))
	path := func(id int64) string { return fmt.Sprintf("%s/%d/dismissals", reviewsPath, id) }
	if status, got := w.rest(nil, http.MethodPut, path(v.ID), `{"message":"done"}`); status != http.StatusOK || got.Get("state").String() != "DISMISSED" || got.Get("body").String() != "no" {
		t.Errorf("dismiss: %d %s", status, got)
	}
	for _, id := range []int64{v.ID, c.ID} {
		if status, got := w.rest(nil, http.MethodPut, path(id), `{"message":"done"}`); status != http.StatusUnprocessableEntity {
			t.Errorf("dismiss what is no verdict: %d %s", status, got)
		}
	}
	w.idle()
	last := w.sim.Deliveries()[len(w.sim.Deliveries())-1]
	if last.Event != "pull_request_review" || last.Action != "dismissed" || gjson.GetBytes(last.Body, "review.state").String() != "dismissed" {
		t.Errorf("the last event is %s.%s", last.Event, last.Action)
	}
}

func TestSingleComments(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	const path = "/repos/acme/shop/pulls/1/comments"
	sha := p.HeadSHA()
	status, first := w.rest(nil, http.MethodPost, path, `{"body":"why?","path":"long.txt","line":10,"side":"RIGHT","commit_id":"`+sha+`"}`)
	if status != http.StatusCreated || first.Get("line").Int() != 10 || first.Get("position").Int() != 5 || !strings.HasSuffix(first.Get("diff_hunk").String(), "\n+LINE 10") {
		t.Fatalf("create: %d %s", status, first)
	}
	one := fmt.Sprintf("/repos/acme/shop/pulls/comments/%d", first.Get("id").Int())
	status, file := w.rest(nil, http.MethodPost, path, `{"body":"the file","path":"long.txt","subject_type":"file","commit_id":"`+sha+`"}`)
	if status != http.StatusCreated || file.Get("subject_type").String() != "file" || file.Get("line").Type != gjson.Null {
		t.Errorf("on a file: %d %s", status, file)
	}
	status, byPosition := w.rest(nil, http.MethodPost, path, `{"body":"older","path":"long.txt","position":4,"commit_id":"`+sha+`"}`)
	if status != http.StatusCreated || byPosition.Get("side").String() != "LEFT" || byPosition.Get("line").Int() != 10 {
		t.Errorf("by position: %d %s", status, byPosition)
	}
	status, reply := w.rest(w.person("mona"), http.MethodPost, fmt.Sprintf("%s/%d/replies", path, first.Get("id").Int()), `{"body":"because"}`)
	if status != http.StatusCreated || reply.Get("in_reply_to_id").Int() != first.Get("id").Int() {
		t.Errorf("reply: %d %s", status, reply)
	}
	status, second := w.rest(nil, http.MethodPost, path, fmt.Sprintf(`{"body":"I see","in_reply_to":%d}`, first.Get("id").Int()))
	if status != http.StatusCreated || second.Get("in_reply_to_id").Int() != first.Get("id").Int() {
		t.Errorf("in_reply_to: %d %s", status, second)
	}
	if status, _ := w.rest(nil, http.MethodPost, fmt.Sprintf("%s/%d/replies", path, reply.Get("id").Int()), `{"body":"b"}`); status != http.StatusNotFound {
		t.Errorf("a reply to a reply: %d; want 404", status)
	}
	if status, got := w.rest(nil, http.MethodPatch, one, `{"body":"why is that?"}`); status != http.StatusOK || got.Get("body").String() != "why is that?" {
		t.Errorf("update: %d %s", status, got)
	}
	if status, _ := w.rest(nil, http.MethodDelete, fmt.Sprintf("/repos/acme/shop/pulls/comments/%d", reply.Get("id").Int()), ""); status != http.StatusForbidden {
		t.Errorf("an App deletes a person's comment: %d", status)
	}
	if status, _ := w.rest(nil, http.MethodDelete, one, ""); status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	if status, _ := w.rest(nil, http.MethodGet, one, ""); status != http.StatusNotFound {
		t.Errorf("get what is deleted: %d", status)
	}
	if all := p.ReviewComments(); len(all) != 4 || all[2].InReplyTo != first.Get("id").Int() {
		t.Errorf("the replies stay: %+v", all)
	}
	for name, row := range map[string][2]string{
		"a foreign commit":  {`{"body":"b","path":"long.txt","line":10,"commit_id":"` + strings.Repeat("b", 40) + `"}`, "end_commit_oid is not part of the pull request"},
		"a line outside":    {`{"body":"b","path":"long.txt","line":20,"commit_id":"` + sha + `"}`, "pull_request_review_thread.line must be part of the diff"},
		"a file outside":    {`{"body":"b","path":"nope","subject_type":"file","commit_id":"` + sha + `"}`, "pull_request_review_thread.path"},
		"without a commit":  {`{"body":"b","path":"long.txt","line":10}`, "commit_id"},
		"a header's number": {`{"body":"b","path":"long.txt","position":0,"commit_id":"` + sha + `"}`, "could not be resolved"},
	} {
		if status, got := w.rest(nil, http.MethodPost, path, row[0]); status != http.StatusUnprocessableEntity || !strings.Contains(got.Raw, row[1]) {
			t.Errorf("%s: %d %s; want 422 with %q", name, status, got, row[1])
		}
	}
	w.check.Reset() // a comment without a commit is outside the description too
	if v := must(p.SubmitReview("hubot", "APPROVE", "")); v.State != "APPROVED" {
		t.Errorf("an approval without text: %+v", v)
	}
}

// TestPendingBlocksSingleComments: GitHub makes a review for each, and a person has one pending at most.
func TestPendingBlocksSingleComments(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	v := must(p.SubmitReview("hubot", "COMMENT", "", githubsim.NewComment{Path: "long.txt", Line: 10, Body: "hm"}))
	w.rest(nil, http.MethodPost, reviewsPath, `{"body":"soon"}`)
	first := p.ReviewComments()[0]
	for _, row := range [][2]string{
		{"/repos/acme/shop/pulls/1/comments", `{"body":"b","path":"long.txt","line":10,"commit_id":"` + v.CommitID + `"}`},
		{fmt.Sprintf("/repos/acme/shop/pulls/1/comments/%d/replies", first.ID), `{"body":"b"}`},
	} {
		if status, got := w.rest(nil, http.MethodPost, row[0], row[1]); status != http.StatusUnprocessableEntity || !strings.Contains(got.Raw, "one pending review") {
			t.Errorf("%s: %d %s", row[0], status, got)
		}
		w.check.Reset() // 422 of replies is not described
	}
}
