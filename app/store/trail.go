package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/countersign/countersign/review/trail"
)

// The sizes of one look into the trail.
const (
	// trailPage is how many records ReadTrail holds at once: 64 KiB each at
	// worst, so a walk stays under 8 MiB.
	trailPage = 128
	// trailFindDefault is the documented limit of FindTrail.
	trailFindDefault = 1000
	// trailInsertRows keeps one INSERT under SQLite's 32,766 variables.
	trailInsertRows = 64
)

const trailColumns = `id, chain, seq, ts, plan_id, session_id, repo, repo_id, pull, head_sha,
	phase, type, actor, policy_revision, app_version, body, prev_hash, hash`

const trailColumnCount = 18

// AppendTrail implements trail.Store in a transaction of its own.
func (s *Store) AppendTrail(ctx context.Context, chain trail.Chain, seal func(lastSeq int64, lastHash string) ([]trail.Record, error)) ([]trail.Record, error) {
	var records []trail.Record
	err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		records, err = s.AppendTrailTx(ctx, tx, chain, seal)
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// AppendTrailTx appends inside the caller's transaction, so that what happened
// and its record are committed together. Appends to one chain come one after
// another; seal may be called again, with another end of the chain.
func (s *Store) AppendTrailTx(ctx context.Context, tx *sql.Tx, chain trail.Chain, seal func(lastSeq int64, lastHash string) ([]trail.Record, error)) ([]trail.Record, error) {
	if err := s.takeName(ctx, tx, "chain "+string(chain)); err != nil {
		return nil, err
	}
	head := trail.Head{Chain: chain}
	err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM chains WHERE chain = $1`, string(chain)).Scan(&head.Seq, &head.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the head of chain %s: %w", chain, err)
	}
	records, err := seal(head.Seq, head.Hash)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, nil
	}
	if err := follows(head, records); err != nil {
		return nil, err
	}
	for rest := records; len(rest) > 0; {
		n := min(len(rest), trailInsertRows)
		if err := insertTrail(ctx, tx, rest[:n]); err != nil {
			return nil, fmt.Errorf("insert into the trail of %s: %w", chain, err)
		}
		rest = rest[n:]
	}
	if err := moveHead(ctx, tx, head, records[len(records)-1]); err != nil {
		return nil, err
	}
	return records, nil
}

// follows guards the chain against a seal that ignores what it was given.
func follows(head trail.Head, records []trail.Record) error {
	for _, r := range records {
		if r.Chain != head.Chain || r.Seq != head.Seq+1 || r.PrevHash != head.Hash {
			return fmt.Errorf("append to chain %s: record %d of chain %s does not follow row %d", head.Chain, r.Seq, r.Chain, head.Seq)
		}
		head.Seq, head.Hash = r.Seq, r.Hash
	}
	return nil
}

func insertTrail(ctx context.Context, tx *sql.Tx, records []trail.Record) error {
	var q strings.Builder
	q.WriteString(`INSERT INTO trail (` + trailColumns + `) VALUES `)
	args := make([]any, 0, len(records)*trailColumnCount)
	for i, r := range records {
		if i > 0 {
			q.WriteString(", ")
		}
		writePlaceholders(&q, len(args)+1, trailColumnCount)
		args = append(args, r.ID, string(r.Chain), r.Seq, r.TS.UnixMicro(), r.PlanID, r.SessionID, r.Repo, r.RepoID, r.Pull, r.HeadSHA,
			r.Phase, string(r.Type), r.Actor, r.PolicyRevision, r.AppVersion, string(r.Body), r.PrevHash, r.Hash)
	}
	_, err := tx.ExecContext(ctx, q.String(), args...)
	return err
}

// writePlaceholders writes "($first, …)".
func writePlaceholders(q *strings.Builder, first, n int) {
	for i := range n {
		sep := ", "
		if i == 0 {
			sep = "("
		}
		fmt.Fprintf(q, "%s$%d", sep, first+i)
	}
	q.WriteByte(')')
}

// moveHead sets the chain's head, provided that it is still the one read: a
// second writer's transaction fails here rather than forking the chain.
func moveHead(ctx context.Context, tx *sql.Tx, from trail.Head, last trail.Record) error {
	if from.Seq == 0 {
		if _, err := tx.ExecContext(ctx, `INSERT INTO chains (chain, seq, hash) VALUES ($1, $2, $3)`, string(from.Chain), last.Seq, last.Hash); err != nil {
			return fmt.Errorf("begin chain %s: %w", from.Chain, err)
		}
		return nil
	}
	res, err := tx.ExecContext(ctx, `UPDATE chains SET seq = $1, hash = $2 WHERE chain = $3 AND seq = $4 AND hash = $5`,
		last.Seq, last.Hash, string(from.Chain), from.Seq, from.Hash)
	if err != nil {
		return fmt.Errorf("move the head of chain %s: %w", from.Chain, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("move the head of chain %s: it is no longer at row %d", from.Chain, from.Seq)
	}
	return nil
}

// ReadTrail implements trail.Store. It reads page by page and holds no
// connection while f runs, so that a long walk does not keep writers out and f
// may use the store.
func (s *Store) ReadTrail(ctx context.Context, chain trail.Chain, f func(trail.Record) error) error {
	var after int64
	for {
		page, err := s.queryTrail(ctx, `SELECT `+trailColumns+` FROM trail WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3`, string(chain), after, trailPage)
		if err != nil {
			return fmt.Errorf("read the trail of %s after row %d: %w", chain, after, err)
		}
		for _, r := range page {
			if err := f(r); err != nil {
				return err
			}
			after = r.Seq
		}
		if len(page) < trailPage {
			return nil
		}
	}
}

// FindTrail implements trail.Store. Ids are ULIDs: their order is that of time.
func (s *Store) FindTrail(ctx context.Context, q trail.Query) ([]trail.Record, error) {
	w, none, err := s.trailWhereOf(ctx, q)
	if err != nil || none {
		return nil, err
	}
	limit := q.Limit
	if limit <= 0 {
		limit = trailFindDefault
	}
	w.args = append(w.args, limit)
	query := `SELECT ` + trailColumns + ` FROM trail` + w.String() + fmt.Sprintf(` ORDER BY id LIMIT $%d`, len(w.args))
	records, err := s.queryTrail(ctx, query, w.args...)
	if err != nil {
		return nil, fmt.Errorf("search the trail: %w", err)
	}
	return records, nil
}

func (s *Store) queryTrail(ctx context.Context, query string, args ...any) ([]trail.Record, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // reported by rows.Err
	var out []trail.Record
	for rows.Next() {
		r, err := scanTrail(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func scanTrail(rows *sql.Rows) (trail.Record, error) {
	var r trail.Record
	var micros int64
	var body string
	err := rows.Scan(&r.ID, &r.Chain, &r.Seq, &micros, &r.PlanID, &r.SessionID, &r.Repo, &r.RepoID, &r.Pull, &r.HeadSHA,
		&r.Phase, &r.Type, &r.Actor, &r.PolicyRevision, &r.AppVersion, &body, &r.PrevHash, &r.Hash)
	r.TS = time.UnixMicro(micros).UTC()
	r.Body = json.RawMessage(body)
	return r, err
}

// Chains implements trail.Store. A chain that has rows but is missing from the
// chain table is listed with row 0: that is for the verification to report.
func (s *Store) Chains(ctx context.Context) ([]trail.Head, error) {
	rows, err := s.db.QueryContext(ctx, `
		SELECT chain, seq, hash FROM chains
		UNION ALL
		SELECT DISTINCT t.chain, 0, '' FROM trail t WHERE NOT EXISTS (SELECT 1 FROM chains c WHERE c.chain = t.chain)
		ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("list the trail's chains: %w", err)
	}
	defer rows.Close() //nolint:errcheck // reported by rows.Err
	var heads []trail.Head
	for rows.Next() {
		var h trail.Head
		if err := rows.Scan(&h.Chain, &h.Seq, &h.Hash); err != nil {
			return nil, fmt.Errorf("list the trail's chains: %w", err)
		}
		heads = append(heads, h)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the trail's chains: %w", err)
	}
	return heads, nil
}
