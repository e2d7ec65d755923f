package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// onHeadLine reports whether a finding can be marked: it stands and has a line at the
// head. A path that cannot be shown as it is is not marked: there is no other name to
// give it here, and the text shows it spelt out.
func onHeadLine(f review.Finding) bool {
	return f.Stands() && f.Line > 0 && f.Side != review.SideLeft && f.Path != "" && len(f.Path) <= maxAnnotationPath && visible(f.Path) == f.Path
}

// annotation is one finding as a remark on its lines, in plain text: why and what
// to do, never the line itself.
func annotation(f review.Finding) forge.Annotation {
	a := forge.Annotation{Path: f.Path, StartLine: f.Line, EndLine: f.Line, Level: "notice"}
	if f.StartLine > 0 && f.StartLine < f.Line {
		a.StartLine = f.StartLine
	}
	switch gravity(f) {
	case review.SeverityCritical, review.SeverityHigh:
		a.Level = "failure"
	case review.SeverityMedium:
		a.Level = "warning"
	}
	a.Title = clip(capital(gravity(f).String())+" · "+plain(oneLine(f.Title)), MaxTitleBytes)
	var parts []string
	if detail := clip(plain(oneLine(f.Detail)), maxMessageBytes); detail != "" {
		parts = append(parts, detail)
	}
	if failing := clip(plain(oneLine(f.FailingCase)), maxTextBytes); failing != "" {
		parts = append(parts, "Fails with: "+failing)
	}
	if rule := clip(plain(oneLine(ruleOf(f))), maxNameBytes/4); rule != "" || len(parts) == 0 {
		parts = append(parts, "Rule "+rule)
	}
	a.Message = strings.Join(parts, "\n\n")
	return a
}

// ruleOf names what a finding is about: the scanner's rule, or the reviewer's category.
func ruleOf(f review.Finding) string {
	if f.Rule != "" {
		return f.Rule
	}
	return f.Category
}

// oneLine takes line ends and tabs for the blanks that they stand for, where a text
// of several lines is shown on one.
func oneLine(s string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s)
}

// marksOf identifies a set of annotations; empty for none. Their wording is left
// out: a better sentence is not worth a new run.
func marksOf(list []forge.Annotation) string {
	if len(list) == 0 {
		return ""
	}
	type mark struct {
		Path       string
		Start, End int
		Level      string
		Title      string
	}
	marks := make([]mark, 0, len(list))
	for _, a := range list {
		marks = append(marks, mark{a.Path, a.StartLine, a.EndLine, a.Level, a.Title})
	}
	raw, err := json.Marshal(marks)
	if err != nil { // plain values: it cannot fail, and must not look like no set
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
