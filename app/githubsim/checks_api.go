package githubsim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

func checkRoutes() []route {
	const repo = "/repos/{owner}/{repo}"
	return []route{
		{"POST " + repo + "/check-runs", anyToken, "checks:write", createRun},
		{"GET " + repo + "/check-runs/{check_run_id}", anyToken, "checks:read", getRun},
		{"PATCH " + repo + "/check-runs/{check_run_id}", anyToken, "checks:write", updateRun},
		{"GET " + repo + "/check-runs/{check_run_id}/annotations", anyToken, "checks:read", listAnnotations},
		{"POST " + repo + "/check-runs/{check_run_id}/rerequest", anyToken, "checks:write", rerequestRun},
		{"GET " + repo + "/commits/{ref}/check-runs", anyToken, "checks:read", listRuns},
		{"GET " + repo + "/commits/{ref}/check-suites", anyToken, "checks:read", listSuites},
		{"GET " + repo + "/check-suites/{check_suite_id}", anyToken, "checks:read", getSuite},
		{"GET " + repo + "/check-suites/{check_suite_id}/check-runs", anyToken, "checks:read", listSuiteRuns},
		{"POST " + repo + "/check-suites/{check_suite_id}/rerequest", anyToken, "checks:write", rerequestSuite},
	}
}

// runInput is the body of create and update; pointers tell absent from empty.
type runInput struct {
	Name        *string       `json:"name"`
	HeadSHA     *string       `json:"head_sha"`
	DetailsURL  *string       `json:"details_url"`
	ExternalID  *string       `json:"external_id"`
	Status      *string       `json:"status"`
	Conclusion  *string       `json:"conclusion"`
	StartedAt   *time.Time    `json:"started_at"`
	CompletedAt *time.Time    `json:"completed_at"`
	Output      *outputInput  `json:"output"`
	Actions     []CheckAction `json:"actions"`
}

type outputInput struct {
	Title       *string           `json:"title"`
	Summary     *string           `json:"summary"`
	Text        *string           `json:"text"`
	Annotations []annotationInput `json:"annotations"`
}

type annotationInput struct {
	Path        *string `json:"path"`
	StartLine   *int    `json:"start_line"`
	EndLine     *int    `json:"end_line"`
	StartColumn int     `json:"start_column"`
	EndColumn   int     `json:"end_column"`
	Level       *string `json:"annotation_level"`
	Message     *string `json:"message"`
	Title       string  `json:"title"`
	Raw         string  `json:"raw_details"`
}

func createRun(c *call) (*reply, error) {
	app := c.app()
	if app == nil {
		return nil, refuse(http.StatusForbidden, "You must authenticate via a GitHub App.")
	}
	var in runInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := in.check(true); err != nil {
		return nil, err
	}
	if _, err := c.repo.store.Commit(*in.HeadSHA); err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+*in.HeadSHA)
	}
	run := c.repo.suite(app, *in.HeadSHA, c.repo.branchOf(*in.HeadSHA), Workflow{}).newRun(*in.Name)
	run.apply(in)
	if err := run.announce(true); err != nil {
		return nil, err
	}
	return created(run.json())
}

func (c *call) run() (*checkRun, error) {
	id, err := c.id("check_run_id")
	if err != nil {
		return nil, err
	}
	if run := c.repo.findRun(id); run != nil {
		return run, nil
	}
	return nil, notFound()
}

func getRun(c *call) (*reply, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	return ok(run.json())
}

func updateRun(c *call) (*reply, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	if run.suite.app != c.app() {
		return nil, refuse(http.StatusForbidden, fmt.Sprintf("Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.", run.suite.app.spec.ID))
	}
	var in runInput
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := in.check(false); err != nil {
		return nil, err
	}
	if in.Name != nil {
		run.name = *in.Name
	}
	changed := in.Status != nil || in.Conclusion != nil
	run.apply(in)
	if changed {
		err = run.announce(false)
	}
	if err != nil {
		return nil, err
	}
	return ok(run.json())
}

// apply takes over what was sent. Annotations are added to those that are there.
func (run *checkRun) apply(in runInput) {
	now := run.suite.repo.sim.now()
	run.writes++
	if in.DetailsURL != nil {
		run.details = *in.DetailsURL
	}
	if in.ExternalID != nil {
		run.externalID = *in.ExternalID
	}
	if in.StartedAt != nil {
		run.started = in.StartedAt.UTC()
	}
	if in.Status != nil {
		run.status = *in.Status
		if run.status != "completed" {
			run.conclusion, run.completed = "", time.Time{}
		}
	}
	if in.Conclusion != nil {
		run.status, run.conclusion = "completed", *in.Conclusion
		run.completed = now
	}
	if in.CompletedAt != nil {
		run.completed = in.CompletedAt.UTC()
	}
	if in.Actions != nil {
		run.actions = slices.Clone(in.Actions)
	}
	if in.Output == nil {
		return
	}
	if in.Output.Title != nil {
		run.title = in.Output.Title
	}
	if in.Output.Summary != nil {
		run.summary = in.Output.Summary
	}
	if in.Output.Text != nil {
		run.text = in.Output.Text
	}
	for _, a := range in.Output.Annotations {
		run.annotations = append(run.annotations, Annotation{
			Path: *a.Path, StartLine: *a.StartLine, EndLine: *a.EndLine, StartColumn: a.StartColumn, EndColumn: a.EndColumn,
			Level: *a.Level, Message: *a.Message, Title: a.Title, Raw: a.Raw,
		})
	}
}

func listAnnotations(c *call) (*reply, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	from, to := c.page(len(run.annotations))
	out := []obj{}
	for _, a := range run.annotations[from:to] {
		out = append(out, a.json(c.repo, run.suite.sha))
	}
	return ok(out)
}

func rerequestRun(c *call) (*reply, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	run.suite.reset = true
	if err := run.send("rerequested", c.me.account(), nil); err != nil {
		return nil, err
	}
	return created(obj{})
}

// filterRuns narrows a list as the query asks.
func (c *call) filterRuns(all []*checkRun) []*checkRun {
	app, _ := strconv.ParseInt(c.query("app_id"), 10, 64)
	var out []*checkRun
	for _, run := range all {
		if n := c.query("check_name"); n != "" && n != run.name {
			continue
		}
		if s := c.query("status"); s != "" && s != run.status {
			continue
		}
		if app != 0 && app != run.suite.app.spec.ID {
			continue
		}
		out = append(out, run)
	}
	return out
}

// runs are the runs of suites of one commit, all of them or the newest of each name. A stale answer
// lacks the commit's newest run: one before it under its name is then the newest.
func (c *call) runs(suites []*checkSuite, all bool) []*checkRun {
	var newest *checkRun
	if c.stale && len(suites) > 0 {
		for _, run := range suites[0].repo.runsAt(suites[0].sha) {
			if newest == nil || run.id > newest.id {
				newest = run
			}
		}
	}
	var out []*checkRun
	for _, s := range suites {
		list := slices.DeleteFunc(slices.Clone(s.runs), func(run *checkRun) bool { return run == newest })
		if !all {
			list = latestOf(list)
		}
		out = append(out, list...)
	}
	return out
}

// runList answers a list of runs, newest first.
func (c *call) runList(suites []*checkSuite) (*reply, error) {
	all := c.query("filter") == "all"
	stale := c.stale
	c.stale = false
	total := len(c.filterRuns(c.runs(suites, all)))
	c.stale = stale
	shown := c.filterRuns(c.runs(suites, all))
	c.stale = false
	slices.SortFunc(shown, func(a, b *checkRun) int { return int(b.id - a.id) })
	from, to := c.page(len(shown))
	list := []obj{}
	for _, run := range shown[from:to] {
		list = append(list, run.json())
	}
	return ok(obj{"total_count": total, "check_runs": list})
}

// suitesAt are the suites on a commit, oldest first.
func (r *Repo) suitesAt(sha string) []*checkSuite {
	var out []*checkSuite
	for _, s := range r.suites {
		if s.sha == sha {
			out = append(out, s)
		}
	}
	return out
}

func listRuns(c *call) (*reply, error) {
	commit, err := c.findCommit(c.path("ref"))
	if err != nil {
		return nil, err
	}
	return c.runList(c.repo.suitesAt(commit.SHA))
}

func listSuites(c *call) (*reply, error) {
	commit, err := c.findCommit(c.path("ref"))
	if err != nil {
		return nil, err
	}
	app, _ := strconv.ParseInt(c.query("app_id"), 10, 64)
	var all []*checkSuite
	for _, s := range c.repo.suites {
		name := c.query("check_name")
		named := name == "" || slices.ContainsFunc(s.runs, func(run *checkRun) bool { return run.name == name })
		if s.sha == commit.SHA && (app == 0 || app == s.app.spec.ID) && named {
			all = append(all, s)
		}
	}
	from, to := c.page(len(all))
	list := []obj{}
	for _, s := range all[from:to] {
		list = append(list, s.json())
	}
	return ok(obj{"total_count": len(all), "check_suites": list})
}

func (c *call) suite() (*checkSuite, error) {
	id, err := c.id("check_suite_id")
	if err != nil {
		return nil, err
	}
	for _, s := range c.repo.suites {
		if s.id == id {
			return s, nil
		}
	}
	return nil, notFound()
}

func getSuite(c *call) (*reply, error) {
	s, err := c.suite()
	if err != nil {
		return nil, err
	}
	return ok(s.json())
}

func listSuiteRuns(c *call) (*reply, error) {
	s, err := c.suite()
	if err != nil {
		return nil, err
	}
	return c.runList([]*checkSuite{s})
}

func rerequestSuite(c *call) (*reply, error) {
	s, err := c.suite()
	if err != nil {
		return nil, err
	}
	s.reset = true
	if err := s.send("rerequested", true); err != nil {
		return nil, err
	}
	return created(obj{})
}
