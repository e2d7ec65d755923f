package publish_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

func TestCase030_TheLimitIsInBytes(t *testing.T) {
	in := strings.Repeat("\U0001F600", 16_384) // 65,536 bytes, 16,384 characters
	got := publish.Fit(in, publish.MaxOutputBytes, "")
	if len(got) > publish.MaxOutputBytes || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
	}
	if !strings.HasSuffix(got, "left out.*") || !strings.Contains(got, "Truncated: ") {
		t.Errorf("no note at the end: %q", got[len(got)-80:])
	}
	if kept := strings.Count(got, "\U0001F600"); kept < 16_300 {
		t.Errorf("only %d characters kept", kept)
	}
}

func TestCase034_LongTextIsCutAndSaysSo(t *testing.T) {
	body := "<details><summary>x</summary>\n\n```go\n" + strings.Repeat("line of text\n", 5_400) + "```\n\n</details>\n"
	got := publish.Fit(body, publish.MaxBodyBytes, "[The rest](https://github.com/acme/api) is in the trail.")
	if len(got) > publish.MaxBodyBytes {
		t.Errorf("%d bytes", len(got))
	}
	before, note, _ := strings.Cut(got, "\n\n*Truncated: ")
	if !strings.HasSuffix(before, "line of text\n```\n\n</details>") {
		t.Errorf("fence and details are not closed: %q", before[len(before)-60:])
	}
	kept := strings.Count(before, "line of text")
	want := len(body) - len("<details><summary>x</summary>\n\n```go\n") - kept*len("line of text\n") + 1 // the last line's end
	if n := strings.ReplaceAll(strings.SplitN(note, " ", 2)[0], ",", ""); n != fmt.Sprint(want) {
		t.Errorf("the note counts %s bytes left out, want %d: %q", n, want, note)
	}
	if !strings.HasSuffix(got, "is in the trail.") {
		t.Errorf("the note does not say where the rest is: %q", note)
	}
}

func TestCase038_CutsSplitNothing(t *testing.T) {
	texts := []string{
		strings.Repeat("審査", 300), strings.Repeat("\U0001F600", 300), strings.Repeat("a\r\n", 300),
		strings.Repeat("[審査](https://github.com/acme/api/pull/7) ", 20), strings.Repeat("é", 200) + "\n" + strings.Repeat("x", 400),
		strings.Repeat("~~~~\n", 100), strings.Repeat("<details>\n", 60),
	}
	for _, in := range texts {
		for limit := 120; limit < 200; limit++ {
			got := publish.Fit(in, limit, "")
			assertFit(t, in, got, limit)
		}
	}
	for n := range 60 {
		v := decided(withChecks(unreviewed(assessed(risk.High)), check(strings.Repeat("x", n)+strings.Repeat("審査😀", 40), "failure")))
		v.Observe = n%2 == 0
		title := publish.Title(v)
		assertTitle(t, title)
		if v.Observe && !strings.HasSuffix(title, " · observe") {
			t.Errorf("the mode was cut off: %q", title)
		}
	}
}

func assertFit(t failer, in, got string, limit int) {
	t.Helper()
	if len(got) > limit || !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
		t.Errorf("limit %d: %d bytes, %q", limit, len(got), got)
	}
	if len(in) <= limit {
		if got != in {
			t.Errorf("a text that fits was changed to %q", got)
		}
		return
	}
	before, _, found := strings.Cut(got, "\n\n*Truncated: ")
	if !found {
		if !strings.HasPrefix(got, "*Truncated: ") {
			t.Errorf("limit %d: no note in %q", limit, got)
		}
		return
	}
	if strings.HasSuffix(before, "\r") {
		t.Errorf("limit %d: a line end was split in %q", limit, got)
	}
	if i := strings.LastIndex(before, "]("); i >= 0 && !strings.Contains(before[i:], ")") {
		t.Errorf("limit %d: a link was split in %q", limit, got)
	}
	if strings.Count(before, "<details") != strings.Count(before, "</details>") {
		t.Errorf("limit %d: details are left open in %q", limit, got)
	}
}

func TestFitProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{"text ", "審査", "😀", "\n", "\r\n", "```\n", "~~~\n", "````go\n", "<details>\n", "</details>\n", "[a](https://x.y/z)"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 80).Draw(t, "pieces"), "")
		limit := rapid.IntRange(60, 400).Draw(t, "limit")
		got := publish.Fit(in, limit, "")
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("limit %d: %d bytes: %q", limit, len(got), got)
		}
		if len(in) <= limit && got != in {
			t.Fatalf("a text that fits was changed: %q", got)
		}
	})
}

func FuzzFit(f *testing.F) {
	f.Add("```\ntext", 40)
	f.Add(strings.Repeat("<details>", 30), 100)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		if limit < 0 || limit > 1<<16 {
			return
		}
		if got := publish.Fit(in, limit, ""); len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("limit %d: %d bytes, %q", limit, len(got), got)
		}
	})
}

// The text fits by construction: with everything as large as it can be, every
// section is there, and so is the trail's head at the end.
func TestSummaryFitsByConstruction(t *testing.T) {
	long := strings.Repeat("@", 900)
	var signals []risk.Signal
	for i := range 40 {
		signals = append(signals, risk.Signal{Rule: long, Files: []string{fmt.Sprint(i) + strings.Repeat("|", 900), long}, Detail: long})
	}
	v := assessed(risk.Critical, signals...)
	v.Assessment.Problems = slicesOf(long, 500)
	v.PolicySource, v.SessionID, v.RecapURL = long, long, "https://recap.example/"+strings.Repeat("a", 500)
	var checks []review.CheckResult
	for i := range 400 {
		c := check(fmt.Sprint(i)+strings.Repeat("#", 900), []string{"failure", "skipped", "", "success"}[i%4])
		c.URL = "https://github.com/" + strings.Repeat("p", 500)
		checks = append(checks, c)
	}
	v = withChecks(v, checks...)
	r := review.ReviewerResult{Provider: long, Model: strings.Repeat("|", 900), Status: review.ReviewerRan, Verdict: review.VerdictChanges, Residual: slicesOf(long, 300)}
	for i := range 300 {
		v.Evidence.Coverage = append(v.Evidence.Coverage, review.FileCoverage{Path: fmt.Sprint(i) + long, State: review.FileSkipped, NeedsEyes: true, Why: review.SkipOmitted})
		v.Evidence.Permission.Asks = append(v.Evidence.Permission.Asks, review.Ask{ID: fmt.Sprint(i), Paths: slicesOf(long, 9), Approvers: slicesOf(fmt.Sprint(i)+long, 2), Reason: long})
		r.Findings = append(r.Findings, finding(fmt.Sprint(i)+long, long, i+1))
		v.Evidence.Acceptances = append(v.Evidence.Acceptances, review.Acceptance{Rule: review.RuleCoverageMissing, Files: []string{fmt.Sprint(i) + long}, By: long, Reason: long})
	}
	v.Evidence.Reviewers = []review.ReviewerResult{r, r, r, r, r}
	for i := range 200 {
		f := scanFinding(strings.Repeat("|", 900), review.Severity(i%4)+1, fmt.Sprint(i)+strings.Repeat("|", 900), i+1, long)
		v.Evidence.Findings = append(v.Evidence.Findings, f)
		v.Evidence.ScanGaps = append(v.Evidence.ScanGaps, review.ScanGap{Rule: strings.Repeat("|", 900), Files: 9, Places: []review.ScanPlace{{Path: long, Why: long}, {Path: "|" + long, Why: long}}})
		v.Evidence.MoreFindings = append(v.Evidence.MoreFindings, review.MoreFindings{Rule: fmt.Sprint(i) + long, Count: 1_000_000})
	}
	var views []publish.View
	for i := range 60 {
		w := decided(v)
		w.Pull.Number, w.BaseRef = i+1, long
		views = append(views, w)
	}
	got := publish.Join(views).Text()
	if len(got) > publish.MaxOutputBytes {
		t.Errorf("%d bytes", len(got))
	}
	for _, want := range []string{"**Next:** ", "This head belongs to 60", "Changes requested because", "| Risk |", "| Policy |", "| Findings |", "Other findings (", "Residual risks (", "Who can approve", "trail `0123456789ab`</sub>\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q was crowded out", want)
		}
	}
	for _, section := range strings.Split(got, "\n\n") {
		if n := strings.Count(section, "\n- "); n > publish.MaxList+1 {
			t.Errorf("a list has %d entries", n)
		}
	}
	if strings.Contains(got, "Truncated") {
		t.Error("a section was cut instead of bounded")
	}
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}
