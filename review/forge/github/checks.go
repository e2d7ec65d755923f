package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// checkBody is a check run as it is written. go-github's own options drop an
// empty list of actions, which would leave the buttons of an earlier state.
type checkBody struct {
	Name       string        `json:"name"`
	HeadSHA    string        `json:"head_sha,omitempty"`
	ExternalID string        `json:"external_id,omitempty"`
	DetailsURL string        `json:"details_url,omitempty"`
	Status     string        `json:"status"`
	Conclusion string        `json:"conclusion,omitempty"`
	StartedAt  *time.Time    `json:"started_at,omitempty"`
	Output     *checkOutput  `json:"output,omitempty"`
	Actions    []checkAction `json:"actions"`
}

type checkOutput struct {
	Title       string            `json:"title"`
	Summary     string            `json:"summary"`
	Text        string            `json:"text,omitempty"`
	Annotations []checkAnnotation `json:"annotations,omitempty"`
}

type checkAnnotation struct {
	Path      string `json:"path"`
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
	Level     string `json:"annotation_level"`
	Title     string `json:"title,omitempty"`
	Message   string `json:"message"`
}

type checkAction struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

// body checks what GitHub does not: it takes a run without conclusion for
// unfinished whatever its status says, and one with a conclusion for finished.
func body(w forge.CheckWrite) (checkBody, error) {
	switch {
	case w.Name == "":
		return checkBody{}, errors.New("a check run needs a name")
	case w.Status == "completed" && w.Conclusion == "":
		return checkBody{}, errors.New("a completed check run needs a conclusion")
	case w.Status != "completed" && w.Conclusion != "":
		return checkBody{}, fmt.Errorf("a check run that is %q cannot have a conclusion", w.Status)
	}
	b := checkBody{
		Name: w.Name, ExternalID: w.ExternalID, DetailsURL: w.DetailsURL,
		Status: w.Status, Conclusion: w.Conclusion, Actions: []checkAction{},
	}
	if !w.StartedAt.IsZero() {
		at := w.StartedAt.UTC().Truncate(time.Second)
		b.StartedAt = &at
	}
	if w.Title != "" || w.Summary != "" || w.Text != "" || len(w.Annotations) > 0 {
		b.Output = &checkOutput{Title: w.Title, Summary: w.Summary, Text: w.Text}
		for _, a := range w.Annotations {
			b.Output.Annotations = append(b.Output.Annotations, checkAnnotation(a))
		}
	}
	for _, a := range w.Actions {
		b.Actions = append(b.Actions, checkAction(a))
	}
	return b, nil
}

// CreateCheck writes a new check run. An error of kind Unavailable leaves open
// whether it exists: find it by its external id before making another.
func (c *Client) CreateCheck(ctx context.Context, repo forge.Repo, w forge.CheckWrite) (int64, error) {
	op := fmt.Sprintf("create check %q on %s %s", oneLine(w.Name), repo.FullName(), short(w.HeadSHA))
	if !isOID(w.HeadSHA) {
		return 0, invalid(op, errors.New("want a full commit id"))
	}
	b, err := body(w)
	if err != nil {
		return 0, invalid(op, err)
	}
	b.HeadSHA = w.HeadSHA
	path, err := repoPath(repo, "check-runs")
	if err != nil {
		return 0, invalid(op, err)
	}
	a, err := c.rest(ctx, op, call{route: routeCreateCheck, effect: creates}, http.MethodPost, path, b)
	if err != nil {
		return 0, err
	}
	var made gh.CheckRun
	if err := decode(op, a.body, &made); err != nil {
		return 0, err
	}
	if made.GetID() <= 0 || made.GetHeadSHA() != w.HeadSHA {
		return 0, malformed(op, errors.New("no id, or another commit, in the answer"))
	}
	return made.GetID(), nil
}

// UpdateCheck puts a check run of ours into the given state. Annotations are
// appended by GitHub, so a call that carries some is not repeated by itself.
func (c *Client) UpdateCheck(ctx context.Context, repo forge.Repo, id int64, w forge.CheckWrite) error {
	op := fmt.Sprintf("update check %q (%d) on %s %s", oneLine(w.Name), id, repo.FullName(), short(w.HeadSHA))
	b, err := body(w)
	if err != nil {
		return invalid(op, err)
	}
	path, err := repoPath(repo, "check-runs", strconv.FormatInt(id, 10))
	if err != nil {
		return invalid(op, err)
	}
	k := call{route: routeUpdateCheck, effect: idempotent}
	if len(w.Annotations) > 0 {
		k.effect = creates
	}
	a, err := c.rest(ctx, op, k, http.MethodPatch, path, b)
	if err != nil {
		return err
	}
	var now gh.CheckRun
	if err := decode(op, a.body, &now); err != nil {
		return err
	}
	if now.GetID() != id {
		return malformed(op, errors.New("another check run in the answer"))
	}
	return nil
}

// maxCheckListPages bounds our own runs looked through on one commit.
const maxCheckListPages = 10

// OwnChecks lists our App's runs of a name on a commit, newest first. GitHub is
// asked for our App's only, and the answer is held to it.
func (c *Client) OwnChecks(ctx context.Context, repo forge.Repo, sha, name string) ([]forge.Check, error) {
	op := fmt.Sprintf("list our checks %q on %s %s", oneLine(name), repo.FullName(), short(sha))
	if !isOID(sha) {
		return nil, invalid(op, errors.New("want a full commit id"))
	}
	path, err := repoPath(repo, "commits", sha, "check-runs")
	if err != nil {
		return nil, invalid(op, err)
	}
	query := url.Values{"check_name": {name}, "app_id": {strconv.FormatInt(c.host.appID, 10)}, "filter": {"all"}}
	var out []forge.Check
	err = c.pages(ctx, op, call{route: routeListChecks}, path, query, maxCheckListPages, func(body []byte) (bool, error) {
		var page gh.ListCheckRunsResults
		if err := decode(op, body, &page); err != nil {
			return false, err
		}
		if page.Total == nil {
			return false, malformed(op, errors.New("no total_count in the answer"))
		}
		for _, r := range page.CheckRuns {
			if r.GetID() <= 0 {
				return false, malformed(op, errors.New("a check run without id"))
			}
			if r.GetApp().GetID() == c.host.appID && r.GetName() == name && r.GetHeadSHA() == sha {
				out = append(out, ownCheck(r))
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b forge.Check) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.ID, a.ID))
	})
	return out, nil
}

func ownCheck(r *gh.CheckRun) forge.Check {
	return forge.Check{
		Kind: forge.CheckRun, ID: r.GetID(), Name: r.GetName(), AppID: r.GetApp().GetID(), App: r.GetApp().GetSlug(),
		Suite: r.GetCheckSuite().GetID(), Status: r.GetStatus(), Conclusion: r.GetConclusion(), ExternalID: r.GetExternalID(),
		Title: r.GetOutput().GetTitle(), Summary: r.GetOutput().GetSummary(), URL: r.GetDetailsURL(),
		StartedAt: r.GetStartedAt().Time, CompletedAt: r.GetCompletedAt().Time,
		Annotations: r.GetOutput().GetAnnotationsCount(),
	}
}
