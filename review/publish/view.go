package publish

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk"
)

// The names of our checks. Branch protection stores them literally, so they
// never change and hold nothing that varies (case 112).
const (
	// CheckName is the check that a branch may require.
	CheckName = "countersign"
	// AdvisoryName is the check on a base that is not gated.
	AdvisoryName = "countersign / advisory"
	// ReviewName is the check that lists the findings, CoverageName the one that
	// shows who looked at which file. Both are always neutral: only `countersign`
	// judges.
	ReviewName   = "countersign / review"
	CoverageName = "countersign / coverage"
)

// OwnNames lists every name that we report under.
func OwnNames() []string { return []string{CheckName, AdvisoryName, ReviewName, CoverageName} }

// State is where a pull request's session is on one head.
type State uint8

// The states of a view. Only StateDecided carries a decision.
const (
	StateInProgress State = iota + 1 // a session is at work
	StateDecided
	StateDraft
	StatePaused
	StateSuperseded // a newer head took its place
	StateClosed     // the pull request was closed or merged
	StateFailed     // the session could not complete; retried, or for good
)

// stateName is the state in the trail and in the database.
func (s State) stateName() string {
	switch s {
	case StateInProgress:
		return "in_progress"
	case StateDecided:
		return "decided"
	case StateDraft:
		return "draft"
	case StatePaused:
		return "paused"
	case StateSuperseded:
		return "superseded"
	case StateClosed:
		return "closed"
	case StateFailed:
		return "failed"
	}
	return ""
}

// String is the state's name; a value that is none says so.
func (s State) String() string {
	if name := s.stateName(); name != "" {
		return name
	}
	return "state(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText writes the name; a value without one is not stored.
func (s State) MarshalText() ([]byte, error) {
	if s.stateName() == "" {
		return nil, fmt.Errorf("write view: %s is not a state", s)
	}
	return []byte(s.stateName()), nil
}

// UnmarshalText reads a name.
func (s *State) UnmarshalText(text []byte) error {
	for v := StateInProgress; v <= StateFailed; v++ {
		if v.stateName() == string(text) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("read view: %.40q is not a state", text)
}

// Failure is why a session could not complete.
type Failure struct {
	// What is one clause for anyone: "GitHub answered 502".
	What string `json:"what"`
	// Retrying: it is tried again without anybody doing anything.
	Retrying bool `json:"retrying,omitempty"`
	// Permission: an owner has to grant the App something first.
	Permission bool `json:"permission,omitempty"`
	// Reference finds the cause: the session's id.
	Reference string `json:"reference,omitempty"`
}

// View is everything that one pull request's session says about one head. It is
// stored, so that the pull requests on one head can be shown together.
type View struct {
	Pull      forge.PullRef `json:"pull"`
	PullURL   string        `json:"pull_url"` // also says which host links may lead to
	BaseRef   string        `json:"base_ref"`
	HeadSHA   string        `json:"head_sha"` // the commit that was read
	SessionID string        `json:"session_id"`
	State     State         `json:"state"`
	Observe   bool          `json:"observe,omitempty"` // the policy's mode

	SupersededBy string   `json:"superseded_by,omitempty"` // SHA; StateSuperseded
	PausedBy     string   `json:"paused_by,omitempty"`     // login; StatePaused
	Failure      *Failure `json:"failure,omitempty"`       // StateFailed

	// Assessment may be empty while nothing was read yet.
	Assessment risk.Assessment `json:"assessment"`
	Outcome    review.Outcome  `json:"outcome"` // StateDecided
	Evidence   review.Evidence `json:"evidence"`

	// Commented are the findings that have a comment on their line, and CommentsLeft
	// counts those that have none because comments.max was reached. Only ReviewName's
	// text and annotations go by them.
	Commented    []review.FindingKey `json:"commented,omitempty"`
	CommentsLeft int                 `json:"comments_left,omitempty"`
	// Map is what CoverageName keeps of the files; Publish makes it from Assessment
	// and Evidence, and callers leave it nil.
	Map *FileMap `json:"map,omitempty"`

	// PolicySource says where the policy comes from, in words: "acme/policies
	// service + this repository". PolicyRevision is its SHA-256.
	PolicySource   string `json:"policy_source,omitempty"`
	PolicyRevision string `json:"policy_revision,omitempty"`
	// ReviewerLine says who reviewed, or why nobody did; made from the evidence
	// when empty.
	ReviewerLine string `json:"reviewer_line,omitempty"`
	// TrailHead is the hash of the chain's last record.
	TrailHead string `json:"trail_head,omitempty"`
	// RecapURL is our own page about the session.
	RecapURL string `json:"recap_url,omitempty"`
	// Commands: what people write in comments is read. Without it nothing advises
	// a command.
	Commands bool `json:"commands,omitempty"`
	// Approvers are who can give what is missing: "@acme/platform". None: anyone
	// with write access who is not the author.
	Approvers []string `json:"approvers,omitempty"`
}

// Live reports whether the view still speaks for an open pull request on its
// head.
func (v View) Live() bool { return v.State != StateSuperseded && v.State != StateClosed }

// informs reports whether ReviewName and CoverageName can be made from the view: it
// was read to its end.
func (v View) informs() bool {
	return v.State == StateDecided || ((v.State == StateDraft || v.State == StatePaused) && v.Evidence.ChangedFiles > 0)
}

// ExternalID names a check run for the forge: "pull:base_ref:session".
func (v View) ExternalID() string {
	return strconv.Itoa(v.Pull.Number) + ":" + v.BaseRef + ":" + v.SessionID
}

// tier is the tier that the title shows, and whether one is known.
func (v View) tier() (risk.Tier, bool) {
	if v.State == StateDecided {
		return v.Outcome.Facts.Tier, true
	}
	return v.Assessment.Tier, len(v.Assessment.Files) > 0 || len(v.Assessment.Signals) > 0
}

// validate refuses a view that could be shown in the wrong place.
func (v View) validate() error {
	switch {
	case v.State.stateName() == "":
		return fmt.Errorf("publish: %s is not a state of a view", v.State)
	case v.Pull.Repo.ID == 0 || v.Pull.Number <= 0:
		return errors.New("publish: the view names no pull request")
	case !isSHA(v.HeadSHA):
		return fmt.Errorf("publish: head %.80q is not a full commit SHA", v.HeadSHA)
	case v.SessionID == "":
		return errors.New("publish: the view names no session")
	}
	return nil
}

// isSHA reports whether s is a whole object name, SHA-1 or SHA-256.
func isSHA(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
