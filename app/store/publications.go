package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/publish"
)

// maxOpenPublications bounds what one pull request can have left open, and
// maxJoinedViews the pull requests that one check speaks for.
const (
	maxOpenPublications = 100
	maxJoinedViews      = 200
)

const publicationColumns = `p.repo_id, p.head_sha, p.name, p.owner, p.repo, p.installation,
	p.check_run_id, p.external_id, p.session_id, p.rerun_for, p.started_at, p.creating, p.prior_run_id, p.suspect,
	p.status, p.conclusion, p.title, p.digest, p.intended, p.annotated, p.annotating, p.updated_at, p.lease_owner, p.lease_until, p.fence`

// ClaimPublication implements publish.Store.
func (s *Store) ClaimPublication(ctx context.Context, c publish.Claim) (publish.Claimed, error) {
	raw, err := json.Marshal(c.View)
	if err != nil {
		return publish.Claimed{}, fmt.Errorf("encode the view of pull request %d: %w", c.View.Pull.Number, err)
	}
	packed := s.codec.pack(raw)
	var out publish.Claimed
	err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// One at a time moves a pull request's word from head to head: two that do not
		// see each other's would both speak for it.
		if err := s.takeName(ctx, tx, fmt.Sprintf("views %d %d", c.Key.RepoID, c.View.Pull.Number)); err != nil {
			return err
		}
		p, err := s.publicationRow(ctx, tx, c)
		if err != nil {
			return fmt.Errorf("claim %s on %s: %w", c.Key.Name, c.Key.HeadSHA, err)
		}
		if err := putView(ctx, tx, c, packed); err != nil {
			return fmt.Errorf("store the view of pull request %d: %w", c.View.Pull.Number, err)
		}
		out, err = s.claim(ctx, tx, c, p)
		return err
	})
	return out, err
}

// putView stores the view and takes the pull request's other heads, and on this one
// the name that rules this one out, out of what their checks say.
func putView(ctx context.Context, tx *sql.Tx, c publish.Claim, packed []byte) error {
	now, live := micros(c.Now), c.View.Live()
	_, err := tx.ExecContext(ctx, `INSERT INTO publication_views (repo_id, head_sha, name, pull, live, view, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (repo_id, head_sha, name, pull) DO UPDATE SET live = excluded.live, view = excluded.view, updated_at = excluded.updated_at`,
		c.Key.RepoID, c.Key.HeadSHA, c.Key.Name, c.View.Pull.Number, live, packed, now)
	if err != nil || !live {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE publication_views SET live = FALSE
		WHERE repo_id = $1 AND pull = $2 AND live AND (head_sha <> $3 OR name = $4)`,
		c.Key.RepoID, c.View.Pull.Number, c.Key.HeadSHA, publish.Rival(c.Key.Name))
	return err
}

// publicationRow takes the key's row, making it first where there is none: views
// and claims of one key come one after another.
func (s *Store) publicationRow(ctx context.Context, tx *sql.Tx, c publish.Claim) (publish.Publication, error) {
	key := c.Key
	_, err := tx.ExecContext(ctx, `INSERT INTO publications (repo_id, head_sha, name, owner, repo, installation, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (repo_id, head_sha, name) DO NOTHING`,
		key.RepoID, key.HeadSHA, key.Name, c.Repo.Owner, c.Repo.Name, c.Repo.Installation, micros(c.Now))
	if err != nil {
		return publish.Publication{}, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT `+publicationColumns+` FROM publications p WHERE p.repo_id = $1 AND p.head_sha = $2 AND p.name = $3`+s.forUpdate(), key.RepoID, key.HeadSHA, key.Name)
	if err != nil {
		return publish.Publication{}, err
	}
	list, err := scanPublications(rows)
	if err != nil {
		return publish.Publication{}, err
	}
	if len(list) != 1 {
		return publish.Publication{}, errGone // swept away since the statement before
	}
	return list[0], nil
}

func (s *Store) claim(ctx context.Context, tx *sql.Tx, c publish.Claim, p publish.Publication) (publish.Claimed, error) {
	key := c.Key
	if p.Owner != "" && p.Owner != c.Owner && p.LeaseUntil.After(c.Now) {
		return publish.Claimed{Publication: p}, nil
	}
	p.Owner, p.LeaseUntil = c.Owner, fromMicros(micros(c.Until))
	p.Fence++
	_, err := tx.ExecContext(ctx, `UPDATE publications SET lease_owner = $1, lease_until = $2, fence = $3 WHERE repo_id = $4 AND head_sha = $5 AND name = $6`,
		p.Owner, micros(p.LeaseUntil), p.Fence, key.RepoID, key.HeadSHA, key.Name)
	if err != nil {
		return publish.Claimed{}, err
	}
	views, err := s.viewsOf(ctx, tx, key, c.View.Pull.Number)
	return publish.Claimed{Granted: true, Publication: p, Views: views}, err
}

// viewsOf reads the live views of a key and the one of a pull request, which
// comes first. What does not fit is left out, but never the worst: a check must not
// turn green because somebody opened enough pull requests on its head.
func (s *Store) viewsOf(ctx context.Context, tx *sql.Tx, key publish.Key, pull int) ([]publish.View, error) {
	rows, err := tx.QueryContext(ctx, `SELECT view FROM publication_views
		WHERE repo_id = $1 AND head_sha = $2 AND name = $3 AND (live OR pull = $4) ORDER BY pull <> $4, pull`,
		key.RepoID, key.HeadSHA, key.Name, pull)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // reported by rows.Err
	var out []publish.View
	for rows.Next() {
		var packed []byte
		if err := rows.Scan(&packed); err != nil {
			return nil, err
		}
		raw, err := s.codec.unpack(packed)
		if err != nil {
			return nil, err
		}
		var v publish.View
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("read a stored view of %s on %s: %w", key.Name, key.HeadSHA, err)
		}
		if len(out) < maxJoinedViews {
			out = append(out, v)
			continue
		}
		last := &out[maxJoinedViews-1]
		*last = publish.Join([]publish.View{*last, v}).Worst
	}
	return out, rows.Err()
}

// SavePublication implements publish.Store.
func (s *Store) SavePublication(ctx context.Context, p publish.Publication) error {
	owner := p.Owner
	if p.LeaseUntil.IsZero() {
		owner = ""
	}
	return s.insist(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE publications SET owner = $1, repo = $2, installation = $3,
			check_run_id = $4, external_id = $5, session_id = $6, rerun_for = $7, started_at = $8, creating = $9, prior_run_id = $10, suspect = $11,
			status = $12, conclusion = $13, title = $14, digest = $15, intended = $16, waiting = $17, updated_at = $18, lease_owner = $19, lease_until = $20,
			annotated = $21, annotating = $22
			WHERE repo_id = $23 AND head_sha = $24 AND name = $25 AND fence = $26`,
			p.Repo.Owner, p.Repo.Name, p.Repo.Installation,
			p.CheckRunID, p.ExternalID, p.SessionID, p.RerunFor, micros(p.StartedAt), p.Creating, p.PriorRunID, p.Suspect,
			p.Status, p.Conclusion, storable(p.Title), p.Digest, p.Intended, p.Open(), micros(p.UpdatedAt), owner, micros(p.LeaseUntil),
			p.Annotated, p.Annotating,
			p.Key.RepoID, p.Key.HeadSHA, p.Key.Name, p.Fence)
		if err != nil {
			return fmt.Errorf("save what was published: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("save what was published: %w", err)
		}
		if n != 1 {
			return publish.ErrClaimLost
		}
		return nil
	})
}

// OpenPublications implements publish.Store.
func (s *Store) OpenPublications(ctx context.Context, repoID int64, pull int) ([]publish.Publication, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+publicationColumns+` FROM publication_views v
		JOIN publications p ON p.repo_id = v.repo_id AND p.head_sha = v.head_sha AND p.name = v.name
		WHERE v.repo_id = $1 AND v.pull = $2 AND (p.waiting OR v.live OR EXISTS (SELECT 1 FROM publication_views o
			WHERE o.repo_id = v.repo_id AND o.head_sha = v.head_sha AND o.name = v.name AND o.pull <> v.pull AND o.live))
		ORDER BY p.updated_at, p.head_sha, p.name LIMIT $3`, repoID, pull, maxOpenPublications)
	if err != nil {
		return nil, fmt.Errorf("list the open checks of pull request %d: %w", pull, err)
	}
	return scanPublications(rows)
}

// StalePublications implements publish.Store.
func (s *Store) StalePublications(ctx context.Context, before time.Time, limit int) ([]publish.Publication, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+publicationColumns+` FROM publications p
		WHERE p.waiting AND p.updated_at < $1 AND p.lease_until < $1 ORDER BY p.updated_at LIMIT $2`, micros(before), limit)
	if err != nil {
		return nil, fmt.Errorf("list stale checks: %w", err)
	}
	return scanPublications(rows)
}

func scanPublications(rows *sql.Rows) ([]publish.Publication, error) {
	defer rows.Close() //nolint:errcheck // reported by rows.Err
	var out []publish.Publication
	for rows.Next() {
		var p publish.Publication
		var started, updated, until int64
		err := rows.Scan(&p.Key.RepoID, &p.Key.HeadSHA, &p.Key.Name, &p.Repo.Owner, &p.Repo.Name, &p.Repo.Installation,
			&p.CheckRunID, &p.ExternalID, &p.SessionID, &p.RerunFor, &started, &p.Creating, &p.PriorRunID, &p.Suspect,
			&p.Status, &p.Conclusion, &p.Title, &p.Digest, &p.Intended, &p.Annotated, &p.Annotating, &updated, &p.Owner, &until, &p.Fence)
		if err != nil {
			return nil, fmt.Errorf("read a check's row: %w", err)
		}
		p.Repo.ID = p.Key.RepoID
		p.StartedAt, p.UpdatedAt, p.LeaseUntil = fromMicros(started), fromMicros(updated), fromMicros(until)
		out = append(out, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the checks' rows: %w", err)
	}
	return out, nil
}

// micros is a time as the publications keep it; 0 stands for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
