package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// The two databases have the same migrations, tables, columns, keys and indices.
func TestMigrationsAreOfOneKind(t *testing.T) {
	files := map[string][]string{}
	for _, folder := range []string{"sqlite", "postgres"} {
		found, err := fs.Glob(migrations, "migrations/"+folder+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			files[folder] = append(files[folder], f[strings.LastIndex(f, "/")+1:])
		}
	}
	if !slices.Equal(files["sqlite"], files["postgres"]) || len(files["sqlite"]) == 0 {
		t.Errorf("SQLite has the migrations %v, PostgreSQL %v: each needs both", files["sqlite"], files["postgres"])
	}
	schemas := map[string]map[string]string{}
	t.Run("sqlite", func(t *testing.T) { schemas["sqlite"] = sqliteSchema(t, newSpineStore(t, nil).db) })
	t.Run("postgres", func(t *testing.T) { schemas["postgres"] = postgresSchema(t, newSpineStore(t, nil).db) })
	one, other := schemas["sqlite"], schemas["postgres"]
	if len(one) < 50 {
		t.Fatalf("only %d columns were found: %v", len(one), slices.Sorted(maps.Keys(one)))
	}
	for name, want := range one {
		if got, ok := other[name]; !ok || got != want {
			t.Errorf("%s is %q in SQLite and %q in PostgreSQL", name, want, got)
		}
	}
	for name := range other {
		if _, ok := one[name]; !ok {
			t.Errorf("%s is in PostgreSQL only", name)
		}
	}
}

// ours leaves out the tables of the libraries, which have their own migrations.
func ours(table string) bool {
	return !strings.HasPrefix(table, "river") && !strings.HasPrefix(table, "goose") && !strings.HasPrefix(table, "sqlite")
}

// kindOf makes the types of both databases comparable.
func kindOf(typ string) string {
	switch strings.ToLower(typ) {
	case "integer", "bigint":
		return "integer"
	case "timestamp", "timestamp with time zone":
		return "time"
	case "blob", "bytea":
		return "bytes"
	}
	return strings.ToLower(typ)
}

func query(t *testing.T, db *sql.DB, text string, each func(scan func(...any))) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	for rows.Next() {
		each(func(dest ...any) {
			if err := rows.Scan(dest...); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func sqliteSchema(t *testing.T, db *sql.DB) map[string]string {
	found := make(map[string]string)
	query(t, db, `SELECT m.name, c.name, c.type, c."notnull" OR c.pk > 0, c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`, func(scan func(...any)) {
		var table, column, typ string
		var required bool
		var key int
		if scan(&table, &column, &typ, &required, &key); ours(table) {
			found[table+"."+column] = fmt.Sprintf("%s required=%v key=%d", kindOf(typ), required, key)
		}
	})
	query(t, db, `SELECT tbl_name, name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`, func(scan func(...any)) {
		var table, name string
		if scan(&table, &name); ours(table) {
			found["index "+name] = table
		}
	})
	return found
}

func postgresSchema(t *testing.T, db *sql.DB) map[string]string {
	found := make(map[string]string)
	query(t, db, `SELECT c.table_name, c.column_name, c.data_type, c.is_nullable = 'NO', COALESCE(k.ordinal_position, 0)
FROM information_schema.columns c
LEFT JOIN information_schema.table_constraints p ON p.table_schema = c.table_schema AND p.table_name = c.table_name AND p.constraint_type = 'PRIMARY KEY'
LEFT JOIN information_schema.key_column_usage k ON k.constraint_schema = p.constraint_schema AND k.constraint_name = p.constraint_name AND k.table_name = c.table_name AND k.column_name = c.column_name
WHERE c.table_schema = current_schema()`, func(scan func(...any)) {
		var table, column, typ string
		var required bool
		var key int
		if scan(&table, &column, &typ, &required, &key); ours(table) {
			found[table+"."+column] = fmt.Sprintf("%s required=%v key=%d", kindOf(typ), required, key)
		}
	})
	query(t, db, `SELECT i.tablename, i.indexname FROM pg_indexes i WHERE i.schemaname = current_schema()
AND NOT EXISTS (SELECT 1 FROM information_schema.table_constraints c WHERE c.constraint_schema = i.schemaname AND c.constraint_name = i.indexname)`, func(scan func(...any)) {
		var table, name string
		if scan(&table, &name); ours(table) {
			found["index "+name] = table
		}
	})
	return found
}

// Several processes may start at once, on nothing and on a schema of before: one
// migrates, nobody fails.
func TestManyStartAtOnce(t *testing.T) {
	for name, url := range map[string]string{"empty": postgres.Database(t), "older": olderDatabase(t)} {
		t.Run(name, func(t *testing.T) {
			const starting = 5
			failed := make(chan error, starting)
			for range starting {
				go func() {
					s, err := Open(context.Background(), Options{URL: url, Logger: zerolog.Nop()})
					if err == nil {
						err = s.Close()
					}
					failed <- err
				}()
			}
			for range starting {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
			s, err := OpenReadOnly(t.Context(), Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // the test is over
			var twice, all int
			if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) - count(DISTINCT version_id), count(*) FROM goose_db_version`).Scan(&twice, &all); err != nil || twice != 0 || all < 5 {
				t.Errorf("%d of %d migrations were applied twice, %v", twice, all, err)
			}
		})
	}
}

// olderDatabase has the schema of a version before.
func olderDatabase(t *testing.T) string {
	t.Helper()
	url := postgres.Prepared(t, migrated)
	s, err := Open(t.Context(), Options{URL: url, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.migrator()
	if err == nil {
		_, err = p.DownTo(t.Context(), 20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return url
}

// A schema of a later version is refused, for serving and for reading.
func TestNewerSchemaIsRefused(t *testing.T) { onBoth(t, testNewerSchemaIsRefused) }

func testNewerSchemaIsRefused(t *testing.T) {
	opts := Options{Logger: zerolog.Nop()}
	if onPostgres(t) {
		opts.URL = postgres.Prepared(t, migrated)
	} else {
		opts.Path = freshFile(t)
	}
	s, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, s, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(context.Context, Options) (*Store, error){"to serve": Open, "to read": OpenReadOnly} {
		s, err := open(t.Context(), opts)
		if err == nil {
			t.Errorf("%s: opened, %v", name, s.Close())
			continue
		}
		if !strings.Contains(err.Error(), "written by a newer Countersign (schema 99999") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Reading changes nothing on PostgreSQL either.
func TestReadOnlyPostgres(t *testing.T) {
	url := postgres.Prepared(t, migrated)
	s, err := OpenReadOnly(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the test is over
	if _, err := s.Chains(t.Context()); err != nil {
		t.Error(err)
	}
	for _, q := range []string{`DELETE FROM subjects`, `INSERT INTO chains (chain, seq, hash) VALUES ('x', 1, '')`, `CREATE TABLE x (y INT)`} {
		if _, err := s.db.ExecContext(t.Context(), q); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: %v", q, err)
		}
	}
	if s, err := OpenReadOnly(t.Context(), Options{URL: postgres.Database(t)}); err == nil || !strings.Contains(err.Error(), "not a Countersign database") {
		t.Errorf("an empty database was opened: %v, %v", s, err)
	}
}
