package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
)

// longestRetry bounds the pause before the same is found again: each time it did not
// help, the pause doubles.
const longestRetry = 24 * time.Hour

// raise keeps a finding until it is woken, unless the same was found not long ago.
func (s *Store) raise(ctx context.Context, tx *sql.Tx, f session.Finding, now time.Time, p Pace) error {
	var seen string
	var tries int
	var retry int64
	err := tx.QueryRowContext(ctx, `SELECT seen, tries, retry_at FROM reconcile_findings WHERE repo_id = $1 AND pull = $2`, f.Pull.Repo.ID, f.Pull.Number).
		Scan(&seen, &tries, &retry)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("keep what was found of pull request %d: %w", f.Pull.Number, err)
	case err != nil || seen != f.Seen:
		tries = 0
	case retry > micros(now):
		return nil
	default:
		tries++
	}
	// A little less than until the next look, or that would come just too early.
	pause := min(p.Every<<min(tries, 10), longestRetry) - p.Every/4
	_, err = tx.ExecContext(ctx, `INSERT INTO reconcile_findings
		(repo_id, pull, installation, owner, name, head_sha, reason, seen, pulled_at, found_at, state, tries, retry_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting', $11, $12)
		ON CONFLICT (repo_id, pull) DO UPDATE SET installation = excluded.installation, owner = excluded.owner, name = excluded.name,
		 head_sha = excluded.head_sha, reason = excluded.reason, seen = excluded.seen, pulled_at = excluded.pulled_at, found_at = excluded.found_at,
		 state = 'waiting', tries = excluded.tries, retry_at = excluded.retry_at`,
		f.Pull.Repo.ID, f.Pull.Number, f.Pull.Repo.Installation, f.Pull.Repo.Owner, f.Pull.Repo.Name, f.HeadSHA, string(f.Reason), f.Seen,
		micros(f.UpdatedAt), micros(f.FoundAt), tries, micros(now.Add(pause)))
	if err != nil {
		return fmt.Errorf("keep what was found of pull request %d: %w", f.Pull.Number, err)
	}
	return nil
}

// NextFinding takes the newest finding of an installation that may be woken now, for
// the transaction that wakes it: that of the pull request that changed last. The next
// of its installation waits for p.Wake.
func (s *Store) NextFinding(ctx context.Context, tx *sql.Tx, p Pace) (f session.Finding, ok bool, err error) {
	now := s.Now()
	row := tx.QueryRowContext(ctx, `SELECT `+findingColumns+` FROM reconcile_findings f
		WHERE f.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM reconcile_installations i
			WHERE i.id = f.installation AND (i.wake_at > $1 OR i.rest_until > $1 OR i.suspended))
		ORDER BY f.pulled_at DESC LIMIT 1`, micros(now))
	if f, err = scanFinding(row); errors.Is(err, sql.ErrNoRows) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("read the next finding: %w", err)
	}
	repo := f.Pull.Repo
	// Of two processes one gets the installation's turn, or the finding.
	if ok, err = s.takeTurn(ctx, tx, repo.Installation, now, p); err != nil || !ok {
		return f, false, err
	}
	ok, err = changed(ctx, tx, `UPDATE reconcile_findings SET state = 'woken' WHERE repo_id = $1 AND pull = $2 AND state = 'waiting'`, repo.ID, f.Pull.Number)
	if err != nil || !ok {
		return f, false, err
	}
	// A repository of which no event ever told has to be found by its id.
	return f, true, s.steps(ctx, tx, "remember a repository", step{`INSERT INTO repos (id, owner, name, installation) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name, installation = excluded.installation`,
		[]any{repo.ID, repo.Owner, repo.Name, repo.Installation}})
}

// takeTurn lets the installation wait before its next wake. One that no list names
// has no pace to keep.
func (s *Store) takeTurn(ctx context.Context, tx *sql.Tx, installation int64, now time.Time, p Pace) (bool, error) {
	ok, err := changed(ctx, tx, `UPDATE reconcile_installations SET wake_at = $1 WHERE id = $2 AND wake_at <= $3`, micros(now.Add(p.Wake)), installation, micros(now))
	if err != nil || ok {
		return ok, err
	}
	var listed int
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM reconcile_installations WHERE id = $1`, installation).Scan(&listed)
	return listed == 0, err
}

const findingColumns = `f.repo_id, f.pull, f.installation, f.owner, f.name, f.head_sha, f.reason, f.seen, f.pulled_at, f.found_at`

func scanFinding(row *sql.Row) (session.Finding, error) {
	var f session.Finding
	var pulled, found int64
	repo := &f.Pull.Repo
	err := row.Scan(&repo.ID, &f.Pull.Number, &repo.Installation, &repo.Owner, &repo.Name, &f.HeadSHA, &f.Reason, &f.Seen, &pulled, &found)
	f.UpdatedAt, f.FoundAt = fromMicros(pulled), fromMicros(found)
	return f, err
}

// Finding implements session.Findings.
func (s *Store) Finding(ctx context.Context, repoID int64, pull int) (session.Finding, bool, error) {
	f, err := scanFinding(s.db.QueryRowContext(ctx, `SELECT `+findingColumns+` FROM reconcile_findings f
		WHERE f.repo_id = $1 AND f.pull = $2 AND f.state <> 'settled'`, repoID, pull))
	if errors.Is(err, sql.ErrNoRows) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("read what was found of pull request %d: %w", pull, err)
	}
	return f, true, nil
}

// SettleFinding implements session.Findings.
func (s *Store) SettleFinding(ctx context.Context, f session.Finding) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE reconcile_findings SET state = 'settled' WHERE repo_id = $1 AND pull = $2 AND found_at = $3`,
		f.Pull.Repo.ID, f.Pull.Number, micros(f.FoundAt)); err != nil {
		return fmt.Errorf("settle what was found of pull request %d: %w", f.Pull.Number, err)
	}
	return nil
}

// maxRest is the longest that a failure makes an installation rest: GitHub's limits
// are reset within an hour.
const maxRest = time.Hour

// LookFailed gives an installation back after a call that failed, and says when the
// next may be made. A repository that fails comes again after the others.
func (s *Store) LookFailed(ctx context.Context, l Look, cause error, p Pace) error {
	err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.Now()
		var failures int
		err := tx.QueryRowContext(ctx, `SELECT failures FROM reconcile_installations WHERE id = $1 AND fence = $2`, l.Installation, l.fence).Scan(&failures)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrLookLost
		}
		if err != nil {
			return err
		}
		if err := s.endLook(ctx, tx, l, now.Add(p.Call)); err != nil {
			return err
		}
		failures = min(failures+1, 6)
		pause := min(time.Minute<<failures, maxRest)
		var steps []step
		rest := func(d time.Duration) {
			steps = append(steps, step{`UPDATE reconcile_installations SET rest_until = $1, failures = $2 WHERE id = $3`, []any{micros(now.Add(d)), failures, l.Installation}})
		}
		var fe *forge.Error
		switch {
		case l.Repo.ID != 0 && forge.IsKind(cause, forge.KindNotFound):
			// Gone, renamed or taken away: the list will tell.
			steps = append(steps, step{`DELETE FROM reconcile_repos WHERE id = $1`, []any{l.Repo.ID}})
		case errors.As(cause, &fe) && fe.Kind == forge.KindRateLimited:
			rest(min(max(fe.RetryAfter, pause), maxRest))
		case forge.IsKind(cause, forge.KindSuspended):
			steps = append(steps, step{`UPDATE reconcile_installations SET suspended = TRUE WHERE id = $1`, []any{l.Installation}})
		case l.Repo.ID == 0:
			rest(pause)
		default:
			// This repository alone may be at fault: the installation goes on, more slowly.
			steps = append(steps,
				step{`UPDATE reconcile_repos SET due_at = $1, after_cursor = '' WHERE id = $2`, []any{micros(now.Add(max(pause, p.Every/4))), l.Repo.ID}},
				step{`UPDATE reconcile_installations SET call_at = $1, failures = $2 WHERE id = $3`, []any{micros(now.Add(min(p.Call<<failures, maxRest))), failures, l.Installation}})
		}
		return s.steps(ctx, tx, "note a look that failed", steps...)
	})
	if err != nil {
		return fmt.Errorf("end a look that failed: %w", err)
	}
	return nil
}
