package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app"
	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/githubsim/apicheck"
	"github.com/countersign/countersign/app/telemetry"
	"github.com/countersign/countersign/config"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

const (
	hookSecret = "whole-path-test-secret-0123456789"
	actionsApp = 15368 // GitHub Actions
	patience   = 20 * time.Second
)

// world is a simulated GitHub with the whole service beside it: signed webhooks
// in, GitHub calls out.
type world struct {
	t         testing.TB
	sim       *githubsim.Sim
	repo      *githubsim.Repo
	app       *githubsim.AppHandle
	inst      *githubsim.Installation
	url, hook string

	settings config.Settings
	gentle   app.Gentleness
	retries  app.Retries
	base     http.RoundTripper // nil: every call is validated
	ops      *app.Ops          // nil: the service's own
	tracing  *telemetry.Tracing
	service  *app.App
	stop     context.CancelFunc
	stopped  chan error
	log      *syncBuffer
}

// furnish changes the world before the service starts.
type furnish func(*world)

func inMode(m permission.Mode) furnish { return func(w *world) { w.settings.Mode = m } }

func newWorld(t testing.TB, changes ...furnish) *world {
	t.Helper()
	w := &world{t: t, log: &syncBuffer{}}
	dir := t.TempDir()
	var err error
	w.sim, err = githubsim.New(githubsim.Options{Dir: filepath.Join(dir, "github")})
	w.must(err)
	t.Cleanup(func() { w.must(w.sim.Close()) })
	w.url, err = w.sim.Start()
	w.must(err)
	w.repo, err = w.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"})
	w.must(err)
	_, err = w.repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "README.md", Content: "# shop\n"},
		{Path: "cart/cart.go", Content: "package cart\n"},
		{Path: "internal/auth/session.go", Content: "package auth\n"},
		{Path: ".github/workflows/ci.yml", Content: "on: [pull_request]\n"},
		{Path: ".github/workflows/release.yml", Content: "on: [push]\n"},
	}})
	w.must(err)
	w.must(w.repo.SetCollaborator("mona", "write"))
	w.app, err = w.sim.AddApp(githubsim.App{ID: 4711, Slug: "countersign", WebhookSecret: hookSecret, Key: testKey(t)})
	w.must(err)
	w.inst, err = w.sim.Install(w.app, "acme", w.repo)
	w.must(err)
	w.settings = config.Settings{
		ListenAddr: "127.0.0.1:0", V3URL: w.url, V4URL: w.url + "/graphql",
		AppID: w.app.ID(), WebhookSecrets: [][]byte{[]byte(hookSecret)}, PrivateKey: w.app.PrivateKeyPEM(),
		Database: filepath.Join(dir, "countersign.db"), Mode: permission.Auto,
		Debounce: 50 * time.Millisecond, Settle: 100 * time.Millisecond, Workers: 4, LogLevel: "info",
	}
	for _, change := range changes {
		change(w)
	}
	w.start()
	t.Cleanup(func() {
		w.halt()
		if t.Failed() {
			t.Logf("the service's log:\n%s", w.log.String())
		}
	})
	return w
}

// start runs the service as `countersign serve` does; halt stops it. A test may
// do both again in between.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", w.settings.ListenAddr)
	w.must(err)
	w.service, err = app.New(ctx, w.settings, app.Options{Version: "test", Logger: zerolog.New(w.log), Transport: w.transport(), Ops: w.ops,
		Gentleness: w.gentle, Retries: w.retries})
	w.must(err)
	w.hook = "http://" + l.Addr().String() + app.HookPath
	w.app.SetWebhook(w.hook, hookSecret)
	w.stopped = make(chan error, 1)
	go func() { w.stopped <- w.service.Run(ctx, l) }()
}

func (w *world) halt() {
	if w.service == nil {
		return
	}
	w.stop()
	if err := <-w.stopped; err != nil {
		w.t.Errorf("stop: %v", err)
	}
	if err := w.service.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	w.service = nil
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// open opens a pull request by mona, who may write.
func (w *world) open(branch string, changes ...githubsim.Change) *githubsim.Pull {
	w.t.Helper()
	p, err := w.repo.OpenPull(githubsim.PullSpec{Title: "Change " + branch + " for good", Body: "Because the shop needs it.", Author: "mona", Head: branch, Changes: changes})
	w.must(err)
	return p
}

func (w *world) docs(branch string) *githubsim.Pull {
	return w.open(branch, githubsim.Change{Path: "docs/" + branch + ".md", Content: "# " + branch + "\n"})
}

// check reports CI's check of this name; its workflow is ci.yml.
func (w *world) check(sha, name, conclusion string) githubsim.CheckRun {
	w.t.Helper()
	spec := githubsim.CheckSpec{Name: name, Conclusion: conclusion, Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml", Name: "ci"}}
	if conclusion == "in_progress" || conclusion == "queued" {
		spec.Status, spec.Conclusion = conclusion, ""
	}
	run, err := w.repo.SetCheck(sha, spec)
	w.must(err)
	return run
}

// ours lists our check runs of a name on a head.
func (w *world) ours(sha, name string) []githubsim.CheckRun {
	var out []githubsim.CheckRun
	for _, run := range w.repo.CheckRuns(sha) {
		if run.AppID == w.app.ID() && run.Name == name {
			out = append(out, run)
		}
	}
	return out
}

// await waits until our check on the head satisfies want.
func (w *world) await(sha string, want func(githubsim.CheckRun) bool) githubsim.CheckRun {
	w.t.Helper()
	return w.awaitNamed(sha, publish.CheckName, want)
}

func (w *world) awaitNamed(sha, name string, want func(githubsim.CheckRun) bool) githubsim.CheckRun {
	w.t.Helper()
	var last githubsim.CheckRun
	w.until(func() bool {
		for _, run := range w.ours(sha, name) {
			last = run
			if want(run) {
				return true
			}
		}
		return false
	}, func() string {
		return fmt.Sprintf("%s on %s is %q (%s %s)\n%s", name, sha[:7], last.Output.Title, last.Status, last.Conclusion, last.Output.Summary)
	})
	return last
}

// until waits for a condition.
func (w *world) until(cond func() bool, what func() string) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			w.t.Fatalf("waited %s: %s", patience, what())
		case <-tick.C:
		}
	}
}

// idle waits until every webhook was delivered and every job is done.
func (w *world) idle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.must(w.sim.WaitIdle(ctx))
	w.until(func() bool {
		var open int
		err := w.service.Store().DB().QueryRowContext(ctx, `SELECT count(*) FROM subjects WHERE want_gen > done_gen`).Scan(&open)
		w.must(err)
		return open == 0
	}, func() string { return "jobs are still open" })
}

func concluded(conclusion, begins string) func(githubsim.CheckRun) bool {
	return func(run githubsim.CheckRun) bool {
		return run.Conclusion == conclusion && strings.HasPrefix(run.Output.Title, begins)
	}
}

func waiting(begins string) func(githubsim.CheckRun) bool {
	return func(run githubsim.CheckRun) bool {
		return run.Status == "in_progress" && strings.HasPrefix(run.Output.Title, begins)
	}
}

// records lists a pull request's trail, by type when one is given.
func (w *world) records(pull int, typ trail.Type) []trail.Record {
	w.t.Helper()
	recs, err := w.service.Store().FindTrail(context.Background(), trail.Query{Repo: "acme/shop", Pull: pull, Type: typ})
	w.must(err)
	return recs
}

// body decodes a record's body.
func (w *world) body(r trail.Record) map[string]any {
	w.t.Helper()
	out := make(map[string]any)
	w.must(json.Unmarshal(r.Body, &out))
	return out
}

// verify holds the whole trail.
func (w *world) verify() {
	w.t.Helper()
	report, err := trail.Verify(context.Background(), w.service.Store())
	w.must(err)
	if !report.OK() {
		w.t.Errorf("the trail does not hold: %v", report.Problems)
	}
}

// calls counts the requests that reached GitHub, by route.
func (w *world) calls() (total int, byRoute map[string]int) {
	byRoute = make(map[string]int)
	for _, r := range w.sim.Requests() {
		byRoute[r.Method+" "+r.Route]++
		total++
	}
	return total, byRoute
}

// checker holds every request of ours and every answer of the simulator to
// GitHub's published description.
var description = sync.OnceValues(func() (*apicheck.Checker, error) {
	return apicheck.Open("../testdata/github/api-reduced.json")
})

func (w *world) transport() http.RoundTripper {
	w.t.Helper()
	if w.base != nil {
		return w.base
	}
	c, err := description()
	w.must(err)
	w.t.Cleanup(func() {
		for _, v := range c.Violations() {
			w.t.Errorf("against GitHub's description: %s", v)
		}
		c.Reset()
	})
	return c.Transport(http.DefaultTransport)
}

// sharedKey saves a second a test: making an RSA key is the slowest part of a
// simulator.
var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func testKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := sharedKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// syncBuffer is a log that several goroutines write to.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
