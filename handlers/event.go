package handlers

import (
	"strconv"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// SubjectKind says what a job is about.
type SubjectKind string

// The kinds of subject.
const (
	SubjectPull         SubjectKind = "pull"
	SubjectHead         SubjectKind = "head"
	SubjectRepo         SubjectKind = "repo"
	SubjectInstallation SubjectKind = "installation"
)

// Subject is what jobs are serialised by: at most one job of a subject runs at
// a time, and events of one subject coalesce into it.
type Subject struct {
	Kind SubjectKind `json:"kind"`
	// Key is unique over all kinds: it begins with the kind.
	Key string `json:"key"`
}

// String is the key.
func (s Subject) String() string { return s.Key }

// PullSubject is one pull request: "pull:REPOID:NUMBER".
func PullSubject(repoID int64, number int) Subject {
	return Subject{SubjectPull, "pull:" + strconv.FormatInt(repoID, 10) + ":" + strconv.Itoa(number)}
}

// HeadSubject is one commit on which checks report: "head:REPOID:SHA".
func HeadSubject(repoID int64, sha string) Subject {
	return Subject{SubjectHead, "head:" + strconv.FormatInt(repoID, 10) + ":" + sha}
}

// RepoSubject is one repository: "repo:REPOID".
func RepoSubject(repoID int64) Subject {
	return Subject{SubjectRepo, "repo:" + strconv.FormatInt(repoID, 10)}
}

// InstallationSubject is one installation of the App: "installation:ID".
func InstallationSubject(id int64) Subject {
	return Subject{SubjectInstallation, "installation:" + strconv.FormatInt(id, 10)}
}

// Event is a delivery reduced to what routing and its job need. It is stored as
// JSON beside the delivery, so a field's JSON name is a promise to rows already
// written. Everything in it was said by the sender: it tells where to look,
// never what is so (cases 56 and 63).
type Event struct {
	GUID       string    `json:"guid"`
	Event      string    `json:"event"`
	Action     string    `json:"action,omitempty"`
	ReceivedAt time.Time `json:"received_at"`
	// BodySHA256 is the hex digest of the raw body.
	BodySHA256 string `json:"body_sha256"`

	Repo          forge.Repo    `json:"repo"`
	DefaultBranch string        `json:"default_branch,omitempty"`
	Private       bool          `json:"private,omitempty"`
	Sender        forge.Account `json:"sender"`

	// Pull is the number of the pull request, 0 when the event names none.
	Pull    int    `json:"pull,omitempty"`
	HeadSHA string `json:"head_sha,omitempty"`
	BaseRef string `json:"base_ref,omitempty"`
	BaseSHA string `json:"base_sha,omitempty"`
	Draft   bool   `json:"draft,omitempty"`
	// State is "open", "closed" or "merged".
	State     string    `json:"state,omitempty"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// HeadRepoGone: head.repo is null, the fork was deleted. Fork is then true.
	HeadRepoGone bool `json:"head_repo_gone,omitempty"`
	Fork         bool `json:"fork,omitempty"`

	// What an edited event says was changed.
	BaseChanged  bool `json:"base_changed,omitempty"`
	TitleChanged bool `json:"title_changed,omitempty"`
	BodyChanged  bool `json:"body_changed,omitempty"`

	Check   *CheckEvent   `json:"check,omitempty"`
	Comment *CommentEvent `json:"comment,omitempty"`
}

// CheckEvent is what a check_run, check_suite or status event says of one
// check. For a suite, Name is empty; for a status, Status is "completed" unless
// its state is pending, and Conclusion is the state.
type CheckEvent struct {
	Kind        string    `json:"kind"` // check_run check_suite status
	ID          int64     `json:"id"`
	Name        string    `json:"name,omitempty"`
	AppID       int64     `json:"app_id,omitempty"`
	App         string    `json:"app,omitempty"` // slug, or login of a status' creator
	SuiteID     int64     `json:"suite_id,omitempty"`
	Status      string    `json:"status,omitempty"`
	Conclusion  string    `json:"conclusion,omitempty"`
	ExternalID  string    `json:"external_id,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	CompletedAt time.Time `json:"completed_at,omitzero"`
	URL         string    `json:"url,omitempty"`
	// HeadBranchNull: GitHub does not know the branch, as for forks.
	HeadBranchNull bool `json:"head_branch_null,omitempty"`
	// Pulls are the open pull requests into this repository that GitHub names.
	// Empty means unknown, not none: it is always empty for forks (case 61).
	Pulls []int `json:"pulls,omitempty"`
	// Ours: the check belongs to our own App.
	Ours bool `json:"ours,omitempty"`
	// Requested is the identifier of the button that was pressed
	// (requested_action).
	Requested string `json:"requested,omitempty"`
}

// MaxCommentBody bounds the stored text of a comment, in bytes. GitHub's own
// limit is 65,536 characters; a command stands at the front of what people
// write.
const MaxCommentBody = 64 << 10

// CommentEvent is a comment or review that may hold commands or an answer.
type CommentEvent struct {
	ID     int64         `json:"id"`
	Author forge.Account `json:"author"`
	// Body is cut at MaxCommentBody, on a rune's border.
	Body string `json:"body,omitempty"`
	// OnPull tells a pull request's comments from a plain issue's.
	OnPull bool   `json:"on_pull,omitempty"`
	URL    string `json:"url,omitempty"`
	// Review is the lower-case state of a pull-request review, empty for a
	// comment; CommitID is the commit that the review was given for.
	Review   string    `json:"review,omitempty"`
	CommitID string    `json:"commit_id,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Route says whose job a delivery wakes.
type Route struct {
	// Subject is zero when Ignore is set.
	Subject Subject
	// Why is a sentence for the log.
	Why string
	// Ignore is a sentence that says why nothing acts on the delivery; it is
	// then answered and forgotten.
	Ignore string
}
