package queue

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/riverqueue/river"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
)

// GivenUp is a subject whose turns came to no end: nobody retries soon, so what
// people see of it has to say so.
type GivenUp struct {
	Subject handlers.Subject
	// Generation is the subject's want_gen: with the key it names this one failure,
	// however often the call is repeated.
	Generation int64
	Attempts   int
	// Reason is ours, never the error's text.
	Reason string
	// Last: no further attempt is made before an event.
	Last bool
	// Job is the job that was the last to fail, for the log.
	Job int64
}

// The reasons.
const (
	reasonFailed    = "every attempt failed"
	reasonDidNotEnd = "its attempts did not end"
)

// givenUpAttempts is how often the hook is tried, over most of a day: an outage of
// the forge must not swallow the word.
const givenUpAttempts = 100

// givenUpArgs is a job of its own, so that a crash between giving up and saying so
// repeats the saying.
type givenUpArgs struct {
	Key        string               `json:"key"`
	Subject    handlers.SubjectKind `json:"subject"`
	Generation int64                `json:"generation"`
	Attempts   int                  `json:"attempts"`
	Reason     string               `json:"reason"`
	Job        int64                `json:"job"`
}

// Kind is River's name for the job.
func (givenUpArgs) Kind() string { return "given_up" }

// tellGivenUp inserts the job, in the transaction that gives the subject up.
func (q *Queue) tellGivenUp(ctx context.Context, tx *sql.Tx, st store.SubjectState, reason string, job int64) error {
	if q.givenUp == nil {
		return nil
	}
	args := givenUpArgs{Key: st.Subject.Key, Subject: st.Subject.Kind, Generation: st.Want, Attempts: st.Attempts, Reason: reason, Job: job}
	if _, err := q.client.InsertTx(ctx, tx, args, &river.InsertOpts{MaxAttempts: givenUpAttempts}); err != nil {
		return fmt.Errorf("insert the job that says %s was given up: %w", st.Subject, err)
	}
	return nil
}

// givenUpWorker calls the hook.
type givenUpWorker struct {
	river.WorkerDefaults[givenUpArgs]
	q *Queue
}

// Work calls the hook unless something happened to the subject since: then its own
// turn speaks.
func (w *givenUpWorker) Work(ctx context.Context, job *river.Job[givenUpArgs]) error {
	a := job.Args
	st, known, err := w.q.store.Subject(ctx, w.q.store.DB(), a.Key)
	if err != nil {
		return err
	}
	if w.q.givenUp == nil || !known || st.Want != a.Generation || st.Attempts < a.Attempts {
		return nil
	}
	err = w.q.givenUp(ctx, GivenUp{
		Subject: handlers.Subject{Kind: a.Subject, Key: a.Key}, Generation: a.Generation, Attempts: a.Attempts, Reason: a.Reason,
		Last: a.Attempts >= w.q.giveUp(), Job: a.Job,
	})
	if err != nil {
		return fmt.Errorf("say that %s was given up: %w", a.Key, err)
	}
	return nil
}
