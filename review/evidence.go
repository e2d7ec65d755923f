package review

import (
	"fmt"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// Evidence is everything that one evaluation of one patch rests on, as values.
// A session stores it as JSON and the gate is recomputed from it, so it holds no
// interface and no pointer into anything else. Absent means unknown: a zero
// Evidence never approves.
type Evidence struct {
	Tier    risk.Tier     `json:"tier"`
	Signals []string      `json:"signals,omitempty"` // rule ids of what raised the tier
	Patch   diff.Identity `json:"patch,omitempty"`
	// ChangedFiles counts the patch's files; fewer entries in Coverage than this
	// means that the coverage map has holes.
	ChangedFiles int `json:"changed_files"`
	// DocsOnly: every changed file is docs.
	DocsOnly bool `json:"docs_only,omitempty"`
	// ContentPassed names the content rules that ran on this head and found nothing.
	ContentPassed []string `json:"content_passed,omitempty"`

	Permission Permission       `json:"permission"`
	Policy     PolicyState      `json:"policy"`
	Intent     Intent           `json:"intent,omitempty"` // empty counts as missing
	Unread     []Unread         `json:"unread,omitempty"`
	Truncated  []TruncatedFile  `json:"truncated,omitempty"`
	Artifacts  []ArtifactResult `json:"artifacts,omitempty"`
	Checks     Checks           `json:"checks"`

	// Reviewers are the reviews of this patch identity, oldest first, also those
	// of earlier heads that were carried.
	Reviewers []ReviewerResult `json:"reviewers,omitempty"`
	// Findings are the scanners', and reviewers' findings on earlier patches whose
	// quoted lines are unchanged.
	Findings []Finding `json:"findings,omitempty"`
	// MoreFindings counts what the scanners found beyond these, and ScanGaps is what
	// they did not look at, both by rule.
	MoreFindings []MoreFindings `json:"more_findings,omitempty"`
	ScanGaps     []ScanGap      `json:"scan_gaps,omitempty"`
	Coverage     []FileCoverage `json:"coverage,omitempty"`

	// Approvals answer the requirements that concern the whole patch.
	Approvals   []Approval   `json:"approvals,omitempty"`
	Acceptances []Acceptance `json:"acceptances,omitempty"`
}

// Permission is the outcome of the path rules over both paths of every file.
type Permission struct {
	Denied []Denial `json:"denied,omitempty"`
	Asks   []Ask    `json:"asks,omitempty"`
}

// Denial is a deny rule that matched.
type Denial struct {
	Rule   string   `json:"rule"`
	Paths  []string `json:"paths"`
	Reason string   `json:"reason,omitempty"`
}

// Ask is a permission that somebody has to give.
type Ask struct {
	ID        string   `json:"id"`
	Paths     []string `json:"paths,omitempty"`
	Approvers []string `json:"approvers,omitempty"` // none: anyone with write access
	Reason    string   `json:"reason,omitempty"`
	// Surface: one of those that no mode may answer (DESIGN section 4).
	Surface bool `json:"surface,omitempty"`
	// Answer is nil while nobody answered.
	Answer *Answer `json:"answer,omitempty"`
}

// Answer is a person's yes. Who may give it was decided before it got here.
type Answer struct {
	By         string `json:"by"`
	Permission string `json:"permission,omitempty"` // "admin", "@acme/platform"
	URL        string `json:"url,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// given reports whether a person stands behind the answer.
func (a *Answer) given() bool { return a != nil && a.By != "" }

// ApprovalKind is what an approval of the whole patch answers.
type ApprovalKind string

// The kinds of approval.
const (
	ApprovalPlan  ApprovalKind = "plan"  // before any model call
	ApprovalHuman ApprovalKind = "human" // a person besides the reviewers
)

// Approval is an answer that concerns the whole patch.
type Approval struct {
	Kind   ApprovalKind `json:"kind"`
	Answer Answer       `json:"answer"`
}

// PolicyState says whether a good policy holds, and what is wrong with its files.
type PolicyState struct {
	State    Policy          `json:"state,omitempty"` // empty counts as invalid
	Revision string          `json:"revision,omitempty"`
	Problems []PolicyProblem `json:"problems,omitempty"`
}

// PolicyProblem is one mistake in one policy file.
type PolicyProblem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

// Unread is something that could not be collected. Fatal: files, diff or checks
// as a whole are unknown; otherwise part of the patch was not seen.
type Unread struct {
	What   string `json:"what"` // "files", "diff", "checks", "modes"
	Detail string `json:"detail,omitempty"`
	Fatal  bool   `json:"fatal,omitempty"`
}

// TruncatedFile is a file of which part was not seen.
type TruncatedFile struct {
	Path string `json:"path"`
	Why  string `json:"why,omitempty"`
}

// ArtifactResult is one file that the policy requires beside the patch.
type ArtifactResult struct {
	When    string `json:"when"`    // the changed path that asks for it
	Require string `json:"require"` // the policy's pattern
	Path    string `json:"path"`    // what it resolved to
	Held    bool   `json:"held"`
	Why     string `json:"why,omitempty"` // why it does not hold
}

// ReviewerStatus is how far a review came.
type ReviewerStatus string

// The statuses of a review. Any other counts as failed.
const (
	ReviewerRan     ReviewerStatus = "ran"
	ReviewerNotRun  ReviewerStatus = "not_run"
	ReviewerFailed  ReviewerStatus = "failed"
	ReviewerPending ReviewerStatus = "pending"
)

// Verdict is what one reviewer concluded.
type Verdict string

// The verdicts. A review that ran with any other is failed.
const (
	VerdictApproved Verdict = "approved"
	VerdictChanges  Verdict = "changes_requested"
	VerdictBlocked  Verdict = "blocked"
)

// ReviewerResult is one review of this patch by one reviewer.
type ReviewerResult struct {
	Provider     string         `json:"provider"`
	Model        string         `json:"model"`
	Family       string         `json:"family,omitempty"`
	Independence Independence   `json:"independence,omitempty"` // empty counts as none
	Status       ReviewerStatus `json:"status"`
	Reason       string         `json:"reason,omitempty"` // why it did not run or failed
	Verdict      Verdict        `json:"verdict,omitempty"`
	// Confidence is the reviewer's own, above 0 and at most 1. Anything else is
	// missing, and a missing confidence is low.
	Confidence float64 `json:"confidence,omitempty"`
	// SameModel: the model that wrote the code.
	SameModel bool      `json:"same_model,omitempty"`
	Findings  []Finding `json:"findings,omitempty"`
	Residual  []string  `json:"residual_risks,omitempty"`
}

// Name is "provider/model", by which acceptances name a reviewer.
func (r ReviewerResult) Name() string { return r.Provider + "/" + r.Model }

// Acceptance is a person's taking responsibility for one fired rule. It covers
// that rule for what it names and nothing else: one that names nothing covers
// nothing. Causes.AcceptanceOf fills in the names.
type Acceptance struct {
	Rule       RuleID   `json:"rule"`
	Checks     []string `json:"checks,omitempty"`
	Files      []string `json:"files,omitempty"`
	Findings   []string `json:"findings,omitempty"`
	Reviewers  []string `json:"reviewers,omitempty"`
	Others     []string `json:"others,omitempty"` // causes that are none of these, by key
	By         string   `json:"by"`               // nobody: the acceptance covers nothing
	Permission string   `json:"permission,omitempty"`
	URL        string   `json:"url,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// String is the problem as operators read it: file, line, column, text.
func (p PolicyProblem) String() string {
	switch {
	case p.Line > 0 && p.Column > 0:
		return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
	case p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	}
	return p.File + ": " + p.Text
}
