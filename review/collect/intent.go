package collect

import (
	"strings"
	"unicode"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// minWords and minLetters are what a purpose takes at least: three words, or
// eight letters of a script that is written without spaces.
const (
	minWords   = 3
	minLetters = 8
)

// Intent says whether the pull request states what it is for. The rule knows
// nothing of meaning; it only tells text that somebody wrote from text that was
// there already. A purpose is stated by any of
//
//   - an issue that the pull request closes,
//   - a body of at least three words once HTML comments, headings, unticked boxes
//     and lines that hold only an image, a link or a rule are taken out, which is
//     what remains of a template that nobody filled in,
//   - a title of at least three words that is not one of those GitHub proposes
//     ("Update README.md", "Merge branch …").
func Intent(pull forge.Pull) review.Intent {
	if len(pull.Linked) > 0 || says(ownWords(pull.Body)) || (says(pull.Title) && !proposedTitle(pull.Title)) {
		return review.IntentStated
	}
	return review.IntentMissing
}

// maxBody bounds what is looked at: GitHub's own limit of a body is 65,536
// characters.
const maxBody = 4 * 65536

// ownWords takes out of a body what a template brings.
func ownWords(body string) string {
	body = withoutComments(clip(body, maxBody))
	var kept []string
	for _, line := range strings.Split(body, "\n") {
		t := strings.TrimSpace(line)
		if t == "" || strings.HasPrefix(t, "#") || isUnticked(t) || decoration(t) {
			continue
		}
		kept = append(kept, t)
	}
	return strings.Join(kept, "\n")
}

// withoutComments removes HTML comments. One that never closes hides the rest,
// for people as for us.
func withoutComments(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "<!--")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if _, s, ok = strings.Cut(rest, "-->"); !ok {
			return b.String()
		}
	}
}

func isUnticked(line string) bool {
	line = strings.TrimLeft(line, "-*+ ")
	return strings.HasPrefix(line, "[ ]") || strings.HasPrefix(line, "[]")
}

// decoration reports whether a line is nothing but images, links or a rule.
func decoration(line string) bool {
	for strings.HasPrefix(line, "![") || strings.HasPrefix(line, "[![") {
		_, rest, ok := strings.Cut(line, ")")
		if !ok {
			return false
		}
		line = strings.TrimLeft(rest, ")] (")
	}
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
		return !strings.ContainsAny(line, " \t")
	}
	return strings.Trim(line, "-*_=|: ") == ""
}

// says reports whether a text has enough words or letters to say something.
func says(text string) bool {
	words, dense := 0, 0
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }) {
		if strings.IndexFunc(w, unicode.IsLetter) >= 0 {
			words++
		}
		for _, r := range w {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
				dense++
			}
		}
	}
	return words >= minWords || dense >= minLetters
}

// proposedTitle recognises titles that a tool filled in.
func proposedTitle(title string) bool {
	t := strings.ToLower(strings.TrimSpace(title))
	if strings.HasPrefix(t, "merge branch ") || strings.HasPrefix(t, "merge pull request ") || strings.HasPrefix(t, "merge remote") ||
		t == "add files via upload" || strings.HasPrefix(t, "apply suggestions from code review") {
		return true
	}
	verb, file, ok := strings.Cut(t, " ")
	if !ok {
		return false
	}
	switch verb {
	case "update", "create", "delete", "rename":
		// "Update docs/read me.md": one path and nothing said about it.
		fields := strings.Fields(file)
		return len(fields) > 0 && strings.ContainsAny(fields[0], "./") && (len(fields) == 1 || verb == "rename")
	}
	return false
}
