package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/countersign/countersign/review/forge"
	"github.com/h2non/gock"
)

var acmePull = forge.PullRef{Repo: acme, Number: 5}

const pendingBody = `{"id":31,"node_id":"PRR_31","state":"PENDING"}`

// A review goes out with lines and sides, without position and without event, so that
// nobody sees it (cases 7, 15 and 23).
func TestCase007_015_023_BeginReviewRequest(t *testing.T) {
	defer gock.Off()
	gock.New("https://api.test").Post("/app/installations/7/access_tokens").Reply(201).JSON(map[string]any{"token": "ghs_x", "expires_at": "2199-01-01T00:00:00Z"})
	var body string
	gock.New("https://api.test").Post("/repos/acme/api/pulls/5/reviews").AddMatcher(func(r *http.Request, _ *gock.Request) (bool, error) {
		raw, err := again(r)
		if err != nil {
			return false, err
		}
		var v json.RawMessage
		err = json.NewDecoder(raw.Body).Decode(&v)
		body = string(v)
		return true, err
	}).Reply(200).BodyString(pendingBody)
	c := clientOf(t, newTestHost(t, nil, func(o *Options) { o.Transport = http.DefaultTransport }))
	ref, err := c.BeginReview(t.Context(), acmePull, sha1A, "two findings", []forge.LineComment{
		{Path: "a.go", Side: "RIGHT", Line: 7, Body: "one"}, {Path: "b.go", Side: "LEFT", StartLine: 3, Line: 9, Body: "two"},
	})
	if err != nil || ref != (forge.ReviewRef{ID: 31, Node: "PRR_31"}) {
		t.Fatalf("%+v, %v", ref, err)
	}
	want := `{"commit_id":"` + sha1A + `","body":"two findings","comments":[{"path":"a.go","body":"one","line":7,"side":"RIGHT"},` +
		`{"path":"b.go","body":"two","line":9,"side":"LEFT","start_line":3,"start_side":"LEFT"}]}`
	if body != want {
		t.Errorf("sent %s\nwant %s", body, want)
	}
}

// What GitHub would refuse, or take for something else, is not sent at all.
func TestCase023_NoSuchPlaceIsSent(t *testing.T) {
	ok := forge.LineComment{Path: "a.go", Side: "RIGHT", Line: 7, Body: "x"}
	for name, change := range map[string]func(*forge.LineComment){
		"line 0":               func(c *forge.LineComment) { c.Line = 0 },
		"a range of one line":  func(c *forge.LineComment) { c.StartLine = 7 },
		"a range backwards":    func(c *forge.LineComment) { c.StartLine = 9 },
		"a range from below 0": func(c *forge.LineComment) { c.StartLine = -1 },
		"no side":              func(c *forge.LineComment) { c.Side = "" },
		"another side":         func(c *forge.LineComment) { c.Side = "right" },
		"no path":              func(c *forge.LineComment) { c.Path = "" },
		"no text":              func(c *forge.LineComment) { c.Body = "" },
	} {
		f := &fake{answer: always(200, pendingBody)}
		c, bad := newTestClient(t, f), ok
		change(&bad)
		_, err := c.BeginReview(t.Context(), acmePull, sha1A, "", []forge.LineComment{ok, bad})
		_, err2 := c.AddToReview(t.Context(), acmePull, forge.ReviewRef{ID: 1, Node: "x"}, []forge.LineComment{ok, bad}, nil)
		if !forge.IsKind(err, forge.KindInvalid) || !forge.IsKind(err2, forge.KindInvalid) || f.calls > 0 {
			t.Errorf("%s: %v, %v after %d requests", name, err, err2, f.calls)
		}
	}
}

// GitHub's words are all that tells why a review was refused (cases 2 and 12).
func TestCase012_WhyAReviewIsRefused(t *testing.T) {
	for body, want := range map[string]error{
		`{"message":"Unprocessable Entity","errors":["User can only have one pending review per pull request"]}`:                                forge.ErrReviewPending,
		`{"message":"Validation Failed","errors":[{"message":"Start commit oid is not part of the pull request"}]}`:                             forge.ErrNotInPull,
		`{"message":"Unprocessable Entity","errors":["Line could not be resolved"]}`:                                                            nil,
		`{"message":"Unprocessable Entity","errors":["Pull request review thread line must be part of the diff","Path could not be resolved"]}`: nil,
		`{"message":"Unprocessable Entity"}`: nil,
	} {
		f := &fake{answer: always(422, body)}
		_, err := newTestClient(t, f).BeginReview(t.Context(), acmePull, sha1A, "", nil)
		if !forge.IsKind(err, forge.KindInvalid) || f.calls != 1 {
			t.Errorf("%s: %v after %d requests, want one and a refusal", body, err, f.calls)
		}
		for _, e := range []error{forge.ErrReviewPending, forge.ErrNotInPull} {
			if errors.Is(err, e) != (want == e) { //nolint:errorlint // which of the two is meant
				t.Errorf("%s: %v; is it %q? want %v", body, err, e, want)
			}
		}
	}
}

// A lost answer to what makes something is not sent again: whoever asked looks first.
func TestReviewWritesThatAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ref := forge.ReviewRef{ID: 31, Node: "PRR_31"}
		for name, tc := range map[string]struct {
			do    func(c *Client) error
			tries int
		}{
			"begin": {func(c *Client) error { _, err := c.BeginReview(t.Context(), acmePull, sha1A, "", nil); return err }, 1},
			"add": {func(c *Client) error {
				_, err := c.AddToReview(t.Context(), acmePull, ref, nil, []forge.Reply{{ThreadID: "T", Body: "x"}})
				return err
			}, 1},
			"submit": {func(c *Client) error { return c.SubmitReview(t.Context(), acmePull, ref, "x") }, 3},
			"drop":   {func(c *Client) error { return c.DropReview(t.Context(), acmePull, ref) }, 3},
		} {
			f := &fake{answer: always(502, `{}`)}
			if err := tc.do(newTestClient(t, f)); !forge.IsKind(err, forge.KindUnavailable) || f.calls != tc.tries {
				t.Errorf("%s: %v after %d requests, want %d", name, err, f.calls, tc.tries)
			}
		}
	})
}

func TestReviewAnswersAreChecked(t *testing.T) {
	ref := forge.ReviewRef{ID: 31, Node: "PRR_31"}
	begin := func(c *Client) error { _, err := c.BeginReview(t.Context(), acmePull, sha1A, "", nil); return err }
	submit := func(c *Client) error { return c.SubmitReview(t.Context(), acmePull, ref, "x") }
	reviews := func(c *Client) error { _, err := c.OwnReviews(t.Context(), acmePull); return err }
	threads := func(c *Client) error { _, err := c.OwnThreads(t.Context(), acmePull); return err }
	for body, do := range map[string]func(*Client) error{
		`oops`: begin, `{}`: begin, `{"id":0,"node_id":"x","state":"PENDING"}`: begin, `{"id":31,"node_id":"x","state":"COMMENTED"}`: begin,
		`{"id":30,"state":"COMMENTED"}`: submit, `{"id":31,"state":"APPROVED"}`: submit, `null`: submit,
		`{"data":{"repository":null}}`: reviews, `{"data":{"repository":{"pullRequest":null}}}`: threads, `{"data":{"repository":{"pullRequest":{"number":6}}}}`: reviews,
	} {
		if err := do(newTestClient(t, &fake{answer: always(200, body)})); !forge.IsKind(err, forge.KindMalformed) {
			t.Errorf("%s: %v, want it refused as malformed", body, err)
		}
	}
	if err := newTestClient(t, &fake{answer: always(404, `{}`)}).DropReview(t.Context(), acmePull, ref); err != nil {
		t.Errorf("a review that is gone: %v", err)
	}
}

// Ours are those that the forge says the viewer wrote; null places and lost commits
// are no crash, and no line 0 (case 13).
func TestCase013_OurReviewsAndThreads(t *testing.T) {
	f := &fake{answer: func(n int, _ *http.Request, body string) (*http.Response, error) {
		switch {
		case strings.Contains(body, "OwnReviews") && n == 1:
			return reply(200, `{"data":{"repository":{"pullRequest":{"number":5,"reviews":{"pageInfo":{"hasPreviousPage":true,"startCursor":"c1"},"nodes":[
				null,{"id":"A","databaseId":1,"state":"PENDING","body":"ours","viewerDidAuthor":true,"commit":null},{"id":"B","databaseId":2,"state":"COMMENTED","body":"<!-- pretends -->","viewerDidAuthor":false}]}}}}}`), nil
		case strings.Contains(body, "OwnReviews"):
			if !strings.Contains(body, `"before":"c1"`) {
				t.Errorf("the second page was asked for without its cursor: %s", body)
			}
			return reply(200, `{"data":{"repository":{"pullRequest":{"number":5,"reviews":{"nodes":[{"id":"C","databaseId":3,"state":"COMMENTED","viewerDidAuthor":true,"commit":{"oid":"`+sha1A+`"}}]}}}}}`), nil
		}
		return reply(200, `{"data":{"repository":{"pullRequest":{"number":5,"reviewThreads":{"nodes":[null,
			{"id":"T0","comments":{"nodes":[]}},{"id":"T1","isOutdated":true,"comments":{"nodes":[{"databaseId":9,"body":"finding","viewerDidAuthor":true,"pullRequestReview":null},null,{"databaseId":10,"body":"a person","viewerDidAuthor":false},{"databaseId":11,"body":"Fixed","viewerDidAuthor":true}]}},
			{"id":"T2","comments":{"nodes":[{"databaseId":12,"body":"a person's","viewerDidAuthor":false},{"databaseId":13,"body":"our reply","viewerDidAuthor":true}]}}]}}}}}`), nil
	}}
	c := newTestClient(t, f)
	reviews, err := c.OwnReviews(t.Context(), acmePull)
	if want := "[{{1 A} true  ours} {{3 C} false " + sha1A + " }]"; err != nil || fmt.Sprint(reviews) != want {
		t.Errorf("reviews %v, %v, want %s", reviews, err, want)
	}
	threads, err := c.OwnThreads(t.Context(), acmePull)
	if want := "[{T1 0 9 finding [Fixed] false true}]"; err != nil || fmt.Sprint(threads) != want {
		t.Errorf("threads %v, %v, want %s", threads, err, want)
	}
}

// Lists are bounded: reviews by looking no further back, threads by saying that there
// are too many, since one that is not found would be taken for a deleted one.
func TestReviewListsAreBounded(t *testing.T) {
	f := &fake{answer: func(_ int, _ *http.Request, body string) (*http.Response, error) {
		if strings.Contains(body, "OwnReviews") {
			return reply(200, `{"data":{"repository":{"pullRequest":{"number":5,"reviews":{"pageInfo":{"hasPreviousPage":true,"startCursor":"x"},"nodes":[]}}}}}`), nil
		}
		return reply(200, `{"data":{"repository":{"pullRequest":{"number":5,"reviewThreads":{"pageInfo":{"hasNextPage":true,"endCursor":"x"},"nodes":[]}}}}}`), nil
	}}
	c := newTestClient(t, f)
	if _, err := c.OwnReviews(t.Context(), acmePull); err != nil || f.calls != maxReviewPages {
		t.Errorf("reviews: %v after %d requests", err, f.calls)
	}
	if _, err := c.OwnThreads(t.Context(), acmePull); !forge.IsKind(err, forge.KindTooLarge) || f.calls != 2*maxReviewPages {
		t.Errorf("threads: %v after %d requests", err, f.calls)
	}
}

// One refused part does not take the others with it, whether GitHub says why or only
// answers nothing; what belongs to no part is the whole call's (case 2).
func TestCase002_PartsAreRefusedOneByOne(t *testing.T) {
	ref := forge.ReviewRef{ID: 31, Node: "PRR_31"}
	comments := []forge.LineComment{{Path: "a.go", Side: "RIGHT", Line: 1, Body: "x"}, {Path: "b.go", Side: "RIGHT", StartLine: 1, Line: 2, Body: "y"}, {Path: "c.go", Side: "LEFT", Line: 3, Body: "z"}}
	replies := []forge.Reply{{ThreadID: "T1", Body: "Fixed"}, {ThreadID: "T2", Body: "Fixed"}}
	f := &fake{answer: always(200, `{"data":{"c0":{"thread":{"id":"n0"}},"c1":{"thread":null},"c2":null,"r0":{"comment":{"id":"m0"}},"r1":null},
		"errors":[{"message":"Line could not be resolved","path":["c2"],"type":"UNPROCESSABLE"},{"message":"gone","path":["r1"],"type":"NOT_FOUND"}]}`)}
	c := newTestClient(t, f)
	refused, err := c.AddToReview(t.Context(), acmePull, ref, comments, replies)
	if want := "{map[1:nothing was made 2:Line could not be resolved] map[1:gone]}"; err != nil || fmt.Sprint(refused) != want {
		t.Errorf("refused %v, %v, want %s", refused, err, want)
	}
	sent := f.requests()[0].body
	for _, want := range []string{`"startLine":1`, `"startSide":"RIGHT"`, `"pullRequestReviewThreadId":"T2"`, `"pullRequestReviewId":"PRR_31"`} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request lacks %s: %s", want, sent)
		}
	}
	if strings.Contains(sent, "position") {
		t.Errorf("the request has a position: %s", sent)
	}
	for body, kind := range map[string]forge.Kind{
		`{"data":null,"errors":[{"message":"API rate limit exceeded","type":"RATE_LIMITED"}]}`:               forge.KindRateLimited,
		`{"errors":[{"message":"Resource not accessible by integration","type":"FORBIDDEN","path":["c0"]}]}`: forge.KindForbidden,
		`{"data":`: forge.KindMalformed,
	} {
		if _, err := newTestClient(t, &fake{answer: always(200, body)}).AddToReview(t.Context(), acmePull, ref, comments, nil); !forge.IsKind(err, kind) {
			t.Errorf("%s: %v, want %v", body, err, kind)
		}
	}
	if _, err := c.AddToReview(t.Context(), acmePull, ref, make([]forge.LineComment, 0), nil); err != nil || f.calls != 1 {
		t.Errorf("nothing to add: %v after %d requests", err, f.calls)
	}
}
