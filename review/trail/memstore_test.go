package trail_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/review/trail"
)

// memStore is a trail.Store whose rows a test can tamper with.
type memStore struct {
	mu    sync.Mutex
	rows  []trail.Record
	heads []trail.Head
	// between is called after each ReadTrail, as a writer that works meanwhile.
	between func()
}

func (m *memStore) head(chain trail.Chain) *trail.Head {
	for i := range m.heads {
		if m.heads[i].Chain == chain {
			return &m.heads[i]
		}
	}
	m.heads = append(m.heads, trail.Head{Chain: chain})
	return &m.heads[len(m.heads)-1]
}

func (m *memStore) AppendTrail(_ context.Context, chain trail.Chain, seal func(int64, string) ([]trail.Record, error)) ([]trail.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.head(chain)
	records, err := seal(h.Seq, h.Hash)
	if err != nil {
		return nil, err
	}
	m.rows = append(m.rows, records...)
	last := records[len(records)-1]
	h.Seq, h.Hash = last.Seq, last.Hash
	return records, nil
}

func (m *memStore) ReadTrail(_ context.Context, chain trail.Chain, f func(trail.Record) error) error {
	m.mu.Lock()
	rows := slices.Clone(m.rows)
	m.mu.Unlock()
	slices.SortStableFunc(rows, func(a, b trail.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, r := range rows {
		if r.Chain != chain {
			continue
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if m.between != nil {
		m.between()
	}
	return nil
}

func (m *memStore) FindTrail(_ context.Context, q trail.Query) ([]trail.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []trail.Record
	for _, r := range m.rows {
		if (q.SessionID == "" || r.SessionID == q.SessionID) && (q.Type == "" || r.Type == q.Type) {
			out = append(out, r)
		}
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out, nil
}

func (m *memStore) Chains(context.Context) ([]trail.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := slices.Clone(m.heads)
	for _, r := range m.rows {
		if !slices.ContainsFunc(heads, func(h trail.Head) bool { return h.Chain == r.Chain }) {
			heads = append(heads, trail.Head{Chain: r.Chain})
		}
	}
	return heads, nil
}

// at is the tests' clock.
func at() time.Time { return time.Date(2026, 11, 30, 18, 0, 0, 123456789, time.UTC) }

func draft(typ trail.Type, session, body string) trail.Draft {
	return trail.Draft{
		SessionID: session, Repo: "acme/api", HeadSHA: "3f2a9c1", Phase: "G6",
		Type: typ, Actor: "countersign", Body: []byte(body),
	}
}

// filled is a store with two chains, of five rows and of one.
func filled(t *testing.T) *memStore {
	t.Helper()
	m := &memStore{}
	log := trail.NewLog(m, "1.0.0", at)
	for _, typ := range []trail.Type{trail.TypeRunStart, trail.TypePatchSummary, trail.TypeCheckSummary, trail.TypeGateDecision, trail.TypePublish} {
		if _, err := log.Append(t.Context(), trail.PullChain(42, 7), draft(typ, "s1", `{"n":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), trail.RepoChain(42), draft(trail.TypeDelivery, "", `{}`)); err != nil {
		t.Fatal(err)
	}
	return m
}
