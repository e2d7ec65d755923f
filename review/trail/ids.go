package trail

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// NewIDs returns a maker of ULIDs whose ids only grow, whatever the clock does,
// and which may be called from many goroutines. entropy is read for every new
// millisecond (crypto/rand.Reader in production).
func NewIDs(entropy io.Reader) NewID {
	var mu sync.Mutex
	var last uint64
	monotonic := ulid.Monotonic(entropy, 0)
	return func(t time.Time) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		// A clock that is set back must not give smaller ids than before.
		last = max(last, ulid.Timestamp(t))
		id, err := ulid.New(last, monotonic)
		if err != nil {
			return "", fmt.Errorf("make a ULID: %w", err)
		}
		return id.String(), nil
	}
}
