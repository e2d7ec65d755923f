package github_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/forge"
)

func TestListsAgainstTheSimulator(t *testing.T) {
	w := newWorld(t, githubsim.Options{}, githubsim.App{})
	ctx := t.Context()
	list, next, err := w.host.Installations(ctx, 1)
	if err != nil || next != 0 || len(list) != 1 || list[0].ID != w.ref.Installation || list[0].Account != "acme" || list[0].Suspended {
		t.Errorf("installations %+v, next %d, %v", list, next, err)
	}
	repos, next, err := w.host.InstallationRepos(ctx, w.ref.Installation, 1)
	if err != nil || next != 0 || len(repos) != 1 || repos[0].Repo != w.ref || repos[0].Inactive || repos[0].OpenCount != 0 {
		t.Errorf("repositories %+v, next %d, %v", repos, next, err)
	}

	pull, ref := w.open(t, githubsim.PullSpec{Title: "One", Author: "mona", Head: "one", Changes: []githubsim.Change{{Path: "a", Content: "a\n"}}})
	must(w.repo.SetCheck(pull.HeadSHA(), githubsim.CheckSpec{Name: "countersign", Conclusion: "success"}))(t) // another App's
	for i, name := range []string{"countersign", "countersign", "countersign / review"} {
		must(w.client.CreateCheck(ctx, w.ref, forge.CheckWrite{Name: name, HeadSHA: pull.HeadSHA(), ExternalID: fmt.Sprintf("%d:main:s%d", ref.Number, i),
			Status: "in_progress", StartedAt: time.Now()}))(t)
	}
	closed, _ := w.open(t, githubsim.PullSpec{Title: "Two", Author: "mona", Head: "two", Changes: []githubsim.Change{{Path: "b", Content: "b\n"}}})
	if err := closed.Close(false); err != nil {
		t.Fatal(err)
	}
	calls := &forge.Calls{}
	page, err := w.host.OpenPulls(forge.WithCalls(ctx, calls), w.ref, "")
	if err != nil || page.Next != "" || page.Inactive || page.DefaultBranch != "main" || len(page.Pulls) != 1 || calls.Total() != 1 {
		t.Fatalf("page %+v in %d calls: %v", page, calls.Total(), err)
	}
	p := page.Pulls[0]
	if p.Number != ref.Number || p.HeadSHA != pull.HeadSHA() || p.BaseRef != "main" || p.Draft || p.Red || p.Unread || p.UpdatedAt.IsZero() {
		t.Errorf("pull %+v", p)
	}
	var own []string
	for _, c := range p.Own {
		own = append(own, c.Name+" "+c.Status+" "+c.ExternalID)
	}
	if got := strings.Join(own, ", "); !strings.Contains(got, "countersign in_progress 1:main:s1") || !strings.Contains(got, "countersign / review in_progress 1:main:s2") || len(own) != 2 {
		t.Errorf("our runs: %s", got)
	}
	must(w.repo.SetCheck(pull.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "failure"}))(t)
	if page, err := w.host.OpenPulls(ctx, w.ref, ""); err != nil || !page.Pulls[0].Red {
		t.Errorf("a red head: %+v, %v", page, err)
	}
}

// Lists go on page by page, newest change first, and end.
func TestListsOfManyPages(t *testing.T) {
	w := newWorld(t, githubsim.Options{}, githubsim.App{})
	for i := range 53 {
		w.open(t, githubsim.PullSpec{Title: "Many", Author: "mona", Head: fmt.Sprintf("b%d", i), Changes: []githubsim.Change{{Path: fmt.Sprintf("f%d", i), Content: "x\n"}}})
	}
	seen, after, pages := map[int]bool{}, "", 0
	for {
		page := must(w.host.OpenPulls(t.Context(), w.ref, after))(t)
		pages++
		for _, p := range page.Pulls {
			seen[p.Number] = true
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(seen) != 53 || pages != 2 {
		t.Errorf("%d pulls on %d pages", len(seen), pages)
	}
}

// What is missing in an answer is an error, never "none".
func TestListsRefuseWhatIsMissing(t *testing.T) {
	const head = "1111111111111111111111111111111111111111"
	pull := func(more string) string {
		return `{"data":{"repository":{"databaseId":7,"isArchived":false,"isDisabled":false,"defaultBranchRef":{"name":"main"},"pullRequests":{"pageInfo":{"hasNextPage":false,"endCursor":null},"nodes":[` + more + `]}}}}`
	}
	node := func(state, oid, suites string) string {
		return fmt.Sprintf(`{"number":1,"state":%q,"isDraft":false,"baseRefName":"main","headRefOid":%q,"updatedAt":"2026-01-02T03:04:05Z","commits":{"nodes":[{"commit":{"oid":%q,"statusCheckRollup":null,"checkSuites":%s}}]}}`, state, head, oid, suites)
	}
	for name, tc := range map[string]struct {
		body string
		ok   bool
	}{
		"whole":           {pull(node("OPEN", head, `{"nodes":[]}`)), true},
		"behind":          {pull(node("OPEN", strings.Repeat("2", 40), `null`)), true},
		"no suites":       {pull(node("OPEN", head, `null`)), false},
		"closed":          {pull(node("CLOSED", head, `{"nodes":[]}`)), false},
		"null pull":       {pull(`null`), false},
		"no list":         {`{"data":{"repository":{"databaseId":7}}}`, false},
		"no repository":   {`{"data":{"repository":null}}`, false},
		"another one":     {strings.Replace(pull(""), `"databaseId":7`, `"databaseId":8`, 1), false},
		"endless":         {strings.Replace(pull(""), `"hasNextPage":false`, `"hasNextPage":true`, 1), false},
		"run without end": {pull(node("OPEN", head, `{"nodes":[{"app":{"databaseId":4711},"checkRuns":{"nodes":[{"databaseId":1,"name":"countersign","status":"COMPLETED","conclusion":null}]}}]}`)), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, githubsim.Options{}, githubsim.App{})
			w.sim.Fail(githubsim.Fault{Route: "POST /graphql", Status: http.StatusOK, Body: tc.body})
			repo := w.ref
			repo.ID = 7
			page, err := w.host.OpenPulls(t.Context(), repo, "")
			if (err == nil) != tc.ok {
				t.Fatalf("%+v, %v", page, err)
			}
			if tc.ok && page.Pulls[0].Unread != (name == "behind") {
				t.Errorf("unread %v", page.Pulls[0].Unread)
			}
		})
	}
}
