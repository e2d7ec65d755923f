package apicheck_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/countersign/countersign/app/githubsim/apicheck"
)

var description = sync.OnceValues(func() (*apicheck.Checker, error) {
	return apicheck.Open("../../../testdata/github/api-reduced.json")
})

func checker(t *testing.T) *apicheck.Checker {
	t.Helper()
	c, err := description()
	if err != nil {
		t.Fatal(err)
	}
	return c.Fork()
}

func request(t *testing.T, method, target, body string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// expect fails unless the violations are one that contains the text, or none for the empty text.
func expect(t *testing.T, c *apicheck.Checker, want string) {
	t.Helper()
	got := c.Violations()
	switch {
	case want == "" && len(got) > 0:
		t.Errorf("violations %q; want none", got)
	case want != "" && (len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), want)):
		t.Errorf("violations %q; want one with %q", got, want)
	}
}

func TestRequests(t *testing.T) {
	const runs, repo = "/repos/acme/shop/check-runs", "/repos/acme/shop"
	for name, row := range map[string]struct{ method, path, body, want string }{
		"as described":                {http.MethodPost, runs, `{"name":"x","head_sha":"a","status":"completed","conclusion":"neutral"}`, ""},
		"under Enterprise's prefix":   {http.MethodPost, "/api/v3" + runs, `{"name":"x","head_sha":"a"}`, ""},
		"a field is missing":          {http.MethodPost, runs, `{"name":"x"}`, `checks/create request: Error at "/head_sha"`},
		"a field of the wrong type":   {http.MethodPost, runs, `{"name":7,"head_sha":"a"}`, `Error at "/name"`},
		"no such conclusion":          {http.MethodPost, runs, `{"name":"x","head_sha":"a","status":"completed","conclusion":"fine"}`, "checks/create request"},
		"completed, no conclusion":    {http.MethodPost, runs, `{"name":"x","head_sha":"a","status":"completed"}`, "completed without a conclusion"},
		"a parameter of a wrong type": {http.MethodGet, repo + "/pulls/one", "", `pulls/get request: parameter "pull_number" in path`},
		"a value outside the list":    {http.MethodGet, repo + "/commits/main/check-runs?filter=some", "", `parameter "filter" in query`},
		"a branch with slashes":       {http.MethodGet, repo + "/rules/branches/feature/x", "", ""},
		"no such operation":           {http.MethodDelete, repo + "/branches/main", "", "no such operation"},
		"a side in lower case":        {http.MethodPost, repo + "/pulls/1/reviews", `{"comments":[{"path":"a","body":"b","line":1,"side":"right"}]}`, "want LEFT or RIGHT"},
		"a comment on line 0":         {http.MethodPost, repo + "/pulls/1/reviews", `{"comments":[{"path":"a","body":"b","line":0}]}`, "a comment on line 0"},
		"a known false alarm":         {http.MethodPost, repo + "/issues/1/labels", `["risky"]`, ""},
		"outside the description":     {http.MethodPost, "/graphql", `{"query":"{viewer{login}}"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := checker(t)
			c.Check(request(t, row.method, row.path, row.body), []byte(row.body), http.StatusServiceUnavailable, http.Header{}, nil)
			expect(t, c, row.want)
		})
	}
}

func TestAnswers(t *testing.T) {
	const status = "/repos/acme/shop/git/ref/heads/main"
	good := `{"ref":"refs/heads/main","node_id":"R","url":"https://api.github.com/x","object":{"type":"commit","sha":"` +
		strings.Repeat("a", 40) + `","url":"https://api.github.com/y"}}`
	for name, row := range map[string]struct {
		status       int
		body, accept string
		want         string
	}{
		"as described":        {200, good, "", ""},
		"a field is missing":  {200, `{"ref":"refs/heads/main"}`, "", `git/get-ref answer 200: Error at "/node_id"`},
		"a wrong type":        {200, strings.Replace(good, `"node_id":"R"`, `"node_id":7`, 1), "", `Error at "/node_id"`},
		"not JSON":            {200, `<html>`, "", "git/get-ref answer 200"},
		"undeclared, usual":   {403, `{"message":"no"}`, "", ""},
		"undeclared":          {418, `{"message":"teapot"}`, "", "git/get-ref answer 418"},
		"nothing has changed": {304, "", "", ""},
		"a broken server":     {502, "<html>", "", ""},
		"raw text":            {200, "text", "application/vnd.github.raw+json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := checker(t)
			r := request(t, http.MethodGet, status, "", "Accept", row.accept)
			c.Check(r, nil, row.status, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, []byte(row.body))
			expect(t, c, row.want)
		})
	}
}

func TestWebhooks(t *testing.T) {
	c := checker(t)
	for name, row := range map[string]struct {
		event, action, body string
		judged              bool
		want                string
	}{
		"not JSON":         {"status", "", `{`, true, "webhook status: not JSON"},
		"lacks everything": {"pull_request", "ready_for_review", `{}`, true, "pull-request-ready-for-review webhook"},
		"not described":    {"star", "created", `{}`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.Reset()
			if judged := c.Webhook(row.event, row.action, []byte(row.body)); judged != row.judged {
				t.Errorf("judged is %v; want %v", judged, row.judged)
			}
			expect(t, c, row.want)
		})
	}
}

// TestTrafficIsLeftAsItIs: whoever is watched sees the same bytes, on both sides.
func TestTrafficIsLeftAsItIs(t *testing.T) {
	server, client := checker(t), checker(t)
	srv := httptest.NewServer(server.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Test", "yes")
		w.WriteHeader(http.StatusCreated)
		if err := json.NewEncoder(w).Encode(map[string]string{"got": string(body)}); err != nil {
			t.Error(err)
		}
	})))
	defer srv.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, srv.URL+"/repos/acme/shop/check-runs", strings.NewReader(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Transport(nil).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated || resp.Header.Get("X-Test") != "yes" || string(body) != `{"got":"{\"name\":\"x\"}"}`+"\n" {
		t.Errorf("%d, %v, %s (%v); want what the server sent", resp.StatusCode, resp.Header, body, err)
	}
	for side, c := range map[string]*apicheck.Checker{"server": server, "client": client} {
		all := strings.Join(c.Violations(), "\n")
		if !strings.Contains(all, "checks/create request") || !strings.Contains(all, "checks/create answer 201") {
			t.Errorf("the %s's side saw %q; want the request and the answer", side, all)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	if _, err := apicheck.Open("gone.json"); err == nil || !strings.Contains(err.Error(), "read GitHub's API description") {
		t.Errorf("a file that is not there: %v", err)
	}
}
