package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
)

const reviewsRoute = "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews"

// A finding is said once on its line, however often it is found again: a push that
// keeps it, a force-push, a re-run and CI say nothing new. The push that fixes it is
// answered in its thread, once, with the commit.
func TestAFindingIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	p := w.open("once", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
	w.review(p.HeadSHA(), "1 finding · 1 high · not reviewed")
	w.idle()
	w.wantCommented(p, "cart/cart.go:3")
	body := p.ReviewComments()[0].Body
	if !strings.HasPrefix(body, "**High · ") || strings.Contains(body, "\u202e") {
		t.Errorf("the comment says %q", body)
	}
	again := func(what string) {
		t.Helper()
		w.idle()
		w.wantCommented(p, "cart/cart.go:3")
		if n := len(p.Reviews()); n != 1 {
			t.Errorf("%s: %d reviews, want the first only", what, n)
		}
	}
	_, err := p.Push(githubsim.Change{Path: "cart/cart.go", Content: "package cart\n\n// more\n\n// allowed \u202e } if admin {\nvar x = 1\n"})
	w.must(err)
	w.review(p.HeadSHA(), "1 finding · 1 high · not reviewed")
	again("a push that moves it")
	_, err = p.ForcePush(githubsim.Change{Path: "cart/cart.go", Content: hiddenLine}, githubsim.Change{Path: "cart/more.go", Content: "package cart\n"})
	w.must(err)
	w.review(p.HeadSHA(), "1 finding · 1 high · not reviewed")
	again("a force-push")
	w.check(p.HeadSHA(), "build", "failure")
	decision := w.await(p.HeadSHA(), concluded("failure", "High · changes requested · "))
	w.must(w.repo.Rerequest(decision.ID, "mona"))
	w.until(func() bool {
		runs := w.ours(p.HeadSHA(), publish.CheckName)
		return len(runs) == 2 && runs[1].Status == "completed"
	}, func() string { return "no second run" })
	again("a re-run")

	_, err = p.Push(githubsim.Change{Path: "cart/cart.go", Content: "package cart\n\nvar x = 1\n"})
	w.must(err)
	w.review(p.HeadSHA(), "")
	fixed := p.HeadSHA()
	w.idle()
	_, err = p.Push(githubsim.Change{Path: "cart/last.go", Content: "package cart\n"})
	w.must(err)
	w.review(p.HeadSHA(), "")
	w.idle()
	threads := p.Threads()
	if len(threads) != 1 || len(threads[0].Comments) != 2 || !strings.HasPrefix(threads[0].Comments[1].Body, "Fixed in "+fixed[:7]) {
		t.Errorf("threads %+v, want one with one answer that names %s", threads, fixed[:7])
	}
	for _, v := range p.Reviews() {
		if v.State != "COMMENTED" {
			t.Errorf("a review is %s: verdicts live in checks", v.State)
		}
	}
	w.verify()
}

// The head is force-pushed away between the decision and its comments: nothing of it
// is posted, nothing is tried again, and the new head has its own.
func TestCase012_ForcePushBeforeTheComments(t *testing.T) {
	w := newWorld(t)
	var p *githubsim.Pull
	opened := make(chan struct{})
	w.sim.Fail(githubsim.Fault{Route: reviewsRoute, Nth: 1, Times: 1, BeforeWork: func(githubsim.Request) {
		<-opened
		if _, err := p.ForcePush(githubsim.Change{Path: "cart/other.go", Content: hiddenLine}); err != nil {
			t.Error(err)
		}
	}})
	p = w.open("gone", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
	old := p.HeadSHA()
	close(opened)
	w.until(func() bool { return p.HeadSHA() != old }, func() string { return "it was not pushed" })
	w.review(p.HeadSHA(), "1 finding · 1 high · not reviewed")
	w.idle()
	w.wantCommented(p, "cart/other.go:3")
	for _, c := range p.ReviewComments() {
		if c.OriginalCommitID != p.HeadSHA() {
			t.Errorf("a comment on %s, want all on the new head", c.OriginalCommitID)
		}
	}
	begun := 0
	for _, q := range w.sim.Requests() {
		if q.Method+" "+q.Route == reviewsRoute {
			begun++
		}
	}
	if begun != 2 {
		t.Errorf("%d reviews were begun, want one for each head", begun)
	}
	w.verify()
}

// GitHub refuses the review for one of its places and does not say which: each is
// added on its own, in one more round.
func TestCase002_ReviewIsRefused(t *testing.T) {
	w := newWorld(t)
	w.sim.Fail(githubsim.Fault{Route: reviewsRoute, Nth: 1, Times: 1, Status: http.StatusUnprocessableEntity,
		Body: `{"message":"Unprocessable Entity","errors":["Line could not be resolved"],"documentation_url":"https://docs.github.com/rest"}`})
	p := w.open("refused", githubsim.Change{Path: "cart/a.go", Content: hiddenLine}, githubsim.Change{Path: "cart/b.go", Content: hiddenLine}, githubsim.Change{Path: "cart/c.go", Content: hiddenLine})
	w.review(p.HeadSHA(), "3 findings · 3 high · not reviewed")
	w.idle()
	w.wantCommented(p, "cart/a.go:3", "cart/b.go:3", "cart/c.go:3")
	if n := len(p.Reviews()); n != 1 {
		t.Errorf("%d reviews, want one", n)
	}
	rounds := 0
	for _, q := range w.sim.Requests() {
		if q.Operation == "AddToReview" {
			rounds++
		}
	}
	if rounds != 1 {
		t.Errorf("%d repair rounds, want one", rounds)
	}
	w.verify()
}

// A person's own reviews and threads are theirs, whatever they say.
func TestPeoplesReviewsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	p := w.open("theirs", githubsim.Change{Path: "cart/cart.go", Content: hiddenLine})
	w.review(p.HeadSHA(), "1 finding · 1 high · not reviewed")
	w.idle()
	copied := p.ReviewComments()[0].Body // our text, marker included, in another's mouth
	_, err := p.SubmitReview("mona", "COMMENT", "mine", githubsim.NewComment{Path: "cart/cart.go", Line: 4, Side: "RIGHT", Body: copied})
	w.must(err)
	_, err = p.Push(githubsim.Change{Path: "cart/cart.go", Content: "package cart\n\nvar x = 1\n"})
	w.must(err)
	w.review(p.HeadSHA(), "")
	w.idle()
	answers := 0
	for _, th := range p.Threads() {
		if len(th.Comments) > 1 {
			answers++
			if th.Comments[0].Author == "mona" {
				t.Error("a person's thread was answered as if it were ours")
			}
		}
	}
	if answers != 1 {
		t.Errorf("%d threads were answered, want ours", answers)
	}
}
