package queue

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/countersign/countersign/app/store"
)

// driver is River's driver for the database with two changes.
//
// A bell wakes the workers of this process at once. On SQLite, which serves one
// process, it takes the place of the notification table, which would cost a write
// per insert and a query every 50 ms, also on an idle service; on PostgreSQL it
// stands beside the notifications that other replicas hear.
//
// Jobs that were completed in the transaction of their turn are not completed
// again. River would do so in batches, two statements per job, while everything
// else waits for the connection.
//
// Both rest on interfaces that River does not promise to keep; a test of each
// shows what they are for.
type driver struct {
	riverdriver.Driver[*sql.Tx]
	postgres bool
	bell     *bell
	settled  *settled
	disowned func(job int64) bool
}

func newDriver(db *store.Store, b *bell, s *settled, disowned func(int64) bool) *driver {
	d := &driver{postgres: db.Postgres(), bell: b, settled: s, disowned: disowned}
	if d.postgres {
		d.Driver = riverdatabasesql.NewWithPgxListener(db.DB(), db.Pool())
	} else {
		d.Driver = riversqlite.New(db.DB())
	}
	return d
}

// GetExecutor gives River its way into the database.
func (d *driver) GetExecutor() riverdriver.Executor {
	return &executor{Executor: d.Driver.GetExecutor(), settled: d.settled, disowned: d.disowned}
}

type executor struct {
	riverdriver.Executor
	settled  *settled
	disowned func(job int64) bool
}

// JobSetStateIfRunningMany leaves out what is settled, and what another replica may
// be running by now. River expects fewer rows
// than it asked for where a job is gone, and so it does here.
func (e *executor) JobSetStateIfRunningMany(ctx context.Context, p *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	rest := &riverdriver.JobSetStateIfRunningManyParams{Now: p.Now, Schema: p.Schema}
	for i, id := range p.ID {
		if p.State[i] == rivertype.JobStateCompleted && e.settled.take(id) || e.disowned(id) {
			continue
		}
		rest.ID = append(rest.ID, id)
		rest.Attempt = append(rest.Attempt, p.Attempt[i])
		rest.ErrData = append(rest.ErrData, p.ErrData[i])
		rest.FinalizedAt = append(rest.FinalizedAt, p.FinalizedAt[i])
		rest.MetadataDoMerge = append(rest.MetadataDoMerge, p.MetadataDoMerge[i])
		rest.MetadataUpdates = append(rest.MetadataUpdates, p.MetadataUpdates[i])
		rest.ScheduledAt = append(rest.ScheduledAt, p.ScheduledAt[i])
		rest.State = append(rest.State, p.State[i])
	}
	if len(rest.ID) == 0 {
		return nil, nil
	}
	return e.Executor.JobSetStateIfRunningMany(ctx, rest)
}

// settled holds the jobs whose completion is committed but of which River has
// not heard yet: at most those that ended within its last quarter of a second.
type settled struct {
	mu  sync.Mutex
	ids map[int64]bool
}

func newSettled() *settled { return &settled{ids: make(map[int64]bool)} }

func (s *settled) add(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[id] = true
}

func (s *settled) take(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.ids[id]
	delete(s.ids, id)
	return found
}

// GetListener gives River the bell to wait for, and what other replicas say.
func (d *driver) GetListener(p *riverdriver.GetListenenerParams) riverdriver.Listener {
	if !d.postgres {
		return d.bell
	}
	return &bellAndListener{Listener: d.Driver.GetListener(p), bell: d.bell}
}

// SupportsListenNotify keeps River from writing notification rows in SQLite.
func (d *driver) SupportsListenNotify() bool { return d.postgres && d.Driver.SupportsListenNotify() }

// bellAndListener hears the bell of this process beside PostgreSQL's notifications.
type bellAndListener struct {
	riverdriver.Listener
	bell *bell
	// kept came together with a ring.
	kept *riverdriver.Notification
}

// WaitForNotification waits for either. River calls it from one goroutine.
func (l *bellAndListener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	if n := l.kept; n != nil {
		l.kept = nil
		return n, nil
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	type heard struct {
		n   *riverdriver.Notification
		err error
	}
	got := make(chan heard, 1)
	go func() {
		n, err := l.Listener.WaitForNotification(waiting)
		got <- heard{n, err}
	}()
	select {
	case h := <-got:
		return h.n, h.err
	case <-l.bell.rung:
		cancel()
		if h := <-got; h.err == nil {
			l.kept = h.n
		}
		return ringing(), nil
	}
}

func ringing() *riverdriver.Notification {
	return &riverdriver.Notification{Topic: insertTopic, Payload: insertPayload}
}

const (
	insertTopic   = "river_insert" // River's own name for "a job became available"
	insertPayload = `{"queue":"` + queueName + `"}`
	// maxTimers bounds the rings that wait for their time. Beyond it, a job starts
	// with River's next poll instead of on the dot.
	maxTimers = 1000
)

// bell wakes River's producer.
type bell struct {
	rung   chan struct{}
	timers atomic.Int64
}

func newBell() *bell { return &bell{rung: make(chan struct{}, 1)} }

// ring wakes the workers. Rings nobody heard yet are one ring.
func (b *bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// ringIn rings after a short while.
func (b *bell) ringIn(d time.Duration) {
	if b.timers.Add(1) > maxTimers {
		b.timers.Add(-1)
		return
	}
	time.AfterFunc(d, func() {
		b.timers.Add(-1)
		b.ring()
	})
}

// WaitForNotification waits for a ring.
func (b *bell) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.rung:
		return ringing(), nil
	}
}

// The rest of riverdriver.Listener: there is no connection to keep.

// Close does nothing.
func (b *bell) Close(context.Context) error { return nil }

// Connect does nothing.
func (b *bell) Connect(context.Context) error { return nil }

// Listen does nothing: every ring is about the one topic.
func (b *bell) Listen(context.Context, string) error { return nil }

// Ping does nothing.
func (b *bell) Ping(context.Context) error { return nil }

// Schema is empty: SQLite has none.
func (b *bell) Schema() string { return "" }

// SetAfterConnectExec does nothing.
func (b *bell) SetAfterConnectExec(string) {}

// Unlisten does nothing.
func (b *bell) Unlisten(context.Context, string) error { return nil }
