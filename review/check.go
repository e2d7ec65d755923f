package review

import "time"

// CheckKind tells GitHub's two systems apart.
type CheckKind string

// The two systems that report on a commit.
const (
	KindCheckRun CheckKind = "check_run"
	KindStatus   CheckKind = "status"
)

// Checks is what reported on the head: already the newest of each identity
// (app, workflow and event or suite, name), never an older attempt.
type Checks struct {
	Results []CheckResult `json:"results,omitempty"`
	// Required are the names that must pass; our own is better left out, since it
	// may not be there yet.
	Required []RequiredCheck `json:"required,omitempty"`
	// WaitOver: the policy's wait for required names has passed.
	WaitOver bool `json:"wait_over,omitempty"`
	// NoneSettled: the grace is over after which "no check at all" may be believed.
	NoneSettled bool `json:"none_settled,omitempty"`
	// Complete: every row that the forge counts was read. Without it the checks are
	// unknown, not green (case 116).
	Complete bool `json:"complete"`
}

// CheckResult is one check run or commit status, in the forge's lower-case words.
type CheckResult struct {
	ID          int64     `json:"id"`
	AppID       int64     `json:"app_id,omitempty"`
	App         string    `json:"app,omitempty"`
	Workflow    string    `json:"workflow,omitempty"` // path of the workflow file
	Event       string    `json:"event,omitempty"`
	Name        string    `json:"name"`
	Kind        CheckKind `json:"kind"`
	Status      string    `json:"status"`
	Conclusion  string    `json:"conclusion,omitempty"` // a status' state
	Attempt     int       `json:"attempt,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	CompletedAt time.Time `json:"completed_at,omitzero"`
	URL         string    `json:"url,omitempty"`
	Digest      string    `json:"digest,omitempty"` // SHA-256 of this row and its output
	Excerpt     string    `json:"excerpt,omitempty"`

	// Required: it reports a required name. A required check is never advisory.
	Required bool `json:"required,omitempty"`
	// Advisory: the policy says that its failure does not override an approval.
	Advisory bool `json:"advisory,omitempty"`
	// Untrusted says why it satisfies nothing: another app, or a workflow that this
	// patch adds or changes. When it fails it still fails.
	Untrusted string `json:"untrusted,omitempty"`
	// SelfMade: Untrusted because the patch may have written what reports it, so
	// no better report of the name is to be waited for.
	SelfMade bool `json:"self_made,omitempty"`
	// Ours: our own check, or an aggregator that waits for it; left out.
	Ours bool `json:"ours,omitempty"`
}

// RequiredCheck is a name that must pass before merging.
type RequiredCheck struct {
	Name string `json:"name"`
	// Names are the reported names that Name stands for where it is a pattern.
	Names  []string `json:"names,omitempty"`
	AppIDs []int64  `json:"app_ids,omitempty"` // none, or one of 0 and below: any app
	Source string   `json:"source,omitempty"`  // "branch protection", "ruleset", "policy"
}
