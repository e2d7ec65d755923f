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

// Every finding that stands and has a line at the head is marked there by
// `countersign / review`, the worst first, in the one call that makes the run; what is
// on the old side, has no line or is none stays in the text.
func TestAnnotationsOfADecision(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	if res := b.publish(base(), publish.PublishOptions{}); !res.Unchanged || res.Calls != 0 {
		t.Errorf("a session at work: %+v, want nothing written", res)
	}
	if res := b.publish(found(scanned()...), publish.PublishOptions{}); res.Calls != 1 || res.Annotated != 4 || !res.Created || res.Conclusion != "neutral" {
		t.Errorf("result %+v, want a run with 4 annotations by one write", res)
	}
	b.wantPlaces(1, "failure deploy/prod.env:3", "failure .github/workflows/pr.yml:6", "warning .github/workflows/pr.yml:4", "notice README.md:20")
	want := forge.Annotation{Path: "deploy/prod.env", StartLine: 3, EndLine: 3, Level: "failure", Title: "Critical · AWS access key", Message: "Why it is wrong. What to do.\n\nRule credential"}
	if got := b.forge.marks[1][0]; got != want {
		t.Errorf("annotation %+v, want %+v", got, want)
	}
	// The check that judges bears none: a changed set would be a new run of it.
	judge := newBench(t)
	judge.publish(base(), publish.PublishOptions{})
	if res := judge.publish(found(scanned()...), publish.PublishOptions{}); res.Annotated != 0 {
		t.Errorf("`countersign` is annotated: %+v", res)
	}
	// What a person reads on its line already is not marked.
	commented := benchOf(t, publish.ReviewName)
	v := found(grave(), mild())
	v.Commented = []review.FindingKey{grave().ID()}
	commented.publish(v, publish.PublishOptions{})
	commented.wantPlaces(1, "warning b.yml:4")
}

// many are so many findings on lines, of three severities.
func many(n int) []review.Finding {
	var list []review.Finding
	for i := range n {
		list = append(list, scanFinding("x", []review.Severity{review.SeverityLow, review.SeverityHigh, review.SeverityMedium}[i%3], "a.go", i+1, "t"))
	}
	return list
}

// Fifty at a time, the worst first, each once, and the end only with the last.
func TestCase032_AnnotationsInBatches(t *testing.T) {
	for n, want := range map[int][]string{
		0: {"completed neutral 0"}, 1: {"completed neutral 1"}, 50: {"completed neutral 50"},
		51: {"in_progress  50", "completed neutral 1"}, 120: {"in_progress  50", "in_progress  50", "completed neutral 20"},
	} {
		b := benchOf(t, publish.ReviewName)
		res := b.publish(found(many(n)...), publish.PublishOptions{})
		var writes []string
		for _, w := range b.forge.writes {
			writes = append(writes, fmt.Sprintf("%s %s %d", w.Status, w.Conclusion, len(w.Annotations)))
		}
		if !slices.Equal(writes, want) || res.Annotated != n || res.Calls != len(want) || b.forge.calls[0] != "create" || len(b.forge.runs) != 1 {
			t.Errorf("%d findings: writes %q, result %+v; want %q", n, writes, res, want)
		}
		seen := map[string]bool{}
		for i, p := range b.places(1) {
			if worst := strings.HasPrefix(p, "failure"); seen[p] || worst != (i < (n+1)/3) {
				t.Errorf("annotation %d of %d is %s (seen: %v)", i, n, p, seen[p])
			}
			seen[p] = true
		}
		if res := b.publish(found(many(n)...), publish.PublishOptions{}); !res.Unchanged || res.Calls != 0 {
			t.Errorf("%d findings, again: %+v", n, res)
		}
	}
}

// Beyond the bound nothing is marked, and the text counts what it does not list.
func TestMarksAreBounded(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	res := b.publish(found(many(publish.MaxMarked+200)...), publish.PublishOptions{})
	if res.Annotated != publish.MaxMarked || res.Calls != publish.MaxMarked/publish.MaxAnnotations {
		t.Errorf("result %+v", res)
	}
	text := b.forge.runs[0].Summary
	shown := strings.Count(text, "`finding ")
	if want := fmt.Sprintf("- and %s more, ", thousands(publish.MaxMarked+200-shown)); shown < 100 || !strings.Contains(text, want) {
		t.Errorf("%d are shown, and the text does not say %q", shown, want)
	}
}

func thousands(n int) string {
	if n < 1_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1_000, n%1_000)
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
		b := benchOf(t, publish.ReviewName)
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
	b := benchOf(t, publish.ReviewName)
	v := found(grave(), mild())
	b.publish(v, publish.PublishOptions{})
	again := v
	again.Evidence.Checks.Results = []review.CheckResult{check("build", "failure")}
	for _, same := range []publish.View{v, decided(again)} {
		same.TrailHead = strings.Repeat("f", 64)
		if res := b.publish(same, publish.PublishOptions{}); !res.Unchanged || res.Calls != 0 {
			t.Errorf("the same again: %+v", res)
		}
	}
	for _, state := range []publish.State{publish.StateInProgress, publish.StateDraft, publish.StatePaused, publish.StateFailed} {
		next := in(v, state)
		next.SessionID = "01J9ZQ4C8Z0000000000000099"
		if res := b.publish(next, publish.PublishOptions{}); !res.Unchanged {
			t.Errorf("%s: %+v", state, res)
		}
	}
	b.publish(v, publish.PublishOptions{Force: true})
	slices.Reverse(v.Evidence.Findings) // found in another order
	b.publish(v, publish.PublishOptions{Force: true})
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	if len(b.forge.runs) != 1 || slices.Contains(b.forge.calls, "list") {
		t.Errorf("%d runs, calls %v", len(b.forge.runs), b.forge.calls)
	}
	// A re-run is a new run, which gets the set of its own decision.
	v.SessionID = "01J9ZQ4C8Z0000000000000100"
	b.publish(v, publish.PublishOptions{NewRun: true})
	b.publish(v, publish.PublishOptions{Force: true})
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	b.wantPlaces(2, "failure a.yml:6", "warning b.yml:4")
}

// A changed set is a new run of the same name; the old one stays as it ended.
func TestAChangedSetIsANewRun(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.publish(found(grave(), mild()), publish.PublishOptions{})
	if res := b.publish(found(mild()), publish.PublishOptions{}); !res.Created || res.CheckRunID != 2 || res.Calls != 1 {
		t.Errorf("one less: %+v", res)
	}
	if res := b.publish(found(), publish.PublishOptions{}); !res.Created || res.CheckRunID != 3 {
		t.Errorf("none left: %+v", res)
	}
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	b.wantPlaces(2, "warning b.yml:4")
	b.wantPlaces(3)
	// The third has none yet: it takes the next set.
	b.publish(found(grave()), publish.PublishOptions{})
	b.wantPlaces(3, "failure a.yml:6")
	// So does what is a comment now, and is marked no more.
	v := found(grave())
	v.Commented = []review.FindingKey{grave().ID()}
	b.publish(v, publish.PublishOptions{})
	b.wantPlaces(4)
	for _, r := range b.forge.runs {
		if r.Status != "completed" || r.Conclusion != "neutral" {
			t.Errorf("run %d is %s %s", r.ID, r.Status, r.Conclusion)
		}
	}
}

// A new run that the forge refuses leaves the old one's set known.
func TestARefusedNewRunForgetsNothing(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.publish(found(grave()), publish.PublishOptions{})
	b.forge.before = func(call string, _ forge.CheckWrite) error {
		if call == "create" {
			return &forge.Error{Kind: forge.KindForbidden, Op: "create check", Status: 403}
		}
		return nil
	}
	if _, err := b.Publish(t.Context(), b.forge, repo(), b.name, found(mild()), publish.PublishOptions{}); !forge.IsKind(err, forge.KindForbidden) {
		t.Fatalf("error = %v", err)
	}
	b.forge.before = nil
	b.publish(found(mild()), publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6")
	b.wantPlaces(2, "warning b.yml:4")
}

// Where annotations are what the forge refuses, the text stands and says that nothing
// is marked; the same set is not tried again.
func TestCase031_TheTextStandsWithoutAnnotations(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.forge.before = func(_ string, w forge.CheckWrite) error {
		if len(w.Annotations) > 0 {
			return invalid()
		}
		return nil
	}
	v := found(grave())
	if res := b.publish(v, publish.PublishOptions{}); res.Minimal || res.Annotated != 0 || res.Calls != 2 || !res.Created {
		t.Errorf("result %+v, want a second write without annotations", res)
	}
	if text := b.forge.runs[0].Summary; strings.Contains(text, "marked below") || !strings.Contains(text, "in this list only") {
		t.Errorf("the text speaks of marks that are not there:\n%s", text)
	}
	if res := b.publish(v, publish.PublishOptions{}); !res.Unchanged {
		t.Errorf("again: %+v", res)
	}
	if res := b.publish(v, publish.PublishOptions{Force: true}); res.Calls != 1 {
		t.Errorf("refused annotations are tried again: %+v", res)
	}
	// Refused with every text: the conclusion alone is left.
	b = benchOf(t, publish.ReviewName)
	b.forge.before = func(_ string, w forge.CheckWrite) error {
		if len(w.Summary) > 200 {
			return invalid()
		}
		return nil
	}
	if res := b.publish(v, publish.PublishOptions{}); !res.Minimal || res.Calls != 3 || !res.Created {
		t.Errorf("result %+v", res)
	}
	b.wantShown(`1 runs: completed neutral "Neutral"`)
	// The second batch is refused: the first one stays, and the text says which.
	b = benchOf(t, publish.ReviewName)
	b.forge.before = func(call string, w forge.CheckWrite) error {
		if call == "update" && len(w.Annotations) > 0 {
			return invalid()
		}
		return nil
	}
	v = found(many(120)...)
	if res := b.publish(v, publish.PublishOptions{}); res.Annotated != 50 || res.Calls != 3 {
		t.Errorf("result %+v", res)
	}
	if text := b.forge.runs[0].Summary; strings.Count(text, "marked below") != 50 || b.forge.runs[0].Status != "completed" {
		t.Errorf("%d are said to be marked, run %+v", strings.Count(text, "marked below"), b.forge.runs[0].Status)
	}
	if res := b.publish(v, publish.PublishOptions{}); !res.Unchanged {
		t.Errorf("again: %+v", res)
	}
}

// Pull requests that share a head share the run: each finding once, whichever of
// them it was found in, and gone when that one is.
func TestAnnotationsOfASharedHead(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	second := found(grave(), mild())
	second.Pull.Number, second.PullURL, second.BaseRef = 9, "https://github.com/acme/api/pull/9", "release"
	calm := reviewed(assessed(risk.Medium))
	calm.Evidence.Findings = []review.Finding{mild()}
	b.publish(second, publish.PublishOptions{})
	b.publish(decided(calm), publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	if text := b.forge.runs[0].Summary; !strings.Contains(text, "This head belongs to 2 open pull requests") || strings.Count(text, ", only in pull request 9") != 1 {
		t.Errorf("the text does not tell them apart:\n%s", text)
	}
	closed := in(second, publish.StateClosed)
	if _, err := b.Close(t.Context(), b.forge, b.row(), closed); err != nil {
		t.Fatal(err)
	}
	b.wantPlaces(1, "failure a.yml:6", "warning b.yml:4")
	b.wantPlaces(2, "warning b.yml:4")
	b.wantShown(`2 runs: completed neutral "1 finding · 1 medium"`)
}

// Killed, or without an answer, at any save and any request, with a set that then
// changes or not, in one write or in several: the newest run bears the last set, each
// of it once, no run bears anything twice, and nothing else waits.
func TestEachRunBearsOneSetWhateverBreaks(t *testing.T) {
	sets := map[string][]publish.View{
		"the same set":        {found(grave(), mild()), found(grave(), mild())},
		"a changed set":       {found(grave(), mild()), found(mild())},
		"none left":           {found(grave(), mild()), found()},
		"a first set":         {found(), found(mild())},
		"there and back":      {found(grave(), mild()), found(mild()), found(grave(), mild())},
		"a set at creation":   {found(grave(), mild())},
		"batches":             {found(many(120)...)},
		"batches, later":      {found(), found(many(120)...)},
		"batches, then fewer": {found(many(120)...), found(many(51)...)},
		"batches, then none":  {found(many(120)...), found()},
	}
	ran := 0
	for name, views := range sets {
		for fault := 1; fault <= 33; fault++ {
			ran++
			t.Run(fmt.Sprintf("%s/%d", name, fault), func(t *testing.T) {
				b := benchOf(t, publish.ReviewName)
				breakAt(b, fault)
				for _, v := range append(views, views[len(views)-1]) {
					if _, err := b.Publish(t.Context(), b.forge, repo(), b.name, v, publish.PublishOptions{}); err == nil {
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
	t.Logf("%d faults", ran)
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
	probe := benchOf(b.t, b.name)
	probe.publish(views[len(views)-1], publish.PublishOptions{})
	want := fmt.Sprint(probe.places(1))
	for i, r := range b.forge.runs {
		places := b.places(r.ID)
		if sorted := slices.Sorted(slices.Values(places)); len(slices.Compact(sorted)) != len(places) {
			b.t.Errorf("run %d bears some of its %d annotations twice", r.ID, len(places))
		}
		if newest := i == len(b.forge.runs)-1; newest && fmt.Sprint(places) != want {
			b.t.Errorf("the newest run bears %s, want %s", places, want)
		}
		if r.Status != "completed" || r.Conclusion != "neutral" {
			b.t.Errorf("run %d is %s %s", r.ID, r.Status, r.Conclusion)
		}
	}
	if row := b.row(); row.Open() || row.Annotating != "" {
		b.t.Errorf("the row is open: %+v", row)
	}
}

// Half of a batch arrived, as far as the forge says: nobody can tell which half, so
// another run is given the whole set, and the first one is ended.
func TestARunThatBearsSomethingElseIsReplaced(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.forge.after = func(call string, _ forge.CheckWrite) error {
		if call != "update" {
			return nil
		}
		b.forge.runs[0].Annotations = 77
		return &forge.Error{Kind: forge.KindUnavailable, Op: "update check"}
	}
	v := found(many(120)...)
	if _, err := b.Publish(t.Context(), b.forge, repo(), b.name, v, publish.PublishOptions{}); err == nil {
		t.Fatal("a lost answer was taken for one")
	}
	b.forge.after = nil
	if res := b.publish(v, publish.PublishOptions{}); !res.Created || !slices.Equal(res.Cancelled, []int64{1}) || res.Annotated != 120 {
		t.Errorf("result %+v", res)
	}
	if r := b.forge.runs[0]; r.Conclusion != "neutral" || r.Title != "Superseded by a newer run" {
		t.Errorf("the first run: %+v", r)
	}
	if n := len(b.places(2)); n != 120 {
		t.Errorf("the second run bears %d", n)
	}
}

// A run whose answer was lost is found and not made twice, and gets what it lacks.
func TestAnAdoptedRunIsGivenItsSet(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.publish(found(mild()), publish.PublishOptions{})
	v := found(many(60)...)
	v.SessionID = "01J9ZQ4C8Z0000000000000099"
	b.forge.after = func(string, forge.CheckWrite) error {
		return &forge.Error{Kind: forge.KindUnavailable, Op: "create check"}
	}
	if _, err := b.Publish(t.Context(), b.forge, repo(), b.name, v, publish.PublishOptions{}); err == nil {
		t.Fatal("a lost answer was taken for one")
	}
	b.forge.after = nil
	if res := b.publish(v, publish.PublishOptions{}); !res.Adopted || res.Annotated != 10 {
		t.Errorf("result %+v, want the lost run and the rest of its set", res)
	}
	b.wantPlaces(1, "warning b.yml:4")
	if n := len(b.places(2)); n != 60 || len(b.forge.runs) != 2 {
		t.Errorf("%d runs, the second bears %d", len(b.forge.runs), n)
	}
}

// A run that cannot be asked what it bears is replaced by one that is given its set.
func TestARunThatIsNotListedIsReplaced(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.publish(found(), publish.PublishOptions{})
	b.forge.after = func(string, forge.CheckWrite) error {
		return &forge.Error{Kind: forge.KindUnavailable, Op: "update check"}
	}
	if _, err := b.Publish(t.Context(), b.forge, repo(), b.name, found(grave()), publish.PublishOptions{}); err == nil {
		t.Fatal("a lost answer was taken for one")
	}
	b.forge.after = nil
	b.forge.runs[0].Name = "hidden" // as a list that lags behind does
	b.publish(found(grave()), publish.PublishOptions{})
	b.wantPlaces(1, "failure a.yml:6")
	b.wantPlaces(2, "failure a.yml:6")
	if b.forge.runs[0].Title != "Superseded by a newer run" {
		t.Errorf("the run that is replaced: %+v", b.forge.runs[0])
	}
}
