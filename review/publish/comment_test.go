package publish_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// desk is a publisher of comments with everything it touches.
type desk struct {
	t     *testing.T
	forge *fakeReviews
	store *memComments
	clock *clock
	*publish.Publisher
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, forge: &fakeReviews{}, store: newMemComments(), clock: newClock()}
	d.Publisher = d.another("one")
	return d
}

func (d *desk) another(owner string) *publish.Publisher {
	d.t.Helper()
	p, err := publish.New(publish.Options{Store: newMemStore(), Comments: d.store, Owner: owner, Now: d.clock.Now, Wait: 50 * time.Millisecond, Poll: time.Millisecond})
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func ten() publish.CommentLimits {
	return publish.CommentLimits{Max: 10, MinSeverity: review.SeverityMedium}
}

func (d *desk) try(v publish.View) (publish.CommentResult, error) {
	return d.Comment(d.t.Context(), d.forge, repo(), v, ten())
}

func (d *desk) comment(v publish.View) publish.CommentResult {
	d.t.Helper()
	d.forge.calls = nil
	res, err := d.try(v)
	if err != nil {
		d.t.Fatalf("comment: %v", err)
	}
	if res.Calls != len(d.forge.calls) {
		d.t.Errorf("%d calls are counted, and %v were made", res.Calls, d.forge.calls)
	}
	return res
}

func (d *desk) wantCalls(want string) {
	d.t.Helper()
	if got := fmt.Sprint(d.forge.calls); got != want {
		d.t.Errorf("calls %s, want %s", got, want)
	}
}

func (d *desk) wantSeen(want ...string) {
	d.t.Helper()
	if got := d.forge.seen(); got != strings.Join(want, "\n")+"\n" {
		d.t.Errorf("people see\n%swant\n%s\n", got, strings.Join(want, "\n"))
	}
}

// lineFinding is a scanner's finding at a line, with a place.
func lineFinding(title, path string, line int, severity review.Severity) review.Finding {
	return review.Finding{
		Key: review.KeyOf(path, title, "auth"), Rule: "auth", Source: review.FromScan, Path: path, Side: review.SideRight, Line: line,
		Severity: severity, Title: title, Detail: "Because.", Verified: true,
		Anchor: &review.Anchor{Path: path, Side: review.SideRight, Line: line},
	}
}

// on is a decided view of a head with these scanners' findings.
func on(head string, findings ...review.Finding) publish.View {
	v := reviewed(assessed(risk.High))
	v.HeadSHA, v.SessionID = head, "01J9ZQ4C8Z00000000000"+head[:5]
	v.Evidence.Findings = findings
	return decided(v)
}

func three() []review.Finding {
	return []review.Finding{
		lineFinding("One", "a.go", 10, review.SeverityHigh), lineFinding("Two", "b.go", 20, review.SeverityMedium), lineFinding("Three", "c.go", 30, review.SeverityCritical),
	}
}

func TestCommentsOfAFirstSession(t *testing.T) {
	d := newDesk(t)
	res := d.comment(on(headA, three()...))
	d.wantCalls("[begin submit]")
	d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One] [b.go:20 Two]")
	if len(res.Posted) != 3 || res.Posted[0] != three()[2].Key || res.ReviewID != 1 || len(res.NotCommented) != 0 {
		t.Errorf("result %+v", res)
	}
	if body := d.forge.reviews[0].Body; !strings.HasPrefix(body, "3 findings on the lines of `3f2a9c1`.\n") {
		t.Errorf("body %q", body)
	}
	// The same again, on the same head and on another: nothing is said, or asked.
	for _, v := range []publish.View{on(headA, three()...), on(headB, three()...)} {
		res = d.comment(v)
		d.wantCalls("[]")
		if len(res.Standing) != 3 || len(res.Posted) != 0 || len(res.NotCommented) != 0 {
			t.Errorf("result %+v", res)
		}
	}
	none := newDesk(t)
	none.comment(on(headA))
	none.wantCalls("[]")
}

func TestAFixedFindingIsAnsweredOnce(t *testing.T) {
	d := newDesk(t)
	d.comment(on(headA, three()...))
	d.clock.add(time.Hour)
	d.forge.threads[0].Resolved, d.forge.threads[1].Outdated = true, true
	four := lineFinding("Four", "d.go", 4, review.SeverityLow)
	four.Severity = review.SeverityHigh
	res := d.comment(on(headB, three()[1], four))
	d.wantCalls("[threads begin add submit]")
	d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One] [b.go:20 Two]",
		"8c1f02d [d.go:4 Four] (One: Fixed in "+headB+".) (Three: Fixed in "+headB+".)")
	if len(res.Fixed) != 2 || len(res.Standing) != 1 || len(res.Posted) != 1 {
		t.Errorf("result %+v", res)
	}
	if got := d.store.delivered[three()[0].Key]; got.State != publish.DeliveryFixed || got.FixedSHA != headB || got.ThreadID != "T2" || got.CommentID != 102 || got.FixedAt.IsZero() {
		t.Errorf("row %+v", got)
	}
	d.comment(on(headB, three()[1], four))
	d.wantCalls("[]")
	// It comes back: that is news again.
	d.comment(on(headA, three()[0], three()[1], four))
	d.wantCalls("[begin submit]")
	if !strings.HasSuffix(d.forge.seen(), "3f2a9c1 [a.go:10 One]\n") {
		t.Errorf("people see %s", d.forge.seen())
	}
	// And goes: the reply is in the new thread.
	d.clock.add(time.Hour)
	d.comment(on(headB, three()[1], four))
	if th := d.forge.threads[4]; len(th.Replies) != 1 || len(d.forge.threads[1].Replies) != 1 {
		t.Errorf("replies %+v and %+v", th, d.forge.threads[1])
	}
}

func TestADeletedCommentGetsNoReply(t *testing.T) {
	d := newDesk(t)
	d.comment(on(headA, three()...))
	d.forge.gone = map[string]bool{"T2": true}
	// So soon after it was written, a list that lacks it may be behind.
	_, err := d.try(on(headB, three()[1:]...))
	var late *publish.UnsettledError
	if !errors.As(err, &late) || !forge.Temporary(err) {
		t.Fatalf("error = %v, want one that time mends", err)
	}
	d.clock.add(time.Hour)
	res := d.comment(on(headB, three()[1:]...))
	d.wantCalls("[threads]")
	if len(res.Fixed) != 1 {
		t.Errorf("result %+v", res)
	}
	d.comment(on(headB, three()[1:]...))
	d.wantCalls("[]")

	// Deleted between the list and the reply: nothing is left to be shown.
	d.forge.after = func(call string) error {
		if call == "threads" {
			d.forge.gone["T3"] = true
		}
		return nil
	}
	d.comment(on(headA, three()[2]))
	d.wantCalls("[threads begin add drop]")
	d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One] [b.go:20 Two]")
}

func TestCase002_OneBadPlaceLosesNothing(t *testing.T) {
	for _, vague := range []bool{false, true} {
		d := newDesk(t)
		d.forge.vague, d.forge.bad = vague, map[string]bool{"b.go:20": true}
		res := d.comment(on(headA, three()...))
		d.wantCalls("[begin begin add submit]")
		d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One] {Two}")
		if len(res.Posted) != 2 || len(res.InBody) != 1 || len(d.forge.reviews) != 1 {
			t.Errorf("result %+v, %d reviews", res, len(d.forge.reviews))
		}
		d.comment(on(headB, three()...))
		d.wantCalls("[]")
		// What stands in a body has no thread to answer in.
		d.comment(on(headB, three()[0], three()[2]))
		d.wantCalls("[]")
	}
}

func TestEveryPlaceIsBad(t *testing.T) {
	d := newDesk(t)
	d.forge.bad = map[string]bool{"a.go:10": true, "b.go:20": true, "c.go:30": true}
	d.comment(on(headA, three()...))
	d.wantSeen("3f2a9c1 {Three} {One} {Two}")
}

func TestCase012_ACommitThatLeftThePullRequest(t *testing.T) {
	d := newDesk(t)
	d.forge.heads = map[string]bool{headB: true}
	_, err := d.try(on(headA, three()...))
	var gone *publish.SupersededError
	if !errors.As(err, &gone) || gone.HeadSHA != headA || forge.Temporary(err) {
		t.Fatalf("error = %v, want to hear that it is superseded", err)
	}
	d.wantCalls("[begin]")
	d.comment(on(headB, three()...))
	d.wantCalls("[begin submit]")
	d.wantSeen("8c1f02d [c.go:30 Three] [a.go:10 One] [b.go:20 Two]")
}

func TestCase013_OutdatedThreadsProveNothing(t *testing.T) {
	d := newDesk(t)
	d.comment(on(headA, three()...))
	d.clock.add(time.Hour)
	for _, th := range d.forge.threads {
		th.Outdated = true
	}
	// The scanner did not look at every file: what it does not find may be there.
	v := on(headB)
	v.Evidence.ScanGaps = []review.ScanGap{{Rule: "auth", Files: 1}}
	res := d.comment(v)
	d.wantCalls("[]")
	if len(res.Standing) != 3 || len(res.Fixed) != 0 {
		t.Errorf("result %+v", res)
	}
}

func TestWhatIsNotProvenGoneStands(t *testing.T) {
	reviewers := func(f review.Finding) review.Finding {
		f.Source, f.Rule, f.Category = review.FromReviewer, "", "auth"
		return f
	}
	for name, c := range map[string]struct {
		finding review.Finding
		change  func(*publish.View)
		fixed   int
	}{
		"scanned again":          {three()[0], func(*publish.View) {}, 1},
		"a gap of another rule":  {three()[0], func(v *publish.View) { v.Evidence.ScanGaps = []review.ScanGap{{Rule: "x"}} }, 1},
		"a gap of its rule":      {three()[0], func(v *publish.View) { v.Evidence.ScanGaps = []review.ScanGap{{Rule: "auth"}} }, 0},
		"more than listed":       {three()[0], func(v *publish.View) { v.Evidence.MoreFindings = []review.MoreFindings{{Rule: "auth", Count: 1}} }, 0},
		"its file was cut":       {three()[0], func(v *publish.View) { v.Evidence.Truncated = []review.TruncatedFile{{Path: "a.go"}} }, 0},
		"the diff was not read":  {three()[0], func(v *publish.View) { v.Evidence.Unread = []review.Unread{{What: "diff", Fatal: true}} }, 0},
		"the modes were not":     {three()[0], func(v *publish.View) { v.Evidence.Unread = []review.Unread{{What: "modes"}} }, 1},
		"nothing was read":       {three()[0], func(v *publish.View) { v.Evidence = review.Evidence{} }, 0},
		"waived":                 {three()[0], func(v *publish.View) { w := three()[0]; w.Waived = &review.Waiver{By: "mona"}; v.Evidence.Findings = []review.Finding{w} }, 0},
		"reviewed again":         {reviewers(three()[0]), func(v *publish.View) { v.Evidence.Coverage = []review.FileCoverage{{Path: "a.go", State: review.FileInspected}} }, 1},
		"reviewed in part":       {reviewers(three()[0]), func(v *publish.View) { v.Evidence.Coverage = []review.FileCoverage{{Path: "a.go", State: review.FilePartiallyInspected}} }, 0},
		"nobody says what of it": {reviewers(three()[0]), func(v *publish.View) { v.Evidence.Coverage = nil }, 0},
		"no review ran":          {reviewers(three()[0]), func(v *publish.View) { v.Evidence.Reviewers = nil; v.Evidence.Coverage = []review.FileCoverage{{Path: "a.go", State: review.FileInspected}} }, 0},
		"its file left the patch": {reviewers(three()[0]), func(v *publish.View) {
			v.Evidence.ChangedFiles, v.Evidence.Coverage = 1, []review.FileCoverage{{Path: "z.go", State: review.FileSkipped}}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.comment(on(headA, c.finding))
			d.clock.add(time.Hour)
			v := on(headB)
			c.change(&v)
			if res := d.comment(v); len(res.Fixed) != c.fixed || len(res.Standing) != 1-c.fixed {
				t.Errorf("fixed %v, standing %v, want %d fixed", res.Fixed, res.Standing, c.fixed)
			}
		})
	}
}

// A finding whose key holds its line is not fixed by a line above it.
func TestAFindingThatMovedIsTheSame(t *testing.T) {
	d := newDesk(t)
	secret := lineFinding("Token", "a.go", 10, review.SeverityCritical)
	second := lineFinding("Token", "a.go", 12, review.SeverityCritical)
	second.Key = review.KeyOf("a.go", "Token at line 12", "auth")
	d.comment(on(headA, secret))
	for i, line := range []int{12, 14} {
		moved := secret
		moved.Key, moved.Line = review.KeyOf("a.go", fmt.Sprintf("Token at line %d", line), "auth"), line
		res := d.comment(on(headB, moved))
		d.wantCalls("[]")
		if len(res.Standing) != 1 || res.Standing[0] != moved.Key || len(res.Fixed) != 0 {
			t.Errorf("move %d: result %+v", i, res)
		}
	}
	// Renamed with its file, and a second one appears: that one is new.
	v := on(headB, func() review.Finding { f := lineFinding("Token", "new.go", 14, review.SeverityCritical); return f }(), second)
	v.Assessment.Files = []risk.FileRisk{{Path: "new.go", PreviousPath: "a.go"}}
	d.clock.add(time.Hour)
	res := d.comment(v)
	if len(res.Standing) != 1 || len(res.Posted) != 1 || len(res.Fixed) != 0 {
		t.Errorf("result %+v", res)
	}
	// Its thread is found by the marker that it was given at first.
	d.clock.add(time.Hour)
	if res := d.comment(on(headA)); len(res.Fixed) != 2 || len(d.forge.threads[0].Replies) != 1 || len(d.forge.threads[1].Replies) != 1 {
		t.Errorf("result %+v, threads %+v", res, d.forge.threads)
	}
}

func TestOnlySoManyCommentsStandOpen(t *testing.T) {
	d := newDesk(t)
	list := append(three(), lineFinding("Small", "d.go", 1, review.SeverityLow))
	noPlace := lineFinding("Nowhere", "e.go", 5, review.SeverityCritical)
	noPlace.Anchor = nil
	zero := lineFinding("Zero", "f.go", 5, review.SeverityCritical)
	zero.Anchor = &review.Anchor{Path: "f.go", Side: review.SideRight}
	list = append(list, noPlace, zero)
	limits := ten()
	limits.Max = 2
	res, err := d.Comment(t.Context(), d.forge, repo(), on(headA, list...), limits)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range res.NotCommented {
		left = append(left, f.Title)
	}
	if got := fmt.Sprint(left); got != "[Nowhere Zero Two Small]" || len(res.Posted) != 2 {
		t.Errorf("left %s, posted %v", got, res.Posted)
	}
	// No room for others while these two stand; one is fixed, the next one follows.
	d.clock.add(time.Hour)
	res, err = d.Comment(t.Context(), d.forge, repo(), on(headB, list[1:]...), limits)
	if err != nil || len(res.Posted) != 1 || len(res.Fixed) != 1 {
		t.Errorf("result %+v, %v", res, err)
	}
	d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One]", "8c1f02d [b.go:20 Two] (One: Fixed in "+headB+".)")
	// The cap holds whatever a policy says.
	many := newDesk(t)
	list = nil
	for i := range 70 {
		list = append(list, lineFinding(fmt.Sprint("N", i), "a.go", i+1, review.SeverityHigh))
	}
	res, err = many.Comment(t.Context(), many.forge, repo(), on(headA, list...), publish.CommentLimits{Max: 1000})
	if err != nil || len(res.Posted) != publish.MaxOpenComments || len(res.NotCommented) != 20 {
		t.Errorf("%d posted, %d left, %v", len(res.Posted), len(res.NotCommented), err)
	}
}

func TestWhoIsCommented(t *testing.T) {
	d := newDesk(t)
	for _, state := range []publish.State{publish.StateInProgress, publish.StateDraft, publish.StatePaused, publish.StateSuperseded, publish.StateClosed, publish.StateFailed} {
		v := on(headA, three()...)
		v.State = state
		d.comment(v)
		d.wantCalls("[]")
	}
	v := on(headA, three()[0], three()[0]) // listed twice
	waived, unverified := lineFinding("Waived", "w.go", 1, review.SeverityHigh), lineFinding("Unverified", "u.go", 1, review.SeverityHigh)
	waived.Allowed = "a fixture"
	unverified.Verified = false
	v.Evidence.Findings = append(v.Evidence.Findings, waived)
	v.Evidence.Reviewers[0].Findings = []review.Finding{unverified, three()[1]}
	v.Observe = true
	res := d.comment(v)
	d.wantSeen("3f2a9c1 [a.go:10 One] [b.go:20 Two]")
	if len(res.NotCommented) != 0 {
		t.Errorf("left %+v", res.NotCommented)
	}
	for name, bad := range map[string]func(){
		"another repository": func() { _, err := d.Comment(t.Context(), d.forge, forge.Repo{ID: 1}, v, ten()); wantErr(t, err) },
		"no head":            func() { v := v; v.HeadSHA = "main"; _, err := d.try(v); wantErr(t, err) },
		"no store": func() {
			p, err := publish.New(publish.Options{Store: newMemStore(), Owner: "x"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Comment(t.Context(), d.forge, repo(), v, ten())
			wantErr(t, err)
		},
	} {
		t.Run(name, func(*testing.T) { bad() })
	}
}

func wantErr(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("it was not refused")
	}
}

func TestForeignPendingReviewIsCleared(t *testing.T) {
	for _, vague := range []bool{false, true} {
		d := newDesk(t)
		if _, err := d.forge.BeginReview(t.Context(), forge.PullRef{Number: 7}, headB, "of a session that was killed", nil); err != nil {
			t.Fatal(err)
		}
		d.forge.vague = vague
		d.comment(on(headA, three()...))
		if !vague {
			d.wantCalls("[begin reviews drop begin submit]")
		}
		d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One] [b.go:20 Two]")
	}
}

func TestAnotherProcessComments(t *testing.T) {
	d := newDesk(t)
	pull := forge.PullRef{Repo: repo(), Number: 7}
	until := d.clock.Now().Add(time.Minute)
	claimed, err := d.store.ClaimPosting(t.Context(), publish.PostingClaim{Pull: pull, Owner: "other", Now: d.clock.Now(), Until: until})
	if err != nil || !claimed.Granted {
		t.Fatal(claimed, err)
	}
	_, err = d.try(on(headA, three()...))
	var busy *publish.BusyError
	if !errors.As(err, &busy) || !busy.Until.Equal(until) || len(d.forge.calls) != 0 {
		t.Errorf("error = %v after calls %v", err, d.forge.calls)
	}
	d.clock.add(2 * time.Minute)
	d.comment(on(headA, three()...))
	if err := d.store.SavePosting(t.Context(), claimed.Posting, nil); !errors.Is(err, publish.ErrPostingLost) {
		t.Errorf("error = %v, want ErrPostingLost", err)
	}
}

// A process that slept through its claim writes nothing more.
func TestNoCommentAfterTheClaimEnded(t *testing.T) {
	d := newDesk(t)
	d.forge.after = func(call string) error {
		if call == "begin" {
			d.clock.add(10 * time.Minute)
		}
		return nil
	}
	d.store.after = func(int) error { return nil }
	two := d.another("two")
	slept := false
	d.store.before = func(n int) error {
		if n == 2 && !slept { // the first one wakes up after somebody else has finished
			slept = true
			d.store.mu.Unlock()
			_, err := two.Comment(t.Context(), d.forge, repo(), on(headA, three()...), ten())
			d.store.mu.Lock()
			if err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	_, err := d.try(on(headA, three()...))
	if !errors.Is(err, publish.ErrPostingLost) {
		t.Errorf("error = %v, want ErrPostingLost", err)
	}
	d.wantSeen("3f2a9c1 [c.go:30 Three] [a.go:10 One] [b.go:20 Two]")
	if n := len(slices.DeleteFunc(slices.Clone(d.forge.writes), func(w string) bool { return w != "submit" })); n != 1 {
		t.Errorf("submitted %d times: %v", n, d.forge.writes)
	}
}
