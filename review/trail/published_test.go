package trail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign/countersign/review/trail"
)

const head40 = "3f2a9c1e5b7d8f0a1c2e3d4b5a69788796a5b4c3"

// site is a trail with a published head, and what the forge shows of it.
type site struct {
	*memStore
	unrecorded []trail.Published
	shows      map[string][]trail.ShownRun // by head and name
	asked      int
	err        error
}

func (s *site) HashInTrail(_ context.Context, repoID int64, chain trail.Chain, prefix string) (bool, error) {
	for _, r := range s.rows {
		if strings.HasPrefix(r.Hash, prefix) && (r.Chain == chain || chain == "" && r.RepoID == repoID) {
			return true, nil
		}
	}
	return false, nil
}

func (s *site) Unrecorded(_ context.Context, after trail.Published, _ int) ([]trail.Published, error) {
	if after.Run != 0 {
		return nil, nil
	}
	return s.unrecorded, nil
}

func (s *site) Shown(_ context.Context, p trail.Published) ([]trail.ShownRun, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	return s.shows[p.HeadSHA+p.Name], nil
}

// published appends what a session leaves: a gate, then its publication, which
// shows the gate's hash.
func (s *site) published(t *testing.T, pull int, head string, run int64) {
	t.Helper()
	log := trail.NewLog(s, "1", at)
	chain := trail.PullChain(42, pull)
	add := func(typ trail.Type, body string) string {
		d := trail.Draft{Repo: "acme/api", RepoID: 42, HeadSHA: head, Phase: "G7", Type: typ, Actor: "countersign", Body: []byte(body)}
		records, err := log.Append(t.Context(), chain, d)
		if err != nil {
			t.Fatal(err)
		}
		return records[0].Hash
	}
	hash := add(trail.TypeGateDecision, `{}`)
	add(trail.TypePublish, fmt.Sprintf(`{"name":"countersign","head_sha":%q,"check_run_id":%d}`, head, run))
	add(trail.TypeRunEnd, `{}`)
	s.shows[head+"countersign"] = append(s.shows[head+"countersign"], trail.ShownRun{ID: run, ExternalID: fmt.Sprintf("%d:main:x", pull), Hash: hash[:12]})
}

func TestVerifyPublished(t *testing.T) {
	const key = head40 + "countersign"
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, s *site)
		want   []string
		unread int
	}{
		{"as it is", func(*testing.T, *site) {}, nil, 0},
		{"the end was cut, with the chain's head", func(t *testing.T, s *site) {
			s.published(t, 7, head40, 11)   // recomputed: the same run is patched, and shows the second gate
			s.shows[key] = s.shows[key][1:] // as GitHub keeps one text for each run
			s.rows = s.rows[:3]             // the second gate, its publication and its end are gone
			s.heads[0].Seq, s.heads[0].Hash = 3, s.rows[2].Hash
		}, []string{"which the trail does not hold: its end was cut, or it was rewritten"}, 0},
		{"all of it is gone, and another table knows", func(_ *testing.T, s *site) {
			s.rows, s.heads = nil, nil
			s.unrecorded = []trail.Published{{RepoID: 42, Repo: "acme/api", HeadSHA: head40, Name: "countersign", Run: 11, At: at()}}
		}, []string{"which the trail does not hold"}, 0},
		{"the run is gone", func(_ *testing.T, s *site) { s.shows[key] = nil }, []string{"check run 11 was published on", "is gone"}, 0},
		{"another run is there", func(_ *testing.T, s *site) { s.shows[key][0].ID = 12 }, []string{"is gone"}, 0},
		{"another hash", func(_ *testing.T, s *site) { s.shows[key][0].Hash = "0123456789ab" }, []string{"shows trail 0123456789ab"}, 0},
		{"no hash", func(_ *testing.T, s *site) { s.shows[key][0].Hash = "" }, []string{"shows no trail"}, 0},
		{"given up for another run", func(_ *testing.T, s *site) {
			s.shows[key][0].Hash, s.shows[key][0].GivenUp = "", true
		}, nil, 0},
		{"shared by two pull requests", func(t *testing.T, s *site) {
			s.published(t, 8, head40, 11)
			s.shows[key] = s.shows[key][:1]
			s.shows[key][0].ExternalID = "8:main:x" // shows the trail of #7
		}, nil, 0},
		{"a repository that nobody may read", func(_ *testing.T, s *site) { s.err = fmt.Errorf("%w: 404", trail.ErrUnreachable) }, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &site{memStore: &memStore{}, shows: make(map[string][]trail.ShownRun)}
			s.published(t, 7, head40, 11)
			tt.change(t, s)
			if plain, err := trail.Verify(t.Context(), s); err != nil || !plain.OK() {
				t.Fatalf("plain verification sees it: %+v, %v", plain, err)
			}
			report, err := trail.VerifyPublished(t.Context(), s, s, trail.WitnessOptions{Names: []string{"countersign"}})
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() != (len(tt.want)+tt.unread == 0) || len(report.Unread) != tt.unread || (len(tt.want) > 0) != (len(report.Problems) == 1) {
				t.Fatalf("report %+v", report)
			}
			for _, want := range tt.want {
				if got := report.Problems[0].String(); !strings.Contains(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
			if s.asked != 1 {
				t.Errorf("%d questions about one head", s.asked)
			}
		})
	}
}

// The questions are bounded, and the report says where to go on.
func TestVerifyPublishedIsBounded(t *testing.T) {
	s := &site{memStore: &memStore{}, shows: make(map[string][]trail.ShownRun)}
	for i := range 5 {
		s.published(t, i+1, fmt.Sprintf("%040d", i), int64(i+1))
	}
	told := 0
	report, err := trail.VerifyPublished(t.Context(), s, s, trail.WitnessOptions{Names: []string{"countersign"}, Calls: 3, Progress: func(trail.WitnessReport) { told++ }})
	if err != nil || report.Checks != 3 || report.Calls != 3 || told != 3 || report.Next.IsZero() {
		t.Errorf("%+v, %v, told %d times", report, err, told)
	}
	s.err = errors.New("rate limit")
	if report, err = trail.VerifyPublished(t.Context(), s, s, trail.WitnessOptions{Names: []string{"countersign"}}); err == nil || report.Next.IsZero() || len(report.Problems) != 0 {
		t.Errorf("%+v, %v; want an error and where to go on", report, err)
	}
	if report, err = trail.VerifyPublished(t.Context(), s, s, trail.WitnessOptions{Names: []string{"another"}}); err != nil || report.Calls != 0 {
		t.Errorf("asked about a check that shows no trail: %+v, %v", report, err)
	}
}
