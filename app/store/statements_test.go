package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestCacheable(t *testing.T) {
	for query, want := range map[string]bool{
		"SELECT 1": true,
		"  \n-- name: X :one\n-- it's; fine\nselect 1": true,
		"/* a; b */ INSERT INTO t VALUES (';')":        true,
		"UPDATE t SET a = 'it''s; so'":                 true,
		"DELETE FROM t -- ;":                           true,
		"SELECT 1;":                                    false,
		"SELECT 1; SELECT 2":                           false,
		"PRAGMA foreign_keys":                          false,
		"CREATE TABLE t (a)":                           false,
		"BEGIN":                                        false,
		"":                                             false,
		"-- nothing":                                   false,
		"/* open":                                      false,
		"'open":                                        false,
		"SELECTED":                                     false,
	} {
		if got := cacheable(query); got != want {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
}

// TestStatementsAreKept uses kept statements in the ways that could mix them up.
func TestStatementsAreKept(t *testing.T) {
	ctx, s := context.Background(), newSpineStore(t, nil)
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := s.db.ExecContext(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(`CREATE TABLE n (v INTEGER UNIQUE, w TEXT)`)
	for i := range 3 * maxStatements { // more texts than are kept
		exec(fmt.Sprintf(`INSERT INTO n (v, w) VALUES ($1, 'w%d')`, i), i)
	}
	// A statement that failed works again, with other arguments.
	for _, v := range []int{1, 100000, 2, 100001} {
		_, err := s.db.ExecContext(ctx, `INSERT INTO n (v) VALUES ($1)`, v)
		if failed := err != nil; failed != (v < 100000) {
			t.Errorf("insert %d: got %v", v, err)
		}
	}
	// The same text while its rows are open, left before their end.
	conn, err := s.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const query = `SELECT v FROM n WHERE v < $1 ORDER BY v`
	outer, err := conn.QueryContext(ctx, query, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	for want := range 5 {
		var got, inner int
		if !outer.Next() {
			t.Fatal("the outer rows ended early")
		}
		if err := outer.Scan(&got); err != nil || got != want {
			t.Errorf("outer: got %d, %v; want %d", got, err, want)
		}
		if err := conn.QueryRowContext(ctx, query, 3).Scan(&inner); err != nil || inner != 0 {
			t.Errorf("inner: got %d, %v; want 0", inner, err)
		}
	}
	if err := errors.Join(outer.Err(), outer.Close()); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	// A change of the schema is noticed.
	exec(`ALTER TABLE n ADD COLUMN x TEXT DEFAULT 'new'`)
	var x string
	if err := s.db.QueryRowContext(ctx, `SELECT x FROM n WHERE v = $1`, 1).Scan(&x); err != nil || x != "new" {
		t.Errorf("new column: got %q, %v", x, err)
	}
}

// TestCancelledStatementCanBeUsedAgain: a statement whose context ended must not
// poison the connection, which is the only one.
func TestCancelledStatementCanBeUsedAgain(t *testing.T) {
	s := newSpineStore(t, nil)
	const query = `SELECT count(*) FROM subjects WHERE kind = $1`
	for i := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 0 {
			cancel()
		}
		var n int
		err := s.db.QueryRowContext(ctx, query, "repo").Scan(&n)
		if failed := err != nil; failed != (i%2 == 0) {
			t.Errorf("query %d: got %v", i, err)
		}
		cancel()
	}
}
