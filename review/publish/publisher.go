package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// Options are what a Publisher needs.
type Options struct {
	Store Store
	// Owner names this process in claims. A process that takes over the work of a
	// dead one should bear its name: it then need not wait for its claims to end.
	// Two live processes must never share one.
	Owner string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Wait bounds how long Publish waits for a key that another process holds;
	// zero means 20 s. Poll is how often it asks; zero means 200 ms.
	Wait, Poll time.Duration
}

// PublishOptions vary one publication.
type PublishOptions struct {
	// NewRun: somebody asked for a re-run, so a run of the same name begins anew
	// where the old one has ended. At most one per session, however often the call
	// is repeated.
	NewRun bool
	// Force writes although nothing changed, for a reconciler that saw the forge
	// show something else.
	Force bool
}

// Result is what a publication did.
type Result struct {
	CheckRunID int64
	ExternalID string
	Created    bool // a run was begun
	Patched    bool // a run was changed
	Adopted    bool // an earlier attempt's run was found
	Unchanged  bool // nothing was written
	Minimal    bool // the forge refused the text; the conclusion stands without it
	Annotated  int  // how many annotations were sent
	Title      string
	Status     string
	Conclusion string // empty while in progress
	Digest     string // SHA-256 over status, conclusion and title
	// Cancelled are further runs of ours that were ended.
	Cancelled []int64
	// Calls counts the requests to the forge.
	Calls int
}

// BusyError says that another process holds the key. The view is stored; who
// writes next shows it, and the caller tries again after Until to be sure.
type BusyError struct {
	Key   Key
	Owner string
	Until time.Time
}

func (e *BusyError) Error() string {
	return "publish " + e.Key.Name + " on " + short(e.Key.HeadSHA) + ": " + e.Owner + " is writing it until " + e.Until.UTC().Format(time.RFC3339)
}

// Publisher writes checks. It is safe for concurrent use.
type Publisher struct {
	store      Store
	owner      string
	now        func() time.Time
	wait, poll time.Duration
	keys       keyLocks
}

// New returns a Publisher.
func New(o Options) (*Publisher, error) {
	if o.Store == nil {
		return nil, errors.New("publisher: no store")
	}
	if o.Owner == "" {
		return nil, errors.New("publisher: no owner; name this process")
	}
	p := &Publisher{store: o.Store, owner: o.Owner, now: o.Now, wait: o.Wait, poll: o.Poll}
	if p.now == nil {
		p.now = time.Now
	}
	if p.wait <= 0 {
		p.wait = claimWait
	}
	if p.poll <= 0 {
		p.poll = claimPoll
	}
	return p, nil
}

// Publish shows the view as the check of this name on the view's head: created
// once, changed only when its title or conclusion does. It returns a *BusyError
// when another process holds the key for too long, and the forge's error when it
// refused; in both cases the view is stored and calling again is right.
func (p *Publisher) Publish(ctx context.Context, w forge.CheckWriter, repo forge.Repo, name string, v View, opt PublishOptions) (Result, error) {
	if err := v.validate(); err != nil {
		return Result{}, err
	}
	if !known(name) {
		return Result{}, fmt.Errorf("publish: %q is no check of ours, use one of %q", name, OwnNames())
	}
	if v.Pull.Repo.ID != repo.ID {
		return Result{}, fmt.Errorf("publish: the view is about repository %d, not %d", v.Pull.Repo.ID, repo.ID)
	}
	if !judges(name) && !v.informs() {
		return Result{Unchanged: true}, nil
	}
	key := Key{RepoID: repo.ID, HeadSHA: v.HeadSHA, Name: name}
	return p.withKey(ctx, w, repo, key, v, func(ctx context.Context, k *work, views []View) error {
		return k.publish(ctx, views, opt)
	})
}

// Close ends the check of a head that was given up: v is the pull request's view,
// superseded or closed. A check that other open pull requests share goes on saying
// theirs. What was never posted is not posted now, and a check that ended keeps
// its conclusion.
func (p *Publisher) Close(ctx context.Context, w forge.CheckWriter, orphan Publication, v View) (Result, error) {
	v.HeadSHA = orphan.Key.HeadSHA
	if v.Live() {
		return Result{}, fmt.Errorf("close %s on %s: the view is %s, want superseded or closed", orphan.Key.Name, short(v.HeadSHA), v.State)
	}
	if err := v.validate(); err != nil {
		return Result{}, err
	}
	return p.withKey(ctx, w, orphan.Repo, orphan.Key, v, func(ctx context.Context, k *work, views []View) error {
		return k.close(ctx, views)
	})
}

// withKey stores the view, claims the key, runs f, and gives the key back.
func (p *Publisher) withKey(ctx context.Context, w forge.CheckWriter, repo forge.Repo, key Key, v View, f func(context.Context, *work, []View) error) (Result, error) {
	unlock, err := p.keys.lock(ctx, key)
	if err != nil {
		return Result{}, fmt.Errorf("publish %s on %s: %w", key.Name, short(key.HeadSHA), err)
	}
	defer unlock()
	claimed, err := p.claim(ctx, repo, key, v)
	if err != nil {
		return Result{}, err
	}
	k := &work{Publisher: p, w: w, row: claimed.Publication, session: v.SessionID}
	k.row.Repo = repo
	err = f(ctx, k, claimed.Views)
	if err != nil {
		err = fmt.Errorf("publish %s on %s: %w", key.Name, short(key.HeadSHA), err)
	}
	err = errors.Join(err, k.release(ctx))
	k.res.CheckRunID, k.res.ExternalID = k.row.CheckRunID, k.row.ExternalID
	return k.res, err
}

// claim asks for the key until it is free or the wait is over.
func (p *Publisher) claim(ctx context.Context, repo forge.Repo, key Key, v View) (Claimed, error) {
	v = needed(key.Name, v)
	deadline := time.NewTimer(p.wait)
	defer deadline.Stop()
	for {
		now := p.now()
		claimed, err := p.store.ClaimPublication(ctx, Claim{Key: key, Repo: repo, Owner: p.owner, Now: now, Until: now.Add(leaseFor), View: v})
		if err != nil {
			return Claimed{}, fmt.Errorf("publish %s on %s: claim it: %w", key.Name, short(key.HeadSHA), err)
		}
		if claimed.Granted {
			return claimed, nil
		}
		again := time.NewTimer(p.poll)
		select {
		case <-again.C:
		case <-deadline.C:
			again.Stop()
			return Claimed{}, &BusyError{Key: key, Owner: claimed.Publication.Owner, Until: claimed.Publication.LeaseUntil}
		case <-ctx.Done():
			again.Stop()
			return Claimed{}, ctx.Err()
		}
	}
}

// publish brings the forge to what the views together say.
func (k *work) publish(ctx context.Context, views []View, opt PublishOptions) error {
	w := want(k.row.Key.Name, views)
	if !judges(k.row.Key.Name) && w.view.State != StateDecided && k.row.CheckRunID == 0 && !k.row.Creating {
		k.res.Unchanged = true // nobody waits for it, and there is nothing that could be wrong
		return nil
	}
	k.res.Title, k.res.Status, k.res.Conclusion, k.res.Digest = w.title, w.status, w.conclusion, w.digest
	if err := guard(w, k.row.Key); err != nil {
		return err
	}
	if err := k.bring(ctx, w, opt); err != nil {
		return err
	}
	return k.sweep(ctx)
}

// bring creates, adopts or changes the key's run.
func (k *work) bring(ctx context.Context, w wanted, opt PublishOptions) error {
	switch {
	case k.row.Creating:
		found, err := k.adopt(ctx)
		if err != nil {
			return err
		}
		if !found {
			return k.create(ctx, w)
		}
		return k.update(ctx, w, true)
	case k.row.CheckRunID == 0:
		return k.create(ctx, w)
	case opt.NewRun && k.row.Status == statusCompleted && k.row.RerunFor != k.session:
		// A run that still waits is the re-run that was asked for.
		k.row.RerunFor = k.session
		return k.create(ctx, w)
	}
	return k.update(ctx, w, opt.Force)
}

// update changes the known run where that shows, or begins another where its
// annotations would be wrong.
func (k *work) update(ctx context.Context, w wanted, force bool) error {
	if !force && k.row.Intended == "" && k.row.Digest == w.digest && !k.marksDiffer(w) {
		k.res.Unchanged = true
		return nil
	}
	another, err := k.needsAnother(ctx, w)
	if err != nil {
		return err
	}
	if another {
		return k.replace(ctx, w)
	}
	err = k.patch(ctx, w)
	if forge.IsKind(err, forge.KindNotFound) {
		// The run is gone, with its repository's former self: begin another. When
		// the repository is gone too, creating one says so.
		k.row.CheckRunID, k.row.Status, k.row.Digest = 0, "", ""
		return k.create(ctx, w)
	}
	return err
}

// close ends a given-up head, unless other pull requests still speak for it.
func (k *work) close(ctx context.Context, views []View) error {
	if Join(views).Worst.Live() {
		return k.publish(ctx, views, PublishOptions{})
	}
	w := want(k.row.Key.Name, views)
	k.res.Title, k.res.Status, k.res.Conclusion, k.res.Digest = w.title, w.status, w.conclusion, w.digest
	if k.row.Creating {
		found, err := k.adopt(ctx)
		if err != nil {
			return err
		}
		if !found {
			k.forgetIntention()
		}
	}
	if k.row.CheckRunID == 0 { // nothing is visible, so nothing is left open
		k.row.Suspect, k.row.Intended = false, ""
	}
	if !k.row.Open() {
		k.res.Unchanged = true
		return nil
	}
	if err := k.update(ctx, w, true); err != nil {
		return err
	}
	return k.sweep(ctx)
}

// guard holds what must never be published, whatever a caller hands in: a decision
// about another commit, and a result that satisfies without a decision.
func guard(w wanted, key Key) error {
	if w.view.HeadSHA != key.HeadSHA {
		return fmt.Errorf("the view is about %s", short(w.view.HeadSHA))
	}
	quiet := w.view.Observe && (w.view.State == StateDraft || w.view.State == StatePaused)
	if !judges(key.Name) {
		return allowedEnd(key.Name, w.conclusion)
	}
	if satisfies(w.conclusion) && w.view.State != StateDecided && !quiet {
		return fmt.Errorf("a %s view must not end as %s", w.view.State, w.conclusion)
	}
	return nil
}

// satisfies reports whether a required check with this conclusion passes.
func satisfies(conclusion string) bool {
	return conclusion == "success" || conclusion == "neutral" || conclusion == "skipped"
}
