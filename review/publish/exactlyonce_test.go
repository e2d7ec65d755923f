package publish_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
)

// Killed, or without an answer, at any save and any request: there is one run in
// the end, it shows the last word, and nothing else waits.
func TestCase076_ExactlyOneRunWhateverBreaks(t *testing.T) {
	for _, first := range []publish.View{base(), approved()} {
		for fault := 1; fault <= 12; fault++ {
			t.Run(fmt.Sprintf("%s/%d", first.State, fault), func(t *testing.T) {
				b := newBench(t)
				crashing(b, fault)
				_, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, first, publish.PublishOptions{})
				if err == nil {
					_, err = b.Publish(t.Context(), b.forge, repo(), publish.CheckName, waiting(), publish.PublishOptions{})
				}
				if fault <= 9 && err == nil {
					t.Error("nothing broke")
				}
				// The process is dead. Another takes over once its claim has ended.
				b.forge.before, b.forge.after, b.store.failSave = nil, nil, 0
				b.clock.add(2 * time.Minute)
				b.Publisher = b.another("two")
				b.publish(approved(), publish.PublishOptions{})
				b.wantShown(`1 runs: completed success "` + approvedTitle + `"`)
				if open, err := b.store.OpenPublications(t.Context(), 42, 7); err != nil || len(open) != 0 {
					t.Errorf("still open: %+v, %v", open, err)
				}
			})
		}
	}
}

// crashing breaks the n-th thing that a publisher relies on.
func crashing(b *bench, n int) {
	lost := &forge.Error{Kind: forge.KindUnavailable, Op: "write check", Err: errors.New("connection reset")}
	nth := func(n int) func(string, forge.CheckWrite) error {
		return func(string, forge.CheckWrite) error {
			if n--; n <= 0 {
				return lost
			}
			return nil
		}
	}
	switch {
	case n <= 3:
		b.forge.before = nth(n - 0)
		if n == 3 { // everything after the first request
			b.forge.before = nth(2)
		}
	case n <= 5:
		b.forge.after = nth(n - 3)
	default:
		b.store.failSave = n - 5
	}
}

func TestALostPostThatLandsLateIsCancelled(t *testing.T) {
	b := newBench(t)
	var late []forge.CheckWrite
	b.forge.before = func(call string, w forge.CheckWrite) error {
		if call == "create" && late == nil {
			late = append(late, w)
			return &forge.Error{Kind: forge.KindUnavailable, Op: "create check"}
		}
		return nil
	}
	if _, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, base(), publish.PublishOptions{}); err == nil {
		t.Fatal("a lost request was taken for done")
	}
	b.publish(base(), publish.PublishOptions{})
	// The lost request arrives after all, and would be the newest of the name.
	if _, err := b.forge.CreateCheck(t.Context(), repo(), late[0]); err != nil {
		t.Fatal(err)
	}
	res := b.publish(approved(), publish.PublishOptions{})
	if len(res.Cancelled) != 1 || b.forge.runs[0].Conclusion != "success" || b.forge.runs[1].Conclusion != "cancelled" {
		t.Errorf("result %+v, runs %+v", res, b.forge.runs)
	}
	if res := b.publish(failing(), publish.PublishOptions{}); res.Calls != 1 {
		t.Errorf("runs are listed again although nothing is unclear: %+v", res)
	}
}

func TestARefusedPostIsNoIntention(t *testing.T) {
	b := newBench(t)
	b.forge.before = func(string, forge.CheckWrite) error {
		return &forge.Error{Kind: forge.KindForbidden, Op: "create check", Status: 403}
	}
	_, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, base(), publish.PublishOptions{})
	if !forge.IsKind(err, forge.KindForbidden) {
		t.Fatalf("error = %v, want the forge's own", err)
	}
	b.forge.before, b.forge.calls = nil, nil
	b.publish(base(), publish.PublishOptions{})
	if got := fmt.Sprint(b.forge.calls); got != "[create]" {
		t.Errorf("calls = %s, want one create and no search", got)
	}
}

func TestPublishersOfOneHeadTakeTurns(t *testing.T) {
	b := newBench(t)
	two := b.another("two")
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			v := failing()
			if i%2 == 0 {
				v = approved()
			}
			v.Pull.Number = i%4 + 1
			p := b.Publisher
			if i%3 == 0 {
				p = two
			}
			for {
				_, err := p.Publish(t.Context(), b.forge, repo(), publish.CheckName, v, publish.PublishOptions{})
				var busy *publish.BusyError
				if errors.As(err, &busy) {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	if b.forge.overlapped {
		t.Error("two requests about one check were under way at once")
	}
	b.wantShown(`1 runs: completed failure "High · changes requested · build failed"`)
}

func TestAnotherProcessesClaim(t *testing.T) {
	b := newBench(t)
	until := b.clock.Now().Add(time.Minute)
	key := publish.Key{RepoID: 42, HeadSHA: headA, Name: publish.CheckName}
	claimed, err := b.store.ClaimPublication(t.Context(), publish.Claim{Key: key, Repo: repo(), Owner: "other", Now: b.clock.Now(), Until: until, View: base()})
	if err != nil || !claimed.Granted {
		t.Fatal(claimed, err)
	}
	_, err = b.Publish(t.Context(), b.forge, repo(), publish.CheckName, approved(), publish.PublishOptions{})
	var busy *publish.BusyError
	if !errors.As(err, &busy) || !busy.Until.Equal(until) || len(b.forge.calls) != 0 {
		t.Errorf("error = %v after calls %v, want to hear that it is busy until %v", err, b.forge.calls, until)
	}
	// It ends by itself. What its holder would still save is refused.
	b.clock.add(time.Minute + time.Second)
	b.publish(approved(), publish.PublishOptions{})
	if err := b.store.SavePublication(t.Context(), claimed.Publication); !errors.Is(err, publish.ErrClaimLost) {
		t.Errorf("error = %v, want ErrClaimLost", err)
	}
	// The same owner, started again, need not wait for its own claim.
	if _, err := b.store.ClaimPublication(t.Context(), publish.Claim{Key: key, Repo: repo(), Owner: "one", Now: b.clock.Now(), Until: b.clock.Now().Add(time.Minute), View: base()}); err != nil {
		t.Fatal(err)
	}
	b.publish(failing(), publish.PublishOptions{})
}

// A process that slept through its claim writes nothing more.
func TestNoWriteAfterTheClaimEnded(t *testing.T) {
	b := newBench(t)
	b.publish(base(), publish.PublishOptions{})
	b.forge.before = func(string, forge.CheckWrite) error {
		b.clock.add(10 * time.Minute)
		return invalid()
	}
	_, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, approved(), publish.PublishOptions{})
	if !errors.Is(err, publish.ErrClaimLost) {
		t.Errorf("error = %v, want ErrClaimLost", err)
	}
	if n := len(b.forge.calls); n != 2 {
		t.Errorf("%d calls, want the first write and the one it slept in", n)
	}
}

func TestWritesEndBeforeTheClaim(t *testing.T) {
	b := newBench(t)
	w := &deadlineForge{fakeForge: b.forge}
	if _, err := b.Publish(t.Context(), w, repo(), publish.CheckName, base(), publish.PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	if w.left <= 0 || w.left > 90*time.Second {
		t.Errorf("a write has %v, want less than the claim", w.left)
	}
}

// deadlineForge notes how much time a write is given.
type deadlineForge struct {
	*fakeForge
	left time.Duration
}

func (d *deadlineForge) CreateCheck(ctx context.Context, r forge.Repo, w forge.CheckWrite) (int64, error) {
	if at, ok := ctx.Deadline(); ok {
		d.left = time.Until(at)
	}
	return d.fakeForge.CreateCheck(ctx, r, w)
}
