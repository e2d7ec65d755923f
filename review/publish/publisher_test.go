package publish_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// bench is a publisher with everything it touches.
type bench struct {
	t     *testing.T
	name  string // of the check
	forge *fakeForge
	store *memStore
	clock *clock
	*publish.Publisher
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return benchOf(t, publish.CheckName)
}

func benchOf(t *testing.T, name string) *bench {
	t.Helper()
	b := &bench{t: t, name: name, forge: &fakeForge{}, store: newMemStore(), clock: newClock()}
	b.Publisher = b.another("one")
	return b
}

// another is the publisher of a second process, or of the first one started again.
func (b *bench) another(owner string) *publish.Publisher {
	b.t.Helper()
	p, err := publish.New(publish.Options{Store: b.store, Owner: owner, Now: b.clock.Now, Wait: 50 * time.Millisecond, Poll: time.Millisecond})
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) publish(v publish.View, opt publish.PublishOptions) publish.Result {
	b.t.Helper()
	res, err := b.Publish(b.t.Context(), b.forge, repo(), b.name, v, opt)
	if err != nil {
		b.t.Fatalf("publish %s: %v", v.State, err)
	}
	return res
}

// shown is what the forge shows: the newest run of the name.
func (b *bench) shown() string {
	if len(b.forge.runs) == 0 {
		return "nothing"
	}
	r := b.forge.runs[len(b.forge.runs)-1]
	return fmt.Sprintf("%d runs: %s %s %q", len(b.forge.runs), r.Status, r.Conclusion, r.Title)
}

func (b *bench) wantShown(want string) {
	b.t.Helper()
	if got := b.shown(); got != want {
		b.t.Errorf("the forge shows %s, want %s", got, want)
	}
}

func (b *bench) row() publish.Publication {
	return b.store.rows[publish.Key{RepoID: 42, HeadSHA: headA, Name: b.name}]
}

func approved() publish.View { return decided(reviewed(assessed(risk.Medium))) }
func failing() publish.View {
	return decided(withChecks(reviewed(assessed(risk.High)), check("build", "failure")))
}

func waiting() publish.View {
	return decided(withChecks(reviewed(assessed(risk.High)), check("build", "")))
}

const approvedTitle = "Medium · approved · 14 of 14 files inspected"

func TestOneRunFromBeginningToEnd(t *testing.T) {
	b := newBench(t)
	if res := b.publish(base(), publish.PublishOptions{}); !res.Created || res.Calls != 1 || res.CheckRunID != 1 || res.ExternalID != "7:main:01J9ZQ4C8Z0000000000000007" {
		t.Errorf("first publication: %+v", res)
	}
	b.wantShown(`1 runs: in_progress  "Reading the pull request"`)
	if res := b.publish(waiting(), publish.PublishOptions{}); !res.Patched || res.Calls != 1 {
		t.Errorf("second publication: %+v", res)
	}
	if res := b.publish(approved(), publish.PublishOptions{}); !res.Patched || res.Conclusion != "success" {
		t.Errorf("third publication: %+v", res)
	}
	b.wantShown(`1 runs: completed success "` + approvedTitle + `"`)
	if res := b.publish(approved(), publish.PublishOptions{}); !res.Unchanged || res.Calls != 0 || res.Digest == "" {
		t.Errorf("the same again: %+v", res)
	}
	if res := b.publish(approved(), publish.PublishOptions{Force: true}); !res.Patched {
		t.Errorf("the same, forced: %+v", res)
	}
	// Back to work is a patch of the same run, and so is the next decision.
	b.publish(base(), publish.PublishOptions{})
	b.wantShown(`1 runs: in_progress  "Reading the pull request"`)
	b.publish(failing(), publish.PublishOptions{})
	b.wantShown(`1 runs: completed failure "High · changes requested · build failed"`)
	for _, w := range b.forge.writes {
		if w.Name != publish.CheckName || w.HeadSHA != headA || w.ExternalID == "" || w.Summary == "" || !w.StartedAt.Equal(b.clock.Now()) {
			t.Errorf("a write does not carry the whole state: %+v", w)
		}
	}
	if row := b.row(); row.Owner != "" || row.Open() {
		t.Errorf("the key was not given back: %+v", row)
	}
}

func TestARerunBeginsOneNewRun(t *testing.T) {
	b := newBench(t)
	b.publish(failing(), publish.PublishOptions{})
	again := base()
	again.SessionID = "01J9ZQ4C8Z0000000000000099"
	if res := b.publish(again, publish.PublishOptions{NewRun: true}); !res.Created || res.CheckRunID != 2 {
		t.Errorf("re-run: %+v", res)
	}
	b.publish(again, publish.PublishOptions{NewRun: true})
	done := approved()
	done.SessionID = again.SessionID
	b.publish(done, publish.PublishOptions{})
	if res := b.publish(done, publish.PublishOptions{NewRun: true}); !res.Unchanged {
		t.Errorf("the same session's re-run, repeated: %+v", res)
	}
	b.wantShown(`2 runs: completed success "` + approvedTitle + `"`)
	if b.forge.runs[0].Conclusion != "failure" {
		t.Errorf("the first run was changed: %+v", b.forge.runs[0])
	}
}

func TestCase031_TheConclusionStandsWithoutTheText(t *testing.T) {
	b := newBench(t)
	b.publish(base(), publish.PublishOptions{})
	b.forge.before = func(_ string, w forge.CheckWrite) error {
		if len(w.Summary) > 200 {
			return invalid()
		}
		return nil
	}
	res := b.publish(failing(), publish.PublishOptions{})
	if !res.Minimal || res.Calls != 2 || !res.Patched {
		t.Errorf("result = %+v, want a second write without text", res)
	}
	b.wantShown(`1 runs: completed failure "Failure"`)
	if res := b.publish(failing(), publish.PublishOptions{}); !res.Unchanged {
		t.Errorf("the refused text is sent again and again: %+v", res)
	}

	created := newBench(t)
	created.forge.before = b.forge.before
	if res := created.publish(failing(), publish.PublishOptions{}); !res.Created || !res.Minimal {
		t.Errorf("result = %+v, want a run without text", res)
	}
	created.wantShown(`1 runs: completed failure "Failure"`)

	refused := newBench(t)
	refused.forge.before = func(string, forge.CheckWrite) error { return invalid() }
	if _, err := refused.Publish(t.Context(), refused.forge, repo(), publish.CheckName, failing(), publish.PublishOptions{}); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("error = %v, want the refusal", err)
	}
}

func TestARunThatIsGoneIsBegunAnew(t *testing.T) {
	b := newBench(t)
	b.publish(base(), publish.PublishOptions{})
	b.forge.runs[0].ID = -1
	if res := b.publish(approved(), publish.PublishOptions{}); !res.Created || res.CheckRunID != 2 {
		t.Errorf("result = %+v", res)
	}
	b.wantShown(`2 runs: completed success "` + approvedTitle + `"`)
}

func TestTwoPullRequestsOnOneHead(t *testing.T) {
	b := newBench(t)
	second := failing()
	second.Pull.Number, second.PullURL, second.BaseRef = 9, "https://github.com/acme/api/pull/9", "release"
	b.publish(approved(), publish.PublishOptions{})
	b.publish(second, publish.PublishOptions{})
	b.wantShown(`1 runs: completed failure "High · changes requested · build failed"`)
	// The better one does not overwrite the worse.
	if res := b.publish(approved(), publish.PublishOptions{}); !res.Unchanged || res.Conclusion != "failure" {
		t.Errorf("result = %+v", res)
	}
	if !strings.Contains(b.forge.runs[0].Summary, "This head belongs to 2 open pull requests") {
		t.Errorf("the check does not list both:\n%s", b.forge.runs[0].Summary)
	}
	// The second one is closed: the check is the first one's alone.
	closed := second
	closed.State = publish.StateClosed
	if _, err := b.Close(t.Context(), b.forge, b.row(), closed); err != nil {
		t.Fatal(err)
	}
	b.wantShown(`1 runs: completed success "` + approvedTitle + `"`)
	// The first one moved on: what is left speaks for nobody and says so no more.
	b.publish(second, publish.PublishOptions{})
	moved := base()
	moved.HeadSHA = headB
	b.publish(moved, publish.PublishOptions{})
	if res := b.publish(second, publish.PublishOptions{}); res.Conclusion != "failure" || strings.Contains(b.forge.runs[0].Summary, "pull request 7") && res.Patched {
		t.Errorf("result = %+v", res)
	}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	superseded := in(base(), publish.StateSuperseded)
	superseded.SupersededBy = headB
	b := newBench(t)
	b.publish(base(), publish.PublishOptions{})
	open, err := b.store.OpenPublications(t.Context(), 42, 7)
	if err != nil || len(open) != 1 {
		t.Fatalf("open = %+v, %v", open, err)
	}
	// The view names the new head's session; the orphan's head is what is closed.
	view := superseded
	view.HeadSHA = headB
	if res, err := b.Close(t.Context(), b.forge, open[0], view); err != nil || !res.Patched {
		t.Fatalf("close: %+v, %v", res, err)
	}
	b.wantShown(`1 runs: completed cancelled "Superseded by 8c1f02d"`)
	if res, err := b.Close(t.Context(), b.forge, b.row(), view); err != nil || !res.Unchanged {
		t.Errorf("closed twice: %+v, %v", res, err)
	}

	done := newBench(t)
	done.publish(failing(), publish.PublishOptions{})
	if res, err := done.Close(t.Context(), done.forge, done.row(), superseded); err != nil || res.Calls != 0 {
		t.Errorf("a check that had ended: %+v, %v", res, err)
	}
	done.wantShown(`1 runs: completed failure "High · changes requested · build failed"`)

	never := newBench(t)
	never.forge.before = func(call string, _ forge.CheckWrite) error {
		if call == "create" {
			return &forge.Error{Kind: forge.KindUnavailable, Op: "create check"}
		}
		return nil
	}
	_, _ = never.Publish(t.Context(), never.forge, repo(), publish.CheckName, base(), publish.PublishOptions{})
	if res, err := never.Close(t.Context(), never.forge, never.row(), superseded); err != nil || res.Created {
		t.Errorf("a check that was never posted: %+v, %v", res, err)
	}
	never.wantShown("nothing")

	if _, err := b.Close(t.Context(), b.forge, b.row(), approved()); err == nil {
		t.Error("a head was closed with a decision")
	}
}

func TestCase115_NothingIsPublishedElsewhere(t *testing.T) {
	b := newBench(t)
	b.publish(approved(), publish.PublishOptions{})
	for _, w := range b.forge.writes {
		if w.HeadSHA != headA || !strings.Contains(w.Summary, headA) {
			t.Errorf("the write names %s, and its text does not print the SHA that was read:\n%s", w.HeadSHA, w.Summary)
		}
	}
	tests := []struct {
		name   string
		repo   forge.Repo
		check  string
		change func(*publish.View)
	}{
		{"short head", repo(), publish.CheckName, func(v *publish.View) { v.HeadSHA = "3f2a9c1" }},
		{"branch as head", repo(), publish.CheckName, func(v *publish.View) { v.HeadSHA = "main" }},
		{"no session", repo(), publish.CheckName, func(v *publish.View) { v.SessionID = "" }},
		{"no state", repo(), publish.CheckName, func(v *publish.View) { v.State = 0 }},
		{"no pull request", repo(), publish.CheckName, func(v *publish.View) { v.Pull.Number = 0 }},
		{"another repository", forge.Repo{ID: 43}, publish.CheckName, func(*publish.View) {}},
		{"another name", repo(), "countersign v2", func(*publish.View) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			v := approved()
			tt.change(&v)
			if _, err := b.Publish(t.Context(), b.forge, tt.repo, tt.check, v, publish.PublishOptions{}); err == nil || len(b.forge.calls) > 0 {
				t.Errorf("published with %v after calls %v", err, b.forge.calls)
			}
		})
	}
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	if _, err := publish.New(publish.Options{Owner: "one"}); err == nil {
		t.Error("a publisher without a store")
	}
	if _, err := publish.New(publish.Options{Store: newMemStore()}); err == nil {
		t.Error("a publisher without a name")
	}
}
