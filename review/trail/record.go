// Package trail is the append-only record of what was intended, allowed,
// checked, decided and posted: record types, the hash chain, judgments and
// their verification. It knows no database and no forge; who stores rows
// implements its Store.
package trail

import (
	"context"
	"encoding/json"
	"time"
)

// Type is the type of a record. The set is closed: a new gate brings its own.
type Type string

// Record types, in the order of the gates.
const (
	TypeDelivery        Type = "delivery"
	TypeRunStart        Type = "run_start"
	TypeRunEnd          Type = "run_end"
	TypeRunError        Type = "run_error"
	TypeClarification   Type = "clarification_request"
	TypePlanReview      Type = "plan_review"
	TypePermission      Type = "permission_decision"
	TypePatchSummary    Type = "patch_summary"
	TypeArtifactCheck   Type = "artifact_check"
	TypeCheckSummary    Type = "check_summary"
	TypeReviewArtifacts Type = "review_artifacts_summary"
	TypeReviewerStart   Type = "reviewer_start"
	TypeToolUse         Type = "tool_use"
	TypeReviewerEnd     Type = "reviewer_end"
	TypeReviewerError   Type = "reviewer_error"
	TypeReviewDecision  Type = "review_decision"
	TypeGateDecision    Type = "gate_decision"
	TypePublish         Type = "publish"
	TypeFinalReport     Type = "final_report"
	TypeHandoverAudit   Type = "handover_audit"
	TypeCarried         Type = "carried"
	TypeHumanDecision   Type = "human_decision"
	TypeFixIteration    Type = "fix_iteration"
	TypeTokenUsage      Type = "token_usage"
	TypeRedaction       Type = "redaction"
)

// MaxBody bounds a record's body (DESIGN section 11): long lists are counted,
// not stored.
const MaxBody = 64<<10 - 1

// Chain is the key of a hash chain: one pull request, else a repository, else
// an installation ("pull:42:7", "repo:42", "installation:9").
type Chain string

// Draft is a record before it is chained: what the writer knows.
type Draft struct {
	PlanID         string
	SessionID      string
	Repo           string // "owner/name"
	RepoID         int64
	Pull           int
	HeadSHA        string
	Phase          string // "G0" … "G8"
	Type           Type
	Actor          string // "countersign", or the login of who decided
	PolicyRevision string
	Body           json.RawMessage
}

// Record is a row of the trail.
type Record struct {
	ID             string          `json:"id"` // ULID
	Chain          Chain           `json:"chain"`
	Seq            int64           `json:"seq"` // 1, 2, 3 … in its chain
	TS             time.Time       `json:"ts"`  // UTC, microseconds
	PlanID         string          `json:"plan_id,omitempty"`
	SessionID      string          `json:"session_id,omitempty"`
	Repo           string          `json:"repo,omitempty"`
	RepoID         int64           `json:"repo_id,omitempty"`
	Pull           int             `json:"pull,omitempty"`
	HeadSHA        string          `json:"head_sha,omitempty"`
	Phase          string          `json:"phase"`
	Type           Type            `json:"type"`
	Actor          string          `json:"actor"`
	PolicyRevision string          `json:"policy_revision,omitempty"`
	AppVersion     string          `json:"app_version"`
	Body           json.RawMessage `json:"body"`
	PrevHash       string          `json:"prev_hash"`
	Hash           string          `json:"hash"`
}

// Store keeps records. Append reads the chain's last row and writes the sealed
// rows in one transaction, so that two writers cannot fork a chain; seal is
// called inside it with the last sequence number and hash ("" and 0 at the
// start of a chain).
type Store interface {
	AppendTrail(ctx context.Context, chain Chain, seal func(lastSeq int64, lastHash string) ([]Record, error)) ([]Record, error)
	// ReadTrail calls f for each record of a chain in order, until f returns an
	// error.
	ReadTrail(ctx context.Context, chain Chain, f func(Record) error) error
	// FindTrail lists records by session, pull request or type, oldest first,
	// at most q.Limit (1,000 when zero).
	FindTrail(ctx context.Context, q Query) ([]Record, error)
	// Chains lists the chains, for verification of the whole trail, with the
	// sequence number and hash that the chain table says are the last.
	Chains(ctx context.Context) ([]Head, error)
}

// Head is where a chain ends according to the chain table.
type Head struct {
	Chain Chain
	Seq   int64
	Hash  string
}

// Query selects records; empty fields select all.
type Query struct {
	SessionID string
	Repo      string // "owner/name", in any spelling of its letters
	Pull      int
	Type      Type
	// Since and Until bound the time of a record: at or after, before.
	Since, Until time.Time
	// After is the id of the last record that was seen: only later ones.
	After string
	Limit int
}
