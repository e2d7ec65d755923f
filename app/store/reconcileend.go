package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
)

// LookedAtApp ends a look at the App's own list. A suspended installation is left
// alone until a list or an event says otherwise; one that is back is due at once.
// After the last page, what the list no longer names is forgotten.
func (s *Store) LookedAtApp(ctx context.Context, l Look, list []forge.Installation, next int, p Pace) error {
	return s.ended(ctx, l, p, func(ctx context.Context, tx *sql.Tx, now time.Time) error {
		for _, inst := range list {
			if err := s.listInstallation(ctx, tx, inst, now); err != nil {
				return err
			}
		}
		began, err := s.listGoesOn(ctx, tx, l, next, now, p)
		if err != nil || next != 0 {
			return err
		}
		if err := s.raiseLeft(ctx, tx, now, p); err != nil {
			return err
		}
		const gone = `(SELECT id FROM reconcile_installations WHERE id <> 0 AND listed_at < $1)`
		return s.steps(ctx, tx, "forget installations",
			step{`DELETE FROM reconcile_findings WHERE installation IN ` + gone, []any{began}},
			step{`DELETE FROM reconcile_repos WHERE installation IN ` + gone, []any{began}},
			step{`DELETE FROM reconcile_installations WHERE id <> 0 AND listed_at < $1`, []any{began}})
	})
}

func (s *Store) listInstallation(ctx context.Context, tx *sql.Tx, inst forge.Installation, now time.Time) error {
	at := micros(now)
	if _, err := tx.ExecContext(ctx, `INSERT INTO reconcile_installations (id, list_at, listed_at) VALUES ($1, $2, $2)
		ON CONFLICT (id) DO UPDATE SET listed_at = excluded.listed_at`, inst.ID, at); err != nil {
		return fmt.Errorf("list installation %d: %w", inst.ID, err)
	}
	var was bool
	if err := tx.QueryRowContext(ctx, `SELECT suspended FROM reconcile_installations WHERE id = $1`, inst.ID).Scan(&was); err != nil {
		return fmt.Errorf("list installation %d: %w", inst.ID, err)
	}
	switch {
	case was && !inst.Suspended: // its event was lost
		return s.reconcileSoon(ctx, tx, inst.ID, now)
	case was != inst.Suspended:
		return s.steps(ctx, tx, "note a suspension", step{`UPDATE reconcile_installations SET suspended = TRUE WHERE id = $1`, []any{inst.ID}})
	}
	return nil
}

// listGoesOn keeps where a list goes on, or when it is read again. It answers when
// the reading began.
func (s *Store) listGoesOn(ctx context.Context, tx *sql.Tx, l Look, next int, now time.Time, p Pace) (began int64, err error) {
	began = micros(l.Began)
	if l.Page > 1 {
		if err := tx.QueryRowContext(ctx, `SELECT list_began FROM reconcile_installations WHERE id = $1`, l.Installation).Scan(&began); err != nil {
			return 0, fmt.Errorf("read where a list began: %w", err)
		}
	}
	page, at := next, now
	if next == 0 {
		page, at = 1, now.Add(p.Every)
	}
	_, err = tx.ExecContext(ctx, `UPDATE reconcile_installations SET list_page = $1, list_began = $2, list_at = $3 WHERE id = $4`, page, began, micros(at), l.Installation)
	if err != nil {
		return 0, fmt.Errorf("keep where a list goes on: %w", err)
	}
	return began, nil
}

// LookedAtRepos ends a look at an installation's list. What is archived or disabled
// is left out; where nothing is open, by the forge's count and by ours, there is
// nothing to look at before the next reading.
func (s *Store) LookedAtRepos(ctx context.Context, l Look, list []forge.ListedRepo, next int, p Pace) error {
	return s.ended(ctx, l, p, func(ctx context.Context, tx *sql.Tx, now time.Time) error {
		for _, r := range list {
			if r.Inactive {
				continue // and so is forgotten below
			}
			at := micros(now)
			steps := []step{{`INSERT INTO reconcile_repos (id, installation, owner, name, due_at, listed_at) VALUES ($1, $2, $3, $4, $5, $5)
				ON CONFLICT (id) DO UPDATE SET installation = excluded.installation, owner = excluded.owner, name = excluded.name, listed_at = excluded.listed_at`,
				[]any{r.Repo.ID, l.Installation, r.Repo.Owner, r.Repo.Name, at}}}
			if r.OpenCount == 0 {
				steps = append(steps, step{`UPDATE reconcile_repos SET due_at = $1, looked_at = $2, after_cursor = ''
					WHERE id = $3 AND NOT EXISTS (SELECT 1 FROM pulls WHERE repo_id = $3 AND state = 'open')`,
					[]any{micros(now.Add(p.Every + p.Every/2)), at, r.Repo.ID}})
			}
			if err := s.steps(ctx, tx, "list repository "+r.Repo.FullName(), steps...); err != nil {
				return err
			}
		}
		began, err := s.listGoesOn(ctx, tx, l, next, now, p)
		if err != nil || next != 0 {
			return err
		}
		return s.steps(ctx, tx, "forget repositories",
			step{`DELETE FROM reconcile_repos WHERE installation = $1 AND listed_at < $2`, []any{l.Installation, began}})
	})
}

// LookedAtPulls ends a look at a page of open pull requests: what was found is kept
// until it is woken. After the last page, pull requests that we hold for open and
// that no page showed are found as closed.
func (s *Store) LookedAtPulls(ctx context.Context, l Look, page forge.PullsPage, found []session.Finding, p Pace) error {
	return s.ended(ctx, l, p, func(ctx context.Context, tx *sql.Tx, now time.Time) error {
		if page.Inactive {
			return s.steps(ctx, tx, "forget a repository", step{`DELETE FROM reconcile_repos WHERE id = $1`, []any{l.Repo.ID}})
		}
		if err := s.markListed(ctx, tx, l, page); err != nil {
			return err
		}
		for _, f := range found {
			if err := s.raise(ctx, tx, f, now, p); err != nil {
				return err
			}
		}
		if page.Next != "" {
			return s.steps(ctx, tx, "keep where a look goes on",
				step{`UPDATE reconcile_repos SET after_cursor = $1, began_at = $2, due_at = $3 WHERE id = $4`, []any{page.Next, micros(l.Began), micros(now), l.Repo.ID}})
		}
		if err := s.raiseClosed(ctx, tx, l, now, p); err != nil {
			return err
		}
		return s.steps(ctx, tx, "keep when a repository was looked at",
			step{`UPDATE reconcile_repos SET after_cursor = '', looked_at = $1, due_at = $2 WHERE id = $3`, []any{micros(l.Began), micros(now.Add(p.Every)), l.Repo.ID}})
	})
}

// markListed notes that the page's pull requests are open. The row's own time stays:
// it orders events.
func (s *Store) markListed(ctx context.Context, tx *sql.Tx, l Look, page forge.PullsPage) error {
	if len(page.Pulls) == 0 {
		return nil
	}
	args := []any{micros(l.Began), l.Repo.ID}
	var in strings.Builder
	for i, o := range page.Pulls {
		if i > 0 {
			in.WriteString(", ")
		}
		args = append(args, o.Number)
		fmt.Fprintf(&in, "$%d", len(args))
	}
	return s.steps(ctx, tx, "note which pull requests are open",
		step{`UPDATE pulls SET listed_at = $1 WHERE repo_id = $2 AND number IN (` + in.String() + `)`, args})
}

// maxClosed bounds what one look finds closed; the next one goes on.
const maxClosed = 200

func (s *Store) raiseClosed(ctx context.Context, tx *sql.Tx, l Look, now time.Time, p Pace) error {
	rows, err := tx.QueryContext(ctx, `SELECT `+pullColumns+` FROM pulls WHERE repo_id = $1 AND state = 'open' AND listed_at < $2 AND updated_at < $3
		ORDER BY number LIMIT $4`, l.Repo.ID, micros(l.Began), l.Began.UTC(), maxClosed)
	if err != nil {
		return fmt.Errorf("find pull requests that were closed: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	var found []session.Finding
	for rows.Next() {
		k, err := scanPull(rows)
		if err != nil {
			return fmt.Errorf("find pull requests that were closed: %w", err)
		}
		k.Ref.Repo = l.Repo
		found = append(found, session.Finding{Pull: k.Ref, HeadSHA: k.HeadSHA, Reason: session.FoundClosed, Seen: "not listed " + k.HeadSHA, UpdatedAt: k.UpdatedAt, FoundAt: now})
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("find pull requests that were closed: %w", err)
	}
	for _, f := range found {
		if err := s.raise(ctx, tx, f, now, p); err != nil {
			return err
		}
	}
	return nil
}

// maxLeft bounds the checks that one reading finds left open.
const maxLeft = 500

// raiseLeft finds checks that a killed process left open: a pull request that waits
// for CI has its own looked at far more often.
func (s *Store) raiseLeft(ctx context.Context, tx *sql.Tx, now time.Time, p Pace) error {
	rows, err := tx.QueryContext(ctx, `SELECT p.repo_id, p.head_sha, p.name, p.owner, p.repo, p.installation, p.updated_at, v.pull FROM publications p
		JOIN publication_views v ON v.repo_id = p.repo_id AND v.head_sha = p.head_sha AND v.name = p.name
		WHERE p.waiting AND p.updated_at < $1 AND p.lease_until < $1 AND NOT EXISTS (SELECT 1 FROM reconcile_findings f
			WHERE f.repo_id = p.repo_id AND f.pull = v.pull AND (f.state <> 'settled' OR f.retry_at > $2))
		ORDER BY p.updated_at LIMIT $3`, micros(now.Add(-p.Stale)), micros(now), maxLeft)
	if err != nil {
		return fmt.Errorf("find checks that were left open: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	var found []session.Finding
	for rows.Next() {
		f := session.Finding{Reason: session.FoundLeft, FoundAt: now}
		var name string
		var updated int64
		repo := &f.Pull.Repo
		if err := rows.Scan(&repo.ID, &f.HeadSHA, &name, &repo.Owner, &repo.Name, &repo.Installation, &updated, &f.Pull.Number); err != nil {
			return fmt.Errorf("find checks that were left open: %w", err)
		}
		f.Seen, f.UpdatedAt = "left "+f.HeadSHA+" "+name, fromMicros(updated)
		found = append(found, f)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("find checks that were left open: %w", err)
	}
	for _, f := range found {
		if err := s.raise(ctx, tx, f, now, p); err != nil {
			return err
		}
	}
	return nil
}

// ended is the transaction that ends a look.
func (s *Store) ended(ctx context.Context, l Look, p Pace, f func(ctx context.Context, tx *sql.Tx, now time.Time) error) error {
	err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.Now()
		if err := s.endLook(ctx, tx, l, now.Add(p.Call)); err != nil {
			return err
		}
		return f(ctx, tx, now)
	})
	if err != nil {
		return fmt.Errorf("end a look: %w", err)
	}
	return nil
}
