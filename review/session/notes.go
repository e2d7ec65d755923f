package session

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// notesSoonest is how long after a failure the checks that inform are tried again.
const notesSoonest = 10 * time.Second

// allowNotes asks for permission to write the checks that inform. It is recorded once
// for a session, and stands in the trail before the first write.
func (r *run) allowNotes() bool {
	allow := true
	for _, name := range notes() {
		verdict := permission.OfAction(permission.CheckRun, name+" on "+r.s.HeadSHA, r.o.Policy.Actions, r.o.Policy.Mode)
		allow = allow && verdict.Decision == permission.Allow
		if !r.s.NotesAllowed || verdict.Decision != permission.Allow {
			r.note("G3", trail.TypePermission, verdict)
		}
	}
	r.s.NotesAllowed = allow
	r.allowComments()
	return allow
}

// notes are the checks that inform, in the order in which they are written.
func notes() []string { return []string{publish.ReviewName, publish.CoverageName} }

// postNotes writes the checks that inform, once the one that judges is out: what was
// found, and who looked at what. They are written where they change, so that a
// recomputation costs no further call. A failure of theirs undoes nothing: it is
// recorded, and the time is answered at which they are tried again; zero: never. An
// error is this process's own.
func (r *run) postNotes(ctx context.Context, v publish.View) (again time.Time, err error) {
	ctx = forge.WithLane(ctx, forge.LaneSlow) // nobody waits for them
	v, settled, again, err := r.postComments(ctx, v)
	if err != nil {
		return again, err
	}
	for _, name := range notes() {
		if name == publish.ReviewName && !settled {
			continue // which findings it has to show is not known yet
		}
		v.TrailHead = r.head
		res, err := r.postNote(ctx, name, v)
		switch {
		case ctx.Err() != nil:
			return again, ctx.Err() // stopping: the queue tries again
		case err != nil:
			again = sooner(again, r.noteFailed(name, err))
			if forge.Held(err) {
				return again, nil // the other one would be refused as well
			}
		case !res.Unchanged, r.s.NotesTold[name] != res.Digest:
			r.note("G7", trail.TypePublish, published(name, r.s.HeadSHA, res))
			told := maps.Clone(r.s.NotesTold)
			if told == nil {
				told = make(map[string]string)
			}
			told[name] = res.Digest
			r.s.NotesTold = told
		}
	}
	return again, nil
}

// postNote writes one of them. An answer that was lost is asked for at once.
func (r *run) postNote(ctx context.Context, name string, v publish.View) (publish.Result, error) {
	res, err := r.o.Publisher.Publish(ctx, r.client, r.turn.Pull.Repo, name, v, publish.PublishOptions{})
	if forge.IsKind(err, forge.KindUnavailable) && !forge.Held(err) && ctx.Err() == nil {
		return r.o.Publisher.Publish(ctx, r.client, r.turn.Pull.Repo, name, v, publish.PublishOptions{})
	}
	return res, err
}

// noteFailed records why one could not be written, and says when to try again: ever
// more rarely, for a day, and not where only a person can mend it.
func (r *run) noteFailed(name string, err error) time.Time {
	tried := r.now().Sub(r.s.StartedAt)
	retrying := !r.permanent(err) && tried < rereadFor
	r.note("G7", trail.TypeRunError, runError{Error: name + ": " + err.Error(), Retrying: retrying, Calls: r.calls.ByRoute(), Total: r.calls.Total()})
	if !retrying {
		return time.Time{}
	}
	wait := max(notesSoonest, tried/2)
	var fe *forge.Error
	if errors.As(err, &fe) {
		wait = max(wait, fe.RetryAfter)
	}
	return r.now().Add(wait)
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
