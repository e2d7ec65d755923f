package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
)

// finished runs a service until each of n pull requests is decided, and stops it.
func (s *site) finished(n int) []*githubsim.Pull {
	s.t.Helper()
	p := s.serve()
	pulls := s.open(n)
	for _, pull := range pulls {
		s.until("the check", func() bool { return s.decided(pull) })
	}
	s.must(p.cmd.Process.Signal(syscall.SIGTERM))
	s.must(<-p.done)
	return pulls
}

// sql changes the database as somebody with the file in his hands does.
func (s *site) sql(statements ...string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", s.db)
	s.must(err)
	defer db.Close()
	for _, q := range statements {
		_, err := db.ExecContext(context.Background(), q)
		s.must(err)
	}
}

// exits runs the binary and holds its code.
func (s *site) exits(code int, want string, args ...string) string {
	s.t.Helper()
	out, err := s.run(args...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code || !strings.Contains(out, want) {
		s.t.Errorf("%v: exit %d, want %d and %q:\n%s", args, got, code, want, out)
	}
	return out
}

func untriggered() []string {
	return []string{"DROP TRIGGER trail_no_delete", "DROP TRIGGER chains_only_forward", "DROP TRIGGER chains_no_delete"}
}

// Records cut off together with their chain's head leave nothing to see in the
// database. GitHub is the witness.
func TestVerifyWithGitHub(t *testing.T) {
	s := newSite(t)
	pulls := s.finished(3)
	s.exits(0, "are consistent with each other", "trail", "verify")
	s.exits(0, "published checks compared with GitHub: 0 problems, 0 could not be compared", "trail", "verify", "--github")
	s.exits(2, "stopped after 1 questions to GitHub (--calls); --since 20", "trail", "verify", "--github", "--calls", "1")
	s.exits(0, "0 published checks compared", "trail", "verify", "--github", "--repo", "acme/other")

	// Another run than the one that was published.
	chain := fmt.Sprintf("pull:%d:%d", s.repo.ID(), pulls[0].Number())
	s.sql(append(untriggered(),
		`DELETE FROM trail WHERE chain = '`+chain+`' AND seq >= (SELECT min(seq) FROM trail WHERE chain = '`+chain+`' AND type = 'gate_decision')`,
		`UPDATE chains SET seq = (SELECT max(seq) FROM trail t WHERE t.chain = chains.chain), hash = (SELECT hash FROM trail t WHERE t.chain = chains.chain ORDER BY seq DESC LIMIT 1) WHERE chain = '`+chain+`'`)...)
	s.exits(0, "are consistent with each other", "trail", "verify")
	out := s.exits(1, "which the trail does not hold: its end was cut, or it was rewritten", "trail", "verify", "--github")
	if !strings.Contains(out, "acme/shop@"+pulls[0].HeadSHA()[:7]) || strings.Count(out, "does not hold") != 1 {
		t.Errorf("want one problem, of the head that was cut:\n%s", out)
	}

	// A whole chain is gone.
	other := fmt.Sprintf("pull:%d:%d", s.repo.ID(), pulls[1].Number())
	s.sql(`DELETE FROM trail WHERE chain = '`+other+`'`, `DELETE FROM chains WHERE chain = '`+other+`'`)
	s.exits(0, "are consistent with each other", "trail", "verify")
	if out := s.exits(1, "acme/shop@"+pulls[1].HeadSHA()[:7], "trail", "verify", "--github"); strings.Count(out, "does not hold") != 2 {
		t.Errorf("want two problems:\n%s", out)
	}
	if strings.Contains(out, "ghs_") || strings.Contains(out, "PRIVATE KEY") {
		t.Errorf("shows a secret:\n%s", out)
	}
}

// An export can be verified by somebody who has nothing else.
func TestExport(t *testing.T) {
	s := newSite(t)
	pulls := s.finished(2)
	dir := t.TempDir()
	whole, err := s.run("trail", "export")
	s.must(err)
	save := func(name, text string) string {
		path := filepath.Join(dir, name)
		s.must(os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	n := 0
	for line := range strings.Lines(whole) {
		var rec struct{ Hash, Chain, ID string }
		if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.Hash == "" || rec.Chain == "" || rec.ID == "" {
			t.Errorf("line %d: %v: %s", n+1, err, line)
		}
		n++
	}
	s.exits(0, fmt.Sprintf("%d records in", n), "trail", "verify", "--file", save("whole.jsonl", whole))
	s.exits(1, "its contents do not give its hash: changed", "trail", "verify", "--file", save("changed.jsonl", strings.Replace(whole, `"actor":"countersign"`, `"actor":"mallory"`, 1)))
	lines := strings.SplitAfter(whole, "\n")
	s.exits(1, "row is missing", "trail", "verify", "--file", save("dropped.jsonl", strings.Join(append(append([]string{}, lines[:3]...), lines[4:]...), "")))
	s.exits(2, "line 1: want a record", "trail", "verify", "--file", save("other.jsonl", "hello\n"))

	part, err := s.run("trail", "export", "--repo", "ACME/Shop", "--pull", fmt.Sprint(pulls[1].Number()), "--type", "publish")
	s.must(err)
	if c := strings.Count(part, "\n"); c < 2 || strings.Contains(part, pulls[0].HeadSHA()) {
		t.Errorf("%d lines:\n%s", c, part)
	}
	s.exits(1, "missing", "trail", "verify", "--file", save("part.jsonl", part))
	s.exits(0, "in between are not in the file", "trail", "verify", "--file", save("part.jsonl", part), "--partial")
	if none := s.exits(0, "", "trail", "export", "--until", "2020-01-01"); none != "" {
		t.Errorf("exported %s", none)
	}
}

// What is shown is bounded and says so; names are GitHub's, in any case; a search
// finds by rule and decision.
func TestShowAndQuery(t *testing.T) {
	s := newSite(t)
	pull := s.finished(1)[0]
	number := fmt.Sprint(pull.Number())
	whole := s.exits(0, "gate_decision", "trail", "show", "ACME/Shop", number, "--json")
	n := strings.Count(whole, "\n")
	seen, after := 0, ""
	for {
		args := []string{"trail", "show", "acme/shop", number, "--limit", "4", "--json"}
		if after != "" {
			args = append(args, "--after", after)
		}
		out := s.exits(0, "", args...)
		seen += strings.Count(out, `"chain":`)
		_, rest, more := strings.Cut(out, "--after ")
		if !more {
			break
		}
		after, _, _ = strings.Cut(rest, " ")
	}
	if seen != n || n < 6 {
		t.Errorf("pages hold %d records of %d", seen, n)
	}
	out := s.exits(0, "gate_decision", "trail", "query", "--rule", "checks-pending")
	if strings.Contains(out, "run_start") {
		t.Errorf("found what does not mention the rule:\n%s", out)
	}
	s.exits(0, "gate_decision", "trail", "query", "--decision", "pending", "--repo", "acme/SHOP", "--type", "gate_decision")
	s.exits(0, "no record matches", "trail", "query", "--rule", "permission-denied")
	for want, args := range map[string][]string{
		"want a pull request's number, from 1, got \"0\"":      {"show", "acme/shop", "0"},
		"want a pull request's number, from 1, got \"-3\"":     {"show", "--", "acme/shop", "-3"},
		"no records of acme/shop #99":                          {"show", "acme/shop", "99"},
		"want at least 1":                                      {"show", "acme/shop", "1", "--limit", "0"},
		"trail show does not take --rule":                      {"show", "acme/shop", "1", "--rule", "x"},
		"together with --repo":                                 {"export", "--pull", "1"},
		"unknown type \"gate\"":                                {"query", "--type", "gate"},
		"want 2026-11-30":                                      {"export", "--since", "yesterday"},
		"--file or --github, not both":                         {"verify", "--file", "x", "--github"},
		"--repo and --since are for --github":                  {"verify", "--repo", "a/b"},
		"want show, query, export or verify, got [\"redact\"]": {"redact"},
		"no record of this session in the trail":               {"show", "01J00000000000000000000000"},
	} {
		s.exits(2, want, append([]string{"trail"}, args...)...)
	}
}

// A copy in a folder that cannot be written is verified too, unless it has records
// beside it that a reader would miss.
func TestVerifyReadOnlyCopy(t *testing.T) {
	s := newSite(t)
	s.finished(1)
	text, err := os.ReadFile(s.db)
	s.must(err)
	dir, err := os.MkdirTemp("", "countersign-copy-")
	s.must(err)
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "copy.db")
	s.must(os.WriteFile(copied, text, 0o444))
	s.must(os.Chmod(dir, 0o555))
	verify := func(code int, want string) {
		t.Helper()
		path, err := binary()
		s.must(err)
		cmd := exec.CommandContext(context.Background(), path, "trail", "verify", "--database", copied)
		if os.Geteuid() == 0 { // to whom nothing is read-only
			s.must(os.Chmod(filepath.Dir(path), 0o755))
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			cmd.Dir = "/"
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !bytes.Contains(out, []byte(want)) {
			t.Errorf("exit %v, want %d and %q:\n%s", err, code, want, out)
		}
	}
	verify(0, "are consistent with each other")
	s.must(os.Chmod(dir, 0o755))
	s.must(os.WriteFile(copied+"-wal", bytes.Repeat([]byte("x"), 4096), 0o444))
	s.must(os.Chmod(dir, 0o555))
	verify(2, "copy the file with its -wal to a folder of your own")
	s.must(os.Chmod(dir, 0o755))
}
