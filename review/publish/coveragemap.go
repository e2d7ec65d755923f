package publish

import (
	"cmp"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/risk"
)

// MaxMapRows bounds the files of a map that are kept by name, those that need eyes
// and got none first: more would not fit into a check's text. The rest is counted.
const MaxMapRows = 1_000

// FileMap is who looked at which file, as a view stores it.
type FileMap struct {
	Rows []FileRow `json:"rows,omitempty"`
	// All counts every file of the map, Left those without a row.
	All  MapCounts `json:"all"`
	Left MapCounts `json:"left,omitzero"`
}

// FileRow is one changed file, under short names: there are many.
type FileRow struct {
	Path     string               `json:"p"`
	Previous string               `json:"o,omitempty"` // of a rename or copy
	Kinds    risk.Kinds           `json:"k,omitempty"`
	State    review.CoverageState `json:"s,omitempty"`
	Why      review.SkipReason    `json:"w,omitempty"`
	Eyes     bool                 `json:"e,omitempty"` // it needs some
	Floor    risk.Tier            `json:"f,omitempty"` // the worst rule that fired on it
	By       []string             `json:"b,omitempty"` // who looked; none: every reviewer that ran
	Note     string               `json:"n,omitempty"`
}

// MapCounts counts files by how far reviewers got. Exempt ones need no eyes.
type MapCounts struct {
	Inspected int `json:"i,omitempty"`
	Partly    int `json:"p,omitempty"`
	Skipped   int `json:"s,omitempty"`
	Exempt    int `json:"e,omitempty"`
}

func (c MapCounts) needEyes() int { return c.Inspected + c.Partly + c.Skipped }
func (c MapCounts) files() int    { return c.needEyes() + c.Exempt }

func (c *MapCounts) add(r FileRow) {
	switch r.class() {
	case classSkipped:
		c.Skipped++
	case classPartly:
		c.Partly++
	case classInspected:
		c.Inspected++
	default:
		c.Exempt++
	}
}

// words says the counts: "2 not inspected, 1 in part, 10 inspected, 1 needs none".
func (c MapCounts) words() string {
	var parts []string
	for _, p := range []struct {
		n     int
		words string
	}{{c.Skipped, "not inspected"}, {c.Partly, "in part"}, {c.Inspected, "inspected"}, {c.Exempt, ifOne(c.Exempt, "needs none", "need none")}} {
		if p.n > 0 {
			parts = append(parts, count(p.n)+" "+p.words)
		}
	}
	return strings.Join(parts, ", ")
}

// The classes of files, in the order of the map.
const (
	classSkipped = iota // needs eyes and got none
	classPartly
	classInspected
	classExempt
)

func (r FileRow) class() int {
	switch {
	case !r.Eyes:
		return classExempt
	case r.State == review.FileInspected:
		return classInspected
	case r.State == review.FilePartiallyInspected:
		return classPartly
	}
	return classSkipped
}

// The bounds of one row's texts, in bytes.
const (
	maxRowPath  = 1_000
	maxRowNote  = 300
	maxRowNames = 5
)

// mapOf joins what the patch changes with what the evidence says of each file. Both
// list a path as often as the patch does. A file that only one of them has is shown
// all the same, as one that nobody accounted for.
func mapOf(v View) *FileMap {
	files := make(map[string][]risk.FileRisk, len(v.Assessment.Files))
	for _, f := range v.Assessment.Files {
		files[f.Path] = append(files[f.Path], f)
	}
	floors := floorsOf(v.Assessment.Signals)
	unseen := make(map[string]string, len(v.Evidence.Truncated))
	for _, t := range v.Evidence.Truncated {
		unseen[t.Path] = t.Why
	}
	var rows []FileRow
	add := func(r FileRow) {
		r.Floor = max(floors[r.Path], floors[r.Previous])
		if why, ok := unseen[r.Path]; ok {
			r.Note = strings.TrimSuffix("not seen whole: "+why, ": ") + ifSome("; ", r.Note)
		}
		r.Path, r.Previous, r.Note = cutRune(r.Path, maxRowPath), cutRune(r.Previous, maxRowPath), clip(r.Note, maxRowNote)
		rows = append(rows, r)
	}
	for _, c := range v.Evidence.Coverage {
		r := FileRow{Path: c.Path, State: c.State, Why: c.Why, Eyes: c.NeedsEyes, Note: c.Note, By: c.By[:min(len(c.By), maxRowNames)]}
		if have := files[c.Path]; len(have) > 0 {
			r.Kinds, r.Previous = have[0].Kinds, previousOf(have[0])
			files[c.Path] = have[1:]
		}
		add(r)
	}
	for _, f := range v.Assessment.Files {
		if have := files[f.Path]; len(have) > 0 {
			files[f.Path] = have[1:]
			add(FileRow{Path: f.Path, Previous: previousOf(f), Kinds: f.Kinds, State: review.FileSkipped, Eyes: f.NeedsReview, Note: "nobody accounted for it"})
		}
	}
	slices.SortStableFunc(rows, worseRow)
	m := &FileMap{}
	for _, r := range rows {
		m.All.add(r)
	}
	for _, r := range rows[min(len(rows), MaxMapRows):] {
		m.Left.add(r)
	}
	m.Rows = slices.Clone(rows[:min(len(rows), MaxMapRows)])
	return m
}

func worseRow(a, b FileRow) int {
	return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.Floor, a.Floor), strings.Compare(a.Path, b.Path), strings.Compare(a.Previous, b.Previous))
}

func previousOf(f risk.FileRisk) string {
	if f.PreviousPath == f.Path {
		return ""
	}
	return f.PreviousPath
}

// floorsOf is the worst rule that fired on each file.
func floorsOf(signals []risk.Signal) map[string]risk.Tier {
	out := make(map[string]risk.Tier)
	for _, s := range signals {
		for _, f := range s.Files {
			if !s.Raise && s.Floor > out[f] {
				out[f] = s.Floor
			}
		}
	}
	return out
}

func ifSome(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}
