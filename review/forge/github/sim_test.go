package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/githubsim/apicheck"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/forge/github"
)

var simKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// world is a simulated GitHub with one repository and our App on it. All traffic
// is held against GitHub's own API description.
type world struct {
	sim    *githubsim.Sim
	repo   *githubsim.Repo
	host   *github.Host
	client forge.Client
	ref    forge.Repo
}

func newWorld(t *testing.T, opts githubsim.Options, app githubsim.App) *world {
	t.Helper()
	sim := must(githubsim.New(opts))(t)
	t.Cleanup(func() { _ = sim.Close() })
	url := must(sim.Start())(t)
	repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "api"}))(t)
	must(repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "README.md", Content: "# api\n"}, {Path: "cmd/run.sh", Content: "echo\n"}, {Path: "auth/session.go", Content: "package auth\n\nvar A = 1\n"},
		{Path: "img/logo.png", Content: "\x89PNG\x00\x01"},
	}}))(t)
	app.ID, app.Slug, app.Key = 4711, "countersign", must(simKey())(t)
	handle := must(sim.AddApp(app))(t)
	inst := must(sim.Install(handle, "acme", repo))(t)

	checker := must(apicheck.Open("../../../testdata/github/api-reduced.json"))(t)
	t.Cleanup(func() {
		for _, v := range checker.Violations() {
			t.Errorf("against GitHub's description: %s", v)
		}
	})
	host := must(github.New(github.Options{AppID: 4711, PrivateKeyPEM: handle.PrivateKeyPEM(), RESTURL: url, Now: opts.Clock,
		Transport: checker.Transport(http.DefaultTransport)}))(t)
	client := must(host.Client(inst.ID()))(t)
	return &world{sim: sim, repo: repo, host: host, client: client,
		ref: forge.Repo{ID: repo.ID(), Owner: "acme", Name: "api", Installation: inst.ID()}}
}

// must fails the test on an error: must(f())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w *world) open(t *testing.T, spec githubsim.PullSpec) (*githubsim.Pull, forge.PullRef) {
	t.Helper()
	pull := must(w.repo.OpenPull(spec))(t)
	return pull, forge.PullRef{Repo: w.ref, Number: pull.Number()}
}

func TestFirstSessionAgainstTheSimulator(t *testing.T) {
	w := newWorld(t, githubsim.Options{}, githubsim.App{})
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: 15368})
	w.repo.AddRuleset([]string{"main"}, githubsim.CheckRef{Context: "scan", AppID: 9001})
	pull, ref := w.open(t, githubsim.PullSpec{Title: "Renew sessions", Body: "Because.", Author: "mona", Head: "renew", Labels: []string{"auth"},
		Changes: []githubsim.Change{
			{Path: "auth/session.go", Content: "package auth\n\nvar A = 2\n"},
			{Path: "cmd/run.sh", Mode: "100755"},
			{Path: "README.md", RenameTo: "docs/index.md"},
			{Path: "img/logo.png", Content: "\x89PNG\x00\x02"},
		}})
	must(w.repo.SetCheck(pull.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success", Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml"}}))(t)
	if err := w.repo.SetStatus(pull.HeadSHA(), "ci/x", "pending"); err != nil {
		t.Fatal(err)
	}
	w.sim.ResetRequests()

	calls := &forge.Calls{}
	ctx := forge.WithCalls(t.Context(), calls)
	p := must(w.client.Pull(ctx, ref))(t)
	cmp := must(w.client.Compare(ctx, w.ref, p.BaseSHA, p.HeadSHA))(t)
	rules := must(w.client.BranchRules(ctx, w.ref, p.BaseRef))(t)
	permission := must(w.client.Permission(ctx, w.ref, p.Author.Login))(t)
	snap := must(w.client.Snapshot(ctx, forge.SnapshotRequest{Pull: ref, Head: p.HeadSHA, MergeBase: cmp.MergeBase, Dirs: []string{"", "auth", "cmd", "docs", "img"}}))(t)

	if n := calls.Total(); n != 7 || len(w.sim.Requests()) != 7 {
		t.Errorf("a cold session took %d calls, GitHub saw %d, want 7: %v", n, len(w.sim.Requests()), calls.ByRoute())
	}
	if p.Title != "Renew sessions" || p.Author.Login != "mona" || p.HeadSHA != pull.HeadSHA() || p.ChangedFiles != 4 || p.CommitsTotal != 1 || p.UpdatedAt.IsZero() || p.Labels[0] != "auth" {
		t.Errorf("pull %+v", p)
	}
	if !cmp.Complete || len(cmp.Files) != 4 || cmp.MergeBase != p.BaseSHA {
		t.Errorf("comparison %+v", cmp)
	}
	if got := fmt.Sprint(rules.Required); got != "[{build 15368 branch protection} {scan 9001 ruleset}]" {
		t.Errorf("rules %s", got)
	}
	if permission == forge.PermissionNone || permission.CanWrite() {
		t.Errorf("permission %q", permission)
	}
	checkModes(t, snap)
	checkRows(t, snap)
}

func checkModes(t *testing.T, snap forge.Snapshot) {
	t.Helper()
	for path, want := range map[string][2]string{"cmd/run.sh": {"100644", "100755"}, "auth/session.go": {"100644", "100644"}, "README.md": {"100644", ""}, "docs/index.md": {"", "100644"}} {
		if snap.Base[path].Mode != want[0] || snap.Head[path].Mode != want[1] {
			t.Errorf("%s: modes %q, %q", path, snap.Base[path].Mode, snap.Head[path].Mode)
		}
	}
	if snap.Base["README.md"].OID != snap.Head["docs/index.md"].OID || len(snap.Unread) != 0 {
		t.Errorf("the renamed file is another one, or unread: %v", snap.Unread)
	}
}

func checkRows(t *testing.T, snap forge.Snapshot) {
	t.Helper()
	if !snap.ChecksComplete || len(snap.Checks) != 2 {
		t.Fatalf("checks %+v", snap.Checks)
	}
	for _, c := range snap.Checks {
		switch c.Kind {
		case forge.CheckRun:
			if c.Name != "build" || c.AppID != 15368 || c.Workflow != ".github/workflows/ci.yml" || c.Event != "pull_request" || c.Conclusion != "success" || c.ID == 0 {
				t.Errorf("check run %+v", c)
			}
		case forge.CommitStatus:
			if c.Name != "ci/x" || c.Status != "pending" || c.Conclusion != "" {
				t.Errorf("status %+v", c)
			}
		}
	}
}

func TestPatchReadersAgainstTheSimulator(t *testing.T) {
	w := newWorld(t, githubsim.Options{}, githubsim.App{})
	var changes []githubsim.Change
	for i := range 301 {
		changes = append(changes, githubsim.Change{Path: fmt.Sprintf("gen/f%03d.txt", i), Content: fmt.Sprintln(i)})
	}
	changes = append(changes, githubsim.Change{Path: "cmd/run.sh", Delete: true})
	pull, ref := w.open(t, githubsim.PullSpec{Title: "Many", Author: "mona", Head: "many", Changes: changes})
	ctx := t.Context()
	cmp := must(w.client.Compare(ctx, w.ref, pull.BaseSHA(), pull.HeadSHA()))(t)
	if cmp.Complete || len(cmp.Files) != 300 {
		t.Errorf("case-024: %d files, complete %v", len(cmp.Files), cmp.Complete)
	}
	files := must(w.client.PullFiles(ctx, ref))(t)
	if len(files) != 302 {
		t.Fatalf("case-024: %d files listed", len(files))
	}
	for _, f := range files[:3] {
		data := must(w.client.Blob(ctx, w.ref, f.Blob, 1000))(t)
		if len(data) == 0 {
			t.Errorf("%s is empty", f.Path)
		}
	}
	tree, complete, err := w.client.Tree(ctx, w.ref, pull.HeadSHA())
	if err != nil || !complete || tree["gen/f007.txt"].Mode != "100644" || tree["gen"].Mode != "040000" {
		t.Errorf("tree: %v, %v, %d entries", err, complete, len(tree))
	}
	if pulls := must(w.client.PullsByHead(ctx, w.ref, pull.HeadSHA()))(t); len(pulls) != 1 || pulls[0] != ref.Number {
		t.Errorf("pulls at the head: %v", pulls)
	}
	_, err = w.client.Compare(ctx, w.ref, pull.BaseSHA(), strings.Repeat("0", 40))
	if !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("an unknown commit: %v", err)
	}
	if _, err := w.client.BranchRules(ctx, w.ref, "gone"); !forge.IsKind(err, forge.KindNotFound) {
		t.Errorf("an unknown branch: %v", err)
	}
}

func TestChecksAgainstTheSimulator(t *testing.T) {
	w := newWorld(t, githubsim.Options{}, githubsim.App{})
	pull, _ := w.open(t, githubsim.PullSpec{Title: "One", Author: "mona", Head: "one", Changes: []githubsim.Change{{Path: "a", Content: "a\n"}}})
	ctx, sha := t.Context(), pull.HeadSHA()
	write := forge.CheckWrite{Name: "countersign", HeadSHA: sha, ExternalID: "1:main:s1", Status: "in_progress", Title: "t", Summary: "s", StartedAt: time.Now(),
		Actions: []forge.Action{{Label: "Re-review", Description: "Review again", Identifier: "rereview"}}}
	first := must(w.client.CreateCheck(ctx, w.ref, write))(t)
	second := must(w.client.CreateCheck(ctx, w.ref, write))(t)
	write.Status, write.Conclusion, write.Title, write.Actions = "completed", "success", "done", nil
	write.Annotations = []forge.Annotation{{Path: "a", StartLine: 1, EndLine: 1, Level: "notice", Message: "m"}}
	if err := w.client.UpdateCheck(ctx, w.ref, second, write); err != nil {
		t.Fatal(err)
	}
	own := must(w.client.OwnChecks(ctx, w.ref, sha, "countersign"))(t)
	if len(own) != 2 || own[0].ID != second || own[1].ID != first || own[0].Conclusion != "success" || own[0].ExternalID != "1:main:s1" || own[0].Annotations != 1 || own[1].Annotations != 0 {
		t.Errorf("own checks %+v", own)
	}
	if other := must(w.client.OwnChecks(ctx, w.ref, sha, "countersign / review"))(t); len(other) != 0 {
		t.Errorf("checks of another name: %+v", other)
	}
	write.HeadSHA = strings.Repeat("0", 40)
	if _, err := w.client.CreateCheck(ctx, w.ref, write); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("an unknown head: %v", err)
	}
}

func TestFaultsAgainstTheSimulator(t *testing.T) {
	w := newWorld(t, githubsim.Options{}, githubsim.App{Permissions: map[string]string{"contents": "read", "pull_requests": "read", "checks": "read", "statuses": "read", "metadata": "read", "actions": "read", "issues": "read"}})
	pull, ref := w.open(t, githubsim.PullSpec{Title: "One", Author: "mona", Head: "one", Changes: []githubsim.Change{{Path: "a", Content: "a\n"}}})
	ctx := t.Context()
	must(w.client.Pull(ctx, ref))(t)

	w.sim.Fail(githubsim.Fault{Route: "GET /repos/{owner}/{repo}/compare/{basehead}", Nth: 1, Drop: true})
	must(w.client.Compare(ctx, w.ref, pull.BaseSHA(), pull.HeadSHA()))(t)
	w.sim.ClearFaults()

	write := forge.CheckWrite{Name: "countersign", HeadSHA: pull.HeadSHA(), Status: "queued"}
	_, err := w.client.CreateCheck(ctx, w.ref, write)
	if !forge.IsKind(err, forge.KindForbidden) || !strings.Contains(err.Error(), "checks=write") {
		t.Errorf("case-073: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.client.Pull(ctx, ref); err == nil {
		t.Error("a cancelled call answered")
	}
}
