package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
)

// maxRows is how many rows of a list are shown; the rest is counted.
const maxRows = 20

// textWidth is where sentences are broken.
const textWidth = 96

// WriteText writes the report for people: the verdict and the next step first,
// then what to do, by who does it, then why. Everything from outside is made
// visible, so that no file name can act on a terminal.
func (r Report) WriteText(w io.Writer, color bool) error {
	t := &text{paint: paint(color)}
	t.head(r)
	t.fix(r)
	t.rules("A person decides", r.Rules, review.NeedsHuman)
	t.minor(r)
	t.why(r)
	t.open(r)
	t.list("Residual risks", r.ResidualRisks)
	t.list("Not answered", unanswered(r))
	t.list("Notes", r.Notes)
	t.foot(r)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// text gathers the lines of one report.
type text struct {
	b     strings.Builder
	paint paint
}

func (t *text) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

func (t *text) heading(s string) { t.line("\n%s", t.paint.bold(s)) }

// more counts what a list leaves out.
func (t *text) more(left int) {
	if left > 0 {
		t.line("  and %d more; --json lists more of them", left)
	}
}

// head is the verdict and the next step.
func (t *text) head(r Report) {
	title := publish.Title(r.view)
	paint := t.paint.red
	switch {
	case len(r.Files) == 0 && r.Decision == review.Approved.String():
		title, paint = "Nothing to look at · no file differs from "+publish.Visible(r.Source.Against), t.paint.yellow
	case r.Decision == review.Approved.String():
		title, paint = capital(r.Tier)+" · nothing found against it", t.paint.green
		if n := len(r.Open); n > 0 {
			title += " · " + plural(n, "question") + " open"
		}
	case r.Decision == review.NeedsHuman.String():
		paint = t.paint.yellow
	}
	t.line("%s", paint(t.paint.bold(title)))
	t.line("%s %s", t.paint.bold("Next:"), next(r))
}

func next(r Report) string {
	blocking := len(blockingFindings(r))
	switch {
	case len(r.Files) == 0 && r.Decision == review.Approved.String():
		return "name what it would be merged into with --base, or the commits with --head, if that is not what you meant."
	case r.Decision == review.Approved.String() && len(r.Open) == 0:
		return "nothing to do here."
	case r.Decision == review.Approved.String():
		return "nothing to do here; what is open is answered on the pull request."
	case r.Decision == review.NeedsHuman.String():
		return "a person looks at what is listed below; nothing has to be changed for it."
	case blocking == 1:
		return "fix the finding below, then run this again."
	case blocking > 1:
		return fmt.Sprintf("fix the %d findings below, then run this again.", blocking)
	}
	return "change what is listed below, then run this again."
}

// blockingFindings are those by which the author has to act.
func blockingFindings(r Report) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.minor() })
}

func (f Finding) minor() bool { return f.Severity == "low" || f.Severity == "medium" }

// fix lists what the author has to change: findings, and other rules that say so.
func (t *text) fix(r Report) {
	var others []Rule
	for _, rule := range r.Rules {
		about := rule.ID == string(review.RuleDeterministicCritical) || rule.ID == string(review.RuleDeterministicFinding)
		if !about && (rule.Ceiling == review.ChangesRequested.String() || rule.Ceiling == review.Blocked.String()) {
			others = append(others, rule)
		}
	}
	findings := blockingFindings(r)
	if len(findings)+len(others) == 0 {
		return
	}
	t.heading("Fix before pushing")
	for _, f := range findings[:min(len(findings), maxRows)] {
		t.finding(f, t.paint.red)
	}
	t.more(max(0, len(findings)-maxRows) + notListed(r, findings))
	t.rows(others)
}

// notListed counts the findings that the scanners only counted, of the rules of
// those shown.
func notListed(r Report, shown []Finding) int {
	n := 0
	for rule, more := range r.FindingsNotListed {
		if slices.ContainsFunc(shown, func(f Finding) bool { return f.Rule == rule }) {
			n += more
		}
	}
	return n
}

func (t *text) finding(f Finding, paint func(string) string) {
	at := publish.Visible(f.Path)
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	if f.Side == "LEFT" {
		at += " (removed)"
	}
	t.line("  %s  %s  %s", t.paint.bold(at), paint(f.Severity), t.paint.dim(f.Rule))
	t.sentences("    ", f.Title+".", f.Why)
	t.sentences("    → ", f.Do)
}

// sentences writes wrapped text behind an indentation.
func (t *text) sentences(indent string, parts ...string) {
	words := strings.Fields(publish.Visible(strings.Join(parts, " ")))
	line := indent
	for _, word := range words {
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(word) > textWidth && strings.TrimSpace(line) != "" {
			t.line("%s", strings.TrimRight(line, " "))
			line = strings.Repeat(" ", utf8.RuneCountInString(indent))
		}
		line += word + " "
	}
	if strings.TrimSpace(line) != "" {
		t.line("%s", strings.TrimRight(line, " "))
	}
}

// rules lists the rules with this ceiling.
func (t *text) rules(title string, rules []Rule, ceiling review.Decision) {
	of := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Ceiling != ceiling.String() })
	if len(of) == 0 {
		return
	}
	t.heading(title)
	t.rows(of)
}

func (t *text) rows(rules []Rule) {
	for _, rule := range rules {
		causes := rule.Causes
		if len(causes) == 0 {
			causes = []string{rule.Means}
		}
		t.line("  %s", t.paint.dim(rule.ID))
		for _, c := range causes[:min(len(causes), maxRows)] {
			t.sentences("    ", c)
		}
		t.more(len(causes) - maxRows)
	}
}

// minor lists the findings that decide nothing.
func (t *text) minor(r Report) {
	findings := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.minor() })
	if len(findings) == 0 {
		return
	}
	t.heading("Worth a look; decides nothing")
	for _, f := range findings[:min(len(findings), maxRows)] {
		t.finding(f, t.paint.yellow)
	}
	t.more(len(findings) - maxRows)
}

// why says what the tier rests on.
func (t *text) why(r Report) {
	if len(r.Signals) == 0 {
		return
	}
	t.heading("Why " + r.Tier)
	width := 0
	for _, s := range r.Signals {
		width = max(width, len(s.Rule))
	}
	for _, s := range r.Signals[:min(len(r.Signals), maxRows)] {
		on := few(s.Files)
		if s.Detail != "" {
			on = strings.TrimPrefix(on+", "+publish.Visible(s.Detail), ", ")
		}
		weight := s.Floor
		if s.Raise {
			weight = "+1"
		}
		t.line("  %-8s  %-*s  %s", weight, width, s.Rule, t.paint.dim(on))
	}
	t.more(len(r.Signals) - maxRows)
}

// few names the first paths and counts the rest.
func few(paths []string) string {
	const shown = 3
	var names []string
	for _, p := range paths[:min(len(paths), shown)] {
		names = append(names, publish.Visible(p))
	}
	s := strings.Join(names, ", ")
	if more := len(paths) - shown; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// open lists what only the pull request can answer.
func (t *text) open(r Report) {
	if len(r.Open) == 0 {
		return
	}
	t.heading("Open here, answered on the pull request")
	for _, rule := range r.Open {
		t.line("  %s", t.paint.dim(rule.ID))
		for i, c := range rule.Causes {
			if i == 3 {
				t.more(len(rule.Causes) - i)
				break
			}
			t.sentences("    ", c)
		}
	}
}

func (t *text) list(title string, rows []string) {
	if len(rows) == 0 {
		return
	}
	t.heading(fmt.Sprintf("%s (%d)", title, len(rows)))
	for _, row := range rows[:min(len(rows), maxRows)] {
		t.sentences("  ", row)
	}
	t.more(len(rows) - maxRows)
}

// unanswered says which risk rules nobody could answer.
func unanswered(r Report) []string {
	var list []string
	for _, id := range r.Unanswered {
		list = append(list, id+" could not be evaluated for this change")
	}
	return list
}

// foot says what was looked at.
func (t *text) foot(r Report) {
	added, deleted := 0, 0
	for _, f := range r.Files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	parts := []string{plural(len(r.Files), "file") + fmt.Sprintf(" +%d -%d", added, deleted), r.Source.String(), "policy: " + r.Policy}
	t.line("\n%s", t.paint.dim(strings.Join(parts, " · ")))
}

// String is the source for people.
func (s Source) String() string {
	if s.Kind != "range" {
		return publish.Visible(s.Name)
	}
	to := "work tree"
	if !s.WorkTree {
		to = short(s.Head)
	}
	return fmt.Sprintf("%s (%s)…%s", publish.Visible(s.Against), short(s.MergeBase), to)
}

func short(sha string) string { return sha[:min(len(sha), 7)] }

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func capital(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// paint colours text for terminals that show it.
type paint bool

func (p paint) with(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.with("1", s) }
func (p paint) dim(s string) string    { return p.with("2", s) }
func (p paint) red(s string) string    { return p.with("31", s) }
func (p paint) green(s string) string  { return p.with("32", s) }
func (p paint) yellow(s string) string { return p.with("33", s) }
