package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
)

// sweep is a store with a clock, and the pace of a reconciler.
type sweep struct {
	*Store
	t    *testing.T
	now  time.Time
	pace Pace
}

func newSweep(t *testing.T) *sweep {
	t.Helper()
	w := &sweep{t: t, now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), pace: Pace{Every: time.Hour, Call: 2 * time.Second, Wake: 10 * time.Second, Stale: 2 * time.Hour}}
	w.Store = newSpineStore(t, &w.now)
	w.must(w.ReconcilerStarts(t.Context(), "one", time.Minute))
	return w
}

func (w *sweep) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *sweep) claim(owner string) Look {
	w.t.Helper()
	l, ok, err := w.ClaimLook(w.t.Context(), owner, time.Minute)
	w.must(err)
	if !ok {
		w.t.Fatal("nothing is due")
	}
	return l
}

func (w *sweep) idle(what string) {
	w.t.Helper()
	l, ok, err := w.ClaimLook(w.t.Context(), "one", time.Minute)
	w.must(err)
	if ok {
		w.t.Fatalf("%s: %+v is due", what, l)
	}
}

// next takes the next finding, "" for none.
func (w *sweep) next() (name string) {
	w.t.Helper()
	w.must(w.Tx(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		f, ok, err := w.NextFinding(ctx, tx, w.pace)
		if ok {
			name = fmt.Sprintf("%d:%d", f.Pull.Repo.ID, f.Pull.Number)
		}
		return err
	}))
	return name
}

func (w *sweep) listed(installation int64, repos ...int64) {
	w.t.Helper()
	l := w.claim("one")
	if l.Installation == 0 {
		w.must(w.LookedAtApp(w.t.Context(), l, []forge.Installation{{ID: installation}}, 0, w.pace))
		w.now = w.now.Add(w.pace.Call)
		l = w.claim("one")
	}
	var list []forge.ListedRepo
	for _, id := range repos {
		list = append(list, forge.ListedRepo{Repo: forge.Repo{ID: id, Owner: "acme", Name: fmt.Sprint(id), Installation: installation}, OpenCount: 1})
	}
	w.must(w.LookedAtRepos(w.t.Context(), l, list, 0, w.pace))
	w.now = w.now.Add(w.pace.Call)
}

func finding(l Look, number int, updated time.Time) session.Finding {
	return session.Finding{Pull: forge.PullRef{Repo: l.Repo, Number: number}, Reason: session.FoundNone, Seen: "none", UpdatedAt: updated, FoundAt: updated}
}

// One call at a time for an installation, and one every so often; a claim that ended
// is lost, and so is what it read.
func TestLooksAreClaimed(t *testing.T) { onBoth(t, testLooksAreClaimed) }

func testLooksAreClaimed(t *testing.T) {
	w := newSweep(t)
	w.listed(5, 50, 51)
	first := w.claim("one")
	w.idle("while a look is under way")
	w.now = w.now.Add(2 * time.Minute)
	second := w.claim("two")
	if first.Repo.ID != second.Repo.ID {
		t.Errorf("the look at %d was dropped for one at %d", first.Repo.ID, second.Repo.ID)
	}
	if err := w.LookedAtPulls(t.Context(), first, forge.PullsPage{}, []session.Finding{finding(first, 1, w.now)}, w.pace); !errors.Is(err, ErrLookLost) {
		t.Errorf("the claim that ended: %v", err)
	}
	w.must(w.LookedAtPulls(t.Context(), second, forge.PullsPage{}, nil, w.pace))
	w.idle("right after a call")
	w.now = w.now.Add(w.pace.Call)
	third := w.claim("one")
	if third.Repo.ID == second.Repo.ID {
		t.Errorf("repository %d is looked at again", third.Repo.ID)
	}
	w.must(w.ReconcileSoon(t.Context(), 5)) // an event: what is read now may be old
	if err := w.LookFailed(t.Context(), third, errors.New("late"), w.pace); !errors.Is(err, ErrLookLost) {
		t.Errorf("a look from before the event: %v", err)
	}
	if l := w.claim("one"); l.Page != 1 || l.Installation != 5 {
		t.Errorf("after the event: %+v, want the list", l)
	}
	if w.next() != "" {
		t.Error("a look that was lost has found something")
	}
}

// A look goes on where it was, also in another process; what no page showed is found
// as closed, and what came while it was read is not.
func TestLookGoesOnAndFindsClosed(t *testing.T) { onBoth(t, testLookGoesOnAndFindsClosed) }

func testLookGoesOnAndFindsClosed(t *testing.T) {
	w := newSweep(t)
	w.listed(5, 50)
	save := func(number int, at time.Time) {
		t.Helper()
		w.must(w.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := w.SavePull(ctx, tx, Pull{Ref: forge.PullRef{Repo: forge.Repo{ID: 50, Owner: "acme", Name: "50", Installation: 5}, Number: number},
				HeadSHA: "h", BaseRef: "main", DefaultBranch: "main", State: forge.PullOpen, UpdatedAt: at})
			return err
		}))
	}
	for n := 1; n <= 3; n++ {
		save(n, w.now.Add(-time.Hour))
	}
	l := w.claim("one")
	w.must(w.LookedAtPulls(t.Context(), l, forge.PullsPage{Pulls: []forge.OpenPull{{Number: 1}}, Next: "cursor"}, nil, w.pace))
	w.must(w.ReconcilerStarts(t.Context(), "one", time.Minute)) // a restart
	w.now = w.now.Add(w.pace.Call)
	save(4, w.now)
	list := w.claim("one") // the lists come first again
	if list.Installation == 0 {
		w.must(w.LookedAtApp(t.Context(), list, []forge.Installation{{ID: 5}}, 0, w.pace))
		w.now = w.now.Add(w.pace.Call)
		list = w.claim("one")
	}
	w.must(w.LookedAtRepos(t.Context(), list, []forge.ListedRepo{{Repo: l.Repo, OpenCount: 4}}, 0, w.pace))
	w.now = w.now.Add(w.pace.Call)
	more := w.claim("two")
	if more.After != "cursor" || !more.Began.Equal(l.Began) {
		t.Fatalf("it goes on with %+v", more)
	}
	w.must(w.LookedAtPulls(t.Context(), more, forge.PullsPage{Pulls: []forge.OpenPull{{Number: 3}}}, nil, w.pace))
	if got := w.next(); got != "50:2" {
		t.Errorf("found %q, want the one that no page showed", got)
	}
	w.now = w.now.Add(w.pace.Wake)
	if got := w.next(); got != "" {
		t.Errorf("found %q too", got)
	}
}

// The newest is woken first, one every so often in an installation; another one does
// not wait for it.
func TestFindingsAreWokenGently(t *testing.T) { onBoth(t, testFindingsAreWokenGently) }

func testFindingsAreWokenGently(t *testing.T) {
	w := newSweep(t)
	w.listed(5, 50, 51)
	at := w.now
	for range 2 {
		l := w.claim("one")
		w.must(w.LookedAtPulls(t.Context(), l, forge.PullsPage{}, []session.Finding{
			finding(l, 1, at.Add(time.Duration(l.Repo.ID)*time.Second)), finding(l, 2, at.Add(time.Duration(l.Repo.ID+10)*time.Second))}, w.pace))
		w.now = w.now.Add(w.pace.Call)
	}
	var woken []string
	for range 5 {
		woken = append(woken, w.next())
		if again := w.next(); again != "" {
			t.Errorf("%s is woken at once after %s", again, woken[len(woken)-1])
		}
		w.now = w.now.Add(w.pace.Wake)
	}
	if got := fmt.Sprint(woken); got != "[51:2 50:2 51:1 50:1 ]" {
		t.Errorf("woken %s", got)
	}
}

// The same is found again only after a while, which doubles up to a day; something
// else at once.
func TestFindingsBackOff(t *testing.T) { onBoth(t, testFindingsBackOff) }

func testFindingsBackOff(t *testing.T) {
	w := newSweep(t)
	w.listed(5, 50)
	times, f := 0, session.Finding{}
	for hour := range 7 * 24 {
		l := Look{Repo: forge.Repo{ID: 50, Installation: 5, Owner: "acme", Name: "50"}}
		f = finding(l, 1, w.now)
		w.must(w.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return w.raise(ctx, tx, f, w.now, w.pace) }))
		if w.next() != "" {
			times++
			found, ok, err := w.Finding(t.Context(), 50, 1)
			w.must(err)
			if !ok || found.Reason != session.FoundNone {
				t.Fatalf("hour %d: the turn finds %+v", hour, found)
			}
			w.must(w.SettleFinding(t.Context(), found))
		}
		w.now = w.now.Add(time.Hour)
	}
	if times < 9 || times > 13 { // 1, 2, 4, 8, 16 hours, then daily
		t.Errorf("found %d times in a week", times)
	}
	f.Seen, f.FoundAt = "something else", w.now
	w.must(w.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return w.raise(ctx, tx, f, w.now, w.pace) }))
	if w.next() == "" {
		t.Error("something else is not woken")
	}
	old := f
	old.FoundAt = f.FoundAt.Add(-time.Second)
	w.must(w.SettleFinding(t.Context(), old))
	if _, ok, err := w.Finding(t.Context(), 50, 1); err != nil || !ok {
		t.Errorf("a newer finding was settled with an older one: %v", err)
	}
}

// What happened while no process was there is lost: everything is due. While another
// one was there, nothing is.
func TestStartMakesDueOnlyAfterAnAbsence(t *testing.T) {
	onBoth(t, testStartMakesDueOnlyAfterAnAbsence)
}

func testStartMakesDueOnlyAfterAnAbsence(t *testing.T) {
	for _, tc := range []struct {
		name  string
		owner string
		after time.Duration
		due   bool
	}{
		{"a restart", "one", time.Second, true},
		{"another joins", "two", time.Second, false},
		{"another, after an absence", "two", 10 * time.Minute, true},
	} {
		w := newSweep(t)
		w.listed(5, 50)
		w.must(w.LookedAtPulls(t.Context(), w.claim("one"), forge.PullsPage{}, nil, w.pace))
		w.now = w.now.Add(w.pace.Call)
		w.idle(tc.name)
		w.must(w.ReconcilerAlive(t.Context(), "one"))
		w.now = w.now.Add(tc.after)
		w.must(w.ReconcilerStarts(t.Context(), tc.owner, time.Minute))
		if _, due, err := w.ClaimLook(t.Context(), tc.owner, time.Minute); err != nil || due != tc.due {
			t.Errorf("%s: due %v, %v; want %v", tc.name, due, err, tc.due)
		}
	}
}

// What the lists no longer name is forgotten, and what is archived is never looked at.
func TestListsForget(t *testing.T) { onBoth(t, testListsForget) }

func testListsForget(t *testing.T) {
	w := newSweep(t)
	w.listed(5, 50, 51)
	w.must(w.ReconcileSoon(t.Context(), 5))
	l := w.claim("one")
	w.must(w.LookedAtRepos(t.Context(), l, []forge.ListedRepo{{Repo: forge.Repo{ID: 50, Owner: "acme", Name: "new-name", Installation: 5}, OpenCount: 1},
		{Repo: forge.Repo{ID: 51, Owner: "acme", Name: "51", Installation: 5}, OpenCount: 1, Inactive: true}}, 0, w.pace))
	w.now = w.now.Add(w.pace.Call)
	if l := w.claim("one"); l.Repo.Name != "new-name" {
		t.Errorf("looks at %+v", l.Repo)
	} else {
		w.must(w.LookedAtPulls(t.Context(), l, forge.PullsPage{}, nil, w.pace))
	}
	w.now = w.now.Add(w.pace.Call)
	w.idle("the archived one")
	w.now = w.now.Add(w.pace.Every)
	app := w.claim("one")
	if app.Installation != 0 {
		t.Fatalf("looks at %+v, want the App's list", app)
	}
	w.must(w.LookedAtApp(t.Context(), app, nil, 0, w.pace))
	w.now = w.now.Add(w.pace.Call)
	w.idle("an installation that is gone")
}
