package githubsim

import (
	"crypto/rsa"
	"log/slog"
	"time"
)

// Options are the settings of a simulator; the zero value works.
type Options struct {
	// Dir is the folder for git repositories. Empty means a temporary folder that Close removes.
	Dir string
	// Clock is the simulator's now: token expiry, commit dates, event times. Nil means time.Now.
	Clock func() time.Time
	// Logger receives one line per delivery and per internal failure. Nil means silence.
	Logger *slog.Logger
	// HoldWebhooks keeps every webhook until DeliverNext, DeliverHeld or DropHeld is called for it.
	HoldWebhooks bool
	// HookWorkers is how many webhooks are delivered at once. Those of a repository stay in order, and
	// those of an installation that name no repository. 0 means 1: all in order.
	HookWorkers int
	// ForgetBodies drops the body of a webhook once it was taken, which then cannot be delivered again:
	// for tests that send thousands and weigh the process.
	ForgetBodies bool
	// MaxTreeEntries is the number of entries after which a recursive tree is cut and marked
	// `truncated`. 0 means GitHub's 100,000.
	MaxTreeEntries int
	// MaxBlobBytes is the size above which a file is shown by no API. 0 means GitHub's 100 MB.
	MaxBlobBytes int
	// MaxPatchBytes and MaxPatchLines are the limits above which a file's `patch` is left out.
	// 0 means 500 kB and 20,000 lines, GitHub's limits for one file.
	MaxPatchBytes, MaxPatchLines int
	// RateLimit is the number of requests an hour for each installation or person, of GraphQL as many
	// again. 0 means 5,000.
	RateLimit int
	// Limits are the secondary limits; none without them. See GitHubLimits.
	Limits Limits
	// WritesPerMinute is the number of writes a minute after which REST answers 403 with Retry-After.
	// 0 means no such limit.
	WritesPerMinute int
	// MaxRequests bounds the request log; the oldest entries go first. 0 means 100,000.
	MaxRequests int
	// NullThreads answers addPullRequestReviewThread for a place outside the diff with a null thread and
	// no error at all, as GitHub has been seen to do; without it the answer is an error.
	NullThreads bool
}

// App describes a GitHub App.
type App struct {
	ID            int64  // 0 means a generated one
	Slug, Name    string // Name defaults to Slug
	Owner         string // the account that owns the App; defaults to its slug
	WebhookURL    string // empty: no webhooks
	WebhookSecret string
	// Permissions maps permission names to read or write, as in the App's manifest. Nil means
	// what a pull-request bot asks for (see DefaultPermissions).
	Permissions map[string]string
	// Events are the webhook events it subscribes to. Nil means all. installation events always come.
	Events []string
	// Key is the App's private key. Nil means a new one, which costs a moment: tests that make
	// many simulators may share one.
	Key *rsa.PrivateKey
}

// RepoSpec describes a repository. Its default branch exists after the first Commit.
type RepoSpec struct {
	Owner, Name   string
	Private       bool
	DefaultBranch string // defaults to main
	UserOwned     bool   // the owner is a person, not an organisation
	ForkOf        *Repo  // shares git objects with its parent, as GitHub's fork networks do
}

// Change is one change to one path in a commit.
type Change struct {
	Path    string
	Content string // for mode 160000 the commit id the submodule points at; for 120000 the target
	// Mode is 100644, 100755, 120000 or 160000. Empty keeps the file's mode, or 100644 for a new one.
	// A Mode with an empty Content on a file that exists changes the mode alone.
	Mode   string
	Delete bool
	// RenameTo moves the file; an empty Content keeps its content.
	RenameTo string
}

// Person is who wrote or committed a commit. Login, when set, is the GitHub account the e-mail
// address belongs to; without it the API shows `author: null`.
type Person struct {
	Name, Email, Login string
}

// CommitSpec is a commit to make.
type CommitSpec struct {
	Author    Person // defaults to the repository owner's account
	Committer Person // defaults to Author
	Changes   []Change
	// SignedByGitHub gives the commit GitHub's own signature, as commits made through the web
	// interface or the API by a bot have.
	SignedByGitHub bool
	// Date defaults to the simulator's clock.
	Date time.Time
}

// PullSpec is a pull request to open.
type PullSpec struct {
	Title, Body string
	Author      string // login; a name ending in [bot] is a Bot; defaults to the head repository's owner
	Base        string // defaults to the default branch
	// Head is the head branch. With Changes it is made from the base's tip where it does not exist.
	Head     string
	HeadRepo *Repo // a fork; nil means the same repository
	Changes  []Change
	Message  string // of the commit that Changes make; defaults to Title
	// CommitAuthor of that commit; defaults to Author.
	CommitAuthor Person
	Draft        bool
	Labels       []string
	ClosesIssues []int
	// Association is author_association; empty means it follows from the author's permission.
	Association string
}

// PullEdit is what Edit changes; nil fields stay.
type PullEdit struct {
	Title, Body, Base *string
	By                string // the sender; defaults to the author
}

// Workflow is the GitHub Actions workflow a check run belongs to.
type Workflow struct {
	Path  string // e.g. .github/workflows/ci.yml
	Name  string // defaults to Path
	Event string // defaults to pull_request
	RunID int64  // 0: one per (sha, path, event)
}

// CheckOutput is the text of a check run.
type CheckOutput struct {
	Title, Summary, Text string
	Annotations          []Annotation
}

// Annotation is a remark on lines of a file in a check run.
type Annotation struct {
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int    // 0 means none
	Level                  string // notice, warning or failure
	Message, Title, Raw    string
}

// CheckSpec is a check run of CI's, for SetCheck.
type CheckSpec struct {
	App        int64 // app id; 0 means GitHub Actions (15368); an unknown id becomes an App of its own
	Workflow   Workflow
	Name       string
	Status     string // queued, in_progress or completed; follows from Conclusion when empty
	Conclusion string
	StartedAt  time.Time // defaults to the clock
	// CompletedAt defaults to the clock when the run is completed.
	CompletedAt time.Time
	Output      CheckOutput
	DetailsURL  string
	ExternalID  string
}

// CheckRun is a snapshot of a check run.
type CheckRun struct {
	ID, AppID, SuiteID     int64
	AppSlug                string
	Name, HeadSHA          string
	Status, Conclusion     string
	ExternalID, DetailsURL string
	StartedAt, CompletedAt time.Time
	Output                 CheckOutput
	Actions                []CheckAction
	Writes                 int // how often it was created or updated
}

// CheckAction is a button on a check run.
type CheckAction struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

// CheckRef is one required status check; AppID 0 means any source.
type CheckRef struct {
	Context string
	AppID   int64
}

// Comment is a snapshot of an issue comment.
type Comment struct {
	ID                   int64
	Number               int // of the issue or pull request
	Author, Body         string
	Reactions            []Reaction
	CreatedAt, UpdatedAt time.Time
}

// Reaction is one reaction to a comment.
type Reaction struct{ Login, Content string }

// Request is one entry of the request log.
type Request struct {
	Time         time.Time
	Method       string
	Route        string // template, e.g. /repos/{owner}/{repo}/pulls/{pull_number}; empty when unknown
	Operation    string // the name of a GraphQL operation, empty where it has none
	Path         string
	Query        string
	Status       int    // 0 when no answer was given
	App          string // the App's slug, where an App asked
	Installation int64  // where one asked
	Auth         string // none, app, installation or user
	// NotModified tells a 304 apart: it costs nothing.
	NotModified bool
}

// Delivery is one webhook delivery.
type Delivery struct {
	ID             int64
	GUID           string
	Event, Action  string
	App            string // slug
	InstallationID int64
	Repository     string // full name, or empty
	Body           []byte
	QueuedAt       time.Time
	// Attempts counts the tries; Status and Error are the last try's: 0 with an Error when no
	// answer came.
	Attempts int
	Status   int
	Error    string
	Duration time.Duration
	State    string // queued, held, delivered, failed or dropped
}

// Fault breaks requests on purpose. See SecondaryLimit, ServerError, Reset and their like for the usual
// ones.
type Fault struct {
	// Route is a method and template as in the request log, "GET /repos/{owner}/{repo}", a template
	// for every method, or "*".
	Route string
	// Operation, App (a slug) and Installation limit it further where they are set.
	Operation    string
	App          string
	Installation int64
	// Nth is the first matching request hit, counted from 1 since the fault was added, those that
	// another fault hit included; 0 means from the first on.
	Nth int
	// Times is how many matching requests are hit; 0 means 1 with Nth set, else all.
	Times  int
	Status int // 0 with only Delay set: answer normally, late
	Header map[string]string
	Body   string // JSON; empty means a message that fits the status
	Delay  time.Duration
	Drop   bool // close the connection without an answer
	Reset  bool // reset the connection: no orderly end of it
	Hang   bool // give no answer until the caller gives up
	After  bool // do the work first, then fail
	// ExpireToken ends the caller's token before the work.
	ExpireToken bool
	// Stale answers normally, except that lists lack what was written last, as GitHub's do for a moment
	// after a change: total_count, changed_files and review_comments already count it.
	Stale bool
	// BeforeWork is called before anything is done for the request, AfterWork when all of it is done and
	// no answer is given yet (not at all where the work is not done): a test can end its client there.
	// Neither may send requests that this same fault hits.
	BeforeWork, AfterWork func(Request)
}
