package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/countersign/countersign/review/trail"
)

// Every record comes once, chain by chain and in order, over more than a page.
func TestWalkTrail(t *testing.T) { onBoth(t, testWalkTrail) }

func testWalkTrail(t *testing.T) {
	s := openTrail(t)
	log := trail.NewLog(s, "1.0.0", trailClock)
	for i := range trailPage {
		for _, chain := range []trail.Chain{trail.PullChain(42, 7), trail.PullChain(42, 10), trail.RepoChain(42)} {
			d := trailDraft(trail.TypeGateDecision, fmt.Sprint("S", i%2))
			d.Pull = 7
			if chain != trail.PullChain(42, 7) {
				d.Repo, d.Pull = "Acme/API", 0
			}
			if _, err := log.Append(t.Context(), chain, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	walk := func(q trail.Query) (n int) {
		t.Helper()
		var last trail.Record
		err := s.WalkTrail(t.Context(), q, func(r trail.Record) error {
			if r.Chain < last.Chain || r.Chain == last.Chain && r.Seq <= last.Seq {
				t.Errorf("%s #%d comes after %s #%d", r.Chain, r.Seq, last.Chain, last.Seq)
			}
			last = r
			n++
			// The store can be used meanwhile: no connection is held.
			if n == 1 {
				if _, err := s.Chains(t.Context()); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, tt := range []struct {
		q    trail.Query
		want int
	}{
		{trail.Query{}, 3 * trailPage},
		{trail.Query{Repo: "acme/api", Pull: 7}, trailPage},
		{trail.Query{Repo: "ACME/Api"}, 3 * trailPage},
		{trail.Query{Repo: "acme/other"}, 0},
		{trail.Query{SessionID: "S0"}, 3 * trailPage / 2},
		{trail.Query{Type: trail.TypePublish}, 0},
		{trail.Query{Since: trailClock().Add(time.Second)}, 0},
		{trail.Query{Until: trailClock().Add(time.Second), Since: trailClock().Add(-time.Second)}, 3 * trailPage},
		{trail.Query{Until: trailClock().Add(-time.Second)}, 0},
	} {
		if n := walk(tt.q); n != tt.want {
			t.Errorf("%+v: %d records, want %d", tt.q, n, tt.want)
		}
	}
	stop := errors.New("enough")
	if err := s.WalkTrail(t.Context(), trail.Query{}, func(trail.Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the reader: %v", err)
	}
}

// Pages of a search follow each other without a gap or an overlap.
func TestFindTrailGoesOn(t *testing.T) { onBoth(t, testFindTrailGoesOn) }

func testFindTrailGoesOn(t *testing.T) {
	s := openTrail(t)
	fillTrail(t, s)
	var seen []string
	q := trail.Query{Repo: "ACME/api", Limit: 2}
	for {
		page, err := s.FindTrail(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			seen = append(seen, r.ID)
			q.After = r.ID
		}
		if len(page) < q.Limit {
			break
		}
	}
	if len(seen) != 6 || !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != 6 {
		t.Errorf("saw %v", seen)
	}
}

func TestHashInTrail(t *testing.T) { onBoth(t, testHashInTrail) }

func testHashInTrail(t *testing.T) {
	s := openTrail(t)
	rows := fillTrail(t, s)
	for _, tt := range []struct {
		chain  trail.Chain
		prefix string
		want   bool
	}{
		{trail.PullChain(42, 7), rows[2].Hash[:12], true},
		{trail.PullChain(42, 7), "0123456789ab", false},
		{trail.PullChain(42, 8), rows[2].Hash[:12], false},
		{trail.PullChain(42, 7), "%", false},
	} {
		if got, err := s.HashInTrail(t.Context(), 42, tt.chain, tt.prefix); err != nil || got != tt.want {
			t.Errorf("%s in %s: %v, %v", tt.prefix, tt.chain, got, err)
		}
	}
}
