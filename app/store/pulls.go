package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// Pull is what we know of a pull request: enough to find it by its head and to
// reach it without asking the forge. It may be out of date; whoever decides
// reads the forge again.
type Pull struct {
	Ref           forge.PullRef
	HeadSHA       string
	BaseRef       string
	DefaultBranch string
	State         forge.PullState
	Draft         bool
	Private       bool
	// UpdatedAt is the forge's own time of the change. An older row never
	// replaces a newer one (case 56).
	UpdatedAt time.Time
}

// Querier is what reading needs: a *sql.DB or a *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

const pullColumns = `repo_id, number, owner, name, installation, head_sha, base_ref, default_branch, state, draft, private, updated_at`

// SavePull inserts or updates a pull request, unless what is known is newer.
// saved says which. Two changes of the same second are taken in the order of
// the calls, because GitHub's times have no fractions.
func (s *Store) SavePull(ctx context.Context, tx *sql.Tx, p Pull) (saved bool, err error) {
	res, err := tx.ExecContext(ctx, `INSERT INTO pulls (`+pullColumns+`)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)
ON CONFLICT (repo_id, number) DO UPDATE SET owner=excluded.owner, name=excluded.name, installation=excluded.installation,
 head_sha=excluded.head_sha, base_ref=excluded.base_ref, default_branch=excluded.default_branch, state=excluded.state,
 draft=excluded.draft, private=excluded.private, updated_at=excluded.updated_at
WHERE excluded.updated_at >= pulls.updated_at`,
		p.Ref.Repo.ID, p.Ref.Number, p.Ref.Repo.Owner, p.Ref.Repo.Name, p.Ref.Repo.Installation, p.HeadSHA, p.BaseRef,
		p.DefaultBranch, string(p.State), p.Draft, p.Private, p.UpdatedAt.UTC())
	if err != nil {
		return false, fmt.Errorf("save pull request %s#%d: %w", p.Ref.Repo.FullName(), p.Ref.Number, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("save pull request %s#%d: %w", p.Ref.Repo.FullName(), p.Ref.Number, err)
	}
	return n > 0, nil
}

// Pull reads one pull request; ok is false when it is unknown.
func (s *Store) Pull(ctx context.Context, q Querier, repoID int64, number int) (p Pull, ok bool, err error) {
	row := q.QueryRowContext(ctx, `SELECT `+pullColumns+` FROM pulls WHERE repo_id = $1 AND number = $2`, repoID, number)
	p, err = scanPull(row)
	if errors.Is(err, sql.ErrNoRows) {
		return Pull{}, false, nil
	}
	if err != nil {
		return Pull{}, false, fmt.Errorf("read pull request %d of repository %d: %w", number, repoID, err)
	}
	return p, true, nil
}

// MaxPullsByHead bounds the pull requests found for one commit. More than a
// handful share a head only when somebody makes them to exhaust us.
const MaxPullsByHead = 100

// OpenPullsByHead lists the open pull requests known to have this head, lowest
// number first, at most MaxPullsByHead.
func (s *Store) OpenPullsByHead(ctx context.Context, q Querier, repoID int64, sha string) (pulls []Pull, err error) {
	rows, err := q.QueryContext(ctx, `SELECT `+pullColumns+` FROM pulls
WHERE repo_id = $1 AND head_sha = $2 AND state = 'open' ORDER BY number LIMIT $3`, repoID, sha, MaxPullsByHead)
	if err != nil {
		return nil, fmt.Errorf("find pull requests with head %s: %w", sha, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	for rows.Next() {
		p, err := scanPull(rows)
		if err != nil {
			return nil, fmt.Errorf("find pull requests with head %s: %w", sha, err)
		}
		pulls = append(pulls, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("find pull requests with head %s: %w", sha, err)
	}
	return pulls, nil
}

func scanPull(row interface{ Scan(dest ...any) error }) (Pull, error) {
	var p Pull
	var state string
	err := row.Scan(&p.Ref.Repo.ID, &p.Ref.Number, &p.Ref.Repo.Owner, &p.Ref.Repo.Name, &p.Ref.Repo.Installation, &p.HeadSHA,
		&p.BaseRef, &p.DefaultBranch, &state, &p.Draft, &p.Private, &p.UpdatedAt)
	p.State = forge.PullState(state)
	p.UpdatedAt = p.UpdatedAt.UTC()
	return p, err
}
