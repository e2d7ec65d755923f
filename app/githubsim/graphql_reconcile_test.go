package githubsim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

const reconcileQuery = `query Reconcile($owner: String!, $name: String!, $app: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(states: OPEN, first: 2, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { number isDraft headRefOid baseRefName updatedAt
        commits(last: 1) { nodes { commit { oid checkSuites(first: 5, filterBy: {appId: $app}) { nodes {
          app { databaseId }
          checkRuns(first: 5, filterBy: {checkName: "countersign"}) { nodes { databaseId name status conclusion externalId } } } } } } } } } } }`

// TestOneQueryFindsWhatIsOpen: open pull requests with our own newest check, page by page.
func TestOneQueryFindsWhatIsOpen(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	ctx := context.Background()
	var pulls []*githubsim.Pull
	for i := range 5 {
		pulls = append(pulls, must(w.repo.OpenPull(githubsim.PullSpec{
			Title: "x", Author: "mona", Head: fmt.Sprint("x", i), Changes: []githubsim.Change{{Path: fmt.Sprint("f", i), Content: "x"}},
		})))
		w.clock.Add(1_000_000_000)
	}
	for i, p := range pulls[:3] {
		must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "countersign", Conclusion: "success"})) // Actions', not ours
		for _, name := range []string{"countersign", "countersign / review", "countersign"} {
			if _, _, err := w.gh.Checks.CreateCheckRun(ctx, "acme", "shop", github.CreateCheckRunOptions{
				Name: name, HeadSHA: p.HeadSHA(), ExternalID: github.String(fmt.Sprint(name, i)), Status: github.String("completed"), Conclusion: github.String("neutral"),
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := pulls[4].Close(false); err != nil {
		t.Fatal(err)
	}
	var got []string
	vars := map[string]any{"owner": "acme", "name": "shop", "app": w.app.ID()}
	for range 3 {
		page := w.query(reconcileQuery, vars)
		if page.Get("errors").Exists() {
			t.Fatal(page)
		}
		list := page.Get("data.repository.pullRequests")
		for _, p := range list.Get("nodes").Array() {
			commit := p.Get("commits.nodes.0.commit")
			if commit.Get("oid").String() != p.Get("headRefOid").String() {
				t.Errorf("the last commit of %s is not the head", p.Get("number"))
			}
			got = append(got, p.Get("number").String())
			got = append(got, texts(commit.Get("checkSuites.nodes.#.checkRuns.nodes.#.externalId"))...)
		}
		if !list.Get("pageInfo.hasNextPage").Bool() {
			break
		}
		vars["after"] = list.Get("pageInfo.endCursor").String()
	}
	if want := []string{"4", "3", "countersign2", "2", "countersign1", "1", "countersign0"}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
}
