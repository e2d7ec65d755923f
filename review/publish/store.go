package publish

import (
	"context"
	"errors"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// Key is what has one check run: a name on a head.
type Key struct {
	RepoID  int64
	HeadSHA string
	Name    string
}

// Publication is the row of a key: what was posted, what was meant to be, and
// who may write now.
type Publication struct {
	Key  Key
	Repo forge.Repo

	// CheckRunID is the run that we know to be ours; 0 before the first answer.
	CheckRunID int64
	// ExternalID and SessionID are those of the run that is known or intended.
	ExternalID string
	SessionID  string
	// RerunFor is the session for which a re-run began anew.
	RerunFor string
	// StartedAt is sent with every write, so that a run keeps its beginning.
	StartedAt time.Time

	// Creating: a POST under ExternalID was intended and not confirmed. PriorRunID
	// is the run that it was to replace, 0 when there was none.
	Creating   bool
	PriorRunID int64
	// Suspect: a POST's outcome was never learned. It may still appear, so our
	// runs are listed once more when the check completes.
	Suspect bool

	// Status, Conclusion, Title and Digest are what the forge confirmed.
	Status     string
	Conclusion string
	Title      string
	Digest     string
	// Intended is the digest of a write that was not confirmed; empty when the
	// last one was. While it is set, nothing counts as unchanged.
	Intended string

	// Annotated names the set of annotations that the known run bears, and how much of
	// it; empty for none. While another run is intended it is still the prior one's.
	// Annotating is what the run bears once a write that was not confirmed has
	// arrived: whether it did is asked before any is sent again.
	Annotated  string
	Annotating string

	UpdatedAt time.Time

	// Owner holds the claim until LeaseUntil. Fence grows with every claim; a save
	// with an older one is refused.
	Owner      string
	LeaseUntil time.Time
	Fence      int64
}

// Open reports whether the forge may still show a run of this key that waits.
func (p Publication) Open() bool {
	return p.Creating || p.Intended != "" || p.Suspect || (p.CheckRunID != 0 && p.Status != statusCompleted)
}

// Claim asks for the right to write a key's check.
type Claim struct {
	Key   Key
	Repo  forge.Repo
	Owner string    // who asks; the same owner gets its own claim again
	Now   time.Time // a claim that ended before it is free
	Until time.Time
	// View is stored whether or not the claim is granted, so that whoever writes
	// next shows it. A live view takes the pull request's other heads, and on this
	// one the name's Rival, out of the join.
	View View
}

// Claimed is the answer to a claim.
type Claimed struct {
	// Granted is false while another owner holds the key; Publication then says
	// until when.
	Granted     bool
	Publication Publication
	// Views are the live views of the key and the one just stored.
	Views []View
}

// ErrClaimLost says that somebody else claimed the key meanwhile.
var ErrClaimLost = errors.New("the claim on this check was lost to another process")

// Store keeps publications. Each method is one transaction.
type Store interface {
	// ClaimPublication stores the view, creates the key's row when there is none,
	// and takes it for the owner when it is free.
	ClaimPublication(ctx context.Context, c Claim) (Claimed, error)
	// SavePublication writes the row, provided that p.Fence is still the row's;
	// ErrClaimLost otherwise. A zero LeaseUntil frees the key.
	SavePublication(ctx context.Context, p Publication) error
	// OpenPublications lists the publications of a pull request, on any head and
	// name, that the forge may show as waiting or that speak for it or, on the same
	// head, for another.
	OpenPublications(ctx context.Context, repoID int64, pull int) ([]Publication, error)
	// StalePublications lists open publications of any pull request that nobody
	// wrote since before, oldest first: what a killed process left behind.
	StalePublications(ctx context.Context, before time.Time, limit int) ([]Publication, error)
}
