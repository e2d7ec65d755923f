package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// newSpineStore opens a store on a database of its own whose clock the test sets.
func newSpineStore(tb testing.TB, now *time.Time) *Store {
	tb.Helper()
	opts := Options{Path: filepath.Join(tb.TempDir(), "countersign.db"), Logger: zerolog.Nop()}
	if onPostgres(tb) {
		opts.URL = postgres.Database(tb)
	}
	if now != nil {
		opts.Now = func() time.Time { return *now }
	}
	s, err := Open(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

func TestOpenSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path, says string }{
		{"no path", "", "no file is named"},
		{"a folder", dir, "it is a folder; name a file in it"},
		{"folder that is not there", filepath.Join(dir, "missing", "x.db"), "its folder must exist"},
		{"folder that is a file", filepath.Join(text, "x.db"), "not a directory"},
		{"not a database", text, "not an SQLite database"},
		{"a device", os.DevNull, "not a regular file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := Open(context.Background(), Options{Path: tc.path, Logger: zerolog.Nop()})
			if err == nil {
				t.Fatal("opened", s.Close())
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q, want a sentence with %q", err, tc.says)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "missing")); err == nil {
		t.Error("a refused path was created")
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "countersign.db")
	open := func() (*Store, error) {
		return Open(context.Background(), Options{Path: path, Logger: zerolog.Nop()})
	}
	first, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("second open: got %v, want ErrLocked naming %s", err, path)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	again, err := open()
	if err != nil {
		t.Fatalf("after the first has closed: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadOnlyWhileServed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "countersign.db")
	if _, err := OpenReadOnly(ctx, Options{Path: path}); err == nil || !strings.Contains(err.Error(), "for reading") {
		t.Errorf("a file that is not there: got %v", err)
	}
	s, err := Open(ctx, Options{Path: path, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	r, err := OpenReadOnly(ctx, Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // the test is over
	if _, err := s.db.ExecContext(ctx, `INSERT INTO subjects (key, kind, updated_at) VALUES ('repo:1', 'repo', '2026-01-01')`); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.Subject(ctx, r.DB(), "repo:1"); err != nil || !ok {
		t.Errorf("read what was just written: got %v, %v", ok, err)
	}
	if _, err := r.db.ExecContext(ctx, `DELETE FROM subjects`); err == nil {
		t.Error("a read-only store has written")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: got %v, %v; payloads of private repositories stand in it", info.Mode(), err)
	}
}

func TestPragmas(t *testing.T) {
	s := newSpineStore(t, nil)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "recursive_triggers": "1", "busy_timeout": "10000",
	} {
		var got string
		if err := s.db.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", pragma, got, err, want)
		}
	}
}

func TestPathsAreNotURLs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "a?mode=memory.db", "a#b.db", "100%.db", "a&_pragma=x.db", "é.db"} {
		s, err := Open(context.Background(), Options{Path: filepath.Join(dir, name), Logger: zerolog.Nop()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Size() == 0 {
			t.Errorf("%s: the database is elsewhere: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTxIsAllOrNothing(t *testing.T) { onBoth(t, testTxIsAllOrNothing) }

func testTxIsAllOrNothing(t *testing.T) {
	ctx, s := context.Background(), newSpineStore(t, nil)
	failed := errors.New("failed on purpose")
	put := func(err error) func(context.Context, *sql.Tx) error {
		return func(ctx context.Context, tx *sql.Tx) error {
			if _, e := tx.ExecContext(ctx, `INSERT INTO subjects (key, kind, updated_at) VALUES ('k', 'repo', '2026-01-01')`); e != nil {
				return e
			}
			return err
		}
	}
	if err := s.Tx(ctx, put(failed)); !errors.Is(err, failed) {
		t.Errorf("got %v, want the function's error", err)
	}
	if _, ok, _ := s.Subject(ctx, s.db, "k"); ok {
		t.Error("a failed transaction left a row")
	}
	if err := s.Tx(ctx, put(nil)); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := s.Subject(ctx, s.db, "k"); !ok {
		t.Error("a committed transaction left nothing")
	}
}

func TestMigrationsRunTwice(t *testing.T) { onBoth(t, testMigrationsRunTwice) }

func testMigrationsRunTwice(t *testing.T) {
	s := newSpineStore(t, nil)
	if err := s.migrate(context.Background()); err != nil {
		t.Errorf("again: %v", err)
	}
}

// Reading says in our words what is wrong with a file.
func TestOpenReadOnlyTellsWhatToDo(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	s, err := Open(t.Context(), Options{Path: damaged, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < 4096; i++ { // the first page's tree, behind the file's header
		raw[i] = 0xff
	}
	if err := os.WriteFile(damaged, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{empty: "not a Countersign database", damaged: "restore a backup"} {
		s, err := OpenReadOnly(t.Context(), Options{Path: path})
		if err == nil {
			t.Errorf("%s: opened, %v", path, s.Close())
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
