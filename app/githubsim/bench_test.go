package githubsim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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

// BenchmarkBurst opens 2,000 pull requests over 50 repositories of 50 installations and waits until
// every webhook of them is delivered.
func BenchmarkBurst(b *testing.B) {
	for b.Loop() {
		burst(b, 50, 40)
	}
}

func burst(b *testing.B, repos, pulls int) {
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer bot.Close()
	sim := must(githubsim.New(githubsim.Options{HookWorkers: 8}))
	defer func() { _ = sim.Close() }()
	app := must(sim.AddApp(githubsim.App{Slug: "countersign", WebhookURL: bot.URL, WebhookSecret: "s", Key: must(sharedKey())}))
	var all []*githubsim.Repo
	for i := range repos {
		repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: fmt.Sprint("org", i), Name: "shop"}))
		must(repo.Commit("main", "start", githubsim.CommitSpec{Changes: many(50)}))
		must(sim.Install(app, repo.Owner()))
		all = append(all, repo)
	}
	start := time.Now()
	for i := range pulls {
		for _, repo := range all {
			must(repo.OpenPull(githubsim.PullSpec{Title: "x", Author: "mona", Head: fmt.Sprint("x", i), Changes: []githubsim.Change{
				{Path: fmt.Sprintf("new%d.go", i), Content: "package x\n"}, {Path: "f0.go", Content: fmt.Sprintf("package f\n\nvar x = %d\n", i)},
			}}))
		}
	}
	b.ReportMetric(time.Since(start).Seconds(), "s-to-open")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := sim.WaitIdle(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(start).Seconds(), "s-to-deliver")
	b.ReportMetric(float64(len(sim.Deliveries())), "deliveries")
}
