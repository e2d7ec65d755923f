package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// DefaultConnections bounds the connections of one process: turns wait for GitHub
// most of their time, so a few serve many.
const DefaultConnections = 16

// connectWait bounds one attempt to reach the server, so that a start and a turn
// end with an error instead of waiting for TCP.
const connectWait = 10 * time.Second

// openPostgres opens the database behind a URL. Errors never hold the URL: it has
// a password.
func openPostgres(ctx context.Context, opts Options, readOnly bool) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(opts.URL)
	if err != nil {
		return nil, errors.New("open database: its URL cannot be read; want postgres://USER:PASSWORD@HOST:PORT/NAME, with characters such as @ and / in the password percent-encoded")
	}
	where := fmt.Sprintf("%s on %s:%d", cfg.ConnConfig.Database, cfg.ConnConfig.Host, cfg.ConnConfig.Port)
	most := opts.Connections
	if most <= 0 {
		most = DefaultConnections
	}
	cfg.MaxConns = int32(min(most, 1000)) //nolint:gosec // bounded just here
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = connectWait
	cfg.ConnConfig.RuntimeParams["application_name"] = "countersign"
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if readOnly {
		cfg.MaxConns = 2
		cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	} else {
		// A transaction of ours lasts milliseconds: one that idles was left by a
		// process that hangs, and holds rows that others wait for.
		cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	}
	// The server notices a machine that vanished within seconds, so that its locks,
	// a replica's name among them, do not stay for the hours of TCP's defaults. What
	// the URL says wins.
	for k, v := range map[string]string{"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"} {
		if _, chosen := cfg.ConnConfig.RuntimeParams[k]; !chosen {
			cfg.ConnConfig.RuntimeParams[k] = v
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", where, withoutAddress(err))
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	s := &Store{db: stdlib.OpenDBFromPool(pool), pool: pool, now: now, logger: opts.Logger}
	var version int
	if err := s.db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w; check DATABASE_URL and that the server accepts connections from here", where, withoutAddress(err)), s.Close())
	}
	const oldest = 130000
	if version < oldest {
		return nil, errors.Join(fmt.Errorf("open database %s: the server is PostgreSQL %d, want 13 or newer", where, version/10000), s.Close())
	}
	return s, nil
}

// withoutAddress drops what pgx puts before the cause: user and database are said
// already, and anything of the URL may be a secret in the wrong place.
func withoutAddress(err error) error {
	var ce *pgconn.ConnectError
	if errors.As(err, &ce) {
		return ce.Unwrap()
	}
	return err
}

// Postgres reports whether the database is a PostgreSQL that other processes may
// share, and not the embedded one.
func (s *Store) Postgres() bool { return s.pool != nil }

// Pool is PostgreSQL's pool of connections, for listening to notifications; nil on
// the embedded database.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Bounds of running a transaction again that lost a race.
const (
	maxTxTries = 8
	txPause    = 5 * time.Millisecond
)

// lostRace reports whether PostgreSQL gave the transaction up for another's sake,
// having done nothing of it: it may run again.
func lostRace(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code == "40001" || pe.Code == "40P01" // serialization failure, deadlock
	}
	return errors.Is(err, errGone)
}

// errGone is a row that another transaction removed between two statements of this
// one.
var errGone = errors.New("a row is gone that was there a moment ago")

// isolation is READ COMMITTED on PostgreSQL, whatever the role's default: a
// statement that waited for others must see what they committed.
func (s *Store) isolation() *sql.TxOptions {
	if s.Postgres() {
		return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	return nil
}

// ConnectionLost reports whether the database went away before it could answer. What
// was being committed then may be committed or not.
func ConnectionLost(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		// Shutdown, crash, starting up; connection exceptions; too many connections.
		return pe.Code == "57P01" || pe.Code == "57P02" || pe.Code == "57P03" || strings.HasPrefix(pe.Code, "08") || pe.Code == "53300"
	}
	var ce *pgconn.ConnectError
	var ne net.Error
	return errors.As(err, &ce) || errors.As(err, &ne) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// insist is Tx, tried again for some seconds while the database is away: for what may
// be done twice and others wait for, such as giving a claim back.
func (s *Store) insist(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	const longest = 2 * time.Second
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		err := s.Tx(ctx, f)
		if err == nil || !ConnectionLost(err) || pause > longest {
			return err
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return err
		}
	}
}

// pauseTx waits before another try of a transaction that lost a race.
func pauseTx(ctx context.Context, try int) error {
	d := txPause << min(try, 6)
	t := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // jitter needs no secrecy
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forUpdate makes a SELECT take its rows, where other writers may be at work. On
// the embedded database a transaction has the whole of it already.
func (s *Store) forUpdate() string {
	if s.Postgres() {
		return " FOR UPDATE"
	}
	return ""
}

// takeName makes transactions about something that may have no row yet go one after
// another.
func (s *Store) takeName(ctx context.Context, tx *sql.Tx, name string) error {
	if !s.Postgres() {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, name); err != nil {
		return fmt.Errorf("wait for %s: %w", name, err)
	}
	return nil
}

// startLock keeps the schema from being changed by two processes at once. The
// number is any that nobody else uses.
const startLock = 0x636f756e74657273

// startWait bounds the wait for another process that is migrating.
const startWait = 2 * time.Minute

// exclusively runs f while no other process does so on this database.
func (s *Store) exclusively(ctx context.Context, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	// A connection of its own: migrations take others of the pool meanwhile.
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return withoutAddress(err)
	}
	defer func() {
		// Closing it gives the lock back, whatever happened.
		if cerr := conn.Close(context.WithoutCancel(ctx)); err == nil {
			err = cerr
		}
	}()
	if _, err := conn.Exec(ctx, `SET idle_session_timeout = 0`); err != nil && ctx.Err() != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(startLock)); err != nil {
		return fmt.Errorf("wait for another process that is migrating: %w", err)
	}
	return f(ctx)
}
