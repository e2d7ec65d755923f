package queue

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
)

// maxBatch bounds the deliveries of one commit.
const maxBatch = 128

// received is a delivery on its way into the database. fresh is read only after
// its commit.
type received struct {
	delivery store.NewDelivery
	fresh    bool
}

// Accept stores a delivery and its job; see handlers.Intake.
func (q *Queue) Accept(ctx context.Context, d handlers.Delivery) (fresh bool, err error) {
	prepared, err := q.store.Prepare(d)
	if err != nil {
		return false, err
	}
	r := &received{delivery: prepared}
	if err := q.intake.do(ctx, r); err != nil {
		return false, fmt.Errorf("accept delivery %s: %w", d.Event.GUID, err)
	}
	return r.fresh, nil
}

// commitDeliveries is the transaction behind an acknowledgement: deliveries, the
// generations of their subjects, and a job for each subject.
func (q *Queue) commitDeliveries(ctx context.Context, batch []*received) error {
	rows := make([]store.NewDelivery, len(batch))
	for i, r := range batch {
		rows[i] = r.delivery
	}
	var fresh []int
	var jobs []wanted
	err := q.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		if fresh, err = q.store.SaveDeliveries(ctx, tx, rows); err != nil {
			return err
		}
		jobs, err = q.raise(ctx, tx, rows, fresh)
		return err
	})
	if err != nil {
		return err
	}
	for _, i := range fresh {
		batch[i].fresh = true
	}
	q.announce(jobs)
	return nil
}

func (q *Queue) raise(ctx context.Context, tx *sql.Tx, rows []store.NewDelivery, fresh []int) ([]wanted, error) {
	counts := make(map[handlers.Subject]int, len(fresh))
	for _, i := range fresh {
		counts[rows[i].Subject()]++
	}
	states, err := q.store.RaiseSubjects(ctx, tx, counts, q.maxAttempts)
	if err != nil {
		return nil, err
	}
	jobs := q.nextJobs(states)
	_, err = q.ensure(ctx, tx, jobs)
	return jobs, err
}

// nextJobs says which of the subjects need a job, and when.
func (q *Queue) nextJobs(states []store.SubjectState) []wanted {
	now := q.store.Now()
	jobs := make([]wanted, 0, len(states))
	for _, st := range states {
		if at, ok := st.Next(now); ok {
			jobs = append(jobs, wanted{st.Subject.Key, at})
		}
	}
	return jobs
}
