package publish_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
)

// fakeForge keeps check runs as GitHub does, with its refusals, and can fail
// before or after a request had its effect.
type fakeForge struct {
	mu     sync.Mutex
	runs   []forge.Check // oldest first
	marks  map[int64][]forge.Annotation
	writes []forge.CheckWrite
	calls  []string
	// before and after fail a request by name ("create", "update", "list").
	before, after func(call string, w forge.CheckWrite) error
	inFlight      int
	overlapped    bool
}

func (f *fakeForge) request(call string, w forge.CheckWrite, effect func() error) error {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	f.inFlight++
	f.overlapped = f.overlapped || (f.inFlight > 1 && call != "list")
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.inFlight--
		f.mu.Unlock()
	}()
	if f.before != nil {
		if err := f.before(call, w); err != nil {
			return err
		}
	}
	f.mu.Lock()
	err := effect()
	f.mu.Unlock()
	if err == nil && f.after != nil {
		err = f.after(call, w)
	}
	return err
}

func invalid() error { return &forge.Error{Kind: forge.KindInvalid, Op: "write check", Status: 422} }

func (f *fakeForge) accept(w forge.CheckWrite) error {
	f.writes = append(f.writes, w)
	switch {
	case len(w.Summary) > publish.MaxOutputBytes, len(w.Text) > publish.MaxOutputBytes, w.Summary == "", w.Title == "", w.HeadSHA == "", w.Name == "",
		(w.Status == "completed") != (w.Conclusion != ""), len(w.Annotations) > publish.MaxAnnotations, w.StartedAt.IsZero():
		return invalid()
	}
	for _, a := range w.Annotations {
		level := a.Level == "notice" || a.Level == "warning" || a.Level == "failure"
		if a.Path == "" || a.StartLine < 1 || a.EndLine < a.StartLine || !level || a.Message == "" ||
			len(a.Message) > publish.MaxAnnotationBytes || utf8.RuneCountInString(a.Title) > publish.MaxTitleBytes {
			return invalid()
		}
	}
	return nil
}

func (f *fakeForge) CreateCheck(_ context.Context, _ forge.Repo, w forge.CheckWrite) (int64, error) {
	var id int64
	err := f.request("create", w, func() error {
		if err := f.accept(w); err != nil {
			return err
		}
		id = int64(len(f.runs) + 1)
		f.runs = append(f.runs, forge.Check{ID: id, Name: w.Name})
		f.set(id, w)
		return nil
	})
	return id, err
}

func (f *fakeForge) UpdateCheck(_ context.Context, _ forge.Repo, id int64, w forge.CheckWrite) error {
	return f.request("update", w, func() error {
		if err := f.accept(w); err != nil {
			return err
		}
		if id < 1 || id > int64(len(f.runs)) || f.runs[id-1].ID != id {
			return &forge.Error{Kind: forge.KindNotFound, Op: "update check", Status: 404}
		}
		f.set(id, w)
		return nil
	})
}

func (f *fakeForge) set(id int64, w forge.CheckWrite) {
	r := &f.runs[id-1]
	r.Status, r.Conclusion, r.Title, r.Summary, r.ExternalID, r.StartedAt = w.Status, w.Conclusion, w.Title, w.Summary, w.ExternalID, w.StartedAt
	if f.marks == nil {
		f.marks = map[int64][]forge.Annotation{}
	}
	f.marks[id] = append(f.marks[id], w.Annotations...) // as GitHub does: nothing is ever taken back
	r.Annotations = len(f.marks[id])
}

func (f *fakeForge) OwnChecks(_ context.Context, _ forge.Repo, _, name string) ([]forge.Check, error) {
	var out []forge.Check
	err := f.request("list", forge.CheckWrite{}, func() error {
		for _, r := range slices.Backward(f.runs) {
			if r.Name == name {
				out = append(out, r)
			}
		}
		return nil
	})
	return out, err
}

// memStore is a publish.Store in memory.
type memStore struct {
	mu    sync.Mutex
	rows  map[publish.Key]publish.Publication
	views map[publish.Key]map[int][]byte
	live  map[publish.Key]map[int]bool
	// failSave fails the n-th save from now on, counting from 1.
	failSave int
	saves    int
}

func newMemStore() *memStore {
	return &memStore{rows: map[publish.Key]publish.Publication{}, views: map[publish.Key]map[int][]byte{}, live: map[publish.Key]map[int]bool{}}
}

func (m *memStore) ClaimPublication(_ context.Context, c publish.Claim) (publish.Claimed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, err := json.Marshal(c.View)
	if err != nil {
		return publish.Claimed{}, err
	}
	if m.views[c.Key] == nil {
		m.views[c.Key], m.live[c.Key] = map[int][]byte{}, map[int]bool{}
	}
	n := c.View.Pull.Number
	if c.View.Live() {
		for key := range m.live {
			if key.HeadSHA != c.Key.HeadSHA || key.Name == publish.Rival(c.Key.Name) {
				delete(m.live[key], n)
			}
		}
	}
	m.views[c.Key][n], m.live[c.Key][n] = raw, c.View.Live()
	p := m.rows[c.Key]
	p.Key, p.Repo = c.Key, c.Repo
	if p.Owner != "" && p.Owner != c.Owner && p.LeaseUntil.After(c.Now) {
		return publish.Claimed{Publication: p}, nil
	}
	p.Owner, p.LeaseUntil = c.Owner, c.Until
	p.Fence++
	m.rows[c.Key] = p
	out := publish.Claimed{Granted: true, Publication: p}
	for number, raw := range m.views[c.Key] {
		if m.live[c.Key][number] || number == n {
			var v publish.View
			if err := json.Unmarshal(raw, &v); err != nil {
				return publish.Claimed{}, err
			}
			out.Views = append(out.Views, v)
		}
	}
	return out, nil
}

func (m *memStore) SavePublication(_ context.Context, p publish.Publication) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saves++
	if m.failSave > 0 && m.saves >= m.failSave {
		return context.DeadlineExceeded
	}
	if m.rows[p.Key].Fence != p.Fence {
		return publish.ErrClaimLost
	}
	if p.LeaseUntil.IsZero() {
		p.Owner = ""
	}
	m.rows[p.Key] = p
	return nil
}

func (m *memStore) OpenPublications(_ context.Context, repoID int64, pull int) ([]publish.Publication, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []publish.Publication
	for key, p := range m.rows {
		if _, ok := m.views[key][pull]; ok && key.RepoID == repoID && p.Open() {
			out = append(out, p)
		}
	}
	return out, nil
}

func (m *memStore) StalePublications(_ context.Context, before time.Time, _ int) ([]publish.Publication, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []publish.Publication
	for _, p := range m.rows {
		if p.Open() && p.UpdatedAt.Before(before) {
			out = append(out, p)
		}
	}
	return out, nil
}

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
