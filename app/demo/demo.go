// Package demo shows what Countersign does, in a terminal and in one process:
// the real service on an embedded database, a simulated GitHub beside it, and
// signed deliveries over HTTP between the two. Nothing in it is recorded or
// pretended: each scenario waits for the check that the service posts, and fails
// when it is not the expected one.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app"
	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/config"
	"github.com/countersign/countersign/review/permission"
)

// Options of a demonstration.
type Options struct {
	Out     io.Writer
	Version string
	Color   bool
	// Keep leaves everything up after the scenarios, until the context ends.
	Keep bool
	// Logger gets the service's log; the zero value is silent.
	Logger zerolog.Logger
}

// missing says in one line what a newcomer will not find yet.
const missing = "Not there yet: a reviewing model, policy files, commands, checks on merge groups."

// The demo's own pace: the real service gathers CI events for 10 s.
const (
	debounce = 200 * time.Millisecond
	settle   = 300 * time.Millisecond
	// patience bounds the wait for one check.
	patience = 20 * time.Second
)

// secret signs the demo's deliveries; it never leaves the process.
const secret = "demo-webhook-secret-0123456789abcdef"

// Run plays all scenarios. It returns an error when one does not end as it
// should.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "countersign-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := newStage(ctx, o, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return s.play(ctx)
}

// stage is the simulated GitHub with the service beside it.
type stage struct {
	o       Options
	sim     *githubsim.Sim
	repo    *githubsim.Repo
	app     *githubsim.AppHandle
	service *app.App
	simURL  string
	dbPath  string
	stop    context.CancelFunc
	stopped chan error
}

func newStage(ctx context.Context, o Options, dir string) (s *stage, err error) {
	s = &stage{o: o, dbPath: filepath.Join(dir, "countersign.db")}
	if s.sim, err = githubsim.New(githubsim.Options{Dir: filepath.Join(dir, "github")}); err != nil {
		return nil, err
	}
	if s.simURL, err = s.sim.Start(); err != nil {
		return nil, errors.Join(err, s.sim.Close())
	}
	if err := s.furnish(); err != nil {
		return nil, errors.Join(err, s.sim.Close())
	}
	if err := s.serve(ctx); err != nil {
		return nil, errors.Join(err, s.sim.Close())
	}
	return s, nil
}

// furnish makes the repository that the pull requests are about.
func (s *stage) furnish() (err error) {
	if s.repo, err = s.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"}); err != nil {
		return err
	}
	_, err = s.repo.Commit("main", "a small shop", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "README.md", Content: "# shop\n\nSells things.\n"},
		{Path: "cart/cart.go", Content: cartGo},
		{Path: "internal/auth/session.go", Content: sessionGo},
		{Path: ".github/workflows/ci.yml", Content: ciYAML},
		{Path: ".github/workflows/release.yml", Content: releaseYAML},
	}})
	if err != nil {
		return err
	}
	if err := s.repo.SetCollaborator("mona", "write"); err != nil {
		return err
	}
	s.app, err = s.sim.AddApp(githubsim.App{ID: 4711, Slug: "countersign", WebhookSecret: secret})
	if err != nil {
		return err
	}
	s.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: actionsApp}, githubsim.CheckRef{Context: "countersign", AppID: s.app.ID()})
	return nil
}

// serve starts the service as `countersign serve` would, and lets GitHub know
// where it is.
func (s *stage) serve(ctx context.Context) error {
	settings := config.Settings{
		ListenAddr: "127.0.0.1:0", V3URL: s.simURL, V4URL: s.simURL + "/graphql",
		AppID: s.app.ID(), WebhookSecrets: [][]byte{[]byte(secret)}, PrivateKey: s.app.PrivateKeyPEM(),
		Database: s.dbPath, Mode: permission.Auto, Debounce: debounce, Settle: settle, Workers: 4, LogLevel: "info",
		WritesPerMinute: 10_000, // this GitHub has no limits, and a dozen pull requests in half a minute would meet them
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", settings.ListenAddr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if s.service, err = app.New(ctx, settings, app.Options{Version: s.o.Version, Logger: s.o.Logger}); err != nil {
		return errors.Join(err, l.Close())
	}
	s.app.SetWebhook("http://"+l.Addr().String()+app.HookPath, secret)
	if _, err := s.sim.Install(s.app, "acme", s.repo); err != nil {
		return errors.Join(err, l.Close(), s.service.Close())
	}
	if err := s.service.Check(ctx); err != nil {
		return errors.Join(err, l.Close(), s.service.Close())
	}
	var running context.Context
	running, s.stop = context.WithCancel(ctx)
	s.stopped = make(chan error, 1)
	go func() { s.stopped <- s.service.Run(running, l) }()
	return nil
}

func (s *stage) close() error {
	s.stop()
	return errors.Join(<-s.stopped, s.service.Close(), s.sim.Close())
}

func (s *stage) play(ctx context.Context) error {
	p := printer{w: s.o.Out, color: s.o.Color}
	p.line("Countersign %s · a simulated GitHub, the real service, mode auto\n", s.o.Version)
	for i, sc := range scenarios() {
		p.heading(i+1, sc.name, sc.about)
		if err := sc.play(ctx, s, &p); err != nil {
			return fmt.Errorf("scenario %q: %w", sc.name, err)
		}
	}
	if err := s.epilogue(ctx, &p); err != nil {
		return err
	}
	if s.o.Keep {
		p.line("\nLeft up: GitHub's API at %s, the database at %s. Try: countersign trail show --database %s acme/shop 1. Stop with Ctrl-C.", s.simURL, s.dbPath, s.dbPath)
		<-ctx.Done()
	}
	return nil
}

// waitCheck waits until the check of this name on the head is as wanted.
func (s *stage) waitCheck(ctx context.Context, sha, name string, want func(githubsim.CheckRun) bool) (githubsim.CheckRun, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last githubsim.CheckRun
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, run := range s.repo.CheckRuns(sha) {
			if run.Name == name && run.AppID == s.app.ID() {
				last = run
				if want(run) {
					return run, nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("the check %q on %s did not become what it should be; it is %q, %s %s: %w",
				name, sha[:7], last.Output.Title, last.Status, last.Conclusion, ctx.Err())
		case <-tick.C:
		}
	}
}

// titled: the check is completed like this, or in progress where conclusion is
// empty, and its title begins so.
func titled(conclusion, begins string) func(githubsim.CheckRun) bool {
	return func(run githubsim.CheckRun) bool {
		return run.Conclusion == conclusion && strings.HasPrefix(run.Output.Title, begins)
	}
}
