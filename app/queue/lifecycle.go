package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
)

// Options configure a Queue. Zero values take the defaults named.
type Options struct {
	// Store is open for writing. The queue does not close it.
	Store *store.Store
	// Runners has one for each kind of subject that deliveries are routed to.
	Runners map[handlers.SubjectKind]Runner
	// Workers is how many turns run at once: DefaultWorkers. Most of a turn waits
	// for the forge or a model.
	Workers int
	// Logger receives a line per failed turn.
	Logger zerolog.Logger
	// JobTimeout bounds one turn: DefaultJobTimeout.
	JobTimeout time.Duration
	// StopGrace is how long Stop lets running turns finish before it ends their
	// contexts: DefaultStopGrace.
	StopGrace time.Duration
	// ClientID names this process among those that share a database:
	// DefaultClientID. Where it stays the same over restarts, the work of a killed
	// process is taken over by its next life at once, else by others within half a
	// minute.
	ClientID string
	// MaxAttempts is how often a turn is tried in quick succession, for about an
	// hour and a quarter by default: DefaultMaxAttempts. After these it is tried
	// once an hour for a day, then given up. An event begins anew.
	MaxAttempts int
	// Backoff is the pause after each quick attempt; the last one repeats.
	// Default: 1s, 5s, 30s, 2m, 10m.
	Backoff []time.Duration
	// LatePause is the pause before each attempt after the quick ones: an hour.
	LatePause time.Duration
	// GivenUp is called when a subject's quick attempts are over, when its last one
	// failed, and when attempts did not end. It is called again until it returns nil.
	GivenUp func(ctx context.Context, g GivenUp) error
	// Retention says how long rows are kept.
	Retention store.Retention
	// Shared is told how many processes share the database, this one included,
	// whenever that may have changed; nil: nobody is.
	Shared func(n int)
}

// Defaults of Options.
const (
	DefaultWorkers     = 16
	DefaultJobTimeout  = 30 * time.Minute
	DefaultStopGrace   = 5 * time.Second
	DefaultClientID    = "countersign"
	DefaultMaxAttempts = 12
)

// After the quick attempts, a subject is tried lateAttempts times more, latePause
// after each failure: an outage of most of a day, of the forge or of a model's
// provider, is made good without anybody's doing.
const (
	lateAttempts = 24
	latePause    = time.Hour
)

// riverAttempts keeps River from discarding a job, which would leave a subject
// that waits without one. How often a turn is tried is ours to count, in the
// subject's row. It is the most that River's column holds on any database.
const riverAttempts = math.MaxInt16

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers
	}
	if o.JobTimeout <= 0 {
		o.JobTimeout = DefaultJobTimeout
	}
	if o.StopGrace <= 0 {
		o.StopGrace = DefaultStopGrace
	}
	if o.ClientID == "" {
		o.ClientID = DefaultClientID
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = DefaultMaxAttempts
	}
	if len(o.Backoff) == 0 {
		o.Backoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}
	}
	if o.LatePause <= 0 {
		o.LatePause = latePause
	}
	return o
}

func (o Options) validate() error {
	if o.Store == nil {
		return errors.New("queue: no store is set")
	}
	for _, kind := range []handlers.SubjectKind{handlers.SubjectPull, handlers.SubjectHead, handlers.SubjectRepo, handlers.SubjectInstallation} {
		if o.Runners[kind] == nil {
			return fmt.Errorf("queue: no runner is set for subjects of kind %q; NotHandled is one that only records", kind)
		}
	}
	return nil
}

// Queue accepts deliveries and works their subjects. It implements
// handlers.Intake.
type Queue struct {
	store       *store.Store
	runners     map[handlers.SubjectKind]Runner
	logger      zerolog.Logger
	client      *river.Client[*sql.Tx]
	bell        *bell
	settled     *settled
	intake      *batcher[*received]
	turns       *batcher[*step]
	openStates  []rivertype.JobState
	maxAttempts int
	pauses      []time.Duration
	latePause   time.Duration
	member      *membership
	givenUp     func(ctx context.Context, g GivenUp) error
	shared      func(n int)
}

// New returns a queue that accepts deliveries at once, and works them after
// Start.
func New(opts Options) (*Queue, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	q := &Queue{
		store: opts.Store, runners: opts.Runners, logger: opts.Logger, bell: newBell(), settled: newSettled(), openStates: openStates(),
		maxAttempts: opts.MaxAttempts, pauses: opts.Backoff, latePause: opts.LatePause, member: newMembership(opts.ClientID),
		givenUp: opts.GivenUp, shared: opts.Shared,
	}
	q.intake = newBatcher(maxBatch, q.commitDeliveries)
	q.turns = newBatcher(maxSteps, q.commitSteps)
	q.turns.before = q.letDeliveriesPass
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{q: q}); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if err := river.AddWorkerSafely(workers, &givenUpWorker{q: q}); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if err := river.AddWorkerSafely(workers, &sweeper{store: opts.Store, retention: opts.Retention, logger: opts.Logger}); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	client, err := river.NewClient(newDriver(opts.Store, q.bell, q.settled, q.member.disowned), riverConfig(opts, workers, q))
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	q.client = client
	return q, nil
}

func riverConfig(opts Options, workers *river.Workers, q *Queue) *river.Config {
	return &river.Config{
		ID:      opts.ClientID,
		Workers: workers,
		Queues:  map[string]river.QueueConfig{queueName: {MaxWorkers: opts.Workers}},
		// The bell starts jobs at once. The poll is for what River's scheduler
		// makes available ahead of its time.
		FetchCooldown:     5 * time.Millisecond,
		FetchPollInterval: 500 * time.Millisecond,
		JobTimeout:        opts.JobTimeout,
		// Longer than the timeout: a job still running then belongs to a process
		// that died, or to a runner that ignores its context.
		RescueStuckJobsAfter:        opts.JobTimeout + 30*time.Minute,
		CompletedJobRetentionPeriod: time.Hour,
		MaxAttempts:                 riverAttempts,
		RetryPolicy:                 retryPolicy{q},
		SoftStopTimeout:             opts.StopGrace,
		Logger:                      slog.New(zerolog.NewSlogHandler(opts.Logger.Level(max(opts.Logger.GetLevel(), zerolog.WarnLevel)))),
		PeriodicJobs:                []*river.PeriodicJob{sweepJob()},
	}
}

// Start takes over what a process that is gone left running, makes sure that
// every subject that waits has a job, and begins to work. The context bounds the
// start only; Stop ends the work.
func (q *Queue) Start(ctx context.Context) error {
	reclaimed, err := q.takeOver(ctx)
	if err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	if reclaimed > 0 {
		q.logger.Info().Int64("jobs", reclaimed).Msg("jobs of a process that is gone were taken over")
	}
	if err := q.ensureOpen(ctx); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	return nil
}

// takeOver reclaims what a former life of this process left running.
func (q *Queue) takeOver(ctx context.Context) (reclaimed int64, err error) {
	if q.store.Postgres() {
		return q.join(ctx)
	}
	err = q.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		reclaimed, err = q.reclaim(ctx, tx)
		return err
	})
	return reclaimed, err
}

// ensureOpen gives a job to each subject that waits and has none. There should
// be no such subject: each commit that lets one wait inserts its job. Looking
// once costs little and repairs what a bug or a person with an SQL prompt broke.
func (q *Queue) ensureOpen(ctx context.Context) error {
	const page = 500
	for after, more := "", true; more; {
		err := q.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			states, err := q.store.OpenSubjects(ctx, tx, after, q.giveUp(), page)
			if err != nil {
				return err
			}
			if more = len(states) == page; len(states) > 0 {
				after = states[len(states)-1].Subject.Key
			}
			_, err = q.ensure(ctx, tx, q.nextJobs(states))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Stop refuses new deliveries, commits those that wait, lets running turns
// finish for the grace time, gives the others back without costing an attempt,
// and returns when all is quiet or the context ends. Calling it again is
// harmless.
func (q *Queue) Stop(ctx context.Context) error {
	if err := q.intake.close(ctx); err != nil {
		return fmt.Errorf("stop the queue: %w", err)
	}
	err := q.client.Stop(ctx)
	if err != nil {
		err = fmt.Errorf("stop the queue: %w", err)
	}
	return errors.Join(err, q.leave(ctx))
}

// giveUp is the number of attempts after which only an event helps.
func (q *Queue) giveUp() int { return q.maxAttempts + lateAttempts }

// pause is the wait after a failed attempt, counted from 1.
func (q *Queue) pause(attempt int) time.Duration {
	if attempt >= q.maxAttempts {
		return q.latePause
	}
	return q.quickPause(attempt)
}

func (q *Queue) quickPause(attempt int) time.Duration {
	return q.pauses[min(max(attempt, 1), len(q.pauses))-1]
}

// retryPolicy paces what River retries by itself: turns whose own commit failed.
// When there are too many of these, the next turn's begin makes them late.
type retryPolicy struct{ q *Queue }

// NextRetry is River's question when to try again.
func (p retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().UTC().Add(p.q.quickPause(job.Attempt))
}

// NotHandled is a runner for subjects that nothing acts on yet: it says so in the
// log, once per event, and the events count as recorded.
func NotHandled(logger zerolog.Logger) Runner {
	return func(_ context.Context, t Turn) (Outcome, error) {
		for _, e := range t.Events {
			logger.Info().Str("delivery", e.GUID).Str("event", e.Event).Str("action", e.Action).
				Str("subject", t.Subject.Key).Msg("event recorded, not handled yet")
		}
		return Outcome{}, nil
	}
}
