package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Refusals of Accept.
var (
	// ErrStopped means that the process is going down.
	ErrStopped = errors.New("the queue is stopped")
	// ErrOverloaded means that more waits for a commit than is kept.
	ErrOverloaded = errors.New("too much waits to be stored")
)

const (
	// maxWaiting bounds what waits for a commit.
	maxWaiting = 4096
	// commitTimeout bounds one commit; GitHub hangs up after ten seconds.
	commitTimeout = 30 * time.Second
)

// batcher groups what arrives together into one transaction, so that it shares
// an fsync and the wait for the only connection. Nothing is delayed for that: a
// batch is what arrived while the one before was committed. The goroutine that
// commits lives only as long as there is something to commit.
type batcher[T any] struct {
	// most bounds a batch, and so how long one item waits for the others.
	most int
	// commit is all or nothing, and may be called again for the same items.
	commit func(ctx context.Context, items []T) error
	// before, when set, is called before each batch is taken.
	before func()

	mu      sync.Mutex
	waiting []request[T]
	active  bool
	ended   time.Time // when the last commit ended
	closed  bool
	idle    chan struct{} // closed when the last commit after close has ended
}

type request[T any] struct {
	item T
	done chan error
}

func newBatcher[T any](most int, commit func(context.Context, []T) error) *batcher[T] {
	return &batcher[T]{most: most, commit: commit, idle: make(chan struct{})}
}

// do returns when the item is committed, or with the reason why it is not. When
// ctx ends before that, the item may still be committed later.
func (b *batcher[T]) do(ctx context.Context, item T) error {
	r := request[T]{item: item, done: make(chan error, 1)}
	if err := b.enqueue(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("gave up waiting for the commit: %w", ctx.Err())
	}
}

func (b *batcher[T]) enqueue(r request[T]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrStopped
	}
	if len(b.waiting) >= maxWaiting {
		return ErrOverloaded
	}
	b.waiting = append(b.waiting, r)
	if !b.active {
		b.active = true
		go b.run()
	}
	return nil
}

// run commits until nothing waits.
func (b *batcher[T]) run() {
	for {
		if b.before != nil {
			b.before()
		}
		batch := b.take()
		if len(batch) == 0 {
			return
		}
		b.commitAll(batch)
		b.mu.Lock()
		b.ended = time.Now()
		b.mu.Unlock()
	}
}

// state says whether something is being committed, and when the last commit ended.
func (b *batcher[T]) state() (active bool, ended time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.active, b.ended
}

func (b *batcher[T]) take() []request[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.active = false
		if b.closed {
			close(b.idle)
		}
		return nil
	}
	n := min(len(b.waiting), b.most)
	batch := append([]request[T](nil), b.waiting[:n]...)
	rest := copy(b.waiting, b.waiting[n:])
	clear(b.waiting[rest:])
	b.waiting = b.waiting[:rest]
	return batch
}

// commitAll answers everyone in the batch. When the batch fails, each item is
// tried alone: one that cannot be committed must not take others with it.
func (b *batcher[T]) commitAll(batch []request[T]) {
	items := make([]T, len(batch))
	for i, r := range batch {
		items[i] = r.item
	}
	err := b.commitItems(items)
	for i, r := range batch {
		if err != nil && len(batch) > 1 {
			r.done <- b.commitItems(items[i : i+1])
			continue
		}
		r.done <- err
	}
}

// commitItems has a context of its own: no sender that hangs up undoes the
// commit of another (case 54).
func (b *batcher[T]) commitItems(items []T) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	return b.commit(ctx, items)
}

// close refuses what comes from now on and returns when everything before is
// committed.
func (b *batcher[T]) close(ctx context.Context) error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		if !b.active {
			close(b.idle)
		}
	}
	b.mu.Unlock()
	select {
	case <-b.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for what is being stored: %w", ctx.Err())
	}
}
