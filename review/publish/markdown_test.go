package publish_test

import (
	"regexp"
	"strings"
)

// withoutCode takes out of a line what GitHub shows as code: spans between equal
// runs of backticks, and <code> elements. What is left is where mentions,
// references and HTML act.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			break
		}
		n := runAt(line, i)
		end := closingRun(line[i+n:], n)
		if end < 0 { // no span: the backticks are text
			b.WriteString(line[:i+n])
			line = line[i+n:]
			continue
		}
		b.WriteString(line[:i] + "CODE")
		line = line[i+n+end+n:]
	}
	b.WriteString(line)
	return regexp.MustCompile(`<code>[^<]*</code>`).ReplaceAllString(b.String(), "CODE")
}

func runAt(s string, i int) int {
	n := 0
	for i+n < len(s) && s[i+n] == '`' {
		n++
	}
	return n
}

// closingRun finds a run of exactly n backticks.
func closingRun(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		run := runAt(s, i)
		if run == n {
			return i
		}
		i += run
	}
	return -1
}

// linkTargets lists the addresses of the links in a line, and the line without
// them.
func linkTargets(line string) (targets []string, rest string) {
	re := regexp.MustCompile(`\]\(([^()\s]*)\)`)
	for _, m := range re.FindAllStringSubmatch(line, -1) {
		targets = append(targets, m[1])
	}
	return targets, re.ReplaceAllString(line, "]")
}
