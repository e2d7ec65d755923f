package session

import (
	"context"
	"slices"
	"time"

	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/trail"
)

// HeadTurn is one call for one commit that checks report on.
type HeadTurn struct {
	Repo   forge.Repo
	SHA    string
	Events []Event
	// Again: a turn before this one did not end; it may have worked some events.
	Again bool
}

// HeadOutcome says which pull requests to wake, and when at the earliest.
type HeadOutcome struct {
	Wake []forge.PullRef
	// NotBefore gathers the events of one CI run into one recomputation.
	NotBefore time.Time
}

// Head keeps the local table of a head's checks and wakes the pull requests
// whose gate it could change. It asks the forge nothing, but for the pull
// requests of a head that no index knows (forks: case 61), once.
func (e *Engine) Head(ctx context.Context, t HeadTurn) (HeadOutcome, error) {
	h, err := e.o.Store.Head(ctx, t.Repo.ID, t.SHA, e.now())
	if err != nil {
		return HeadOutcome{}, err
	}
	pulls, err := e.pullsAt(ctx, t, h)
	if err != nil {
		return HeadOutcome{}, err
	}
	before, asked := h.Rows, false
	for _, ev := range t.Events {
		switch {
		case ev.Check == nil:
		case ev.Check.Ours:
			asked = true
		default:
			if h.FirstCheck.IsZero() {
				h.FirstCheck = ev.ReceivedAt
			}
			h.Rows, _ = collect.Merge(h.Rows, ev.Check.Row)
		}
	}
	if asked {
		if err := e.o.Store.SetRerun(ctx, t.Repo.ID, t.SHA, true); err != nil {
			return HeadOutcome{}, err
		}
	}
	// The events are marked before the table changes: a turn that dies in between
	// comes again without events and wakes everyone. The other way round, it would
	// find nothing new in its own table and wake nobody.
	if err := e.recordEvents(ctx, chainFor(t.Repo, pulls), t.Repo, t.SHA, t.Events); err != nil {
		return HeadOutcome{}, err
	}
	if err := e.o.Store.SaveHeadChecks(ctx, t.Repo.ID, t.SHA, h.Rows, h.FirstCheck); err != nil {
		return HeadOutcome{}, err
	}
	unsure := t.Again || len(t.Events) == 0
	switch {
	case asked:
		return HeadOutcome{Wake: pulls}, nil
	case unsure || collect.Worth(before, h.Rows):
		return HeadOutcome{Wake: pulls, NotBefore: e.now().Add(e.o.Debounce)}, nil
	}
	return HeadOutcome{}, nil
}

// pullsAt finds the open pull requests with this head: the own index first, then
// what GitHub names, and for a branch that GitHub does not know its own list.
func (e *Engine) pullsAt(ctx context.Context, t HeadTurn, h Head) ([]forge.PullRef, error) {
	pulls, err := e.o.Store.OpenPullsAt(ctx, t.Repo.ID, t.SHA)
	if err != nil {
		return nil, err
	}
	add := func(number int) {
		ref := forge.PullRef{Repo: t.Repo, Number: number}
		same := func(p forge.PullRef) bool { return p.Number == number }
		if number > 0 && !slices.ContainsFunc(pulls, same) {
			pulls = append(pulls, ref)
		}
	}
	ask := false
	for _, ev := range t.Events {
		if ev.Check == nil {
			continue
		}
		for _, n := range ev.Check.Pulls {
			add(n)
		}
		ask = ask || ev.Check.BranchUnknown
	}
	if len(pulls) > 0 || !ask || !h.FirstCheck.IsZero() {
		return pulls, nil
	}
	client, err := e.o.Host.Client(t.Repo.Installation)
	if err != nil {
		return nil, err
	}
	numbers, err := client.PullsByHead(ctx, t.Repo, t.SHA)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		add(n)
	}
	return pulls, nil
}

func chainFor(repo forge.Repo, pulls []forge.PullRef) trail.Chain {
	if len(pulls) == 1 {
		return trail.PullChain(repo.ID, pulls[0].Number)
	}
	return trail.RepoChain(repo.ID)
}

// Note records deliveries that nothing acts on yet, in the chain of their
// repository or installation. When an installation may do more than before, it
// answers the pull requests whose last session failed there (cases 72 and 73).
func (e *Engine) Note(ctx context.Context, repo forge.Repo, events []Event) ([]forge.PullRef, error) {
	chain := trail.RepoChain(repo.ID)
	if repo.ID == 0 {
		chain = trail.InstallationChain(repo.Installation)
	}
	// Without events, a turn died after recording them.
	regained := len(events) == 0
	for _, ev := range events {
		regained = regained || (ev.Name == "installation" && (ev.Action == "new_permissions_accepted" || ev.Action == "unsuspend"))
	}
	if !regained {
		return nil, e.recordEvents(ctx, chain, repo, "", events)
	}
	e.o.Host.Forget(repo.Installation)
	pulls, err := e.o.Store.FailedPulls(ctx, repo.Installation, maxRegained)
	if err != nil {
		return nil, err
	}
	return pulls, e.recordEvents(ctx, chain, repo, "", events)
}

// maxRegained bounds the pull requests that one event brings back; any further
// ones come with their next event.
const maxRegained = 500
