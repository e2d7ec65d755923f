package app

import (
	"context"
	"errors"
	"time"

	"github.com/countersign/countersign/app/queue"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/app/telemetry"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/review/trail"
)

// The wrappers below stand between the parts and count what passes. They change
// nothing, and embed the port they wrap so that it may grow.

// watchedIntake counts deliveries that the database did not take.
type watchedIntake struct {
	handlers.Intake
	metrics *telemetry.Metrics
}

// Accept implements handlers.Intake.
func (w watchedIntake) Accept(ctx context.Context, d handlers.Delivery) (bool, error) {
	fresh, err := w.Intake.Accept(ctx, d)
	if store.IsFault(err) {
		w.metrics.DatabaseFailed("intake")
	}
	return fresh, err
}

// watchedRunner counts turns, and is the root of their spans.
func watchedRunner(kind handlers.SubjectKind, run queue.Runner, p probe) queue.Runner {
	return func(ctx context.Context, t queue.Turn) (out queue.Outcome, err error) {
		begun, ended, outcome := time.Now(), false, "panic"
		ctx, end := p.tracing.Start(ctx, "turn "+string(kind), errorKind, func() []telemetry.Attr {
			return []telemetry.Attr{{Key: "countersign.outcome", Text: outcome}, {Key: "countersign.attempt", Number: int64(t.Attempt)}, {Key: "countersign.events", Number: int64(len(t.Events))}}
		})
		defer func() {
			outcome = turnOutcome(ctx, out, err, ended)
			p.metrics.Turn(string(kind), outcome, time.Since(begun))
			if store.IsFault(err) {
				p.metrics.DatabaseFailed("turn")
			}
			end(err)
		}()
		out, err = run(ctx, t)
		ended = true
		return out, err
	}
}

// turnOutcome is the turn's end in a word of the metrics' set.
func turnOutcome(ctx context.Context, out queue.Outcome, err error, ended bool) string {
	var fe *forge.Error
	switch {
	case !ended:
		return "panic"
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return "stopped"
	case forge.Held(err):
		return "limited"
	case errors.As(err, &fe):
		return "forge_error"
	case store.IsFault(err):
		return "database_error"
	case err != nil:
		return "error"
	case out.Postpone > 0:
		return "postponed"
	}
	return "done"
}

// watchedPublisher counts checks.
type watchedPublisher struct {
	session.Publisher
	metrics *telemetry.Metrics
}

// Publish implements session.Publisher.
func (w watchedPublisher) Publish(ctx context.Context, c forge.CheckWriter, repo forge.Repo, name string, v publish.View, opt publish.PublishOptions) (publish.Result, error) {
	res, err := w.Publisher.Publish(ctx, c, repo, name, v, opt)
	w.count(res, err)
	return res, err
}

// Close implements session.Publisher.
func (w watchedPublisher) Close(ctx context.Context, c forge.CheckWriter, orphan publish.Publication, v publish.View) (publish.Result, error) {
	res, err := w.Publisher.Close(ctx, c, orphan, v)
	w.count(res, err)
	return res, err
}

func (w watchedPublisher) count(res publish.Result, err error) {
	switch {
	case err != nil:
		w.metrics.Published("failed")
	case res.Created:
		w.metrics.Published("created")
	case res.Patched:
		w.metrics.Published("patched")
	default:
		w.metrics.Published("unchanged")
	}
}

// watchedStore counts what the trail could not take.
type watchedStore struct {
	*store.Store
	metrics *telemetry.Metrics
}

type sealer = func(lastSeq int64, lastHash string) ([]trail.Record, error)

// AppendTrail implements trail.Store.
func (w watchedStore) AppendTrail(ctx context.Context, chain trail.Chain, seal sealer) ([]trail.Record, error) {
	records, err := w.Store.AppendTrail(ctx, chain, seal)
	w.count(err)
	return records, err
}

// RecordDeliveries implements session.Store.
func (w watchedStore) RecordDeliveries(ctx context.Context, guids []string, chain trail.Chain, seal sealer) error {
	err := w.Store.RecordDeliveries(ctx, guids, chain, seal)
	w.count(err)
	return err
}

func (w watchedStore) count(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	w.metrics.TrailFailed()
	if store.IsFault(err) {
		w.metrics.DatabaseFailed("trail")
	}
}

// depthOf asks the queue on behalf of a scrape.
func depthOf(q *queue.Queue, now func() time.Time) func(context.Context) (telemetry.Depth, error) {
	return func(ctx context.Context) (telemetry.Depth, error) {
		d, err := q.Depth(ctx)
		if err != nil {
			return telemetry.Depth{}, err
		}
		out := telemetry.Depth{Jobs: d.Jobs, Oldest: make(map[string]time.Duration), Deliveries: d.Deliveries}
		for state, at := range d.Due {
			out.Oldest[state] = now().Sub(at)
		}
		if !d.First.IsZero() {
			out.OldestDelivery = now().Sub(d.First)
		}
		return out, nil
	}
}
