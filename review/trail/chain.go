package trail

import (
	"fmt"
	"strconv"
	"strings"
)

// PullChain is the chain of one pull request.
func PullChain(repoID int64, pull int) Chain {
	return Chain("pull:" + strconv.FormatInt(repoID, 10) + ":" + strconv.Itoa(pull))
}

// RepoChain is the chain of what concerns a repository and no pull request.
func RepoChain(repoID int64) Chain {
	return Chain("repo:" + strconv.FormatInt(repoID, 10))
}

// InstallationChain is the chain of what concerns no repository.
func InstallationChain(installation int64) Chain {
	return Chain("installation:" + strconv.FormatInt(installation, 10))
}

// subject is what a chain's key names; zero fields are not named.
type subject struct {
	repoID int64
	pull   int
}

// parse refuses every spelling but the one that the constructors write: two
// spellings of one subject would be two chains.
func (c Chain) parse() (subject, error) {
	var s subject
	var want Chain
	kind, rest, _ := strings.Cut(string(c), ":")
	switch kind {
	case "pull":
		repo, pull, _ := strings.Cut(rest, ":")
		s.repoID, _ = strconv.ParseInt(repo, 10, 64)
		s.pull, _ = strconv.Atoi(pull)
		want = PullChain(s.repoID, s.pull)
	case "repo":
		s.repoID, _ = strconv.ParseInt(rest, 10, 64)
		want = RepoChain(s.repoID)
	case "installation":
		id, _ := strconv.ParseInt(rest, 10, 64)
		want = InstallationChain(id)
	}
	if c == "" || c != want {
		return subject{}, fmt.Errorf(`chain key %q: want "pull:REPO_ID:NUMBER", "repo:REPO_ID" or "installation:ID"`, string(c))
	}
	return s, nil
}
