// Package app puts the service together: settings in, a running server out. It
// is the only package that knows all the others; every list of parts stands
// here, in one place, and nothing registers itself.
package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/queue"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/config"
	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/forge/github"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/review/trail"
)

// HookPath is where GitHub delivers webhooks.
const HookPath = handlers.HookPath

// embeddedName names the process in claims and jobs on the embedded database: there
// is one, and the next one takes over the work of a dead one at once because it bears
// the same name. On PostgreSQL a replica's name comes from settings.
const embeddedName = "countersign"

// Options are what does not come from settings.
type Options struct {
	Version string
	Logger  zerolog.Logger
	Now     func() time.Time
	// Transport is the base of every call out; nil: the default one. Tests put
	// the validation of requests and answers here.
	Transport http.RoundTripper
	// Ops is what operators see of the process; nil: one that nobody serves.
	Ops *Ops
	// Gentleness is the reconciler's pace. Retries overrides the queue's pauses. Only
	// tests set them.
	Gentleness Gentleness
	Retries    Retries
}

// Retries are the queue's options of the same names.
type Retries struct {
	MaxAttempts int
	Backoff     []time.Duration
	LatePause   time.Duration
}

// App is the service.
type App struct {
	settings config.Settings
	name     string // in claims and jobs
	version  string
	logger   zerolog.Logger
	store    *store.Store
	queue    *queue.Queue
	host     *github.Host
	server   *http.Server
	ops      *Ops
	// reconciler is always there, since events are noted for it; it works where
	// settings say how often.
	reconciler *reconciler
}

// New opens the database and puts the parts together. Nothing runs yet. Close
// must be called on the result.
func New(ctx context.Context, s config.Settings, o Options) (*App, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Ops == nil {
		o.Ops = NewOps(o.Version, o.Logger, nil)
	}
	host, err := github.New(github.Options{
		AppID: s.AppID, PrivateKeyPEM: s.PrivateKey, RESTURL: s.V3URL, GraphQLURL: s.V4URL,
		Transport: o.Transport, Logger: o.Logger, Now: o.Now, UserAgent: "countersign/" + o.Version,
		Limits: github.Limits{WritesPerMinute: s.WritesPerMinute, WritesPerHour: s.WritesPerHour, CallTimeout: s.CallTimeout}, Observer: o.Ops.probe(),
	})
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{URL: s.DatabaseURL, Connections: s.Connections, Path: s.Database, Logger: o.Logger, Now: o.Now})
	if err != nil {
		return nil, err
	}
	a := &App{settings: s, name: embeddedName, version: o.Version, logger: o.Logger, store: db, host: host, ops: o.Ops}
	if db.Postgres() {
		a.name = s.Replica
	}
	if err := a.assemble(o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	a.ops.health.opened(db.Ready)
	return a, nil
}

func (a *App) assemble(o Options) error {
	metrics := a.ops.metrics
	watched := watchedStore{a.store, metrics}
	publisher, err := publish.New(publish.Options{Store: a.store, Comments: a.store, Owner: a.name, Now: o.Now})
	if err != nil {
		return err
	}
	rules := policy.Default()
	rules.Mode = a.settings.Mode
	engine := session.New(session.Options{
		Host: a.host, Store: watched, Log: trail.NewLog(watched, o.Version, o.Now),
		Publisher: watchedPublisher{publisher, metrics}, Publications: a.store, Failures: a.store, Findings: a.store,
		Policy: rules, PolicySource: "compiled-in defaults, mode " + rules.Mode.String() + " by setting",
		Debounce: a.settings.Debounce, Settle: a.settings.Settle, Now: o.Now, Logger: o.Logger, Probe: a.ops.probe(),
	})
	gentle := o.Gentleness.withDefaults()
	a.reconciler = &reconciler{
		store: a.store, engine: engine, lister: a.host, owner: a.name, gentle: gentle, logger: o.Logger,
		pace: store.Pace{Every: a.settings.Reconcile, Call: gentle.Call, Wake: gentle.Wake, Stale: gentle.Stale},
	}
	a.queue, err = queue.New(queue.Options{
		Store: a.store, Runners: runners(engine, a.store, a.reconciler, a.ops.probe()), Workers: a.settings.Workers, Logger: o.Logger, ClientID: a.name,
		GivenUp: givenUp(engine, a.store, o.Logger), Shared: a.host.SetShare,
		MaxAttempts: o.Retries.MaxAttempts, Backoff: o.Retries.Backoff, LatePause: o.Retries.LatePause,
	})
	if err != nil {
		return err
	}
	metrics.WatchDepth(depthOf(a.queue, a.store.Now))
	a.reconciler.queue = a.queue
	hook, err := handlers.New(handlers.Options{
		Secrets: a.settings.WebhookSecrets, OwnAppID: a.settings.AppID, Intake: watchedIntake{a.queue, metrics},
		Observe: metrics.Delivery, Logger: o.Logger, Now: o.Now,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(HookPath, hook)
	a.ops.health.routes(mux)
	a.server = newServer(mux, o.Logger)
	return nil
}

// Check asks GitHub who we are, so that wrong credentials or an unreachable
// GitHub stop the start instead of every later job.
func (a *App) Check(ctx context.Context) error {
	a.logger.Info().Str("github", a.settings.V3URL).Msg("asking GitHub who this App is")
	name, err := a.host.Whoami(ctx)
	switch {
	case forge.IsKind(err, forge.KindUnauthorized), forge.IsKind(err, forge.KindNotFound):
		return fmt.Errorf("ask %s who this App is: %w; GITHUB_APP_INTEGRATION_ID and GITHUB_APP_PRIVATE_KEY must be of the same App, and this machine's clock right", a.settings.V3URL, err)
	case forge.IsKind(err, forge.KindUnavailable):
		return fmt.Errorf("ask %s who this App is: %w; check GITHUB_V3_API_URL and the proxy", a.settings.V3URL, err)
	case err != nil:
		return fmt.Errorf("ask %s who this App is: %w", a.settings.V3URL, err)
	}
	a.logger.Info().Str("app", name).Int64("app_id", a.settings.AppID).Msg("GitHub knows this App")
	return nil
}

// stopGrace bounds a clean stop: jobs at work are given back after it.
const stopGrace = 20 * time.Second

// Run serves on the listener until the context ends, then stops in order: not
// ready, so that a balancer sends deliveries elsewhere, while those that still
// come are taken for the time that settings say; no new deliveries; jobs
// finished or given back; database closed by Close.
func (a *App) Run(ctx context.Context, l net.Listener) error {
	if err := a.queue.Start(ctx); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	a.ops.health.working()
	defer a.reconcile(ctx)()
	served := make(chan error, 1)
	go func() { served <- a.server.Serve(l) }()
	a.logger.Info().Str("addr", l.Addr().String()).Str("hook", HookPath).Str("version", a.version).
		Stringer("mode", a.settings.Mode).Str("database", a.database()).Str("replica", a.name).Msg("serving")

	var err error
	select {
	case <-ctx.Done():
		a.ops.health.ending()
		err = a.drain(served)
	case err = <-served:
		a.ops.health.ending()
	}
	if err != nil {
		err = fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	return errors.Join(err, a.server.Shutdown(stop), a.queue.Stop(stop))
}

// database says which one it is, without its URL, which has a password.
func (a *App) database() string {
	if a.store.Postgres() {
		return "PostgreSQL"
	}
	return a.settings.Database
}

// drain goes on serving until balancers have noticed.
func (a *App) drain(served <-chan error) error {
	if a.settings.Drain <= 0 {
		return nil
	}
	a.logger.Info().Dur("for", a.settings.Drain).Msg("stopping: not ready any more, still taking deliveries")
	t := time.NewTimer(a.settings.Drain)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case err := <-served:
		return err
	}
}

// reconcile starts the reconciler; the function that it returns stops it.
func (a *App) reconcile(ctx context.Context) (stop func()) {
	if a.settings.Reconcile <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.reconciler.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Store is the database, for commands that read it in the same process.
func (a *App) Store() *store.Store { return a.store }

// Close closes the database. Run must have returned.
func (a *App) Close() error {
	a.ops.health.closed()
	return a.store.Close()
}
