package queue

import (
	"context"
	"database/sql"
	"fmt"
)

// Wake wakes subjects from outside of a turn. choose names them, in the
// transaction that wakes them: what it writes there and the wakes are one commit.
// It must make no call to anything but the transaction, and may be called again.
func (q *Queue) Wake(ctx context.Context, choose func(ctx context.Context, tx *sql.Tx) ([]Wake, error)) error {
	err := q.inStep(ctx, func(ctx context.Context, tx *sql.Tx) ([]wanted, error) {
		wakes, err := choose(ctx, tx)
		if err != nil {
			return nil, err
		}
		return q.wakeAll(ctx, tx, wakes)
	})
	if err != nil {
		return fmt.Errorf("wake subjects: %w", err)
	}
	return nil
}

// GiveUpAfter is the number of failed attempts after which a subject has no turn
// before an event or a wake.
func (q *Queue) GiveUpAfter() int { return q.giveUp() }
