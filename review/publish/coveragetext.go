package publish

import (
	"strings"

	"github.com/countersign/countersign/review"
)

// The budgets of `countersign / coverage`, in bytes. The files that need eyes take
// what they need; the harmless ones are folded into what is left.
const (
	mapBudget      = 52_000
	harmlessBudget = 24_000 // at most, and less where the others need it
	totalsBudget   = 4_000
	leastTotals    = 1_000 // of one of several maps
	afterTable     = 1_000 // what follows a table: the count of the rest, a fold's title
	mostMaps       = 8     // of pull requests on one head; the others are lines
)

// wantCoverage is `countersign / coverage`: who looked at which file.
func wantCoverage(views []View) wanted {
	worst, list := speakers(views)
	if len(list) == 0 {
		return endedNote(Join(views))
	}
	least := worst
	for _, v := range list {
		if v.files().All.Skipped > least.files().All.Skipped {
			least = v
		}
	}
	body := coverageBody(least, worst, list)
	return note(worst, coverageTitle(least), func(int) string { return body }, 0)
}

// files is the view's map; views that were not stored yet have none.
func (v View) files() FileMap {
	if v.Map != nil {
		return *v.Map
	}
	return *mapOf(v)
}

// unlisted counts the changed files that the map does not have: nothing is known of
// them.
func (v View) unlisted() int { return max(0, v.Evidence.ChangedFiles-v.files().All.files()) }

// coverageTitle is how many of the files that need eyes got them.
func coverageTitle(v View) string {
	all := v.files().All
	ran, pending := reviewersOf(v)
	var parts []string
	need := plural(all.needEyes(), "file needs eyes", "files need eyes")
	if all.needEyes() == 0 {
		need = "" // of those that are listed
	}
	switch {
	case all.needEyes() == 0 && v.unlisted() == 0:
		return "No file needs eyes · " + count(all.files()) + " changed"
	case all.Inspected+all.Partly == 0 && pending:
		parts = []string{"Nothing inspected yet", "review not finished", need}
	case all.Inspected+all.Partly == 0 && len(ran) == 0:
		parts = []string{"Nothing inspected", "no reviewer ran", need}
	case all.Inspected+all.Partly == 0:
		parts = []string{"Nothing inspected", need}
	default:
		parts = []string{count(all.Inspected) + " of " + plural(all.needEyes(), "file", "files") + " inspected"}
		if all.Partly > 0 {
			parts = append(parts, count(all.Partly)+" in part")
		}
	}
	if n := v.unlisted(); n > 0 {
		parts = append(parts, count(n)+" not listed")
	}
	return strings.Join(nonEmpty(parts...), " · ")
}

func coverageBody(least, worst View, list []View) string {
	sections := []string{
		"**Next:** " + coverageNext(least),
		"`" + CheckName + "` judges; this check shows who looked at what, and is always neutral.",
		sharers(list, coverageTitle),
	}
	shown := list[:min(len(list), mostMaps)]
	for _, v := range shown {
		heading := ""
		if len(list) > 1 {
			heading = "**" + pullLink(v) + " into " + code(v.BaseRef) + "**\n\n"
		}
		sections = append(sections, mapSection(v, heading, len(shown)))
	}
	if n := len(list) - len(shown); n > 0 {
		sections = append(sections, "The maps of "+plural(n, "more pull request", "more pull requests")+" are not shown here"+ifSome(": ", recapLink(worst, "all of them"))+".")
	}
	var out []string
	for _, s := range sections {
		if s = strings.Trim(s, "\n"); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

func coverageNext(v View) string {
	all := v.files().All
	ran, pending := reviewersOf(v)
	n := all.Skipped + all.Partly + v.unlisted()
	open := theFiles(all.Skipped+all.Partly, v.unlisted())
	switch {
	case all.needEyes() == 0 && n == 0:
		return "nothing; no changed file needs a reviewer's eyes."
	case n == 0:
		return "nothing; every file that needs eyes was inspected."
	case pending:
		return "nothing to do yet; the review is not finished, and this check follows it."
	case len(ran) == 0:
		return "read " + open + " yourself before you merge: no reviewer ran. `" + CheckName + "` says whether that holds the merge up."
	}
	return "look at " + open + ": nobody inspected " + ifOne(n, "it", "them") + " whole. `" + CheckName + "` says whether that holds the merge up."
}

// theFiles are those that somebody has to look at: listed in the map, and not.
func theFiles(listed, unlisted int) string {
	switch {
	case listed+unlisted == 0:
		return ""
	case unlisted == 0:
		return "the " + ifOne(listed, "file", count(listed)+" files") + " below"
	case listed == 0:
		return "the " + ifOne(unlisted, "changed file that is", count(unlisted)+" changed files that are") + " not listed here"
	}
	return "the " + ifOne(listed, "file", count(listed)+" files") + " below and the " + ifOne(unlisted, "one that is", count(unlisted)+" that are") + " not listed here"
}

// mapSection is the map of one pull request of so many: totals first, then what needs
// eyes, then the rest.
func mapSection(v View, heading string, sharers int) string {
	m, s := v.files(), scansOf(v)
	head := heading + totals(v, m, s, max(totalsBudget/sharers, leastTotals))
	t := newTable(mapBudget/sharers - len(head) - afterTable)
	var harmless []FileRow
	left := m.Left
	for _, r := range m.Rows {
		switch {
		case r.class() == classExempt:
			harmless = append(harmless, r)
		case t.full || !t.row(rowCells(v, s, r)):
			left.add(r)
		}
	}
	f := newTable(min(harmlessBudget/sharers, t.budget-t.size()))
	folded := 0
	for _, r := range harmless {
		if f.full || !f.row(rowCells(v, s, r)) {
			left.add(r)
		} else {
			folded++
		}
	}
	var b strings.Builder
	b.WriteString(head + t.string())
	if n := left.files(); n > 0 {
		b.WriteString("\n" + plural(n, "more file is", "more files are") + " not shown: " + left.words() + ifSome(". ", recapLink(v, "All of them")) + "\n")
	}
	if folded > 0 {
		title := count(folded)
		if folded < m.All.Exempt {
			title += " of " + count(m.All.Exempt)
		}
		b.WriteString("\n" + fold("Files that need none ("+title+")", f.string()))
	}
	return b.String()
}

// totals are the counts, and what holds for every row.
func totals(v View, m FileMap, s scans, budget int) string {
	l := newLines(budget)
	words := m.All.words()
	if words == "" {
		words = "no file is listed"
	}
	l.add("- " + words)
	if n := v.unlisted(); n > 0 {
		l.add("- " + plural(n, "changed file is", "changed files are") + " not listed: nothing is known of " + ifOne(n, "it", "them"))
	}
	ran, _ := reviewersOf(v)
	if len(ran) == 0 {
		l.add("- reviewers: none; " + prose(whyNotReviewed(v)))
	}
	if text := legend(s); text != "" {
		l.add("- " + text)
	}
	for _, g := range v.Evidence.ScanGaps {
		if l.skip() {
			continue
		}
		l.add("- " + code(g.Rule) + ": " + gapWords(g))
	}
	return l.string("") + "\n"
}

// legend says what "scanned" means in the rows.
func legend(s scans) string {
	var did []string
	for _, r := range lineRules() {
		for _, have := range s.ran {
			if have == r.rule {
				did = append(did, r.words)
			}
		}
	}
	if len(did) == 0 {
		return "scanners: nothing is known of what they looked at"
	}
	return "*scanned*: added lines were searched, without a model, for " + join(did, "and")
}

// gapWords says how much a rule did not look at. The rows name the files.
func gapWords(g review.ScanGap) string {
	s := g.Intro()
	for _, p := range g.Places {
		if p.Path == "" {
			s += ": " + prose(p.Why)
			break
		}
	}
	if n := g.Unnamed(len(g.Places)); n > 0 {
		s += "; " + plural(n, "of them is", "of them are") + " not named"
	}
	return s
}

// rowCells are a file's cells: path, kinds, state, who looked, note.
func rowCells(v View, s scans, r FileRow) []string {
	name := code(r.Path)
	if r.Previous != "" {
		name = code(r.Previous) + " → " + name
	}
	var kinds []string
	for _, k := range r.Kinds.List() {
		kinds = append(kinds, k.String())
	}
	notes := nonEmpty(prose(oneLine(r.Note)), s.notLooked(r.Path))
	return []string{name, strings.Join(kinds, ", "), stateWords(r), lookedBy(v, s, r), strings.Join(notes, "; ")}
}

func stateWords(r FileRow) string {
	switch {
	case r.class() == classExempt:
		return "needs none"
	case r.class() == classInspected:
		return "inspected"
	case r.class() == classPartly:
		return "**partially**"
	case r.Why == review.SkipUnfit:
		return "**not inspected**: too large to be given"
	case r.Why == review.SkipOmitted:
		return "**not inspected**: given, not accounted for"
	}
	return "**not inspected**"
}

// lookedBy names the reviewers that looked at a file, and what it was scanned for.
func lookedBy(v View, s scans, r FileRow) string {
	var who []string
	if r.State == review.FileInspected || r.State == review.FilePartiallyInspected {
		names := r.By
		if len(names) == 0 {
			ran, _ := reviewersOf(v)
			for _, x := range ran {
				names = appendNew(names, x.Model)
			}
		}
		if len(names) > 0 {
			who = append(who, modelWords(names))
		}
	}
	if text := s.looked(r); text != "" {
		who = append(who, text)
	}
	if len(who) == 0 {
		return "nobody"
	}
	return strings.Join(who, "; ")
}

// fileTable gathers rows within a byte budget.
type fileTable struct {
	b      strings.Builder
	budget int
	full   bool
}

const tableHead = "| File | Kinds | State | Who looked | Note |\n|---|---|---|---|---|\n"

func newTable(budget int) *fileTable { return &fileTable{budget: budget} }

// row takes a row, or answers that nothing more fits: what is shown is always the
// beginning.
func (t *fileTable) row(cells []string) bool {
	line := "| " + strings.Join(cells, " | ") + " |\n"
	if t.full || t.b.Len()+len(line)+len(tableHead) > t.budget {
		t.full = true
		return false
	}
	t.b.WriteString(line)
	return true
}

func (t *fileTable) size() int { return t.b.Len() }

func (t *fileTable) string() string {
	if t.b.Len() == 0 {
		return ""
	}
	return tableHead + t.b.String()
}
