package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/countersign/countersign/review/publish"
)

const postingColumns = `owner, repo, installation, stage, seq, session_id, head_sha, digest, parts, apart, review_id, review_node,
	updated_at, lease_owner, lease_until, fence`

// ClaimPosting implements publish.CommentStore.
func (s *Store) ClaimPosting(ctx context.Context, c publish.PostingClaim) (publish.ClaimedPosting, error) {
	var out publish.ClaimedPosting
	err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		out, err = s.claimPosting(ctx, tx, c)
		return err
	})
	if err != nil {
		return publish.ClaimedPosting{}, fmt.Errorf("claim the reviews of pull request %d: %w", c.Pull.Number, err)
	}
	return out, nil
}

func (s *Store) claimPosting(ctx context.Context, tx *sql.Tx, c publish.PostingClaim) (publish.ClaimedPosting, error) {
	repo := c.Pull.Repo
	// The conflict is an update that changes nothing: it locks the row where several
	// processes share the database, so that of two claims one sees the other.
	_, err := tx.ExecContext(ctx, `INSERT INTO postings (repo_id, pull, owner, repo, installation, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (repo_id, pull) DO UPDATE SET fence = postings.fence`,
		repo.ID, c.Pull.Number, repo.Owner, repo.Name, repo.Installation, micros(c.Now))
	if err != nil {
		return publish.ClaimedPosting{}, err
	}
	p, err := s.readPosting(ctx, tx, c)
	if err != nil {
		return publish.ClaimedPosting{}, err
	}
	if p.Owner != "" && p.Owner != c.Owner && p.LeaseUntil.After(c.Now) {
		return publish.ClaimedPosting{Posting: p}, nil
	}
	p.Owner, p.LeaseUntil = c.Owner, fromMicros(micros(c.Until))
	p.Fence++
	_, err = tx.ExecContext(ctx, `UPDATE postings SET lease_owner = $1, lease_until = $2, fence = $3 WHERE repo_id = $4 AND pull = $5`,
		p.Owner, micros(p.LeaseUntil), p.Fence, repo.ID, c.Pull.Number)
	if err != nil {
		return publish.ClaimedPosting{}, err
	}
	open, err := openComments(ctx, tx, c)
	return publish.ClaimedPosting{Granted: true, Posting: p, Open: open}, err
}

func (s *Store) readPosting(ctx context.Context, tx *sql.Tx, c publish.PostingClaim) (publish.Posting, error) {
	p := publish.Posting{Pull: c.Pull}
	var packed []byte
	var updated, until int64
	row := tx.QueryRowContext(ctx, `SELECT `+postingColumns+` FROM postings WHERE repo_id = $1 AND pull = $2`, c.Pull.Repo.ID, c.Pull.Number)
	err := row.Scan(&p.Pull.Repo.Owner, &p.Pull.Repo.Name, &p.Pull.Repo.Installation, &p.Stage, &p.Seq, &p.SessionID, &p.HeadSHA, &p.Digest,
		&packed, &p.Apart, &p.Review.ID, &p.Review.Node, &updated, &p.Owner, &until, &p.Fence)
	if err != nil {
		return p, err
	}
	p.UpdatedAt, p.LeaseUntil = fromMicros(updated), fromMicros(until)
	if len(packed) == 0 {
		return p, nil
	}
	raw, err := s.codec.unpack(packed)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p.Parts); err != nil {
		return p, fmt.Errorf("read what was being posted: %w", err)
	}
	return p, nil
}

// openComments reads the findings that stand, the newest where there are too many.
func openComments(ctx context.Context, tx *sql.Tx, c publish.PostingClaim) ([]publish.Delivered, error) {
	rows, err := tx.QueryContext(ctx, `SELECT finding_key, state, rule, source, path, severity, likeness, marker,
		review_id, thread_id, comment_id, head_sha, posted_at, fixed_sha, fixed_at
		FROM comments WHERE repo_id = $1 AND pull = $2 AND state IN ('posted', 'refused') ORDER BY posted_at DESC, finding_key LIMIT $3`,
		c.Pull.Repo.ID, c.Pull.Number, publish.MaxDelivered)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // reported by rows.Err
	var out []publish.Delivered
	for rows.Next() {
		var d publish.Delivered
		var source, severity string
		var posted, fixed int64
		err := rows.Scan(&d.Key, &d.State, &d.Rule, &source, &d.Path, &severity, &d.Likeness, &d.Marker,
			&d.ReviewID, &d.ThreadID, &d.CommentID, &d.HeadSHA, &posted, &d.FixedSHA, &fixed)
		if err != nil {
			return nil, err
		}
		if err := d.From.UnmarshalText([]byte(source)); err != nil {
			return nil, err
		}
		if err := d.Severity.UnmarshalText([]byte(severity)); err != nil {
			return nil, err
		}
		d.PostedAt, d.FixedAt = fromMicros(posted), fromMicros(fixed)
		out = append(out, d)
	}
	return out, rows.Err()
}

// SavePosting implements publish.CommentStore.
func (s *Store) SavePosting(ctx context.Context, p publish.Posting, changed []publish.Delivered) error {
	var packed []byte
	if len(p.Parts) > 0 {
		raw, err := json.Marshal(p.Parts)
		if err != nil {
			return fmt.Errorf("encode what is being posted: %w", err)
		}
		packed = s.codec.pack(raw)
	}
	owner := p.Owner
	if p.LeaseUntil.IsZero() {
		owner = ""
	}
	repo := p.Pull.Repo
	return s.insist(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE postings SET owner = $1, repo = $2, installation = $3, stage = $4, seq = $5, session_id = $6,
			head_sha = $7, digest = $8, parts = $9, apart = $10, review_id = $11, review_node = $12, updated_at = $13, lease_owner = $14, lease_until = $15
			WHERE repo_id = $16 AND pull = $17 AND fence = $18`,
			repo.Owner, repo.Name, repo.Installation, string(p.Stage), p.Seq, p.SessionID,
			p.HeadSHA, p.Digest, packed, p.Apart, p.Review.ID, p.Review.Node, micros(p.UpdatedAt), owner, micros(p.LeaseUntil),
			repo.ID, p.Pull.Number, p.Fence)
		if err != nil {
			return fmt.Errorf("save what is being posted: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("save what is being posted: %w", err)
		}
		if n != 1 {
			return publish.ErrPostingLost
		}
		for _, d := range changed {
			if err := putComment(ctx, tx, p, d); err != nil {
				return fmt.Errorf("save a comment of pull request %d: %w", p.Pull.Number, err)
			}
		}
		return nil
	})
}

func putComment(ctx context.Context, tx *sql.Tx, p publish.Posting, d publish.Delivered) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO comments (repo_id, pull, finding_key, state, rule, source, path, severity, likeness, marker,
		review_id, thread_id, comment_id, head_sha, posted_at, fixed_sha, fixed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		ON CONFLICT (repo_id, pull, finding_key) DO UPDATE SET state = excluded.state, rule = excluded.rule, source = excluded.source,
		path = excluded.path, severity = excluded.severity, likeness = excluded.likeness, marker = excluded.marker, review_id = excluded.review_id,
		thread_id = excluded.thread_id, comment_id = excluded.comment_id, head_sha = excluded.head_sha, posted_at = excluded.posted_at,
		fixed_sha = excluded.fixed_sha, fixed_at = excluded.fixed_at`,
		p.Pull.Repo.ID, p.Pull.Number, string(d.Key), string(d.State), d.Rule, d.From.String(), d.Path, d.Severity.String(), d.Likeness, string(d.Marker),
		d.ReviewID, d.ThreadID, d.CommentID, d.HeadSHA, micros(d.PostedAt), d.FixedSHA, micros(d.FixedAt))
	return err
}

var _ publish.CommentStore = (*Store)(nil)
