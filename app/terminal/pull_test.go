package terminal_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bradleyfalzon/ghinstallation/v2"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/terminal"
)

// A pull request is read as a session reads it, with nothing written to GitHub.
func TestReviewOfAPullRequest(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sim, err := githubsim.New(githubsim.Options{Dir: filepath.Join(t.TempDir(), "github")})
	must(err)
	t.Cleanup(func() { must(sim.Close()) })
	api, err := sim.Start()
	must(err)
	repo, err := sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"})
	must(err)
	_, err = repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# shop\n"}}})
	must(err)
	must(repo.SetCollaborator("mona", "write"))
	app, err := sim.AddApp(githubsim.App{ID: 4711, Slug: "countersign", WebhookSecret: "a secret of some length"})
	must(err)
	inst, err := sim.Install(app, "acme", repo)
	must(err)
	tokens, err := ghinstallation.New(http.DefaultTransport, 4711, inst.ID(), app.PrivateKeyPEM())
	must(err)
	tokens.BaseURL = api
	token, err := tokens.Token(t.Context())
	must(err)
	pull, err := repo.OpenPull(githubsim.PullSpec{Title: "Say how to set it up", Author: "mona", Head: "leak",
		Changes: []githubsim.Change{{Path: "docs/setup.md", Content: "export AWS_ACCESS_KEY_ID=" + key + "\n"}}})
	must(err)
	_, err = repo.SetCheck(pull.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "failure", Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml", Name: "ci"}})
	must(err)

	address := "https://github.com/acme/shop/pull/1/files"
	r, err := terminal.Pull(t.Context(), address, terminal.PullOptions{Token: token, APIURL: api})
	must(err)
	if r.Tier != "critical" || !slices.Contains(ids(r.Rules), "deterministic-critical") || r.Source.Head != pull.HeadSHA() || r.Source.Kind != "pull_request" {
		t.Errorf("%s by %q, %+v", r.Tier, ids(r.Rules), r.Source)
	}
	// The failed check is told, and decides nothing here.
	open := ids(r.Open)
	if i := slices.Index(open, "checks-failed"); i < 0 || !strings.Contains(strings.Join(r.Open[i].Causes, " "), "build") {
		t.Errorf("open %+v", r.Open)
	}
	if slices.Contains(open, "intent-missing") {
		t.Errorf("the title says what it is for: open %q", open)
	}
	if runs := repo.CheckRuns(pull.HeadSHA()); len(runs) != 1 {
		t.Errorf("%d check runs, want CI's alone", len(runs))
	}

	for _, tt := range []struct{ address, token, api, want string }{
		{address, "", api, "set GITHUB_TOKEN"},
		{address, "not-a-token-of-theirs", api, "401"},
		{address, token, "http://ghe.example/api/v3/", "without TLS"},
		{"https://ghe.example/acme/shop/pull/1", token, api, "one GitHub"},
		{"https://github.com/acme/shop/pull/99", token, api, "not found"},
		{"https://github.com/acme/shop/issues/1", token, api, "not a pull request's address"},
		{"https://github.com/acme/shop/pull/-1", token, api, "not a pull request's address"},
	} {
		_, err := terminal.Pull(t.Context(), tt.address, terminal.PullOptions{Token: tt.token, APIURL: tt.api})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v, want %q", tt.address, err, tt.want)
		}
	}
}
