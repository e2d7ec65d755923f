package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// ErrOlder says that the database's schema is older than this program's.
var ErrOlder = errors.New("migrations are not done")

// Ready answers whether the database answers and has every migration that this
// program knows. A newer schema is no fault here: during an upgrade the older
// replicas go on serving.
func (s *Store) Ready(ctx context.Context) error {
	have, err := s.schema(ctx)
	if err != nil {
		return err
	}
	known, err := knownSchema()
	if err != nil {
		return err
	}
	if have < known {
		return fmt.Errorf("%w: the schema is at %d of %d", ErrOlder, have, known)
	}
	return nil
}

// schema is the number of the newest migration in the database. The row with
// the highest id counts: goose keeps one for each time that it went up.
func (s *Store) schema(ctx context.Context) (int64, error) {
	var version int64
	err := s.db.QueryRowContext(ctx, `SELECT version_id FROM goose_db_version WHERE is_applied ORDER BY version_id DESC LIMIT 1`).Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return version, nil
}

// knownSchema is the number of the newest migration in this program.
func knownSchema() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/sqlite/*.sql")
	if err != nil {
		return 0, fmt.Errorf("read embedded migrations: %w", err)
	}
	var newest int64
	for _, name := range names {
		number, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the number of migration %s: %w", name, err)
		}
		newest = max(newest, n)
	}
	return newest, nil
}

// DeliveriesWaiting counts the deliveries that are not worked yet and says when
// the first of them came; the zero time when there is none.
func (s *Store) DeliveriesWaiting(ctx context.Context) (n int64, first time.Time, err error) {
	// Deliveries are numbered in the order in which they came, give or take one
	// commit. A single column keeps its type, which an aggregate loses on SQLite.
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE state = 'received'`).Scan(&n)
	if err != nil {
		return 0, first, fmt.Errorf("count the deliveries that wait: %w", err)
	}
	if n == 0 {
		return 0, first, nil
	}
	err = s.db.QueryRowContext(ctx, `SELECT received_at FROM deliveries WHERE state = 'received' ORDER BY seq LIMIT 1`).Scan(&first)
	switch {
	case errors.Is(err, sql.ErrNoRows): // worked meanwhile
		return 0, time.Time{}, nil
	case err != nil:
		return 0, first, fmt.Errorf("find the first delivery that waits: %w", err)
	}
	return n, first.UTC(), nil
}

// IsFault reports whether an error is the database's own: that it did not
// answer or refused, not that a caller gave up.
func IsFault(err error) bool {
	var embedded *sqlite.Error
	var refused *pgconn.PgError
	var unreached *pgconn.ConnectError
	return errors.As(err, &embedded) || errors.As(err, &refused) || errors.As(err, &unreached) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone)
}
