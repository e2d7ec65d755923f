// Package pgtest runs a PostgreSQL for tests: a server of its own, in a temporary
// folder, on a port of its own, stopped with the tests. A test that needs one fails
// where none can be started; it never does without.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds the start of a server and each of its commands.
const patience = time.Minute

// Server is a running PostgreSQL.
type Server struct {
	dir, bin string
	port     int
	durable  bool
	cred     *syscall.Credential

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan error
	log  *bytes.Buffer
	made int
}

// Start starts a server for one test and stops it with the test. A durable one keeps
// what it committed whatever happens to the machine, as in production; the others
// are faster.
func Start(tb testing.TB, durable bool) *Server {
	tb.Helper()
	s, err := start(durable)
	if err != nil {
		tb.Fatalf("start a PostgreSQL for the test: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Errorf("stop the test's PostgreSQL: %v", err)
		}
	})
	return s
}

// Shared is a server that the tests of one binary share: started at its first use,
// stopped by Main.
type Shared struct {
	once sync.Once
	s    *Server
	err  error

	prepare     sync.Once
	prepareErr  error
	prepareName string
}

// Main runs a binary's tests and stops the server behind them.
func (x *Shared) Main(m *testing.M) int {
	code := m.Run()
	if x.s == nil {
		return code
	}
	if err := x.s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the tests' PostgreSQL:", err)
		return max(code, 1)
	}
	return code
}

// Database makes an empty database and returns its URL.
func (x *Shared) Database(tb testing.TB) string {
	tb.Helper()
	x.once.Do(func() { x.s, x.err = start(false) })
	if x.err != nil {
		tb.Fatalf("start a PostgreSQL for the tests: %v", x.err)
	}
	return x.s.Database(tb)
}

// Prepared makes a copy of a database that prepare has brought up, which happens
// once: copying takes a tenth of the time of migrating.
func (x *Shared) Prepared(tb testing.TB, prepare func(url string) error) string {
	tb.Helper()
	x.prepare.Do(func() {
		url := x.Database(tb)
		x.prepareName = url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
		x.prepareErr = prepare(url)
	})
	if x.prepareErr != nil || x.prepareName == "" {
		tb.Fatalf("prepare the database that tests copy: %v", x.prepareErr)
	}
	return x.s.database(tb, " TEMPLATE "+x.prepareName)
}

func start(durable bool) (s *Server, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s = &Server{bin: bin, durable: durable, log: &bytes.Buffer{}}
	if s.dir, err = os.MkdirTemp("", "countersign-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	}()
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.cred, err = account(s.dir); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", s.data(), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	s.as(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.run()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// as makes a command run as the server's account, and end with this process.
func (s *Server) as(cmd *exec.Cmd) {
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
}

// binaries finds the folder of PostgreSQL's programs, the newest first.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres")); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("initdb is neither in PATH nor in /usr/lib/postgresql: install PostgreSQL (Debian: apt-get install postgresql)")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// account is the one that Debian's package makes, and is given the folder.
func account(dir string) (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("run PostgreSQL as another user than root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

// run starts the server and waits until it answers.
func (s *Server) run() error {
	if s.port == 0 {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.port = l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
		if err := l.Close(); err != nil {
			return err
		}
	}
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir, "-h", "127.0.0.1", "-c", "max_connections=300"}
	if !s.durable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	cmd := exec.CommandContext(context.Background(), filepath.Join(s.bin, "postgres"), args...) //nolint:gosec // of our own making
	s.as(cmd)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.done = cmd, make(chan error, 1)
	go func() { s.done <- cmd.Wait() }()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := s.exec("SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-s.done:
			return fmt.Errorf("it ended: %w\n%s", err, s.log)
		case <-deadline.C:
			return errors.Join(errors.New("it does not answer"), cmd.Process.Kill())
		}
	}
}

func (s *Server) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// Addr is where the server listens.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL names a database of the server.
func (s *Server) URL(database string) string {
	return "postgres://test@" + s.Addr() + "/" + database + "?sslmode=disable"
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	return s.database(tb, "")
}

func (s *Server) database(tb testing.TB, like string) string {
	tb.Helper()
	s.mu.Lock()
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	err := s.exec("CREATE DATABASE " + name + like)
	s.mu.Unlock()
	if err != nil {
		tb.Fatalf("make a database: %v", err)
	}
	return s.URL(name)
}

// Stop ends the server, and every connection with it, and removes its folder.
func (s *Server) Stop() error {
	return errors.Join(s.halt(), os.RemoveAll(s.dir))
}

// Restart ends the server and starts it again on the same port and data.
func (s *Server) Restart() error {
	if err := s.halt(); err != nil {
		return err
	}
	return s.run()
}

// halt is a fast shutdown: clients are cut off, what they committed is kept.
func (s *Server) halt() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-s.done: //nolint:errcheck // its exit status says nothing that we need
	case <-time.After(patience):
		return errors.Join(errors.New("it does not end"), s.cmd.Process.Kill())
	}
	s.cmd = nil
	return nil
}
