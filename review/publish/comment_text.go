package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review"
)

// The bounds of a comment's parts. Together they stay below MaxBodyBytes whatever
// escaping makes of them, but for the suggestion, which is left out rather than cut.
const (
	maxParagraphs      = 20
	maxParagraphBytes  = 1_200
	maxParagraphMarkup = 3_000
)

// commentBody is the text of a line comment, with the replacement where one is exact
// and, at its end, a marker that names the finding. A replacement that does not fit
// is left out: half of one would damage the file.
func commentBody(f review.Finding) string {
	marker := "\n" + findingMarker(f.ID()) + "\n"
	text := Fit(findingText(f), MaxBodyBytes-len(marker), "")
	if fence := suggestionFence(f); len(text)+len(fence)+len(marker) <= MaxBodyBytes {
		text += fence
	}
	return text + marker
}

// findingText says how grave it is and what is wrong, the details, and the input
// that shows it. Lines of the patch are not quoted: one may hold a credential.
func findingText(f review.Finding) string {
	var b strings.Builder
	b.WriteString("**" + capital(gravity(f).String()) + " · " + prose(f.Title) + "** `finding " + shortKey(f.ID()) + "`\n")
	b.WriteString(paragraphs(f.Detail))
	if strings.TrimSpace(f.FailingCase) != "" {
		b.WriteString(paragraphs("Fails with: " + strings.TrimSpace(f.FailingCase)))
	}
	if f.Source != review.FromReviewer && f.Rule != "" {
		b.WriteString("\nRule " + code(f.Rule) + "\n")
	}
	return b.String()
}

// paragraphs shows a text of several lines, each line as a paragraph: what begins a
// list, a heading or a block of code in Markdown begins none here.
func paragraphs(s string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(s) {
		text := paragraph(line)
		if text == "" {
			continue
		}
		if n++; n > maxParagraphs {
			b.WriteString("\n…\n")
			break
		}
		b.WriteString("\n" + text + "\n")
	}
	return b.String()
}

// paragraph shows one line from outside. What stands between single backticks stays
// in code font, where GitHub reads neither mentions nor references.
func paragraph(line string) string {
	line = clip(visible(strings.TrimSpace(line)), maxParagraphBytes)
	if strings.Count(line, "`")%2 != 0 || strings.Contains(line, "``") {
		return escapeWithin(line, maxParagraphMarkup)
	}
	var b strings.Builder
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 && strings.TrimSpace(part) != "" {
			b.WriteString(code(part))
		} else {
			b.WriteString(escape(part))
		}
	}
	if b.Len() > maxParagraphMarkup {
		return escapeWithin(line, maxParagraphMarkup)
	}
	return b.String()
}

// suggestionFence is the block that replaces the comment's lines, byte for byte, in
// a fence longer than any run of backticks inside (cases 19 and 20). A scanner
// suggests nothing, and what it found is not repeated.
func suggestionFence(f review.Finding) string {
	a := f.Anchor
	if f.Suggestion == "" || f.Source != review.FromReviewer || a == nil || a.Side != review.SideRight || !harmless(f.Suggestion) {
		return ""
	}
	fence := strings.Repeat("`", max(3, longestRun(f.Suggestion, '`')+1))
	return "\n" + fence + "suggestion\n" + strings.TrimSuffix(f.Suggestion, "\n") + "\n" + fence + "\n"
}

// shortKey is how people name a finding.
func shortKey(key review.FindingKey) string { return first(markerKey(key), 4) }

// markerKey is the key as a marker can hold it. Keys are made of hexadecimal digits;
// one that is not is replaced by a name of its own.
func markerKey(key review.FindingKey) string {
	if len(key) > 0 && len(key) <= 64 && strings.Trim(string(key), "0123456789abcdef") == "" {
		return string(key)
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

// Markers are how we know our own comments again. Anybody can write one, and a
// suggestion may hold one: it counts only on the last line of what our App wrote.

func findingMarker(key review.FindingKey) string {
	return "<!-- countersign finding=" + markerKey(key) + " -->"
}

// reviewMarker names one attempt at one review: what it is to bring, and the number
// of the plan.
func reviewMarker(digest string, seq int64) string {
	return "<!-- countersign review=" + first(digest, 16) + "." + strconv.FormatInt(seq, 10) + " -->"
}

func fixedMarker(key review.FindingKey) string {
	return "<!-- countersign fixed=" + markerKey(key) + " -->"
}

// findingOf is the key that a comment of ours bears, empty when it bears none.
func findingOf(body string) string {
	key, ok := strings.CutPrefix(finalLine(body), "<!-- countersign finding=")
	key, closed := strings.CutSuffix(key, " -->")
	if !ok || !closed || key != markerKey(review.FindingKey(key)) {
		return ""
	}
	return key
}

func finalLine(body string) string {
	body = strings.TrimRight(body, " \t\r\n")
	return strings.TrimRight(body[strings.LastIndexByte(body, '\n')+1:], "\r")
}

// fixedBody is the reply under a finding that is gone.
func fixedBody(key review.FindingKey, head string) string {
	return "Fixed in " + head + ".\n\n" + fixedMarker(key) + "\n"
}

// pullReviewBody is the text above the comments of one review: what it brings, and in
// full the findings whose place the forge did not take (case 2). It is at most
// MaxBodyBytes; what does not fit is counted (case 34). It ends with the marker.
func pullReviewBody(v View, comments, replies int, refused []review.Finding, marker string) string {
	var parts []string
	if comments > 0 {
		parts = append(parts, plural(comments, "finding", "findings")+" on the lines of "+code(short(v.HeadSHA)))
	}
	if replies > 0 {
		parts = append(parts, plural(replies, "earlier finding is", "earlier findings are")+" fixed in "+code(short(v.HeadSHA)))
	}
	var b strings.Builder
	if len(parts) > 0 {
		b.WriteString(join(parts, "and") + ".\n")
	}
	marker = "\n" + marker + "\n"
	for i, f := range refused {
		text := "\n" + findingText(f) + "\nIn " + place(v, f) + ", where GitHub takes no comment.\n"
		rest := "\n" + plural(len(refused)-i, "finding", "findings") + " more did not fit here; the check lists all.\n"
		if b.Len()+len(text)+len(rest)+len(marker) > MaxBodyBytes {
			b.WriteString(rest)
			break
		}
		b.WriteString(text)
	}
	return Fit(b.String(), MaxBodyBytes-len(marker), "") + marker
}
