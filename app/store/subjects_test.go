package store

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/countersign/countersign/handlers"
)

func TestNext(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, tc := range []struct {
		name string
		st   SubjectState
		at   time.Time // zero: nothing to do
	}{
		{"never", SubjectState{}, time.Time{}},
		{"idle", SubjectState{Want: 3, Urgent: 3, Done: 3}, time.Time{}},
		{"idle with leftovers", SubjectState{Want: 3, Urgent: 2, Done: 3, Due: in(time.Hour), Settle: in(time.Hour)}, time.Time{}},
		{"event", SubjectState{Want: 4, Urgent: 4, Done: 3}, now},
		{"wake", SubjectState{Want: 4, Urgent: 3, Done: 3, Due: in(time.Minute)}, in(time.Minute)},
		{"wake without a time", SubjectState{Want: 4, Urgent: 3, Done: 3}, now},
		{"event overrides a debounce", SubjectState{Want: 5, Urgent: 4, Done: 3, Due: in(time.Minute)}, now},
		{"settle holds an event", SubjectState{Want: 4, Urgent: 4, Done: 3, Settle: in(time.Second)}, in(time.Second)},
		{"settle holds a wake", SubjectState{Want: 4, Done: 3, Due: in(time.Second), Settle: in(time.Minute)}, in(time.Minute)},
		{"settle that is over", SubjectState{Want: 4, Urgent: 4, Done: 3, Settle: in(-time.Second)}, now},
		{"recheck", SubjectState{Want: 3, Done: 3, Recheck: in(time.Hour)}, in(time.Hour)},
		{"recheck before a wake", SubjectState{Want: 4, Done: 3, Due: in(time.Hour), Recheck: in(time.Minute)}, in(time.Minute)},
		{"wake before a recheck", SubjectState{Want: 4, Done: 3, Due: in(time.Minute), Recheck: in(time.Hour)}, in(time.Minute)},
		{"settle holds a recheck", SubjectState{Want: 3, Done: 3, Recheck: in(time.Second), Settle: in(time.Minute)}, in(time.Minute)},
	} {
		at, ok := tc.st.Next(now)
		if ok == tc.at.IsZero() || !at.Equal(tc.at) {
			t.Errorf("%s: got %v, %v; want %v", tc.name, at, ok, tc.at)
		}
	}
}

func TestRaiseSubjects(t *testing.T) { onBoth(t, testRaiseSubjects) }

func testRaiseSubjects(t *testing.T) {
	const giveUp = 12
	ctx, s := context.Background(), newSpineStore(t, nil)
	a, b := handlers.RepoSubject(1), handlers.RepoSubject(2)
	settle := time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond)
	raise := func(counts map[handlers.Subject]int) map[string]SubjectState {
		t.Helper()
		byKey := make(map[string]SubjectState)
		err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			states, err := s.RaiseSubjects(ctx, tx, counts, giveUp)
			for _, st := range states {
				byKey[st.Subject.Key] = st
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return byKey
	}
	if got := raise(map[handlers.Subject]int{a: 1, b: 2}); got[a.Key] != (SubjectState{Subject: a, Want: 1, Urgent: 1}) || got[b.Key] != (SubjectState{Subject: b, Want: 2, Urgent: 2}) {
		t.Errorf("first events: got %+v", got)
	}
	for attempts, want := range map[int]int{3: 3, giveUp: 0} {
		err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return s.SaveSubject(ctx, tx, SubjectState{Subject: a, Want: 5, Urgent: 2, Done: 4, Due: settle, Settle: settle, Recheck: settle, Attempts: attempts})
		})
		if err != nil {
			t.Fatal(err)
		}
		// The debounce is overridden, the settling is not.
		if got := raise(map[handlers.Subject]int{a: 3}); got[a.Key] != (SubjectState{Subject: a, Want: 8, Urgent: 8, Done: 4, Settle: settle, Recheck: settle, Attempts: want}) {
			t.Errorf("after %d attempts: got %+v", attempts, got)
		}
	}
}

func TestWakeSubject(t *testing.T) { onBoth(t, testWakeSubject) }

func testWakeSubject(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	ctx, s := context.Background(), newSpineStore(t, &now)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	subject := handlers.RepoSubject(1)
	for _, tc := range []struct {
		name    string
		before  SubjectState
		at      time.Time
		running bool
		due     time.Time
	}{
		{"idle", SubjectState{Want: 3, Done: 3}, in(time.Minute), false, in(time.Minute)},
		{"idle with a used-up time", SubjectState{Want: 3, Done: 3, Due: in(time.Second)}, in(time.Minute), false, in(time.Minute)},
		{"without a time", SubjectState{Want: 3, Done: 3}, time.Time{}, false, now},
		{"waiting, later", SubjectState{Want: 4, Done: 3, Due: in(time.Second)}, in(time.Minute), false, in(time.Second)},
		{"waiting, sooner", SubjectState{Want: 4, Done: 3, Due: in(time.Hour)}, in(time.Minute), false, in(time.Minute)},
		{"overdue in a backlog is not pushed away", SubjectState{Want: 4, Done: 3, Due: in(-time.Second)}, in(time.Minute), false, in(-time.Second)},
		{"running used its time up", SubjectState{Want: 4, Done: 3, Due: in(-time.Second)}, in(time.Minute), true, in(time.Minute)},
		{"running and woken before", SubjectState{Want: 5, Done: 3, Due: in(time.Second)}, in(time.Minute), true, in(time.Second)},
		{"given up", SubjectState{Want: 4, Done: 3, Attempts: 12}, in(time.Minute), false, in(time.Minute)},
	} {
		tc.before.Subject = subject
		var got SubjectState
		err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			if err := s.SaveSubject(ctx, tx, tc.before); err != nil {
				return err
			}
			got, err = s.WakeSubject(ctx, tx, subject, tc.at, tc.running, 12)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := tc.before
		want.Want, want.Due, want.Attempts = tc.before.Want+1, tc.due, 0
		if got != want {
			t.Errorf("%s: got %+v, want %+v", tc.name, got, want)
		}
		if stored, ok, err := s.Subject(ctx, s.db, subject.Key); err != nil || !ok || stored != want {
			t.Errorf("%s: stored %+v, %v, %v", tc.name, stored, ok, err)
		}
	}
}

func TestOpenSubjects(t *testing.T) { onBoth(t, testOpenSubjects) }

func testOpenSubjects(t *testing.T) {
	ctx, s := context.Background(), newSpineStore(t, nil)
	err := s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for key, st := range map[string]SubjectState{
			"a-open": {Want: 2, Done: 1}, "b-idle": {Want: 2, Done: 2}, "c-given-up": {Want: 2, Done: 1, Attempts: 12},
			"d-rechecks": {Want: 2, Done: 2, Recheck: time.Now().Add(time.Hour)}, "e-open": {Want: 2, Done: 1, Attempts: 11},
		} {
			st.Subject = handlers.Subject{Kind: handlers.SubjectRepo, Key: key}
			if err := s.SaveSubject(ctx, tx, st); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for after := ""; ; {
		states, err := s.OpenSubjects(ctx, s.db, after, 12, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range states {
			keys = append(keys, st.Subject.Key)
			after = st.Subject.Key
		}
		if len(states) < 2 {
			break
		}
	}
	if got, want := len(keys), 3; got != want || keys[0] != "a-open" || keys[1] != "d-rechecks" || keys[2] != "e-open" {
		t.Errorf("got %v, want a-open, d-rechecks, e-open", keys)
	}
}
