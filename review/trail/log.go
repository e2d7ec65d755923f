package trail

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

// MaxAppend bounds the records of one Append: they are one transaction, and
// everybody else waits for it.
const MaxAppend = 256

// Log writes records. It is safe for concurrent use.
type Log struct {
	store   Store
	version string
	now     func() time.Time
	ids     NewID
}

// NewLog returns a log that writes to store. version is the program's version,
// kept in every record; now is the clock (nil: time.Now).
func NewLog(store Store, version string, now func() time.Time) *Log {
	if now == nil {
		now = time.Now
	}
	return &Log{store: store, version: version, now: now, ids: NewIDs(rand.Reader)}
}

// Append chains the drafts, in order, behind the chain's last record and
// returns them as stored: all or none. It is refused with a *DraftError or a
// *TooLargeError when a draft cannot be kept.
func (l *Log) Append(ctx context.Context, chain Chain, drafts ...Draft) ([]Record, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	records, err := l.store.AppendTrail(ctx, chain, l.Sealer(chain, drafts...))
	if err != nil {
		return nil, fmt.Errorf("append %d records to the trail of %s: %w", len(drafts), chain, err)
	}
	return records, nil
}

// Sealer is what Append hands to its store, for callers that append inside a
// transaction of their own.
func (l *Log) Sealer(chain Chain, drafts ...Draft) func(lastSeq int64, lastHash string) ([]Record, error) {
	return func(lastSeq int64, lastHash string) ([]Record, error) {
		if len(drafts) > MaxAppend {
			return nil, fmt.Errorf("%d records at once, at most %d fit one transaction", len(drafts), MaxAppend)
		}
		return Seal(chain, drafts, lastSeq, lastHash, l.ids, l.now(), l.version)
	}
}

// NewID returns a fresh id for a plan or a session, from the same source as the
// records' ids, so that all of them sort by time.
func (l *Log) NewID() (string, error) { return l.ids(l.now()) }
