package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/countersign/countersign/handlers"
)

// SubjectState is a subject's row: what happened to it, what was worked, and when
// the next turn may begin.
type SubjectState struct {
	Subject handlers.Subject
	// Want counts what happened, Done is the Want that the last successful turn
	// saw, Urgent the last Want that must not wait for Due.
	Want, Urgent, Done int64
	// Due: not before, unless urgent. Settle: not before, urgent or not.
	// Recheck: run then, also when nothing happened. Zero times are unset.
	Due, Settle, Recheck time.Time
	// Attempts counts the failed turns since the last success.
	Attempts int
}

// Next says when the next turn should begin; ok is false when nothing is to be
// done. Whatever the result, an event makes it at most Settle.
func (s SubjectState) Next(now time.Time) (at time.Time, ok bool) {
	switch {
	case s.Urgent > s.Done, s.Want > s.Done && s.Due.IsZero():
		at, ok = now, true
	case s.Want > s.Done:
		at, ok = s.Due, true
	}
	if !s.Recheck.IsZero() && (!ok || s.Recheck.Before(at)) {
		at, ok = s.Recheck, true
	}
	if ok && at.Before(s.Settle) {
		at = s.Settle
	}
	return at, ok
}

const subjectColumns = `key, kind, want_gen, urgent_gen, done_gen, due_at, settle_until, recheck_at, attempts`

// RaiseSubjects counts n events for each subject: an urgent wake-up that
// overrides a debounce. tired is the number of failed attempts from which on an
// event is a fresh start; before, it counts on. The new states are returned in no
// particular order.
func (s *Store) RaiseSubjects(ctx context.Context, tx *sql.Tx, counts map[handlers.Subject]int, tired int) (states []SubjectState, err error) {
	if len(counts) == 0 {
		return nil, nil
	}
	const columns = 5
	args := make([]any, 0, columns*len(counts)+1)
	now := s.Now()
	// In the order of their keys: two commits that take the same rows in different
	// orders would wait for each other.
	for _, subject := range slices.SortedFunc(maps.Keys(counts), func(a, b handlers.Subject) int { return strings.Compare(a.Key, b.Key) }) {
		n := counts[subject]
		args = append(args, subject.Key, string(subject.Kind), n, n, now)
	}
	args = append(args, tired)
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`INSERT INTO subjects (key, kind, want_gen, urgent_gen, updated_at) VALUES %s
ON CONFLICT (key) DO UPDATE SET want_gen = subjects.want_gen + excluded.want_gen, urgent_gen = subjects.want_gen + excluded.want_gen,
 due_at = NULL, attempts = CASE WHEN subjects.attempts >= $%d THEN 0 ELSE subjects.attempts END, updated_at = excluded.updated_at
RETURNING %s`, tuples(len(counts), columns), len(args), subjectColumns), args...)
	if err != nil {
		return nil, fmt.Errorf("raise subjects: %w", err)
	}
	return scanSubjects(rows)
}

// WakeSubject counts a wake-up that may wait until notBefore. running says
// whether a turn of the subject is under way, which may have missed its cause.
// tired is that of RaiseSubjects.
func (s *Store) WakeSubject(ctx context.Context, tx *sql.Tx, subject handlers.Subject, notBefore time.Time, running bool, tired int) (SubjectState, error) {
	if err := s.TakeSubjects(ctx, tx, subject); err != nil {
		return SubjectState{}, err
	}
	st, ok, err := s.Subject(ctx, tx, subject.Key)
	if err != nil {
		return SubjectState{}, err
	}
	now := s.Now()
	if !ok {
		st = SubjectState{Subject: subject}
	}
	due := notBefore.UTC()
	if notBefore.IsZero() {
		due = now
	}
	pending := st.Want > st.Done && !st.Due.IsZero()
	// A due time that has passed was used up by the turn that is running.
	stale := running && !st.Due.After(now)
	if pending && !stale && st.Due.Before(due) {
		due = st.Due
	}
	st.Want++
	st.Due = due
	if st.Attempts >= tired {
		st.Attempts = 0
	}
	return st, s.SaveSubject(ctx, tx, st)
}

// TakeSubjects makes the transaction the only one that changes these subjects, until
// it ends; on PostgreSQL their rows are made where there are none. Whoever reads a
// row in order to write it takes it first, and all that it will need at once: rows
// taken one by one in different orders are a deadlock.
func (s *Store) TakeSubjects(ctx context.Context, tx *sql.Tx, subjects ...handlers.Subject) error {
	if !s.Postgres() {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(subjects), func(a, b handlers.Subject) int { return strings.Compare(a.Key, b.Key) })
	for _, subject := range slices.CompactFunc(sorted, func(a, b handlers.Subject) bool { return a.Key == b.Key }) {
		// An update of nothing takes the row as well as an insertion does.
		if _, err := tx.ExecContext(ctx, `INSERT INTO subjects (key, kind, updated_at) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET kind = subjects.kind`, subject.Key, string(subject.Kind), s.Now()); err != nil {
			return fmt.Errorf("take subject %s: %w", subject.Key, err)
		}
	}
	return nil
}

// TakeSubject is Subject for a transaction that will write the row.
func (s *Store) TakeSubject(ctx context.Context, tx *sql.Tx, key string) (SubjectState, bool, error) {
	return s.subject(ctx, tx, key, s.forUpdate())
}

// SaveSubject writes the whole row.
func (s *Store) SaveSubject(ctx context.Context, tx *sql.Tx, st SubjectState) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO subjects (`+subjectColumns+`, updated_at) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)
ON CONFLICT (key) DO UPDATE SET want_gen = excluded.want_gen, urgent_gen = excluded.urgent_gen, done_gen = excluded.done_gen,
 due_at = excluded.due_at, settle_until = excluded.settle_until, recheck_at = excluded.recheck_at, attempts = excluded.attempts,
 updated_at = excluded.updated_at`,
		st.Subject.Key, string(st.Subject.Kind), st.Want, st.Urgent, st.Done, nullTime(st.Due), nullTime(st.Settle), nullTime(st.Recheck),
		st.Attempts, s.Now())
	if err != nil {
		return fmt.Errorf("save subject %s: %w", st.Subject.Key, err)
	}
	return nil
}

// Subject reads one row; ok is false when nothing ever happened to it.
func (s *Store) Subject(ctx context.Context, q Querier, key string) (st SubjectState, ok bool, err error) {
	return s.subject(ctx, q, key, "")
}

func (s *Store) subject(ctx context.Context, q Querier, key, lock string) (st SubjectState, ok bool, err error) {
	st, err = scanSubject(q.QueryRowContext(ctx, `SELECT `+subjectColumns+` FROM subjects WHERE key = $1`+lock, key))
	if errors.Is(err, sql.ErrNoRows) {
		return SubjectState{}, false, nil
	}
	if err != nil {
		return SubjectState{}, false, fmt.Errorf("read subject %s: %w", key, err)
	}
	return st, true, nil
}

// OpenSubjects lists subjects that wait for a turn or a re-check and were not
// given up, which giveUp failed attempts do, in the order of their keys, beginning
// after the key given, at most limit.
func (s *Store) OpenSubjects(ctx context.Context, q Querier, after string, giveUp, limit int) (states []SubjectState, err error) {
	rows, err := q.QueryContext(ctx, `SELECT `+subjectColumns+` FROM subjects
WHERE (want_gen > done_gen OR recheck_at IS NOT NULL) AND key > $1 AND attempts < $2 ORDER BY key LIMIT $3`, after, giveUp, limit)
	if err != nil {
		return nil, fmt.Errorf("list open subjects: %w", err)
	}
	return scanSubjects(rows)
}

func scanSubjects(rows *sql.Rows) (states []SubjectState, err error) {
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	for rows.Next() {
		st, err := scanSubject(rows)
		if err != nil {
			return nil, fmt.Errorf("read subjects: %w", err)
		}
		states = append(states, st)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read subjects: %w", err)
	}
	return states, nil
}

func scanSubject(row interface{ Scan(dest ...any) error }) (SubjectState, error) {
	var st SubjectState
	var kind string
	var due, settle, recheck sql.NullTime
	err := row.Scan(&st.Subject.Key, &kind, &st.Want, &st.Urgent, &st.Done, &due, &settle, &recheck, &st.Attempts)
	st.Subject.Kind = handlers.SubjectKind(kind)
	st.Due, st.Settle, st.Recheck = fromNull(due), fromNull(settle), fromNull(recheck)
	return st, err
}

func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t.UTC(), Valid: !t.IsZero()} }

func fromNull(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}
