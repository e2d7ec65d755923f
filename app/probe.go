package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/app/telemetry"
	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/risk"
)

// probe hands to metrics and traces what sessions and calls tell.
type probe struct {
	metrics *telemetry.Metrics
	tracing *telemetry.Tracing // nil: no traces
}

// Gate implements session.Probe.
func (p probe) Gate(ctx context.Context, gate string, at func() session.Place) (context.Context, func(error)) {
	if p.tracing == nil {
		return ctx, func(error) {}
	}
	return p.tracing.Start(ctx, gate, errorKind, func() []telemetry.Attr { return attrsOf(at()) })
}

func attrsOf(at session.Place) []telemetry.Attr {
	return []telemetry.Attr{
		{Key: "countersign.session", Text: at.Session}, {Key: "countersign.repository_id", Number: at.RepoID},
		{Key: "countersign.pull", Number: int64(at.Pull)}, {Key: "countersign.head_sha", Text: at.HeadSHA},
		{Key: "countersign.decision", Text: at.Decision}, {Key: "countersign.tier", Text: at.Tier},
		// A delivery's answer was given long before its turn began: the id links the
		// two, and no context has to be stored for that.
		{Key: "countersign.deliveries", Text: strings.Join(at.Deliveries, " ")},
	}
}

// Decided implements session.Probe.
func (p probe) Decided(d review.Decision, t risk.Tier, again bool, waited time.Duration) {
	p.metrics.Gate(d.String(), t.String(), again, waited)
}

// Attempt implements github.Observer.
func (p probe) Attempt(ctx context.Context, route string) (context.Context, func(int, error)) {
	begun := time.Now()
	status, end := 0, func(error) {}
	if p.tracing != nil {
		ctx, end = p.tracing.Start(ctx, route, errorKind, func() []telemetry.Attr {
			return []telemetry.Attr{{Key: "http.response.status_code", Number: int64(status)}, {Key: "http.route", Text: route}}
		})
	}
	return ctx, func(code int, err error) {
		status = code
		p.metrics.Call(route, code, time.Since(begun))
		end(err)
	}
}

// Waited implements github.Observer.
func (p probe) Waited(reason string, d time.Duration) { p.metrics.Wait(reason, d) }

// Remaining implements github.Observer.
func (p probe) Remaining(installation int64, resource string, remaining int, reset time.Time) {
	p.metrics.Remaining(installation, resource, remaining, reset)
}

// errorKind is an error in a word: its text may hold what a stranger wrote.
func errorKind(err error) string {
	var fe *forge.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "stopped"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.As(err, &fe):
		return "github: " + fe.Kind.String()
	case store.IsFault(err):
		return "database"
	}
	return "error"
}
