package app_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// These tests hold that a turn never stands for another that was still to come.

// noted is a transport that keeps what was written to check runs.
type noted struct {
	mu   sync.Mutex
	seen []string
}

func (n *noted) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "check-runs") && r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		n.mu.Lock()
		n.seen = append(n.seen, r.Method+" "+string(body))
		n.mu.Unlock()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// conclude lists the conclusions that were written, in their order.
func (n *noted) conclude(conclusion string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, s := range n.seen {
		if strings.Contains(s, `"conclusion":"`+conclusion+`"`) {
			count++
		}
	}
	return count
}

// CI turns red, and somebody comments before the gate was computed again.
func TestCommentInsideTheDebounce(t *testing.T) {
	w := newWorld(t, func(w *world) { w.settings.Debounce = 1500 * time.Millisecond })
	p := w.approved("talk")
	w.check(p.HeadSHA(), "build", "failure")
	w.must(w.sim.WaitIdle(t.Context()))
	w.until(func() bool {
		var n int
		w.must(w.service.Store().DB().QueryRowContext(t.Context(), `SELECT count(*) FROM subjects WHERE kind = 'pull' AND want_gen > done_gen`).Scan(&n))
		return n == 1
	}, func() string { return "nobody was woken" })
	_, err := p.Comment("mona", "why is it red?")
	w.must(err)
	w.await(p.HeadSHA(), concluded("failure", "Low · changes requested"))
}

// A retry goes on with the check that is there.
func TestRetryKeepsItsCheck(t *testing.T) {
	n := &noted{}
	w := newWorld(t, func(w *world) { w.base = n })
	w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Times: 3, Status: http.StatusBadGateway})
	p := w.docs("retry")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	if n.conclude("cancelled") > 0 || len(w.ours(p.HeadSHA(), publish.CheckName)) != 1 {
		t.Errorf("the retry ended the check of its own head: %v", n.seen)
	}
}

// A re-run on a head that two pull requests share never shows the other's green.
func TestSharedHeadRerun(t *testing.T) {
	n := &noted{}
	w := newWorld(t, func(w *world) { w.base = n })
	draft := w.draftAndTwin()
	first := w.await(draft.HeadSHA(), concluded("action_required", "Draft"))
	w.must(w.repo.Rerequest(first.ID, "mona"))
	w.await(draft.HeadSHA(), func(run githubsim.CheckRun) bool { return run.ID != first.ID && run.Conclusion == "action_required" })
	w.idle()
	if n.conclude("success") > 0 {
		t.Errorf("green while a draft is on this head: %v", n.seen)
	}
}

// A pull request is closed while the retry of its session has read nothing yet.
func TestClosedWhileNothingIsRead(t *testing.T) {
	w := newWorld(t)
	undo := w.sim.Fail(githubsim.Fault{Route: compareRoute, Nth: 1, Times: 3, Status: http.StatusBadGateway})
	p := w.docs("gone")
	errors := func(n int) {
		w.until(func() bool { return len(w.records(p.Number(), trail.TypeRunError)) >= n }, func() string { return "no error" })
	}
	errors(1)
	undo()
	undo = w.sim.Fail(githubsim.Fault{Route: "POST /graphql", Status: http.StatusBadGateway})
	errors(2)
	undo()
	w.must(p.Close(false))
	w.await(p.HeadSHA(), concluded("cancelled", "Closed"))
}

// A closed pull request speaks no more on a head that another one takes up.
func TestClosedPullSpeaksNoMore(t *testing.T) {
	w := newWorld(t)
	p := w.docs("first")
	w.await(p.HeadSHA(), waiting("Low"))
	w.check(p.HeadSHA(), "build", "failure")
	w.await(p.HeadSHA(), concluded("failure", "Low"))
	w.must(p.Close(false))
	w.idle()
	w.must(w.repo.CreateBranch("second", p.HeadSHA()))
	_, err := w.repo.OpenPull(githubsim.PullSpec{Title: "The same once more", Body: "Because the shop needs it.", Author: "mona", Head: "second"})
	w.must(err)
	w.idle()
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
}

// A re-run whose first attempt fails is made by the next one, and by that alone.
func TestRerunIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	p := w.approved("again")
	undo := w.sim.Fail(githubsim.Fault{Route: "POST /graphql", Status: http.StatusBadGateway})
	w.must(w.repo.Rerequest(w.ours(p.HeadSHA(), publish.CheckName)[0].ID, "mona"))
	w.until(func() bool { return len(w.records(p.Number(), trail.TypeRunError)) >= 1 }, func() string { return "no error" })
	undo()
	w.until(func() bool { return len(w.ours(p.HeadSHA(), publish.CheckName)) == 2 }, func() string { return "no second run" })
	w.idle()
	sessions := w.sessions(p.Number())
	_, err := p.Comment("stranger", "nice")
	w.must(err)
	w.idle()
	if got := w.sessions(p.Number()); got != sessions {
		t.Errorf("a comment started a session: %d, then %d", sessions, got)
	}
}
