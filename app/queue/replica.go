package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/countersign/countersign/app/store"
)

// Replicas share one PostgreSQL. Each holds a lease that it prolongs every beat. One
// that cannot, for as long as the lease, stops its running turns and disowns their
// jobs: others may have taken them over. These wait ReplicaGrace longer.
const (
	replicaLease = 15 * time.Second
	replicaBeat  = 3 * time.Second
	// replicaDuty is how often each looks for what replicas that are gone left.
	replicaDuty = 5 * time.Second
)

// errTaken says that a turn's job belongs to another replica by now.
var errTaken = errors.New("the job was taken over by another replica")

// membership is a replica's part among others.
type membership struct {
	name string
	lock *store.NameLock
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	leased  context.Context //nolint:containedctx // it is the lease
	end     context.CancelCauseFunc
	working map[int64]bool // jobs at work
	lost    map[int64]bool // jobs at work that were disowned
}

func newMembership(name string) *membership {
	m := &membership{name: name, working: make(map[int64]bool), lost: make(map[int64]bool)}
	m.leased, m.end = context.WithCancelCause(context.Background())
	return m
}

// begin notes a job at work and returns the context of the lease.
func (m *membership) begin(job int64) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.working[job] = true
	return m.leased
}

func (m *membership) finish(job int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.working, job)
	delete(m.lost, job)
}

func (m *membership) disowned(job int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost[job]
}

func (m *membership) jobs() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []int64
	for id := range m.working {
		if !m.lost[id] {
			out = append(out, id)
		}
	}
	return out
}

// expire ends every turn at work.
func (m *membership) expire() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.working {
		m.lost[id] = true
	}
	m.end(errTaken)
	m.leased, m.end = context.WithCancelCause(context.Background())
	return len(m.working)
}

// join makes this process one of the replicas: its name is its own, and what a
// former life left is taken over.
func (q *Queue) join(ctx context.Context) (reclaimed int64, err error) {
	m := q.member
	if m.lock, err = q.store.HoldName(ctx, m.name); err != nil {
		return 0, err
	}
	if err = q.store.Beat(ctx, m.name, replicaLease); err == nil {
		reclaimed, err = q.store.ReclaimOwnJobs(ctx, m.name)
	}
	if err != nil {
		return 0, errors.Join(err, m.lock.Release(ctx))
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop, m.done = stop, make(chan struct{})
	go q.beat(beating)
	q.tellShared(ctx)
	return reclaimed, nil
}

// beat prolongs the lease until the context ends.
func (q *Queue) beat(ctx context.Context) {
	m := q.member
	defer close(m.done)
	tick := time.NewTicker(replicaBeat)
	defer tick.Stop()
	good, expired := time.Now(), false
	var duty time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begun := time.Now()
		// A process that was stopped, or its machine, wakes after its lease: others may
		// work on its jobs by now, whatever the database says to the next beat.
		if !expired && begun.Sub(good) > replicaLease-replicaBeat {
			expired = true
			q.disown(errors.New("no beat for longer than the lease lasts"))
		}
		err := q.prolong(ctx)
		switch {
		case err == nil:
			if expired {
				q.logger.Info().Str("replica", m.name).Msg("the lease is held again")
			}
			good, expired = begun, false
		case ctx.Err() != nil:
			return
		case !expired && time.Since(good) > replicaLease-replicaBeat:
			expired = true
			q.disown(err)
		default:
			q.logger.Warn().Err(err).Str("replica", m.name).Msg("the lease could not be prolonged yet")
		}
		if err == nil && time.Since(duty) >= replicaDuty {
			duty = time.Now()
			q.reclaimGone(ctx)
			q.tellShared(ctx)
		}
	}
}

// disown gives up every turn at work.
func (q *Queue) disown(cause error) {
	n := q.member.expire()
	q.logger.Error().Err(cause).Str("replica", q.member.name).Int("turns", n).Msg("the lease could not be prolonged: running turns are given up, others may take them over")
}

// tellShared says how many share the database.
func (q *Queue) tellShared(ctx context.Context) {
	if q.shared == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replicaBeat)
	defer cancel()
	n, err := q.store.Replicas(ctx)
	if err != nil {
		q.logger.Warn().Err(err).Msg("the replicas could not be counted")
		return
	}
	q.shared(n)
}

func (q *Queue) prolong(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, replicaBeat)
	defer cancel()
	if err := q.member.lock.Keep(ctx); err != nil {
		return err
	}
	return q.store.Beat(ctx, q.member.name, replicaLease)
}

func (q *Queue) reclaimGone(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	n, err := q.store.ReclaimJobs(ctx, q.member.name, q.member.jobs())
	switch {
	case err != nil && ctx.Err() == nil:
		q.logger.Warn().Err(err).Msg("jobs of replicas that are gone could not be looked for")
	case n > 0:
		q.logger.Info().Int64("jobs", n).Msg("jobs of a replica that is gone were taken over")
		q.bell.ring()
	}
}

// leave ends the membership; jobs were given back before.
func (q *Queue) leave(ctx context.Context) error {
	m := q.member
	if m.stop == nil {
		return nil
	}
	m.stop()
	<-m.done
	m.stop = nil
	err := errors.Join(q.store.Leave(ctx, m.name), m.lock.Release(ctx))
	if err != nil {
		return fmt.Errorf("leave the replicas: %w", err)
	}
	return nil
}
