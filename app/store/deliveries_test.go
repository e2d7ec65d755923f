package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
)

func newDelivery(tb testing.TB, s *Store, guid string, subject handlers.Subject, at time.Time, payload string) NewDelivery {
	tb.Helper()
	d, err := s.Prepare(handlers.Delivery{
		Event:   handlers.Event{GUID: guid, Event: "push", ReceivedAt: at, BodySHA256: "00", Repo: forge.Repo{ID: 1}},
		Subject: subject, Payload: []byte(payload),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func saveDeliveries(tb testing.TB, s *Store, batch ...NewDelivery) (fresh []int) {
	tb.Helper()
	err := s.Tx(context.Background(), func(ctx context.Context, tx *sql.Tx) (err error) {
		fresh, err = s.SaveDeliveries(ctx, tx, batch)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return fresh
}

func mark(tb testing.TB, s *Store, guids ...string) {
	tb.Helper()
	err := s.Tx(context.Background(), func(ctx context.Context, tx *sql.Tx) error { return s.MarkRecorded(ctx, tx, guids) })
	if err != nil {
		tb.Fatal(err)
	}
}

func pendingGUIDs(tb testing.TB, s *Store, key string, seen map[int64]bool, limit int) (guids []string) {
	tb.Helper()
	events, err := s.PendingEvents(context.Background(), s.db, key, seen, limit)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range events {
		guids = append(guids, e.Event.GUID)
	}
	return guids
}

func TestCase051_DeliveryIsStoredOnce(t *testing.T) { onBoth(t, testCase051_DeliveryIsStoredOnce) }

func testCase051_DeliveryIsStoredOnce(t *testing.T) {
	s, now, repo := newSpineStore(t, nil), time.Now(), handlers.RepoSubject(1)
	a, b, c := newDelivery(t, s, "a", repo, now, "1"), newDelivery(t, s, "b", repo, now, "2"), newDelivery(t, s, "c", repo, now, "3")
	if got := saveDeliveries(t, s, a, b, a); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("a repeat inside a batch: got fresh %v, want [0 1]", got)
	}
	if got := saveDeliveries(t, s, b, c, a); !slices.Equal(got, []int{1}) {
		t.Errorf("repeats of an earlier batch: got fresh %v, want [1]", got)
	}
	if got := saveDeliveries(t, s, a); got != nil {
		t.Errorf("nothing but a repeat: got fresh %v", got)
	}
	if got := pendingGUIDs(t, s, repo.Key, nil, 10); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("pending: got %v", got)
	}
}

func TestPayloadComesBack(t *testing.T) { onBoth(t, testPayloadComesBack) }

func testPayloadComesBack(t *testing.T) {
	ctx, s := context.Background(), newSpineStore(t, nil)
	large := strings.Repeat(`{"a":"b"},`, 300_000)
	saveDeliveries(t, s, newDelivery(t, s, "empty", handlers.RepoSubject(1), time.Now(), ""), newDelivery(t, s, "large", handlers.RepoSubject(1), time.Now(), large))
	for guid, want := range map[string]string{"empty": "", "large": large} {
		raw, ok, err := s.Payload(ctx, s.db, guid)
		if err != nil || !ok || !bytes.Equal(raw, []byte(want)) {
			t.Errorf("%s: got %d bytes, %v, %v; want %d", guid, len(raw), ok, err, len(want))
		}
	}
	if _, ok, err := s.Payload(ctx, s.db, "unknown"); ok || err != nil {
		t.Errorf("unknown: got %v, %v", ok, err)
	}
	// A row that claims to be huge is not believed.
	if _, err := s.db.ExecContext(ctx, `UPDATE delivery_payloads SET body = $1`, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Payload(ctx, s.db, "large"); err == nil || !strings.Contains(err.Error(), "larger than a payload can be") {
		t.Errorf("forged length: got %v", err)
	}
}

func TestPendingEvents(t *testing.T) { onBoth(t, testPendingEvents) }

func testPendingEvents(t *testing.T) {
	s, repo := newSpineStore(t, nil), handlers.RepoSubject(1)
	var batch []NewDelivery
	for i := range 6 {
		batch = append(batch, newDelivery(t, s, fmt.Sprintf("d%d", i), repo, time.Now(), "x"))
	}
	batch = append(batch, newDelivery(t, s, "other", handlers.RepoSubject(2), time.Now(), "x"))
	saveDeliveries(t, s, batch...)
	mark(t, s, "d1", "unknown")
	if got := pendingGUIDs(t, s, repo.Key, nil, 3); !slices.Equal(got, []string{"d0", "d2", "d3"}) {
		t.Errorf("first three: got %v", got)
	}
	events, err := s.PendingEvents(context.Background(), s.db, repo.Key, nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for _, e := range events {
		seen[e.Seq] = true
	}
	if got := pendingGUIDs(t, s, repo.Key, seen, 3); !slices.Equal(got, []string{"d4", "d5"}) {
		t.Errorf("newer ones: got %v", got)
	}
}

func TestMarkRecordedManyAtOnce(t *testing.T) { onBoth(t, testMarkRecordedManyAtOnce) }

func testMarkRecordedManyAtOnce(t *testing.T) {
	s, repo := newSpineStore(t, nil), handlers.RepoSubject(1)
	var batch []NewDelivery
	var guids []string
	for i := range 1201 {
		guids = append(guids, fmt.Sprintf("d%d", i))
		batch = append(batch, newDelivery(t, s, guids[i], repo, time.Now(), "x"))
	}
	for chunk := range slices.Chunk(batch, 128) {
		saveDeliveries(t, s, chunk...)
	}
	mark(t, s, guids...)
	if got := pendingGUIDs(t, s, repo.Key, nil, 10); got != nil {
		t.Errorf("still pending: %v", got)
	}
}

func TestCase056_OlderStateOfAPullDoesNotWin(t *testing.T) {
	onBoth(t, testCase056_OlderStateOfAPullDoesNotWin)
}

func testCase056_OlderStateOfAPullDoesNotWin(t *testing.T) {
	ctx, s := context.Background(), newSpineStore(t, nil)
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	save := func(head string, at time.Time) bool {
		t.Helper()
		var saved bool
		err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			saved, err = s.SavePull(ctx, tx, Pull{Ref: forge.PullRef{Repo: forge.Repo{ID: 1, Owner: "acme", Name: "ledger", Installation: 5}, Number: 7}, HeadSHA: head, BaseRef: "main", DefaultBranch: "main", State: forge.PullOpen, UpdatedAt: at})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return saved
	}
	// Fractions and zones must not confuse the order.
	zone := time.FixedZone("", 2*3600)
	for i, step := range []struct {
		head  string
		at    time.Time
		saved bool
	}{
		{"B", at, true},
		{"A", at.Add(-time.Second), false},
		{"A", at.Add(-time.Second).In(zone), false},
		{"C", at.Add(time.Millisecond), true},
		{"B", at, false},
		{"D", at.Add(time.Millisecond), true}, // the same moment: the later call
	} {
		if saved := save(step.head, step.at); saved != step.saved {
			t.Errorf("step %d (%s): saved %v, want %v", i, step.head, saved, step.saved)
		}
	}
	p, ok, err := s.Pull(ctx, s.db, 1, 7)
	if err != nil || !ok || p.HeadSHA != "D" || p.Ref.Repo.Installation != 5 || !p.UpdatedAt.Equal(at.Add(time.Millisecond)) {
		t.Errorf("got %+v, %v, %v", p, ok, err)
	}
}

func TestCase061_PullsAreFoundByHead(t *testing.T) { onBoth(t, testCase061_PullsAreFoundByHead) }

func testCase061_PullsAreFoundByHead(t *testing.T) {
	ctx, s := context.Background(), newSpineStore(t, nil)
	err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for i, p := range []struct {
			head  string
			state forge.PullState
		}{{"S", forge.PullOpen}, {"S", forge.PullClosed}, {"T", forge.PullOpen}, {"S", forge.PullOpen}} {
			if _, err := s.SavePull(ctx, tx, Pull{Ref: forge.PullRef{Repo: forge.Repo{ID: 1}, Number: 280 + i}, HeadSHA: p.head, State: p.state, UpdatedAt: time.Now()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pulls, err := s.OpenPullsByHead(ctx, s.db, 1, "S")
	if err != nil || len(pulls) != 2 || pulls[0].Ref.Number != 280 || pulls[1].Ref.Number != 283 {
		t.Errorf("got %+v, %v", pulls, err)
	}
	if pulls, err := s.OpenPullsByHead(ctx, s.db, 2, "S"); err != nil || len(pulls) != 0 {
		t.Errorf("of another repository: got %+v, %v", pulls, err)
	}
}
