package github

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// contextsFields reads both of GitHub's check systems from a commit's rollup.
// Its state is an aggregate and is not asked for (case 109).
const contextsFields = `statusCheckRollup { contexts(first: 100, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          __typename
          ... on CheckRun {
            databaseId name status conclusion startedAt completedAt detailsUrl externalId title summary
            checkSuite {
              databaseId
              app { databaseId slug }
              workflowRun { event file { path } }
            }
          }
          ... on StatusContext { context state targetUrl description createdAt creator { __typename login } }
        }
      } }`

// graphHead is the commit of a head, found by its id.
type graphHead struct {
	OID    string `json:"oid"`
	Rollup *struct {
		Contexts *graphContexts `json:"contexts"`
	} `json:"statusCheckRollup"` // null: nothing reported
}

type graphContexts struct {
	TotalCount int `json:"totalCount"`
	PageInfo   struct {
		HasNextPage bool   `json:"hasNextPage"`
		EndCursor   string `json:"endCursor"`
	} `json:"pageInfo"`
	Nodes []*graphContext `json:"nodes"`
}

// graphContext is a CheckRun or a StatusContext.
type graphContext struct {
	Typename string `json:"__typename"`

	DatabaseID  int64      `json:"databaseId"`
	Name        string     `json:"name"`
	Status      string     `json:"status"`
	Conclusion  *string    `json:"conclusion"`
	StartedAt   *time.Time `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt"`
	DetailsURL  string     `json:"detailsUrl"`
	ExternalID  string     `json:"externalId"`
	Title       string     `json:"title"`
	Summary     string     `json:"summary"`
	CheckSuite  *struct {
		DatabaseID int64 `json:"databaseId"`
		App        *struct {
			DatabaseID int64  `json:"databaseId"`
			Slug       string `json:"slug"`
		} `json:"app"`
		WorkflowRun *struct {
			Event string `json:"event"`
			File  *struct {
				Path string `json:"path"`
			} `json:"file"`
		} `json:"workflowRun"`
	} `json:"checkSuite"`

	Context     string      `json:"context"`
	State       string      `json:"state"`
	TargetURL   string      `json:"targetUrl"`
	Description string      `json:"description"`
	CreatedAt   *time.Time  `json:"createdAt"`
	Creator     *graphActor `json:"creator"`
}

// rows turns a page's nodes into checks.
func (c *graphContexts) rows() ([]forge.Check, error) {
	out := make([]forge.Check, 0, len(c.Nodes))
	for _, n := range c.Nodes {
		if n == nil {
			return nil, errors.New("an empty check")
		}
		row, err := n.check()
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

func (n *graphContext) check() (forge.Check, error) {
	switch n.Typename {
	case "CheckRun":
		return n.run()
	case "StatusContext":
		return n.status()
	}
	return forge.Check{}, errors.New("a check that is neither run nor status")
}

func (n *graphContext) run() (forge.Check, error) {
	if n.Name == "" || n.DatabaseID <= 0 || n.Status == "" {
		return forge.Check{}, errors.New("a check run without id, name or status")
	}
	row := forge.Check{
		Kind: forge.CheckRun, ID: n.DatabaseID, Name: n.Name,
		Status: strings.ToLower(n.Status), Conclusion: strings.ToLower(deref(n.Conclusion)),
		ExternalID: n.ExternalID, Title: n.Title, Summary: n.Summary, URL: n.DetailsURL,
		StartedAt: deref(n.StartedAt), CompletedAt: deref(n.CompletedAt),
	}
	if (row.Status == "completed") != (row.Conclusion != "") {
		return forge.Check{}, fmt.Errorf("check run %d is %s with conclusion %q", n.DatabaseID, oneLine(row.Status), oneLine(row.Conclusion))
	}
	if s := n.CheckSuite; s != nil {
		row.Suite = s.DatabaseID
		if s.App != nil {
			row.AppID, row.App = s.App.DatabaseID, s.App.Slug
		}
		if w := s.WorkflowRun; w != nil {
			row.Event = w.Event
			if w.File != nil {
				row.Workflow = w.File.Path
			}
		}
	}
	return row, nil
}

func (n *graphContext) status() (forge.Check, error) {
	if n.Context == "" || n.State == "" {
		return forge.Check{}, errors.New("a status without context or state")
	}
	row := forge.Check{
		Kind: forge.CommitStatus, Name: n.Context, Title: n.Description, URL: n.TargetURL,
		StartedAt: deref(n.CreatedAt),
	}
	if n.Creator != nil {
		row.App = restLogin(n.Creator.Typename, n.Creator.Login)
	}
	switch state := strings.ToLower(n.State); state {
	case "pending", "expected":
		row.Status = "pending"
	default:
		row.Status, row.Conclusion, row.CompletedAt = "completed", state, row.StartedAt
	}
	return row, nil
}

// deref reads an optional value; absent is the zero value.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
