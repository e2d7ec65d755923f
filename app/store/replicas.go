package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ReplicaGrace is how long after the end of its lease a replica counts as live for
// others: it stops by its own clock before that.
const ReplicaGrace = 5 * time.Second

// live names the replicas that are at work, by the database's clock.
const live = `SELECT name FROM replicas WHERE lease_until > now() - interval '5 seconds'`

// Beat prolongs a replica's lease. Only PostgreSQL has replicas.
func (s *Store) Beat(ctx context.Context, name string, lease time.Duration) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO replicas (name, lease_until) VALUES ($1, now() + $2 * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE SET lease_until = excluded.lease_until`, name, lease.Milliseconds())
	if err != nil {
		return fmt.Errorf("prolong the lease of replica %s: %w", name, err)
	}
	return nil
}

// Leave ends a replica's lease.
func (s *Store) Leave(ctx context.Context, name string) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM replicas WHERE name = $1`, name); err != nil {
		return fmt.Errorf("end the lease of replica %s: %w", name, err)
	}
	return nil
}

// Replicas counts the processes that share the database now, at least 1.
func (s *Store) Replicas(ctx context.Context) (int, error) {
	if !s.Postgres() {
		return 1, nil
	}
	var n int
	if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM (`+live+`) l`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the replicas: %w", err)
	}
	return max(n, 1), nil
}

// ReclaimJobs gives back the running jobs of a replica that is this one in a former
// life, and of those that are gone, together with the leadership they had. keep are
// the jobs that this replica works on now. Jobs keep their time, so they come first.
func (s *Store) ReclaimJobs(ctx context.Context, self string, keep []int64) (n int64, err error) {
	const by = `attempted_by[array_length(attempted_by, 1)]`
	if keep == nil {
		keep = []int64{}
	}
	// A job that was fetched a moment ago is not in keep yet.
	res, err := s.db.ExecContext(ctx, `UPDATE river_job SET state = 'available' WHERE state = 'running'
 AND ((`+by+` = $1 AND NOT id = ANY($2) AND attempted_at < now() - interval '1 minute') OR COALESCE(`+by+`, '') NOT IN (`+live+`))`, self, keep)
	if err != nil {
		return 0, fmt.Errorf("reclaim the jobs of replicas that are gone: %w", err)
	}
	if _, err := s.db.ExecContext(ctx, `DELETE FROM river_leader WHERE leader_id NOT IN (`+live+`)`); err != nil {
		return 0, fmt.Errorf("clear the leader of the jobs: %w", err)
	}
	if _, err := s.db.ExecContext(ctx, `DELETE FROM replicas WHERE lease_until < now() - interval '1 day'`); err != nil {
		return 0, fmt.Errorf("forget replicas that are gone: %w", err)
	}
	if n, err = res.RowsAffected(); err != nil || n == 0 {
		return n, err
	}
	// Who takes the jobs over need not wait for the claims of those who had them; the
	// fence keeps these from saving anything more.
	for _, table := range []string{"publications", "postings"} {
		_, err := s.db.ExecContext(ctx, `UPDATE `+table+` SET lease_until = 0 WHERE lease_until > $1 AND lease_owner NOT IN (`+live+`)`, micros(s.Now()))
		if err != nil {
			return n, fmt.Errorf("free the claims of replicas that are gone: %w", err)
		}
	}
	return n, nil
}

// ReclaimOwnJobs gives back what a former life of this replica left running. Nothing
// of this life runs yet.
func (s *Store) ReclaimOwnJobs(ctx context.Context, self string) (int64, error) {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM river_leader WHERE leader_id = $1`, self); err != nil {
		return 0, fmt.Errorf("clear the leader of the jobs: %w", err)
	}
	res, err := s.db.ExecContext(ctx, `UPDATE river_job SET state = 'available' WHERE state = 'running' AND attempted_by[array_length(attempted_by, 1)] = $1`, self)
	if err != nil {
		return 0, fmt.Errorf("reclaim the jobs of replica %s: %w", self, err)
	}
	return res.RowsAffected()
}

// NameLock keeps a replica's name from being used by two live processes: it lives as
// long as one connection, which a process that is killed loses at once.
type NameLock struct {
	store *Store
	name  string
	conn  *pgx.Conn
}

// nameWait is how long a process waits for its own former life to be noticed as
// dead.
const nameWait = 15 * time.Second

// HoldName takes the name, or says that somebody else has it.
func (s *Store) HoldName(ctx context.Context, name string) (*NameLock, error) {
	l := &NameLock{store: s, name: name}
	ctx, cancel := context.WithTimeout(ctx, nameWait)
	defer cancel()
	for {
		held, err := l.take(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("take the name %s: %w", name, err)
		case held:
			return l, nil
		}
		again := time.NewTimer(200 * time.Millisecond)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil, fmt.Errorf("another process on this database is called %q: give each its own COUNTERSIGN_REPLICA", name)
		}
	}
}

func (l *NameLock) take(ctx context.Context) (bool, error) {
	conn, err := pgx.ConnectConfig(ctx, l.store.pool.Config().ConnConfig)
	if err != nil {
		return false, withoutAddress(err)
	}
	var held bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended('replica ' || $1, 0))`, l.name).Scan(&held)
	if err != nil || !held {
		return false, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	l.conn = conn
	return true, nil
}

// Keep takes the name again where the connection was lost, as by a restart of the
// database. It errs while it cannot be had.
func (l *NameLock) Keep(ctx context.Context) error {
	if l.conn != nil && l.conn.Ping(ctx) == nil {
		return nil
	}
	if l.conn != nil {
		l.conn.Close(ctx) //nolint:errcheck // it is broken
		l.conn = nil
	}
	held, err := l.take(ctx)
	if err == nil && !held {
		err = fmt.Errorf("another process on this database took the name %q: give each its own COUNTERSIGN_REPLICA", l.name)
	}
	return err
}

// Release gives the name back.
func (l *NameLock) Release(ctx context.Context) error {
	if l.conn == nil {
		return nil
	}
	return l.conn.Close(ctx)
}
