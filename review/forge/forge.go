// Package forge is the port through which Countersign sees a code host: small
// interfaces over plain values, so that GitHub is one adapter and a local git
// range another. It knows nothing of gates, policy or checks' meaning; it says
// what is there, and refuses with a typed Error when it cannot.
//
// Everything an adapter returns comes from outside and is hostile: titles,
// names, paths and bodies are data, never instructions and never trusted.
package forge

import (
	"context"
	"time"
)

// Repo names a repository and the installation through which it is reached.
type Repo struct {
	ID           int64  `json:"id"`
	Owner        string `json:"owner"`
	Name         string `json:"name"`
	Installation int64  `json:"installation"`
}

// FullName is "owner/name", as people write it.
func (r Repo) FullName() string { return r.Owner + "/" + r.Name }

// PullRef names one pull request.
type PullRef struct {
	Repo   Repo `json:"repo"`
	Number int  `json:"number"`
}

// Account is a person, an App or an organisation, spelled as REST spells it
// (an App's login ends in "[bot]").
type Account struct {
	ID    int64  `json:"id,omitempty"`
	Login string `json:"login"`
	Bot   bool   `json:"bot,omitempty"`
}

// Identity is what a commit says of its author or committer: free text, with
// the account that the forge derives from the e-mail (forgeable).
type Identity struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Login string `json:"login,omitempty"`
}

// Commit is one commit of a pull request.
type Commit struct {
	SHA       string   `json:"sha"`
	Message   string   `json:"message"`
	Author    Identity `json:"author"`
	Committer Identity `json:"committer"`
	Parents   []string `json:"parents,omitempty"`
	// Verified: the signature is valid. SignedByForge: GitHub itself made it.
	Verified      bool `json:"verified,omitempty"`
	SignedByForge bool `json:"signed_by_forge,omitempty"`
}

// PullState says whether a pull request can still be merged by someone.
type PullState string

// The states of a pull request.
const (
	PullOpen   PullState = "open"
	PullClosed PullState = "closed"
	PullMerged PullState = "merged"
)

// Issue is an issue that the pull request says it closes.
type Issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	URL    string `json:"url"`
}

// Association is GitHub's author_association.
type Association string

// New reports whether the account has nothing merged in the repository and is not one
// of its people, as far as that is visible; known is false where nothing is said.
func (a Association) New() (isNew, known bool) {
	switch a {
	case "OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR":
		return false, true
	case "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "NONE":
		return true, true
	default:
		return false, false
	}
}

// Pull is what the forge says of a pull request at the moment of the call.
type Pull struct {
	Ref    PullRef `json:"ref"`
	Title  string  `json:"title"`
	Body   string  `json:"body"`
	URL    string  `json:"url"`
	Author Account `json:"author"`
	// Association is what the forge shows of the author's ties to the repository. It
	// depends on what is visible, so it tells no rights (case 89).
	Association Association `json:"association,omitempty"`
	State       PullState   `json:"state"`
	Draft       bool        `json:"draft"`
	// UpdatedAt is the forge's own time of the newest change.
	UpdatedAt time.Time `json:"updated_at,omitzero"`

	BaseRef string `json:"base_ref"`
	BaseSHA string `json:"base_sha"`
	HeadRef string `json:"head_ref"`
	HeadSHA string `json:"head_sha"`
	// HeadRepo is empty when the fork was deleted; CrossRepository is then true.
	HeadRepo        string `json:"head_repo,omitempty"`
	CrossRepository bool   `json:"cross_repository,omitempty"`

	DefaultBranch string `json:"default_branch"`
	Private       bool   `json:"private,omitempty"`

	ChangedFiles int `json:"changed_files"`
	Additions    int `json:"additions"`
	Deletions    int `json:"deletions"`

	// Commits are the first ones, at most MaxCommits; CommitsTotal counts all.
	Commits      []Commit `json:"commits"`
	CommitsTotal int      `json:"commits_total"`
	Linked       []Issue  `json:"linked,omitempty"`
	Labels       []string `json:"labels,omitempty"`
}

// MaxCommits bounds the commits read of one pull request (GitHub's own list
// ends at 250; one GraphQL page holds 100).
const MaxCommits = 100

// ComparedFile is one row of GitHub's file lists.
type ComparedFile struct {
	Status       string // added modified removed renamed copied changed unchanged
	Path         string
	PreviousPath string // set for renamed and copied
	Blob         string // the head's blob (the base's for removed files)
	Additions    int
	Deletions    int
	Changes      int
	Patch        string
	HasPatch     bool // an absent patch is not an empty one (case 29)
}

// Comparison is the three-dot comparison of a base and a head.
type Comparison struct {
	MergeBase string
	Files     []ComparedFile
	// Complete is false when the list may end before the patch does (300 files).
	Complete bool
}

// TreeEntry is one path in a tree: its mode as git writes it ("100644"), and
// its object.
type TreeEntry struct {
	Mode string
	OID  string
}

// CheckKind tells GitHub's two systems apart.
type CheckKind string

// The two systems that report on a commit.
const (
	CheckRun     CheckKind = "check_run"
	CommitStatus CheckKind = "status"
)

// Check is one check run or commit status as the forge reports it, lower case.
// For a status, Status is "completed" unless its state is pending, and
// Conclusion is its state (success, failure, error).
type Check struct {
	Kind        CheckKind
	ID          int64
	Name        string
	AppID       int64
	App         string // slug of the App, or login of the status' creator
	Suite       int64
	Workflow    string // path of the workflow file, empty when there is none
	Event       string // what started the workflow
	Attempt     int
	Status      string
	Conclusion  string
	ExternalID  string
	Title       string
	Summary     string
	URL         string
	StartedAt   time.Time
	CompletedAt time.Time
	// Annotations counts what was appended to a run. Only OwnChecks tells it.
	Annotations int
}

// SnapshotRequest asks for what can change between two looks at a head.
type SnapshotRequest struct {
	Pull PullRef
	Head string
	// MergeBase and Dirs ask for the modes in these folders on both sides
	// ("" is the root). No Dirs: no modes are read.
	MergeBase string
	Dirs      []string
}

// Snapshot is a pull request's head and its checks, read in one call.
type Snapshot struct {
	HeadSHA string // now; may differ from the one asked for
	BaseRef string
	State   PullState
	Draft   bool
	Checks  []Check
	// ChecksComplete is false when fewer checks came than the forge counts.
	ChecksComplete bool
	// Base and Head hold the entries of the folders asked for, by path. A folder
	// that does not exist on a side has none. Unread names folders that could
	// not be read: their modes are unknown.
	Base, Head map[string]TreeEntry
	Unread     []string
}

// RequiredCheck is one name that a branch demands before merging. AppID 0 means
// any App.
type RequiredCheck struct {
	Name   string `json:"name"`
	AppID  int64  `json:"app_id,omitempty"`
	Source string `json:"source"` // "branch protection", "ruleset"
}

// Permission is what a person may do in a repository, by the forge's own word.
type Permission string

// Permissions, least first. A stranger on a public repository has PermissionRead.
const (
	PermissionNone     Permission = "none"
	PermissionRead     Permission = "read"
	PermissionTriage   Permission = "triage"
	PermissionWrite    Permission = "write"
	PermissionMaintain Permission = "maintain"
	PermissionAdmin    Permission = "admin"
)

// CanWrite reports whether the permission includes pushing.
func (p Permission) CanWrite() bool {
	return p == PermissionWrite || p == PermissionMaintain || p == PermissionAdmin
}

// Annotation is a remark on a line of the head's side.
type Annotation struct {
	Path      string
	StartLine int
	EndLine   int
	Level     string // notice warning failure
	Title     string
	Message   string
}

// Action is a button on a check run.
type Action struct{ Label, Description, Identifier string }

// CheckWrite is the whole wanted state of a check run of ours.
type CheckWrite struct {
	Name       string
	HeadSHA    string
	ExternalID string
	DetailsURL string
	Status     string // in_progress completed
	Conclusion string // set exactly when completed
	Title      string
	Summary    string
	Text       string
	// Annotations are appended by every write: pass each once.
	Annotations []Annotation
	Actions     []Action
	StartedAt   time.Time
}

// PullReader reads the facts of a pull request in one call.
type PullReader interface {
	Pull(ctx context.Context, ref PullRef) (Pull, error)
}

// PatchReader reads what a pull request changes.
type PatchReader interface {
	// Compare answers at most 300 files.
	Compare(ctx context.Context, repo Repo, base, head string) (Comparison, error)
	// PullFiles answers at most 3,000 files, page by page.
	PullFiles(ctx context.Context, ref PullRef) ([]ComparedFile, error)
	// Blob reads one blob, refusing with KindTooLarge above max bytes.
	Blob(ctx context.Context, repo Repo, oid string, max int64) ([]byte, error)
	// Tree reads a whole tree, path by path; complete is false when cut.
	Tree(ctx context.Context, repo Repo, sha string) (entries map[string]TreeEntry, complete bool, err error)
}

// HeadReader re-reads a pull request's head and its checks.
type HeadReader interface {
	Snapshot(ctx context.Context, req SnapshotRequest) (Snapshot, error)
	// PullsByHead lists the open pull requests with this head.
	PullsByHead(ctx context.Context, repo Repo, sha string) ([]int, error)
}

// BranchRules are the names that a branch requires, from branch protection and
// rulesets.
type BranchRules struct {
	Required []RequiredCheck
	// ReadFrom names the sources that answered, for the record.
	ReadFrom []string
}

// RulesReader reads what a branch demands.
type RulesReader interface {
	BranchRules(ctx context.Context, repo Repo, branch string) (BranchRules, error)
}

// PeopleReader asks the forge what a person may do.
type PeopleReader interface {
	Permission(ctx context.Context, repo Repo, login string) (Permission, error)
}

// AppReader tells Apps by the name that their bot accounts bear.
type AppReader interface {
	// AppBySlug returns the id of the App, KindNotFound when there is none. It is
	// asked once: an App keeps its id.
	AppBySlug(ctx context.Context, slug string) (id int64, err error)
}

// CheckWriter writes check runs of our App and finds those it wrote.
type CheckWriter interface {
	CreateCheck(ctx context.Context, repo Repo, w CheckWrite) (id int64, err error)
	UpdateCheck(ctx context.Context, repo Repo, id int64, w CheckWrite) error
	// OwnChecks lists our App's runs of this name on the SHA, newest first.
	OwnChecks(ctx context.Context, repo Repo, sha, name string) ([]Check, error)
}

// Client is one installation's view of the forge. Users declare the narrow
// interface they need; only the session sees the whole.
type Client interface {
	PullReader
	PatchReader
	HeadReader
	RulesReader
	PeopleReader
	AppReader
	CheckWriter
	ReviewWriter
}

// Host hands out clients.
type Host interface {
	// Client returns the client of an installation.
	Client(installation int64) (Client, error)
	// AppID is our App's id: checks of this App are our own.
	AppID() int64
	// Forget drops what is remembered of an installation's rights, after it was
	// refused something that its owner may have granted meanwhile.
	Forget(installation int64)
}
