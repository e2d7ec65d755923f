package app

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/queue"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
)

// Gentleness is the pace of the reconciler. Zero fields take their defaults; only
// tests set others.
type Gentleness struct {
	// Grace is the pause before the first look after the start, so that deliveries
	// that wait go first: a minute.
	Grace time.Duration
	// Call is the pause between two calls for one installation: 2 s, so that its
	// reconciler takes 30 calls a minute at most, of which GitHub allows 5,000 points
	// an hour.
	Call time.Duration
	// Wake is the pause between two pull requests that are woken in one installation:
	// 10 s. A session takes about a dozen calls.
	Wake time.Duration
	// Stale is how long nobody wrote a check that was left open before its pull
	// request is woken: two hours; those that wait for CI are read twice in it.
	Stale time.Duration
	// Poll is how often the database is asked whether anything is due: 2 s.
	Poll time.Duration
}

func (g Gentleness) withDefaults() Gentleness {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&g.Grace, time.Minute}, {&g.Call, 2 * time.Second}, {&g.Wake, 10 * time.Second}, {&g.Stale, 2 * time.Hour}, {&g.Poll, 2 * time.Second},
	} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	return g
}

const (
	// reconcilerHands is how many calls one process makes at a time, each for another
	// installation: one that does not answer must not hold up all.
	reconcilerHands = 2
	// lookTimeout bounds one call with its repetitions; lookLease is longer, so that a
	// claim never ends before its call.
	lookTimeout = 2 * time.Minute
	lookLease   = 3 * time.Minute
	// aliveEvery is how often a process says that it is there; one is taken for gone
	// after aliveFor.
	aliveEvery = 20 * time.Second
	aliveFor   = time.Minute
)

// reconciler finds open pull requests that no event told of, or whose check is not
// what it should be, and wakes them. It decides nothing and writes nothing to the
// forge: a woken pull request is worked like any other. Everything it knows is in
// the database, so that a restart goes on where it was and several processes share
// the work.
//
//	App's list ──▶ installations' lists ──▶ repositories' open pulls ──▶ findings ──▶ wakes
//	 1 call an hour   1 call per 100         1 call per 50, hourly       (database)   (queue)
type reconciler struct {
	store  *store.Store
	queue  *queue.Queue
	engine *session.Engine
	lister forge.Lister
	owner  string
	pace   store.Pace
	gentle Gentleness
	logger zerolog.Logger
}

// run works until the context ends.
func (c *reconciler) run(ctx context.Context) {
	if !c.sleep(ctx, c.gentle.Grace) {
		return
	}
	for {
		err := c.store.ReconcilerStarts(ctx, c.owner, aliveFor)
		if err == nil {
			break
		}
		c.failed(ctx, err, "the reconciler cannot start")
		if !c.sleep(ctx, aliveEvery) {
			return
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.every(ctx, aliveEvery, func() bool { c.alive(ctx); return false }) })
	wg.Go(func() { c.every(ctx, c.gentle.Poll, func() bool { return c.wake(ctx) }) })
	for range reconcilerHands {
		wg.Go(func() { c.every(ctx, c.gentle.Poll, func() bool { return c.look(ctx) }) })
	}
	wg.Wait()
}

// every calls do until the context ends: again at once while there is more to do,
// else after a pause.
func (c *reconciler) every(ctx context.Context, pause time.Duration, do func() (more bool)) {
	for ctx.Err() == nil {
		if !do() && !c.sleep(ctx, pause) {
			return
		}
	}
}

func (c *reconciler) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *reconciler) alive(ctx context.Context) {
	if err := c.store.ReconcilerAlive(ctx, c.owner); err != nil {
		c.failed(ctx, err, "the reconciler cannot say that it is there")
	}
}

// failed logs what happened, unless the process is stopping.
func (c *reconciler) failed(ctx context.Context, err error, msg string) {
	if ctx.Err() == nil && !errors.Is(err, store.ErrLookLost) {
		c.logger.Warn().Err(err).Msg(msg)
	}
}

// wake wakes the next pull request, newest first. What is found and the wake are one
// commit.
func (c *reconciler) wake(ctx context.Context) (more bool) {
	var f session.Finding
	var ok bool
	err := c.queue.Wake(ctx, func(ctx context.Context, tx *sql.Tx) (wakes []queue.Wake, err error) {
		if f, ok, err = c.store.NextFinding(ctx, tx, c.pace); err != nil || !ok {
			return nil, err
		}
		return []queue.Wake{{Subject: handlers.PullSubject(f.Pull.Repo.ID, f.Pull.Number)}}, nil
	})
	if err != nil {
		c.failed(ctx, err, "the reconciler cannot wake")
		return false
	}
	if ok {
		c.logger.Info().Str("repo", f.Pull.Repo.FullName()).Int("pull", f.Pull.Number).Str("reason", string(f.Reason)).Msg("the reconciler wakes a pull request")
	}
	return ok
}

// look makes the next call that is due.
func (c *reconciler) look(ctx context.Context) (more bool) {
	l, ok, err := c.store.ClaimLook(ctx, c.owner, lookLease)
	if err != nil {
		c.failed(ctx, err, "the reconciler cannot look")
	}
	if err != nil || !ok {
		return false
	}
	// What a look has seen is kept also when the process stops meanwhile.
	keep := context.WithoutCancel(ctx)
	calling, cancel := context.WithTimeout(forge.WithLane(ctx, forge.LaneSlow), lookTimeout)
	defer cancel()
	err = c.call(calling, keep, l)
	switch {
	case err == nil, errors.Is(err, store.ErrLookLost):
		return true
	case ctx.Err() != nil:
		return false // the claim ends by itself, or with the next start
	}
	c.logger.Warn().Err(err).Int64("installation", l.Installation).Str("repo", nameOf(l.Repo)).Msg("the reconciler's look failed")
	if err := c.store.LookFailed(keep, l, err, c.pace); err != nil {
		c.failed(ctx, err, "the reconciler cannot rest")
	}
	return true
}

func nameOf(r forge.Repo) string {
	if r.ID == 0 {
		return ""
	}
	return r.FullName()
}

// call is one look: the forge is asked outside of any transaction.
func (c *reconciler) call(ctx, keep context.Context, l store.Look) error {
	switch {
	case l.Repo.ID != 0:
		return c.lookAtPulls(ctx, keep, l)
	case l.Installation != 0:
		list, next, err := c.lister.InstallationRepos(ctx, l.Installation, l.Page)
		if err != nil {
			return err
		}
		return c.store.LookedAtRepos(keep, l, list, next, c.pace)
	}
	list, next, err := c.lister.Installations(ctx, l.Page)
	if err != nil {
		return err
	}
	return c.store.LookedAtApp(keep, l, list, next, c.pace)
}

func (c *reconciler) lookAtPulls(ctx, keep context.Context, l store.Look) error {
	page, err := c.lister.OpenPulls(ctx, l.Repo, l.After)
	if err != nil {
		return err
	}
	var found []session.Finding
	if !page.Inactive {
		behind, err := c.store.Behind(ctx, l.Repo.ID, page.Pulls, c.queue.GiveUpAfter())
		if err != nil {
			return err
		}
		if found, err = c.engine.Reconcile(ctx, l.Repo, page, behind); err != nil {
			return err
		}
	}
	return c.store.LookedAtPulls(keep, l, page, found, c.pace)
}

// soon makes an installation due when an event says that there may be more to see
// than before. The runner is repeated until both are committed.
func (c *reconciler) soon(run queue.Runner) queue.Runner {
	return func(ctx context.Context, t queue.Turn) (queue.Outcome, error) {
		out, err := run(ctx, t)
		if err != nil || t.Subject.Kind != handlers.SubjectInstallation || !moreToSee(t.Events) {
			return out, err
		}
		id, err := installationOf(t)
		if err != nil {
			return out, err
		}
		return out, c.store.ReconcileSoon(ctx, id)
	}
}

// moreToSee: a turn without events may have lost those of one before.
func moreToSee(events []handlers.Event) bool {
	more := len(events) == 0
	for _, ev := range events {
		switch ev.Action {
		case "created", "added", "unsuspend", "new_permissions_accepted":
			more = true
		}
	}
	return more
}
