package main_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
)

// site is a simulated GitHub and the settings of a process beside it.
type site struct {
	t      testing.TB
	sim    *githubsim.Sim
	repo   *githubsim.Repo
	app    *githubsim.AppHandle
	db     string
	url    string                  // of a PostgreSQL instead
	newest atomic.Pointer[process] // that was started
	env    []string
}

func newSite(t testing.TB) *site { return newSiteWith(t, githubsim.Options{}) }

func newSiteWith(t testing.TB, opts githubsim.Options) *site {
	t.Helper()
	s := &site{t: t}
	dir := t.TempDir()
	var err error
	opts.Dir = filepath.Join(dir, "github")
	s.sim, err = githubsim.New(opts)
	s.must(err)
	t.Cleanup(func() { s.must(s.sim.Close()) })
	url, err := s.sim.Start()
	s.must(err)
	s.repo, err = s.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"})
	s.must(err)
	_, err = s.repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# shop\n"}}})
	s.must(err)
	s.must(s.repo.SetCollaborator("mona", "write"))
	s.app, err = s.sim.AddApp(githubsim.App{ID: 4711, Slug: "countersign", WebhookSecret: hookSecret, Key: testKey(t)})
	s.must(err)
	_, err = s.sim.Install(s.app, "acme", s.repo)
	s.must(err)
	key := filepath.Join(dir, "key.pem")
	s.must(os.WriteFile(key, s.app.PrivateKeyPEM(), 0o600))
	s.db = filepath.Join(dir, "countersign.db")
	s.env = append(os.Environ(),
		"LISTEN_ADDR=127.0.0.1:0", "GITHUB_V3_API_URL="+url,
		"GITHUB_APP_INTEGRATION_ID=4711", "GITHUB_APP_WEBHOOK_SECRET="+hookSecret, "GITHUB_APP_PRIVATE_KEY_FILE="+key,
		"COUNTERSIGN_DATABASE="+s.db, "COUNTERSIGN_MODE=auto", "COUNTERSIGN_DEBOUNCE=50ms", "COUNTERSIGN_SETTLE=100ms", "COUNTERSIGN_DRAIN=0s", "COUNTERSIGN_WRITES_PER_MINUTE=100000",
	)
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// sharedKey saves the making of an RSA key for each site.
var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func testKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := sharedKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// process is a running `countersign serve`.
type process struct {
	cmd  *exec.Cmd
	hook string
	done chan error    // how it ended
	gone chan struct{} // closed when it has ended
	log  *lockedBuffer
}

// serve starts the binary and has webhooks sent to it.
func (s *site) serve() *process {
	s.t.Helper()
	p := s.start()
	s.app.SetWebhook(p.hook, hookSecret)
	return p
}

// start starts the binary, with further settings, and waits until it serves.
func (s *site) start(env ...string) *process {
	s.t.Helper()
	path, err := binary()
	s.must(err)
	p, serves := s.launch(path, env...)
	if !serves {
		s.t.Fatalf("ended before serving: %v\n%s", <-p.done, p.log)
	}
	return p
}

// launch starts a binary that holds the program, and answers whether it lived until
// it served.
func (s *site) launch(path string, env ...string) (p *process, serves bool) {
	s.t.Helper()
	p = &process{cmd: exec.CommandContext(context.Background(), path, "serve"), done: make(chan error, 1), gone: make(chan struct{}), log: &lockedBuffer{}}
	p.cmd.Env = append(slices.Clone(s.env), env...)
	stderr, err := p.cmd.StderrPipe()
	s.must(err)
	s.must(p.cmd.Start())
	s.newest.Store(p)
	addr := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.log.write(lines.Text() + "\n")
			var entry struct{ Message, Addr string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Message == "serving" {
				addr <- entry.Addr
			}
		}
		p.done <- p.cmd.Wait()
		close(p.gone)
	}()
	s.t.Cleanup(func() {
		p.cmd.Process.Kill() //nolint:errcheck // it may have ended
		if s.t.Failed() {
			s.t.Logf("log:\n%s", p.log)
		}
	})
	select {
	case a := <-addr:
		p.hook = "http://" + a + "/api/github/hook"
		return p, true
	case <-p.gone:
		return p, false
	case <-time.After(patience):
		s.t.Fatalf("does not serve\n%s", p.log)
		return p, false
	}
}

// kill is kill -9.
func (s *site) kill(p *process) {
	s.t.Helper()
	s.must(p.cmd.Process.Signal(syscall.SIGKILL))
	if err := <-p.done; err == nil {
		s.t.Fatal("it ended by itself before it was killed")
	}
}

func (s *site) until(what string, cond func() bool) {
	s.t.Helper()
	s.untilAfter(patience, what, cond)
}

func (s *site) untilAfter(patience time.Duration, what string, cond func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			s.t.Fatalf("waited %s for %s; our checks:\n%s", patience, what, s.state())
		case <-tick.C:
		}
	}
}

// state lists our checks, for a failure's message.
func (s *site) state() string {
	var b strings.Builder
	for _, run := range s.repo.AllCheckRuns() {
		if run.AppID == s.app.ID() && b.Len() < 4<<10 {
			fmt.Fprintf(&b, "%s %d %q %s %s\n", run.HeadSHA[:7], run.ID, run.Output.Title, run.Status, run.Conclusion)
		}
	}
	return b.String()
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (b *lockedBuffer) write(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.WriteString(s)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
