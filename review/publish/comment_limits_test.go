package publish_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
)

// longFinding is a reviewer's finding whose every text is longer than a comment may be.
func longFinding(i int, suggestion string) review.Finding {
	f := lineFinding(fmt.Sprintf("Finding %02d ", i)+strings.Repeat("t", 5_000), "a.go", 10+i, review.SeverityHigh)
	f.Source, f.Rule, f.Category = review.FromReviewer, "", "auth"
	f.Detail = strings.Repeat(strings.Repeat("<", 590)+"\n", 60)
	f.FailingCase = strings.Repeat("c", 70_000)
	f.Suggestion = suggestion
	return f
}

// reviewedBy is a view of what one reviewer found.
func reviewedBy(findings ...review.Finding) publish.View {
	v := on(headA)
	v.Evidence.Reviewers = []review.ReviewerResult{{Provider: "openai", Model: "gpt-5.2", Family: "gpt", Independence: review.IndependenceStrong, Confidence: 1,
		Status: review.ReviewerRan, Verdict: review.VerdictChanges, Findings: findings}}
	return decided(v)
}

// Whatever is too long for GitHub is shown shortened and says so: a comment keeps its
// mark, a replacement is whole or not there, and what does not fit into a body is
// counted (case 34).
func TestCase034_LongCommentsAndBodies(t *testing.T) {
	for name, suggestion := range map[string]string{"short": "fixed()\n", "fits not beside the text": strings.Repeat("s\n", 8_000), "fits not": strings.Repeat("s", 70_000)} {
		d := newDesk(t)
		res := d.comment(reviewedBy(longFinding(0, suggestion), longFinding(1, suggestion)))
		if len(res.Posted) != 2 || len(d.forge.reviews) != 1 {
			t.Fatalf("%s: result %+v", name, res)
		}
		for _, c := range d.forge.reviews[0].comments {
			if len(c.Body) > publish.MaxBodyBytes || !utf8.ValidString(c.Body) {
				t.Errorf("%s: a comment of %d bytes", name, len(c.Body))
			}
			if !strings.Contains(c.Body, "…") || !strings.HasSuffix(c.Body, " -->\n") {
				t.Errorf("%s: nothing says that it is cut, or whose it is: %q", name, c.Body[max(0, len(c.Body)-200):])
			}
			if fenced := strings.Contains(c.Body, "suggestion\n"); fenced != (name == "short") {
				t.Errorf("%s: a replacement is offered: %v", name, fenced)
			}
		}
	}
}

var moreFindings = regexp.MustCompile(`\n([\d,]+) findings? more did not fit here; the check lists all\.\n`)

// No place is taken: the body holds what fits, and counts the rest.
func TestCase034_BodyThatIsFull(t *testing.T) {
	d := newDesk(t)
	d.forge.bad = map[string]bool{}
	var all []review.Finding
	for i := range 40 {
		f := longFinding(i, "")
		d.forge.bad[fmt.Sprintf("a.go:%d", f.Line)] = true
		all = append(all, f)
	}
	_, err := d.Comment(t.Context(), d.forge, repo(), reviewedBy(all...), publish.CommentLimits{Max: publish.MaxOpenComments, MinSeverity: review.SeverityMedium})
	if err != nil || len(d.forge.reviews) != 1 {
		t.Fatalf("%v, %d reviews", err, len(d.forge.reviews))
	}
	body := d.forge.reviews[0].Body
	found := moreFindings.FindStringSubmatch(body)
	if len(body) > publish.MaxBodyBytes || !utf8.ValidString(body) || len(found) != 2 {
		t.Fatalf("a body of %d bytes: %q", len(body), body[max(0, len(body)-300):])
	}
	left, err := strconv.Atoi(found[1])
	if shown := strings.Count(body, "where GitHub takes no comment."); err != nil || shown == 0 || shown+left != len(all) {
		t.Errorf("%d are shown and %d counted, of %d", shown, left, len(all))
	}
}

// What replaces a line reaches GitHub byte for byte, and whatever runs of backticks it
// has, its block ends where it ends (cases 19 and 20).
func TestCase019_020_SuggestionsArriveWhole(t *testing.T) {
	for _, text := range []string{
		"<Tooltip title=\"We'll do\" a='b' c=\"&amp; <x>\">", "x := `raw` + ``", "```\ncode\n```", "text\n````md\n```\n````\nmore", "~~~\n", "    ```````` indented", "${HOME} $(x) %s \\n <!-- -->",
	} {
		f := longFinding(0, text)
		f.Title, f.Detail, f.FailingCase = "Title", "Because.", "A case."
		d := newDesk(t)
		d.comment(reviewedBy(f))
		body := d.forge.reviews[0].comments[0].Body
		before, rest, ok := strings.Cut(body, "suggestion\n")
		fence := before[strings.LastIndexByte(before, '\n')+1:]
		got, after, closed := strings.Cut(rest, "\n"+fence+"\n")
		if !ok || len(fence) < 3 || strings.Trim(fence, "`") != "" || !closed || got != strings.TrimSuffix(text, "\n") {
			t.Errorf("%q arrives as %q within %q", text, got, fence)
		}
		if strings.Contains(got, fence) || strings.Contains(after, "`") || !strings.HasSuffix(after, " -->\n") {
			t.Errorf("%q: what follows is in the block too: %q", text, after)
		}
	}
}
