package githubsim_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

func annotations(n int) []*github.CheckRunAnnotation {
	var out []*github.CheckRunAnnotation
	for i := range n {
		out = append(out, &github.CheckRunAnnotation{
			Path: github.String("README.md"), StartLine: github.Int(i + 1), EndLine: github.Int(i + 1),
			AnnotationLevel: github.String("notice"), Message: github.String("m"),
		})
	}
	return out
}

func output(mutate func(*github.CheckRunOutput)) *github.CheckRunOutput {
	o := &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s")}
	mutate(o)
	return o
}

func TestCase030_CheckRunLimits(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	same := func(*github.CreateCheckRunOptions) {}
	smile := strings.Repeat("\U0001F600", 16_384) // 16,384 characters, 65,536 bytes
	action := func(label, description, id string) *github.CheckRunAction {
		return &github.CheckRunAction{Label: label, Description: description, Identifier: id}
	}
	long := strings.Repeat("x", 41)
	for name, row := range map[string]struct {
		change func(*github.CreateCheckRunOptions)
		status int
	}{
		"plain": {same, 201},
		"50 annotations": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(func(u *github.CheckRunOutput) { u.Annotations = annotations(50) })
		}, 201},
		"51 annotations": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(func(u *github.CheckRunOutput) { u.Annotations = annotations(51) })
		}, 422},
		"summary of 65,535 bytes": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(func(u *github.CheckRunOutput) { u.Summary = github.String(smile[:65_532] + "abc") })
		}, 201},
		"summary of 65,536 bytes": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(func(u *github.CheckRunOutput) { u.Summary = &smile })
		}, 422},
		"text of 65,536 bytes": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(func(u *github.CheckRunOutput) { u.Text = &smile })
		}, 422},
		"title too long": {func(o *github.CreateCheckRunOptions) {
			o.Output = output(func(u *github.CheckRunOutput) { u.Title = github.String(strings.Repeat("t", 256)) })
		}, 422},
		"no summary": {func(o *github.CreateCheckRunOptions) { o.Output = &github.CheckRunOutput{Title: github.String("t")} }, 422},
		"no title":   {func(o *github.CreateCheckRunOptions) { o.Output = &github.CheckRunOutput{Summary: github.String("t")} }, 422},
		"three actions": {func(o *github.CreateCheckRunOptions) {
			o.Actions = []*github.CheckRunAction{action("a", "b", "c"), action("a", "b", "d"), action("a", "b", "e")}
		}, 201},
		"four actions": {func(o *github.CreateCheckRunOptions) {
			o.Actions = []*github.CheckRunAction{action("a", "b", "c"), action("a", "b", "d"), action("a", "b", "e"), action("a", "b", "f")}
		}, 422},
		"label of 21": {func(o *github.CreateCheckRunOptions) {
			o.Actions = []*github.CheckRunAction{action(long[:21], "b", "c")}
		}, 422},
		"description of 41": {func(o *github.CreateCheckRunOptions) { o.Actions = []*github.CheckRunAction{action("a", long, "c")} }, 422},
		"identifier of 21": {func(o *github.CreateCheckRunOptions) {
			o.Actions = []*github.CheckRunAction{action("a", "b", long[:21])}
		}, 422},
		"unknown head":                 {func(o *github.CreateCheckRunOptions) { o.HeadSHA = strings.Repeat("a", 40) }, 422},
		"completed without conclusion": {func(o *github.CreateCheckRunOptions) { o.Status = github.String("completed") }, 422},
		"conclusion without status":    {func(o *github.CreateCheckRunOptions) { o.Conclusion = github.String("neutral") }, 201},
	} {
		t.Run(name, func(t *testing.T) {
			opts := github.CreateCheckRunOptions{Name: "countersign", HeadSHA: p.HeadSHA()}
			row.change(&opts)
			run, resp, err := w.gh.Checks.CreateCheckRun(context.Background(), "acme", "shop", opts)
			if resp == nil || resp.StatusCode != row.status {
				t.Errorf("answered %v; want %d", err, row.status)
			}
			if opts.Conclusion != nil && run.GetStatus() != "completed" {
				t.Errorf("status is %q; want completed", run.GetStatus())
			}
		})
	}
	// What was refused is what the description refuses too; the rest must have passed it.
	for _, v := range w.check.Violations() {
		if !strings.Contains(v, "request") {
			t.Errorf("GitHub's description: %s", v)
		}
	}
	w.check.Reset()
}

func TestCase032_UpdatesAppendAnnotations(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p, ctx := w.pull(), context.Background()
	run, _, err := w.gh.Checks.CreateCheckRun(ctx, "acme", "shop", github.CreateCheckRunOptions{
		Name: "countersign", HeadSHA: p.HeadSHA(), Status: github.String("in_progress"), Output: output(func(o *github.CheckRunOutput) { o.Annotations = annotations(50) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.gh.Checks.UpdateCheckRun(ctx, "acme", "shop", run.GetID(), github.UpdateCheckRunOptions{
		Name: "countersign", Status: github.String("completed"), Conclusion: github.String("failure"),
		Output: output(func(o *github.CheckRunOutput) { o.Annotations = annotations(20); o.Title = github.String("new") }),
	}); err != nil {
		t.Fatal(err)
	}
	got := w.repo.CheckRuns(p.HeadSHA())
	if len(got) != 1 || len(got[0].Output.Annotations) != 70 || got[0].Output.Title != "new" || got[0].Conclusion != "failure" || got[0].Writes != 2 {
		t.Errorf("got %d runs, %+v; want one with 70 annotations", len(got), got[0])
	}
	list, resp, err := w.gh.Checks.ListCheckRunAnnotations(ctx, "acme", "shop", run.GetID(), nil)
	if err != nil || len(list) != 30 || resp.LastPage != 3 {
		t.Errorf("%d annotations on a page of %d (%v); want 30 of 3", len(list), resp.LastPage, err)
	}
}

func TestOnlyTheOwnAppUpdates(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	run := must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build"}))
	_, resp, err := w.gh.Checks.UpdateCheckRun(context.Background(), "acme", "shop", run.ID, github.UpdateCheckRunOptions{Name: "build", Conclusion: github.String("success")})
	if err == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("updating another App's run: %v; want 403", err)
	}
}

func TestCase116_CheckRunsArePaged(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	for i := range 45 {
		conclusion := "success"
		if i == 4 {
			conclusion = "failure"
		}
		must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: fmt.Sprintf("c%02d", i), Conclusion: conclusion}))
	}
	ctx := context.Background()
	list, resp, err := w.gh.Checks.ListCheckRunsForRef(ctx, "acme", "shop", p.HeadSHA(), nil)
	if err != nil || len(list.CheckRuns) != 30 || list.GetTotal() != 45 || resp.NextPage != 2 {
		t.Fatalf("%d of %d runs, next page %d (%v); want 30 of 45 and 2", len(list.CheckRuns), list.GetTotal(), resp.NextPage, err)
	}
	for _, run := range list.CheckRuns {
		if run.GetConclusion() != "success" {
			t.Errorf("the failed one is on the first page: %s", run.GetName())
		}
	}
	undo := w.sim.Lag("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", 1)
	defer undo()
	list, _, err = w.gh.Checks.ListCheckRunsForRef(ctx, "acme", "shop", p.HeadSHA(), &github.ListCheckRunsOptions{ListOptions: github.ListOptions{PerPage: 100}})
	if err != nil || len(list.CheckRuns) != 44 || list.GetTotal() != 45 || list.CheckRuns[0].GetName() != "c43" {
		t.Errorf("a stale list has %d of %d (%v); want 44 of 45, the newest missing", len(list.CheckRuns), list.GetTotal(), err)
	}
}

func TestCase104_NewestRunOfEachIdentity(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	sha := p.HeadSHA()
	at := w.clock.Now()
	ci := githubsim.Workflow{Path: ".github/workflows/ci.yml"}
	must(w.repo.SetCheck(sha, githubsim.CheckSpec{Name: "lint", Workflow: ci, Conclusion: "failure", StartedAt: at}))
	must(w.repo.SetCheck(sha, githubsim.CheckSpec{Name: "lint", Workflow: ci, Conclusion: "success", StartedAt: at.Add(5 * time.Minute)}))
	must(w.repo.SetCheck(sha, githubsim.CheckSpec{Name: "lint", App: 9001, Conclusion: "failure"}))
	ctx := context.Background()
	for name, row := range map[string]struct {
		opts *github.ListCheckRunsOptions
		want []string
	}{
		"latest":   {&github.ListCheckRunsOptions{AppID: github.Int64(15368)}, []string{"success"}},
		"all":      {&github.ListCheckRunsOptions{AppID: github.Int64(15368), Filter: github.String("all")}, []string{"success", "failure"}},
		"each App": {&github.ListCheckRunsOptions{CheckName: github.String("lint")}, []string{"failure", "success"}},
		"by name":  {&github.ListCheckRunsOptions{CheckName: github.String("other")}, nil},
		"open":     {&github.ListCheckRunsOptions{Status: github.String("in_progress")}, nil},
	} {
		list, _, err := w.gh.Checks.ListCheckRunsForRef(ctx, "acme", "shop", sha, row.opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, run := range list.CheckRuns {
			got = append(got, run.GetConclusion())
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: %v; want %v", name, got, row.want)
		}
	}
}

// TestCase103_WhatSatisfiesARequiredCheck: success, neutral and skipped do (98, 100), nothing else;
// the App counts (107).
func TestCase103_WhatSatisfiesARequiredCheck(t *testing.T) {
	for _, row := range []struct {
		name, conclusion string
		app              int64
		blocked          bool
	}{
		{"success", "success", 15368, false}, {"neutral", "neutral", 15368, false}, {"skipped", "skipped", 15368, false},
		{"failure", "failure", 15368, true}, {"cancelled", "cancelled", 15368, true}, {"timed_out", "timed_out", 15368, true},
		{"action_required", "action_required", 15368, true}, {"stale", "stale", 15368, true}, {"startup_failure", "startup_failure", 15368, true},
		{"foo", "foo", 15368, true}, {"open", "", 15368, true}, {"another App", "success", 9001, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			sim := must(githubsim.New(githubsim.Options{}))
			defer func() { _ = sim.Close() }()
			repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"}))
			must(repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "a", Content: "a"}}}))
			repo.AddRuleset([]string{"ma*"}, githubsim.CheckRef{Context: "build", AppID: 15368})
			p := must(repo.OpenPull(githubsim.PullSpec{Title: "x", Head: "x", Changes: []githubsim.Change{{Path: "b", Content: "b"}}}))
			if got := p.MergeBlockedBy(); !slices.Equal(got, []string{"build"}) {
				t.Fatalf("with nothing reported blocked by %v; want build", got)
			}
			must(repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", App: row.app, Conclusion: row.conclusion}))
			if got := len(p.MergeBlockedBy()) > 0; got != row.blocked {
				t.Errorf("blocked is %v; want %v", got, row.blocked)
			}
		})
	}
}

func TestCase109_CombinedStatus(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p, ctx := w.pull(), context.Background()
	combined := func() (string, int) {
		got, _, err := w.gh.Repositories.GetCombinedStatus(ctx, "acme", "shop", p.HeadSHA(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.GetState(), got.GetTotalCount()
	}
	expect := func(state string, n int) {
		t.Helper()
		if s, got := combined(); s != state || got != n {
			t.Errorf("combined status %s of %d; want %s of %d", s, got, state, n)
		}
	}
	set := func(context, state string) {
		t.Helper()
		if err := w.repo.SetStatus(p.HeadSHA(), context, state); err != nil {
			t.Fatal(err)
		}
	}
	expect("pending", 0) // none is pending, not success
	set("ci/a", "success")
	expect("success", 1)
	set("ci/b", "pending")
	expect("pending", 2)
	set("ci/b", "error")
	expect("failure", 2)
	set("ci/b", "success")
	expect("success", 2)
	if got := w.last("status", ""); got.Get("context").String() != "ci/b" || got.Get("sha").String() != p.HeadSHA() {
		t.Errorf("status event: %s %s", got.Get("context"), got.Get("sha"))
	}
	if err := w.repo.SetStatus(p.HeadSHA(), "ci/c", "great"); err == nil {
		t.Error("a state of one's own was taken")
	}
}

func TestCase089_Permissions(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	for login, role := range map[string]string{"ann": "admin", "may": "maintain", "wil": "write", "tri": "triage", "rea": "read"} {
		if err := w.repo.SetCollaborator(login, role); err != nil {
			t.Fatal(err)
		}
	}
	private := must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "secret", Private: true}))
	if err := w.sim.AddTeam(githubsim.Team{Org: "acme", Slug: "core", Members: []string{"tea"}, Repos: []*githubsim.Repo{private}}); err != nil {
		t.Fatal(err)
	}
	w.sim.UserToken("stranger")
	for _, row := range []struct{ repo, login, permission, role string }{
		{"shop", "ann", "admin", "admin"}, {"shop", "may", "write", "maintain"}, {"shop", "wil", "write", "write"},
		{"shop", "tri", "read", "triage"}, {"shop", "rea", "read", "read"}, {"shop", "stranger", "read", "read"},
		{"secret", "stranger", "none", "none"}, {"secret", "tea", "write", "write"},
	} {
		got, _, err := w.gh.Repositories.GetPermissionLevel(context.Background(), "acme", row.repo, row.login)
		if err != nil || got.GetPermission() != row.permission || got.GetRoleName() != row.role {
			t.Errorf("%s on %s: %s, %s (%v); want %s, %s", row.login, row.repo, got.GetPermission(), got.GetRoleName(), err, row.permission, row.role)
		}
	}
}

func TestCase113_RequiredNames(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: 15368}, githubsim.CheckRef{Context: "legacy"})
	w.repo.AddRuleset([]string{"~DEFAULT_BRANCH"}, githubsim.CheckRef{Context: "test", AppID: 9001}, githubsim.CheckRef{Context: "any"})
	ctx := context.Background()
	branch, _, err := w.gh.Repositories.GetBranch(ctx, "acme", "shop", "main", 0)
	if err != nil {
		t.Fatal(err)
	}
	checks := branch.GetProtection().GetRequiredStatusChecks()
	if !branch.GetProtected() || len(*checks.Checks) != 2 || (*checks.Checks)[0].GetAppID() != 15368 || (*checks.Checks)[1].AppID != nil {
		t.Errorf("branch says %+v", checks)
	}
	rules, _, err := w.gh.Repositories.GetRulesForBranch(ctx, "acme", "shop", "main")
	if err != nil || len(rules) != 1 || rules[0].Type != "required_status_checks" || !strings.Contains(string(*rules[0].Parameters), `"integration_id":9001`) {
		t.Errorf("rules say %+v, %v", rules, err)
	}
	if _, resp, _ := w.gh.Repositories.GetRequiredStatusChecks(ctx, "acme", "shop", "main"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("the protection itself answered %d; want 403 without administration", resp.StatusCode)
	}
}
