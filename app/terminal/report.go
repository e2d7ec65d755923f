package terminal

import (
	"slices"

	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// Format names the shape of a Report. A change that a reader of the old shape
// would trip over gets the next number.
const Format = "countersign-review/1"

// Report is what the gates said of one change: what `countersign review --json`
// prints, as one object.
type Report struct {
	// Format is the constant Format.
	Format string `json:"format"`
	Source Source `json:"source"`

	// Tier is the risk: low, medium, high or critical. Floor is the highest floor
	// of a rule; the tier is one step above it where something raised it.
	Tier  string `json:"tier"`
	Floor string `json:"floor"`
	// Decision is that of the rules which can be answered here: blocked,
	// changes_requested, needs_human or approved. Approved means that none of them
	// stands against the change; Open lists what is still to be answered.
	Decision string `json:"decision"`
	// Conclusion is the check run that would follow: success, neutral, failure or
	// action_required. The exit code is 0 for the first two and 1 for the others.
	Conclusion string `json:"conclusion"`
	// Review is what reviewers concluded; not_run where no model was called, with
	// the reason in ReviewReason.
	Review       string `json:"review"`
	ReviewReason string `json:"review_reason,omitempty"`

	// Rules are the gate's rules that decided, Open those that hold and cannot be
	// answered here.
	Rules []Rule `json:"rules"`
	Open  []Rule `json:"open"`
	// Signals are the reasons for the tier, worst first.
	Signals  []Signal  `json:"signals"`
	Files    []File    `json:"files"`
	Findings []Finding `json:"findings"`
	// FindingsNotListed counts, by rule, what is beyond the limit.
	FindingsNotListed map[string]int `json:"findings_not_listed,omitempty"`
	// ResidualRisks are risks that stay and decide nothing.
	ResidualRisks []string `json:"residual_risks"`
	// Unanswered are risk rules that apply and that no scanner could answer.
	Unanswered []string `json:"unanswered"`
	// Notes are remarks on what was looked at, such as files that git does not
	// track.
	Notes []string `json:"notes,omitempty"`

	// Patch is the patch identity, the same for the same change on any head.
	Patch          string `json:"patch"`
	Policy         string `json:"policy"`
	PolicyRevision string `json:"policy_revision"`

	view publish.View
	// searched: the scanners looked at everything, and all they found is listed.
	searched bool
}

// pullRequest is the kind of source of which CI and purpose are known.
const pullRequest = "pull_request"

// Source says what was looked at.
type Source struct {
	// Kind is range, diff or pull_request.
	Kind string `json:"kind"`
	// Name is a path, a file's name or an address, for people.
	Name string `json:"name"`
	// Base, MergeBase and Head are commit ids; Head is empty for the work tree.
	Base      string `json:"base,omitempty"`
	MergeBase string `json:"merge_base,omitempty"`
	Head      string `json:"head,omitempty"`
	// Against names the base for people: a branch or revision.
	Against  string `json:"against,omitempty"`
	WorkTree bool   `json:"work_tree,omitempty"`
}

// Rule is one of the gate's rules with what it rests on.
type Rule struct {
	ID string `json:"id"`
	// Ceiling is the best decision that the rule allows.
	Ceiling string   `json:"ceiling"`
	Means   string   `json:"means"`
	Causes  []string `json:"causes,omitempty"`
}

// Signal is one reason for the tier.
type Signal struct {
	Rule string `json:"rule"`
	// Floor is the tier that the rule demands at least; of a raise, low.
	Floor  string   `json:"floor"`
	Raise  bool     `json:"raise,omitempty"`
	Files  []string `json:"files"`
	Detail string   `json:"detail,omitempty"`
	Means  string   `json:"means"`
}

// File is one changed file.
type File struct {
	Path         string   `json:"path"`
	PreviousPath string   `json:"previous_path,omitempty"`
	Op           string   `json:"op"`
	Kinds        []string `json:"kinds"`
	Added        int      `json:"added"`
	Deleted      int      `json:"deleted"`
	// Coverage is inspected, partially_inspected or skipped.
	Coverage    string `json:"coverage"`
	NeedsReview bool   `json:"needs_review"`
	// Truncated: part of its change was not seen; Why says why.
	Truncated bool   `json:"truncated"`
	Why       string `json:"why,omitempty"`
}

// Finding is one danger at one place. Line counts from 1 on its side; 0 is the
// file as a whole.
type Finding struct {
	Rule     string `json:"rule"`
	Path     string `json:"path"`
	Side     string `json:"side"`
	Line     int    `json:"line"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Why      string `json:"why"`
	Do       string `json:"do"`
	// Key names the same finding after the lines moved.
	Key string `json:"key"`
}

// openHere are the rules that ask what a terminal cannot know (DESIGN section
// 13).
func openHere() []review.RuleID {
	return []review.RuleID{
		review.RuleChecksFailed, review.RuleChecksPending, review.RuleChecksMissing, review.RuleChecksSkipped, review.RuleChecksNone,
		review.RuleApprovalMissing, review.RuleIntentMissing, review.RuleReviewMissing,
	}
}

// newReport puts what was judged into the report's words.
func newReport(src Source, rd session.Reading, j session.Judged, p policy.Policy, notes []string) Report {
	out := j.Outcome
	gate, open := out.Without(openHere()...)
	r := Report{
		Format: Format, Source: src,
		Tier: j.Assessment.Tier.String(), Floor: j.Assessment.Floor.String(),
		Decision:   gate.Decision.String(),
		Conclusion: review.Conclude(gate.Decision, j.Assessment.Tier, review.StateActive, false).String(),
		Review:     out.Facts.Review.String(),
		Rules:      rulesOf(out, gate.Fired), Open: openRules(src, out, open),
		Signals: signalsOf(j.Assessment), Files: filesOf(rd.Patch, j), Findings: findingsOf(j), FindingsNotListed: j.Scan.More,
		ResidualRisks: residualOf(out), Unanswered: append([]string{}, j.Assessment.Unknown...), Notes: notes,
		Patch: string(j.Evidence.Patch), Policy: policySource, PolicyRevision: p.Revision(),
	}
	for _, reviewer := range j.Evidence.Reviewers {
		r.ReviewReason = reviewer.Reason
	}
	r.searched = len(j.Evidence.ScanGaps)+len(j.Evidence.Truncated)+len(j.Evidence.Unread)+len(j.Scan.More) == 0
	out.Gate = gate
	r.view = publish.View{State: publish.StateDecided, Assessment: j.Assessment, Outcome: out, Evidence: j.Evidence, HeadSHA: src.Head}
	return r
}

// Passes reports whether the change may be pushed by what is known here: success
// or neutral.
func (r Report) Passes() bool { return r.Conclusion == "success" || r.Conclusion == "neutral" }

// openRules says of each open rule what is to be answered. Where nobody was asked,
// what the gate would make of no answer ("no checks ran") would be wrong.
func openRules(src Source, out review.Outcome, ids []review.RuleID) []Rule {
	list := rulesOf(out, ids)
	for i := range list {
		rule := &list[i]
		switch id := review.RuleID(rule.ID); {
		case id == review.RuleReviewMissing:
			rule.Causes = []string{"no reviewer looked at it"}
		case src.Kind == pullRequest || id == review.RuleApprovalMissing:
		case id == review.RuleIntentMissing:
			rule.Causes = []string{"what the change is for"}
		default:
			rule.Causes = []string{"what CI's checks say"}
		}
	}
	return list
}

func rulesOf(out review.Outcome, ids []review.RuleID) []Rule {
	list := []Rule{}
	for _, id := range ids {
		known, ok := review.Explain(id)
		if !ok {
			continue
		}
		rule := Rule{ID: string(id), Ceiling: known.Ceiling(out.Facts).String(), Means: known.Sentence}
		for _, c := range out.Causes.Of(id) {
			rule.Causes = append(rule.Causes, c.Text)
		}
		list = append(list, rule)
	}
	return list
}

func signalsOf(a risk.Assessment) []Signal {
	means := make(map[string]string)
	for _, info := range risk.RuleIDs() {
		means[info.ID] = info.Sentence
	}
	list := []Signal{}
	for _, s := range a.Signals {
		list = append(list, Signal{Rule: s.Rule, Floor: s.Floor.String(), Raise: s.Raise, Files: append([]string{}, s.Files...), Detail: s.Detail, Means: means[s.Rule]})
	}
	return list
}

// filesOf lists the files in the patch's order. The assessment's rows are sorted,
// and a path may have two.
func filesOf(p diff.Patch, j session.Judged) []File {
	rows := make(map[[2]string]risk.FileRisk, len(j.Assessment.Files))
	for _, f := range j.Assessment.Files {
		rows[[2]string{f.Path, f.PreviousPath}] = f
	}
	coverage := make(map[string]review.CoverageState, len(j.Evidence.Coverage))
	for _, c := range j.Evidence.Coverage {
		coverage[c.Path] = max(coverage[c.Path], c.State)
	}
	list := make([]File, 0, len(p.Files))
	for _, f := range p.Files {
		row := File{Path: f.Path(), Op: f.Op.String(), Added: f.Added, Deleted: f.Deleted, Truncated: f.Truncated, Why: f.Why}
		if paths := f.Paths(); len(paths) > 1 {
			row.PreviousPath = paths[1]
		}
		known := rows[[2]string{row.Path, row.PreviousPath}]
		row.NeedsReview, row.Kinds = known.NeedsReview, []string{}
		for _, k := range known.Kinds.List() {
			row.Kinds = append(row.Kinds, k.String())
		}
		row.Coverage = coverage[row.Path].String()
		list = append(list, row)
	}
	return list
}

func findingsOf(j session.Judged) []Finding {
	list := []Finding{}
	for i, f := range j.Scan.Findings {
		list = append(list, Finding{
			Rule: f.Rule, Path: f.Path, Side: f.Side.String(), Line: f.Line, Severity: f.Severity.String(),
			Title: f.Title, Why: f.Why, Do: f.Do, Key: string(j.Evidence.Findings[i].ID()),
		})
	}
	return list
}

// residualOf leaves out what is listed as open.
func residualOf(out review.Outcome) []string {
	list := []string{}
	for _, r := range out.Residual {
		switch {
		case slices.Contains(openHere(), r.Rule):
		case r.Rule == "":
			list = append(list, r.Text)
		default:
			list = append(list, string(r.Rule)+": "+r.Text)
		}
	}
	return list
}
