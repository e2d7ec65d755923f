package forge

import (
	"context"
	"time"
)

// Installation is one account that our App is installed on.
type Installation struct {
	ID        int64
	Account   string // login, for logs
	Suspended bool
}

// ListedRepo is a repository of an installation, as its list shows it.
type ListedRepo struct {
	Repo Repo
	// Inactive: archived or disabled, so that nobody can merge there.
	Inactive bool
	// OpenCount is how many issues and pull requests are open together; zero means
	// that there is no open pull request.
	OpenCount int
}

// OpenPull is an open pull request as a list shows it, with the newest run of each
// name that our own App has on its head.
type OpenPull struct {
	Number    int
	HeadSHA   string
	BaseRef   string
	Draft     bool
	UpdatedAt time.Time
	// Own are our runs: Name, ID, Status, Conclusion, ExternalID and StartedAt.
	Own []Check
	// Red: some check or status on the head failed, of whatever App. Ours count too.
	Red bool
	// Unread: the forge is behind with this one; nothing can be said of its checks.
	Unread bool
}

// PullsPage is one page of a repository's open pull requests, the one that changed
// last first.
type PullsPage struct {
	DefaultBranch string
	Inactive      bool
	Pulls         []OpenPull
	// Next continues the list; empty at its end.
	Next string
}

// Lister lists what our App can see, a page at a time, for a reconciler. Nobody
// waits for its calls.
type Lister interface {
	// Installations reads page 1, 2, 3 …; next is 0 after the last one.
	Installations(ctx context.Context, page int) (list []Installation, next int, err error)
	// InstallationRepos reads a page of the repositories of an installation.
	InstallationRepos(ctx context.Context, installation int64, page int) (list []ListedRepo, next int, err error)
	// OpenPulls reads a page of a repository's open pull requests in one call; after
	// is the Next of the page before, empty for the first.
	OpenPulls(ctx context.Context, repo Repo, after string) (PullsPage, error)
}
