package session

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/review/forge"
)

const (
	// noticeEvery is how often an operator is told of the same refusal.
	noticeEvery = time.Hour
	// maxNotices bounds the refusals that are remembered; beyond it all are forgotten,
	// and told once more.
	maxNotices = 1_000
)

// notices are the refusals of an installation that were told: a permission that its
// owner has not accepted meets every event there, and one line is enough (case 73).
type notices struct {
	mu sync.Mutex
	at map[string]time.Time
}

// level is Warn for what was not told lately, else Debug. Only what an installation
// lacks as a whole is told once for all its pull requests.
func (n *notices) level(installation int64, err error, now time.Time) zerolog.Level {
	var fe *forge.Error
	if !errors.As(err, &fe) || (fe.Kind != forge.KindForbidden && fe.Kind != forge.KindSuspended) {
		return zerolog.WarnLevel
	}
	key := strconv.FormatInt(installation, 10) + " " + strconv.Itoa(int(fe.Kind)) + " " + fe.Hint
	n.mu.Lock()
	defer n.mu.Unlock()
	if last, told := n.at[key]; told && now.Sub(last) < noticeEvery {
		return zerolog.DebugLevel
	}
	if n.at == nil || len(n.at) >= maxNotices {
		n.at = make(map[string]time.Time)
	}
	n.at[key] = now
	return zerolog.WarnLevel
}
