package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
)

func claimPosting(t *testing.T, s *Store, owner string, pull int, now time.Time) publish.ClaimedPosting {
	t.Helper()
	c, err := s.ClaimPosting(t.Context(), publish.PostingClaim{Pull: forge.PullRef{Repo: pubRepo(), Number: pull}, Owner: owner, Now: now, Until: now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func delivered(key string, state publish.DeliveryState, now time.Time) publish.Delivered {
	return publish.Delivered{Key: review.FindingKey(key), State: state, Rule: "hidden-characters", From: review.FromScan, Path: "a.go", Severity: review.SeverityHigh,
		Likeness: "l", Marker: review.FindingKey(key), ReviewID: 3, HeadSHA: pubHeadA, PostedAt: now}
}

// What a posting has come to, and what was said, are there again for the next process;
// one writes at a time, and one that lost its claim writes nothing.
func TestPostingRoundTrip(t *testing.T) { onBoth(t, testPostingRoundTrip) }

func testPostingRoundTrip(t *testing.T) {
	s, now := openTrail(t), pubClock()
	first := claimPosting(t, s, "one", 7, now)
	if !first.Granted || first.Posting.Stage != publish.PostingNone || len(first.Open) != 0 {
		t.Fatalf("a new pull request: %+v", first)
	}
	row := first.Posting
	row.Stage, row.Seq, row.SessionID, row.HeadSHA, row.Digest, row.Apart = publish.PostingFilled, 4, "s7", pubHeadA, "d", true
	row.Parts = []publish.PostingPart{{Delivered: delivered("k1", publish.DeliveryPosted, now), Shown: true, Refused: true}}
	row.Review, row.UpdatedAt = forge.ReviewRef{ID: 3, Node: "PRR_3"}, now
	if err := s.SavePosting(t.Context(), row, []publish.Delivered{delivered("k1", publish.DeliveryPosted, now), delivered("k2", publish.DeliveryFixed, now)}); err != nil {
		t.Fatal(err)
	}
	if other := claimPosting(t, s, "two", 7, now.Add(time.Second)); other.Granted || other.Open != nil {
		t.Errorf("granted to two at once: %+v", other)
	}
	second := claimPosting(t, s, "two", 7, now.Add(2*time.Minute))
	got := second.Posting
	if !second.Granted || got.Stage != row.Stage || got.Seq != 4 || got.Digest != "d" || !got.Apart || got.Review != row.Review || got.HeadSHA != pubHeadA ||
		len(got.Parts) != 1 || got.Parts[0] != row.Parts[0] {
		t.Errorf("came back as %+v", second)
	}
	if len(second.Open) != 1 || second.Open[0] != delivered("k1", publish.DeliveryPosted, now) {
		t.Errorf("open are %+v, want k1 as it was said", second.Open)
	}
	err := s.SavePosting(t.Context(), row, []publish.Delivered{delivered("k3", publish.DeliveryPosted, now)})
	if !errors.Is(err, publish.ErrPostingLost) {
		t.Errorf("a lost claim wrote: %v", err)
	}
	if again := claimPosting(t, s, "two", 7, now.Add(2*time.Minute)); len(again.Open) != 1 {
		t.Errorf("open are %+v after a refused save", again.Open)
	}
}

// What was said goes when its pull request has been over for long, and only then.
func TestSweepPostings(t *testing.T) { onBoth(t, testSweepPostings) }

func testSweepPostings(t *testing.T) {
	p := newPast(t)
	for pull, days := range map[int]int{1: 91, 2: 91, 3: 89, 4: 91} {
		p.ago(days, func(ctx context.Context) error {
			row := claimPosting(t, p.Store, "one", pull, p.Now()).Posting
			row.UpdatedAt, row.LeaseUntil = p.Now(), time.Time{}
			return p.SavePosting(ctx, row, []publish.Delivered{delivered("k", publish.DeliveryPosted, p.Now())})
		})
	}
	p.pull(1, forge.PullOpen, 200)
	p.pull(2, forge.PullClosed, 10)
	p.pull(3, forge.PullClosed, 10)
	p.sweep()
	p.want(`SELECT 'pull' || pull x FROM postings ORDER BY x`, "pull1 pull3")
	p.want(`SELECT 'pull' || pull x FROM comments ORDER BY x`, "pull1 pull3")
}
