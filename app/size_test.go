package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
)

// CASES area 2, size limits, through the whole path: what GitHub cuts off, leaves out
// or refuses is neither lost nor taken for small.

const filesRoute = "GET /repos/{owner}/{repo}/pulls/{pull_number}/files"

// tail is a change of so many files whose last one is sensitive.
func tail(n int) []githubsim.Change {
	changes := make([]githubsim.Change, 0, n)
	for i := range n - 1 {
		changes = append(changes, githubsim.Change{Path: fmt.Sprintf("docs/page%04d.md", i), Content: "# x\n"})
	}
	return append(changes, githubsim.Change{Path: "internal/auth/zz.go", Content: "package auth\n"})
}

// judged waits until the decision on a head is made, with CI green.
func (w *world) judged(p *githubsim.Pull) githubsim.CheckRun {
	w.t.Helper()
	w.check(p.HeadSHA(), "build", "success")
	run := w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Status == "completed" })
	w.idle()
	return run
}

func (w *world) says(run githubsim.CheckRun, wants ...string) {
	w.t.Helper()
	for _, want := range wants {
		if !strings.Contains(run.Output.Summary, want) {
			w.t.Errorf("%s %q does not say %q:\n%.4000s", run.Name, run.Output.Title, want, run.Output.Summary)
		}
	}
}

func (w *world) saysNot(run githubsim.CheckRun, wants ...string) {
	w.t.Helper()
	for _, want := range wants {
		if strings.Contains(run.Output.Summary, want) {
			w.t.Errorf("%s %q says %q:\n%.4000s", run.Name, run.Output.Title, want, run.Output.Summary)
		}
	}
}

// The comparison ends at 300 files, a page of the list at 100 and the list at 3,000:
// the sensitive file, which is the last, is found as long as GitHub shows it, and
// beyond that nothing is taken for complete (cases 24, 26 and 39).
func TestCase024_026_039_TheLastFileCounts(t *testing.T) {
	for _, tc := range []struct{ files, lists int }{{101, 0}, {299, 0}, {300, 3}, {301, 4}, {311, 4}, {3000, 30}, {3001, 60}} {
		t.Run(fmt.Sprint(tc.files), func(t *testing.T) {
			w := newWorld(t)
			p := w.open("many", tail(tc.files)...)
			run := w.judged(p)
			seen := w.ours(p.HeadSHA(), publish.CoverageName)[0]
			if _, routes := w.calls(); routes[filesRoute] > tc.lists || (tc.lists > 0) != (routes[filesRoute] > 0) {
				t.Errorf("%d pages of the list were read, want %d", routes[filesRoute], tc.lists)
			}
			if !strings.HasPrefix(run.Output.Title, "High · ") || run.Conclusion == "success" || run.Conclusion == "neutral" {
				t.Errorf("%q %s", run.Output.Title, run.Conclusion)
			}
			if tc.files > 3000 {
				w.says(run, "3000 of 3001 changed files could be listed", "`unreadable` 1 of 3001 files")
				w.says(seen, "1 changed file is not listed: nothing is known of it", "read the changed file that is not listed here yourself")
				if want := "Nothing inspected · no reviewer ran · 1 not listed"; seen.Output.Title != want {
					t.Errorf("the map's title is %q, want %q", seen.Output.Title, want)
				}
				return
			}
			w.says(run, "`auth` `internal/auth/zz.go`")
			w.says(seen, "1 not inspected, ", "| `internal/auth/zz.go` | source, auth |")
			w.saysNot(run, "`diff-truncated`", "`unreadable`")
			w.saysNot(seen, "not listed")
		})
	}
}

// GitHub's list lags behind its count: it is read once more, and what is still missing
// then is not passed over (case 26).
func TestCase026_ListThatLags(t *testing.T) {
	for times, missing := range map[int]bool{1: false, 2: true} {
		t.Run(fmt.Sprintf("%d times", times), func(t *testing.T) {
			w := newWorld(t)
			for i := range times { // the last of four pages
				w.sim.Fail(githubsim.Fault{Route: filesRoute, Nth: 4 * (i + 1), Times: 1, Stale: true})
			}
			p := w.open("lag", tail(311)...)
			run := w.judged(p)
			if _, routes := w.calls(); routes[filesRoute] != 8 {
				t.Errorf("%d pages were read, want four of them twice", routes[filesRoute])
			}
			if missing {
				w.says(run, "310 of 311 changed files could be listed")
				w.says(w.ours(p.HeadSHA(), publish.CoverageName)[0], "1 changed file is not listed")
			} else {
				w.says(run, "`auth` `internal/auth/zz.go`")
				w.saysNot(run, "`diff-truncated`")
			}
			if !strings.HasPrefix(run.Output.Title, "High · ") || run.Conclusion != "action_required" {
				t.Errorf("%q %s", run.Output.Title, run.Conclusion)
			}
		})
	}
}

// tooLarge is how GitHub refuses a diff of more than 20,000 lines, context included.
const tooLarge = `{"message":"Sorry, the diff exceeded the maximum number of lines (20000)","errors":[{"resource":"PullRequest","field":"diff","code":"too_large"}]}`

// The comparison is refused although the changed lines are few: the list is read
// instead, with its counts, and what only the comparison tells is missing, not fine.
func TestCase025_RefusedComparison(t *testing.T) {
	for name, changes := range map[string][]githubsim.Change{
		"docs":     {{Path: "docs/lines.md", Content: "# lines\n"}},
		"a source": {{Path: "cart/big.go", Content: "package cart\n" + strings.Repeat("// x\n", 900)}, {Path: "docs/lines.md", Content: "# lines\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.base = http.DefaultTransport }) // the description knows no 406 here
			w.sim.Fail(githubsim.Fault{Route: compareRoute, Status: http.StatusNotAcceptable, Body: tooLarge})
			p := w.open("lines", changes...)
			run := w.judged(p)
			if strings.HasPrefix(run.Output.Title, "Low") || strings.HasPrefix(run.Output.Title, "Medium") || run.Conclusion != "action_required" {
				t.Errorf("%q %s", run.Output.Title, run.Conclusion)
			}
			w.says(run, "`diff-truncated`: modes could not be read: GitHub named no merge base")
			w.says(w.ours(p.HeadSHA(), publish.CoverageName)[0], "| `docs/lines.md` | docs |")
			if name != "docs" {
				w.says(run, "`large-change` `cart/big.go` 901 lines")
			}
			if _, routes := w.calls(); routes[filesRoute] != 1 {
				t.Errorf("%d pages of the list were read, want 1", routes[filesRoute])
			}
		})
	}
}

// A file whose patch GitHub leaves out is read and scanned like any other; one that is
// too large for that counts with its lines and is listed as not seen; a binary file is
// listed as such (case 29).
func TestCase029_FilesWithoutPatch(t *testing.T) {
	line := "a line of plain text that is long enough to count\n"
	for _, tc := range []struct {
		name, content string
		risk, row     string
		unseen        bool
	}{
		{"large", strings.Repeat(line, 6_000) + "// \u202e\n" + strings.Repeat(line, 6_000), "`large-change` `cart/big.go` 12001 lines",
			"| `cart/big.go` | source | **not inspected** | scanned |", false},
		{"too large", strings.Repeat(line, 25_000), "`large-change` `cart/big.go` 25000 lines",
			"| `cart/big.go` | source | **not inspected** | nobody | not seen whole: GitHub sent no patch: larger than 1048576 bytes", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.open("big", githubsim.Change{Path: "cart/big.go", Content: tc.content}, githubsim.Change{Path: "assets/blob", Content: "\x00\x01\x02"})
			run := w.judged(p)
			if strings.HasPrefix(run.Output.Title, "Low") || strings.HasPrefix(run.Output.Title, "Medium") || run.Conclusion == "success" {
				t.Errorf("%q %s", run.Output.Title, run.Conclusion)
			}
			w.says(run, tc.risk)
			if unseen := strings.Contains(run.Output.Summary, "`diff-truncated`"); unseen != tc.unseen {
				t.Errorf("not seen: %v\n%s", unseen, run.Output.Summary)
			}
			if found := strings.Contains(run.Output.Summary, "cart/big.go:6001"); found == tc.unseen {
				t.Errorf("found in line 6001: %v\n%s", found, run.Output.Summary)
			}
			w.says(w.ours(p.HeadSHA(), publish.CoverageName)[0], tc.row, "| `assets/blob` | binary | needs none |")
		})
	}
}

// A text that GitHub refuses costs the text, never the conclusion: of the run that is
// begun, of the one that is ended, and of those that inform.
func TestCase031_RefusedText(t *testing.T) {
	const begin, change = "POST /repos/{owner}/{repo}/check-runs", "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}"
	for _, tc := range []struct {
		name, refused string
		nth           int
		plain         string // the check that is shown without its text
	}{
		{"the decision is begun", begin, 1, ""}, // its next write has the whole text
		{"the decision is ended", change, 1, publish.CheckName},
		{"the findings", begin, 2, publish.ReviewName},
		{"the map", begin, 3, publish.CoverageName},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.sim.Fail(githubsim.Fault{Route: tc.refused, Nth: tc.nth, Times: 1, Status: http.StatusUnprocessableEntity, Body: `{"message":"Invalid request.\n\nOnly 65535 characters are allowed; 65600 were supplied."}`})
			p := w.docs("refused")
			w.check(p.HeadSHA(), "build", "failure")
			ended := map[string]string{publish.CheckName: "failure", publish.ReviewName: "neutral", publish.CoverageName: "neutral"}
			for name, conclusion := range ended {
				w.awaitNamed(p.HeadSHA(), name, concluded(conclusion, ""))
			}
			w.idle()
			for name, conclusion := range ended {
				runs := w.ours(p.HeadSHA(), name)
				if len(runs) != 1 || runs[0].Conclusion != conclusion {
					t.Errorf("%d runs of %s, ended as %s", len(runs), name, runs[0].Conclusion)
				}
				if plain := strings.Contains(runs[0].Output.Summary, "GitHub refused the text"); plain != (name == tc.plain) {
					t.Errorf("%s %q without its text: %v", name, runs[0].Output.Title, plain)
				}
			}
		})
	}
}

// Bytes are what GitHub counts. Whatever paths are made of, and wherever in a character
// a limit falls, each check has its text whole or says what is left out.
func TestCase030_038_LimitsAreInBytes(t *testing.T) {
	for shift := range 4 {
		w := newWorld(t)
		dir := strings.Repeat("a", 1+shift) + strings.Repeat("\U0001F600", 60) + "/" + strings.Repeat("審", 80)
		var changes []githubsim.Change
		for i := range 400 {
			changes = append(changes, githubsim.Change{Path: fmt.Sprintf("%s/%d.go", dir, i), Content: "package x\n\n// \u202e\n"})
		}
		p := w.open("bytes", changes...)
		w.await(p.HeadSHA(), concluded("failure", "Critical · changes requested · "))
		for _, name := range informing() {
			w.awaitNamed(p.HeadSHA(), name, concluded("neutral", ""))
		}
		w.idle()
		for _, name := range []string{publish.CheckName, publish.ReviewName, publish.CoverageName} {
			runs := w.ours(p.HeadSHA(), name)
			if len(runs) != 1 || runs[0].Status != "completed" {
				t.Fatalf("%d runs of %s", len(runs), name)
			}
			text := runs[0].Output.Title + runs[0].Output.Summary
			if len(runs[0].Output.Summary) > publish.MaxOutputBytes || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
				t.Errorf("%s: %d bytes, valid: %v", name, len(text), utf8.ValidString(text))
			}
			w.saysNot(runs[0], "GitHub refused the text")
			if name != publish.CheckName && !strings.Contains(text, " more") {
				t.Errorf("%s does not say that something is left out:\n%s", name, text[len(text)-800:])
			}
		}
	}
}

// None, as many as one call takes, one more and many findings: each is shown once, on
// its line by a comment or an annotation, or is counted; and the run is ended by its
// last batch.
func TestCase032_ManyFindings(t *testing.T) {
	const comments, listed = 10, 100 // what the policy comments, and what is kept of one rule
	for _, n := range []int{0, comments, comments + 50, comments + 51, listed + 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			changes := []githubsim.Change{{Path: "docs/none.md", Content: "# none\n"}}
			var places []string
			for i := range n {
				path := fmt.Sprintf("cart/f%03d.go", i)
				changes = append(changes, githubsim.Change{Path: path, Content: "package cart\n\n// \u202e\n"})
				places = append(places, path+":3")
			}
			p := w.open("findings", changes...)
			run := w.review(p.HeadSHA(), "")
			w.idle()
			var got []string
			for _, c := range p.ReviewComments() {
				got = append(got, fmt.Sprintf("%s:%d", c.Path, c.Line))
			}
			if want := min(n, comments); len(got) != want {
				t.Errorf("%d comments, want %d", len(got), want)
			}
			for _, a := range run.Output.Annotations {
				got = append(got, fmt.Sprintf("%s:%d", a.Path, a.StartLine))
			}
			slices.Sort(got)
			if want := places[:min(n, listed)]; !slices.Equal(got, want) {
				t.Errorf("shown at %q, want each once at %q", got, want)
			}
			if n > listed {
				w.says(run, fmt.Sprintf("- and %d more of `hidden-characters`, which are counted only", n-listed))
			}
			marked := max(0, min(n, listed)-comments)
			if batches := max(1, (marked+publish.MaxAnnotations-1)/publish.MaxAnnotations); run.Writes != batches {
				t.Errorf("%d annotations in %d writes, want %d", marked, run.Writes, batches)
			}
		})
	}
}
