package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// The routes of the lists.
const (
	routeInstallations     = "GET /app/installations"
	routeInstallationRepos = "GET /installation/repositories"
	routeOpenPulls         = "POST /graphql OpenPulls"
)

const (
	listPage  = 100 // GitHub's most
	pullsPage = 50  // with their checks: 2 points of GraphQL's 5,000 an hour
)

var _ forge.Lister = (*Host)(nil)

// Installations reads a page of the installations of our App, as the App itself.
func (h *Host) Installations(ctx context.Context, page int) ([]forge.Installation, int, error) {
	op := fmt.Sprintf("list installations, page %d", page)
	req, err := h.minter.rest.NewRequest(http.MethodGet, "app/installations?"+pageQuery(page), nil)
	if err != nil {
		return nil, 0, invalid(op, errors.New("the request cannot be formed"))
	}
	req.Header.Del("Accept") // ghinstallation adds its own
	a, err := send(ctx, h.minter.http, h.clock, op, call{route: routeInstallations, effect: read}, req)
	if err != nil {
		return nil, 0, err
	}
	var list []*gh.Installation
	if err := decode(op, a.body, &list); err != nil {
		return nil, 0, err
	}
	out := make([]forge.Installation, len(list))
	for i, inst := range list {
		if inst.GetID() <= 0 {
			return nil, 0, malformed(op, errors.New("an installation without id"))
		}
		out[i] = forge.Installation{ID: inst.GetID(), Account: inst.GetAccount().GetLogin(), Suspended: inst.SuspendedAt != nil}
	}
	return out, pageAfter(a.header, page, len(list)), nil
}

// InstallationRepos reads a page of what an installation may see.
func (h *Host) InstallationRepos(ctx context.Context, installation int64, page int) ([]forge.ListedRepo, int, error) {
	op := fmt.Sprintf("list repositories of installation %d, page %d", installation, page)
	c := &Client{host: h, installation: installation}
	var list gh.ListRepositories
	a, err := c.getJSON(ctx, op, call{route: routeInstallationRepos}, "installation/repositories?"+pageQuery(page), &list)
	if err != nil {
		return nil, 0, err
	}
	if list.TotalCount == nil {
		return nil, 0, malformed(op, errors.New("no total_count in the answer"))
	}
	out := make([]forge.ListedRepo, len(list.Repositories))
	for i, r := range list.Repositories {
		if r.GetID() <= 0 || r.GetName() == "" || r.GetOwner().GetLogin() == "" || r.OpenIssuesCount == nil {
			return nil, 0, malformed(op, errors.New("a repository without id, owner, name or open_issues_count"))
		}
		out[i] = forge.ListedRepo{
			Repo:     forge.Repo{ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName(), Installation: installation},
			Inactive: r.GetArchived() || r.GetDisabled(), OpenCount: r.GetOpenIssuesCount(),
		}
	}
	return out, pageAfter(a.header, page, len(list.Repositories)), nil
}

func pageQuery(page int) string {
	return url.Values{"per_page": {strconv.Itoa(listPage)}, "page": {strconv.Itoa(max(page, 1))}}.Encode()
}

// pageAfter follows GitHub's own word, the Link header. A page that holds nothing
// ends the list whatever it says.
func pageAfter(h http.Header, page, got int) int {
	if next := nextPage(h.Get("Link")); got > 0 && next > page {
		return next
	}
	return 0
}

// openPullsQuery asks for pull requests and our own runs on their heads. An App has
// one suite on a commit; a second is asked for to be safe. LATEST leaves one run a
// name, and we have four.
const openPullsQuery = `query OpenPulls($owner: String!, $name: String!, $app: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId isArchived isDisabled
    defaultBranchRef { name }
    pullRequests(states: [OPEN], first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number state isDraft baseRefName headRefOid updatedAt
        commits(last: 1) { nodes { commit {
          oid
          statusCheckRollup { state }
          checkSuites(first: 2, filterBy: {appId: $app}) { nodes {
            app { databaseId }
            checkRuns(first: 10, filterBy: {appId: $app, checkType: LATEST}) { nodes {
              databaseId name status conclusion startedAt externalId
            } }
          } }
        } } }
      }
    }
  }
}`

type openPullsData struct {
	Repository *struct {
		DatabaseID       int64      `json:"databaseId"`
		IsArchived       bool       `json:"isArchived"`
		IsDisabled       bool       `json:"isDisabled"`
		DefaultBranchRef *graphName `json:"defaultBranchRef"` // null: an empty repository
		PullRequests     *struct {
			PageInfo *struct {
				HasNextPage bool   `json:"hasNextPage"`
				EndCursor   string `json:"endCursor"`
			} `json:"pageInfo"`
			Nodes []*graphOpenPull `json:"nodes"`
		} `json:"pullRequests"`
	} `json:"repository"`
}

type graphOpenPull struct {
	Number      int       `json:"number"`
	State       string    `json:"state"`
	IsDraft     *bool     `json:"isDraft"`
	BaseRefName string    `json:"baseRefName"`
	HeadRefOID  string    `json:"headRefOid"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Commits     *struct {
		Nodes []*struct {
			Commit *graphOwnChecks `json:"commit"`
		} `json:"nodes"`
	} `json:"commits"`
}

type graphOwnChecks struct {
	OID    string `json:"oid"`
	Rollup *struct {
		State string `json:"state"`
	} `json:"statusCheckRollup"` // null: nothing reported
	CheckSuites *struct {
		Nodes []*struct {
			App *struct {
				DatabaseID int64 `json:"databaseId"`
			} `json:"app"`
			CheckRuns *struct {
				Nodes []*graphContext `json:"nodes"`
			} `json:"checkRuns"`
		} `json:"nodes"`
	} `json:"checkSuites"`
}

// OpenPulls reads a page of a repository's open pull requests with our checks.
func (h *Host) OpenPulls(ctx context.Context, repo forge.Repo, after string) (forge.PullsPage, error) {
	op := "list open pulls of " + repo.FullName()
	vars := map[string]any{"owner": repo.Owner, "name": repo.Name, "app": h.appID, "first": pullsPage, "after": nil}
	if after != "" {
		vars["after"] = after
	}
	var data openPullsData
	c := &Client{host: h, installation: repo.Installation}
	if err := c.query(ctx, op, routeOpenPulls, graphRequest{Query: openPullsQuery, Variables: vars}, &data); err != nil {
		return forge.PullsPage{}, err
	}
	return data.page(op, repo, h.appID, after)
}

func (d openPullsData) page(op string, repo forge.Repo, appID int64, after string) (forge.PullsPage, error) {
	r := d.Repository
	if r == nil || r.PullRequests == nil || r.PullRequests.PageInfo == nil {
		return forge.PullsPage{}, malformed(op, errors.New("no repository or no pull requests in the answer"))
	}
	if repo.ID != 0 && r.DatabaseID != repo.ID {
		return forge.PullsPage{}, &forge.Error{Kind: forge.KindNotFound, Op: op, Err: fmt.Errorf("that name now belongs to repository %d, not %d", r.DatabaseID, repo.ID)}
	}
	page := forge.PullsPage{Inactive: r.IsArchived || r.IsDisabled}
	if r.DefaultBranchRef != nil {
		page.DefaultBranch = r.DefaultBranchRef.Name
	}
	for _, n := range r.PullRequests.Nodes {
		pull, err := n.pull(appID)
		if err != nil {
			return forge.PullsPage{}, malformed(op, err)
		}
		page.Pulls = append(page.Pulls, pull)
	}
	if info := r.PullRequests.PageInfo; info.HasNextPage {
		if info.EndCursor == "" || info.EndCursor == after || len(page.Pulls) == 0 {
			return forge.PullsPage{}, malformed(op, errors.New("a list that does not go on"))
		}
		page.Next = info.EndCursor
	}
	return page, nil
}

func (n *graphOpenPull) pull(appID int64) (forge.OpenPull, error) {
	if n == nil || n.Number <= 0 || !isOID(n.HeadRefOID) || n.BaseRefName == "" || n.IsDraft == nil || n.State != "OPEN" {
		return forge.OpenPull{}, errors.New("a pull request without number, head, base, draft state, or one that is not open")
	}
	out := forge.OpenPull{Number: n.Number, HeadSHA: n.HeadRefOID, BaseRef: n.BaseRefName, Draft: *n.IsDraft, UpdatedAt: n.UpdatedAt.UTC()}
	// A pull request without commits, or one whose newest is not the head: GitHub
	// has not caught up with a push.
	if n.Commits == nil || len(n.Commits.Nodes) != 1 || n.Commits.Nodes[0] == nil || n.Commits.Nodes[0].Commit == nil ||
		n.Commits.Nodes[0].Commit.OID != n.HeadRefOID {
		out.Unread = true
		return out, nil
	}
	head := n.Commits.Nodes[0].Commit
	out.Red = head.Rollup != nil && (head.Rollup.State == "FAILURE" || head.Rollup.State == "ERROR")
	if head.CheckSuites == nil {
		return out, errors.New("a head without check suites")
	}
	for _, s := range head.CheckSuites.Nodes {
		if s == nil || s.App == nil || s.App.DatabaseID != appID || s.CheckRuns == nil {
			continue // another App's, or an App that is gone: not ours
		}
		for _, run := range s.CheckRuns.Nodes {
			if run == nil {
				return out, errors.New("an empty check")
			}
			row, err := run.run()
			if err != nil {
				return out, err
			}
			row.AppID = appID
			out.Own = append(out.Own, row)
		}
	}
	return out, nil
}
