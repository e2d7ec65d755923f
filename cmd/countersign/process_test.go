package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/countersign/countersign/app" // the binary is built of it: a cached result must not outlive a change
	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/review/trail"
)

// These tests run the real binary: what a kill -9 leaves behind cannot be shown
// from inside the process.

const (
	hookSecret = "process-test-secret-0123456789abcdef"
	patience   = 60 * time.Second
)

// binary is built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "countersign-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "countersign")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// site is a simulated GitHub and the settings of a process beside it.
type site struct {
	t    testing.TB
	sim  *githubsim.Sim
	repo *githubsim.Repo
	app  *githubsim.AppHandle
	db   string
	env  []string
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t}
	dir := t.TempDir()
	var err error
	s.sim, err = githubsim.New(githubsim.Options{Dir: filepath.Join(dir, "github")})
	s.must(err)
	t.Cleanup(func() { s.must(s.sim.Close()) })
	url, err := s.sim.Start()
	s.must(err)
	s.repo, err = s.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "shop"})
	s.must(err)
	_, err = s.repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# shop\n"}}})
	s.must(err)
	s.must(s.repo.SetCollaborator("mona", "write"))
	s.app, err = s.sim.AddApp(githubsim.App{ID: 4711, Slug: "countersign", WebhookSecret: hookSecret})
	s.must(err)
	_, err = s.sim.Install(s.app, "acme", s.repo)
	s.must(err)
	key := filepath.Join(dir, "key.pem")
	s.must(os.WriteFile(key, s.app.PrivateKeyPEM(), 0o600))
	s.db = filepath.Join(dir, "countersign.db")
	s.env = append(os.Environ(),
		"LISTEN_ADDR=127.0.0.1:0", "GITHUB_V3_API_URL="+url, "GITHUB_V4_API_URL="+url+"/graphql", "GITHUB_WEB_URL="+url,
		"GITHUB_APP_INTEGRATION_ID=4711", "GITHUB_APP_WEBHOOK_SECRET="+hookSecret, "GITHUB_APP_PRIVATE_KEY_FILE="+key,
		"COUNTERSIGN_DATABASE="+s.db, "COUNTERSIGN_MODE=auto", "COUNTERSIGN_DEBOUNCE=50ms", "COUNTERSIGN_SETTLE=100ms", "COUNTERSIGN_WRITES_PER_MINUTE=100000",
	)
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// process is a running `countersign serve`.
type process struct {
	cmd  *exec.Cmd
	hook string
	done chan error
	log  *lockedBuffer
}

// serve starts the binary and waits until it serves.
func (s *site) serve() *process {
	s.t.Helper()
	path, err := binary()
	s.must(err)
	p := &process{cmd: exec.CommandContext(context.Background(), path, "serve"), done: make(chan error, 1), log: &lockedBuffer{}}
	p.cmd.Env = s.env
	stderr, err := p.cmd.StderrPipe()
	s.must(err)
	s.must(p.cmd.Start())
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
	case err := <-p.done:
		s.t.Fatalf("ended before serving: %v\n%s", err, p.log)
	case <-time.After(patience):
		s.t.Fatalf("does not serve\n%s", p.log)
	}
	s.app.SetWebhook(p.hook, hookSecret)
	return p
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

// open opens n docs-only pull requests.
func (s *site) open(n int) []*githubsim.Pull {
	s.t.Helper()
	var out []*githubsim.Pull
	for i := range n {
		p, err := s.repo.OpenPull(githubsim.PullSpec{Title: fmt.Sprintf("Document part %d of it", i), Author: "mona", Head: fmt.Sprintf("part-%d", i),
			Changes: []githubsim.Change{{Path: fmt.Sprintf("docs/part-%d.md", i), Content: "# x\n"}}})
		s.must(err)
		out = append(out, p)
	}
	return out
}

// decided: the head has exactly one check of ours and it waits for CI.
func (s *site) decided(p *githubsim.Pull) bool {
	n, ok := 0, false
	for _, run := range s.repo.CheckRuns(p.HeadSHA()) {
		if run.AppID == s.app.ID() {
			n++
			ok = strings.HasPrefix(run.Output.Title, "Low · ")
		}
	}
	return n == 1 && ok
}

// opened lists the pull_request.opened deliveries.
func (s *site) opened() []githubsim.Delivery {
	var out []githubsim.Delivery
	for _, d := range s.sim.Deliveries() {
		if d.Event == "pull_request" && d.Action == "opened" {
			out = append(out, d)
		}
	}
	return out
}

// sessions counts the sessions that were started, by pull request.
func (s *site) sessions() map[int]int {
	s.t.Helper()
	db, err := store.OpenReadOnly(context.Background(), s.db)
	s.must(err)
	defer db.Close()
	recs, err := db.FindTrail(context.Background(), trail.Query{Type: trail.TypeRunStart, Limit: 10_000})
	s.must(err)
	out := make(map[int]int)
	for _, r := range recs {
		out[r.Pull]++
	}
	report, err := trail.Verify(context.Background(), db)
	s.must(err)
	if !report.OK() {
		s.t.Errorf("the trail does not hold: %v", report.Problems)
	}
	return out
}

// BenchmarkIdleMemory is what the process holds once it has worked and waits.
func BenchmarkIdleMemory(b *testing.B) {
	s := newSite(b)
	p := s.serve()
	pull := s.open(1)[0]
	s.until("the check", func() bool { return s.decided(pull) })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	s.must(err)
	for line := range strings.Lines(string(status)) {
		var kB float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kB); err == nil {
			b.ReportMetric(kB/1024, "RSS-MiB")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// 110 acknowledged deliveries, kill -9, restart: none lost, nothing twice.
func TestKillLosesNothing(t *testing.T) {
	s := newSite(t)
	p := s.serve()
	s.sim.Hold()
	pulls := s.open(110)
	undo := s.sim.Fail(githubsim.Fault{Route: "*", Delay: 200 * time.Millisecond})
	s.sim.Release()
	s.until("110 acknowledgements", func() bool {
		n := 0
		for _, d := range s.opened() {
			if d.Status == http.StatusAccepted {
				n++
			}
		}
		return n == 110
	})
	s.kill(p)
	undo()
	finished := 0
	for _, pull := range pulls {
		if s.decided(pull) {
			finished++
		}
	}
	if finished == len(pulls) {
		t.Fatal("all were finished before the kill: this shows nothing")
	}
	t.Logf("%d of %d were finished when it was killed", finished, len(pulls))
	s.serve()
	for _, pull := range pulls {
		s.until(fmt.Sprintf("the check of #%d", pull.Number()), func() bool { return s.decided(pull) })
	}
	s.sessions()
}

// 20 delivery ids sent ten times each are 20 evaluations.
func TestRepeatedDeliveries(t *testing.T) {
	s := newSite(t)
	p := s.serve()
	s.sim.Hold()
	pulls := s.open(20)
	var wg sync.WaitGroup
	for _, d := range s.opened() {
		for range 10 {
			wg.Go(func() {
				if code, err := deliver(p.hook, d); err != nil || code != http.StatusAccepted {
					t.Errorf("answered %d, %v", code, err)
				}
			})
		}
	}
	wg.Wait()
	for _, pull := range pulls {
		s.until(fmt.Sprintf("the check of #%d", pull.Number()), func() bool { return s.decided(pull) })
	}
	got := s.sessions()
	total := 0
	for _, n := range got {
		total += n
	}
	if total != 20 || len(got) != 20 {
		t.Errorf("%d evaluations of %d pull requests, want 20 of 20", total, len(got))
	}
}

// 50 pushes in a burst on one pull request: at most two sessions publish, and one
// verdict stands.
func TestBurstOfPushes(t *testing.T) {
	s := newSite(t)
	s.env = append(s.env, "COUNTERSIGN_SETTLE=1s")
	s.serve()
	pull := s.open(1)[0]
	for i := range 50 {
		_, err := pull.Push(githubsim.Change{Path: "docs/part-0.md", Content: fmt.Sprintf("# try %d\n", i)})
		s.must(err)
	}
	s.until("the check of the last head", func() bool { return s.decided(pull) })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.must(s.sim.WaitIdle(ctx))
	db, err := store.OpenReadOnly(ctx, s.db)
	s.must(err)
	defer db.Close()
	recs, err := db.FindTrail(ctx, trail.Query{Type: trail.TypePublish, Limit: 10_000})
	s.must(err)
	sessions := make(map[string]bool)
	for _, r := range recs {
		sessions[r.SessionID] = true
	}
	if len(sessions) > 2 {
		t.Errorf("%d sessions published, want at most 2", len(sessions))
	}
	for _, run := range s.repo.AllCheckRuns() {
		if run.AppID == s.app.ID() && run.HeadSHA != pull.HeadSHA() && run.Conclusion != "cancelled" {
			t.Errorf("an old head shows %q %s %s", run.Output.Title, run.Status, run.Conclusion)
		}
	}
}

func deliver(hook string, d githubsim.Delivery) (int, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, hook, bytes.NewReader(d.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", d.Event)
	req.Header.Set("X-GitHub-Delivery", d.GUID)
	req.Header.Set("X-Hub-Signature-256", githubsim.Sign(hookSecret, d.Body))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// SIGTERM ends it cleanly, and the trail can be read beside it and afterwards.
func TestStopAndTrail(t *testing.T) {
	s := newSite(t)
	p := s.serve()
	pull := s.open(1)[0]
	s.until("the check", func() bool { return s.decided(pull) })
	for range 2 {
		out, err := s.run("trail", "verify")
		if err != nil || !strings.Contains(out, "nothing changed") {
			t.Errorf("verify: %v\n%s", err, out)
		}
		out, err = s.run("trail", "show", "acme/shop", fmt.Sprint(pull.Number()))
		if err != nil || !strings.Contains(out, "gate_decision") {
			t.Errorf("show: %v\n%s", err, out)
		}
		if p.cmd.ProcessState == nil {
			s.must(p.cmd.Process.Signal(syscall.SIGTERM))
			if err := <-p.done; err != nil {
				t.Errorf("stopped with %v", err)
			}
		}
	}
	for _, leak := range []string{hookSecret, "PRIVATE KEY", "ghs_"} {
		if strings.Contains(p.log.String(), leak) {
			t.Errorf("the log shows %q", leak)
		}
	}
}

func (s *site) run(args ...string) (string, error) {
	path, err := binary()
	s.must(err)
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// What is broken at the start is said, and the process ends with a code.
func TestBrokenStart(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  []string
		want []string
	}{
		{"settings", []string{"GITHUB_APP_WEBHOOK_SECRET=", "COUNTERSIGN_MODE=yolo"}, []string{"GITHUB_APP_WEBHOOK_SECRET: is not set", `unknown mode "yolo"`}},
		{"GitHub unreachable", []string{"GITHUB_V3_API_URL=http://127.0.0.1:1"}, []string{"ask http://127.0.0.1:1 who this App is"}},
		{"another App's id", []string{"GITHUB_APP_INTEGRATION_ID=1"}, []string{"who this App is"}},
		{"database folder missing", []string{"COUNTERSIGN_DATABASE=/nonexistent/x.db"}, []string{"/nonexistent"}},
		{"PostgreSQL", []string{"DATABASE_URL=postgres://u:hunter2@h/d"}, []string{"DATABASE_URL", "not supported yet"}},
		{"address in use", []string{"LISTEN_ADDR=256.0.0.1:80"}, []string{"listen on"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSite(t)
			s.env = append(s.env, tc.env...)
			out, err := s.run("serve")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("ended with %v, want code 2", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("does not say %q:\n%s", want, out)
				}
			}
			if strings.Contains(out, "hunter2") || strings.Contains(out, hookSecret) {
				t.Errorf("shows a secret:\n%s", out)
			}
		})
	}
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
