// Package store keeps what must survive the process: deliveries, subjects,
// known pull requests, and (in files of their own) sessions, the trail and
// publications. It owns the SQL and the migrations and nothing else: it must
// not know what a record means, decide anything, or call anything outside.
//
// One process writes to one SQLite file over one connection. A transaction
// therefore holds up everyone else: pass the *sql.Tx down, make no network call
// inside one, and close rows before the next query.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

// Options say where the database is.
type Options struct {
	// Path is the database file; its folder must exist and be writable.
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
	lock   *fileLock // nil when read-only
	codec  codec
}

// Open locks the database file against other processes, opens it and brings it
// to the current schema. The errors say what to do about them.
func Open(ctx context.Context, opts Options) (*Store, error) {
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

// OpenReadOnly opens a database for reading, also while another process serves
// from it. It never writes, migrates or waits for the lock.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	if err := mustExist(path); err != nil {
		return nil, err
	}
	s, err := connectForReading(ctx, path)
	if err != nil {
		return nil, err
	}
	var tables int
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'trail'`).Scan(&tables)
	if err == nil && tables == 0 {
		err = errors.New("it is not a Countersign database, or nothing was ever started on it; name another file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s for reading: %w", path, err), s.Close())
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
// otherwise. f must use the transaction it is given for every query, since the
// pool has no other connection.
func (s *Store) Tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
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
	if s.lock != nil {
		err = errors.Join(err, s.lock.release())
	}
	return err
}
