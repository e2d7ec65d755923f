package githubsim_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

// TestEveryRoute asks for everything once; the harness holds each pair to GitHub's description.
func TestEveryRoute(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	ctx := context.Background()
	p := w.pull(githubsim.Change{Path: "README.md", Content: "# shop\n\nhello\n"}, githubsim.Change{Path: "src/a.go", RenameTo: "src/b.go"})
	must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build"}))
	must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success", Output: githubsim.CheckOutput{Title: "ok", Summary: "fine"}}))
	if err := w.repo.SetStatus(p.HeadSHA(), "ci/x", "error", githubsim.StatusDetail{Description: "boom"}); err != nil {
		t.Fatal(err)
	}
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: 15368}, githubsim.CheckRef{Context: "any"})
	w.repo.AddRuleset([]string{"~DEFAULT_BRANCH"}, githubsim.CheckRef{Context: "countersign", AppID: w.app.ID()})
	if err := w.sim.AddTeam(githubsim.Team{Org: "acme", Slug: "platform", Members: []string{"mona"}, Repos: []*githubsim.Repo{w.repo}}); err != nil {
		t.Fatal(err)
	}
	id := must(p.Comment("mona", "/review"))
	own := w.inst.ID()
	sha := p.HeadSHA()
	run, _, err := w.gh.Checks.CreateCheckRun(ctx, "acme", "shop", github.CreateCheckRunOptions{
		Name: "countersign", HeadSHA: sha, Status: github.String("in_progress"), ExternalID: github.String("1:main:x"),
		Output: &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s"), Annotations: []*github.CheckRunAnnotation{
			{Path: github.String("README.md"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("notice"), Message: github.String("m")},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) func() (*github.Response, error) {
		return func() (*github.Response, error) {
			req, err := w.gh.NewRequest("GET", path, nil)
			if err != nil {
				return nil, err
			}
			return w.gh.Do(ctx, req, nil)
		}
	}
	w.repo.SetProperty("tier", "1")
	if err := w.repo.SetCollaborator("ci", "write"); err != nil {
		t.Fatal(err)
	}
	ci := w.client(w.check.Transport(bearer(w.sim.UserToken("ci"))))
	content, _, _, err := w.gh.Repositories.GetContents(ctx, "acme", "shop", "README.md", nil)
	if err != nil {
		t.Fatal(err)
	}
	suite := fmt.Sprintf("repos/acme/shop/check-suites/%d", run.GetCheckSuite().GetID())
	rows := []struct {
		name string
		call func() (*github.Response, error)
	}{
		{"app", func() (*github.Response, error) { _, r, err := w.asApp.Apps.Get(ctx, ""); return r, err }},
		{"installations", func() (*github.Response, error) { _, r, err := w.asApp.Apps.ListInstallations(ctx, nil); return r, err }},
		{"installation", func() (*github.Response, error) { _, r, err := w.asApp.Apps.GetInstallation(ctx, own); return r, err }},
		{"repo installation", func() (*github.Response, error) {
			_, r, err := w.asApp.Apps.FindRepositoryInstallation(ctx, "acme", "shop")
			return r, err
		}},
		{"org installation", func() (*github.Response, error) {
			_, r, err := w.asApp.Apps.FindOrganizationInstallation(ctx, "acme")
			return r, err
		}},
		{"installation repositories", func() (*github.Response, error) { _, r, err := w.gh.Apps.ListRepos(ctx, nil); return r, err }},
		{"repo", get("repos/acme/shop")},
		{"contents file", get("repos/acme/shop/contents/README.md?ref=main")},
		{"contents folder", get("repos/acme/shop/contents/src?ref=main")},
		{"contents root", get("repos/acme/shop/contents/")},
		{"branch", get("repos/acme/shop/branches/main")},
		{"rules", get("repos/acme/shop/rules/branches/main")},
		{"commit", get("repos/acme/shop/commits/" + sha)},
		{"compare", get("repos/acme/shop/compare/" + p.BaseSHA() + "..." + sha)},
		{"permission", get("repos/acme/shop/collaborators/mona/permission")},
		{"combined status", get("repos/acme/shop/commits/" + sha + "/status")},
		{"status", func() (*github.Response, error) {
			_, r, err := ci.Repositories.CreateStatus(ctx, "acme", "shop", sha, &github.RepoStatus{State: github.String("success"), Context: github.String("ci/y")})
			return r, err
		}},
		{"statuses", get("repos/acme/shop/commits/" + sha + "/statuses")},
		{"commit pulls", get("repos/acme/shop/commits/" + sha + "/pulls")},
		{"tree", get("repos/acme/shop/git/trees/" + sha + "?recursive=1")},
		{"blob", get("repos/acme/shop/git/blobs/" + content.GetSHA())},
		{"history", get("repos/acme/shop/commits")},
		{"properties", get("repos/acme/shop/properties/values")},
		{"ref", get("repos/acme/shop/git/ref/heads/main")},
		{"git commit", get("repos/acme/shop/git/commits/" + sha)},
		{"pull", get("repos/acme/shop/pulls/1")},
		{"pulls", get("repos/acme/shop/pulls")},
		{"files", get("repos/acme/shop/pulls/1/files")},
		{"commits", get("repos/acme/shop/pulls/1/commits")},
		{"run", func() (*github.Response, error) {
			_, r, err := w.gh.Checks.GetCheckRun(ctx, "acme", "shop", run.GetID())
			return r, err
		}},
		{"runs", get("repos/acme/shop/commits/" + sha + "/check-runs")},
		{"suites", get("repos/acme/shop/commits/" + sha + "/check-suites")},
		{"suite", get(suite)},
		{"suite runs", get(suite + "/check-runs?filter=all")},
		{"rerequest suite", func() (*github.Response, error) {
			return w.gh.Checks.ReRequestCheckSuite(ctx, "acme", "shop", run.GetCheckSuite().GetID())
		}},
		{"annotations", func() (*github.Response, error) {
			_, r, err := w.gh.Checks.ListCheckRunAnnotations(ctx, "acme", "shop", run.GetID(), nil)
			return r, err
		}},
		{"rerequest", func() (*github.Response, error) {
			return w.gh.Checks.ReRequestCheckRun(ctx, "acme", "shop", run.GetID())
		}},
		{"update run", func() (*github.Response, error) {
			_, r, err := w.gh.Checks.UpdateCheckRun(ctx, "acme", "shop", run.GetID(), github.UpdateCheckRunOptions{
				Name: "countersign", Status: github.String("completed"), Conclusion: github.String("success"),
				Actions: []*github.CheckRunAction{{Label: "Re-review", Description: "Read it again", Identifier: "re-review"}},
			})
			return r, err
		}},
		{"one comment", get(fmt.Sprintf("repos/acme/shop/issues/comments/%d", id))},
		{"comments", get("repos/acme/shop/issues/1/comments")},
		{"comment", func() (*github.Response, error) {
			_, r, err := w.gh.Issues.CreateComment(ctx, "acme", "shop", 1, &github.IssueComment{Body: github.String("hello")})
			return r, err
		}},
		{"edit comment", func() (*github.Response, error) {
			cs := w.repo.Comments(1)
			_, r, err := w.gh.Issues.EditComment(ctx, "acme", "shop", cs[len(cs)-1].ID, &github.IssueComment{Body: github.String("hello again")})
			return r, err
		}},
		{"reaction", func() (*github.Response, error) {
			_, r, err := w.gh.Reactions.CreateIssueCommentReaction(ctx, "acme", "shop", id, "eyes")
			return r, err
		}},
		{"labels", func() (*github.Response, error) {
			_, r, err := w.gh.Issues.AddLabelsToIssue(ctx, "acme", "shop", 1, []string{"risky"})
			return r, err
		}},
		{"label", func() (*github.Response, error) {
			_, r, err := w.gh.Issues.CreateLabel(ctx, "acme", "shop", &github.Label{Name: github.String("x"), Color: github.String("ff0000")})
			return r, err
		}},
		{"unlabel", func() (*github.Response, error) {
			return w.gh.Issues.RemoveLabelForIssue(ctx, "acme", "shop", 1, "risky")
		}},
		{"team members", get("orgs/acme/teams/platform/members")},
		{"team membership", get("orgs/acme/teams/platform/memberships/mona")},
		{"team repos", get("orgs/acme/teams/platform/repos")},
		{"user", get("users/mona")},
		{"account installation", func() (*github.Response, error) {
			_, r, err := w.asApp.Apps.FindUserInstallation(ctx, "acme")
			return r, err
		}},
		{"rate limit", get("rate_limit")},
		{"suite rerequested", func() (*github.Response, error) { return nil, w.repo.RerequestSuite(sha, w.app.ID()) }},
		{"action", func() (*github.Response, error) { return nil, w.repo.RequestAction(run.GetID(), "re-review", "mona") }},
		{"draft", func() (*github.Response, error) { return nil, p.ConvertToDraft() }},
		{"ready", func() (*github.Response, error) { return nil, p.ReadyForReview() }},
		{"edit", func() (*github.Response, error) {
			return nil, p.Edit(githubsim.PullEdit{Title: github.String("New title")})
		}},
		{"push", func() (*github.Response, error) {
			_, err := p.Push(githubsim.Change{Path: "c.txt", Content: "c"})
			return nil, err
		}},
		{"close", func() (*github.Response, error) { return nil, p.Close(false) }},
		{"reopen", func() (*github.Response, error) { return nil, p.Reopen() }},
		{"group", func() (*github.Response, error) { _, err := w.repo.MergeGroup("main", p); return nil, err }},
		{"merge", func() (*github.Response, error) { return nil, p.Close(true) }},
		{"repositories", func() (*github.Response, error) { return nil, w.inst.AddRepos(w.repo) }},
		{"uninstall", func() (*github.Response, error) { return nil, w.inst.Delete() }},
	}
	for _, row := range rows {
		if resp, err := row.call(); err != nil || resp != nil && resp.StatusCode >= http.StatusMultipleChoices {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	w.idle()
}

// TestDescribedOperations holds the simulator to the list of what the bot may call (ops.txt): what it
// does not answer is named here, and nothing else.
func TestDescribedOperations(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	token := "token " + w.sim.UserToken("mona")
	var missing []string
	for _, op := range w.check.Operations() {
		method, path, _ := strings.Cut(op, " ")
		w.sim.ResetRequests()
		req := must(http.NewRequestWithContext(context.Background(), method, w.url+strings.NewReplacer("{", "", "}", "").Replace(path), nil))
		req.Header.Set("Authorization", token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if log := w.sim.Requests(); len(log) != 1 || log[0].Route == "" {
			missing = append(missing, op)
		}
	}
	want := []string{
		"POST /repos/{owner}/{repo}/code-scanning/sarifs",
	}
	if !slices.Equal(missing, want) {
		t.Errorf("not simulated:\n\t%s\nwant:\n\t%s", strings.Join(missing, "\n\t"), strings.Join(want, "\n\t"))
	}
}
