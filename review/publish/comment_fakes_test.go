package publish_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
)

// fakeReviews keeps reviews as GitHub does: one pending one for each account, all or
// nothing at the beginning, part by part later, submitted once. It can fail before
// or after a request had its effect, and its lists can lag.
type fakeReviews struct {
	reviews []*fakeReview
	threads []*forge.Thread // pending ones too
	gone    map[string]bool // threads whose comment somebody deleted
	bad     map[string]bool // "path:line" that has no place in the diff
	heads   map[string]bool // commits of the pull request; nil: all
	writes  []string
	calls   []string
	created int
	// vague: the forge does not say which of its rules refused.
	vague         bool
	before, after func(call string) error
	// stale: lists show what was there before the last write. lag is that state.
	stale bool
	lag   fakeState
}

type fakeReview struct {
	forge.OwnReview
	comments []forge.LineComment
	replies  []forge.Reply
}

type fakeState struct {
	reviews []forge.OwnReview
	threads []forge.Thread
}

func (f *fakeReviews) request(call string, effect func() error) error {
	f.calls = append(f.calls, call)
	if f.before != nil {
		if err := f.before(call); err != nil {
			return err
		}
	}
	write := call != "reviews" && call != "threads"
	if write {
		f.lag = f.now()
	}
	err := effect()
	if err == nil && f.after != nil {
		err = f.after(call)
	}
	return err
}

func (f *fakeReviews) now() fakeState {
	var s fakeState
	for _, r := range slices.Backward(f.reviews) {
		s.reviews = append(s.reviews, r.OwnReview)
	}
	for _, t := range f.threads {
		if !f.gone[t.ID] {
			s.threads = append(s.threads, *t)
		}
	}
	return s
}

func refusedAs(kind forge.Kind, err error) error {
	return &forge.Error{Kind: kind, Op: "write review", Err: err}
}

func (f *fakeReviews) find(ref forge.ReviewRef) *fakeReview {
	for _, r := range f.reviews {
		if r.Ref == ref {
			return r
		}
	}
	return nil
}

func (f *fakeReviews) why(err error) error {
	if f.vague {
		return refusedAs(forge.KindInvalid, errors.New("unprocessable"))
	}
	return refusedAs(forge.KindInvalid, err)
}

func (f *fakeReviews) BeginReview(_ context.Context, pull forge.PullRef, head, body string, comments []forge.LineComment) (forge.ReviewRef, error) {
	var ref forge.ReviewRef
	err := f.request("begin", func() error {
		if len(body) > publish.MaxBodyBytes || pull.Number != 7 {
			return refusedAs(forge.KindInvalid, errors.New("body"))
		}
		if f.heads != nil && !f.heads[head] {
			return f.why(forge.ErrNotInPull)
		}
		for _, r := range f.reviews {
			if r.Pending {
				return f.why(forge.ErrReviewPending)
			}
		}
		for _, c := range comments {
			if !f.accepts(c) {
				return f.why(errors.New("line could not be resolved"))
			}
		}
		f.created++
		ref = forge.ReviewRef{ID: int64(f.created), Node: fmt.Sprint("R", f.created)}
		r := &fakeReview{OwnReview: forge.OwnReview{Ref: ref, Pending: true, CommitSHA: head, Body: body}}
		f.reviews = append(f.reviews, r)
		for _, c := range comments {
			f.comment(r, c)
		}
		f.writes = append(f.writes, fmt.Sprintf("begin %d", len(comments)))
		return nil
	})
	return ref, err
}

func (f *fakeReviews) accepts(c forge.LineComment) bool {
	return !f.bad[fmt.Sprintf("%s:%d", c.Path, c.Line)] && c.Line > 0 && (c.StartLine == 0 || c.StartLine < c.Line) &&
		(c.Side == "LEFT" || c.Side == "RIGHT") && c.Path != "" && c.Body != "" && len(c.Body) <= publish.MaxBodyBytes
}

func (f *fakeReviews) comment(r *fakeReview, c forge.LineComment) {
	r.comments = append(r.comments, c)
	n := int64(len(f.threads) + 1)
	f.threads = append(f.threads, &forge.Thread{ID: fmt.Sprint("T", n), ReviewID: r.Ref.ID, CommentID: 100 + n, Body: c.Body})
}

func (f *fakeReviews) AddToReview(_ context.Context, _ forge.PullRef, ref forge.ReviewRef, comments []forge.LineComment, replies []forge.Reply) (forge.Refused, error) {
	out := forge.Refused{Comments: map[int]string{}, Replies: map[int]string{}}
	err := f.request("add", func() error {
		r := f.find(ref)
		if r == nil || !r.Pending {
			return refusedAs(forge.KindNotFound, errors.New("no such review"))
		}
		for i, c := range comments {
			if !f.accepts(c) {
				out.Comments[i] = "line could not be resolved"
				continue
			}
			f.comment(r, c)
		}
		for i, reply := range replies {
			t := f.thread(reply.ThreadID)
			if t == nil || f.gone[t.ID] {
				out.Replies[i] = "not found"
				continue
			}
			r.replies = append(r.replies, reply)
			t.Replies = append(t.Replies, reply.Body)
		}
		f.writes = append(f.writes, fmt.Sprintf("add %d %d", len(comments), len(replies)))
		return nil
	})
	return out, err
}

func (f *fakeReviews) thread(id string) *forge.Thread {
	for _, t := range f.threads {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func (f *fakeReviews) SubmitReview(_ context.Context, _ forge.PullRef, ref forge.ReviewRef, body string) error {
	return f.request("submit", func() error {
		r := f.find(ref)
		switch {
		case r == nil:
			return refusedAs(forge.KindNotFound, errors.New("no such review"))
		case !r.Pending || body == "" || len(body) > publish.MaxBodyBytes:
			return refusedAs(forge.KindInvalid, errors.New("not pending"))
		}
		r.Pending, r.Body = false, body
		f.writes = append(f.writes, "submit")
		return nil
	})
}

func (f *fakeReviews) DropReview(_ context.Context, _ forge.PullRef, ref forge.ReviewRef) error {
	return f.request("drop", func() error {
		r := f.find(ref)
		if r == nil {
			return nil
		}
		if !r.Pending {
			return refusedAs(forge.KindInvalid, errors.New("not pending"))
		}
		f.reviews = slices.DeleteFunc(f.reviews, func(o *fakeReview) bool { return o == r })
		for _, reply := range r.replies {
			t := f.thread(reply.ThreadID)
			t.Replies = slices.DeleteFunc(t.Replies, func(b string) bool { return b == reply.Body })
		}
		f.threads = slices.DeleteFunc(f.threads, func(t *forge.Thread) bool { return t.ReviewID == ref.ID })
		f.writes = append(f.writes, "drop")
		return nil
	})
}

func (f *fakeReviews) OwnReviews(context.Context, forge.PullRef) ([]forge.OwnReview, error) {
	var out []forge.OwnReview
	err := f.request("reviews", func() error {
		out = f.now().reviews
		if f.stale {
			out = f.lag.reviews
		}
		return nil
	})
	return out, err
}

func (f *fakeReviews) OwnThreads(context.Context, forge.PullRef) ([]forge.Thread, error) {
	var out []forge.Thread
	err := f.request("threads", func() error {
		out = f.now().threads
		if f.stale {
			out = f.lag.threads
		}
		return nil
	})
	return out, err
}

// seen is what people see: for each submitted review its commit, the first line of
// each comment and of each reply, and the findings in its body.
func (f *fakeReviews) seen() string {
	var b strings.Builder
	for _, r := range f.reviews {
		if r.Pending {
			b.WriteString("PENDING ")
		}
		fmt.Fprintf(&b, "%.7s", r.CommitSHA)
		for _, c := range r.comments {
			fmt.Fprintf(&b, " [%s:%d %s]", c.Path, c.Line, titleIn(c.Body))
		}
		for _, reply := range r.replies {
			line, _, _ := strings.Cut(reply.Body, "\n")
			fmt.Fprintf(&b, " (%s: %s)", titleIn(f.thread(reply.ThreadID).Body), line)
		}
		for _, part := range strings.Split(r.Body, "**")[1:] {
			if _, title, ok := strings.Cut(part, " · "); ok {
				fmt.Fprintf(&b, " {%s}", title)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func titleIn(body string) string {
	_, rest, _ := strings.Cut(body, " · ")
	title, _, _ := strings.Cut(rest, "**")
	return title
}

// memComments is a publish.CommentStore in memory.
type memComments struct {
	mu   sync.Mutex
	rows map[int][]byte
	// delivered are all rows, by key.
	delivered map[review.FindingKey]publish.Delivered
	// before and after fail a save, before or after it was made. n counts from 1.
	before, after func(n int) error
	saves         int
}

func newMemComments() *memComments {
	return &memComments{rows: map[int][]byte{}, delivered: map[review.FindingKey]publish.Delivered{}}
}

func (m *memComments) row(pull int) publish.Posting {
	var p publish.Posting
	if raw := m.rows[pull]; raw != nil {
		if err := json.Unmarshal(raw, &p); err != nil {
			panic(err)
		}
	}
	return p
}

func (m *memComments) put(pull int, p publish.Posting) {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	m.rows[pull] = raw
}

func (m *memComments) ClaimPosting(_ context.Context, c publish.PostingClaim) (publish.ClaimedPosting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.row(c.Pull.Number)
	p.Pull = c.Pull
	if p.Owner != "" && p.Owner != c.Owner && p.LeaseUntil.After(c.Now) {
		return publish.ClaimedPosting{Posting: p}, nil
	}
	p.Owner, p.LeaseUntil = c.Owner, c.Until
	p.Fence++
	m.put(c.Pull.Number, p)
	out := publish.ClaimedPosting{Granted: true, Posting: p}
	for _, d := range m.delivered {
		if d.State.Open() {
			out.Open = append(out.Open, d)
		}
	}
	slices.SortFunc(out.Open, func(a, b publish.Delivered) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

func (m *memComments) SavePosting(_ context.Context, p publish.Posting, changed []publish.Delivered) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saves++
	if m.before != nil {
		if err := m.before(m.saves); err != nil {
			return err
		}
	}
	if m.row(p.Pull.Number).Fence != p.Fence {
		return publish.ErrPostingLost
	}
	if p.LeaseUntil.IsZero() {
		p.Owner = ""
	}
	m.put(p.Pull.Number, p)
	for _, d := range changed {
		m.delivered[d.Key] = d
	}
	if m.after != nil {
		return m.after(m.saves)
	}
	return nil
}
