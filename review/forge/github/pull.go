package github

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// pullQuery brings everything of forge.Pull in one call.
const pullQuery = `query Pull($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    databaseId
    isPrivate
    defaultBranchRef { name }
    pullRequest(number: $number) {
      number title body url state isDraft updatedAt
      author { __typename login ... on User { databaseId } ... on Bot { databaseId } }
      authorAssociation
      baseRefName baseRefOid headRefName headRefOid
      headRepository { nameWithOwner }
      isCrossRepository changedFiles additions deletions
      labels(first: 100) { nodes { name } }
      closingIssuesReferences(first: 25) { nodes { number title url } }
      commits(first: 100) {
        totalCount
        nodes { commit {
          oid message
          author { name email user { login } }
          committer { name email user { login } }
          parents(first: 10) { nodes { oid } }
          signature { isValid wasSignedByGitHub }
        } }
      }
    }
  }
}`

// Pointers mark what GitHub's schema lets be null.
type pullData struct {
	Repository *struct {
		DatabaseID       int64      `json:"databaseId"`
		IsPrivate        bool       `json:"isPrivate"`
		DefaultBranchRef *graphName `json:"defaultBranchRef"`
		PullRequest      *graphPull `json:"pullRequest"`
	} `json:"repository"`
}

type graphName struct {
	Name string `json:"name"`
}

type graphPull struct {
	Number         int         `json:"number"`
	Title          string      `json:"title"`
	Body           string      `json:"body"`
	URL            string      `json:"url"`
	State          string      `json:"state"`
	IsDraft        bool        `json:"isDraft"`
	UpdatedAt      time.Time   `json:"updatedAt"`
	Author         *graphActor `json:"author"` // null: the account is gone
	Association    string      `json:"authorAssociation"`
	BaseRefName    string      `json:"baseRefName"`
	BaseRefOID     string      `json:"baseRefOid"`
	HeadRefName    string      `json:"headRefName"`
	HeadRefOID     string      `json:"headRefOid"`
	HeadRepository *struct {
		NameWithOwner string `json:"nameWithOwner"`
	} `json:"headRepository"` // null: the fork is gone (case 63)
	IsCrossRepository bool `json:"isCrossRepository"`
	ChangedFiles      *int `json:"changedFiles"`
	Additions         int  `json:"additions"`
	Deletions         int  `json:"deletions"`
	Labels            *struct {
		Nodes []*graphName `json:"nodes"`
	} `json:"labels"`
	Closing *struct {
		Nodes []*struct {
			Number int    `json:"number"`
			Title  string `json:"title"`
			URL    string `json:"url"`
		} `json:"nodes"`
	} `json:"closingIssuesReferences"`
	Commits *struct {
		TotalCount int `json:"totalCount"`
		Nodes      []*struct {
			Commit *graphCommit `json:"commit"`
		} `json:"nodes"`
	} `json:"commits"`
}

type graphActor struct {
	Typename   string `json:"__typename"`
	Login      string `json:"login"`
	DatabaseID int64  `json:"databaseId"`
}

type graphCommit struct {
	OID       string       `json:"oid"`
	Message   string       `json:"message"`
	Author    *graphPerson `json:"author"`
	Committer *graphPerson `json:"committer"`
	Parents   *struct {
		Nodes []*struct {
			OID string `json:"oid"`
		} `json:"nodes"`
	} `json:"parents"`
	Signature *struct {
		IsValid           bool `json:"isValid"`
		WasSignedByGitHub bool `json:"wasSignedByGitHub"`
	} `json:"signature"`
}

type graphPerson struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	User  *struct {
		Login string `json:"login"`
	} `json:"user"`
}

// Pull reads the facts of a pull request in one call.
func (c *Client) Pull(ctx context.Context, ref forge.PullRef) (forge.Pull, error) {
	op := fmt.Sprintf("read pull %s#%d", ref.Repo.FullName(), ref.Number)
	var data pullData
	err := c.query(ctx, op, routePull, graphRequest{Query: pullQuery, Variables: map[string]any{
		"owner": ref.Repo.Owner, "name": ref.Repo.Name, "number": ref.Number,
	}}, &data)
	if err != nil {
		return forge.Pull{}, err
	}
	return data.pull(op, ref)
}

// pull checks the answer and makes a forge.Pull of it.
func (d pullData) pull(op string, ref forge.PullRef) (forge.Pull, error) {
	if d.Repository == nil || d.Repository.PullRequest == nil {
		return forge.Pull{}, malformed(op, errors.New("no pull request in the answer"))
	}
	// A name can be taken over after a rename or deletion; an id cannot.
	if ref.Repo.ID != 0 && d.Repository.DatabaseID != ref.Repo.ID {
		return forge.Pull{}, &forge.Error{Kind: forge.KindNotFound, Op: op, Err: fmt.Errorf("that name now belongs to repository %d, not %d", d.Repository.DatabaseID, ref.Repo.ID)}
	}
	if d.Repository.DefaultBranchRef == nil || d.Repository.DefaultBranchRef.Name == "" {
		return forge.Pull{}, malformed(op, errors.New("no default branch in the answer"))
	}
	p := d.Repository.PullRequest
	state, err := p.check(ref.Number)
	if err != nil {
		return forge.Pull{}, malformed(op, err)
	}
	out := forge.Pull{
		Ref: ref, Title: p.Title, Body: p.Body, URL: p.URL, Author: p.Author.account(), State: state, Draft: p.IsDraft, Association: forge.Association(p.Association),
		UpdatedAt: p.UpdatedAt,
		BaseRef:   p.BaseRefName, BaseSHA: p.BaseRefOID, HeadRef: p.HeadRefName, HeadSHA: p.HeadRefOID,
		CrossRepository: p.IsCrossRepository,
		DefaultBranch:   d.Repository.DefaultBranchRef.Name, Private: d.Repository.IsPrivate,
		ChangedFiles: *p.ChangedFiles, Additions: p.Additions, Deletions: p.Deletions,
		CommitsTotal: p.Commits.TotalCount,
	}
	out.Ref.Repo.ID = d.Repository.DatabaseID
	if p.HeadRepository != nil {
		out.HeadRepo = p.HeadRepository.NameWithOwner
	} else {
		out.CrossRepository = true // a head without a repository gets the least trust
	}
	if out.Commits, err = p.commits(); err != nil {
		return forge.Pull{}, malformed(op, err)
	}
	out.Labels, out.Linked = p.labels(), p.linked()
	return out, nil
}

// check looks for what a session cannot do without.
func (p *graphPull) check(number int) (forge.PullState, error) {
	state, err := pullState(p.State)
	switch {
	case err != nil:
		return "", err
	case p.Number != number:
		return "", fmt.Errorf("pull request %d was answered, not %d", p.Number, number)
	case !isOID(p.HeadRefOID):
		return "", errors.New("headRefOid is not a commit id")
	case !isOID(p.BaseRefOID):
		return "", errors.New("baseRefOid is not a commit id")
	case p.BaseRefName == "":
		return "", errors.New("baseRefName is empty")
	case p.ChangedFiles == nil || *p.ChangedFiles < 0:
		return "", errors.New("changedFiles is missing")
	case p.Commits == nil:
		return "", errors.New("commits is missing")
	}
	return state, nil
}

func pullState(s string) (forge.PullState, error) {
	switch s {
	case "OPEN":
		return forge.PullOpen, nil
	case "CLOSED":
		return forge.PullClosed, nil
	case "MERGED":
		return forge.PullMerged, nil
	}
	return "", errors.New("state is none of OPEN, CLOSED and MERGED")
}

// account spells the actor as REST does. A deleted account is GitHub's ghost.
func (a *graphActor) account() forge.Account {
	if a == nil || a.Login == "" {
		return forge.Account{Login: "ghost"}
	}
	return forge.Account{ID: a.DatabaseID, Login: restLogin(a.Typename, a.Login), Bot: a.Typename == "Bot"}
}

func (p *graphPull) commits() ([]forge.Commit, error) {
	var out []forge.Commit
	for _, n := range p.Commits.Nodes {
		if n == nil || n.Commit == nil || !isOID(n.Commit.OID) {
			return nil, errors.New("a commit without id")
		}
		if len(out) == forge.MaxCommits {
			break
		}
		out = append(out, n.Commit.commit())
	}
	if p.Commits.TotalCount < len(out) {
		return nil, errors.New("fewer commits counted than listed")
	}
	return out, nil
}

func (c *graphCommit) commit() forge.Commit {
	out := forge.Commit{SHA: c.OID, Message: c.Message, Author: c.Author.identity(), Committer: c.Committer.identity()}
	if c.Parents != nil {
		for _, p := range c.Parents.Nodes {
			if p != nil {
				out.Parents = append(out.Parents, p.OID)
			}
		}
	}
	if c.Signature != nil {
		out.Verified = c.Signature.IsValid
		out.SignedByForge = c.Signature.IsValid && c.Signature.WasSignedByGitHub
	}
	return out
}

func (p *graphPerson) identity() forge.Identity {
	if p == nil {
		return forge.Identity{}
	}
	id := forge.Identity{Name: p.Name, Email: p.Email}
	if p.User != nil {
		id.Login = p.User.Login
	}
	return id
}

func (p *graphPull) labels() []string {
	if p.Labels == nil {
		return nil
	}
	var out []string
	for _, l := range p.Labels.Nodes {
		if l != nil {
			out = append(out, l.Name)
		}
	}
	return out
}

func (p *graphPull) linked() []forge.Issue {
	if p.Closing == nil {
		return nil
	}
	var out []forge.Issue
	for _, i := range p.Closing.Nodes {
		if i != nil {
			out = append(out, forge.Issue{Number: i.Number, Title: i.Title, URL: i.URL})
		}
	}
	return out
}
