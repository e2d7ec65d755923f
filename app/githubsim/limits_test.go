package githubsim_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

// spender sends requests of one kind and tells how they were answered.
type spender struct {
	*world
	auth string
}

func (s spender) send(method, path, body string) (int, http.Header, string) {
	req := must(http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body)))
	req.Header.Set("Authorization", s.auth)
	rec := recorded{header: http.Header{}}
	s.sim.ServeHTTP(&rec, req)
	return rec.status, rec.header, rec.body.String()
}

// recorded is an answer that went over no network.
type recorded struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(status int)      { r.status = status }
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }

func graphql(text string) string {
	return string(must(json.Marshal(map[string]any{"query": text})))
}

func newSpender(t *testing.T, opts githubsim.Options) spender {
	w := newWorld(t, opts)
	w.pull()
	return spender{w, "token " + w.sim.UserToken("octocat")}
}

const (
	reading  = "/repos/acme/shop"
	creating = "/repos/acme/shop/pulls/1/reviews"
	words    = `{"event":"COMMENT","body":"b"}`
	asking   = `query { viewer { login } }`
	writing  = `mutation { minimizeComment(input: {subjectId: "x", classifier: SPAM}) { clientMutationId } }`
)

// TestSecondaryLimits covers CASES 41: how many go through, what refuses, and when it is over.
func TestSecondaryLimits(t *testing.T) {
	for name, row := range map[string]struct {
		limits       githubsim.Limits
		method, path string
		body         string
		pass         int
		wait         time.Duration
		refused      githubsim.Refusals
	}{
		"reads":          {githubsim.Limits{PointsPerMinute: 10}, http.MethodGet, reading, "", 10, time.Minute, githubsim.Refusals{Points: 1}},
		"writes":         {githubsim.Limits{PointsPerMinute: 14}, http.MethodPost, creating, words, 2, time.Minute, githubsim.Refusals{Points: 1}},
		"queries":        {githubsim.Limits{PointsPerMinute: 1, GraphQLPointsPerMinute: 7}, http.MethodPost, "/graphql", graphql(asking), 7, time.Minute, githubsim.Refusals{GraphQLPoints: 1}},
		"mutations":      {githubsim.Limits{GraphQLPointsPerMinute: 15}, http.MethodPost, "/graphql", graphql(writing), 3, time.Minute, githubsim.Refusals{GraphQLPoints: 1}},
		"a fragment":     {githubsim.Limits{GraphQLPointsPerMinute: 15}, http.MethodPost, "/graphql", graphql("fragment f on User { login }\n" + asking), 15, time.Minute, githubsim.Refusals{GraphQLPoints: 1}},
		"content":        {githubsim.Limits{ContentPerMinute: 3, ContentPerHour: 9}, http.MethodPost, creating, words, 3, time.Minute, githubsim.Refusals{ContentMinute: 1}},
		"content, hour":  {githubsim.Limits{ContentPerMinute: 9, ContentPerHour: 4}, http.MethodPost, creating, words, 4, time.Hour, githubsim.Refusals{ContentHour: 1}},
		"content, nodes": {githubsim.Limits{ContentPerMinute: 2}, http.MethodPost, "/graphql", graphql(writing), 2, time.Minute, githubsim.Refusals{ContentMinute: 1}},
		"no word":        {githubsim.Limits{ContentPerMinute: 2, NoRetryAfter: true}, http.MethodPost, creating, words, 2, 0, githubsim.Refusals{ContentMinute: 1}},
		"GitHub's":       {githubsim.GitHubLimits(), http.MethodPost, creating, words, 80, time.Minute, githubsim.Refusals{ContentMinute: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpender(t, githubsim.Options{Limits: row.limits})
			for i := range row.pass {
				if status, _, body := s.send(row.method, row.path, row.body); status != http.StatusOK {
					t.Fatalf("request %d: %d %s", i+1, status, body)
				}
			}
			s.clock.Add(10 * time.Second)
			status, header, body := s.send(row.method, row.path, row.body)
			if status != http.StatusForbidden || !strings.Contains(body, "secondary rate limit") || !strings.Contains(gjson.Get(body, "documentation_url").String(), "secondary-rate-limits") {
				t.Errorf("the next: %d %s; want a secondary limit", status, body)
			}
			want := ""
			if row.wait > 0 {
				want = strconv.Itoa(int((row.wait - 10*time.Second).Seconds()))
			}
			if got := header.Get("Retry-After"); got != want || s.sim.Refusals() != row.refused {
				t.Errorf("Retry-After %q, %+v; want %q, %+v", got, s.sim.Refusals(), want, row.refused)
			}
			other := spender{s.world, "token " + s.sim.UserToken("hubot")}
			if status, _, body := other.send(row.method, row.path, row.body); status != http.StatusOK {
				t.Errorf("somebody else: %d %s", status, body)
			}
			s.clock.Add(max(row.wait, time.Minute) - 10*time.Second)
			if status, _, body := s.send(row.method, row.path, row.body); status != http.StatusOK {
				t.Errorf("after the wait: %d %s", status, body)
			}
		})
	}
}

// TestWindowsSlide: what was spent at the end of a minute still counts in the next.
func TestWindowsSlide(t *testing.T) {
	s := newSpender(t, githubsim.Options{Limits: githubsim.Limits{PointsPerMinute: 4}})
	var got []int
	for _, wait := range []time.Duration{0, 30, 0, 0, 0, 30, 0, 30, 0, 0} {
		s.clock.Add(wait * time.Second)
		status, _, _ := s.send(http.MethodGet, reading, "")
		got = append(got, status)
	}
	want := []int{200, 200, 200, 200, 403, 200, 403, 200, 200, 200}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("answers %v; want %v", got, want)
		}
	}
}

// TestPrimaryLimit: GraphQL has an hour of its own, and refuses with 200 and an error.
func TestPrimaryLimit(t *testing.T) {
	s := newSpender(t, githubsim.Options{RateLimit: 3})
	for range 3 {
		s.send(http.MethodGet, reading, "")
	}
	if status, header, _ := s.send(http.MethodPost, "/graphql", graphql(asking)); status != http.StatusOK || header.Get("X-RateLimit-Remaining") != "2" || header.Get("X-RateLimit-Resource") != "graphql" {
		t.Errorf("GraphQL after REST is used up: %d, %v", status, header)
	}
	status, header, body := s.send(http.MethodGet, reading, "")
	reset := must(strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64))
	if status != http.StatusForbidden || header.Get("X-RateLimit-Remaining") != "0" || header.Get("Retry-After") != "" || !strings.Contains(body, "API rate limit exceeded") {
		t.Errorf("the fourth of three: %d, %v, %s", status, header, body)
	}
	for range 2 {
		s.send(http.MethodPost, "/graphql", graphql(asking))
	}
	status, header, body = s.send(http.MethodPost, "/graphql", graphql(asking))
	if status != http.StatusOK || gjson.Get(body, "errors.0.type").String() != "RATE_LIMITED" || header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("GraphQL used up: %d, %v, %s", status, header, body)
	}
	if got := s.sim.Refusals(); got.Primary != 2 {
		t.Errorf("%+v; want two", got)
	}
	s.clock.Add(time.Unix(reset, 0).Sub(s.clock.Now()))
	if status, _, body := s.send(http.MethodGet, reading, ""); status != http.StatusOK {
		t.Errorf("after the reset: %d %s", status, body)
	}
}
