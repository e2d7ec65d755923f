package githubsim_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"
	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

// events lists what was sent, as event.action.
func (w *world) events() []string {
	var out []string
	for _, d := range w.sim.Deliveries() {
		out = append(out, strings.Trim(d.Event+"."+d.Action, "."))
	}
	return out
}

// last is the newest delivery of an event and action.
func (w *world) last(event, action string) gjson.Result {
	w.t.Helper()
	var found gjson.Result
	for _, d := range w.sim.Deliveries() {
		if d.Event == event && d.Action == action {
			found = gjson.ParseBytes(d.Body)
		}
	}
	if !found.Exists() {
		w.t.Fatalf("no %s %s among %v", event, action, w.events())
	}
	return found
}

func TestCase075_DeliveriesAreSigned(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.pull()
	if err := w.app.Ping(); err != nil {
		t.Fatal(err)
	}
	w.idle()
	hooks, log := w.bot.hooks(), w.sim.Deliveries()
	if len(hooks) != len(log) || len(hooks) < 3 {
		t.Fatalf("%d arrived of %d sent; want all", len(hooks), len(log))
	}
	for i, h := range hooks {
		req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(string(h.body)))
		req.Header = h.header
		if _, err := github.ValidatePayload(req, []byte("s3cret")); err != nil {
			t.Errorf("delivery %d: %v", i, err)
		}
		if _, err := github.ParseWebHook(github.WebHookType(req), h.body); err != nil {
			t.Errorf("delivery %d (%s): %v", i, github.WebHookType(req), err)
		}
		if h.header.Get("X-GitHub-Event") != log[i].Event || github.DeliveryID(req) != log[i].GUID {
			t.Errorf("delivery %d is %s %s; want %s %s: they arrive in order", i, h.header.Get("X-GitHub-Event"), github.DeliveryID(req), log[i].Event, log[i].GUID)
		}
		if !strings.HasPrefix(h.header.Get("User-Agent"), "GitHub-Hookshot/") || h.header.Get("Content-Type") != "application/json" ||
			h.header.Get("X-GitHub-Hook-Installation-Target-ID") != "4711" {
			t.Errorf("delivery %d: header %v", i, h.header)
		}
	}
}

func TestCase056_HeldDeliveriesInAnyOrder(t *testing.T) {
	w := newWorld(t, githubsim.Options{HoldWebhooks: true})
	p := w.pull()
	must(p.Push(githubsim.Change{Path: "b", Content: "b"}))
	ctx := context.Background()
	byKey := map[string]string{}
	for _, d := range w.sim.Held() {
		byKey[d.Event+"."+d.Action] = d.GUID
	}
	for _, key := range []string{"pull_request.synchronize", "pull_request.opened"} {
		if _, err := w.sim.DeliverHeld(ctx, byKey[key]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.sim.DropHeld(byKey["installation.created"]); err != nil {
		t.Fatal(err)
	}
	first := w.sim.Held()[0]
	next, err := w.sim.DeliverNext(ctx)
	if err != nil || next.GUID != first.GUID {
		t.Errorf("next is %s (%v); want %s", next.GUID, err, first.GUID)
	}
	var got []string
	for _, h := range w.bot.hooks() {
		got = append(got, h.header.Get("X-GitHub-Event")+"."+gjson.GetBytes(h.body, "action").String())
	}
	if len(got) != 3 || got[0] != "pull_request.synchronize" || got[1] != "pull_request.opened" {
		t.Errorf("arrived: %v", got)
	}
	w.sim.Release()
	w.idle()
	if len(w.sim.Held()) != 0 || len(w.bot.hooks()) != len(w.sim.Deliveries())-1 {
		t.Errorf("%d held, %d of %d arrived; want all but the one dropped", len(w.sim.Held()), len(w.bot.hooks()), len(w.sim.Deliveries()))
	}
}

func TestCase061_ForkChecksNameNoPull(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	fork := must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "eve", Name: "shop", UserOwned: true, ForkOf: w.repo}))
	p := must(w.repo.OpenPull(githubsim.PullSpec{Title: "x", Head: "x", HeadRepo: fork, Changes: []githubsim.Change{{Path: "x", Content: "x"}}}))
	must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success"}))
	run, suite := w.last("check_run", "completed"), w.last("check_suite", "completed")
	if run.Get("check_run.pull_requests.#").Int() != 0 || suite.Get("check_suite.pull_requests.#").Int() != 0 {
		t.Error("check events of a fork's commit name a pull request")
	}
	if suite.Get("check_suite.head_branch").Type != gjson.Null || suite.Get("check_suite.head_sha").String() != p.HeadSHA() {
		t.Errorf("head_branch is %s; want null", suite.Get("check_suite.head_branch"))
	}
	own := must(w.repo.OpenPull(githubsim.PullSpec{Title: "y", Head: "y", Changes: []githubsim.Change{{Path: "y", Content: "y"}}}))
	must(w.repo.SetCheck(own.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success"}))
	if run := w.last("check_run", "completed"); run.Get("check_run.pull_requests.0.number").Int() != int64(own.Number()) {
		t.Errorf("check_run of a branch here names %s; want it", run.Get("check_run.pull_requests"))
	}
}

func TestCase063_DeletedFork(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	fork := must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "eve", Name: "shop", UserOwned: true, ForkOf: w.repo}))
	p := must(w.repo.OpenPull(githubsim.PullSpec{Title: "x", Head: "x", HeadRepo: fork, Changes: []githubsim.Change{{Path: "x", Content: "x"}}}))
	w.idle()
	if got := w.last("pull_request", "opened").Get("pull_request.head.repo.full_name").String(); got != "eve/shop" {
		t.Errorf("head.repo is %q; want eve/shop", got)
	}
	fork.Delete()
	body := "edited"
	if err := p.Edit(githubsim.PullEdit{Body: &body}); err != nil {
		t.Fatal(err)
	}
	got := w.last("pull_request", "edited").Get("pull_request.head")
	if got.Get("repo").Type != gjson.Null || got.Get("user").Type != gjson.Null || got.Get("sha").String() != p.HeadSHA() {
		t.Errorf("head is %s; want no repository and no user", got)
	}
	pr, _, err := w.gh.PullRequests.Get(context.Background(), "acme", "shop", p.Number())
	if err != nil || pr.GetHead().GetRepo() != nil {
		t.Errorf("GET: head.repo %v, %v", pr.GetHead().GetRepo(), err)
	}
	if _, _, err := w.gh.Git.GetRef(context.Background(), "acme", "shop", "pull/1/head"); err != nil {
		t.Errorf("refs/pull/1/head is still there: %v", err)
	}
	if _, err := p.Push(githubsim.Change{Path: "z", Content: "z"}); err == nil {
		t.Error("a push to a fork that is gone worked")
	}
}

func TestCase064_PullRequestEvents(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	if err := w.repo.CreateBranch("release", "main"); err != nil {
		t.Fatal(err)
	}
	p := w.pull()
	before := p.HeadSHA()
	base, title := "release", "Other"
	steps := []struct {
		do     func() error
		action string
		path   string
		want   string
	}{
		{func() error { return p.Edit(githubsim.PullEdit{Base: &base}) }, "edited", "changes.base.ref.from", "main"},
		{func() error { return p.Edit(githubsim.PullEdit{Title: &title}) }, "edited", "changes.title.from", "Say hello"},
		{p.ConvertToDraft, "converted_to_draft", "pull_request.draft", "true"},
		{p.ReadyForReview, "ready_for_review", "pull_request.draft", "false"},
		{func() error { _, err := p.Push(githubsim.Change{Path: "b", Content: "b"}); return err }, "synchronize", "before", before},
		{func() error { _, err := p.ForcePush(githubsim.Change{Path: "c", Content: "c"}); return err }, "synchronize", "pull_request.commits", "1"},
		{func() error { return p.ResetTo(before) }, "synchronize", "after", before},
		{func() error { return p.Close(false) }, "closed", "pull_request.merged", "false"},
		{p.Reopen, "reopened", "pull_request.state", "open"},
		{func() error { return p.Close(true) }, "closed", "pull_request.merged", "true"},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		got := w.last("pull_request", s.action)
		if v := got.Get(s.path).String(); v != s.want || got.Get("number").Int() != 1 || got.Get("installation.id").Int() != w.inst.ID() ||
			got.Get("organization.login").String() != "acme" || got.Get("repository.default_branch").String() != "main" {
			t.Errorf("%s: %s is %q; want %q", s.action, s.path, v, s.want)
		}
	}
	if got := w.last("push", "").Get("ref").String(); got != "refs/heads/release" {
		t.Errorf("the last push was to %s; want the merge's", got)
	}
}

func TestCase069_MergeGroup(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	must(w.repo.Commit("main", "meanwhile", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "z", Content: "z"}}}))
	g := must(w.repo.MergeGroup("main", p))
	got := w.last("merge_group", "checks_requested").Get("merge_group")
	want := "refs/heads/gh-readonly-queue/main/pr-1-" + w.repo.Branch("main")
	if got.Get("head_ref").String() != want || got.Get("head_sha").String() != g.HeadSHA() || got.Get("base_ref").String() != "refs/heads/main" {
		t.Errorf("merge group: %s; want %s", got, want)
	}
	if text := must(w.repo.File(g.HeadSHA(), "z")); text != "z" {
		t.Errorf("the group's commit lacks the base's change")
	}
	if err := g.Destroy("merged"); err != nil {
		t.Fatal(err)
	}
	if got := w.last("merge_group", "destroyed").Get("reason").String(); got != "merged" {
		t.Errorf("reason %q", got)
	}
}

func TestCase071_RerequestsReachTheirOwnApp(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "lint", App: 9001, Conclusion: "success"}))
	w.idle()
	count := func() int {
		n := 0
		for _, e := range w.events() {
			if e == "check_suite.rerequested" {
				n++
			}
		}
		return n
	}
	if err := w.repo.RerequestSuite(p.HeadSHA(), 9001); err != nil || count() != 0 {
		t.Errorf("another App's rerequest reached ours (%v)", err)
	}
	if err := w.repo.RerequestSuite(p.HeadSHA(), w.app.ID()); err != nil || count() != 1 {
		t.Errorf("our rerequest came %d times (%v); want once", count(), err)
	}
}

func TestCase037_LargePayloads(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	// In this order: the event of an edit also carries the body that was.
	for _, row := range []struct {
		size  int
		state string
	}{{3 << 20, "delivered"}, {26 << 20, "dropped"}} {
		body := strings.Repeat("x", row.size)
		if err := p.Edit(githubsim.PullEdit{Body: &body}); err != nil {
			t.Fatal(err)
		}
		w.idle()
		log := w.sim.Deliveries()
		if d := log[len(log)-1]; d.State != row.state {
			t.Errorf("a payload of over %d bytes is %s; want %s", row.size, d.State, row.state)
		}
	}
}

func TestBurstOfPushes(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	for i := range 50 {
		must(p.Push(githubsim.Change{Path: "n", Content: strings.Repeat("x", i)}))
	}
	w.idle()
	last := p.HeadSHA()
	if got := w.last("pull_request", "synchronize").Get("after").String(); got != last {
		t.Errorf("the last synchronize is about %s; want %s", got, last)
	}
	for _, d := range w.sim.Deliveries() {
		if d.State != "delivered" {
			t.Errorf("%s %s is %s", d.Event, d.Action, d.State)
		}
	}
}

func TestCloseWhileABotHangs(t *testing.T) {
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hang.Close()
	defer close(release)
	sim := must(githubsim.New(githubsim.Options{}))
	repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"}))
	app := must(sim.AddApp(githubsim.App{Slug: "slow", WebhookURL: hang.URL, Key: must(sharedKey())}))
	must(sim.Install(app, "acme", repo))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sim.WaitIdle(ctx); err == nil {
		t.Error("WaitIdle says idle while a delivery hangs")
	}
	if err := sim.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestPayloadsWithoutDelivering(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	run := must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success"}))
	if err := w.repo.SetStatus(p.HeadSHA(), "ci", "success"); err != nil {
		t.Fatal(err)
	}
	comment := must(p.Comment("mona", "/review"))
	g := must(w.repo.MergeGroup("main", p))
	n := len(w.sim.Deliveries())
	for _, row := range []struct {
		event, action string
		body          []byte
	}{
		{"pull_request", "opened", must(p.Payload(w.app, "opened"))},
		{"pull_request", "synchronize", must(p.Payload(w.app, "synchronize"))},
		{"pull_request", "edited", must(p.Payload(nil, "edited"))},
		{"pull_request_review", "submitted", must(p.ReviewPayload(w.app, "submitted", githubsim.Review{Author: "mona", State: "approved"}))},
		{"pull_request_review", "dismissed", must(p.ReviewPayload(w.app, "dismissed", githubsim.Review{Author: "mona", State: "dismissed"}))},
		{"check_run", "completed", must(w.repo.CheckRunPayload(w.app, run.ID, "completed"))},
		{"check_suite", "completed", must(w.repo.CheckSuitePayload(w.app, run.SuiteID, "completed"))},
		{"status", "", must(w.repo.StatusPayload(w.app, p.HeadSHA(), "ci"))},
		{"issue_comment", "created", must(w.repo.CommentPayload(w.app, comment, "created"))},
		{"push", "", must(w.repo.PushPayload(w.app, "main"))},
		{"merge_group", "checks_requested", must(g.Payload(w.app, "checks_requested"))},
		{"installation", "created", must(w.inst.Payload("created"))},
	} {
		if !w.check.Webhook(row.event, row.action, row.body) {
			t.Errorf("%s %s was not judged", row.event, row.action)
		}
		if v, err := github.ParseWebHook(row.event, row.body); err != nil {
			t.Errorf("%s %s: %v (%T)", row.event, row.action, err, v)
		}
	}
	if len(w.sim.Deliveries()) != n {
		t.Error("building a payload sent it")
	}
}
