package session

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/review/forge"
)

// An operator is told of each refusal of an installation, and of the same one again
// after an hour (case 73); anything else is told each time.
func TestCase073_NoticesAreTold(t *testing.T) {
	var n notices
	start := time.Unix(1_790_000_000, 0)
	lacks := func(kind forge.Kind, hint string) error {
		return fmt.Errorf("write: %w", &forge.Error{Kind: kind, Op: "create check", Hint: hint, Err: errors.New("refused")})
	}
	checks := lacks(forge.KindForbidden, "the App needs checks=write")
	for i, tc := range []struct {
		installation int64
		err          error
		after        time.Duration
		want         zerolog.Level
	}{
		{1, checks, 0, zerolog.WarnLevel},
		{1, checks, time.Minute, zerolog.DebugLevel},
		{2, checks, time.Minute, zerolog.WarnLevel},
		{1, lacks(forge.KindForbidden, "the App needs statuses=read"), time.Minute, zerolog.WarnLevel},
		{1, lacks(forge.KindSuspended, ""), time.Minute, zerolog.WarnLevel},
		{1, lacks(forge.KindSuspended, ""), 2 * time.Minute, zerolog.DebugLevel},
		{1, lacks(forge.KindNotFound, ""), time.Minute, zerolog.WarnLevel},
		{1, lacks(forge.KindNotFound, ""), time.Minute, zerolog.WarnLevel},
		{1, errors.New("disk full"), time.Minute, zerolog.WarnLevel},
		{1, checks, noticeEvery - time.Second, zerolog.DebugLevel},
		{1, checks, noticeEvery, zerolog.WarnLevel},
	} {
		if got := n.level(tc.installation, tc.err, start.Add(tc.after)); got != tc.want {
			t.Errorf("%d: %v of installation %d after %s is told at level %s, want %s", i, tc.err, tc.installation, tc.after, got, tc.want)
		}
	}
	for i := range int64(3 * maxNotices) {
		n.level(10+i, checks, start)
	}
	if len(n.at) > maxNotices {
		t.Errorf("%d refusals are remembered, at most %d should be", len(n.at), maxNotices)
	}
}
