package githubsim_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

// TestWebhooksSideBySide: with several workers a slow answer holds up its own repository alone, the
// number of requests under way is bounded, and each repository's order is kept.
func TestWebhooksSideBySide(t *testing.T) {
	const workers, repos, pulls = 3, 6, 5
	var mu sync.Mutex
	var under, most int
	order := map[string][]string{}
	gate, arrived := make(chan struct{}), make(chan struct{}, 1_000)
	bot := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		arrived <- struct{}{}
		mu.Lock()
		under++
		most = max(most, under)
		name := gjson.GetBytes(body, "repository.full_name").String()
		mu.Unlock()
		<-gate
		mu.Lock()
		defer mu.Unlock()
		under--
		order[name] = append(order[name], fmt.Sprintf("%x", sha256.Sum256(body)))
	}))
	defer bot.Close()
	sim := must(githubsim.New(githubsim.Options{HookWorkers: workers}))
	defer func() { _ = sim.Close() }()
	app := must(sim.AddApp(githubsim.App{Slug: "countersign", WebhookURL: bot.URL, Key: must(sharedKey())}))
	for i := range repos {
		repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: fmt.Sprint("org", i), Name: "shop"}))
		must(repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "a", Content: "a"}}}))
		must(sim.Install(app, repo.Owner()))
		for j := range pulls {
			must(repo.OpenPull(githubsim.PullSpec{Title: "x", Author: "mona", Head: fmt.Sprint("x", j), Changes: []githubsim.Change{{Path: fmt.Sprint(j), Content: "x"}}}))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for range workers { // as many as may are waiting in the bot
		select {
		case <-arrived:
		case <-ctx.Done():
			t.Fatal("fewer webhooks are under way than may be")
		}
	}
	close(gate)
	if err := sim.WaitIdle(ctx); err != nil {
		t.Fatal(err)
	}
	if most != workers {
		t.Errorf("%d under way at once; want %d", most, workers)
	}
	want := map[string][]string{}
	for _, d := range sim.Deliveries() {
		want[d.Repository] = append(want[d.Repository], fmt.Sprintf("%x", sha256.Sum256(d.Body)))
	}
	delete(want, "") // installations name no repository: each has its own order
	delete(order, "")
	if fmt.Sprint(order) != fmt.Sprint(want) || len(order) != repos {
		t.Errorf("order %v; want %v", order, want)
	}
}

func TestForgottenBodies(t *testing.T) {
	w := newWorld(t, githubsim.Options{ForgetBodies: true})
	w.bot.answer(http.StatusInternalServerError)
	w.pull()
	w.idle()
	w.bot.answer(http.StatusAccepted)
	for _, d := range w.sim.Deliveries() {
		if kept := len(d.Body) > 0; kept != (d.State == "failed") {
			t.Errorf("%s %s: %d bytes kept", d.Event, d.State, len(d.Body))
		}
		if d.State != "failed" {
			continue
		}
		if _, err := w.sim.Redeliver(context.Background(), d.GUID); err != nil {
			t.Errorf("redeliver what failed: %v", err)
		}
		if _, err := w.sim.Redeliver(context.Background(), d.GUID); !errors.Is(err, githubsim.ErrNoDelivery) {
			t.Errorf("redeliver what is forgotten: %v", err)
		}
	}
}
