package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// Publisher posts what a session has to say, exactly once per check.
type Publisher interface {
	Publish(ctx context.Context, w forge.CheckWriter, repo forge.Repo, name string, v publish.View, opt publish.PublishOptions) (publish.Result, error)
	// Comment says findings on the lines of the pull request, each once.
	Comment(ctx context.Context, w forge.ReviewWriter, repo forge.Repo, v publish.View, limits publish.CommentLimits) (publish.CommentResult, error)
	// Close ends the check of a head that was given up.
	Close(ctx context.Context, w forge.CheckWriter, orphan publish.Publication, v publish.View) (publish.Result, error)
}

// Publications knows which checks the forge may still show as waiting.
type Publications interface {
	OpenPublications(ctx context.Context, repoID int64, pull int) ([]publish.Publication, error)
}

// Options put an Engine together. All fields are needed but Failures, Findings, Now,
// Logger and Probe.
type Options struct {
	Host         forge.Host
	Store        Store
	Log          *trail.Log
	Publisher    Publisher
	Publications Publications
	// Failures serves GiveUp and nothing else. Findings are what a reconciler left;
	// nil: there is none.
	Failures Failures
	Findings Findings
	// Policy holds for every pull request until policy files are read;
	// PolicySource says where it comes from, for people.
	Policy       policy.Policy
	PolicySource string
	// Debounce gathers a head's CI events; Settle is the rest after a session
	// was superseded.
	Debounce, Settle time.Duration
	Now              func() time.Time
	Logger           zerolog.Logger
	// Probe watches the gates; nil: nobody does.
	Probe Probe
}

// Engine runs turns. It holds no state of its own: everything is in the Store.
type Engine struct {
	o        Options
	revision string
	told     notices
}

// New returns an Engine.
func New(o Options) *Engine {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Engine{o: o, revision: o.Policy.Revision()}
}

func (e *Engine) now() time.Time { return e.o.Now().UTC() }

// Pull runs one turn of a pull request. An error asks for a retry; what cannot
// be mended by retrying is recorded, logged once and ends the turn.
func (e *Engine) Pull(ctx context.Context, t Turn) (Outcome, error) {
	r := &run{Engine: e, turn: t, chain: trail.PullChain(t.Pull.Repo.ID, t.Pull.Number), calls: &forge.Calls{}}
	ctx = forge.WithCalls(ctx, r.calls)
	ctx = forge.WithPriority(ctx, forge.Priority{Lane: forge.LaneNormal, Newest: e.knownSince(t)})
	out, err := r.guarded(ctx)
	var over *ended
	switch {
	case errors.As(err, &over):
		out, err = over.outcome, nil
	case err != nil:
		out, err = r.fail(ctx, err)
	}
	if err != nil {
		return out, err
	}
	return out, r.settleFinding(ctx, out)
}

// knownSince is when the head became known: by its newest event or, where nothing
// told of it, now.
func (e *Engine) knownSince(t Turn) time.Time {
	if ev, ok := newest(t.Events); ok {
		return ev.ReceivedAt
	}
	return e.now()
}

// run is one turn at work.
type run struct {
	*Engine
	turn    Turn
	chain   trail.Chain
	calls   *forge.Calls
	client  forge.Client
	prev    Session // the newest session before this turn
	known   bool    // whether there was one
	s       Session // the session at work
	drafts  []trail.Draft
	head    string    // hash of the chain's newest record
	posted  bool      // our check exists on s.HeadSHA
	rerun   bool      // a new check run was asked for
	recheck time.Time // when the clock alone may change what the checks say
	hint    *Event    // what the forge itself said of the head, better than any event
	// again: the gate is recomputed, without a new session; decision is its result.
	again    bool
	decision review.Decision
	readAt   time.Time // the pull request's own time when it was read; older events tell nothing
	finding  *Finding  // what a reconciler saw, until a turn has dealt with it
	forced   bool      // the check was written whatever our own row says
}

// ended stops a session before its decision, without being a failure.
type ended struct{ outcome Outcome }

func (*ended) Error() string { return "the session ended before its decision" }

type turnKind uint8

const (
	turnRecord turnKind = iota
	turnEvaluate
	turnRecompute
	turnClose
)

func (r *run) turnOf(ctx context.Context) (Outcome, error) {
	var err error
	repo := r.turn.Pull.Repo
	if r.prev, r.known, err = r.o.Store.LatestSession(ctx, repo.ID, r.turn.Pull.Number); err != nil {
		return Outcome{}, err
	}
	if r.client, err = r.o.Host.Client(repo.Installation); err != nil {
		return Outcome{}, err
	}
	if err := r.readFinding(ctx); err != nil {
		return Outcome{}, err
	}
	kind, err := r.kind(ctx)
	if err != nil {
		return Outcome{}, err
	}
	switch kind {
	case turnEvaluate:
		if rest := r.rest(); rest > 0 {
			return Outcome{Postpone: rest}, nil
		}
		return r.evaluate(ctx)
	case turnRecompute:
		return r.recompute(ctx)
	case turnClose:
		return r.close(ctx)
	}
	r.s = r.prev
	return Outcome{EventsOnly: r.onlyTalk()}, r.recordDeliveries(ctx)
}

// kind chooses what the turn does; the table is in the package comment.
func (r *run) kind(ctx context.Context) (turnKind, error) {
	kind := turnRecord
	if r.known && r.prev.HeadSHA != "" {
		h, err := r.o.Store.Head(ctx, r.turn.Pull.Repo.ID, r.prev.HeadSHA, r.now())
		if err != nil {
			return kind, err
		}
		r.rerun = h.Rerun
	}
	unfinished := !r.known || r.prev.Status == Running || r.prev.Status == Failed || r.prev.Status == Superseded
	switch {
	case r.onlyTalk():
		return turnRecord, nil // whatever else waits for a turn goes on waiting for one
	case r.rerun:
		kind = turnEvaluate
	case unfinished:
		kind = turnEvaluate
	case r.prev.Status == Decided:
		kind = turnRecompute
	}
	for _, ev := range r.turn.Events {
		if ev.Name != "pull_request" {
			continue
		}
		switch {
		case ev.Action == "closed":
			kind = turnClose
		case !r.stale(ev):
			kind = turnEvaluate
		}
	}
	return r.foundKind(kind), nil
}

// longestRest is how many times Settle a pull request rests at most: pushes that
// never stop must not keep it from being decided.
const longestRest = 10

// rest is how long to wait for a burst of pushes to end, once one of them came
// during a session or right after it: until none has come for as long as Settle.
func (r *run) rest() time.Duration {
	ev, ok := newest(r.turn.Events)
	if !ok || !r.known || ev.HeadSHA == r.prev.HeadSHA {
		return 0
	}
	soon := func(ev Event) bool {
		return ev.Name == "pull_request" && ev.ReceivedAt.Sub(r.prev.StartedAt) <= r.o.Settle
	}
	if r.prev.Status != Superseded && !slices.ContainsFunc(r.turn.Events, soon) {
		return 0
	}
	quiet, latest := ev.ReceivedAt.Add(r.o.Settle), r.prev.StartedAt.Add(longestRest*r.o.Settle)
	if latest.Before(quiet) {
		quiet = latest
	}
	return quiet.Sub(r.now())
}

// onlyTalk: every event is a comment or a review, which need no session.
func (r *run) onlyTalk() bool {
	for _, ev := range r.turn.Events {
		if ev.Name != "issue_comment" && ev.Name != "pull_request_review" {
			return false
		}
	}
	return len(r.turn.Events) > 0
}

// stale: the event tells of a head that was already decided under the same
// base; GitHub sends several events for one cause (case 53).
func (r *run) stale(ev Event) bool {
	return r.known && r.prev.Status == Decided && (ev.Action == "opened" || ev.Action == "synchronize") &&
		ev.HeadSHA == r.prev.HeadSHA && ev.BaseRef == r.prev.BaseRef && ev.Draft == r.prev.Draft
}

// newest is the newest event of the pull request itself, by GitHub's own time:
// deliveries arrive out of order (case 56).
func newest(events []Event) (Event, bool) {
	var out Event
	found := false
	for _, ev := range events {
		if ev.Name == "pull_request" && ev.HeadSHA != "" && (!found || !ev.UpdatedAt.Before(out.UpdatedAt)) {
			out, found = ev, true
		}
	}
	return out, found
}

// checkpoint stands between two steps: a newer head, a closed or a retargeted
// pull request ends this session here.
func (r *run) checkpoint(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("session %s: %w", r.s.ID, err)
	}
	if r.turn.Newer == nil {
		return nil
	}
	events, err := r.turn.Newer(ctx)
	if err != nil {
		return err
	}
	ev, ok := newest(events)
	if !ok || ev.UpdatedAt.Before(r.readAt) {
		return nil
	}
	switch {
	case ev.HeadSHA != r.s.HeadSHA:
		return r.supersede(ctx, ev.HeadSHA)
	case ev.BaseChanged, ev.Action == "closed", ev.Draft != r.s.Draft:
		return r.supersede(ctx, "")
	}
	return nil
}

// supersede gives the session up: its one last write ends its check, unless the
// next session will use the same one (same head).
func (r *run) supersede(ctx context.Context, by string) error {
	r.s.Status = Superseded
	if by != "" && r.posted {
		v := r.view()
		v.State, v.SupersededBy = publish.StateSuperseded, by
		if err := r.post(ctx, v); err != nil {
			return err
		}
	}
	r.note("G7", trail.TypeRunEnd, runEnd{Status: r.s.Status, By: by, Calls: r.calls.ByRoute(), Total: r.calls.Total()})
	if err := r.save(ctx); err != nil {
		return err
	}
	// The newer event asks for the next turn by itself; looking again covers a
	// head that GitHub told of in an answer and not (yet) in an event.
	return &ended{Outcome{Settle: r.o.Settle, RecheckAt: r.now().Add(r.o.Settle + time.Second)}}
}

// save flushes the records and keeps the session.
func (r *run) save(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	return r.o.Store.SaveSession(ctx, r.s)
}
