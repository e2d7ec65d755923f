package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/review/trail"
)

// maxSources bounds the check names remembered of one repository; a generated
// matrix can have hundreds. A name that is seen again is written again once it was
// not for sourceAge, so that Sweep knows which are in use.
const (
	maxSources = 2000
	sourceAge  = 24 * time.Hour
)

// RecordDeliveries implements session.Store.
func (s *Store) RecordDeliveries(ctx context.Context, guids []string, chain trail.Chain, seal func(lastSeq int64, lastHash string) ([]trail.Record, error)) error {
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.AppendTrailTx(ctx, tx, chain, seal); err != nil {
			return err
		}
		for _, guid := range guids {
			if _, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = 'recorded' WHERE guid = $1`, guid); err != nil {
				return fmt.Errorf("mark delivery %s as recorded: %w", guid, err)
			}
		}
		return nil
	})
}

// LatestSession implements session.Store.
func (s *Store) LatestSession(ctx context.Context, repoID int64, pull int) (session.Session, bool, error) {
	var body string
	err := s.db.QueryRowContext(ctx, `SELECT body FROM sessions WHERE repo_id = $1 AND pull = $2 ORDER BY id DESC LIMIT 1`, repoID, pull).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Session{}, false, nil
	}
	if err != nil {
		return session.Session{}, false, fmt.Errorf("read the newest session of pull %d: %w", pull, err)
	}
	var out session.Session
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		return session.Session{}, false, fmt.Errorf("read the newest session of pull %d: %w", pull, err)
	}
	return out, true, nil
}

// SaveSession implements session.Store.
func (s *Store) SaveSession(ctx context.Context, x session.Session) error {
	body, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("save session %s: %w", x.ID, err)
	}
	err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO sessions (id, repo_id, pull, head_sha, status, body, updated_at, newest)
			VALUES ($1, $2, $3, $4, $5, $6, $7, NOT EXISTS (SELECT 1 FROM sessions n WHERE n.repo_id = $2 AND n.pull = $3 AND n.id > $1))
			ON CONFLICT (id) DO UPDATE SET head_sha = excluded.head_sha, status = excluded.status, body = excluded.body, updated_at = excluded.updated_at`,
			x.ID, x.Pull.Repo.ID, x.Pull.Number, x.HeadSHA, string(x.Status), string(body), s.Now())
		if err != nil {
			return err
		}
		// Only the one before can have been the newest.
		_, err = tx.ExecContext(ctx, `
			UPDATE sessions SET newest = FALSE WHERE newest AND id = (
				SELECT id FROM sessions WHERE repo_id = $1 AND pull = $2 AND id < $3 ORDER BY id DESC LIMIT 1)`,
			x.Pull.Repo.ID, x.Pull.Number, x.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("save session %s: %w", x.ID, err)
	}
	return nil
}

// RememberPull implements session.Store.
func (s *Store) RememberPull(ctx context.Context, p session.KnownPull) error {
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := s.SavePull(ctx, tx, Pull{Ref: p.Ref, HeadSHA: p.HeadSHA, BaseRef: p.BaseRef, DefaultBranch: p.DefaultBranch,
			State: p.State, Draft: p.Draft, Private: p.Private, UpdatedAt: p.UpdatedAt})
		return err
	})
}

// OpenPullsAt implements session.Store.
func (s *Store) OpenPullsAt(ctx context.Context, repoID int64, sha string) ([]forge.PullRef, error) {
	pulls, err := s.OpenPullsByHead(ctx, s.db, repoID, sha)
	if err != nil {
		return nil, err
	}
	out := make([]forge.PullRef, len(pulls))
	for i, p := range pulls {
		out[i] = p.Ref
	}
	return out, nil
}

// Head implements session.Store.
func (s *Store) Head(ctx context.Context, repoID int64, sha string, now time.Time) (session.Head, error) {
	h := session.Head{RepoID: repoID, SHA: sha, SeenAt: now.UTC()}
	var first sql.NullTime
	var checks string
	const read = `SELECT seen_at, first_check, checks, rerun FROM heads WHERE repo_id = $1 AND sha = $2`
	err := s.db.QueryRowContext(ctx, read, repoID, sha).Scan(&h.SeenAt, &first, &checks, &h.Rerun)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = s.db.ExecContext(ctx, `INSERT INTO heads (repo_id, sha, seen_at, updated_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			repoID, sha, h.SeenAt, s.Now())
		if err != nil {
			return h, fmt.Errorf("remember head %s: %w", sha, err)
		}
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read head %s: %w", sha, err)
	}
	h.SeenAt, h.FirstCheck = h.SeenAt.UTC(), fromNull(first)
	if err := json.Unmarshal([]byte(checks), &h.Rows); err != nil {
		return h, fmt.Errorf("read the checks of head %s: %w", sha, err)
	}
	return h, nil
}

// SaveHeadChecks implements session.Store.
func (s *Store) SaveHeadChecks(ctx context.Context, repoID int64, sha string, rows []collect.Row, firstCheck time.Time) error {
	body, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("save the checks of head %s: %w", sha, err)
	}
	first := sql.NullTime{Time: firstCheck.UTC(), Valid: !firstCheck.IsZero()}
	if _, err := s.db.ExecContext(ctx, `UPDATE heads SET checks = $1, first_check = $2, updated_at = $3 WHERE repo_id = $4 AND sha = $5`,
		string(body), first, s.Now(), repoID, sha); err != nil {
		return fmt.Errorf("save the checks of head %s: %w", sha, err)
	}
	return nil
}

// SetRerun implements session.Store.
func (s *Store) SetRerun(ctx context.Context, repoID int64, sha string, wanted bool) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE heads SET rerun = $1, updated_at = $2 WHERE repo_id = $3 AND sha = $4`, wanted, s.Now(), repoID, sha); err != nil {
		return fmt.Errorf("ask for a re-run on %s: %w", sha, err)
	}
	return nil
}

// Sources implements session.Store.
func (s *Store) Sources(ctx context.Context, repoID int64) ([]session.Source, error) {
	out, _, err := s.sources(ctx, repoID)
	return out, err
}

// sources also says when each was last learnt.
func (s *Store) sources(ctx context.Context, repoID int64) (out []session.Source, seen map[session.Source]time.Time, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT name, app_id, workflow, seen_at FROM check_sources WHERE repo_id = $1 ORDER BY name, app_id, workflow LIMIT $2`, repoID, maxSources)
	if err != nil {
		return nil, nil, fmt.Errorf("read check sources: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	seen = make(map[session.Source]time.Time)
	for rows.Next() {
		var x session.Source
		var at time.Time
		if err := rows.Scan(&x.Name, &x.AppID, &x.Workflow, &at); err != nil {
			return nil, nil, fmt.Errorf("read check sources: %w", err)
		}
		out = append(out, x)
		seen[x] = at
	}
	return out, seen, rows.Err()
}

// LearnSources implements session.Store. What was learnt within sourceAge is not
// written again; beyond maxSources nothing more is learnt.
func (s *Store) LearnSources(ctx context.Context, repoID int64, sources []session.Source) error {
	_, seen, err := s.sources(ctx, repoID)
	if err != nil {
		return err
	}
	now := s.Now()
	var q strings.Builder
	var args []any
	// In one order for everyone, as RaiseSubjects.
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b session.Source) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.AppID, b.AppID), strings.Compare(a.Workflow, b.Workflow))
	})
	for _, x := range sources {
		at, known := seen[x]
		if now.Sub(at) < sourceAge || !known && len(seen) >= maxSources {
			continue
		}
		seen[x] = now
		if len(args) > 0 {
			q.WriteString(", ")
		}
		writePlaceholders(&q, len(args)+1, 5)
		args = append(args, repoID, storable(x.Name), x.AppID, storable(x.Workflow), now)
	}
	if len(args) == 0 {
		return nil
	}
	err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO check_sources (repo_id, name, app_id, workflow, seen_at) VALUES `+q.String()+`
		ON CONFLICT (repo_id, name, app_id, workflow) DO UPDATE SET seen_at = excluded.seen_at`, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("learn check sources: %w", err)
	}
	return nil
}

// storable is a text from outside as PostgreSQL takes it: without the character
// that it refuses. The name of a check with one in it is nobody's required check.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// FailedPulls implements session.Store.
func (s *Store) FailedPulls(ctx context.Context, installation int64, limit int) (out []forge.PullRef, err error) {
	rows, err := s.db.QueryContext(ctx, `
		SELECT r.id, r.owner, r.name, r.installation, s.pull
		FROM sessions s JOIN repos r ON r.id = s.repo_id
		WHERE r.installation = $1 AND s.status = $2
		  AND NOT EXISTS (SELECT 1 FROM sessions n WHERE n.repo_id = s.repo_id AND n.pull = s.pull AND n.id > s.id)
		ORDER BY s.id DESC LIMIT $3`, installation, string(session.Failed), limit)
	if err != nil {
		return nil, fmt.Errorf("list the failed sessions of installation %d: %w", installation, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p forge.PullRef
		if err := rows.Scan(&p.Repo.ID, &p.Repo.Owner, &p.Repo.Name, &p.Repo.Installation, &p.Number); err != nil {
			return nil, fmt.Errorf("list the failed sessions of installation %d: %w", installation, err)
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// SessionRecords implements session.Store.
func (s *Store) SessionRecords(ctx context.Context, sessionID string) ([]trail.Type, error) {
	records, err := s.FindTrail(ctx, trail.Query{SessionID: sessionID})
	if err != nil {
		return nil, err
	}
	out := make([]trail.Type, len(records))
	for i, r := range records {
		out[i] = r.Type
	}
	return out, nil
}

// RememberRepo keeps a repository's name and installation under its id. Nothing
// is written when it is known like this already.
func (s *Store) RememberRepo(ctx context.Context, r forge.Repo) error {
	known, ok, err := s.RepoByID(ctx, r.ID)
	if err != nil || (ok && known == r) {
		return err
	}
	_, err = s.db.ExecContext(ctx, `
		INSERT INTO repos (id, owner, name, installation) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, name = excluded.name, installation = excluded.installation`,
		r.ID, r.Owner, r.Name, r.Installation)
	if err != nil {
		return fmt.Errorf("remember repository %s: %w", r.FullName(), err)
	}
	return nil
}

// RepoByID names the repository with this id, if a delivery ever told of it.
func (s *Store) RepoByID(ctx context.Context, id int64) (forge.Repo, bool, error) {
	r := forge.Repo{ID: id}
	err := s.db.QueryRowContext(ctx, `SELECT owner, name, installation FROM repos WHERE id = $1`, id).Scan(&r.Owner, &r.Name, &r.Installation)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read repository %d: %w", id, err)
	}
	return r, true, nil
}
