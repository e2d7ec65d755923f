package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store/pgtest"
)

// postgres is the server behind the tests of both databases.
var postgres pgtest.Shared

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// onBoth runs a test on SQLite and on PostgreSQL: the suite that holds both to the
// same behaviour. newSpineStore opens the one that the test's name says.
func onBoth(t *testing.T, test func(*testing.T)) {
	t.Run("sqlite", test)
	t.Run("postgres", test)
}

// migrated brings a database up, for tests to copy.
func migrated(url string) error {
	s, err := Open(context.Background(), Options{URL: url, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	return s.Close()
}

// fresh is an empty SQLite database that was brought up once: migrating takes most
// of a second with the race detector, copying the file nothing.
var fresh = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "countersign-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "fresh.db")
	s, err := Open(context.Background(), Options{Path: path, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// freshFile is a copy of it.
func freshFile(tb testing.TB) string {
	tb.Helper()
	content, err := fresh()
	path := filepath.Join(tb.TempDir(), "countersign.db")
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func onPostgres(tb testing.TB) bool { return strings.Contains(tb.Name(), "/postgres") }
