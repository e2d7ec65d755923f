package main_test

import (
	"bytes"
	"context"
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
	program "github.com/countersign/countersign/cmd/countersign"
	"github.com/countersign/countersign/review/publish"
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
	if at := os.Getenv(dieAt); at != "" {
		dieAtCommit(at)
		program.Main()
	}
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
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

// decided: the head has each of our three checks exactly once, and the one that judges
// waits for CI.
func (s *site) decided(p *githubsim.Pull) bool {
	n := make(map[string]int)
	ok := false
	for _, run := range s.repo.CheckRuns(p.HeadSHA()) {
		if run.AppID == s.app.ID() {
			n[run.Name]++
			ok = ok || (run.Name == publish.CheckName && strings.HasPrefix(run.Output.Title, "Low · "))
		}
	}
	return ok && len(n) == 3 && n[publish.CheckName] == 1 && n[publish.ReviewName] == 1 && n[publish.CoverageName] == 1
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
	db, err := store.OpenReadOnly(context.Background(), store.Options{Path: s.db})
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
	db, err := store.OpenReadOnly(ctx, store.Options{Path: s.db})
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
		ended := "cancelled"
		if run.Name != publish.CheckName {
			ended = "neutral" // what was found on an old head stays true of it
		}
		if run.AppID == s.app.ID() && run.HeadSHA != pull.HeadSHA() && run.Conclusion != ended {
			t.Errorf("an old head shows %q %s %s", run.Output.Title, run.Status, run.Conclusion)
		}
	}
}

func deliver(hook string, d githubsim.Delivery) (int, error) {
	return deliverBy(http.DefaultClient, hook, d)
}

func deliverBy(client *http.Client, hook string, d githubsim.Delivery) (int, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, hook, bytes.NewReader(d.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", d.Event)
	req.Header.Set("X-GitHub-Delivery", d.GUID)
	req.Header.Set("X-Hub-Signature-256", githubsim.Sign(hookSecret, d.Body))
	resp, err := client.Do(req)
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
		if err != nil || !strings.Contains(out, "consistent with each other") {
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
		{"another database", []string{"DATABASE_URL=mysql://u:hunter2@h/d"}, []string{"DATABASE_URL (environment): is not of PostgreSQL"}},
		{"PostgreSQL without a name", []string{"DATABASE_URL=postgres://u:hunter2@h"}, []string{"DATABASE_URL (environment): names no database"}},
		{"PostgreSQL that is not there", []string{"DATABASE_URL=postgres://u:hunter2@127.0.0.1:1/d"}, []string{"open database d on 127.0.0.1:1", "check DATABASE_URL"}},
		{"settings on two hosts", []string{"GITHUB_V4_API_URL=https://api.github.com/graphql"}, []string{"GITHUB_V4_API_URL (environment): is on api.github.com"}},
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

// A wrong word is told before anything is opened or done.
func TestWrongArguments(t *testing.T) {
	s := newSite(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "now"}, `serve takes no arguments, got ["now"]`},
		{[]string{"demo", "now"}, "demo takes no arguments"},
		{[]string{"version", "x"}, "version takes no arguments"},
		{[]string{"trail"}, "want show, query, export or verify"},
		{[]string{"trail", "show"}, "want a session's id, or OWNER/NAME and a number"},
		{[]string{"trail", "show", "acme/shop"}, "want a session's id, or OWNER/NAME and a number"},
		{[]string{"trail", "show", "acme/shop", "x"}, `want a pull request's number, from 1, got "x"`},
		{[]string{"trail", "verify", "acme/shop", "1"}, "trail verify takes no arguments"},
		{[]string{"trail", "--json", "verify"}, "no database at " + s.db},
	} {
		out, err := s.run(tc.args...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out, tc.want) {
			t.Errorf("%v: %v\n%s\nwant code 2 and %q", tc.args, err, out, tc.want)
		}
	}
}
