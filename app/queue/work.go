package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
)

// worker works the jobs of subjects.
type worker struct {
	river.WorkerDefaults[subjectArgs]
	q *Queue
}

// Work is one job: begin, the runner, and the commit of what follows. It returns
// an error only when the database failed or the process is stopping; what the
// runner returns is settled in the same commit as the job.
func (w *worker) Work(ctx context.Context, job *river.Job[subjectArgs]) error {
	leased := w.q.member.begin(job.ID)
	defer w.q.member.finish(job.ID)
	err := w.work(ctx, leased, job)
	if errors.Is(err, errTaken) {
		w.q.settled.add(job.ID) // it is not ours to settle
		w.q.logger.Warn().Str("subject", job.Args.Key).Int64("job", job.ID).Msg("turn left to another replica, which took its job over")
		return nil
	}
	return err
}

func (w *worker) work(ctx, leased context.Context, job *river.Job[subjectArgs]) error {
	t, err := w.q.begin(ctx, job)
	if err != nil || t == nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(leased, func() { cancel(errTaken) })()
	out, err := w.q.call(running, t)
	if w.q.member.disowned(job.ID) {
		return errTaken
	}
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		// The process is stopping: River gives the job back without costing an
		// attempt when it sees the cancellation.
		return fmt.Errorf("turn of %s was interrupted: %w", t.state.Subject, ctx.Err())
	}
	if err != nil {
		return w.q.failed(ctx, t, err)
	}
	return w.q.succeeded(ctx, t, out)
}

// turn is a job being worked.
type turn struct {
	job     *river.Job[subjectArgs]
	state   store.SubjectState // when the turn began
	events  []store.PendingEvent
	attempt int
}

const (
	// maxSteps bounds the steps of one commit, for which deliveries wait.
	maxSteps = 32
	// stepGap is the least time between two commits of steps while deliveries
	// arrive: they answer to somebody, and steps do not.
	stepGap = 5 * time.Millisecond
)

// letDeliveriesPass keeps commits of steps from taking turns with those of
// deliveries: where both are waiting, steps gather for stepGap.
func (q *Queue) letDeliveriesPass() {
	_, last := q.turns.state()
	wait := stepGap - time.Since(last)
	if arriving, ended := q.intake.state(); wait > 0 && (arriving || time.Since(ended) < stepGap) {
		time.Sleep(wait)
	}
}

// step is what a turn does in the database when it begins or ends. Steps of
// turns that begin or end together share a transaction.
type step struct {
	ctx context.Context
	run func(ctx context.Context, tx *sql.Tx) (next []wanted, err error)
	// next is what run returned, read after the commit.
	next []wanted
}

// commitSteps runs the steps in one transaction.
func (q *Queue) commitSteps(ctx context.Context, steps []*step) error {
	err := q.store.Tx(ctx, func(_ context.Context, tx *sql.Tx) (err error) {
		for _, s := range steps {
			if s.next, err = s.run(s.ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range steps {
		q.announce(s.next)
	}
	return nil
}

// inStep runs f in a transaction shared with other turns. It waits for the
// commit whatever happens to ctx, whose values f needs: neither a turn's timeout
// nor a stop may undo the accounting.
func (q *Queue) inStep(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) ([]wanted, error)) error {
	ctx = context.WithoutCancel(ctx)
	if q.store.Postgres() {
		// It has as many writers as there are connections, and shares their fsync
		// by itself.
		ctx, cancel := context.WithTimeout(ctx, commitTimeout)
		defer cancel()
		return q.commitSteps(ctx, []*step{{ctx: ctx, run: f}})
	}
	return q.turns.do(ctx, &step{ctx: ctx, run: f})
}

// begin reads what the turn is about. It returns nil when there is nothing to do
// now; the job is then settled already.
func (q *Queue) begin(ctx context.Context, job *river.Job[subjectArgs]) (t *turn, err error) {
	err = q.inStep(ctx, func(ctx context.Context, tx *sql.Tx) (next []wanted, err error) {
		t, next, err = q.beginIn(ctx, tx, job)
		return next, err
	})
	if err != nil {
		return nil, fmt.Errorf("begin turn of %s: %w", job.Args.Key, err)
	}
	if t == nil {
		q.settled.add(job.ID)
	}
	return t, nil
}

func (q *Queue) beginIn(ctx context.Context, tx *sql.Tx, job *river.Job[subjectArgs]) (*turn, []wanted, error) {
	st, known, err := q.store.TakeSubject(ctx, tx, job.Args.Key)
	if err != nil {
		return nil, nil, err
	}
	now := q.store.Now()
	at, needed := st.Next(now)
	if !known || !needed {
		return nil, nil, q.complete(ctx, tx, job)
	}
	if at.Sub(now) > time.Millisecond {
		next := []wanted{{job.Args.Key, at}}
		return nil, next, q.replace(ctx, tx, job, next)
	}
	t := &turn{job: job, state: st, attempt: st.Attempts + job.Attempt}
	if job.Attempt > 1 && t.attempt > q.maxAttempts {
		next, err := q.didNotEnd(ctx, tx, job, st)
		return nil, next, err
	}
	t.events, err = q.store.PendingEvents(ctx, tx, st.Subject.Key, nil, MaxTurnEvents)
	return t, nil, err
}

// didNotEnd counts turns of the job that began and were never settled, because
// they killed the process or could not commit, like any that failed: once there
// were as many as quick attempts, the next comes late, and at last none does.
// Before that they follow each other at once, because most merely died with a
// process that was killed for another reason.
func (q *Queue) didNotEnd(ctx context.Context, tx *sql.Tx, job *river.Job[subjectArgs], st store.SubjectState) ([]wanted, error) {
	now := q.store.Now()
	st.Attempts += job.Attempt - 1
	if !st.Recheck.After(now) {
		st.Recheck = time.Time{} // it was these turns
	}
	log := q.logger.Error().Str("subject", st.Subject.Key).Int("attempts", st.Attempts)
	var next []wanted
	if st.Attempts < q.giveUp() {
		again(&st, now, now.Add(q.latePause))
		next = q.nextJobs([]store.SubjectState{st})
		log.Dur("retry_in", q.latePause).Msg("subject waits: its turns did not end")
	} else {
		log.Msg("subject given up: its turns did not end")
	}
	if err := q.store.SaveSubject(ctx, tx, st); err != nil {
		return nil, err
	}
	return next, q.replace(ctx, tx, job, next)
}

// call runs the runner. A panic is an error: one pull request must not take the
// process, and with it everyone else's, down.
func (q *Queue) call(ctx context.Context, t *turn) (out Outcome, err error) {
	run := q.runners[t.state.Subject.Kind]
	if run == nil {
		return Outcome{}, fmt.Errorf("nothing works subjects of kind %q", t.state.Subject.Kind)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the runner panicked: %v", p)
			q.logger.Error().Str("subject", t.state.Subject.Key).Interface("panic", fmt.Sprint(p)).
				Bytes("stack", debug.Stack()).Msg("turn panicked")
		}
	}()
	seen := make(map[int64]bool, len(t.events))
	events := make([]handlers.Event, len(t.events))
	for i, e := range t.events {
		seen[e.Seq] = true
		events[i] = e.Event
	}
	key := t.state.Subject.Key
	return run(ctx, Turn{
		Subject:     t.state.Subject,
		Generation:  t.state.Want,
		Events:      events,
		Attempt:     t.attempt,
		MaxAttempts: q.maxAttempts,
		Newer: func(ctx context.Context) ([]handlers.Event, error) {
			newer, err := q.store.PendingEvents(ctx, q.store.DB(), key, seen, MaxTurnEvents)
			if err != nil {
				return nil, err
			}
			found := make([]handlers.Event, len(newer))
			for i, e := range newer {
				found[i] = e.Event
			}
			return found, nil
		},
	})
}

// complete ends the job in the transaction.
func (q *Queue) complete(ctx context.Context, tx *sql.Tx, job *river.Job[subjectArgs]) error {
	if err := q.stillOurs(ctx, tx, job); err != nil {
		return err
	}
	if _, err := river.JobCompleteTx[*driver](ctx, tx, job); err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	return nil
}

// stillOurs refuses to settle a job that another replica took over, which it then
// runs as a later attempt.
func (q *Queue) stillOurs(ctx context.Context, tx *sql.Tx, job *river.Job[subjectArgs]) error {
	if !q.store.Postgres() {
		return nil
	}
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM river_job WHERE id = $1 AND state = 'running' AND attempt = $2 FOR UPDATE`, job.ID, job.Attempt).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("look at job %d: %w", job.ID, err)
	}
	return nil
}

// replace ends the job and inserts the next. A new job, never the same one again:
// River reports a job's end some time after Work has returned, and would end the
// next run of the same job with it.
func (q *Queue) replace(ctx context.Context, tx *sql.Tx, job *river.Job[subjectArgs], next []wanted) error {
	if err := q.complete(ctx, tx, job); err != nil {
		return err
	}
	_, err := q.ensure(ctx, tx, next)
	return err
}
