package queue

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// queueName is River's queue for all jobs.
const queueName = river.QueueDefault

// nearby is how far ahead River's scheduler looks, and how often it does
// (maintenance.JobSchedulerIntervalDefault). A job due sooner must be "available"
// with its time in the future, as River itself does for short snoozes; as
// "scheduled" it might wait for a whole interval.
const nearby = 5 * time.Second

// subjectArgs is the one kind of job that works subjects. What kind of subject
// it is stands in the key's row, so a job never holds more than its key.
type subjectArgs struct {
	Key string `json:"key"`
}

// Kind is River's name for the job.
func (subjectArgs) Kind() string { return "subject" }

// openStates are those in which a subject's job is still to be worked. Completed
// is not among them: it would hold back the next job until River forgets the
// last.
func openStates() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// wanted is a subject's job and when it should begin.
type wanted struct {
	key string
	at  time.Time
}

// ensure makes each subject have an open job that begins no later than wanted:
// it inserts one, or moves an open one forward. A running job is left alone: the
// transaction that completes it reads what happened meanwhile. Each key may
// appear once.
func (q *Queue) ensure(ctx context.Context, tx *sql.Tx, jobs []wanted) (running map[string]bool, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	now := q.store.Now()
	at := make(map[string]time.Time, len(jobs))
	params := make([]river.InsertManyParams, len(jobs))
	for i, j := range jobs {
		at[j.key] = j.at
		opts := &river.InsertOpts{MaxAttempts: riverAttempts, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: q.openStates}}
		if j.at.After(now) {
			opts.ScheduledAt = j.at
		}
		params[i] = river.InsertManyParams{Args: subjectArgs{Key: j.key}, InsertOpts: opts}
	}
	results, err := q.client.InsertManyTx(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("insert jobs: %w", err)
	}
	for _, res := range results {
		var args subjectArgs
		if err := json.Unmarshal(res.Job.EncodedArgs, &args); err != nil {
			return nil, fmt.Errorf("read the arguments of job %d: %w", res.Job.ID, err)
		}
		begin := later(at[args.Key], now)
		switch {
		case res.UniqueSkippedAsDuplicate && res.Job.State == rivertype.JobStateRunning:
			if running == nil {
				running = make(map[string]bool)
			}
			running[args.Key] = true
		case res.UniqueSkippedAsDuplicate && res.Job.ScheduledAt.After(begin),
			!res.UniqueSkippedAsDuplicate && res.Job.State == rivertype.JobStateScheduled && begin.Sub(now) <= nearby:
			if err := q.moveJob(ctx, tx, res.Job.ID, begin, now); err != nil {
				return nil, err
			}
		}
	}
	return running, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// moveJob sets when an open job that is not running begins.
func (q *Queue) moveJob(ctx context.Context, tx *sql.Tx, id int64, at, now time.Time) error {
	state := rivertype.JobStateScheduled
	if at.Sub(now) <= nearby {
		state = rivertype.JobStateAvailable
	}
	_, err := tx.ExecContext(ctx, `UPDATE river_job SET state = $1, scheduled_at = $2
WHERE id = $3 AND state IN ('available', 'scheduled', 'retryable', 'pending')`, string(state), q.riverTime(at), id)
	if err != nil {
		return fmt.Errorf("move job %d: %w", id, err)
	}
	return nil
}

// riverTime is a time as River writes it: in SQLite, times are compared as text.
func (q *Queue) riverTime(t time.Time) any {
	if q.store.Postgres() {
		return t.UTC()
	}
	return t.UTC().Round(time.Millisecond).Format("2006-01-02 15:04:05.000")
}

// announce wakes the workers for jobs that were committed.
func (q *Queue) announce(jobs []wanted) {
	now := q.store.Now()
	for _, j := range jobs {
		switch d := j.at.Sub(now); {
		case d <= 0:
			q.bell.ring()
		case d <= nearby:
			q.bell.ringIn(d + time.Millisecond) // River's times have milliseconds
		}
	}
}

// reclaim gives back what a process that is gone left running, and its
// leadership. The store's lock says that there is no other process.
func (q *Queue) reclaim(ctx context.Context, tx *sql.Tx) (int64, error) {
	if _, err := tx.ExecContext(ctx, `DELETE FROM river_leader`); err != nil {
		return 0, fmt.Errorf("clear the leader of the jobs: %w", err)
	}
	// Their time stays what it was: they had begun, so they come first again.
	res, err := tx.ExecContext(ctx, `UPDATE river_job SET state = 'available' WHERE state = 'running'`)
	if err != nil {
		return 0, fmt.Errorf("reclaim running jobs: %w", err)
	}
	return res.RowsAffected()
}
