package githubsim_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

func TestCase047_Faults(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	token := "token " + w.sim.UserToken("mona")
	const route = "GET /repos/{owner}/{repo}"
	ask := func() int {
		req := must(http.NewRequestWithContext(context.Background(), http.MethodGet, w.url+"/repos/acme/shop", nil))
		req.Header.Set("Authorization", token)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for name, row := range map[string]struct {
		fault githubsim.Fault
		want  []int
	}{
		"the first two":  {githubsim.Fault{Route: route, Times: 2, Status: 401}, []int{401, 401, 200}},
		"the second":     {githubsim.Fault{Route: route, Nth: 2, Status: 502}, []int{200, 502, 200}},
		"every":          {githubsim.Fault{Route: "*", Status: 500}, []int{500, 500, 500}},
		"dropped":        {githubsim.Fault{Route: route, Nth: 1, Drop: true}, []int{0, 200, 200}},
		"late":           {githubsim.Fault{Route: route, Nth: 1, Delay: time.Millisecond}, []int{200, 200, 200}},
		"another method": {githubsim.Fault{Route: "POST /repos/{owner}/{repo}", Status: 500}, []int{200, 200, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			undo := w.sim.Fail(row.fault)
			defer undo()
			w.sim.ResetRequests()
			for i, want := range row.want {
				if got := ask(); got != want {
					t.Errorf("request %d answered %d; want %d", i+1, got, want)
				}
			}
			if log := w.sim.Requests(); len(log) != 3 || log[0].Route != "/repos/{owner}/{repo}" {
				t.Errorf("request log: %+v; want three of the route", log)
			}
		})
	}
}

// TestFaultAfterTheWork: the comment is there although the caller was told it failed.
func TestFaultAfterTheWork(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	w.sim.Fail(githubsim.Fault{Route: "POST /repos/{owner}/{repo}/issues/{issue_number}/comments", Nth: 1, Status: 502, After: true})
	_, resp, err := w.gh.Issues.CreateComment(context.Background(), "acme", "shop", 1, &github.IssueComment{Body: github.String("hi")})
	if err == nil || resp.StatusCode != http.StatusBadGateway || len(p.Comments()) != 1 {
		t.Errorf("%v, %d comments; want 502 and one comment", err, len(p.Comments()))
	}
}

// TestFaultsCountTheRoutesCalls: a fault's call number is the route's, whatever another fault did.
func TestFaultsCountTheRoutesCalls(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	token := "token " + w.sim.UserToken("mona")
	const route = "GET /repos/{owner}/{repo}"
	w.sim.Fail(githubsim.Fault{Route: route, Nth: 1, Status: 502})
	w.sim.Fail(githubsim.Fault{Route: route, Nth: 3, Status: 429, Header: map[string]string{"Retry-After": "7"}})
	w.sim.Fail(githubsim.Fault{Route: "*", Nth: 5, Status: 500})
	for i, want := range []int{502, 200, 429, 200, 500, 200} {
		if got, _ := w.get("/repos/acme/shop", token); got != want {
			t.Errorf("call %d answered %d; want %d", i+1, got, want)
		}
	}
	w.sim.Fail(githubsim.Fault{Route: "*", Status: 500})
	w.sim.ClearFaults()
	if got, _ := w.get("/repos/acme/shop", token); got != http.StatusOK {
		t.Errorf("without faults: %d; want 200", got)
	}
}

func TestFaultsDelay(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	token := "token " + w.sim.UserToken("mona")
	const wait = 50 * time.Millisecond
	w.sim.Fail(githubsim.Fault{Route: "GET /repos/{owner}/{repo}", Times: 1, Delay: wait, Status: 503})
	start := time.Now()
	if got, _ := w.get("/repos/acme/shop", token); got != http.StatusServiceUnavailable || time.Since(start) < wait {
		t.Errorf("answered %d after %s; want 503 after at least %s", got, time.Since(start), wait)
	}
}

// TestDroppedAfterTheWork: the run is there although no answer came.
func TestDroppedAfterTheWork(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	w.sim.Fail(githubsim.Fault{Route: "POST /repos/{owner}/{repo}/check-runs", Nth: 1, Drop: true, After: true})
	_, resp, err := w.gh.Checks.CreateCheckRun(context.Background(), "acme", "shop", github.CreateCheckRunOptions{Name: "countersign", HeadSHA: p.HeadSHA()})
	if err == nil || resp != nil || len(w.repo.CheckRuns(p.HeadSHA())) != 1 {
		t.Errorf("%v, %d runs; want no answer and one run", err, len(w.repo.CheckRuns(p.HeadSHA())))
	}
	log := w.sim.Requests()
	if last := log[len(log)-1]; last.Status != 0 || last.App != "countersign" {
		t.Errorf("the request log ends in %+v; want status 0 by countersign", last)
	}
}
