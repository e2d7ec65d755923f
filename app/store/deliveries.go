package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign/countersign/handlers"
)

// NewDelivery is a delivery made ready to be stored. Compressing and encoding
// happen before the transaction, so that many can do it at once while one
// commits.
type NewDelivery struct {
	event   handlers.Event
	subject handlers.Subject
	hint    []byte
	packed  []byte
}

// Subject is whose job the delivery wakes.
func (d NewDelivery) Subject() handlers.Subject { return d.subject }

// GUID is the delivery's id.
func (d NewDelivery) GUID() string { return d.event.GUID }

// Prepare copies everything out of d, whose payload may be used again afterwards.
func (s *Store) Prepare(d handlers.Delivery) (NewDelivery, error) {
	if d.Event.GUID == "" || d.Subject.Key == "" || d.Subject.Kind == "" {
		return NewDelivery{}, errors.New("prepare delivery: its id and its subject must be set")
	}
	hint, err := json.Marshal(d.Event)
	if err != nil {
		return NewDelivery{}, fmt.Errorf("encode delivery %s: %w", d.Event.GUID, err)
	}
	return NewDelivery{event: d.Event, subject: d.Subject, hint: hint, packed: s.codec.pack(d.Payload)}, nil
}

// SaveDeliveries stores those whose GUID is new, in the order given, and returns
// their indices. Of two with the same GUID the first counts.
func (s *Store) SaveDeliveries(ctx context.Context, tx *sql.Tx, batch []NewDelivery) (fresh []int, err error) {
	first := make(map[string]int, len(batch))
	var rows []int
	for i, d := range batch {
		if _, repeated := first[d.event.GUID]; !repeated {
			first[d.event.GUID] = i
			rows = append(rows, i)
		}
	}
	bySeq, err := insertDeliveries(ctx, tx, batch, rows, first)
	if err != nil {
		return nil, fmt.Errorf("store deliveries: %w", err)
	}
	if len(bySeq) == 0 {
		return nil, nil
	}
	args := make([]any, 0, 2*len(bySeq))
	for _, in := range bySeq {
		args = append(args, in.seq, batch[in.index].packed)
		fresh = append(fresh, in.index)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO delivery_payloads (seq, body) VALUES `+tuples(len(bySeq), 2), args...); err != nil {
		return nil, fmt.Errorf("store payloads: %w", err)
	}
	return fresh, nil
}

type inserted struct {
	seq   int64
	index int
}

func insertDeliveries(ctx context.Context, tx *sql.Tx, batch []NewDelivery, rows []int, byGUID map[string]int) (done []inserted, err error) {
	const columns = 9
	args := make([]any, 0, columns*len(rows))
	for _, i := range rows {
		d := batch[i]
		args = append(args, d.event.GUID, d.event.Event, storable(d.event.Action), string(d.subject.Kind), d.subject.Key, d.event.Repo.ID,
			d.event.ReceivedAt.UTC(), d.event.BodySHA256, string(d.hint))
	}
	got, err := tx.QueryContext(ctx, `INSERT INTO deliveries
 (guid, event, action, subject_kind, subject_key, repo_id, received_at, body_sha256, hint) VALUES `+tuples(len(rows), columns)+`
 ON CONFLICT (guid) DO NOTHING RETURNING seq, guid`, args...)
	if err != nil {
		return nil, err
	}
	defer got.Close() //nolint:errcheck // got.Err below tells
	for got.Next() {
		var in inserted
		var guid string
		if err := got.Scan(&in.seq, &guid); err != nil {
			return nil, err
		}
		in.index = byGUID[guid]
		done = append(done, in)
	}
	return done, got.Err()
}

// tuples writes n rows of placeholders: ($1,$2),($3,$4).
func tuples(n, columns int) string {
	var b strings.Builder
	b.Grow(n * columns * 5)
	for i := range n * columns {
		switch {
		case i == 0:
			b.WriteByte('(')
		case i%columns == 0:
			b.WriteString("),(")
		default:
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteByte(')')
	return b.String()
}

// PendingEvent is an event of a subject that no turn has recorded yet.
type PendingEvent struct {
	Seq   int64
	Event handlers.Event
}

// PendingEvents lists the unrecorded events of a subject, oldest first, at most
// limit, leaving out those whose Seq is in seen.
func (s *Store) PendingEvents(ctx context.Context, q Querier, subjectKey string, seen map[int64]bool, limit int) (events []PendingEvent, err error) {
	rows, err := q.QueryContext(ctx, `SELECT seq, hint FROM deliveries
WHERE subject_key = $1 AND state = 'received' ORDER BY seq LIMIT $2`, subjectKey, limit+len(seen))
	if err != nil {
		return nil, fmt.Errorf("read events of %s: %w", subjectKey, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err below tells
	for rows.Next() {
		var seq int64
		var hint []byte
		if err := rows.Scan(&seq, &hint); err != nil {
			return nil, fmt.Errorf("read events of %s: %w", subjectKey, err)
		}
		if seen[seq] || len(events) == limit {
			continue
		}
		e := PendingEvent{Seq: seq}
		if err := json.Unmarshal(hint, &e.Event); err != nil {
			return nil, fmt.Errorf("decode delivery %d of %s: %w", seq, subjectKey, err)
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read events of %s: %w", subjectKey, err)
	}
	return events, nil
}

// MarkRecorded says that the events with these GUIDs stand in the trail, or need
// not. Those already marked and those unknown are left alone.
func (s *Store) MarkRecorded(ctx context.Context, tx *sql.Tx, guids []string) error {
	const chunk = 500
	for len(guids) > 0 {
		n := min(len(guids), chunk)
		args := make([]any, n)
		for i, g := range guids[:n] {
			args[i] = g
		}
		if _, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = 'recorded'
WHERE state = 'received' AND guid IN `+tuples(1, n), args...); err != nil {
			return fmt.Errorf("mark deliveries as recorded: %w", err)
		}
		guids = guids[n:]
	}
	return nil
}

// Payload returns the raw body of a delivery; ok is false when the delivery is
// unknown or its payload was dropped by age.
func (s *Store) Payload(ctx context.Context, q Querier, guid string) (raw []byte, ok bool, err error) {
	var packed []byte
	err = q.QueryRowContext(ctx, `SELECT p.body FROM deliveries d JOIN delivery_payloads p ON p.seq = d.seq WHERE d.guid = $1`, guid).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read payload of delivery %s: %w", guid, err)
	}
	if raw, err = s.codec.unpack(packed); err != nil {
		return nil, false, fmt.Errorf("read payload of delivery %s: %w", guid, err)
	}
	return raw, true, nil
}
