package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// ErrLocked means that another process serves from this database.
var ErrLocked = errors.New("another process is using this database: stop it, or give each its own file")

// fileLock is an advisory lock held for the life of the process. The kernel
// gives it back when the process dies, so a kill leaves nothing to clean up.
// The lock has a file of its own because closing any descriptor of the database
// file would drop the POSIX locks that SQLite holds on it.
type fileLock struct {
	mu sync.Mutex
	f  *os.File
}

func acquireLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return &fileLock{f: f}, nil
}

// release leaves the file: removing it would let two processes hold locks on
// two different files of the same name.
func (l *fileLock) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
