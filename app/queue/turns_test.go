package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/handlers"
)

// witness checks what must hold of all turns: never two of a subject at once,
// and every event is seen by a turn that succeeds.
type witness struct {
	t       *testing.T
	mu      sync.Mutex
	running map[string]bool
	seen    map[string]bool
}

func newWitness(t *testing.T) *witness {
	return &witness{t: t, running: make(map[string]bool), seen: make(map[string]bool)}
}

func (w *witness) enter(turn Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[turn.Subject.Key] {
		w.t.Errorf("two turns of %s at once", turn.Subject)
	}
	w.running[turn.Subject.Key] = true
}

func (w *witness) leave(turn Turn, succeeded bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, turn.Subject.Key)
	for _, e := range turn.Events {
		if succeeded && w.seen[e.GUID] {
			w.t.Errorf("event %s was given to two turns that succeeded", e.GUID)
		}
		w.seen[e.GUID] = w.seen[e.GUID] || succeeded
	}
}

// TestNoLostWakeUp sends thousands of events at random to subjects whose turns
// take varying times, fail, panic and wake each other.
func TestNoLostWakeUp(t *testing.T) { onBoth(t, testNoLostWakeUp) }

func testNoLostWakeUp(t *testing.T) {
	const subjects, senders, each = 12, 8, 250
	w := newWitness(t)
	run := func(_ context.Context, turn Turn) (out Outcome, err error) {
		w.enter(turn)
		// A panic counts as a failure, so leave runs last.
		ok := false
		defer func() { w.leave(turn, ok) }()
		for range rand.IntN(3000) { // work of varying length, without sleeping
			rand.Uint64()
		}
		switch rand.IntN(20) {
		case 0:
			return Outcome{}, errors.New("failed at random")
		case 1:
			panic("panicked at random")
		case 2:
			out.Wake = []Wake{{Subject: pull(rand.IntN(subjects)), NotBefore: time.Now().Add(time.Duration(rand.IntN(5)) * time.Millisecond)}}
		case 3:
			out.Settle = 2 * time.Millisecond
		}
		ok = true
		return out, nil
	}
	q := startQueue(t, Options{Runners: allRunners(run), MaxAttempts: 1000, Backoff: []time.Duration{time.Millisecond}})
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				accept(t, q, id("s%d-%d", s, i), pull(rand.IntN(subjects)))
			}
		})
	}
	wg.Wait()
	until(t, "all subjects are idle", func() bool {
		return count(t, q.store, `SELECT count(*) FROM subjects WHERE want_gen <> done_gen`) == 0
	})
	stop(t, q)
	if got := len(w.seen); got != senders*each {
		t.Errorf("turns saw %d events of %d", got, senders*each)
	}
	for guid, ok := range w.seen {
		if !ok {
			t.Errorf("event %s was in no turn that succeeded", guid)
		}
	}
	if n := count(t, q.store, `SELECT count(*) FROM deliveries WHERE state <> 'recorded'`); n != 0 {
		t.Errorf("%d deliveries are not recorded", n)
	}
	if n := count(t, q.store, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state <> 'completed'`); n != 0 {
		t.Errorf("%d jobs are still open", n)
	}
}

func TestDebounce(t *testing.T) { onBoth(t, testDebounce) }

func testDebounce(t *testing.T) {
	const delay = 200 * time.Millisecond
	began := make(chan time.Time, 10)
	run := func(_ context.Context, turn Turn) (Outcome, error) {
		if turn.Subject.Kind == handlers.SubjectHead {
			due := time.Now().Add(delay)
			return Outcome{Wake: []Wake{{Subject: pull(7), NotBefore: due}}}, nil
		}
		began <- time.Now()
		return Outcome{}, nil
	}
	q := startQueue(t, Options{Runners: allRunners(run)})
	head := handlers.HeadSubject(1, "abc")
	sent := time.Now()
	for i := range 5 {
		accept(t, q, id("h-%d", i), head)
	}
	until(t, "the head is idle", isIdle(t, q.store, head.Key))
	first := receive(t, began, "the debounced turn")
	if waited := first.Sub(sent); waited < delay {
		t.Errorf("the turn began after %s, want at least %s", waited, delay)
	}
	until(t, "the pull is idle", isIdle(t, q.store, pull(7).Key))
	if n := len(began); n != 0 {
		t.Errorf("%d more turns: wakes of one debounce must coalesce", n)
	}
}

func TestUrgentEventOverridesDebounce(t *testing.T) { onBoth(t, testUrgentEventOverridesDebounce) }

func testUrgentEventOverridesDebounce(t *testing.T) {
	began := make(chan Turn, 10)
	run := func(_ context.Context, turn Turn) (Outcome, error) {
		if turn.Subject.Kind == handlers.SubjectHead {
			return Outcome{Wake: []Wake{{Subject: pull(7), NotBefore: time.Now().Add(time.Hour)}}}, nil
		}
		began <- turn
		return Outcome{}, nil
	}
	q := startQueue(t, Options{Runners: allRunners(run)})
	head := handlers.HeadSubject(1, "abc")
	accept(t, q, "h-1", head)
	until(t, "the head is idle", isIdle(t, q.store, head.Key))
	if st := subjectState(t, q.store, pull(7).Key); st.Want != 1 || st.Done != 0 || time.Until(st.Due) < 30*time.Minute {
		t.Fatalf("after the wake: got %+v", st)
	}
	accept(t, q, "urgent", pull(7))
	turn := receive(t, began, "the urgent turn")
	if got := guids(turn.Events); !slices.Equal(got, []string{"urgent"}) {
		t.Errorf("events: got %v", got)
	}
	until(t, "the pull is idle: the debounced wake is used up", isIdle(t, q.store, pull(7).Key))
	if n := count(t, q.store, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state <> 'completed'`); n != 0 {
		t.Errorf("%d jobs are still open", n)
	}
}

func TestWakeDuringTheTurnIsNotLost(t *testing.T) { onBoth(t, testWakeDuringTheTurnIsNotLost) }

func testWakeDuringTheTurnIsNotLost(t *testing.T) {
	inPull, finish := make(chan Turn, 10), make(chan struct{}, 10)
	run := func(_ context.Context, turn Turn) (Outcome, error) {
		if turn.Subject.Kind == handlers.SubjectHead {
			return Outcome{Wake: []Wake{{Subject: pull(7)}}}, nil
		}
		inPull <- turn
		<-finish
		return Outcome{}, nil
	}
	q := startQueue(t, Options{Runners: allRunners(run)})
	accept(t, q, "p-1", pull(7))
	receive(t, inPull, "the pull's turn")
	head := handlers.HeadSubject(1, "abc")
	accept(t, q, "h-1", head)
	until(t, "the head is idle", isIdle(t, q.store, head.Key))
	finish <- struct{}{}
	second := receive(t, inPull, "the turn for the wake")
	if len(second.Events) != 0 || second.Generation != 2 {
		t.Errorf("second turn: got %+v", second)
	}
	finish <- struct{}{}
	until(t, "the pull is idle", isIdle(t, q.store, pull(7).Key))
}

func TestSettleHoldsBackEvents(t *testing.T) { onBoth(t, testSettleHoldsBackEvents) }

func testSettleHoldsBackEvents(t *testing.T) {
	const settle = 250 * time.Millisecond
	ended := make(chan time.Time, 10)
	q := startQueue(t, Options{Runners: allRunners(func(context.Context, Turn) (Outcome, error) {
		ended <- time.Now()
		return Outcome{Settle: settle}, nil
	})})
	accept(t, q, "a", pull(7))
	first := receive(t, ended, "the first turn")
	until(t, "the first turn is settled", isIdle(t, q.store, pull(7).Key))
	accept(t, q, "b", pull(7))
	accept(t, q, "c", pull(7))
	second := receive(t, ended, "the second turn")
	if waited := second.Sub(first); waited < settle {
		t.Errorf("the second turn began after %s, want at least %s", waited, settle)
	}
	until(t, "the pull is idle", isIdle(t, q.store, pull(7).Key))
	if n := len(ended); n != 0 {
		t.Errorf("%d more turns, want one for both events", n)
	}
}

func TestRecheckRunsWithoutAnEvent(t *testing.T) { onBoth(t, testRecheckRunsWithoutAnEvent) }

func testRecheckRunsWithoutAnEvent(t *testing.T) {
	turns := make(chan Turn, 10)
	var n atomic.Int64
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		switch n.Add(1) {
		case 1:
			return Outcome{RecheckAt: time.Now().Add(100 * time.Millisecond)}, nil
		case 2:
			return Outcome{}, errors.New("a re-check that fails is tried again")
		}
		return Outcome{}, nil
	}), Backoff: []time.Duration{time.Millisecond}})
	accept(t, q, "a", pull(7))
	receive(t, turns, "the first turn")
	second := receive(t, turns, "the re-check")
	third := receive(t, turns, "the re-check's second attempt")
	if len(second.Events) != 0 || second.Attempt != 1 || len(third.Events) != 0 || third.Attempt != 2 {
		t.Errorf("re-checks: got %+v and %+v", second, third)
	}
	until(t, "no job is open", func() bool {
		return count(t, q.store, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state <> 'completed'`) == 0
	})
	if st := subjectState(t, q.store, pull(7).Key); !st.Recheck.IsZero() || st.Attempts != 0 {
		t.Errorf("afterwards: got %+v", st)
	}
}

func TestNewerSeesWhatCameDuringTheTurn(t *testing.T) { onBoth(t, testNewerSeesWhatCameDuringTheTurn) }

func testNewerSeesWhatCameDuringTheTurn(t *testing.T) {
	turns, ask := make(chan Turn, 10), make(chan struct{})
	q := startQueue(t, Options{Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		<-ask
		return Outcome{}, nil
	})})
	accept(t, q, "a", pull(7))
	turn := receive(t, turns, "the turn")
	newer := func() []string {
		t.Helper()
		events, err := turn.Newer(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return guids(events)
	}
	if got := newer(); len(got) != 0 {
		t.Errorf("before anything came: got %v", got)
	}
	accept(t, q, "b", pull(7))
	accept(t, q, "other", pull(8))
	if got := newer(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %v, want [b]", got)
	}
	close(ask)
}

func TestStopGivesRunningTurnsBack(t *testing.T) { onBoth(t, testStopGivesRunningTurnsBack) }

func testStopGivesRunningTurnsBack(t *testing.T) {
	s := tempStore(t)
	running := make(chan Turn, 10)
	q := startQueue(t, Options{Store: s, StopGrace: 20 * time.Millisecond, Runners: allRunners(func(ctx context.Context, turn Turn) (Outcome, error) {
		running <- turn
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	})})
	accept(t, q, "a", pull(7))
	receive(t, running, "the turn")
	stop(t, q)
	if n := count(t, s, `SELECT count(*) FROM river_job WHERE kind = 'subject' AND state = 'available' AND attempt = 0`); n != 1 {
		t.Errorf("given back %d jobs, want 1", n)
	}
	startQueue(t, Options{Store: s, Runners: allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		running <- turn
		return Outcome{}, nil
	})})
	if turn := receive(t, running, "the turn after the restart"); turn.Attempt != 1 || len(turn.Events) != 1 {
		t.Errorf("after the restart: got %+v", turn)
	}
	until(t, "the pull is idle", isIdle(t, s, pull(7).Key))
}

func TestCase076_RunningJobOfADeadProcessIsTakenOver(t *testing.T) {
	onBoth(t, testCase076_RunningJobOfADeadProcessIsTakenOver)
}

func testCase076_RunningJobOfADeadProcessIsTakenOver(t *testing.T) {
	s := tempStore(t)
	turns := make(chan Turn, 10)
	runners := allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		return Outcome{}, nil
	})
	dead := newQueue(t, Options{Store: s, Runners: runners})
	accept(t, dead, "a", pull(7))
	accept(t, dead, "b", pull(8))
	exec(t, s, `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = '2026-01-01 00:00:00.000' WHERE kind = 'subject'`)
	exec(t, s, `INSERT INTO river_leader (leader_id, elected_at, expires_at) VALUES ('dead', '2026-01-01 00:00:00.000', '2099-01-01 00:00:00.000')`)
	startQueue(t, Options{Store: s, Runners: runners})
	for range 2 {
		if turn := receive(t, turns, "a reclaimed turn"); turn.Attempt != 2 {
			t.Errorf("a turn that died with its process costs an attempt: got %+v", turn)
		}
	}
	until(t, "the pulls are idle", isIdle(t, s, pull(7).Key))
	until(t, "a leader is there", func() bool { return count(t, s, `SELECT count(*) FROM river_leader WHERE leader_id <> 'dead'`) == 1 })
}

// The turns of a dead process had begun before those that only waited.
func TestReclaimedJobComesBeforeYoungerOnes(t *testing.T) {
	onBoth(t, testReclaimedJobComesBeforeYoungerOnes)
}

func testReclaimedJobComesBeforeYoungerOnes(t *testing.T) {
	s := tempStore(t)
	keys := make(chan string, 10)
	runners := allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		keys <- turn.Subject.Key
		return Outcome{}, nil
	})
	q := newQueue(t, Options{Store: s, Runners: runners, Workers: 1})
	accept(t, q, "old", pull(7))
	exec(t, s, `UPDATE river_job SET state = 'running', attempt = 1, scheduled_at = '2026-01-01 00:00:00.000' WHERE kind = 'subject'`)
	accept(t, q, "young", pull(8))
	accept(t, q, "younger", pull(9))
	exec(t, s, `UPDATE river_job SET scheduled_at = '2026-01-01 00:01:00.000' WHERE kind = 'subject' AND state = 'available'`)
	if err := q.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []handlers.Subject{pull(7), pull(8), pull(9)} {
		if got := receive(t, keys, "a turn"); got != want.Key {
			t.Errorf("got the turn of %s, want %s", got, want.Key)
		}
	}
}

func TestStartRepairsSubjectsWithoutAJob(t *testing.T) {
	onBoth(t, testStartRepairsSubjectsWithoutAJob)
}

func testStartRepairsSubjectsWithoutAJob(t *testing.T) {
	s := tempStore(t)
	turns := make(chan Turn, 10)
	runners := allRunners(func(_ context.Context, turn Turn) (Outcome, error) {
		turns <- turn
		return Outcome{}, nil
	})
	q := newQueue(t, Options{Store: s, Runners: runners})
	accept(t, q, "a", pull(7))
	exec(t, s, `DELETE FROM river_job`)
	if err := q.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	receive(t, turns, "the repaired turn")
	until(t, "the pull is idle", isIdle(t, s, pull(7).Key))
}

func exec(t *testing.T, s *store.Store, query string) {
	t.Helper()
	if s.Postgres() { // a running job is somebody's there
		query = strings.Replace(query, "SET state = 'running'", "SET state = 'running', attempted_by = ARRAY['"+DefaultClientID+"']", 1)
	}
	if _, err := s.DB().ExecContext(context.Background(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
