package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// what kind of statement an entry is.
type entryKind uint8

const (
	aPackage  entryKind = iota // a dependency, by name
	aRegistry                  // where dependencies are looked for
	aReplace                   // one dependency taken for another
	aScript                    // what runs when dependencies are installed
	aTool                      // the program that installs or builds
)

// entry is what a manifest, a lock file or a setting says at one place.
type entry struct {
	kind    entryKind
	name    string // by which it is known before and after
	show    string // for people, where name is not for them
	version string
	from    origin
	file    string // the address or file name that is fetched, where it is told
	sums    []sum  // of the content
	script  bool   // it runs something when it is installed

	at            line // where it begins
	fromAt, scrAt line // where these are said, if apart
	changed       bool // the patch adds a part of it, or takes one away
}

// sum is a checksum, its algorithm before a ":", "-" or "/", and where it stands.
type sum struct {
	text string
	at   line
}

func (e *entry) sum(at line, texts ...string) {
	for _, t := range texts {
		e.sums = append(e.sums, sum{t, at})
	}
}

func (e *entry) has(text string) bool {
	return slices.ContainsFunc(e.sums, func(s sum) bool { return s.text == text })
}

// covers reports whether all checksums of the other one are still there.
func (e *entry) covers(o entry) bool {
	return !slices.ContainsFunc(o.sums, func(s sum) bool { return !e.has(s.text) })
}

func (e *entry) hasAlgorithm(alg string) bool {
	return slices.ContainsFunc(e.sums, func(s sum) bool { return algorithm(s.text) == alg })
}

// listed is what one side of a file says. Names that are not shown are those of
// the run, so a name is unique in a file.
type listed struct {
	entries []entry
	maybe   []line // a dependency each, or not: the text does not tell
	why     string // what the patch adds was not all understood
}

func (l *listed) add(e entry) { l.entries = append(l.entries, e) }

// unread says why something that the patch adds was not understood.
func (l *listed) unread(why string) {
	if l.why == "" {
		l.why = why
	}
}

// format reads one side of a file.
type format func(runs [][]line, whole bool) listed

// dependencies answers the rule dependency-change for one file: what it says
// before and after are compared, entry by entry.
func (s *scanner) dependencies(src *source, report func(Finding)) (why string) {
	read := formatOf(src.path)
	if read == nil {
		if touches(src.file) {
			return "files of its kind are not read for dependencies"
		}
		return ""
	}
	old, now := src.sides()
	if size := sizeOf(old) + sizeOf(now); size > s.lim.DependencyBytes {
		return fmt.Sprintf("over the limit of %d bytes for a file with dependencies", s.lim.DependencyBytes)
	}
	if src.file.Op == diff.Renamed || src.file.Op == diff.Copied {
		if formatOf(src.file.OldPath) == nil || !risk.IsDependencyPath(src.file.OldPath) {
			if !src.whole {
				return "it was no file with dependencies before, and all of it was not given"
			}
			old, now = nil, allNew(now)
		}
	}
	c := comparison{scanner: s, src: src, report: report, old: read(old, src.whole), now: read(now, src.whole)}
	c.compare()
	return cmp.Or(s.late(), c.why, c.now.why)
}

// gone looks at a file with settings that is deleted: what it set is no longer so.
func (s *scanner) gone(f diff.File) {
	read := formatOf(f.Path())
	if f.Op != diff.Deleted || read == nil || !risk.IsDependencyPath(f.Path()) {
		return
	}
	src := &source{file: f, path: f.Path()}
	old, _ := src.sides()
	if f.Unseen() || sizeOf(old) > s.lim.DependencyBytes {
		s.gap(risk.RuleDependencyChange, f.Path(), "the patch does not show all of its lines")
		return
	}
	var found []Finding
	c := comparison{scanner: s, src: src, report: func(f Finding) { found = append(found, f) }, old: read(old, false)}
	c.removed()
	s.keep(src, found)
}

func sizeOf(runs [][]line) int {
	n := 0
	for _, run := range runs {
		for _, l := range run {
			n += len(l.text) + 1
		}
	}
	return n
}

func allNew(runs [][]line) [][]line {
	for i, run := range runs {
		runs[i] = slices.Clone(run)
		for j := range runs[i] {
			runs[i][j].added = true
		}
	}
	return runs
}

// touches reports whether lines change that are not blank.
func touches(f diff.File) bool {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.Op != diff.ContextLine && strings.TrimSpace(l.Text) != "" {
				return true
			}
		}
	}
	return len(f.Hunks) == 0 && f.OldBlob != f.NewBlob
}

// comparison holds what a file says now against what it said.
type comparison struct {
	*scanner
	src      *source
	report   func(Finding)
	old, now listed
	byName   map[string][]entry
	said     int // findings
	why      string
}

func (e entry) id() string { return string(rune('a'+e.kind)) + e.name }

func (c *comparison) compare() {
	c.byName = map[string][]entry{}
	for _, e := range c.old.entries {
		c.byName[e.id()] = append(c.byName[e.id()], e)
	}
	for i, e := range c.now.entries {
		if i&255 == 0 && c.ctx.Err() != nil {
			return
		}
		if e.changed {
			c.entry(e, c.byName[e.id()])
		}
	}
	for _, m := range c.now.maybe {
		if m.added && !slices.ContainsFunc(c.old.maybe, func(o line) bool { return strings.TrimSpace(o.text) == strings.TrimSpace(m.text) }) {
			c.why = "the patch does not show whether a list that grows is one of dependencies"
			break
		}
	}
	c.removed()
}

// removed reports registries that are no longer named: another one is asked now.
func (c *comparison) removed() {
	left := map[string]bool{}
	for _, e := range c.now.entries {
		left[e.id()] = true
	}
	for _, e := range c.old.entries {
		if e.kind == aRegistry && e.changed && !left[e.id()] {
			c.say(e, e.at, diff.Left, "a registry setting is taken out", e.label(), "")
		}
	}
}

// entry reports what is dangerous about one entry that the patch adds or changes.
func (c *comparison) entry(e entry, olds []entry) {
	switch e.kind {
	case aPackage, aTool:
		c.pkg(e, olds)
		return
	case aRegistry, aReplace, aScript:
	}
	if slices.ContainsFunc(olds, func(o entry) bool { return o.version == e.version && o.from == e.from }) {
		return
	}
	switch {
	case e.kind == aRegistry:
		c.say(e, e.at, diff.Right, "another registry or source of packages", e.label(), "")
	case e.kind == aReplace && len(olds) > 0 && sameOrigin(olds, e.from) && !e.from.direct:
		return // another version of the same replacement
	case e.kind == aReplace:
		c.say(e, e.at, diff.Right, "a dependency is replaced:", e.label(), "")
	default:
		c.say(e, e.at, diff.Right, "install script added or changed:", e.label(), "")
	}
}

func sameOrigin(olds []entry, from origin) bool {
	return slices.ContainsFunc(olds, func(o entry) bool { return o.from == from })
}

func (c *comparison) pkg(e entry, olds []entry) {
	if e.from.local && !e.from.direct {
		return // a part of this repository: its code is in the patch, or was there
	}
	if len(olds) == 0 {
		if strings.HasPrefix(e.name, "?") { // its name is not shown
			c.unnamed(e)
			return
		}
		c.say(e, e.at, diff.Right, "new dependency", e.label(), " from "+e.from.String())
		if e.script {
			c.say(e, e.scrAt, diff.Right, "install script added:", e.label(), "")
		}
		return
	}
	var same []entry
	for _, o := range olds {
		if o.from == e.from {
			same = append(same, o)
		}
	}
	switch {
	case len(same) == 0:
		c.say(e, e.fromAt, diff.Right, "dependency", e.label(), " now comes from "+e.from.String())
	case e.from.direct && !e.from.local && !slices.ContainsFunc(same, func(o entry) bool { return o.version == e.version }):
		c.say(e, e.fromAt, diff.Right, "dependency", e.label(), " moves to other code of "+e.from.String())
	default:
		c.content(e, same)
	}
	if e.script && !slices.ContainsFunc(olds, func(o entry) bool { return o.script }) {
		c.say(e, e.scrAt, diff.Right, "install script added:", e.label(), "")
	}
}

// unnamed is an entry of which no part was there before and whose name the hunk
// does not show.
func (c *comparison) unnamed(e entry) {
	if e.script {
		c.say(e, e.scrAt, diff.Right, "install script added", "", "")
		return
	}
	c.why = "the patch does not show which dependency its lines belong to"
}

// content reports an entry of a version that was there, with other content.
func (c *comparison) content(e entry, olds []entry) {
	var same []entry
	for _, o := range olds {
		if o.version == e.version {
			same = append(same, o)
		}
	}
	if len(same) == 0 {
		return // another version
	}
	had, comparable := false, false
	for _, o := range same {
		had = had || len(o.sums) > 0
		if e.file != "" && o.file != "" && e.file != o.file && e.version != "" {
			c.say(e, e.fromAt, diff.Right, "dependency", e.label(), ", same version, is fetched from another address")
			return
		}
	}
	if !had {
		return
	}
	for _, sum := range e.sums {
		if slices.ContainsFunc(same, func(o entry) bool { return o.has(sum.text) }) {
			comparable = true
			continue
		}
		if !slices.ContainsFunc(same, func(o entry) bool { return o.hasAlgorithm(algorithm(sum.text)) }) {
			continue
		}
		if e.version == "" {
			c.why = "the patch does not show the version of an entry whose checksum changes"
			return
		}
		what := "same version, other content: dependency"
		if !slices.ContainsFunc(same, func(o entry) bool { return len(o.sums) > 0 && !e.covers(o) }) {
			what = "same version, one more file: dependency" // which the registry may hand out instead
		}
		c.say(e, sum.at, diff.Right, what, e.label(), "")
		return
	}
	if len(e.sums) > 0 && !comparable {
		c.why = "checksums of one version are of different kinds before and after"
	}
}

func algorithm(sum string) string {
	if i := strings.IndexAny(sum, "-:/="); i >= 0 {
		return sum[:i]
	}
	return ""
}

func (e entry) label() string { return cmp.Or(e.show, e.name) }

// say reports one danger. Names may be of lines that nobody searched for secrets.
func (c *comparison) say(e entry, at line, side diff.Side, before, label, after string) {
	if at.no == 0 {
		at = e.at
	}
	title := before
	if c.said++; c.said > c.lim.Findings {
		label, after = "", "" // only counted
	}
	if shown := c.safe(c.src, label); shown != "" {
		title += " " + shown
	}
	if shown := c.safe(c.src, after); shown != "" {
		title += sep(shown) + shown
	}
	f := Finding{Rule: risk.RuleDependencyChange, Path: c.src.path, Side: side, Line: at.no, Severity: Medium, Title: capital(title)}
	if side == diff.Right {
		f.Quote = f.Title // a line may hold sums, and addresses with passwords
	}
	f.Why = "What is installed runs with the rights of whoever builds, tests or uses this code, and the patch does not show what it does."
	f.Do = "See who publishes it and what it does, and that the change was meant; if not, take it out."
	c.report(f)
}

// sep is what stands between a name and what is said of it.
func sep(text string) string {
	if text[0] == ',' {
		return ""
	}
	return " "
}

func capital(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}

// safe spells a piece of text for a title. It is searched for secrets by itself,
// since it may be of a line that the patch leaves alone or takes out.
func (s *scanner) safe(src *source, text string) string {
	text = clip(text)
	if text == "" {
		return ""
	}
	leaks, err := detector()
	if err != nil {
		return ""
	}
	for _, found := range leaks.detect(s.ctx, src.path, text) {
		if found.Match != "" {
			text = strings.ReplaceAll(text, found.Match, masked)
		}
	}
	return visible(mask(text, src.masks), maxDetail)
}
