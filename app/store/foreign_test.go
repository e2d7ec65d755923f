package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file of another program is refused, and not a byte of it changes.
func TestForeignFileIsRefused(t *testing.T) {
	for name, schema := range map[string]string{
		"another program": `CREATE TABLE users (id INTEGER); INSERT INTO users VALUES (1)`,
		"one that uses goose": `CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER, is_applied INTEGER); INSERT INTO goose_db_version VALUES (1, 3, 1);
			CREATE TABLE deliveries (id INTEGER)`,
		"one of many tables": `CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x); CREATE TABLE d (x); CREATE TABLE e (x); CREATE TABLE f (x)`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "other.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), schema); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before := schemaOf(t, path)
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), "another program's tables") || !strings.Contains(err.Error(), path) {
				t.Errorf("the error is %v", err)
			}
			if after := schemaOf(t, path); !slices.Equal(after, before) {
				t.Errorf("tables were %v and are %v", before, after)
			}
		})
	}
}

func schemaOf(t *testing.T, path string) (out []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT name || coalesce(sql, '') FROM sqlite_master ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Ours are: a new file, an empty one, one that was opened before, and one whose
// first start ended before its first migration.
func TestOwnFilesAreOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	begun := filepath.Join(t.TempDir(), "begun.db")
	db, err := sql.Open("sqlite", begun)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
		INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Path: begun})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
