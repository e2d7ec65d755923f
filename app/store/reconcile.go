package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/review/trail"
)

// Look is one call that a reconciler makes, claimed by one process: a page of the
// App's installations, of an installation's repositories, or of a repository's open
// pull requests.
type Look struct {
	// Installation is 0 for the App's own list.
	Installation int64
	// Page of a list; 0 when the look is at Repo.
	Page int
	Repo forge.Repo
	// After continues the look at Repo; Began is when its first page was read.
	After string
	Began time.Time
	fence int64
}

// Pace says how gentle a reconciler is.
type Pace struct {
	// Every is how often a repository is looked at and a list is read.
	Every time.Duration
	// Call is the pause between two calls for one installation, Wake the one between
	// two pull requests that are woken there.
	Call, Wake time.Duration
	// Stale is how long nobody wrote a check that was left open.
	Stale time.Duration
}

// ErrLookLost says that somebody else took the installation over meanwhile.
var ErrLookLost = errors.New("the claim on this installation was lost to another process")

// appRow is the row of the App itself.
const appRow = 0

// ReconcilerStarts makes everything due, because what happened while no process was
// there is lost, unless another one is alive. What was looked at longest ago comes
// first: a sweep that was interrupted goes on. The owner's own claims end.
func (s *Store) ReconcilerStarts(ctx context.Context, owner string, alive time.Duration) error {
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.Now()
		var others int
		err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM reconcile_alive WHERE owner <> $1 AND alive_at > $2`, owner, micros(now.Add(-alive))).Scan(&others)
		if err != nil {
			return fmt.Errorf("start the reconciler: %w", err)
		}
		steps := []step{
			{`INSERT INTO reconcile_installations (id, list_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`, []any{appRow, micros(now)}},
			{`UPDATE reconcile_installations SET lease_until = 0 WHERE lease_owner = $1`, []any{owner}},
		}
		if others == 0 {
			steps = append(steps,
				step{`UPDATE reconcile_installations SET list_at = $1 WHERE list_at > $1`, []any{micros(now)}},
				step{`UPDATE reconcile_repos SET due_at = $1 WHERE due_at > $1`, []any{micros(now)}},
				step{`UPDATE reconcile_findings SET retry_at = 0, tries = 0 WHERE state = 'settled'`, nil})
		}
		return s.steps(ctx, tx, "start the reconciler", append(steps, aliveStep(owner, now))...)
	})
}

// ReconcilerAlive says that the owner is there.
func (s *Store) ReconcilerAlive(ctx context.Context, owner string) error {
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.Now()
		return s.steps(ctx, tx, "note that the reconciler is alive", aliveStep(owner, now),
			step{`DELETE FROM reconcile_alive WHERE alive_at < $1`, []any{micros(now.Add(-24 * time.Hour))}},
			step{`DELETE FROM reconcile_findings WHERE state = 'settled' AND found_at < $1`, []any{micros(now.Add(-2 * longestRetry))}})
	})
}

func aliveStep(owner string, now time.Time) step {
	return step{`INSERT INTO reconcile_alive (owner, alive_at) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET alive_at = excluded.alive_at`, []any{owner, micros(now)}}
}

// ReconcileSoon makes an installation and all its repositories due: its owner
// installed the App, gave it more, or took it back. A look under way is void: it may
// have read what was there before.
func (s *Store) ReconcileSoon(ctx context.Context, installation int64) error {
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.reconcileSoon(ctx, tx, installation, s.Now()) })
}

func (s *Store) reconcileSoon(ctx context.Context, tx *sql.Tx, installation int64, now time.Time) error {
	return s.steps(ctx, tx, "reconcile an installation soon",
		step{`INSERT INTO reconcile_installations (id, list_at, listed_at) VALUES ($1, $2, $2)
			ON CONFLICT (id) DO UPDATE SET list_at = excluded.list_at, list_page = 1, list_began = 0, rest_until = 0, suspended = FALSE, call_at = 0, failures = 0,
			 listed_at = excluded.listed_at, lease_until = 0, fence = reconcile_installations.fence + 1`,
			[]any{installation, micros(now)}},
		step{`UPDATE reconcile_repos SET due_at = $1 WHERE installation = $2 AND due_at > $1`, []any{micros(now), installation}},
		step{`UPDATE reconcile_findings SET retry_at = 0, tries = 0 WHERE installation = $1 AND state = 'settled'`, []any{installation}})
}

// step is one statement of a transaction.
type step struct {
	sql  string
	args []any
}

func (s *Store) steps(ctx context.Context, tx *sql.Tx, what string, steps ...step) error {
	for _, st := range steps {
		if _, err := tx.ExecContext(ctx, st.sql, st.args...); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// changed runs a statement and reports whether it changed a row: of two processes
// that try the same, one does.
func changed(ctx context.Context, tx *sql.Tx, query string, args ...any) (bool, error) {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// ClaimLook takes the next call that is due, of an installation for which nobody
// makes one, until the lease ends. ok is false when nothing is due.
func (s *Store) ClaimLook(ctx context.Context, owner string, lease time.Duration) (l Look, ok bool, err error) {
	err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.Now()
		at := micros(now)
		var listAt int64
		err := tx.QueryRowContext(ctx, `SELECT i.id, i.list_page, i.list_at, i.fence FROM reconcile_installations i
			WHERE i.lease_until <= $1 AND i.call_at <= $1 AND i.rest_until <= $1 AND NOT i.suspended
			AND (i.list_at <= $1 OR EXISTS (SELECT 1 FROM reconcile_repos r WHERE r.installation = i.id AND r.due_at <= $1))
			ORDER BY i.call_at, i.id LIMIT 1`, at).Scan(&l.Installation, &l.Page, &listAt, &l.fence)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		l.Began = now
		if listAt > at {
			if err := s.lookAtRepo(ctx, tx, &l, at); err != nil {
				return err
			}
		}
		ok, err = changed(ctx, tx, `UPDATE reconcile_installations SET lease_owner = $1, lease_until = $2, fence = fence + 1 WHERE id = $3 AND fence = $4`,
			owner, micros(now.Add(lease)), l.Installation, l.fence)
		l.fence++
		return err
	})
	if err != nil {
		return Look{}, false, fmt.Errorf("claim the next look: %w", err)
	}
	return l, ok, nil
}

// lookAtRepo chooses the repository: one whose look is under way, then the one that
// was looked at longest ago.
func (s *Store) lookAtRepo(ctx context.Context, tx *sql.Tx, l *Look, now int64) error {
	l.Page, l.Repo.Installation = 0, l.Installation
	var began int64
	err := tx.QueryRowContext(ctx, `SELECT id, owner, name, after_cursor, began_at FROM reconcile_repos WHERE installation = $1 AND due_at <= $2
		ORDER BY CASE WHEN after_cursor <> '' THEN 0 ELSE 1 END, looked_at, id LIMIT 1`, l.Installation, now).
		Scan(&l.Repo.ID, &l.Repo.Owner, &l.Repo.Name, &l.After, &began)
	if l.After != "" {
		l.Began = fromMicros(began)
	}
	return err
}

// endLook gives the installation back; no further call before after.
func (s *Store) endLook(ctx context.Context, tx *sql.Tx, l Look, after time.Time) error {
	ok, err := changed(ctx, tx, `UPDATE reconcile_installations SET lease_owner = '', lease_until = 0, failures = 0, call_at = $1 WHERE id = $2 AND fence = $3`,
		micros(after), l.Installation, l.fence)
	if err == nil && !ok {
		err = ErrLookLost
	}
	return err
}

// Behind tells what is known of the pull requests that a list shows; see
// session.Behind. giveUp is the number of attempts after which a subject is no work
// any more.
func (s *Store) Behind(ctx context.Context, repoID int64, pulls []forge.OpenPull, giveUp int) (map[int]session.Behind, error) {
	out := make(map[int]session.Behind, len(pulls))
	for _, o := range pulls {
		st, known, err := s.Subject(ctx, s.db, handlers.PullSubject(repoID, o.Number).Key)
		if err != nil {
			return nil, err
		}
		b := session.Behind{Working: known && st.Want > st.Done && st.Attempts < giveUp}
		p, indexed, err := s.Pull(ctx, s.db, repoID, o.Number)
		if err != nil {
			return nil, err
		}
		if indexed {
			b.Indexed, b.HeadSHA, b.BaseRef, b.Draft = true, p.HeadSHA, p.BaseRef, p.Draft
		}
		if b.Spoken, err = s.spokenFor(ctx, repoID, o); err != nil {
			return nil, err
		}
		out[o.Number] = b
	}
	return out, nil
}

// spokenFor lists the runs on the head that speak for the pull request. They matter
// only where one bears another's name.
func (s *Store) spokenFor(ctx context.Context, repoID int64, o forge.OpenPull) (out []session.Spoken, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT p.name, p.check_run_id FROM publication_views v
		JOIN publications p ON p.repo_id = v.repo_id AND p.head_sha = v.head_sha AND p.name = v.name
		WHERE v.repo_id = $1 AND v.head_sha = $2 AND v.pull = $3 AND v.live AND p.check_run_id <> 0`, repoID, o.HeadSHA, o.Number)
	if err != nil {
		return nil, fmt.Errorf("list the checks that speak for pull request %d: %w", o.Number, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		x := session.Spoken{HeadSHA: o.HeadSHA}
		if err := rows.Scan(&x.Name, &x.RunID); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

// FailureRecorded implements session.Failures.
func (s *Store) FailureRecorded(ctx context.Context, pull forge.PullRef, failure string) (string, bool, error) {
	records, err := s.FindTrail(ctx, trail.Query{Repo: pull.Repo.FullName(), Pull: pull.Number, Type: trail.TypeRunError})
	if err != nil {
		return "", false, err
	}
	for _, r := range records {
		var body struct {
			GivenUp string `json:"given_up"`
		}
		if json.Unmarshal(r.Body, &body) == nil && body.GivenUp == failure {
			return r.SessionID, true, nil
		}
	}
	return "", false, nil
}

var (
	_ session.Findings = (*Store)(nil)
	_ session.Failures = (*Store)(nil)
)
