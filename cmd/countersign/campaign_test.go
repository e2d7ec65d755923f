package main_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
)

// oneCall is one request of a story: the n-th of its kind.
type oneCall struct {
	route, operation string
	nth              int
}

func (c oneCall) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s", c.route, c.operation)) + fmt.Sprintf(" (%d)", c.nth)
}

// callsOf lists the requests of a run, in their order.
func callsOf(requests []githubsim.Request) []oneCall {
	seen := make(map[string]int)
	var out []oneCall
	for _, r := range requests {
		c := oneCall{route: r.Method + " " + r.Route, operation: r.Operation}
		if c.route == "GET /app" { // the question at each start, which stops it
			continue
		}
		seen[c.route+c.operation]++
		c.nth = seen[c.route+c.operation]
		out = append(out, c)
	}
	return out
}

// trouble is one way in which GitHub, the network or the machine fails at a call.
type trouble struct {
	name  string
	fault func(s *story) githubsim.Fault
	// long: it costs so much time that only the whole campaign has it.
	long bool
}

func troubles() []trouble {
	const again = 3 // outlasts the tries of one call, so that the turn fails
	plain := func(f githubsim.Fault) func(*story) githubsim.Fault {
		return func(*story) githubsim.Fault { return f }
	}
	retryAfter := map[string]string{"Retry-After": "1"}
	secondary := `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
	return []trouble{
		{name: "500", fault: plain(githubsim.Fault{Status: 500})},
		{name: "502", fault: plain(githubsim.Fault{Status: 502, Times: again})},
		{name: "502 though it was done", fault: plain(githubsim.Fault{Status: 502, After: true})},
		{name: "403 secondary limit", fault: plain(githubsim.Fault{Status: 403, Header: retryAfter, Body: secondary})},
		{name: "429", fault: plain(githubsim.Fault{Status: 429, Header: retryAfter})},
		{name: "403 without Retry-After", fault: plain(githubsim.Fault{Status: 403, Body: secondary}), long: true},
		{name: "401", fault: plain(githubsim.Fault{Status: http.StatusUnauthorized, Body: `{"message":"Bad credentials"}`})},
		{name: "token expires", fault: plain(githubsim.TokenExpired())},
		{name: "primary limit", fault: func(*story) githubsim.Fault { return githubsim.PrimaryLimit(time.Now().Add(2 * time.Second)) }},
		{name: "timeout", fault: plain(githubsim.Fault{Hang: true})},
		{name: "timeout though it was done", fault: plain(githubsim.Fault{Hang: true, After: true})},
		{name: "reset", fault: plain(githubsim.Fault{Reset: true, Times: again})},
		{name: "reset though it was done", fault: plain(githubsim.Fault{Reset: true, After: true})},
		{name: "stale list", fault: plain(githubsim.Fault{Stale: true})},
		{name: "kill -9 before", fault: func(s *story) githubsim.Fault { return githubsim.Fault{Drop: true, BeforeWork: s.murder} }},
		{name: "kill -9 after", fault: func(s *story) githubsim.Fault { return githubsim.Fault{AfterWork: s.murder} }},
	}
}

func newStory(t testing.TB) *story {
	s := &story{site: newSite(t), lb: newBalancer(t), whole: os.Getenv("CAMPAIGN") != ""}
	s.app.SetWebhook(s.lb.srv.URL, hookSecret)
	s.env = []string{"COUNTERSIGN_GITHUB_TIMEOUT=2s"}
	return s
}

// Every GitHub call of whole sessions, each failing in every way: what people see
// in the end is what they see when nothing fails. CAMPAIGN=whole (`make campaign`)
// tells the whole story, otherwise its first part.
func TestEveryCallFailsInEveryWay(t *testing.T) {
	quiet := newStory(t)
	want := quiet.tell()
	calls := callsOf(quiet.sim.Requests())
	quiet.end()
	t.Logf("an undisturbed story has %d calls and ends with\n%s", len(calls), want)

	var mu sync.Mutex
	ran, missed := make(map[string]int), 0
	t.Run("all", func(t *testing.T) {
		for _, c := range calls {
			for _, tr := range troubles() {
				if tr.long && os.Getenv("CAMPAIGN") == "" {
					continue
				}
				t.Run(c.String()+" "+tr.name, func(t *testing.T) {
					t.Parallel()
					hit := disturbed(t, c, tr, want)
					mu.Lock()
					defer mu.Unlock()
					ran[tr.name]++
					if !hit {
						missed++
					}
				})
			}
		}
	})
	total := 0
	for _, n := range ran {
		total += n
	}
	if !t.Failed() && total > 0 {
		t.Logf("%d disturbed runs over %d calls: 0 duplicates, 0 false green, 0 silent; each ended as the undisturbed one. The fault was not met in %d. %v", total, len(calls), missed, ran)
	}
	if missed > total/10 {
		t.Errorf("%d of %d faults were never met: the campaign shows less than it says", missed, total)
	}
}

// disturbed tells the story with one call failing, and reports whether it was made.
func disturbed(t *testing.T, c oneCall, tr trouble, want string) (hit bool) {
	s := newStory(t)
	f := tr.fault(s)
	f.Route, f.Operation, f.Nth = c.route, c.operation, c.nth
	if f.Times == 0 {
		f.Times = 1
	}
	var met atomic.Bool
	act := f.BeforeWork
	f.BeforeWork = func(q githubsim.Request) {
		met.Store(true)
		if act != nil {
			act(q)
		}
	}
	s.sim.Fail(f)
	s.tell()
	s.equals(want)
	return met.Load()
}
