package scan

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rhysd/actionlint"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// workflow is one changed workflow, before and after.
type workflow struct {
	src      *source
	now, old *actionlint.Workflow // nil where there is none, or none that can be read
	added    map[int]bool         // the lines that the patch adds
	report   func(Finding)
}

// workflows looks at a whole changed workflow for what the patch brings into it.
// What is the matter with a line that the patch leaves alone, and was before, is
// not the patch's.
func (s *scanner) workflows(src *source, report func(Finding)) (why string) {
	if src.gap != "" {
		return "" // said already
	}
	text, old, ok := src.texts()
	if !ok {
		return "the whole workflow was not given"
	}
	w, why := s.openWorkflow(src, text, old, report)
	if why != "" {
		return why
	}
	defer func() {
		if recover() != nil {
			why = "actionlint could not look at it" // its panic may hold source text
		}
	}()
	var faults, before []*actionlint.Error
	w.now, faults = lint(src.path, text)
	if risk.IsWorkflowPath(src.file.OldPath) {
		w.old, before = lint(src.path, old)
	}
	if len(faults) > maxFaults {
		faults, why = faults[:maxFaults], fmt.Sprintf("only %d of its faults were looked at", maxFaults)
	}
	w.faults(faults, before)
	if w.now != nil {
		w.actions(s.patch.Repo)
		w.permissions()
		w.checkouts()
	}
	return cmp.Or(s.late(), why)
}

// openWorkflow begins with a workflow or a composite action, unless it is too much
// or its lines cannot be told.
func (s *scanner) openWorkflow(src *source, text, old string, report func(Finding)) (w *workflow, why string) {
	switch {
	case len(text) > s.lim.WorkflowBytes || len(old) > s.lim.WorkflowBytes:
		return nil, fmt.Sprintf("over the limit of %d bytes for a workflow", s.lim.WorkflowBytes)
	case work(text) > maxWork || work(old) > maxWork:
		return nil, "its YAML aliases make it too large"
	case s.workflowCount >= s.lim.Workflows:
		return nil, fmt.Sprintf("over the limit of %d workflows", s.lim.Workflows)
	}
	w = &workflow{src: src, added: map[int]bool{}, report: report}
	if why := w.strangeBreaks(); why != "" {
		return nil, why
	}
	s.workflowCount++
	s.concealWhole(src, len(text))
	for l := range src.added(s.ctx) {
		w.added[l.no] = true
	}
	return w, ""
}

// maxFaults bounds what one workflow can make us say, and look for in its blocks.
const maxFaults = 1000

// maxWork bounds size times repetition. Aliases of jobs, of their steps and of
// these steps' values multiply what is written once: three levels.
const maxWork = 16 << 20

var alias = regexp.MustCompile(`(?m)(?:^|[\s,\[{])\*[^\s,\]}*]`)

// work estimates how much a workflow is once its aliases are followed.
func work(text string) float64 {
	return float64(len(text)) * math.Pow(1+float64(len(alias.FindAllStringIndex(text, -1)))/3, 3)
}

// concealWhole searches a workflow's unchanged lines for secrets, too: faults
// name what stands elsewhere in the file.
func (s *scanner) concealWhole(src *source, size int) {
	leaks, err := detector()
	if err != nil || s.credentialBytes+size > s.lim.CredentialBytes {
		src.searched = false
		return
	}
	s.credentialBytes += size
	for c := range chunks(s, src, func(line) bool { return true }) {
		for _, found := range leaks.detect(s.ctx, src.path, c.text) {
			src.conceal(found)
		}
	}
	src.searched = src.searched && s.ctx.Err() == nil
}

// lint reads a workflow and applies actionlint's rules to it: those that need
// neither a process nor a file, nor a list of other people's actions or runners
// that is older than they are.
func lint(path, text string) (*actionlint.Workflow, []*actionlint.Error) {
	w, faults := actionlint.Parse([]byte(text))
	if w == nil {
		return nil, faults
	}
	actions := actionlint.NewLocalActionsCache(nil, nil)
	called := actionlint.NewLocalReusableWorkflowCache(nil, "", nil)
	rules := []actionlint.Rule{
		actionlint.NewRuleMatrix(), actionlint.NewRuleCredentials(), actionlint.NewRuleShellName(), actionlint.NewRuleEvents(),
		actionlint.NewRuleJobNeeds(), actionlint.NewRuleEnvVar(), actionlint.NewRuleID(), actionlint.NewRuleGlob(),
		actionlint.NewRulePermissions(), actionlint.NewRuleWorkflowCall(path, called), actionlint.NewRuleExpression(actions, called),
		actionlint.NewRuleDeprecatedCommands(), actionlint.NewRuleIfCond(),
	}
	v := actionlint.NewVisitor()
	for _, r := range rules {
		v.AddPass(r)
	}
	if err := v.Visit(w); err != nil {
		return w, faults
	}
	for _, r := range rules {
		faults = append(faults, r.Errs()...)
	}
	slices.SortStableFunc(faults, func(a, b *actionlint.Error) int { // jobs are visited in no order
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Kind, b.Kind), strings.Compare(a.Message, b.Message))
	})
	return w, faults
}

var unknownScope = regexp.MustCompile(`^unknown permission scope "([a-z-]+)"`)

var untrustedName = regexp.MustCompile(`^"(github\.[a-zA-Z0-9_.*-]{1,80})" is potentially untrusted`)

// faults reports what actionlint finds on added lines, and elsewhere what it did
// not find before: a changed trigger or name makes faults in lines that stay.
func (w *workflow) faults(now, before []*actionlint.Error) {
	known := map[string]int{}
	for _, e := range before {
		known[e.Kind+e.Message]++
	}
	seen, times := map[string]bool{}, map[string]int{}
	for _, e := range now {
		if m := unknownScope.FindStringSubmatch(e.Message); m != nil && slices.Contains(scopes(), m[1]) {
			continue // GitHub has it since
		}
		key := e.Kind + e.Message
		at := strconv.Itoa(e.Line) + key
		no := w.exactly(e, times[at])
		times[at]++
		if !w.added[no] && known[key] > 0 {
			known[key]--
			continue
		}
		place := strconv.Itoa(no) + key
		if seen[place] { // an alias repeats them
			continue
		}
		seen[place] = true
		if e.Kind == "expression" && strings.Contains(e.Message, "potentially untrusted") {
			f := w.finding(RuleUntrustedInput, no, High, "Text that anyone may write becomes a part of a script")
			if m := untrustedName.FindStringSubmatch(e.Message); m != nil {
				f.Title += ": " + m[1]
			}
			f.Why = "The expression is replaced before the shell reads the script, so a title, a branch name or a comment can hold commands, which run with the job's token and secrets."
			f.Do = "Give the value to the step as an environment variable and use that, quoted, in the script."
			w.report(f)
			continue
		}
		f := w.finding(RuleWorkflowFault, no, Medium, "The workflow has a fault: "+e.Kind)
		if detail := w.src.show(e.Message, maxDetail); detail != "" {
			f.Title += ": " + strings.TrimRight(detail, ".")
		}
		f.Why = "GitHub refuses the workflow or a part of it, or runs something else than was meant; a check that it should report may never come."
		f.Do = "Correct the line; actionlint says the same on a developer's machine."
		w.report(f)
	}
}

var (
	quoted     = regexp.MustCompile(`"([^"]+)"`)
	blockStart = regexp.MustCompile(`[:\-]\s+(?:&\S+\s+)?[|>][-+0-9]*\s*(?:#.*)?$`)
)

// exactly returns the line of a fault. Of what is written in a block actionlint
// names the line at which the block begins, so the name that it complains of is
// looked for, and the nth fault of the kind at its nth place. Where it is not found,
// the first line that the patch adds to the block stands for it.
func (w *workflow) exactly(e *actionlint.Error, nth int) int {
	head, ok := w.src.at(e.Line)
	if !ok || !blockStart.MatchString(strings.TrimRight(head.text[max(0, len(head.text)-200):], "\r")) {
		return e.Line
	}
	name := ""
	if m := quoted.FindStringSubmatch(e.Message); m != nil {
		name = strings.ToLower(m[1])
	}
	first, indent := 0, indentOf(head.text)
	if strings.HasPrefix(strings.TrimLeft(head.text, " "), "- ") {
		indent++ // the key stands behind the dash
	}
	for no := e.Line + 1; ; no++ {
		l, ok := w.src.at(no)
		if !ok || strings.TrimSpace(l.text) != "" && indentOf(l.text) <= indent {
			break
		}
		if l.added && first == 0 {
			first = no
		}
		if name == "" {
			continue
		}
		n := strings.Count(strings.ToLower(l.text), name)
		if nth < n {
			return no
		}
		nth -= n
	}
	if first > 0 {
		return first
	}
	return e.Line
}

// finding begins a finding at a line of the workflow. Only an added line is quoted.
func (w *workflow) finding(rule string, no int, severity Severity, title string) Finding {
	f := Finding{Rule: rule, Path: w.src.path, Side: diff.Right, Line: no, Severity: severity, Title: title}
	if l, ok := w.src.at(no); ok && l.added {
		f.Quote = l.text
	}
	return f
}

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// lineOf is the line of a string, 0 where actionlint does not know.
func lineOf(s *actionlint.String) int {
	if s == nil || s.Pos == nil {
		return 0
	}
	return s.Pos.Line
}
