package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// GivenUp is a pull request whose turns came to no end: they failed too often, or
// took the process down with them.
type GivenUp struct {
	// Failure names this one failure, however often it is told of.
	Failure  string
	Attempts int
	// Reason is in our words, never an error's: it is recorded.
	Reason string
	// Reference finds the cause where no session does: the job's id.
	Reference string
	// Last: no attempt follows before an event.
	Last bool
}

// Failures is what GiveUp has to know of the trail.
type Failures interface {
	// FailureRecorded reports whether a pull request's records tell of this failure,
	// and under which reference.
	FailureRecorded(ctx context.Context, pull forge.PullRef, failure string) (reference string, ok bool, err error)
}

type givenUpBody struct {
	Error    string `json:"error"`
	GivenUp  string `json:"given_up"` // FailureRecorded looks for it
	Attempts int    `json:"attempts"`
	Retrying bool   `json:"retrying"`
}

// GiveUp ends what people see of a pull request that was given up: every check that
// still waits, or would let it pass, says that it could not be completed. It is
// recorded and logged once, with the reference that the check shows. A later turn
// begins afresh. Calling it again is harmless; an error asks for that.
func (e *Engine) GiveUp(ctx context.Context, pull forge.PullRef, g GivenUp) error {
	r := &run{Engine: e, turn: Turn{Pull: pull}, chain: trail.PullChain(pull.Repo.ID, pull.Number), calls: &forge.Calls{}}
	ctx = forge.WithCalls(ctx, r.calls)
	var err error
	if r.prev, r.known, err = e.o.Store.LatestSession(ctx, pull.Repo.ID, pull.Number); err != nil {
		// What cannot be read may be the very reason.
		e.o.Logger.Warn().Err(err).Str("repo", pull.Repo.FullName()).Int("pull", pull.Number).Msg("a pull request is given up without its session")
		r.prev, r.known = Session{}, false
	}
	open, err := r.unsaid(ctx)
	if err != nil || (len(open) == 0 && !g.Last) {
		return err // its own session has said it, and the next attempt may do better
	}
	reference, err := r.recordFailure(ctx, g)
	if err != nil {
		return err
	}
	if r.client, err = e.o.Host.Client(pull.Repo.Installation); err != nil {
		return err
	}
	for _, p := range open {
		err := r.endFailed(ctx, p, reference)
		switch {
		case hopeless(err):
			e.o.Logger.Warn().Err(err).Str("reference", reference).Msg("nobody can be told that a pull request was given up")
		case err != nil:
			return err
		}
	}
	return r.flush(ctx)
}

// unsaid are the checks that do not say that the pull request was given up: those
// that wait, and on the session's head one that lets it pass. Without any on that
// head, one is to be made: a required check that never appears would say nothing.
func (r *run) unsaid(ctx context.Context) ([]publish.Publication, error) {
	if r.s = r.prev; !r.known {
		r.s = Session{Pull: r.turn.Pull, Status: Failed, PolicyRevision: r.revision}
	}
	posted, err := r.o.Publications.OpenPublications(ctx, r.turn.Pull.Repo.ID, r.turn.Pull.Number)
	if err != nil {
		return nil, err
	}
	onHead := func(p publish.Publication) bool { return p.Key.HeadSHA == r.s.HeadSHA }
	var open []publish.Publication
	for _, p := range posted {
		if publish.Judges(p.Key.Name) && (p.Open() || (onHead(p) && passes(p.Conclusion))) {
			open = append(open, p)
		}
	}
	unfinished := r.s.Status == Running || r.s.Status == Failed
	if unfinished && r.s.HeadSHA != "" && r.s.BaseRef != "" && !slices.ContainsFunc(posted, onHead) {
		name := publish.AdvisoryName
		if r.s.BaseRef == r.s.DefaultBranch || r.s.CheckName == publish.CheckName {
			name = publish.CheckName
		}
		open = append(open, publish.Publication{Key: publish.Key{RepoID: r.turn.Pull.Repo.ID, HeadSHA: r.s.HeadSHA, Name: name}})
	}
	return open, nil
}

// recordFailure writes the record and the log's line, once, and lets the next turn
// begin anew. It answers the reference that finds them.
func (r *run) recordFailure(ctx context.Context, g GivenUp) (reference string, err error) {
	reference, recorded, err := r.o.Failures.FailureRecorded(ctx, r.turn.Pull, g.Failure)
	if err != nil {
		return "", err
	}
	if !recorded {
		reference = g.Reference
		if r.known && (r.s.Status == Running || r.s.Status == Failed) {
			reference = r.s.ID
		}
		d := r.draft("G0", trail.TypeRunError, givenUpBody{Error: g.Reason, GivenUp: g.Failure, Attempts: g.Attempts})
		d.SessionID = reference
		r.drafts = append(r.drafts, d)
		if err := r.flush(ctx); err != nil {
			return "", err
		}
		r.o.Logger.Error().Str("reference", reference).Str("repo", r.turn.Pull.Repo.FullName()).Int("pull", r.turn.Pull.Number).
			Int("attempts", g.Attempts).Str("reason", g.Reason).Msg("could not complete: the pull request was given up")
	}
	if r.known && (r.s.Status == Running || r.s.Status == Decided) {
		r.s.Status = Failed // or a recomputation would go on from what it failed on
		return reference, r.o.Store.SaveSession(ctx, r.s)
	}
	return reference, nil
}

func (r *run) endFailed(ctx context.Context, p publish.Publication, reference string) error {
	v := r.view()
	if p.Key.HeadSHA != r.s.HeadSHA { // another session's: nothing of this one belongs there
		v = publish.View{Pull: r.turn.Pull, PullURL: r.s.URL, BaseRef: baseOf(p.ExternalID), HeadSHA: p.Key.HeadSHA, Observe: v.Observe,
			PolicySource: v.PolicySource, PolicyRevision: r.revision}
	}
	v.SessionID = cmp.Or(p.SessionID, v.SessionID, reference)
	v.State, v.Failure, v.TrailHead = publish.StateFailed, &publish.Failure{What: "an internal error", Reference: reference}, r.head
	res, err := r.o.Publisher.Publish(ctx, r.client, r.turn.Pull.Repo, p.Key.Name, v, publish.PublishOptions{})
	if err != nil {
		return err
	}
	if !res.Unchanged {
		d := r.draft("G7", trail.TypePublish, published(p.Key.Name, p.Key.HeadSHA, res))
		d.SessionID, d.HeadSHA = reference, p.Key.HeadSHA
		r.drafts = append(r.drafts, d)
	}
	return nil
}

// passes: a required check with this conclusion lets the pull request through.
func passes(conclusion string) bool {
	return conclusion == "success" || conclusion == "neutral" || conclusion == "skipped"
}

// baseOf reads the base out of an external id, "pull:base_ref:session". A ref may
// hold no colon; what is not one of ours has no base.
func baseOf(externalID string) string {
	_, rest, _ := strings.Cut(externalID, ":")
	base, _, _ := strings.Cut(rest, ":")
	return base
}

// hopeless: the forge refuses for a reason that no repetition removes.
func hopeless(err error) bool {
	if err == nil {
		return false
	}
	for _, k := range []forge.Kind{forge.KindForbidden, forge.KindSuspended, forge.KindNotFound, forge.KindInvalid} {
		if forge.IsKind(err, k) {
			return true
		}
	}
	return false
}

// errPanic stands for a panic. Its value stays out of records and checks: it may
// hold anything.
var errPanic = errors.New("a step panicked; the log has its stack")

// guarded is a turn whose panic is a failure like any other, so that the check says
// so. The stack is logged with the first attempt; the others end alike.
func (r *run) guarded(ctx context.Context) (out Outcome, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		log := r.o.Logger.Error().Str("repo", r.turn.Pull.Repo.FullName()).Int("pull", r.turn.Pull.Number).Str("session", r.s.ID).
			Int("attempt", r.turn.Attempt)
		if r.turn.Attempt <= 1 {
			log = log.Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack())
		}
		log.Msg("turn panicked")
		out, err = Outcome{}, errPanic
	}()
	return r.turnOf(ctx)
}
