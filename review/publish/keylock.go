package publish

import (
	"context"
	"sync"
)

// keyLocks lets one goroutine of this process at a time work on a key. The
// database's claim alone would let two goroutines of one owner in. The zero
// value is ready.
type keyLocks struct {
	mu   sync.Mutex
	held map[Key]*keyLock
}

type keyLock struct {
	free  chan struct{} // holds one token while nobody works on the key
	users int           // holders and waiters; the lock is forgotten at zero
}

// lock waits for the key and returns how to give it back.
func (k *keyLocks) lock(ctx context.Context, key Key) (unlock func(), err error) {
	k.mu.Lock()
	if k.held == nil {
		k.held = make(map[Key]*keyLock)
	}
	l := k.held[key]
	if l == nil {
		l = &keyLock{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		k.held[key] = l
	}
	l.users++
	k.mu.Unlock()

	select {
	case <-l.free:
		return func() {
			l.free <- struct{}{}
			k.leave(key, l)
		}, nil
	case <-ctx.Done():
		k.leave(key, l)
		return nil, ctx.Err()
	}
}

func (k *keyLocks) leave(key Key, l *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.held, key)
	}
}
