package publish_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"pgregory.net/rapid"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// attackedNote is a decided view with an attack in every text that the checks which
// inform take from outside.
func attackedNote(t *rapid.T, pull int) publish.View {
	draw := func(label string) string { return attack().Draw(t, label) }
	v := attacked(t)
	v.State, v.SessionID = publish.StateDecided, "s"+v.SessionID
	v.Pull.Number, v.PullURL = pull, fmt.Sprintf("https://github.com/acme/api/pull/%d", pull)
	for i := range rapid.IntRange(0, 4).Draw(t, "findings") {
		f := scanFinding(draw("rule"), review.Severity(rapid.IntRange(0, 5).Draw(t, "severity")), draw("path"), rapid.IntRange(-1, 9).Draw(t, "line"), fmt.Sprint(i)+draw("title"))
		f.Detail, f.FailingCase, f.Category = draw("detail"), draw("failing"), draw("category")
		f.Allowed = rapid.SampledFrom([]string{"", "", draw("allowed")}).Draw(t, "is allowed")
		if rapid.Bool().Draw(t, "waived") {
			f.Waived = &review.Waiver{By: "x" + draw("by"), URL: draw("url"), Reason: draw("why")}
		}
		f.Withdrawn = rapid.Bool().Draw(t, "withdrawn")
		v.Evidence.Findings = append(v.Evidence.Findings, f)
	}
	v.Evidence.MoreFindings = []review.MoreFindings{{Rule: draw("more"), Count: rapid.IntRange(0, 9).Draw(t, "count")}}
	v.Evidence.ScanGaps = []review.ScanGap{{Rule: draw("gap"), Files: 3, Places: []review.ScanPlace{{Path: draw("gap path"), Why: draw("gap why")}, {Why: draw("gap in general")}}}}
	v.Commented = []review.FindingKey{review.FindingKey(draw("comment"))}
	for i := range rapid.IntRange(0, 3).Draw(t, "files") {
		path := fmt.Sprint(i) + draw("file")
		v.Assessment.Files = append(v.Assessment.Files, risk.FileRisk{Path: path, PreviousPath: draw("previous"), Kinds: risk.Kinds(rapid.Uint32().Draw(t, "kinds")), NeedsReview: rapid.Bool().Draw(t, "needs")})
		v.Evidence.Coverage = append(v.Evidence.Coverage, review.FileCoverage{Path: path, State: review.CoverageState(rapid.IntRange(0, 4).Draw(t, "state")),
			NeedsEyes: rapid.Bool().Draw(t, "eyes"), Why: review.SkipReason(rapid.IntRange(0, 2).Draw(t, "why")), Note: draw("note"), By: []string{draw("looked")}})
	}
	return storable(v)
}

// storable takes out the values that no session stores.
func storable(v publish.View) publish.View {
	for i := range v.Evidence.Coverage {
		if c := &v.Evidence.Coverage[i]; c.State < review.FileInspected || c.State > review.FileSkipped || (c.Why == 0) != (c.State != review.FileSkipped) {
			c.State, c.Why = review.FileSkipped, review.SkipOmitted
		}
	}
	for i := range v.Evidence.Findings {
		if f := &v.Evidence.Findings[i]; f.Severity < review.SeverityLow || f.Severity > review.SeverityCritical {
			f.Severity = review.SeverityHigh
		}
	}
	return v
}

// Whatever strangers write, the two checks are ours, and the limits hold (case 93).
func TestCase093_HostileNotesDoNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		views := []publish.View{attackedNote(rt, 7)}
		if rapid.Bool().Draw(rt, "shared") {
			views = append(views, attackedNote(rt, 9))
		}
		for _, check := range []string{publish.ReviewName, publish.CoverageName} {
			b := benchOf(t, check)
			var recaps []string // a session's name may be one that no id can hold, so either may be shown
			for _, v := range views {
				res, err := b.Publish(t.Context(), b.forge, repo(), check, v, publish.PublishOptions{})
				if err != nil || res.Minimal {
					rt.Fatalf("%s: %+v, %v", check, res, err)
				}
			}
			r := b.forge.runs[len(b.forge.runs)-1]
			for _, v := range views {
				recaps = append(recaps, hostName(v.RecapURL))
			}
			if r.Conclusion != "neutral" || len(r.Summary) > publish.MaxOutputBytes {
				rt.Errorf("%s: %s, %d bytes", check, r.Conclusion, len(r.Summary))
			}
			assertTitle(rt, r.Title)
			assertSummary(rt, r.Summary, recaps...)
		}
	})
}

// anyFindings draws findings of every sort; the title of each tells it from all
// others, and some are found twice.
func anyFindings(t *rapid.T) (fromScan, fromReviewer []review.Finding) {
	for i := range rapid.IntRange(0, 16).Draw(t, "n") {
		f := scanFinding("rule", review.Severity(rapid.IntRange(1, 4).Draw(t, "severity")), "a.go", rapid.IntRange(0, 60).Draw(t, "line"), fmt.Sprintf("T%02d.", i))
		f.Key = review.KeyOf("a.go", fmt.Sprint(i), "rule")
		f.Side = rapid.SampledFrom([]review.Side{"", review.SideLeft, review.SideRight, review.SideRight}).Draw(t, "side")
		f.Verified = rapid.Bool().Draw(t, "verified")
		f.Withdrawn = rapid.IntRange(0, 4).Draw(t, "withdrawn") == 0
		f.Allowed = rapid.SampledFrom([]string{"", "", "", "example"}).Draw(t, "allowed")
		if rapid.IntRange(0, 4).Draw(t, "waived") == 0 {
			f.Waived = &review.Waiver{By: "ada"}
		}
		if f.Source = rapid.SampledFrom([]review.FindingSource{review.FromScan, review.FromReviewer}).Draw(t, "source"); f.Source == review.FromScan {
			fromScan = append(fromScan, f)
			continue
		}
		fromReviewer = append(fromReviewer, f)
		if rapid.Bool().Draw(t, "twice") {
			fromReviewer = append(fromReviewer, f)
		}
	}
	return fromScan, fromReviewer
}

// Every finding is delivered exactly once: as a comment on its line, marked, or in the
// list only; and the list says which, once for each.
func TestEveryFindingOnce(t *testing.T) {
	line := regexp.MustCompile("(?m)^- (\\*?\\*?)[a-z]+\\*?\\*? `rule` `finding ([0-9a-f]{8})`: (T[0-9]+)\\.(.*)$")
	rapid.Check(t, func(rt *rapid.T) {
		v := reviewed(assessed(risk.High))
		v.Evidence.Findings, v.Evidence.Reviewers[0].Findings = anyFindings(rt)
		all := slices.Concat(v.Evidence.Findings, v.Evidence.Reviewers[0].Findings)
		for _, f := range all {
			if rapid.Bool().Draw(rt, "commented") {
				v.Commented = append(v.Commented, f.Key)
			}
		}
		b := benchOf(t, publish.ReviewName)
		b.publish(decided(v), publish.PublishOptions{})
		marked := map[string]int{}
		for _, a := range b.forge.marks[1] {
			_, title, _ := strings.Cut(a.Title, " · ")
			marked[strings.TrimSuffix(title, ".")]++
		}
		listed := map[string][]string{}
		for _, m := range line.FindAllStringSubmatch(b.forge.runs[0].Summary, -1) {
			where := m[4][max(0, strings.LastIndex(m[4], "; ")):]
			if m[1] == "" {
				where = "folded"
			}
			listed[m[3]] = append(listed[m[3]], where)
		}
		seen := map[review.FindingKey]bool{}
		for _, f := range all {
			name := strings.TrimSuffix(f.Title, ".")
			seen[f.Key] = true
			want, marks := "; in this list only", 0
			switch {
			case !f.Stands():
				want = "folded"
			case slices.Contains(v.Commented, f.Key):
				want = "; commented on the line"
			case f.Line > 0 && f.Side != review.SideLeft:
				want, marks = "; marked below", 1
			}
			if got := listed[name]; len(got) != 1 || !strings.HasPrefix(got[0], want) || marked[name] != marks {
				rt.Fatalf("%s (stands: %v) is listed %q and marked %d times, want %q and %d\n%s", name, f.Stands(), got, marked[name], want, marks, b.forge.runs[0].Summary)
			}
		}
		if len(listed) != len(seen) {
			rt.Fatalf("%d findings are listed, want %d", len(listed), len(seen))
		}
	})
}

// manyFiles is a patch of so many files, every third of which needs no eyes.
func manyFiles(n int) publish.View {
	var files []risk.FileRisk
	var worst []string
	for i := range n {
		kind := []risk.Kind{risk.Source, risk.Test, risk.Generated}[i%3]
		files = append(files, file(fmt.Sprintf("services/checkout/internal/%s/part%04d/handler_%d.go", []string{"cart", "auth", "payment", "search"}[i%4], i*7919%n, i), kind))
		if i%100 == 0 {
			worst = append(worst, files[i].Path)
		}
	}
	v := unreviewed(assessed(risk.High, risk.Signal{Rule: "auth", Floor: risk.High, Files: worst}))
	v.Evidence.ContentPassed = []string{"credential", "hidden-characters", "hidden-text"}
	return mapped(v, files...)
}

// A map of thousands fills the text and counts the rest, by state: nothing is silently
// left out, and what needs eyes comes first, the worst risk first (cases 26, 30, 38).
func TestCase026_LargeMaps(t *testing.T) {
	for _, n := range []int{1, 100, 400, 1_000, 3_000, 20_000} {
		v := manyFiles(n)
		v.Evidence.ChangedFiles = n + 200
		title, text := shownNote(t, publish.CoverageName, []publish.View{decided(v)})
		if len(text) > publish.MaxOutputBytes || strings.Contains(text, "Truncated") {
			t.Fatalf("%d files: %d bytes", n, len(text))
		}
		rows := strings.Count(text, "\n| `services/")
		needNone := strings.Count(text, "| needs none |")
		left := 0
		if m := regexp.MustCompile(`\n([0-9,]+) more files? (?:is|are) not shown: (?:([0-9,]+) not inspected(?:, )?)?(?:([0-9,]+) needs? none)?\n`).FindStringSubmatch(text); m != nil {
			left = number(m[1])
			if number(m[2])+number(m[3]) != left {
				t.Errorf("%d files: the rest is counted as %q", n, m)
			}
		}
		if rows+left != n || (rows < n && len(text) < 40_000) {
			t.Errorf("%d files: %d rows (%d need none) and %d more, in %d bytes", n, rows, needNone, left, len(text))
		}
		for _, want := range []string{"- 200 changed files are not listed: nothing is known of them", thousands(v.Evidence.ChangedFiles-200-n/3) + " not inspected"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d files: the text does not say %q", n, want)
			}
		}
		if !strings.Contains(title, "200 not listed") {
			t.Errorf("title %q", title)
		}
		_, table, _ := strings.Cut(text, "|---|---|---|---|---|\n")
		if first, _, _ := strings.Cut(table, " | "); !strings.HasSuffix(first, "00.go`") && !strings.HasSuffix(first, "_0.go`") {
			t.Errorf("%d files: the worst does not come first, but %s", n, first)
		}
	}
}

func number(s string) int {
	n := 0
	for _, c := range strings.ReplaceAll(s, ",", "") {
		n = n*10 + int(c-'0')
	}
	return n
}

// What is stored of a view stays bounded, however many files and findings there are.
func TestStoredViewsAreBounded(t *testing.T) {
	size := func(name string, v publish.View) (raw, packed int) {
		b := benchOf(t, name)
		b.publish(v, publish.PublishOptions{})
		stored := b.store.views[publish.Key{RepoID: 42, HeadSHA: headA, Name: name}][7]
		return len(stored), len(s2.Encode(nil, stored))
	}
	for _, n := range []int{300, 3_000, 10_000} {
		v := manyFiles(n)
		v.Evidence.Findings = many(n)
		for i := range v.Evidence.Findings {
			v.Evidence.Findings[i].Detail, v.Evidence.Findings[i].Quote = strings.Repeat("why ", 100), strings.Repeat("quoted ", 100)
		}
		v = decided(v)
		whole, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for name, most := range map[string]int{publish.CoverageName: 250_000, publish.ReviewName: 1_500_000} {
			raw, packed := size(name, v)
			t.Logf("%d files and findings: %s stores %d bytes, packed %d, of a view of %d", n, name, raw, packed, len(whole))
			if raw > most {
				t.Errorf("%d files: %s stores %d bytes", n, name, raw)
			}
		}
	}
}
