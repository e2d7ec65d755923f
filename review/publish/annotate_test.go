package publish_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// found is a decided view with these findings of scanners.
func found(list ...review.Finding) publish.View {
	v := unreviewed(assessed(risk.High))
	v.Evidence.Findings = list
	return decided(v)
}

func grave() review.Finding {
	return scanFinding("untrusted-input", review.SeverityHigh, "a.yml", 6, "A title is run as a command")
}

func mild() review.Finding {
	return scanFinding("unpinned-action", review.SeverityMedium, "b.yml", 4, "actions/checkout is not pinned")
}

// places are the annotations of a run, as "level path:line".
func (b *bench) places(run int64) []string {
	var out []string
	for _, a := range b.forge.marks[run] {
		out = append(out, fmt.Sprintf("%s %s:%d", a.Level, a.Path, a.StartLine))
	}
	return out
}

func (b *bench) wantPlaces(run int64, want ...string) {
	b.t.Helper()
	if got := b.places(run); !slices.Equal(got, want) {
		b.t.Errorf("run %d is annotated at %q, want %q", run, got, want)
	}
}

// Every finding that stands and has a line at the head is marked there, the worst
// first; what is on the old side, has no line or is none stays in the text.
func TestAnnotationsOfADecision(t *testing.T) {
	b := newBench(t)
	b.publish(base(), publish.PublishOptions{})
	if res := b.publish(found(scanned()...), publish.PublishOptions{}); res.Calls != 1 || res.Annotated != 4 {
		t.Errorf("result %+v, want 4 annotations with the one write", res)
	}
	b.wantPlaces(1, "failure deploy/prod.env:3", "failure .github/workflows/pr.yml:6", "warning .github/workflows/pr.yml:4", "notice README.md:20")
	want := forge.Annotation{Path: "deploy/prod.env", StartLine: 3, EndLine: 3, Level: "failure", Title: "Critical · AWS access key", Message: "Why it is wrong. What to do.\n\nRule credential"}
	if got := b.forge.marks[1][0]; got != want {
		t.Errorf("annotation %+v, want %+v", got, want)
	}
}

// The worst 50 are sent, and the text counts the rest (case 32).
func TestCase032_TheWorstFiftyAreAnnotated(t *testing.T) {
	var list []review.Finding
	for i := range 120 {
		list = append(list, scanFinding("x", []review.Severity{review.SeverityLow, review.SeverityHigh, review.SeverityMedium}[i%3], "a.go", i+1, "t"))
	}
	b := newBench(t)
	b.publish(found(list...), publish.PublishOptions{})
	places := b.places(1)
	if len(places) != publish.MaxAnnotations {
		t.Fatalf("%d annotations", len(places))
	}
	for i, p := range places {
		if worst := strings.HasPrefix(p, "failure"); worst != (i < 40) {
			t.Errorf("annotation %d is %s", i, p)
		}
	}
	if want := "| Findings | 40 high, 40 medium, 40 low; the worst 50 of 120 are marked on their lines |"; !strings.Contains(b.forge.runs[0].Summary, want) {
		t.Errorf("the text does not say %q:\n%s", want, b.forge.runs[0].Summary)
	}
}

// Whatever strangers write into a path, a title or a text, the forge takes it, and
// nothing in it is hidden.
func TestAnnotationsAreHarmless(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "é", "審", "@all", "\u202e", "\x00", "\n", "\xff", "/", strings.Repeat("x", 700), "\u200b", "`", "<b>"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 9).Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		f := scanFinding(text.Draw(rt, "rule"), review.Severity(rapid.IntRange(0, 4).Draw(rt, "severity")), text.Draw(rt, "path"), rapid.IntRange(-1, 3).Draw(rt, "line"), text.Draw(rt, "title"))
		f.Detail, f.StartLine = strings.Repeat(text.Draw(rt, "detail"), 20), rapid.IntRange(-1, 5).Draw(rt, "start")
		b := newBench(t)
		if res := b.publish(found(f), publish.PublishOptions{}); res.Minimal || res.Calls != 1 {
			rt.Fatalf("%+v was refused: %+v", f, res)
		}
		for _, a := range b.forge.marks[1] {
			if a.Path != f.Path {
				rt.Fatalf("annotated at %q, want the head's path %q", a.Path, f.Path)
			}
			all := a.Path + a.Title + strings.ReplaceAll(a.Message, "\n\n", "")
			if !utf8.ValidString(all) || strings.ContainsAny(all, "\u202e\x00\n\u200b") || strings.Contains(a.Title+a.Message, "@") {
				rt.Fatalf("something hidden, broken or live in %+v", a)
			}
			if len(a.Message) > 4_000 {
				rt.Fatalf("a message of %d bytes", len(a.Message))
			}
		}
	})
}

// A run gets its set once: neither a recomputation, a forced write, another session,
// nor a draft in between sends it again.
func TestAnnotationsAreSentOnce(t *testing.T) {
	b := newBench(t)
	v := found(grave(), mild())
	b.publish(base(), publish.PublishOptions{})
	b.publish(v, publish.PublishOptions{})
	if res := b.publish(v, publish.PublishOptions{}); !res.Unchanged || res.Calls != 0 {
		t.Errorf("the same again: %+v", res)
	}
	b.publish(v, publish.PublishOptions{Force: true})
	again := v
	again.Evidence.Checks.Results = []review.CheckResult{check("build", "failure")}
	b.publish(decided(again), publish.PublishOptions{}) // another title
	for _, state := range []publish.State{publish.StateInProgress, publish.StateDraft, publish.StatePaused, publish.StateFailed} {
		next := in(base(), state)
		next.SessionID = "01J9ZQ4C8Z0000000000000099"
		b.publish(next, publish.PublishOptions{})
		v.SessionID = next.SessionID
		b.publish(v, publish.PublishOptions{})
	}
	slices.Reverse(v.Evidence.Findings) // found in another order
	b.publish(v, publish.PublishOptions{Force: true})
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	if len(b.forge.runs) != 1 {
		t.Errorf("%d runs", len(b.forge.runs))
	}
	for _, call := range b.forge.calls {
		if call == "list" {
			t.Error("runs were listed although nothing was unclear")
		}
	}
	// A re-run is a new run, which gets the set of its own decision.
	next := base()
	next.SessionID = "01J9ZQ4C8Z0000000000000100"
	b.publish(next, publish.PublishOptions{NewRun: true})
	v.SessionID = next.SessionID
	b.publish(v, publish.PublishOptions{})
	b.publish(v, publish.PublishOptions{Force: true})
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	b.wantPlaces(2, "failure a.yml:6", "warning b.yml:4")
}

// A changed set is a new run of the same name. The old one is ended where it waits,
// and keeps its conclusion where it had one.
func TestAChangedSetIsANewRun(t *testing.T) {
	b := newBench(t)
	b.publish(found(grave(), mild()), publish.PublishOptions{})
	if res := b.publish(found(mild()), publish.PublishOptions{}); !res.Created || res.CheckRunID != 2 || res.Calls != 1 {
		t.Errorf("one less: %+v", res)
	}
	if b.forge.runs[0].Conclusion != "failure" {
		t.Errorf("the first run was changed: %+v", b.forge.runs[0])
	}
	b.publish(base(), publish.PublishOptions{}) // at work again
	if res := b.publish(found(), publish.PublishOptions{}); !res.Created || res.CheckRunID != 3 || !slices.Equal(res.Cancelled, []int64{2}) {
		t.Errorf("none left: %+v", res)
	}
	if r := b.forge.runs[1]; r.Conclusion != "cancelled" || r.Title != "Superseded by a newer run" {
		t.Errorf("the second run waits on: %+v", r)
	}
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	b.wantPlaces(2, "warning b.yml:4")
	b.wantPlaces(3)
	// The third has none yet: it takes the next set.
	b.publish(found(grave()), publish.PublishOptions{})
	b.wantPlaces(3, "failure a.yml:6")
	if n := len(b.forge.runs); n != 3 {
		t.Errorf("%d runs", n)
	}
}

// A new run that the forge refuses leaves the old one's set known.
func TestARefusedNewRunForgetsNothing(t *testing.T) {
	b := newBench(t)
	b.publish(found(grave()), publish.PublishOptions{})
	b.forge.before = func(call string, _ forge.CheckWrite) error {
		if call == "create" {
			return &forge.Error{Kind: forge.KindForbidden, Op: "create check", Status: 403}
		}
		return nil
	}
	if _, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, found(mild()), publish.PublishOptions{}); !forge.IsKind(err, forge.KindForbidden) {
		t.Fatalf("error = %v", err)
	}
	b.forge.before = nil
	b.publish(found(mild()), publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6")
	b.wantPlaces(2, "warning b.yml:4")
}

// Where annotations are what the forge refuses, the text stands with the
// conclusion; the same set is not tried again.
func TestCase031_TheTextStandsWithoutAnnotations(t *testing.T) {
	b := newBench(t)
	b.forge.before = func(_ string, w forge.CheckWrite) error {
		if len(w.Annotations) > 0 {
			return invalid()
		}
		return nil
	}
	b.publish(base(), publish.PublishOptions{})
	v := found(grave())
	if res := b.publish(v, publish.PublishOptions{}); res.Minimal || res.Annotated != 0 || res.Calls != 2 || !res.Patched {
		t.Errorf("result %+v, want a second write without annotations", res)
	}
	b.wantShown(`1 runs: completed failure "High · changes requested · 1 finding"`)
	if res := b.publish(v, publish.PublishOptions{Force: true}); res.Calls != 1 {
		t.Errorf("refused annotations are tried again: %+v", res)
	}
	// Refused with every text: the conclusion alone is left.
	b = newBench(t)
	b.forge.before = func(_ string, w forge.CheckWrite) error {
		if len(w.Summary) > 200 {
			return invalid()
		}
		return nil
	}
	if res := b.publish(v, publish.PublishOptions{}); !res.Minimal || res.Calls != 3 || !res.Created {
		t.Errorf("result %+v", res)
	}
	b.wantShown(`1 runs: completed failure "Failure"`)
}

// Pull requests that share a head show the worst one's, and a new run when another
// becomes the worst.
func TestAnnotationsOfASharedHead(t *testing.T) {
	b := newBench(t)
	second := found(grave())
	second.Pull.Number, second.BaseRef = 9, "release"
	calm := reviewed(assessed(risk.Medium))
	calm.Evidence.Findings = []review.Finding{mild()}
	b.publish(second, publish.PublishOptions{})
	b.publish(decided(calm), publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6")
	closed := in(second, publish.StateClosed)
	if _, err := b.Close(t.Context(), b.forge, b.row(), closed); err != nil {
		t.Fatal(err)
	}
	b.wantPlaces(1, "failure a.yml:6")
	b.wantPlaces(2, "warning b.yml:4")
	b.wantShown(`2 runs: completed success "` + approvedTitle + `"`)
}

// Killed, or without an answer, at any save and any request, with a set that then
// changes or not: each run bears one set once, the newest the last one, and nothing
// else waits.
func TestEachRunBearsOneSetWhateverBreaks(t *testing.T) {
	sets := map[string][]publish.View{
		"the same set":      {base(), found(grave(), mild()), found(grave(), mild())},
		"a changed set":     {base(), found(grave(), mild()), found(mild())},
		"changed at work":   {found(grave(), mild()), base(), found(mild())},
		"none left":         {base(), found(grave(), mild()), base(), found()},
		"a first set":       {base(), found(), found(mild())},
		"there and back":    {found(grave(), mild()), found(mild()), found(grave(), mild())},
		"a set at creation": {found(grave(), mild())},
	}
	for name, views := range sets {
		for fault := 1; fault <= 24; fault++ {
			t.Run(fmt.Sprintf("%s/%d", name, fault), func(t *testing.T) {
				b := newBench(t)
				breakAt(b, fault)
				for _, v := range append(views, views[len(views)-1]) {
					if _, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, v, publish.PublishOptions{}); err == nil {
						continue
					}
					// The process is dead. Another takes over once its claim has ended, and
					// evaluates what there is now.
					b.forge.before, b.forge.after, b.store.failSave = nil, nil, 0
					b.clock.add(2 * time.Minute)
					b.Publisher = b.another("two")
					b.publish(v, publish.PublishOptions{})
				}
				holdSets(b, views)
			})
		}
	}
}

// breakAt fails one thing, and everything after it until it is mended: a request
// before it has its effect, a request after, or a save.
func breakAt(b *bench, n int) {
	lost := &forge.Error{Kind: forge.KindUnavailable, Op: "write check"}
	at := (n-1)/3 + 1
	from := func() func(string, forge.CheckWrite) error {
		seen := 0
		return func(string, forge.CheckWrite) error {
			if seen++; seen >= at {
				return lost
			}
			return nil
		}
	}
	switch n % 3 {
	case 0:
		b.forge.before = from()
	case 1:
		b.forge.after = from()
	default:
		b.store.failSave = at
	}
}

func holdSets(b *bench, views []publish.View) {
	b.t.Helper()
	known := map[string]bool{"[]": true}
	probe := newBench(b.t)
	want := "[]"
	for _, v := range views {
		probe.forge.runs, probe.forge.marks = nil, nil
		probe.store = newMemStore()
		probe.Publisher = probe.another("probe")
		probe.publish(v, publish.PublishOptions{})
		want = fmt.Sprint(probe.places(1))
		known[want] = true
	}
	for i, r := range b.forge.runs {
		got := fmt.Sprint(b.places(r.ID))
		if !known[got] {
			b.t.Errorf("run %d bears %s, which is no set", r.ID, got)
		}
		if newest := i == len(b.forge.runs)-1; newest && got != want {
			b.t.Errorf("the newest run bears %s, want %s", got, want)
		} else if !newest && r.Status != "completed" {
			b.t.Errorf("run %d waits: %+v", r.ID, r)
		}
	}
	if row := b.row(); row.Open() || row.Annotating != "" {
		b.t.Errorf("the row is open: %+v", row)
	}
}

// A re-run whose answer was lost has no annotations, whatever the run before it had.
func TestAnAdoptedRunIsGivenItsSet(t *testing.T) {
	b := newBench(t)
	v := found(grave())
	b.publish(v, publish.PublishOptions{})
	b.forge.after = func(string, forge.CheckWrite) error {
		return &forge.Error{Kind: forge.KindUnavailable, Op: "create check"}
	}
	again := base()
	again.SessionID, v.SessionID = "01J9ZQ4C8Z0000000000000099", "01J9ZQ4C8Z0000000000000099"
	if _, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, again, publish.PublishOptions{NewRun: true}); err == nil {
		t.Fatal("a lost answer was taken for one")
	}
	b.forge.after = nil
	if res := b.publish(again, publish.PublishOptions{NewRun: true}); !res.Adopted {
		t.Errorf("result %+v, want the lost run", res)
	}
	b.publish(v, publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6")
	b.wantPlaces(2, "failure a.yml:6")
}

// A run that cannot be asked what it bears is replaced by one that is given its set.
func TestARunThatIsNotListedIsReplaced(t *testing.T) {
	b := newBench(t)
	b.publish(base(), publish.PublishOptions{})
	b.forge.after = func(string, forge.CheckWrite) error {
		return &forge.Error{Kind: forge.KindUnavailable, Op: "update check"}
	}
	if _, err := b.Publish(t.Context(), b.forge, repo(), publish.CheckName, found(grave()), publish.PublishOptions{}); err == nil {
		t.Fatal("a lost answer was taken for one")
	}
	b.forge.after = nil
	b.forge.runs[0].Name = "hidden" // as a list that lags behind does
	b.publish(found(grave()), publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6")
	b.wantPlaces(2, "failure a.yml:6")
	if b.forge.runs[0].Conclusion != "cancelled" {
		t.Errorf("the run that is replaced: %+v", b.forge.runs[0])
	}
}
