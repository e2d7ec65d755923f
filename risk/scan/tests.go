package scan

import (
	"slices"
	"strings"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// testMark is a test that a file declares, as far as the hunks show it.
type testMark struct {
	name    string // empty where a mark stands above the test
	path    string
	at      line
	skipped bool // by a line that is as new, or as old, as the test
	gone    bool // with its whole file, which package risk reports
}

// skipMark is a line that makes tests not run.
type skipMark struct {
	at    line
	owner int // the test that it is for, -1 where that is not shown
	alone bool
}

// testTally gathers the tests of one language over the whole patch: one that
// moves to another file is not removed.
type testTally struct {
	lang           *testLanguage
	removed, added []testMark
}

// isTestCode reports whether a file may hold tests that can be read.
func isTestCode(p string) bool {
	lang := testLanguageOf(p)
	return lang != nil && (lang.anywhere || risk.IsTestCodePath(p))
}

// testChanges answers the rule tests-removed for one file, as far as package risk does
// not: what is skipped is reported here, what is removed when all files were seen.
func (s *scanner) testChanges(src *source, report func(Finding)) (why string) {
	lang := testLanguageOf(src.path)
	old, now := src.sides()
	var before, after []testMark
	var lifted []string // skips that are taken out
	var set []skipMark
	for i := range now {
		if s.ctx.Err() != nil {
			return s.late()
		}
		a, x := lang.read(old[i], src.path)
		b, y := lang.read(now[i], src.path)
		for _, k := range x {
			if k.at.added {
				lifted = append(lifted, strings.TrimSpace(k.at.text))
			}
		}
		for _, k := range y {
			if k.at.added {
				if k.owner >= 0 {
					k.owner += len(after)
				}
				set = append(set, k)
			}
		}
		before, after = append(before, a...), append(after, b...)
	}
	if src.file.Op != diff.Added {
		skipped := reportSkips(src, before, after, lifted, set, report)
		for i, m := range before {
			before[i].skipped = m.skipped || skipped[m.name] // said once
		}
	}
	s.tally(lang, before, after, false)
	return s.late()
}

// tally keeps what is taken out and what is brought in. A test that does not run
// is none.
func (s *scanner) tally(lang *testLanguage, before, after []testMark, gone bool) {
	i := slices.IndexFunc(s.tests, func(t *testTally) bool { return t.lang == lang })
	if i < 0 {
		i = len(s.tests)
		s.tests = append(s.tests, &testTally{lang: lang})
	}
	t := s.tests[i]
	for _, m := range before {
		if m.at.added && !m.skipped {
			m.gone = gone
			t.removed = append(t.removed, m)
		}
	}
	for _, m := range after {
		if m.at.added && !m.skipped {
			t.added = append(t.added, m)
		}
	}
}

// read finds the tests and the skips of a run of lines.
func (lang *testLanguage) read(run []line, path string) (tests []testMark, skips []skipMark) {
	texts := make([]string, len(run))
	for i, l := range run {
		if texts[i] = strings.TrimSpace(l.text); len(texts[i]) > 1<<10 {
			texts[i] = texts[i][:1<<10]
		}
	}
	at := map[int]int{} // the line of a test to its index
	for i, text := range texts {
		if strings.HasPrefix(text, lang.comment) && !strings.HasPrefix(text, "#[") {
			continue
		}
		if m := lang.declares.FindStringSubmatch(text); m != nil {
			at[i] = len(tests)
			tests = append(tests, testMark{name: strings.Join(m[1:], ""), path: path, at: run[i]})
		}
	}
	for i, text := range texts {
		if strings.HasPrefix(text, lang.comment) && !strings.HasPrefix(text, "#[") {
			continue
		}
		alone := lang.alone != nil && lang.alone.MatchString(text)
		if !alone && !lang.skips.MatchString(text) {
			continue
		}
		k := skipMark{at: run[i], owner: lang.owner(texts, at, i), alone: alone}
		if k.owner >= 0 && tests[k.owner].at.added == run[i].added && !alone {
			tests[k.owner].skipped = true
		}
		skips = append(skips, k)
	}
	return tests, skips
}

// ownerLines is how far a skip is looked for from its test.
const ownerLines = 40

// owner returns the index of the test that the skip at line i is for, -1 where it
// is not shown.
func (lang *testLanguage) owner(texts []string, at map[int]int, i int) int {
	if n, ok := at[i]; ok {
		return n
	}
	if lang.above != nil && lang.above.MatchString(texts[i]) {
		for j := i - 1; j >= 0 && i-j < ownerLines && lang.above.MatchString(texts[j]); j-- {
			if n, ok := at[j]; ok {
				return n
			}
		}
		for j := i + 1; j < len(texts) && j-i < ownerLines; j++ {
			if n, ok := at[j]; ok {
				return n
			}
		}
		return -1
	}
	for j := i - 1; j >= 0 && i-j < ownerLines; j-- {
		if n, ok := at[j]; ok {
			return n
		}
	}
	return -1
}

// reportSkips reports skips that the patch adds to tests which were there, and
// returns the names of those that it writes anew.
func reportSkips(src *source, before, after []testMark, lifted []string, set []skipMark, report func(Finding)) map[string]bool {
	anew := map[string]bool{}
	was := map[string]bool{}
	for _, m := range before {
		was[m.name] = was[m.name] || m.at.added && m.name != ""
	}
	for _, k := range set {
		if i := slices.Index(lifted, strings.TrimSpace(k.at.text)); i >= 0 {
			lifted = slices.Delete(lifted, i, i+1) // it moved
			continue
		}
		if k.owner >= 0 && !k.alone {
			test := after[k.owner]
			if test.at.added && !was[test.name] {
				continue // a new test
			}
			if test.at.added {
				anew[test.name] = true
			}
		}
		if len(lifted) > 0 && !k.alone {
			lifted = lifted[1:] // it is written in another way
			continue
		}
		f := Finding{Rule: risk.RuleTestsRemoved, Path: src.path, Side: diff.Right, Line: k.at.no, Severity: Medium, Quote: k.at.text,
			Title: "A test is skipped",
			Why:   "What the test guards is no longer looked at, and the check that runs it stays green.",
			Do:    "Make the test pass, or say in the pull request why it must not run and when it will again."}
		if k.alone {
			f.Title = "Only some tests run"
			f.Why = "All tests without the mark are left out, and the check that runs them stays green."
			f.Do = "Take the mark out; it is meant for a developer's machine."
		}
		report(f)
	}
	return anew
}

// goneTests takes the tests of a deleted file, some of which may have moved.
func (s *scanner) goneTests(f diff.File) {
	if f.Op != diff.Deleted || !isTestCode(f.Path()) || s.ctx.Err() != nil {
		return
	}
	lang := testLanguageOf(f.Path())
	for _, h := range f.Hunks {
		run, _ := hunkSides(h)
		before, _ := lang.read(run, f.Path())
		s.tally(lang, before, nil, true)
	}
}

// settleTests reports the tests that are removed without as many added. One of
// the same name has moved; then one in the same file, and then any other, is taken
// for the same one under another name.
func (s *scanner) settleTests() {
	for _, t := range s.tests {
		removed, left := t.removed, t.added
		for _, key := range []func(testMark) string{
			func(m testMark) string { return m.path + "\x00" + m.name },
			func(m testMark) string { return m.name },
			func(m testMark) string { return m.path },
			func(m testMark) string {
				if m.gone {
					return m.path // no test that is added has it
				}
				return ""
			},
		} {
			removed, left = pairOff(removed, left, key)
		}
		for _, m := range removed {
			if m.gone {
				continue
			}
			src := &source{path: m.path}
			f := Finding{Rule: risk.RuleTestsRemoved, Path: m.path, Side: diff.Left, Line: m.at.no, Severity: Medium,
				Title: "A test is removed",
				Why:   "What the test guards is no longer looked at, and the check that runs the others stays green.",
				Do:    "Keep the test, or say in the pull request what makes it superfluous."}
			if s.count[f.Rule] < s.lim.Findings {
				if name := s.safe(src, m.name); name != "" {
					f.Title += ": " + name
				}
			}
			s.keep(src, []Finding{f})
		}
	}
}

// pairOff takes out of both lists, in order, what has the same key.
func pairOff(removed, added []testMark, key func(testMark) string) (left, over []testMark) {
	waiting := map[string]int{}
	for _, m := range added {
		waiting[key(m)]++
	}
	taken := map[string]int{}
	for _, m := range removed {
		if k := key(m); waiting[k] > 0 {
			waiting[k]--
			taken[k]++
			continue
		}
		left = append(left, m)
	}
	for _, m := range added {
		if k := key(m); taken[k] > 0 {
			taken[k]--
			continue
		}
		over = append(over, m)
	}
	return left, over
}
