package publish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// annotations are the findings that the check marks on the head's lines, the worst
// MaxAnnotations of them; the table counts the rest, and the text lists them all.
//
// Where pull requests share a head, they are the worst one's alone: the check says
// what that one says, and its annotations are part of it. They change with it, and
// a changed set is a new run.
func annotations(v View) []forge.Annotation {
	list := onHeadLines(v)
	var out []forge.Annotation
	for _, f := range list[:min(len(list), MaxAnnotations)] {
		out = append(out, annotation(f))
	}
	return out
}

// onHeadLines are the scanners' findings that stand and have a line at the head,
// the worst first. No comment on a line exists yet, so each of them is annotated.
// A path that cannot be shown as it is is not: there is no other name to give it
// here, and the text shows it spelt out.
func onHeadLines(v View) []review.Finding {
	var out []review.Finding
	for _, f := range scanFindings(v) {
		if f.Stands() && f.Line > 0 && f.Side != review.SideLeft && f.Path != "" && len(f.Path) <= maxAnnotationPath && visible(f.Path) == f.Path {
			out = append(out, f)
		}
	}
	return out
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
	rule := clip(plain(f.Rule), maxNameBytes/4)
	a.Title = clip(capital(gravity(f).String())+" · "+plain(f.Title), MaxTitleBytes)
	a.Message = clip(plain(f.Detail), maxMessageBytes)
	if a.Message != "" {
		a.Message += "\n\n"
	}
	a.Message += "Rule " + rule
	return a
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
