package githubsim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
)

// BenchmarkAnswers measures what the simulator itself costs, without a network.
func BenchmarkAnswers(b *testing.B) {
	sim := must(githubsim.New(githubsim.Options{RateLimit: 1 << 40}))
	defer func() { _ = sim.Close() }()
	repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"}))
	must(repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "a", Content: "a"}}}))
	p := must(repo.OpenPull(githubsim.PullSpec{Title: "x", Head: "x", Changes: many(100)}))
	must(repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success"}))
	token := "token " + sim.UserToken("mona")
	for name, row := range map[string][3]string{
		"pull":    {http.MethodGet, "/repos/acme/shop/pulls/1", ""},
		"compare": {http.MethodGet, "/repos/acme/shop/compare/main..." + p.HeadSHA(), ""},
		"runs":    {http.MethodGet, "/repos/acme/shop/commits/" + p.HeadSHA() + "/check-runs", ""},
		"tree":    {http.MethodGet, "/repos/acme/shop/git/trees/" + p.HeadSHA() + "?recursive=1", ""},
		"graphql": {http.MethodPost, "/graphql", `{"query":"{repository(owner:\"acme\",name:\"shop\"){pullRequest(number:1){title headRefOid commits(last:1){nodes{commit{statusCheckRollup{state contexts(first:50){nodes{__typename ... on CheckRun{name conclusion}}}}}}}}}}"}`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				req := httptest.NewRequestWithContext(context.Background(), row[0], row[1], strings.NewReader(row[2]))
				req.Header.Set("Authorization", token)
				rec := httptest.NewRecorder()
				sim.ServeHTTP(rec, req)
				if rec.Code != http.StatusOK {
					b.Fatal(rec.Code, rec.Body)
				}
			}
		})
	}
}
