// Package store keeps what must survive the process: deliveries, subjects,
// known pull requests, and (in files of their own) sessions, the trail and
// publications. It owns the SQL and the migrations and nothing else: it must
// not know what a record means, decide anything, or call anything outside.
//
// The database is an embedded SQLite file or a PostgreSQL, with the same tables and
// almost everywhere the same statements; a suite of tests holds both to the same
// behaviour.
//
// On SQLite, one process writes over one connection. A transaction therefore holds
// up everyone else: pass the *sql.Tx down, make no network call inside one, and
// close rows before the next query. On PostgreSQL, many processes write at once:
// whoever reads a row in order to change it takes it first (forUpdate, takeName), and
// a transaction that lost a race runs again.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
)

// Options say where the database is.
type Options struct {
	// URL names a PostgreSQL; empty: Path is used.
	URL string
	// Connections bounds the connections to PostgreSQL: DefaultConnections.
	Connections int
	// Path is the file of the embedded database; its folder must exist and be
	// writable.
	Path string
	// Logger receives what migrations did. The zero value says nothing.
	Logger zerolog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Store is an open database.
type Store struct {
	db     *sql.DB
	now    func() time.Time
	logger zerolog.Logger
	pool   *pgxpool.Pool // nil on SQLite
	lock   *fileLock     // nil when read-only and on PostgreSQL
	codec  codec
}

// Open opens the database and brings it to the current schema; a database file is
// locked against other processes. The errors say what to do about them.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.URL != "" {
		s, err := openPostgres(ctx, opts, false)
		if err != nil {
			return nil, err
		}
		if err := s.exclusively(ctx, s.migrate); err != nil {
			return nil, errors.Join(fmt.Errorf("migrate the database: %w", err), s.Close())
		}
		return s, nil
	}
	if err := checkFile(opts.Path); err != nil {
		return nil, err
	}
	lock, err := acquireLock(opts.Path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", opts.Path, err)
	}
	// Only now: closing any descriptor of the file drops the locks that SQLite
	// holds on it, if this process has it open already.
	if err := checkWritable(opts.Path); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s, err := connect(ctx, opts, dsn(opts.Path))
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s.lock = lock
	if err := refuseForeign(ctx, s.db); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", opts.Path, err), s.Close())
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("migrate database %s: %w", opts.Path, err), s.Close())
	}
	return s, nil
}

// OpenReadOnly opens a database for reading, also while others serve from it. It
// never writes, migrates or waits for the lock.
func OpenReadOnly(ctx context.Context, opts Options) (s *Store, err error) {
	opts.Logger = zerolog.Nop()
	where, tables := opts.Path, `SELECT count(*) FROM sqlite_master WHERE name = 'trail'`
	if opts.URL != "" {
		where, tables = "behind DATABASE_URL", `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'trail'`
		s, err = openPostgres(ctx, opts, true)
	} else if err = mustExist(opts.Path); err == nil {
		s, err = connectForReading(ctx, opts)
	}
	if err != nil {
		return nil, err
	}
	var n int
	err = s.db.QueryRowContext(ctx, tables).Scan(&n)
	if err == nil && n == 0 {
		err = errors.New("it is not a Countersign database, or nothing was ever started on it; name another one")
	}
	if err == nil {
		err = s.refuseNewer(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s for reading: %w", where, err), s.Close())
	}
	return s, nil
}

func connect(ctx context.Context, opts Options, dsn string) (*Store, error) {
	c, err := newConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", opts.Path, err)
	}
	db := sql.OpenDB(c)
	// One connection: SQLite has one writer, and waiting in line beats polling
	// for its lock.
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	db.SetConnMaxLifetime(0)
	if err := probe(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", opts.Path, err), db.Close())
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	return &Store{db: db, now: now, logger: opts.Logger}, nil
}

// probe reads the file's header, which opening alone does not.
func probe(ctx context.Context, db *sql.DB) error {
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&n); err != nil {
		if remedy := remedyFor(err); remedy != "" {
			return fmt.Errorf("%s: %w", remedy, err)
		}
		return err
	}
	return nil
}

// Tx runs f in one transaction: committed when f returns nil, rolled back
// otherwise. f must use the transaction it is given for every query, and set what it
// returns from nothing each time: a transaction that lost a race against another
// process is rolled back and f runs again.
func (s *Store) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	for try := 0; ; try++ {
		err := s.txOnce(ctx, f)
		if !lostRace(err) || try+1 >= maxTxTries {
			return err
		}
		if perr := pauseTx(ctx, try); perr != nil {
			return errors.Join(err, perr)
		}
	}
}

func (s *Store) txOnce(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, s.isolation())
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // a no-op after Commit; before it, f's error is the one to report
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// DB is the pool, for queries outside of a transaction and for the job queue.
func (s *Store) DB() *sql.DB { return s.db }

// Now is the store's clock in UTC, so that rows and decisions agree.
func (s *Store) Now() time.Time { return s.now().UTC() }

// Close closes the database, then lets the next process have it. Closing twice
// is harmless.
func (s *Store) Close() error {
	err := s.db.Close()
	if s.pool != nil {
		s.pool.Close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.release())
	}
	return err
}
