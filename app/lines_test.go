package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
)

// A finding stands on the line that people see, whatever git's hunks look like: lines
// after a marker of a missing line end are not numbered one too high (case 8), and
// counts that a hunk's header leaves out are one (case 16). Each is a comment on that
// line, which GitHub takes nowhere but inside the diff.
func TestCase008_016_FindingsStandOnTheirLine(t *testing.T) {
	const turn = "// allowed \u202e } if admin {"
	far := strings.Repeat("\n", 20)
	for _, tc := range []struct {
		name, before, after string
		lines               []int
	}{
		{"case-008 no line end on both sides", "context\nold line", "context\n" + turn, []int{2}},
		{"case-008 the old side alone has none", "context\nold line", "context\nold line\n" + turn + "\n", []int{3}},
		{"case-008 the new side alone has none", "context\nold line\n", "context\n" + turn, []int{2}},
		{"case-008 two hunks, the marker in the last", "a\n" + far + "z", turn + "\n" + far + "y\n" + turn + " too", []int{1, 23}},
		{"case-016 one line for one line", "old\n", turn + "\n", []int{1}},
		{"case-016 one line without its end", "old", turn, []int{1}},
		{"case-016 a new file of one line", "", turn + "\n", []int{1}},
		{"case-016 a new file without a line end", "", turn, []int{1}},
		{"case-016 after a hunk that only deletes", "gone\ngone too\n" + far + "old\n", far + turn + "\n", []int{21}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if tc.before != "" {
				_, err := w.repo.Commit("main", "before", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "cart/lines.go", Content: tc.before}}})
				w.must(err)
			}
			p := w.open("lines", githubsim.Change{Path: "cart/lines.go", Content: tc.after})
			run := w.review(p.HeadSHA(), "")
			w.idle()
			var got []int
			for _, c := range p.ReviewComments() {
				got = append(got, c.Line)
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.lines) {
				t.Errorf("comments on lines %v, want %v", got, tc.lines)
			}
			for _, line := range tc.lines {
				w.says(run, fmt.Sprintf("cart/lines.go:%d`", line))
			}
			decision := w.await(p.HeadSHA(), concluded("failure", "High · changes requested"))
			w.saysNot(decision, "`diff-truncated`", "could not be read")
			if at := marked(run); len(at) > 0 {
				t.Errorf("also marked at %v", at)
			}
		})
	}
}

// A delivery of 3 MB is taken, and signed as a whole; one over GitHub's own 25 MB is
// refused, and neither leaves anything behind that it should not.
func TestCase037_LargeDelivery(t *testing.T) {
	w := newWorld(t)
	w.sim.Hold()
	p := w.docs("large")
	opened := w.lastDelivery("pull_request", "opened")
	padded := func(n int) []byte {
		return []byte(strings.Replace(string(opened.Body), `"body":"`, `"body":"`+strings.Repeat("x", n), 1))
	}
	large, over := padded(3<<20), padded(26<<20)
	if len(large) < 3<<20 {
		t.Fatal("the body was not padded: this shows nothing")
	}
	if code := w.deliver(opened.Event, "a0000000-0000-0000-0000-000000000001", over); code != http.StatusRequestEntityTooLarge {
		t.Errorf("26 MB are answered %d, want 413", code)
	}
	signature := githubsim.Sign(hookSecret, large)
	if code := w.send(append(slices.Clone(large), ' '), map[string]string{"X-Hub-Signature-256": signature}); code != http.StatusForbidden {
		t.Errorf("a body with one byte more than was signed is answered %d, want 403", code)
	}
	w.stored(0)
	if code := w.deliver(opened.Event, "a0000000-0000-0000-0000-000000000002", large); code/100 != 2 {
		t.Errorf("3 MB are answered %d, want 2xx", code)
	}
	w.await(p.HeadSHA(), waiting("Low"))
	w.stored(1)
	if n := len(w.ours(p.HeadSHA(), publish.CheckName)); n != 1 {
		t.Errorf("%d checks, want 1", n)
	}
}
