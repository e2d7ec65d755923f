package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"modernc.org/sqlite"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/app/store/pgtest"
)

// dieAt is the environment variable that makes this test binary the program itself,
// which is killed just before a commit to SQLite: the library tells of commits only
// inside of the process.
const dieAt = "COUNTERSIGN_TEST_DIE_AT_COMMIT"

// dieAtCommit arranges for kill -9 of this process at its n-th commit.
func dieAtCommit(at string) {
	n, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var left atomic.Int64
	left.Store(n)
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		conn.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 { //nolint:forcetypeassert // the driver's own connection
			if left.Add(-1) == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return 0
		})
		return nil
	})
}

// atOnce is how many stories are told at the same time; they wait most of the time.
const atOnce = 8

// eachCommit tells stories that die at their first commit, their second and so on,
// until one lives to its end, and holds each to the undisturbed end.
func eachCommit(t *testing.T, want string, arm func(s *story, n int)) {
	t.Helper()
	const least, most = 20, 800
	var died atomic.Int64
	for n := 1; n <= most && !t.Failed(); n += atOnce {
		before := died.Load()
		t.Run("", func(t *testing.T) {
			for i := range atOnce {
				t.Run(fmt.Sprint("commit ", n+i), func(t *testing.T) {
					t.Parallel()
					s := newStory(t)
					arm(s, n+i)
					s.tell()
					s.equals(want)
					if s.deaths > 0 {
						died.Add(1)
					}
				})
			}
		})
		if died.Load() < before+atOnce {
			break
		}
	}
	t.Logf("killed at each of %d commits; each ended as the undisturbed story does", died.Load())
	if died.Load() < least {
		t.Errorf("only %d commits were met", died.Load())
	}
}

// kill -9 at each commit to the database, from the first of the process on: what
// people see in the end is what they see when nothing fails. On PostgreSQL a commit
// may also be done without the process hearing of it.
func TestKilledAtEachCommit(t *testing.T) {
	quiet := newStory(t)
	want := quiet.tell()
	quiet.end()
	t.Run("sqlite", func(t *testing.T) {
		eachCommit(t, want, func(s *story, n int) { s.dieAt = n })
	})
	pg := pgtest.Start(t, false)
	for name, after := range map[string]bool{"before": false, "after": true} {
		t.Run("postgres, "+name, func(t *testing.T) {
			eachCommit(t, want, func(s *story, n int) {
				proxy := s.behindProxy(pg)
				proxy.arm(n, after, func() { s.murder(githubsim.Request{}) })
			})
		})
	}
}

// behindProxy lets the site's processes use a database of a server, through a proxy.
func (s *site) behindProxy(pg *pgtest.Server) *pgProxy {
	s.t.Helper()
	proxy := newPGProxy(s.t, pg.Addr())
	s.url = pg.Database(s.t)
	s.env = append(s.env, "DATABASE_URL="+strings.Replace(s.url, pg.Addr(), proxy.addr(), 1), "COUNTERSIGN_REPLICA=one")
	return proxy
}
