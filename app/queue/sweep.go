package queue

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
)

const (
	sweepInterval = time.Hour
	// sweepRows is small, because every other commit waits for a sweep's.
	sweepRows = 200
	// sweepRounds bounds one job; what is left over waits for the next.
	sweepRounds = 500
)

// sweepArgs is the periodic job that removes old rows.
type sweepArgs struct{}

// Kind is River's name for the job.
func (sweepArgs) Kind() string { return "sweep" }

func sweepJob() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(sweepInterval),
		func() (river.JobArgs, *river.InsertOpts) {
			return sweepArgs{}, &river.InsertOpts{Priority: 4, MaxAttempts: 1}
		},
		&river.PeriodicJobOpts{ID: "sweep", RunOnStart: true})
}

type sweeper struct {
	river.WorkerDefaults[sweepArgs]
	store     *store.Store
	retention store.Retention
	logger    zerolog.Logger
}

// Work removes old rows in small steps.
func (s *sweeper) Work(ctx context.Context, _ *river.Job[sweepArgs]) error {
	total, err := s.store.Sweep(ctx, s.retention, sweepRows, sweepRounds)
	if err != nil {
		return err
	}
	if total > 0 {
		s.logger.Info().Int64("rows", total).Msg("old rows removed")
	}
	return nil
}
