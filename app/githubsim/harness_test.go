package githubsim_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/githubsim/apicheck"
)

// clock is a time that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bot receives webhooks.
type bot struct {
	*httptest.Server
	mu   sync.Mutex
	got  []hook
	code int
}

type hook struct {
	header http.Header
	body   []byte
}

func newBot(t *testing.T) *bot {
	b := &bot{code: http.StatusAccepted}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, hook{r.Header.Clone(), body})
		w.WriteHeader(b.code)
	}))
	t.Cleanup(b.Close)
	return b
}

// answer sets the status of every answer from now on; the greeting of the installation may be under way.
func (b *bot) answer(code int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.code = code
}

func (b *bot) hooks() []hook {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]hook(nil), b.got...)
}

var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// world is a simulator with one repository, an App on it and a checked client.
type world struct {
	t     *testing.T
	clock *clock
	sim   *githubsim.Sim
	url   string
	bot   *bot
	app   *githubsim.AppHandle
	inst  *githubsim.Installation
	repo  *githubsim.Repo
	check *apicheck.Checker
	gh    *github.Client // as the installation
	asApp *github.Client // by JWT
}

var description = sync.OnceValues(func() (*apicheck.Checker, error) {
	return apicheck.Open("../../testdata/github/api-reduced.json")
})

func newWorld(t *testing.T, opts githubsim.Options) *world {
	t.Helper()
	w := &world{t: t, clock: newClock(), bot: newBot(t)}
	// The JWT library reads the real clock, so the client's side of the tests starts from it.
	w.clock.now = time.Now().UTC().Truncate(time.Second)
	if opts.Clock == nil {
		opts.Clock = w.clock.Now
	}
	w.sim = must(githubsim.New(opts))
	t.Cleanup(func() {
		if err := w.sim.Close(); err != nil {
			t.Error(err)
		}
	})
	w.url = must(w.sim.Start())
	w.repo = must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"}))
	must(w.repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "README.md", Content: "# shop\n"}, {Path: "src/a.go", Content: "package a\n\nfunc A() {}\n"},
	}}))
	w.app = must(w.sim.AddApp(githubsim.App{
		ID: 4711, Slug: "countersign", WebhookURL: w.bot.URL, WebhookSecret: "s3cret", Key: must(sharedKey()),
	}))
	w.inst = must(w.sim.Install(w.app, "acme"))
	w.check = must(description()).Fork()
	t.Cleanup(func() {
		for _, v := range w.check.Violations() {
			t.Errorf("GitHub's description: %s", v)
		}
		for _, d := range w.sim.Deliveries() {
			w.check.Reset()
			if d.Body != nil { // it was not forgotten
				w.check.Webhook(d.Event, d.Action, d.Body)
			}
			for _, v := range w.check.Violations() {
				t.Errorf("GitHub's description: %s", v)
			}
		}
	})
	base := w.check.Transport(http.DefaultTransport)
	apps := must(ghinstallation.NewAppsTransport(base, w.app.ID(), w.app.PrivateKeyPEM()))
	apps.BaseURL = w.url
	inst := ghinstallation.NewFromAppsTransport(apps, w.inst.ID())
	inst.BaseURL = w.url
	w.asApp, w.gh = w.client(apps), w.client(inst)
	return w
}

func (w *world) client(rt http.RoundTripper) *github.Client {
	c := github.NewClient(&http.Client{Transport: rt})
	c.BaseURL = must(url.Parse(w.url + "/"))
	return c
}

func (w *world) pull(changes ...githubsim.Change) *githubsim.Pull {
	w.t.Helper()
	if len(changes) == 0 {
		changes = []githubsim.Change{{Path: "README.md", Content: "# shop\n\nhello\n"}}
	}
	return must(w.repo.OpenPull(githubsim.PullSpec{Title: "Say hello", Body: "So that people feel welcome.", Author: "mona", Head: "hello", Changes: changes}))
}

func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.sim.WaitIdle(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// asError is errors.As with the target typed by its use.
func asError[T error](err error, target *T) bool { return errors.As(err, target) }

// must is for steps whose failure means that the test itself is broken.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
