package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Retention says how long rows are kept, counted from their last change. Zero
// values take the defaults named. The trail is kept for ever.
type Retention struct {
	// Payloads of deliveries are for looking into a problem: PayloadRetention.
	Payloads time.Duration
	// Deliveries make a repeated delivery id a repeat, and GitHub redelivers within
	// days. Subjects that are idle and pull requests that have ended go with them:
	// DeliveryRetention.
	Deliveries time.Duration
	// ReplacedSessions are all but the newest of each pull request, which nothing
	// reads any more: ReplacedSessionRetention.
	ReplacedSessions time.Duration
	// EndedSessions are the newest ones of pull requests that are not known to be
	// open; one that is opened again begins anew: EndedSessionRetention.
	EndedSessions time.Duration
	// Heads are the checks of commits, and which workflow reports which name. Both
	// are learnt again when they are needed: HeadRetention.
	Heads time.Duration
	// Publications are checks that ended and speak for no pull request that is
	// known to be open; posting again on such a head begins a new check run:
	// PublicationRetention.
	Publications time.Duration
}

// Defaults of Retention.
const (
	PayloadRetention         = 7 * 24 * time.Hour
	DeliveryRetention        = 90 * 24 * time.Hour
	ReplacedSessionRetention = 7 * 24 * time.Hour
	EndedSessionRetention    = 90 * 24 * time.Hour
	HeadRetention            = 90 * 24 * time.Hour
	PublicationRetention     = 90 * 24 * time.Hour
)

// wideRows divides the limit of those tables whose rows hold whole evidence.
const wideRows = 8

// sweepStep removes one kind of row: those of before $1, at most $2. Each finds
// them by an index in the order of time, so that it passes over few rows that
// stay. Its conditions on the row itself stand once more outside: PostgreSQL looks
// at a row that another process changed in between by those alone, and would take
// away a subject to which something has just happened.
type sweepStep struct {
	sql    string
	before any
	wide   bool
}

func (s *Store) sweepSteps(r Retention, now time.Time) []sweepStep {
	before := func(chosen, otherwise time.Duration) time.Time {
		if chosen <= 0 {
			chosen = otherwise
		}
		return now.Add(-chosen)
	}
	// SQLite takes a CROSS JOIN in the order in which it stands, which is by the
	// payloads here; PostgreSQL plans by itself.
	join := "CROSS JOIN"
	if s.Postgres() {
		join = "JOIN"
	}
	deliveries, heads := before(r.Deliveries, DeliveryRetention), before(r.Heads, HeadRetention)
	return []sweepStep{
		// Deliveries are numbered nearly in the order of their times: those up to the
		// newest old one are few once their payloads are gone. The rest waits its turn.
		{sql: `DELETE FROM delivery_payloads WHERE seq IN (SELECT p.seq FROM delivery_payloads p ` + join + ` deliveries d ON d.seq = p.seq
 WHERE p.seq <= (SELECT seq FROM deliveries WHERE received_at < $1 ORDER BY received_at DESC LIMIT 1)
 AND d.received_at < $1 AND d.state = 'recorded' ORDER BY p.seq LIMIT $2)`, before: before(r.Payloads, PayloadRetention)},
		{sql: `DELETE FROM deliveries WHERE seq IN (SELECT seq FROM deliveries
 WHERE received_at < $1 AND state = 'recorded' ORDER BY received_at LIMIT $2)`, before: deliveries},
		{sql: `DELETE FROM subjects WHERE key IN (SELECT key FROM subjects
 WHERE updated_at < $1 AND want_gen = done_gen AND recheck_at IS NULL ORDER BY updated_at LIMIT $2)
 AND updated_at < $1 AND want_gen = done_gen AND recheck_at IS NULL`, before: deliveries},
		{sql: `DELETE FROM pulls WHERE (repo_id, number) IN (SELECT repo_id, number FROM pulls
 WHERE updated_at < $1 AND state <> 'open' ORDER BY updated_at LIMIT $2)
 AND updated_at < $1 AND state <> 'open'`, before: deliveries},
		{sql: `DELETE FROM sessions WHERE id IN (SELECT id FROM sessions
 WHERE updated_at < $1 AND NOT newest ORDER BY updated_at LIMIT $2) AND updated_at < $1`, before: before(r.ReplacedSessions, ReplacedSessionRetention), wide: true},
		{sql: `DELETE FROM sessions WHERE id IN (SELECT s.id FROM sessions s WHERE s.updated_at < $1 AND s.newest
 AND NOT EXISTS (SELECT 1 FROM pulls p WHERE p.repo_id = s.repo_id AND p.number = s.pull AND p.state = 'open')
 ORDER BY s.updated_at LIMIT $2) AND updated_at < $1`, before: before(r.EndedSessions, EndedSessionRetention), wide: true},
		{sql: `DELETE FROM heads WHERE (repo_id, sha) IN (SELECT h.repo_id, h.sha FROM heads h WHERE h.updated_at < $1 AND NOT h.rerun
 AND NOT EXISTS (SELECT 1 FROM pulls p WHERE p.repo_id = h.repo_id AND p.head_sha = h.sha AND p.state = 'open')
 ORDER BY h.updated_at LIMIT $2) AND updated_at < $1 AND NOT rerun`, before: heads, wide: true},
		{sql: `DELETE FROM check_sources WHERE (repo_id, name, app_id, workflow) IN (SELECT repo_id, name, app_id, workflow FROM check_sources
 WHERE seen_at < $1 ORDER BY seen_at LIMIT $2) AND seen_at < $1`, before: heads},
		// Nothing marks a view as ended when its pull request is closed after its
		// check, so a live one counts only while its pull request is open.
		{sql: `DELETE FROM publications WHERE (repo_id, head_sha, name) IN (SELECT b.repo_id, b.head_sha, b.name FROM publications b
 WHERE b.updated_at < $1 AND NOT b.waiting AND b.lease_until < $1 AND NOT EXISTS (SELECT 1 FROM publication_views v
  JOIN pulls p ON p.repo_id = v.repo_id AND p.number = v.pull
  WHERE v.repo_id = b.repo_id AND v.head_sha = b.head_sha AND v.name = b.name AND v.live AND p.state = 'open')
 ORDER BY b.updated_at LIMIT $2) AND updated_at < $1 AND NOT waiting AND lease_until < $1`, before: micros(before(r.Publications, PublicationRetention)), wide: true},
		// With them goes what was said on the lines of a pull request that is over.
		{sql: `DELETE FROM postings WHERE (repo_id, pull) IN (SELECT b.repo_id, b.pull FROM postings b
 WHERE b.updated_at < $1 AND b.lease_until < $1 AND NOT EXISTS (SELECT 1 FROM pulls p
  WHERE p.repo_id = b.repo_id AND p.number = b.pull AND p.state = 'open')
 ORDER BY b.updated_at LIMIT $2) AND updated_at < $1 AND lease_until < $1`, before: micros(before(r.Publications, PublicationRetention)), wide: true},
	}
}

// Sweep removes rows that are older than r allows: of each kind at most limit at
// a time, and less of those that are large, because every other commit waits
// meanwhile. It goes round until nothing is left or rounds are over.
func (s *Store) Sweep(ctx context.Context, r Retention, limit, rounds int) (removed int64, err error) {
	steps := s.sweepSteps(r, s.Now())
	for ; rounds > 0 && len(steps) > 0; rounds-- {
		var again []sweepStep
		for _, step := range steps {
			most := limit
			if step.wide {
				most = max(limit/wideRows, 1)
			}
			var n int64
			err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				res, err := tx.ExecContext(ctx, step.sql, step.before, most)
				if err != nil {
					return err
				}
				n, err = res.RowsAffected()
				return err
			})
			if err != nil {
				return removed, fmt.Errorf("sweep old rows: %w", err)
			}
			removed += n
			if n == int64(most) {
				again = append(again, step)
			}
		}
		steps = again
	}
	return removed, nil
}
