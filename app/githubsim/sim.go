package githubsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/countersign/countersign/app/githubsim/gitstore"
	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

// Sim is one simulated GitHub. It is an http.Handler, and Start serves it on the loopback interface.
// All methods are safe for concurrent use.
type Sim struct {
	opts   Options
	log    *slog.Logger
	dir    string
	ownDir bool
	router router
	// executor holds GitHub's GraphQL schema, parsed at the first use.
	executor func() (*gqlexec.Executor, error)
	hooks    *hookQueue
	faults   faultList
	journal  journal
	closed   chan struct{} // closed by Close: nobody waits on
	closing  sync.Once

	mu       sync.Mutex // guards everything below and the state behind every handle
	server   *http.Server
	url      string // API root without a trailing slash
	ids      idSource
	accounts map[string]*account // by lower-case login
	emails   map[string]*account // by lower-case address
	teams    []*team
	repos    map[string]*Repo // by lower-case full name
	repoList []*Repo          // in order of creation
	apps     map[int64]*AppHandle
	installs []*Installation
	tokens   map[string]*token
	nodes    map[string]any    // reviews, threads and comments by GraphQL id
	usage    map[string]*usage // rate limits, by owner of the token
	refusals Refusals
	stores   int // git stores made so far
}

// New makes an empty GitHub. It fails where the folder cannot be made or git is not installed.
func New(opts Options) (*Sim, error) {
	opts = opts.withDefaults()
	s := &Sim{
		opts: opts, log: opts.Logger, dir: opts.Dir, url: "https://api.github.com",
		ids: newIDs(), accounts: map[string]*account{}, emails: map[string]*account{}, repos: map[string]*Repo{},
		apps: map[int64]*AppHandle{}, tokens: map[string]*token{}, nodes: map[string]any{}, usage: map[string]*usage{},
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "githubsim-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for git repositories: %w", err)
		}
		s.dir, s.ownDir = dir, true
	}
	s.closed = make(chan struct{})
	s.journal.max, s.journal.counts = opts.MaxRequests, map[string]int{}
	s.hooks = newHookQueue(opts)
	s.router, s.executor = newRouter(s.routes()), newExecutor()
	if _, err := s.addApp(App{ID: actionsAppID, Slug: "github-actions", Name: "GitHub Actions", Owner: "github"}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxTreeEntries <= 0 {
		o.MaxTreeEntries = 100_000
	}
	if o.MaxBlobBytes <= 0 {
		o.MaxBlobBytes = 100 << 20
	}
	if o.MaxPatchBytes <= 0 {
		o.MaxPatchBytes = 500_000
	}
	if o.MaxPatchLines <= 0 {
		o.MaxPatchLines = 20_000
	}
	if o.RateLimit <= 0 {
		o.RateLimit = 5_000
	}
	if o.HookWorkers <= 0 {
		o.HookWorkers = 1
	}
	if o.MaxRequests <= 0 {
		o.MaxRequests = 100_000
	}
	return o
}

// Start serves the simulator on a free loopback port until Close and returns the API's root URL,
// without a trailing slash. A second call returns the same URL.
func (s *Sim) Start() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return s.url, nil
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the simulated GitHub: %w", err)
	}
	s.url = "http://" + ln.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func(srv *http.Server) {
		if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("simulated GitHub stopped", "error", err)
		}
	}(s.server)
	return s.url, nil
}

// URL is the API's root without a trailing slash: GitHub's own until Start or SetURL.
func (s *Sim) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// SetURL tells the simulator under which root its handler is served, where that is not Start's doing.
func (s *Sim) SetURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = url
}

// Close stops the server and the webhook worker, and removes the temporary folder. Webhooks still
// queued are not sent. It may be called more than once.
func (s *Sim) Close() error {
	s.closing.Do(func() { close(s.closed) })
	s.hooks.close()
	s.mu.Lock()
	server, own := s.server, s.ownDir
	s.server, s.ownDir = nil, false
	s.mu.Unlock()
	var errs []error
	if server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if server.Shutdown(ctx) != nil { // someone holds a connection: take it away
			errs = append(errs, server.Close())
		}
		cancel()
	}
	if own {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// now is the simulator's time, in UTC and whole seconds, as GitHub reports times.
func (s *Sim) now() time.Time { return s.opts.Clock().UTC().Truncate(time.Second) }

func (s *Sim) newStore() (*gitstore.Store, error) {
	s.stores++
	return gitstore.New(filepath.Join(s.dir, strconv.Itoa(s.stores)+".git"))
}
