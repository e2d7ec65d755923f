package githubsim

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// The two sides of a diff.
const (
	sideLeft  = "LEFT"
	sideRight = "RIGHT"
)

// diffLine is one line of a file's patch. Its position counts from the line below the first hunk header,
// later headers and "\ No newline" marks included, as GitHub's older API counts.
type diffLine struct {
	hunk, position int
	left, right    int // line numbers; 0 on the side that does not have the line
	text           string
}

// patchLines takes a patch apart. Lines end at \n and nowhere else.
func patchLines(patch string) []diffLine {
	header := regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)
	var out []diffLine
	hunk, left, right := 0, 0, 0
	for i, text := range strings.Split(patch, "\n") {
		if m := header.FindStringSubmatch(text); m != nil {
			hunk++
			left, _ = strconv.Atoi(m[1])
			right, _ = strconv.Atoi(m[2])
			out = append(out, diffLine{hunk: hunk, position: i, text: text})
			continue
		}
		l := diffLine{hunk: hunk, position: i, text: text}
		switch {
		case hunk == 0 || strings.HasPrefix(text, `\`):
		case strings.HasPrefix(text, "+"):
			l.right = right
			right++
		case strings.HasPrefix(text, "-"):
			l.left = left
			left++
		default:
			l.left, l.right = left, right
			left++
			right++
		}
		out = append(out, l)
	}
	return out
}

// on is the line's number on a side; 0 where that side does not have it.
func (l diffLine) on(side string) int {
	if side == sideLeft {
		return l.left
	}
	return l.right
}

// lineAt finds a line of a side in the diff.
func lineAt(lines []diffLine, side string, n int) (diffLine, bool) {
	for _, l := range lines {
		if n > 0 && l.on(side) == n {
			return l, true
		}
	}
	return diffLine{}, false
}

// hunkUpTo is a comment's diff_hunk: from the hunk's header down to its line.
func hunkUpTo(lines []diffLine, at diffLine) string {
	var out []string
	for _, l := range lines {
		if l.hunk == at.hunk && l.position <= at.position {
			out = append(out, l.text)
		}
	}
	return strings.Join(out, "\n")
}

// moved tells where a line of a file's older version stands in the newer one, by git's diff of the two;
// false where the line was changed or removed.
func moved(f gitstore.FileDiff, line int) (int, bool) {
	if f.Status == 'D' || f.Binary {
		return 0, false
	}
	shift := 0
	for _, l := range patchLines(f.Patch) {
		if l.left == line {
			return l.right, l.right != 0
		}
		if l.left > line {
			break // git puts context before a change, so nothing from here on is above the line
		}
		switch {
		case l.left == 0 && l.right != 0:
			shift++
		case l.left != 0 && l.right == 0:
			shift--
		}
	}
	return line + shift, true
}
