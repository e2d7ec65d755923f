package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/queue"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
)

// lists is a forge with installations of many repositories.
type lists struct {
	mu            sync.Mutex
	installations int
	repos         int // of each
	open          func(repo int) int
	looks         map[string]int // by repository
	calls         map[string]int // by kind
	busy          map[int64]bool // installations with a call under way
	together      bool           // two at a time were seen
	fail          func(repo forge.Repo) error
}

func (l *lists) enter(installation int64, kind string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[kind]++
	l.together = l.together || l.busy[installation]
	l.busy[installation] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy[installation] = false
	}
}

func (l *lists) Installations(ctx context.Context, page int) ([]forge.Installation, int, error) {
	defer l.enter(0, "installations")()
	if forge.PriorityFrom(ctx).Lane != forge.LaneSlow {
		return nil, 0, errors.New("want the slow lane")
	}
	var out []forge.Installation
	for i := range l.installations {
		out = append(out, forge.Installation{ID: int64(i + 1), Account: "acme"})
	}
	return out, 0, nil
}

func (l *lists) InstallationRepos(_ context.Context, installation int64, page int) ([]forge.ListedRepo, int, error) {
	defer l.enter(installation, "repos")()
	var out []forge.ListedRepo
	for i := (page - 1) * 100; i < min(page*100, l.repos); i++ {
		out = append(out, forge.ListedRepo{Repo: l.repo(installation, i), OpenCount: l.open(i)})
	}
	if page*100 < l.repos {
		return out, page + 1, nil
	}
	return out, 0, nil
}

func (l *lists) repo(installation int64, i int) forge.Repo {
	return forge.Repo{ID: installation*100_000 + int64(i), Owner: "acme", Name: fmt.Sprintf("repo-%d-%d", installation, i), Installation: installation}
}

func (l *lists) OpenPulls(_ context.Context, repo forge.Repo, after string) (forge.PullsPage, error) {
	defer l.enter(repo.Installation, "pulls")()
	l.mu.Lock()
	l.looks[repo.Name]++
	l.mu.Unlock()
	if l.fail != nil {
		if err := l.fail(repo); err != nil {
			return forge.PullsPage{}, err
		}
	}
	page := forge.PullsPage{DefaultBranch: "main"}
	for n := range l.open(int(repo.ID % 100_000)) {
		page.Pulls = append(page.Pulls, forge.OpenPull{Number: n + 1, HeadSHA: strings.Repeat("a", 40), BaseRef: "main", UpdatedAt: time.Unix(int64(n), 0)})
	}
	return page, nil
}

// bench is a database with a queue whose turns are counted.
type workbench struct {
	store *store.Store
	queue *queue.Queue
	mu    sync.Mutex
	woken map[string]int
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "c.db")})
	if err != nil {
		t.Fatal(err)
	}
	b := &workbench{store: st, woken: make(map[string]int)}
	run := func(ctx context.Context, turn queue.Turn) (queue.Outcome, error) {
		b.mu.Lock()
		b.woken[turn.Subject.Key]++
		b.mu.Unlock()
		return queue.Outcome{}, nil
	}
	runners := make(map[handlers.SubjectKind]queue.Runner)
	for _, k := range []handlers.SubjectKind{handlers.SubjectPull, handlers.SubjectHead, handlers.SubjectRepo, handlers.SubjectInstallation} {
		runners[k] = run
	}
	b.queue, err = queue.New(queue.Options{Store: st, Runners: runners, StopGrace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.queue.Stop(context.Background()), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *workbench) reconciler(owner string, l forge.Lister, every time.Duration, g Gentleness) *reconciler {
	g = g.withDefaults()
	return &reconciler{
		store: b.store, queue: b.queue, lister: l, owner: owner, gentle: g, logger: zerolog.Nop(),
		engine: session.New(session.Options{Store: b.store, Policy: policy.Default(), Logger: zerolog.Nop()}),
		pace:   store.Pace{Every: every, Call: g.Call, Wake: g.Wake, Stale: g.Stale},
	}
}

func newLists(installations, repos int, open func(int) int) *lists {
	return &lists{installations: installations, repos: repos, open: open, looks: make(map[string]int), calls: make(map[string]int), busy: make(map[int64]bool)}
}

// until runs reconcilers until the condition holds, then stops them.
func until(t *testing.T, cond func() bool, all ...*reconciler) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, r := range all {
		wg.Go(func() { r.run(ctx) })
	}
	defer wg.Wait()
	defer cancel()
	deadline, tick := time.After(60*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline:
			t.Fatal("waited a minute")
		case <-tick.C:
		}
	}
}

func fast() Gentleness {
	return Gentleness{Grace: time.Millisecond, Call: time.Nanosecond, Wake: time.Nanosecond, Poll: time.Millisecond, Stale: time.Hour}
}

// Two processes on one database share the work: each repository is looked at once,
// one call at a time for an installation, and each pull request is woken once.
func TestTwoReconcilersShare(t *testing.T) {
	const installations, repos, pulls = 3, 20, 2
	b, l := newWorkbench(t), newLists(installations, repos, func(int) int { return pulls })
	until(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.woken) == installations*repos*pulls
	}, b.reconciler("one", l, time.Hour, fast()), b.reconciler("two", l, time.Hour, fast()))
	if l.together {
		t.Error("two calls at a time for one installation")
	}
	// Both start: the later one may make due what was just read, so a list may be read
	// twice; with an owner alive, never more.
	if l.calls["installations"] > 2 || l.calls["pulls"] > 2*installations*repos {
		t.Errorf("calls %v", l.calls)
	}
	for key, n := range b.woken {
		if n != 1 {
			t.Errorf("%s was woken %d times", key, n)
		}
	}
}

// Ten thousand repositories of which few have anything open cost a call for a
// hundred, and one for each of the few.
func TestManyQuietRepositories(t *testing.T) {
	const repos, busy = 10_000, 25
	b, l := newWorkbench(t), newLists(1, repos, func(i int) int {
		if i%(repos/busy) == 0 {
			return 1
		}
		return 0
	})
	until(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.woken) == busy
	}, b.reconciler("one", l, time.Hour, fast()))
	if l.calls["installations"] != 1 || l.calls["repos"] != repos/100 || l.calls["pulls"] != busy {
		t.Errorf("calls %v", l.calls)
	}
}

// A repository that always fails does not keep the others from being looked at, and
// is not asked in a storm; a limit stops all of its installation and nothing else.
func TestFailuresAreKeptApart(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		others bool // of the same installation
	}{
		"a repository is broken": {&forge.Error{Kind: forge.KindMalformed, Op: "list"}, true},
		"GitHub is down for it":  {&forge.Error{Kind: forge.KindUnavailable, Op: "list", Status: 502}, true},
		"it is gone":             {&forge.Error{Kind: forge.KindNotFound, Op: "list", Status: 404}, true},
		"a limit":                {&forge.Error{Kind: forge.KindRateLimited, Op: "list", Status: 403, RetryAfter: time.Minute}, false},
		"a suspension":           {&forge.Error{Kind: forge.KindSuspended, Op: "list", Status: 403}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, l := newWorkbench(t), newLists(2, 5, func(int) int { return 1 })
			bad := l.repo(1, 0)
			l.fail = func(r forge.Repo) error {
				if r.ID == bad.ID {
					return tc.err
				}
				return nil
			}
			want := 5
			if tc.others {
				want = 9
			}
			g := fast()
			g.Call = time.Millisecond
			until(t, func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				return len(b.woken) >= want
			}, b.reconciler("one", l, time.Hour, g))
			if n := l.looks[bad.Name]; n != 1 {
				t.Errorf("the one that fails was looked at %d times", n)
			}
			if total := l.calls["pulls"]; !tc.others && total != 6 {
				t.Errorf("%d looks, want 6: none in the installation that was refused", total)
			}
		})
	}
}

func TestMoreToSee(t *testing.T) {
	for action, want := range map[string]bool{"created": true, "added": true, "unsuspend": true, "new_permissions_accepted": true,
		"deleted": false, "suspend": false, "removed": false} {
		if got := moreToSee([]handlers.Event{{Action: action}}); got != want {
			t.Errorf("%s: got %v", action, got)
		}
	}
	if !moreToSee(nil) {
		t.Error("a turn without events may have lost some")
	}
}
