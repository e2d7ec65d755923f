package queue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/app/store/pgtest"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/forge"
)

// patience bounds every wait of a test; what it waits for takes milliseconds.
const patience = 30 * time.Second

// postgres is the server behind the tests of both databases.
var postgres pgtest.Shared

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// onBoth runs a test on SQLite and on PostgreSQL; tempStore opens the one that the
// test's name says.
func onBoth(t *testing.T, test func(*testing.T)) {
	t.Run("sqlite", test)
	t.Run("postgres", test)
}

func onPostgres(tb testing.TB) bool { return strings.Contains(tb.Name(), "/postgres") }

func openStore(tb testing.TB, opts store.Options) *store.Store {
	tb.Helper()
	opts.Logger = zerolog.Nop()
	s, err := store.Open(context.Background(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return s
}

func tempStore(tb testing.TB) *store.Store {
	tb.Helper()
	if onPostgres(tb) {
		return openStore(tb, store.Options{URL: postgres.Database(tb)})
	}
	return openStore(tb, store.Options{Path: filepath.Join(tb.TempDir(), "countersign.db")})
}

func allRunners(r Runner) map[handlers.SubjectKind]Runner {
	return map[handlers.SubjectKind]Runner{
		handlers.SubjectPull: r, handlers.SubjectHead: r, handlers.SubjectRepo: r, handlers.SubjectInstallation: r,
	}
}

func newQueue(tb testing.TB, o Options) *Queue {
	tb.Helper()
	if o.Store == nil {
		o.Store = tempStore(tb)
	}
	if o.StopGrace == 0 {
		o.StopGrace = 100 * time.Millisecond
	}
	q, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { stop(tb, q) })
	return q
}

func startQueue(tb testing.TB, o Options) *Queue {
	tb.Helper()
	q := newQueue(tb, o)
	if err := q.Start(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return q
}

func stop(tb testing.TB, q *Queue) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		tb.Errorf("stop: %v", err)
	}
}

func delivery(guid string, subject handlers.Subject) handlers.Delivery {
	return handlers.Delivery{
		Event: handlers.Event{
			GUID: guid, Event: "pull_request", Action: "synchronize", ReceivedAt: time.Now().UTC(), BodySHA256: "00",
			Repo: forge.Repo{ID: 1, Owner: "acme", Name: "ledger", Installation: 5}, Pull: 7,
		},
		Subject: subject,
		Payload: []byte(`{"number":7}`),
	}
}

func accept(tb testing.TB, q *Queue, guid string, subject handlers.Subject) {
	tb.Helper()
	fresh, err := q.Accept(context.Background(), delivery(guid, subject))
	if err != nil {
		tb.Fatalf("accept %s: %v", guid, err)
	}
	if !fresh {
		tb.Fatalf("accept %s: want a fresh delivery, got a repeat", guid)
	}
}

// receive waits for a value, so that no test sleeps.
func receive[T any](tb testing.TB, ch <-chan T, what string) T {
	tb.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		tb.Fatalf("waited %s for %s", patience, what)
		panic("unreachable")
	}
}

// until polls a condition of the database.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatalf("waited %s until %s", patience, what)
		}
	}
}

func subjectState(tb testing.TB, s *store.Store, key string) store.SubjectState {
	tb.Helper()
	st, _, err := s.Subject(context.Background(), s.DB(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return st
}

func isIdle(tb testing.TB, s *store.Store, key string) func() bool {
	return func() bool {
		st := subjectState(tb, s, key)
		return st.Want > 0 && st.Want == st.Done
	}
}

func pull(n int) handlers.Subject { return handlers.PullSubject(1, n) }

func guids(events []handlers.Event) []string {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.GUID
	}
	return ids
}

func count(tb testing.TB, s *store.Store, query string, args ...any) (n int) {
	tb.Helper()
	if err := s.DB().QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

func id(format string, args ...any) string { return fmt.Sprintf(format, args...) }
