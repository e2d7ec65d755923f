package githubsim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"
	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

// answers is one request's outcome: status, Retry-After, error.
func (w *world) answers(ctx context.Context, token string) (int, string, error) {
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/repos/acme/shop", nil))
	req.Header.Set("Authorization", token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, resp.Header.Get("Retry-After"), nil
}

func TestUsualFaults(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	token := "token " + w.sim.UserToken("mona")
	for name, row := range map[string]struct {
		fault  githubsim.Fault
		status int
		after  string
	}{
		"secondary limit":            {githubsim.SecondaryLimit(90 * time.Second), 403, "90"},
		"secondary limit, no word":   {githubsim.SecondaryLimit(0), 403, ""},
		"too many requests":          {githubsim.TooManyRequests(1500 * time.Millisecond), 429, "2"},
		"too many requests, no word": {githubsim.TooManyRequests(0), 429, ""},
		"primary limit":              {githubsim.PrimaryLimit(w.clock.Now().Add(time.Hour)), 403, ""},
		"server error":               {githubsim.ServerError(502), 502, ""},
		"stale":                      {githubsim.Stale(), 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			defer w.sim.Fail(row.fault.On("GET /repos/{owner}/{repo}").At(2))()
			for i, want := range []int{200, row.status, 200} {
				status, after, err := w.answers(context.Background(), token)
				if err != nil || status != want || i == 1 && after != row.after {
					t.Errorf("request %d: %d, Retry-After %q, %v; want %d, %q", i+1, status, after, err, want, row.after)
				}
			}
		})
	}
}

// TestClientsKnowTheSecondaryLimit: go-github tells it from other refusals by its text and address.
func TestClientsKnowTheSecondaryLimit(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.sim.Fail(githubsim.SecondaryLimit(time.Minute).On("GET /repos/{owner}/{repo}"))
	_, _, err := w.gh.Repositories.Get(context.Background(), "acme", "shop")
	var limit *github.AbuseRateLimitError
	if !asError(err, &limit) || limit.GetRetryAfter() != time.Minute {
		t.Errorf("%v; want a secondary limit of a minute", err)
	}
}

func TestReset(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	token := "token " + w.sim.UserToken("mona")
	w.sim.Fail(githubsim.Reset().Once())
	if _, _, err := w.answers(context.Background(), token); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v; want a reset", err)
	}
	if status, _, err := w.answers(context.Background(), token); status != http.StatusOK {
		t.Errorf("after it: %d, %v", status, err)
	}
}

// TestHang: the answer never comes, with the work done or not.
func TestHang(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	const route = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments"
	for done, fault := range map[int]githubsim.Fault{0: githubsim.Hang(), 1: githubsim.Hang().AfterTheWork()} {
		undo := w.sim.Fail(fault.On(route).Once())
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, _, err := w.gh.Issues.CreateComment(ctx, "acme", "shop", 1, &github.IssueComment{Body: github.String("hi")})
		cancel()
		undo()
		if !errors.Is(err, context.DeadlineExceeded) || len(p.Comments()) != done {
			t.Errorf("%v and %d comments; want a deadline and %d", err, len(p.Comments()), done)
		}
	}
	if got := w.sim.RequestCounts()[route]; got != 2 {
		t.Errorf("%d requests in the log; want 2", got)
	}
	// Nobody waits for one that hangs when the simulator is closed.
	asked, arrived := make(chan struct{}), make(chan error, 1)
	fault := githubsim.Hang().Once()
	fault.BeforeWork = func(githubsim.Request) { close(asked) }
	w.sim.Fail(fault)
	go func() {
		_, _, err := w.gh.Repositories.Get(context.Background(), "acme", "shop")
		arrived <- err
	}()
	<-asked
	start := time.Now()
	if err := w.sim.Close(); err != nil || time.Since(start) > 900*time.Millisecond {
		t.Errorf("close took %s, %v", time.Since(start), err)
	}
	if err := <-arrived; err == nil {
		t.Error("a request that hung was answered")
	}
}

// TestCallbacks: they run just before the work, and when it is done and nobody knows yet.
func TestCallbacks(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	seen := []int{}
	note := func(q githubsim.Request) {
		if q.Method != http.MethodPost || q.App != "countersign" || q.Installation != w.inst.ID() {
			t.Errorf("called for %+v", q)
		}
		seen = append(seen, len(p.Comments()))
	}
	w.sim.Fail(githubsim.Fault{Route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments", Times: 2, BeforeWork: note, AfterWork: note})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, _, err := w.gh.Issues.CreateComment(ctx, "acme", "shop", 1, &github.IssueComment{Body: github.String("hi")}); err != nil {
		t.Fatal(err)
	}
	// A client that dies when the work is done.
	w.sim.ClearFaults()
	gone := make(chan struct{})
	w.sim.Fail(githubsim.Fault{Route: "*", Nth: 1, AfterWork: func(githubsim.Request) { cancel(); <-gone }})
	_, _, err := w.gh.Issues.CreateComment(ctx, "acme", "shop", 1, &github.IssueComment{Body: github.String("hi")})
	close(gone)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want canceled", err)
	}
	if !slices.Equal(seen, []int{0, 1}) || len(p.Comments()) != 2 {
		t.Errorf("comments seen %v, %d at the end; want [0 1] and 2", seen, len(p.Comments()))
	}
}

func TestFaultsForOne(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.pull()
	other := must(w.sim.AddApp(githubsim.App{Slug: "other", Key: must(sharedKey())}))
	theirs := must(w.sim.Install(other, "acme"))
	named := func(op string) int {
		status, _ := w.rest(nil, http.MethodPost, "/graphql", string(must(json.Marshal(map[string]any{"query": op + " { viewer { login } }"}))))
		return status
	}
	named("query Warm") // the token is fetched
	for name, row := range map[string]struct {
		fault githubsim.Fault
		op    string
		want  int
	}{
		"the operation":        {githubsim.ServerError(500).In("Reviews"), "query Reviews", 500},
		"another operation":    {githubsim.ServerError(500).In("Reviews"), "query Pulls", 200},
		"no name":              {githubsim.ServerError(500).In("Reviews"), "query", 200},
		"the installation":     {githubsim.ServerError(500).For(w.inst), "query", 500},
		"another installation": {githubsim.ServerError(500).For(theirs), "query", 200},
		"the app":              {githubsim.Fault{Route: "*", App: "countersign", Status: 500}, "query", 500},
		"another app":          {githubsim.Fault{Route: "*", App: "other", Status: 500}, "query", 200},
	} {
		undo := w.sim.Fail(row.fault)
		if got := named(row.op); got != row.want {
			t.Errorf("%s: %d; want %d", name, got, row.want)
		}
		undo()
	}
	undo := w.sim.Fail(githubsim.Fault{Route: "*", App: "countersign", Status: 500})
	if _, _, err := w.asApp.Apps.Get(context.Background(), ""); err == nil {
		t.Error("by JWT: no fault")
	}
	undo()
	if got := w.sim.RequestCounts(); got["POST /graphql Reviews"] != 1 || got["POST /graphql"] < 4 {
		t.Errorf("counts %v", got)
	}
}

func TestTokenExpires(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	get := func() int {
		_, resp, _ := w.gh.Repositories.Get(context.Background(), "acme", "shop")
		return resp.StatusCode
	}
	get()
	w.sim.Fail(githubsim.TokenExpired().Once())
	if got := []int{get(), get()}; got[0] != 401 || got[1] != 401 {
		t.Errorf("%v; want 401 until there is a new token", got)
	}
}

// TestStale: every list lacks what was written last, wherever it stands in the list.
func TestStale(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	must(w.repo.OpenPull(githubsim.PullSpec{Title: "newer", Author: "mona", Head: "newer", Changes: []githubsim.Change{{Path: "n", Content: "n"}}}))
	w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 10})
	must(p.ReplyInThread(p.Threads()[0].ID, "mona", "reply"))
	w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 30})
	for _, conclusion := range []string{"failure", "success"} {
		must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: conclusion}))
		if err := w.repo.SetStatus(p.HeadSHA(), "ci/"+conclusion, conclusion, githubsim.StatusDetail{}); err != nil {
			t.Fatal(err)
		}
	}
	must(p.Comment("mona", "first"))
	must(p.Comment("mona", "second"))
	const query = `query { repository(owner: "acme", name: "shop") {
	  pullRequests(first: 9, states: OPEN) { nodes { number } }
	  pullRequest(number: 1) {
	    comments(first: 9) { nodes { body } } reviews(first: 9) { nodes { databaseId } } latestReviews(first: 9) { nodes { databaseId } }
	    reviewThreads(first: 9) { nodes { comments(first: 9) { nodes { databaseId } } } }
	    commits(last: 1) { nodes { commit { oid statusCheckRollup { contexts(first: 9) { nodes { ... on CheckRun { databaseId conclusion } ... on StatusContext { context } } } }
	      checkSuites(first: 9, filterBy: {appId: 15368}) { nodes { checkRuns(first: 9, filterBy: {checkName: "build"}) { nodes { databaseId conclusion } } } } } } }
	  } } }`
	lists := map[string]string{}
	for path, field := range map[string]string{
		"/repos/acme/shop/pulls": "number", "/repos/acme/shop/pulls?sort=created&direction=asc": "number", "/repos/acme/shop/pulls/1/reviews": "id",
		"/repos/acme/shop/pulls/1/comments": "body", "/repos/acme/shop/pulls/1/comments?sort=created&direction=desc": "body",
		"/repos/acme/shop/issues/1/comments": "body", "/repos/acme/shop/commits/" + p.HeadSHA() + "/statuses": "context",
	} {
		lists[path] = "#." + field
	}
	lists["/repos/acme/shop/commits/"+p.HeadSHA()+"/check-runs"] = "check_runs.#.conclusion"
	lists["/repos/acme/shop/commits/"+p.HeadSHA()+"/check-runs?filter=all"] = "check_runs.#.conclusion"
	lists["/repos/acme/shop/commits/"+p.HeadSHA()+"/status"] = "statuses.#.context"
	read := func() map[string][]string {
		out := map[string][]string{}
		for path, values := range lists {
			_, got := w.rest(nil, http.MethodGet, path, "")
			out[path] = texts(got.Get(values))
		}
		got := w.query(query, nil).Get("data.repository")
		for _, values := range []string{
			"pullRequests.nodes.#.number", "pullRequest.comments.nodes.#.body", "pullRequest.reviews.nodes.#.databaseId",
			"pullRequest.reviewThreads.nodes.#.comments.nodes.#.databaseId",
			"pullRequest.commits.nodes.0.commit.statusCheckRollup.contexts.nodes.#.context",
			"pullRequest.commits.nodes.0.commit.checkSuites.nodes.0.checkRuns.nodes.#.conclusion",
		} {
			out[values] = texts(got.Get(values))
		}
		return out
	}
	fresh := read()
	undo := w.sim.Fail(githubsim.Stale())
	stale := read()
	undo()
	for name, before := range fresh {
		after := stale[name]
		want, special := map[string]string{ // the rest lose the entry that was written last
			"/repos/acme/shop/pulls/1/comments?sort=created&direction=desc":                       "reply why?",
			"/repos/acme/shop/pulls/1/comments":                                                   "why? reply",
			"/repos/acme/shop/commits/" + p.HeadSHA() + "/check-runs":                             "failure",
			"/repos/acme/shop/commits/" + p.HeadSHA() + "/check-runs?filter=all":                  "failure",
			"pullRequest.commits.nodes.0.commit.checkSuites.nodes.0.checkRuns.nodes.#.conclusion": "FAILURE",
		}[name]
		newest := slices.MaxFunc(before, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		switch {
		case special && strings.Join(after, " ") != want:
			t.Errorf("%s: %v, then %v; want %s", name, before, after, want)
		case !special && (len(after) != len(before)-1 || slices.Contains(after, newest)):
			t.Errorf("%s: %v, then %v; want all but %s", name, before, after, newest)
		}
	}
	if got, want := read(), fresh; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after it: %v; want %v", got, want)
	}
}

// texts are the values of a list, nested lists flattened.
func texts(list gjson.Result) []string {
	var out []string
	for _, v := range list.Array() {
		if v.IsArray() {
			out = append(out, texts(v)...)
		} else {
			out = append(out, v.String())
		}
	}
	return out
}

func TestRequestLogIsBounded(t *testing.T) {
	w := newWorld(t, githubsim.Options{MaxRequests: 10})
	token := "token " + w.sim.UserToken("mona")
	for range 25 {
		w.get("/repos/acme/shop", token)
	}
	if n, counts := len(w.sim.Requests()), w.sim.RequestCounts(); n > 10 || n < 5 || counts["GET /repos/{owner}/{repo}"] != 25 {
		t.Errorf("%d entries, %v; want at most ten and 25 counted", n, counts)
	}
	w.sim.ResetRequests()
	if len(w.sim.Requests())+len(w.sim.RequestCounts()) != 0 {
		t.Error("reset left something")
	}
}
