package scan

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// Limits bound one call of Patch. A zero value means the default.
type Limits struct {
	// Bytes bounds the added lines, and the whole files, that are looked at in all.
	Bytes int
	// HiddenBytes bounds the text out of people's sight that is searched for words
	// to a reviewer.
	HiddenBytes int
	// CredentialBytes bounds the added lines that are searched for credentials, at
	// about 3 MB a second.
	CredentialBytes int
	// WorkflowBytes bounds one workflow: a larger one is not looked at.
	WorkflowBytes int
	// DependencyBytes bounds one manifest, lock file or setting, before and after
	// the change together: a larger one is not read for dependencies.
	DependencyBytes int
	// Workflows bounds how many workflows are looked at.
	Workflows int
	// Findings bounds how many findings of one rule are returned; the rest is
	// counted.
	Findings int
}

// WithDefaults returns the limits with defaults for what is not set.
func (l Limits) WithDefaults() Limits {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&l.Bytes, 256<<20)
	def(&l.HiddenBytes, 8<<20)
	def(&l.CredentialBytes, 12<<20)
	def(&l.WorkflowBytes, 128<<10)
	def(&l.DependencyBytes, 16<<20)
	def(&l.Workflows, 200)
	def(&l.Findings, 100)
	return l
}

// Gap is a file that a rule did not look at, or not at all of it.
type Gap struct {
	Rule string `json:"rule"`
	Path string `json:"path"` // empty: files that the patch does not list
	Why  string `json:"why"`
	// Harmless gaps leave the rule's answer as it is: a file that holds no text by
	// its nature. They are named all the same.
	Harmless bool `json:"harmless,omitempty"`
}

// Result is what the scanners say of a patch.
type Result struct {
	Findings []Finding      // worst first
	More     map[string]int // by rule: how many findings there are beyond Limits.Findings
	Gaps     []Gap          // what was not looked at, by rule, in the order of paths
	// Content answers the content rules of risk.Context that this package has a
	// scanner for. The others stay absent, which is unknown.
	Content map[string]risk.ContentFact
}

// contentRules are the rules of Result.Content.
func contentRules() []string {
	return []string{risk.RuleCredential, risk.RuleHiddenCharacters, risk.RuleHiddenText, risk.RuleActionPin,
		risk.RuleDependencyChange, risk.RuleTestsRemoved}
}

// Patch looks at what a patch brings. Files are whole contents at the head, by
// path, for those files whose content the caller has; they make hunks'
// surroundings known. A patch is looked at in the order of its files' sizes, so
// that one huge file takes no other's place.
//
// When ctx ends, the rest is left out and named, as it is over a limit; Patch
// never fails.
func Patch(ctx context.Context, p diff.Patch, files map[string][]byte, lim Limits) Result {
	s := &scanner{ctx: ctx, lim: lim.WithDefaults(), patch: p, more: map[string]int{}, count: map[string]int{}, least: map[string]Severity{},
		hits: map[string][]string{}, open: map[string]bool{}}
	if n := p.Missing(); n > 0 {
		for _, rule := range contentRules() {
			s.gap(rule, "", fmt.Sprintf("%d changed files are not listed", n))
		}
	}
	for _, i := range bySize(p.Files, files) {
		f := p.Files[i]
		if found, ok := deceptivePath(f); ok {
			s.keep(&source{path: f.Path()}, []Finding{found})
		}
		content, given := files[f.Path()]
		if src, ok := newSource(f, content, given); ok {
			s.file(src)
		} else {
			s.gone(f)
			s.goneTests(f)
		}
	}
	s.settleTests()
	return s.result()
}

// bySize orders the files by how much of them there is to look at.
func bySize(files []diff.File, contents map[string][]byte) []int {
	sizes, order := make([]int, len(files)), make([]int, len(files))
	for i, f := range files {
		order[i], sizes[i] = i, len(contents[f.Path()])
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				sizes[i] += len(l.Text) + 1
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	return order
}

// scanner is one call of Patch.
type scanner struct {
	ctx   context.Context
	lim   Limits
	patch diff.Patch

	bytes           int // looked at
	hiddenBytes     int // of them, out of sight
	credentialBytes int // searched for credentials
	workflowCount   int
	tests           []*testTally // by language, in the order in which they were met

	findings []Finding
	more     map[string]int
	count    map[string]int      // findings by rule
	least    map[string]Severity // of the rules whose list is full: the least severity in it
	hits     map[string][]string // by rule: paths with a finding
	open     map[string]bool     // rules with a gap that is not harmless
	gaps     []Gap
}

// look is one scanner: it reports what it finds in a file and says why it did not
// look at all of it, if so.
type look struct {
	rules []string // by which it reports: all of them are open where it did not look
	only  func(path string) bool
	at    func(*scanner, *source, func(Finding)) (why string)
}

// looks are the scanners of lines. Credentials come first: nothing is quoted where
// nobody looked for them.
func looks() []look {
	return []look{
		{[]string{RuleCredential}, nil, (*scanner).credentials},
		{[]string{RuleHiddenCharacters}, nil, (*scanner).hiddenCharacters},
		{[]string{RuleHiddenText}, nil, (*scanner).hiddenText},
		{[]string{RuleConflictMarker}, nil, (*scanner).conflictMarkers},
		{[]string{risk.RuleActionPin}, risk.IsWorkflowPath, (*scanner).actionPins},
		{[]string{risk.RuleDependencyChange}, risk.IsDependencyPath, (*scanner).dependencies},
		{[]string{risk.RuleTestsRemoved}, isTestCode, (*scanner).testChanges},
		{[]string{RuleUnpinnedAction, RulePermissionsWidened, RuleUntrustedCheckout, RuleUntrustedInput, RuleWorkflowFault},
			risk.IsWorkflowPath, (*scanner).workflows},
		{[]string{RuleUnpinnedAction, RuleUntrustedInput}, isActionPath, (*scanner).composites},
	}
}

// late says that the time is over, if it is.
func (s *scanner) late() string {
	if s.ctx.Err() != nil {
		return "the time for scanning was over"
	}
	return ""
}

// file looks at one file with every scanner.
func (s *scanner) file(src *source) {
	var found []Finding
	report := func(f Finding) { found = append(found, f) }

	why := s.refuse(src)
	for _, look := range looks() {
		switch {
		case look.only != nil && !look.only(src.path):
			continue
		case why != "":
			s.skip(look.rules, src.path, why)
			continue
		case src.gap != "":
			for _, rule := range look.rules {
				s.gaps = append(s.gaps, Gap{Rule: rule, Path: src.path, Why: src.gap, Harmless: src.media})
				s.open[rule] = s.open[rule] || !src.media
			}
		}
		if cut := look.at(s, src, report); cut != "" {
			s.skip(look.rules, src.path, cut)
		}
	}
	s.keep(src, found)
}

// refuse says why a file is not looked at, or charges the budget for it.
func (s *scanner) refuse(src *source) string {
	if why := s.late(); why != "" {
		return why
	}
	size := src.size()
	if s.bytes+size > s.lim.Bytes {
		return fmt.Sprintf("over the limit of %d bytes for scanning", s.lim.Bytes)
	}
	s.bytes += size
	return ""
}

func (s *scanner) skip(rules []string, path, why string) {
	for _, rule := range rules {
		s.gap(rule, path, why)
	}
}

func (s *scanner) gap(rule, path, why string) {
	s.gaps = append(s.gaps, Gap{Rule: rule, Path: path, Why: why})
	s.open[rule] = true
}

// keep takes the findings of a file, worst first, as far as the limit goes.
func (s *scanner) keep(src *source, found []Finding) {
	sortFindings(found)
	for _, f := range found {
		if f.Rule == RuleCredential && f.Severity < Critical {
			s.open[f.Rule] = true // it looks like one, and nobody knows
		} else if f.Rule == RuleHiddenCharacters && f.Severity < High {
			// A stray one in prose: worth a look, and no reason to call people.
		} else if hits := s.hits[f.Rule]; len(hits) == 0 || hits[len(hits)-1] != f.Path {
			s.hits[f.Rule] = append(hits, f.Path)
		}
		if s.count[f.Rule]++; s.count[f.Rule] > s.lim.Findings {
			s.more[f.Rule]++
			if f.Severity <= s.least[f.Rule] {
				continue
			}
			s.drop(f.Rule, s.least[f.Rule])
		}
		f.Quote = src.show(f.Quote, maxQuote)
		s.findings = append(s.findings, f)
		if s.count[f.Rule] >= s.lim.Findings {
			s.least[f.Rule] = s.leastOf(f.Rule)
		}
	}
}

// drop makes room for a graver finding: who fills the list with small ones must
// not push it out.
func (s *scanner) drop(rule string, severity Severity) {
	at := slices.IndexFunc(s.findings, func(f Finding) bool { return f.Rule == rule && f.Severity == severity })
	if at >= 0 {
		s.findings = slices.Delete(s.findings, at, at+1)
	}
}

// leastOf is the least severity among the findings of a rule.
func (s *scanner) leastOf(rule string) Severity {
	least := Critical
	for _, f := range s.findings {
		if f.Rule == rule {
			least = min(least, f.Severity)
		}
	}
	return least
}

func (s *scanner) result() Result {
	sortFindings(s.findings)
	slices.SortStableFunc(s.gaps, func(a, b Gap) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule)) })
	r := Result{Findings: s.findings, More: s.more, Gaps: s.gaps, Content: map[string]risk.ContentFact{}}
	for _, rule := range contentRules() {
		r.Content[rule] = s.fact(rule)
	}
	return r
}

// fact is a content rule's answer: a finding is a yes, whatever was not looked at.
func (s *scanner) fact(rule string) risk.ContentFact {
	switch hits := s.hits[rule]; {
	case len(hits) > 0:
		slices.Sort(hits)
		return risk.ContentFact{State: risk.Yes, Files: slices.Compact(hits)}
	case s.open[rule]:
		return risk.ContentFact{State: risk.Unknown}
	}
	return risk.ContentFact{State: risk.No}
}
