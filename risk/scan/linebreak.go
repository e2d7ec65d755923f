package scan

import "strings"

// yamlBreaks are line ends to YAML and characters inside a line to git. One of
// them can begin a step in what reads as a comment, and every line behind it has
// another number than the one that people see.
const yamlBreaks = "\r\u0085\u2028\u2029"

// strangeBreaks refuses a workflow in which YAML sees other lines than git. Where
// the patch brings the first of these line ends in, that is a finding.
func (w *workflow) strangeBreaks() (why string) {
	for _, run := range w.src.runs {
		for _, l := range run {
			if !strings.ContainsAny(strings.TrimSuffix(l.text, "\r"), yamlBreaks) {
				continue
			}
			if l.added {
				f := w.finding(RuleWorkflowFault, l.no, High, "A line end that only YAML sees is inside a line")
				f.Why = "What reads as one line, or as a comment, is two lines to GitHub Actions: a step can hide behind it."
				f.Do = "Replace the character by an ordinary line end."
				w.report(f)
			}
			return "it has line ends that only YAML sees"
		}
	}
	return ""
}
