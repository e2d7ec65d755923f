package trail_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review/trail"
)

func TestVerifyFindsTampering(t *testing.T) {
	reseal := func(r *trail.Record) { r.Hash = trail.HashOf(*r) }
	tests := []struct {
		name   string
		tamper func(m *memStore)
		want   []string // a part of each problem, in order
	}{
		{"nothing", func(*memStore) {}, nil},
		{"body changed", func(m *memStore) { m.rows[2].Body = []byte(`{"n":2}`) },
			[]string{"pull:42:7 #3: its contents do not give its hash"}},
		{"actor changed", func(m *memStore) { m.rows[0].Actor = "mallory" },
			[]string{"#1: its contents do not give its hash"}},
		{"row changed and sealed again", func(m *memStore) { m.rows[2].Actor = "mallory"; reseal(&m.rows[2]) },
			[]string{"#4: does not follow row 3"}},
		{"last row changed and sealed again", func(m *memStore) { m.rows[4].Actor = "mallory"; reseal(&m.rows[4]) },
			[]string{"#5: has another hash than the chain table"}},
		{"row dropped", func(m *memStore) { m.rows = append(m.rows[:1], m.rows[2:]...) },
			[]string{"#2: row is missing"}},
		{"two rows dropped", func(m *memStore) { m.rows = append(m.rows[:1], m.rows[3:]...) },
			[]string{"#2: rows 2 to 3 are missing"}},
		{"first row dropped", func(m *memStore) { m.rows = m.rows[1:] },
			[]string{"#1: row is missing"}},
		{"row dropped, the rest renumbered", func(m *memStore) {
			m.rows = append(m.rows[:1], m.rows[2:]...)
			for i := 1; i < 4; i++ {
				m.rows[i].Seq = int64(i + 1)
			}
		}, []string{"#2: its contents", "#2: does not follow row 1", "#3: its contents", "#4: its contents", "#5: the chain ends with row 4"}},
		{"rows swapped", func(m *memStore) { m.rows[1].Seq, m.rows[2].Seq = 3, 2 },
			[]string{"#2: its contents", "#2: does not follow row 1", "#3: its contents", "#3: does not follow row 2", "#4: does not follow row 3"}},
		{"row inserted", func(m *memStore) { m.rows = append(m.rows, m.rows[2]) },
			[]string{"#3: comes after row 3"}},
		{"row appended without its head", func(m *memStore) {
			r := m.rows[4]
			r.Seq, r.PrevHash = 6, r.Hash
			reseal(&r)
			m.rows = append(m.rows, r)
		}, []string{"#6: the chain table says that the chain ends with row 5, but it goes on to row 6"}},
		{"end cut", func(m *memStore) { m.rows = append(m.rows[:3:3], m.rows[5:]...) },
			[]string{"#4: the chain ends with row 3, but the chain table says row 5"}},
		{"head dropped", func(m *memStore) { m.heads = m.heads[1:] },
			[]string{"#5: the chain has rows, but the chain table does not know it"}},
		{"head of another hash", func(m *memStore) { m.heads[0].Hash = "feed" },
			[]string{"#5: has another hash than the chain table"}},
		{"row moved to another chain", func(m *memStore) { m.rows[5].Chain, m.rows[5].Seq = trail.PullChain(42, 7), 6 },
			[]string{"#6: its contents", "#6: does not follow row 5", "repo:42 #1: the chain ends with row 0", "#6: the chain table says"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := filled(t)
			tt.tamper(m)
			report, err := trail.Verify(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK() != (len(tt.want) == 0) {
				t.Errorf("OK = %v with problems %v", report.OK(), report.Problems)
			}
			if len(report.Problems) != len(tt.want) {
				t.Fatalf("problems = %v, want %d like %q", report.Problems, len(tt.want), tt.want)
			}
			for i, want := range tt.want {
				if got := report.Problems[i].String(); !strings.Contains(got, want) {
					t.Errorf("problem %d = %q, want it to say %q", i, got, want)
				}
			}
		})
	}
}

func TestVerifyCountsAndBounds(t *testing.T) {
	m := filled(t)
	report, err := trail.Verify(t.Context(), m)
	if err != nil || report.Chains != 2 || report.Records != 6 {
		t.Errorf("report = %+v, %v, want 2 chains and 6 records", report, err)
	}
	log := trail.NewLog(m, "1", at)
	for range trail.MaxProblems {
		if _, err := log.Append(t.Context(), trail.RepoChain(9), draft(trail.TypeDelivery, "", `{}`)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m.rows {
		m.rows[i].Actor = "mallory"
	}
	report, err = trail.Verify(t.Context(), m)
	if err != nil || len(report.Problems) != trail.MaxProblems || report.Unlisted != 6 {
		t.Errorf("%d problems listed, %d not, %v; want %d and 6", len(report.Problems), report.Unlisted, err, trail.MaxProblems)
	}
}

// A chain that grows while it is verified is not a problem.
func TestVerifyWhileOthersAppend(t *testing.T) {
	m := filled(t)
	log := trail.NewLog(m, "1", at)
	n := 0
	m.between = func() {
		n++
		// The chain that is read next grows after its head was listed.
		for _, c := range []trail.Chain{trail.PullChain(42, 7), trail.RepoChain(42)} {
			if _, err := log.Append(t.Context(), c, draft(trail.TypeDelivery, "", `{}`)); err != nil {
				t.Error(err)
			}
		}
	}
	report, err := trail.Verify(t.Context(), m)
	if err != nil || !report.OK() || n != 2 {
		t.Errorf("after %d reads: %+v, %v, want no problem", n, report, err)
	}
}

func TestLogAppendsFromManyWriters(t *testing.T) {
	m := &memStore{}
	log := trail.NewLog(m, "1", at)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				chain := trail.PullChain(1, i%3+1)
				if _, err := log.Append(t.Context(), chain, draft(trail.TypeToolUse, fmt.Sprint(w), `{}`), draft(trail.TypeToolUse, fmt.Sprint(w), `{}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	report, err := trail.Verify(t.Context(), m)
	if err != nil || !report.OK() || report.Records != 320 || report.Chains != 3 {
		t.Errorf("report = %+v, %v, want 320 sound records in 3 chains", report, err)
	}
}

func TestLogRefusesHugeBatchesAndIgnoresEmptyOnes(t *testing.T) {
	m := &memStore{}
	log := trail.NewLog(m, "1", nil)
	if records, err := log.Append(t.Context(), trail.RepoChain(1)); err != nil || records != nil {
		t.Errorf("appending nothing = %v, %v", records, err)
	}
	drafts := make([]trail.Draft, trail.MaxAppend+1)
	for i := range drafts {
		drafts[i] = draft(trail.TypeToolUse, "s", `{}`)
	}
	if _, err := log.Append(t.Context(), trail.RepoChain(1), drafts...); err == nil || len(m.rows) != 0 {
		t.Errorf("a batch of %d was accepted: %v", len(drafts), err)
	}
}

// Whatever is appended verifies; whatever one byte of it is changed to does not.
func TestSealedChainsVerifyAndChangedOnesDoNot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &memStore{}
		log := trail.NewLog(m, "1", at)
		for range rapid.IntRange(1, 12).Draw(rt, "appends") {
			chain := trail.PullChain(1, rapid.IntRange(1, 3).Draw(rt, "pull"))
			body := fmt.Sprintf("%q", rapid.StringMatching(`[ -!#-\[\]-~é]{0,20}`).Draw(rt, "body"))
			typ := rapid.SampledFrom(trail.Types()).Draw(rt, "type")
			if _, err := log.Append(t.Context(), chain, draft(typ, rapid.StringN(0, 9, -1).Filter(noNUL).Draw(rt, "session"), body)); err != nil {
				rt.Fatal(err)
			}
		}
		if report, err := trail.Verify(t.Context(), m); err != nil || !report.OK() {
			rt.Fatalf("a fresh trail does not verify: %+v, %v", report, err)
		}
		r := &m.rows[rapid.IntRange(0, len(m.rows)-1).Draw(rt, "row")]
		column := rapid.SampledFrom([]*string{&r.Actor, &r.SessionID, &r.Repo, &r.HeadSHA, &r.PolicyRevision, &r.AppVersion, &r.ID, &r.Hash, &r.PrevHash}).Draw(rt, "column")
		*column += rapid.StringN(1, 3, -1).Draw(rt, "added")
		if report, err := trail.Verify(t.Context(), m); err != nil || report.OK() {
			rt.Fatalf("a changed row was not found: %v", err)
		}
	})
}

func noNUL(s string) bool { return !strings.Contains(s, "\x00") }
