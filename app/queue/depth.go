package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Depth is how much waits in the database.
type Depth struct {
	// Jobs counts subjects' jobs by River's state; those that ended are not
	// counted.
	Jobs map[string]int64
	// Due is when the first job of a state may begin ("available") or began
	// ("running"). A state without jobs has none.
	Due map[string]time.Time
	// Deliveries were acknowledged and are not worked yet; First is when the
	// oldest of them came, zero when there is none.
	Deliveries int64
	First      time.Time
}

// Depth asks the database how much waits.
func (q *Queue) Depth(ctx context.Context) (d Depth, err error) {
	d = Depth{Jobs: make(map[string]int64), Due: make(map[string]time.Time)}
	rows, err := q.store.DB().QueryContext(ctx, `SELECT state, count(*), min(CASE WHEN state = 'running' THEN attempted_at ELSE scheduled_at END)
FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND kind = $1 GROUP BY state`, subjectArgs{}.Kind())
	if err != nil {
		return d, fmt.Errorf("count the jobs: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var state string
		var n int64
		var first any
		if err := rows.Scan(&state, &n, &first); err != nil {
			return d, fmt.Errorf("count the jobs: %w", err)
		}
		d.Jobs[state] = n
		if t, ok := timeOf(first); ok {
			d.Due[state] = t
		}
	}
	if err := rows.Err(); err != nil {
		return d, fmt.Errorf("count the jobs: %w", err)
	}
	if err := rows.Close(); err != nil { // the only connection is needed for the next
		return d, fmt.Errorf("count the jobs: %w", err)
	}
	d.Deliveries, d.First, err = q.store.DeliveriesWaiting(ctx)
	return d, err
}

// timeOf reads an aggregate over times, which SQLite gives as text.
func timeOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), true
	case []byte:
		return timeOf(string(v))
	case string:
		t, err := time.Parse("2006-01-02 15:04:05.999999999", v)
		return t, err == nil
	}
	return time.Time{}, false
}
