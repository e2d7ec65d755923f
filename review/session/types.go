package session

import (
	"context"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/trail"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// Event is what a delivery said about a pull request: a hint where to look,
// never what is so (cases 56 and 63).
type Event struct {
	GUID       string
	Name       string // GitHub's event: "pull_request"
	Action     string
	BodySHA256 string
	ReceivedAt time.Time
	Sender     string

	HeadSHA, BaseRef, DefaultBranch string
	UpdatedAt                       time.Time
	Draft                           bool
	BaseChanged                     bool

	// Check is set for check_run, check_suite and status events.
	Check *CheckEvent
}

// CheckEvent is what a CI event says of one check.
type CheckEvent struct {
	Row collect.Row
	// Ours: it is about a check of our own App, so somebody asked for a re-run.
	Ours bool
	// Pulls are the pull requests that GitHub names; empty means unknown (case 61).
	Pulls []int
	// BranchUnknown: GitHub does not know the head's branch, as for forks.
	BranchUnknown bool
}

// Turn is one call for one pull request.
type Turn struct {
	Pull   forge.PullRef
	Events []Event // oldest first
	// Newer reads the events that were committed since the turn began.
	Newer func(context.Context) ([]Event, error)
	// Attempt counts from 1. LastAttempt: nobody retries soon, so what it leaves
	// must be final.
	Attempt     int
	LastAttempt bool
}

// Outcome says what the turn wants to happen next.
type Outcome struct {
	// Settle is how long the pull request rests first, whatever arrives.
	Settle time.Duration
	// Postpone: nothing was done; the same events are worked after this.
	Postpone time.Duration
	// EventsOnly: the turn's events are dealt with and nothing else is; what else
	// asked for a turn still does.
	EventsOnly bool
	// RecheckAt is when the gate may change without any event; zero: never.
	RecheckAt time.Time
}

// Status is where a session stands.
type Status string

// The statuses of a session.
const (
	Running    Status = "running"
	Decided    Status = "decided"
	Superseded Status = "superseded"
	Closed     Status = "closed"
	Failed     Status = "failed"
)

// Session is one evaluation of one pull request at one head, as it is stored:
// enough to recompute the gate without reading the patch again, and no code.
type Session struct {
	ID      string        `json:"id"`
	PlanID  string        `json:"plan_id"`
	Pull    forge.PullRef `json:"pull"`
	Status  Status        `json:"status"`
	URL     string        `json:"url,omitempty"`
	HeadSHA string        `json:"head_sha"`
	// Base* are of the moment of reading; a changed base starts a new session.
	BaseRef        string `json:"base_ref"`
	BaseSHA        string `json:"base_sha,omitempty"`
	DefaultBranch  string `json:"default_branch,omitempty"`
	Draft          bool   `json:"draft,omitempty"`
	CheckName      string `json:"check_name"`
	PolicyRevision string `json:"policy_revision"`

	Patch            diff.Identity         `json:"patch,omitempty"`
	Assessment       risk.Assessment       `json:"assessment"`
	Evidence         review.Evidence       `json:"evidence"`
	Required         []forge.RequiredCheck `json:"required,omitempty"`
	ChangedWorkflows []string              `json:"changed_workflows,omitempty"`

	StartedAt time.Time `json:"started_at"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
	// NotesAllowed: the trail has the permissions to write the checks that inform.
	NotesAllowed bool `json:"notes_allowed,omitempty"`
	// NotesTold are the digests of what the trail says of those checks, by name: a turn
	// that died after the write left none, and the next one makes it good.
	NotesTold map[string]string `json:"notes_told,omitempty"`
	// CommentsAllowed is that for comments on lines, and Commented what they say; nil
	// while that is not settled.
	CommentsAllowed bool       `json:"comments_allowed,omitempty"`
	Commented       *Commented `json:"commented,omitempty"`
}

// Commented is what a session knows of the comments on lines.
type Commented struct {
	Keys []review.FindingKey `json:"keys"`           // findings that people see there
	Left int                 `json:"left,omitempty"` // how many there was no room for
}

// KnownPull is what the index of pull requests keeps, to find them by head.
type KnownPull struct {
	Ref                             forge.PullRef
	HeadSHA, BaseRef, DefaultBranch string
	State                           forge.PullState
	Draft, Private                  bool
	UpdatedAt                       time.Time
}

// Head is what is remembered of a commit that checks report on.
type Head struct {
	RepoID int64
	SHA    string
	// SeenAt is when we first heard of it; FirstCheck when CI first reported.
	SeenAt, FirstCheck time.Time
	// Rows are the local table of its checks, kept from events.
	Rows []collect.Row
	// Rerun: somebody asked for a new check run on this head.
	Rerun bool
}

// Source says which workflow reports a check name; learnt from every head read.
type Source struct {
	Name     string `json:"name"`
	AppID    int64  `json:"app_id,omitempty"`
	Workflow string `json:"workflow,omitempty"` // empty: no workflow, another App reports it
}

// Store is what a session remembers between turns.
type Store interface {
	// RecordDeliveries appends the sealed records and marks the deliveries as
	// recorded, in one transaction.
	RecordDeliveries(ctx context.Context, guids []string, chain trail.Chain, seal func(lastSeq int64, lastHash string) ([]trail.Record, error)) error
	// LatestSession returns the newest session of a pull request.
	LatestSession(ctx context.Context, repoID int64, pull int) (Session, bool, error)
	SaveSession(ctx context.Context, s Session) error
	// RememberPull keeps the index; an older state never replaces a newer one.
	RememberPull(ctx context.Context, p KnownPull) error
	// OpenPullsAt lists the open pull requests with this head, by the index.
	OpenPullsAt(ctx context.Context, repoID int64, sha string) ([]forge.PullRef, error)
	// Head returns what is remembered of a head, and remembers it from now on.
	Head(ctx context.Context, repoID int64, sha string, now time.Time) (Head, error)
	SaveHeadChecks(ctx context.Context, repoID int64, sha string, rows []collect.Row, firstCheck time.Time) error
	SetRerun(ctx context.Context, repoID int64, sha string, wanted bool) error
	// Sources and LearnSources keep which workflow reports which name.
	Sources(ctx context.Context, repoID int64) ([]Source, error)
	LearnSources(ctx context.Context, repoID int64, sources []Source) error
	// FailedPulls lists pull requests of an installation whose newest session
	// failed, newest first.
	FailedPulls(ctx context.Context, installation int64, limit int) ([]forge.PullRef, error)
	// SessionRecords lists the types of record that a session wrote.
	SessionRecords(ctx context.Context, sessionID string) ([]trail.Type, error)
}
