package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

const (
	pubHeadA = "3f2a9c1b7d5e4f60718293a4b5c6d7e8f9012345"
	pubHeadB = "8c1f02d0a1b2c3d4e5f60718293a4b5c6d7e8f90"
)

func pubRepo() forge.Repo { return forge.Repo{ID: 42, Owner: "acme", Name: "api", Installation: 9} }

func pubKey(head, name string) publish.Key {
	return publish.Key{RepoID: 42, HeadSHA: head, Name: name}
}

func pubView(pull int, head string, state publish.State) publish.View {
	return publish.View{
		Pull: forge.PullRef{Repo: pubRepo(), Number: pull}, PullURL: fmt.Sprintf("https://github.com/acme/api/pull/%d", pull),
		BaseRef: "main", HeadSHA: head, SessionID: fmt.Sprint("s", pull), State: state,
		Assessment: risk.Assessment{Tier: risk.High, Signals: []risk.Signal{{Rule: "auth", Floor: risk.High, Files: []string{"a.go"}}}},
	}
}

func pubClock() time.Time { return time.Date(2026, 11, 30, 18, 0, 0, 123456000, time.UTC) }

func claim(t *testing.T, s *Store, owner string, now time.Time, name string, v publish.View) publish.Claimed {
	t.Helper()
	c, err := s.ClaimPublication(t.Context(), publish.Claim{
		Key: pubKey(v.HeadSHA, name), Repo: pubRepo(), Owner: owner, Now: now, Until: now.Add(time.Minute), View: v,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPublicationRoundTrip(t *testing.T) { onBoth(t, testPublicationRoundTrip) }

func testPublicationRoundTrip(t *testing.T) {
	s := openTrail(t)
	v := pubView(7, pubHeadA, publish.StateInProgress)
	got := claim(t, s, "one", pubClock(), publish.CheckName, v)
	want := publish.Publication{
		Key: pubKey(pubHeadA, publish.CheckName), Repo: pubRepo(), UpdatedAt: pubClock(),
		Owner: "one", LeaseUntil: pubClock().Add(time.Minute), Fence: 1,
	}
	if !got.Granted || !reflect.DeepEqual(got.Publication, want) {
		t.Errorf("claimed %+v, want %+v", got.Publication, want)
	}
	if len(got.Views) != 1 || !reflect.DeepEqual(got.Views[0], v) {
		t.Errorf("views %+v, want %+v", got.Views, v)
	}
	full := want
	full.CheckRunID, full.ExternalID, full.SessionID, full.RerunFor = 11, "7:main:s7", "s7", "s6"
	full.StartedAt, full.Creating, full.PriorRunID, full.Suspect = pubClock(), true, 10, true
	full.Status, full.Conclusion, full.Title, full.Digest, full.Intended = "completed", "failure", "High · x", "d1", "d2"
	full.Annotated, full.Annotating = "a1", "a2"
	// A test over every field: a column that is forgotten would come back empty.
	for i := range reflect.TypeOf(full).NumField() {
		if reflect.ValueOf(full).Field(i).IsZero() {
			t.Errorf("field %s is not set by this test", reflect.TypeOf(full).Field(i).Name)
		}
	}
	if err := s.SavePublication(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	open, err := s.OpenPublications(t.Context(), 42, 7)
	if err != nil || len(open) != 1 || !reflect.DeepEqual(open[0], full) {
		t.Errorf("read back %+v, %v, want %+v", open, err, full)
	}
}

func TestPublicationClaims(t *testing.T) { onBoth(t, testPublicationClaims) }

func testPublicationClaims(t *testing.T) {
	s := openTrail(t)
	v := pubView(7, pubHeadA, publish.StateInProgress)
	first := claim(t, s, "one", pubClock(), publish.CheckName, v)
	if c := claim(t, s, "two", pubClock(), publish.CheckName, v); c.Granted || c.Publication.Owner != "one" {
		t.Errorf("a held key was granted: %+v", c)
	}
	if c := claim(t, s, "two", pubClock(), publish.AdvisoryName, v); !c.Granted {
		t.Error("another name is another key")
	}
	again := claim(t, s, "one", pubClock(), publish.CheckName, v)
	if !again.Granted || again.Publication.Fence != 2 {
		t.Errorf("the owner's own claim: %+v", again)
	}
	if err := s.SavePublication(t.Context(), first.Publication); !errors.Is(err, publish.ErrClaimLost) {
		t.Errorf("an old claim saved: %v", err)
	}
	late := claim(t, s, "two", pubClock().Add(2*time.Minute), publish.CheckName, v)
	if !late.Granted || late.Publication.Fence != 3 {
		t.Errorf("an ended claim was not free: %+v", late)
	}
	late.Publication.LeaseUntil = time.Time{}
	if err := s.SavePublication(t.Context(), late.Publication); err != nil {
		t.Fatal(err)
	}
	if c := claim(t, s, "three", pubClock().Add(2*time.Minute), publish.CheckName, v); !c.Granted {
		t.Error("a key that was given back was not free")
	}
}

func pulls(views []publish.View) string {
	var out []string
	for _, v := range views {
		out = append(out, fmt.Sprintf("%d:%s", v.Pull.Number, v.State))
	}
	return fmt.Sprint(out)
}

func TestPublicationViewsFollowTheirPullRequest(t *testing.T) {
	onBoth(t, testPublicationViewsFollowTheirPullRequest)
}

func testPublicationViewsFollowTheirPullRequest(t *testing.T) {
	s := openTrail(t)
	steps := []struct {
		name  string
		check string
		view  publish.View
		want  string
	}{
		{"first", publish.CheckName, pubView(7, pubHeadA, publish.StateInProgress), "[7:in_progress]"},
		{"another on the same head", publish.CheckName, pubView(9, pubHeadA, publish.StateDraft), "[9:draft 7:in_progress]"},
		{"the first again", publish.CheckName, pubView(7, pubHeadA, publish.StatePaused), "[7:paused 9:draft]"},
		{"its base is no longer gated", publish.AdvisoryName, pubView(7, pubHeadA, publish.StatePaused), "[7:paused]"},
		{"so the other is alone", publish.CheckName, pubView(9, pubHeadA, publish.StateDraft), "[9:draft]"},
		{"back again", publish.CheckName, pubView(7, pubHeadA, publish.StatePaused), "[7:paused 9:draft]"},
		{"on to a new head", publish.CheckName, pubView(7, pubHeadB, publish.StateInProgress), "[7:in_progress]"},
		{"whose old one is superseded", publish.CheckName, pubView(7, pubHeadA, publish.StateSuperseded), "[7:superseded 9:draft]"},
		{"which takes nothing from the new one", publish.CheckName, pubView(9, pubHeadB, publish.StateDraft), "[9:draft 7:in_progress]"},
		{"closed", publish.CheckName, pubView(9, pubHeadB, publish.StateClosed), "[9:closed 7:in_progress]"},
		{"and gone", publish.CheckName, pubView(7, pubHeadB, publish.StateDraft), "[7:draft]"},
	}
	for _, tt := range steps {
		if got := pulls(claim(t, s, "one", pubClock(), tt.check, tt.view).Views); got != tt.want {
			t.Errorf("%s: views %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A check that was posted before annotations were kept has none, as far as we know.
func TestPublicationFromBeforeAnnotations(t *testing.T) {
	s := openTrail(t)
	dir, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.db, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), 30); err != nil {
		t.Fatal(err)
	}
	_, err = s.db.ExecContext(t.Context(), `INSERT INTO publications (repo_id, head_sha, name, owner, repo, installation, check_run_id, status, title, updated_at)
		VALUES (42, $1, $2, 'acme', 'api', 9, 11, 'completed', 'High', 1)`, pubHeadA, publish.CheckName)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := claim(t, s, "one", pubClock(), publish.CheckName, pubView(7, pubHeadA, publish.StateInProgress)).Publication
	if got.CheckRunID != 11 || got.Title != "High" || got.Annotated != "" || got.Annotating != "" {
		t.Errorf("an old row reads as %+v", got)
	}
}

// More pull requests on one head than a check can speak for: it still speaks for
// the one at hand and for the worst.
func TestPublicationViewsBeyondTheBound(t *testing.T) { onBoth(t, testPublicationViewsBeyondTheBound) }

func testPublicationViewsBeyondTheBound(t *testing.T) {
	s := openTrail(t)
	const worst, last = maxJoinedViews + 40, maxJoinedViews + 60
	for n := 1; n <= last; n++ {
		state := publish.StateDraft
		if n == worst {
			state = publish.StateInProgress
		}
		c := publish.Claim{Key: pubKey(pubHeadA, publish.CheckName), Repo: pubRepo(), Now: pubClock(), View: pubView(n, pubHeadA, state)}
		raw, err := json.Marshal(c.View)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := s.publicationRow(ctx, tx, c); err != nil {
				return err
			}
			return putView(ctx, tx, c, s.codec.pack(raw))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []int{1, 7, maxJoinedViews, worst, last} {
		state := publish.StateDraft
		if at == worst {
			state = publish.StateInProgress
		}
		views := claim(t, s, "one", pubClock(), publish.CheckName, pubView(at, pubHeadA, state)).Views
		if len(views) != maxJoinedViews || views[0].Pull.Number != at {
			t.Errorf("publishing %d: %d views, the first of %d", at, len(views), views[0].Pull.Number)
		}
		if got := publish.Join(views).Worst.Pull.Number; got != worst {
			t.Errorf("publishing %d: the worst is %d, want %d", at, got, worst)
		}
	}
}

func TestOpenAndStalePublications(t *testing.T) { onBoth(t, testOpenAndStalePublications) }

func testOpenAndStalePublications(t *testing.T) {
	s := openTrail(t)
	save := func(head string, at time.Time, change func(*publish.Publication)) {
		t.Helper()
		p := claim(t, s, "one", at, publish.CheckName, pubView(7, head, publish.StateInProgress)).Publication
		p.UpdatedAt, p.LeaseUntil = at, time.Time{}
		change(&p)
		if err := s.SavePublication(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	save(pubHeadA, pubClock(), func(p *publish.Publication) { p.CheckRunID, p.Status = 1, "in_progress" })
	save(pubHeadB, pubClock().Add(time.Hour), func(p *publish.Publication) { p.CheckRunID, p.Status, p.Conclusion = 2, "completed", "success" })
	open, err := s.OpenPublications(t.Context(), 42, 7)
	if err != nil || len(open) != 2 || open[0].Key.HeadSHA != pubHeadA || open[1].Key.HeadSHA != pubHeadB {
		t.Errorf("open = %+v, %v, want the one that waits and the one that speaks", open, err)
	}
	claim(t, s, "one", pubClock().Add(2*time.Hour), publish.CheckName, pubView(7, pubHeadB, publish.StateClosed))
	if open, err = s.OpenPublications(t.Context(), 42, 7); err != nil || len(open) != 1 || open[0].Key.HeadSHA != pubHeadA {
		t.Errorf("open = %+v, %v, want the one that waits", open, err)
	}
	if other, err := s.OpenPublications(t.Context(), 42, 8); err != nil || len(other) != 0 {
		t.Errorf("another pull request's = %+v, %v", other, err)
	}
	for _, tt := range []struct {
		before time.Time
		want   int
	}{{pubClock(), 0}, {pubClock().Add(time.Minute), 1}} {
		if stale, err := s.StalePublications(t.Context(), tt.before, 10); err != nil || len(stale) != tt.want {
			t.Errorf("stale before %v = %+v, %v, want %d", tt.before, stale, err, tt.want)
		}
	}
}

// pubForge counts check runs and notices requests that overlap.
type pubForge struct {
	mu      sync.Mutex
	created int
	shown   forge.CheckWrite
	busy    bool
	overlap bool
}

func (f *pubForge) enter(w forge.CheckWrite) {
	f.mu.Lock()
	f.overlap = f.overlap || f.busy
	f.busy, f.shown = true, w
	f.mu.Unlock()
	f.mu.Lock()
	f.busy = false
	f.mu.Unlock()
}

func (f *pubForge) CreateCheck(_ context.Context, _ forge.Repo, w forge.CheckWrite) (int64, error) {
	f.enter(w)
	f.created++
	return int64(f.created), nil
}

func (f *pubForge) UpdateCheck(_ context.Context, _ forge.Repo, _ int64, w forge.CheckWrite) error {
	f.enter(w)
	return nil
}

func (f *pubForge) OwnChecks(context.Context, forge.Repo, string, string) ([]forge.Check, error) {
	return nil, nil
}

// Two processes publish for four pull requests on one head: one check run, one
// writer at a time, and in the end the worst of the four.
func TestPublishersShareTheDatabase(t *testing.T) { onBoth(t, testPublishersShareTheDatabase) }

func testPublishersShareTheDatabase(t *testing.T) {
	s := openTrail(t)
	f := &pubForge{}
	var publishers []*publish.Publisher
	for _, owner := range []string{"one", "two"} {
		p, err := publish.New(publish.Options{Store: s, Owner: owner, Poll: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		publishers = append(publishers, p)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			v := pubView(i%4+1, pubHeadA, publish.StateInProgress)
			if i%4 == 2 {
				v.State, v.PausedBy = publish.StatePaused, "ada"
			}
			if _, err := publishers[i%2].Publish(t.Context(), f, pubRepo(), publish.CheckName, v, publish.PublishOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f.created != 1 || f.overlap {
		t.Errorf("%d check runs, overlapping writes: %v", f.created, f.overlap)
	}
	if f.shown.Title != "High · reading the pull request" {
		t.Errorf("the check shows %q, want what waits before what needs a person", f.shown.Title)
	}
	if open, err := s.OpenPublications(t.Context(), 42, 3); err != nil || len(open) != 1 || open[0].Owner != "" {
		t.Errorf("open = %+v, %v, want one that nobody holds", open, err)
	}
}
