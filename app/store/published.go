package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/trail"
)

// Unrecorded implements trail.PublishedStore: the checks that have a run by the
// publisher's table, and no record of their publication in any chain of the pull
// requests that they speak for.
func (s *Store) Unrecorded(ctx context.Context, after trail.Published, limit int) (out []trail.Published, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT p.repo_id, p.owner, p.repo, p.head_sha, p.name, p.check_run_id, p.updated_at FROM publications p
		WHERE p.check_run_id > 0 AND (p.repo_id, p.head_sha, p.name) > ($1, $2, $3) AND NOT EXISTS (
			SELECT 1 FROM publication_views v JOIN trail t ON t.chain = 'pull:' || v.repo_id || ':' || v.pull
			WHERE v.repo_id = p.repo_id AND v.head_sha = p.head_sha AND v.name = p.name AND t.type = 'publish' AND t.head_sha = p.head_sha)
		ORDER BY p.repo_id, p.head_sha, p.name LIMIT $4`, after.RepoID, after.HeadSHA, after.Name, limit)
	if err != nil {
		return nil, fmt.Errorf("list what was published without a record: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p trail.Published
		var owner, name string
		var at int64
		if err := rows.Scan(&p.RepoID, &owner, &name, &p.HeadSHA, &p.Name, &p.Run, &at); err != nil {
			return nil, fmt.Errorf("list what was published without a record: %w", err)
		}
		p.Repo, p.At = owner+"/"+name, time.UnixMicro(at).UTC()
		out = append(out, p)
	}
	return out, rows.Err()
}
