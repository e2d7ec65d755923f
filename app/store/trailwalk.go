package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign/countersign/review/trail"
)

// trailWhere is the part of a statement that selects records, and its arguments.
type trailWhere struct {
	conditions []string
	args       []any
}

func (w *trailWhere) add(condition string, args ...any) {
	for _, a := range args {
		w.args = append(w.args, a)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(w.args)), 1)
	}
	w.conditions = append(w.conditions, condition)
}

func (w *trailWhere) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// trailWhereOf is a query's selection. none says that nothing can match.
func (s *Store) trailWhereOf(ctx context.Context, q trail.Query) (w trailWhere, none bool, err error) {
	if q.SessionID != "" {
		// The second condition lets the partial index serve the query.
		w.add("session_id = ?", q.SessionID)
		w.add("session_id <> ''")
	}
	if q.Repo != "" {
		names, err := s.trailNames(ctx, q.Repo)
		if err != nil || len(names) == 0 {
			return w, true, err
		}
		w.add("repo IN ("+strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")+")", names...)
	}
	if q.Pull != 0 {
		w.add("pull = ?", q.Pull)
	}
	if q.Type != "" {
		w.add("type = ?", string(q.Type))
	}
	if !q.Since.IsZero() {
		w.add("ts >= ?", q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		w.add("ts < ?", q.Until.UnixMicro())
	}
	if q.After != "" {
		w.add("id > ?", q.After)
	}
	return w, false, nil
}

// trailNames are the spellings under which a repository is in the trail: GitHub's
// names do not differ by case, and a renaming may have changed only that. The
// index is skipped through, one step for each name in it.
func (s *Store) trailNames(ctx context.Context, repo string) (out []any, err error) {
	rows, err := s.db.QueryContext(ctx, `WITH RECURSIVE names (name) AS (
	SELECT min(repo) FROM trail
	UNION ALL
	SELECT (SELECT min(repo) FROM trail WHERE repo > names.name) FROM names WHERE names.name IS NOT NULL
) SELECT name FROM names WHERE lower(name) = lower($1) LIMIT 100`, repo)
	if err != nil {
		return nil, fmt.Errorf("find %s in the trail: %w", repo, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("find %s in the trail: %w", repo, err)
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

// WalkTrail calls f for each record that the query selects, chain by chain and in
// each chain in order, until f returns an error. It holds a page of records and no
// connection while f runs, so it may take as long as it likes. Limit and After do
// not apply.
func (s *Store) WalkTrail(ctx context.Context, q trail.Query, f func(trail.Record) error) error {
	q.After = ""
	var chain trail.Chain
	var seq int64
	for {
		w, none, err := s.trailWhereOf(ctx, q)
		if err != nil || none {
			return err
		}
		w.add("(chain, seq) > (?, ?)", string(chain), seq)
		w.args = append(w.args, trailPage)
		page, err := s.queryTrail(ctx, `SELECT `+trailColumns+` FROM trail`+w.String()+fmt.Sprintf(` ORDER BY chain, seq LIMIT $%d`, len(w.args)), w.args...)
		if err != nil {
			return fmt.Errorf("read the trail of %s after row %d: %w", chain, seq, err)
		}
		for _, r := range page {
			if err := f(r); err != nil {
				return err
			}
			chain, seq = r.Chain, r.Seq
		}
		if len(page) < trailPage {
			return nil
		}
	}
}

// HashInTrail finds the record of a chain whose hash begins with prefix, in hex. An
// empty chain means any of the repository's.
func (s *Store) HashInTrail(ctx context.Context, repoID int64, chain trail.Chain, prefix string) (bool, error) {
	var w trailWhere
	w.add("substr(hash, 1, ?) = ?", len(prefix), prefix)
	if chain != "" {
		w.add("chain = ?", string(chain))
	} else {
		w.add("repo_id = ?", repoID)
	}
	var n int
	if err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM trail`+w.String()+` LIMIT 1) AS found`, w.args...).Scan(&n); err != nil {
		return false, fmt.Errorf("look for %s in the trail of repository %d: %w", prefix, repoID, err)
	}
	return n > 0, nil
}
