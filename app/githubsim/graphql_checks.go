package githubsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

// upperOrNull writes an enum's value, null for none.
func upperOrNull(s string) any { return orNull(strings.ToUpper(s)) }

// gqlRollup is what checks and statuses of a commit come to; null when nothing was reported.
func (c *call) gqlRollup(r *Repo, sha string) (any, error) {
	if err := c.allowed("checks:read", "statuses:read"); err != nil {
		return nil, err
	}
	runs := c.runs(r.suitesAt(sha), false)
	statuses := known(c, r.latestStatuses(sha), func(st *commitStatus) int64 { return st.id })
	if len(runs)+len(statuses) == 0 {
		return nil, nil
	}
	var all []gqlexec.Object
	for _, run := range runs {
		all = append(all, c.gqlRun(run))
	}
	for _, st := range slices.Backward(statuses) { // oldest first, as GitHub lists them
		all = append(all, c.gqlStatus(st))
	}
	return gql("StatusCheckRollup", obj{
		"id": "SCR_" + sha, "state": rollupState(runs, statuses),
		"contexts": connect("contexts", "StatusCheckRollupContextConnection", all, func(o gqlexec.Object) gqlexec.Object { return o }),
		"commit": lazy(func() (any, error) {
			commit, err := r.store.Commit(sha)
			return c.gqlCommit(r, commit), err
		}),
	}), nil
}

// rollupState: a failure beats what is open, and that beats success.
func rollupState(runs []*checkRun, statuses []*commitStatus) string {
	state := "SUCCESS"
	raise := func(s string) {
		if s == "FAILURE" || s == "PENDING" && state == "SUCCESS" {
			state = s
		}
	}
	for _, run := range runs {
		switch {
		case run.status != "completed":
			raise("PENDING")
		case !slices.Contains([]string{"success", "neutral", "skipped"}, run.conclusion):
			raise("FAILURE")
		}
	}
	for _, st := range statuses {
		switch st.state {
		case "error", "failure":
			raise("FAILURE")
		case "pending":
			raise("PENDING")
		}
	}
	return state
}

func (c *call) gqlRun(run *checkRun) gqlexec.Object {
	r := run.suite.repo
	url := fmt.Sprintf("%s/runs/%d", r.htmlURL(), run.id)
	var completed any
	if run.status == "completed" {
		completed = stamp(run.completed)
	}
	return gql("CheckRun", obj{
		"id": nodeID("CR", run.id), "databaseId": run.id, "name": run.name, "status": strings.ToUpper(run.status),
		"conclusion": upperOrNull(run.conclusion), "startedAt": stamp(run.started), "completedAt": completed,
		"detailsUrl": orNull(run.details), "externalId": run.externalID, "url": url, "permalink": url,
		"title": textOrNull(run.title), "summary": textOrNull(run.summary), "text": textOrNull(run.text),
		"isRequired":  gqlexec.Func(func(a gqlexec.Args) (any, error) { return r.gqlRequired(a, run.name, run.suite.app.spec.ID) }),
		"checkSuite":  lazy(func() (any, error) { return c.gqlSuite(run.suite), nil }),
		"annotations": connect("annotations", "CheckAnnotationConnection", run.annotations, func(a Annotation) gqlexec.Object { return gqlAnnotation(r, run, a) }),
		"repository":  lazy(func() (any, error) { return c.gqlRepo(r), nil }),
	})
}

// gqlRequired: GitHub wants to know for which pull request.
func (r *Repo) gqlRequired(a gqlexec.Args, context string, appID int64) (any, error) {
	n, set := a.Int("pullRequestNumber")
	id := a.String("pullRequestId")
	for _, p := range r.pulls {
		if set && p.number == n || id != "" && nodeID("PR", p.pullID) == id {
			return r.isRequired(p.baseRef, context, appID), nil
		}
	}
	if !set && id == "" {
		return nil, &gqlexec.Error{Type: "UNPROCESSABLE", Message: "Either pullRequestId or pullRequestNumber must be provided"}
	}
	return nil, &gqlexec.Error{Type: "NOT_FOUND", Message: fmt.Sprintf("Could not resolve to a PullRequest with the number of %d.", n)}
}

func gqlAnnotation(r *Repo, run *checkRun, a Annotation) gqlexec.Object {
	position := func(line, column int) gqlexec.Object {
		var col any
		if column > 0 {
			col = column
		}
		return gql("CheckAnnotationPosition", obj{"line": line, "column": col})
	}
	return gql("CheckAnnotation", obj{
		"path": a.Path, "annotationLevel": strings.ToUpper(a.Level), "message": a.Message, "title": orNull(a.Title), "rawDetails": orNull(a.Raw),
		"blobUrl": r.blobURL(run.suite.sha, a.Path), "databaseId": nil, "fullDatabaseId": nil,
		"location": gql("CheckAnnotationSpan", obj{"start": position(a.StartLine, a.StartColumn), "end": position(a.EndLine, a.EndColumn)}),
	})
}

func (c *call) gqlStatus(st *commitStatus) gqlexec.Object {
	return gql("StatusContext", obj{
		"id": nodeID("SC", st.id), "context": st.context, "state": strings.ToUpper(st.state), "targetUrl": orNull(st.target),
		"description": orNull(st.description), "createdAt": stamp(st.created), "creator": c.gqlActor(st.creator),
		"avatarUrl": fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", st.creator.id),
		"isRequired": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			return st.repo.gqlRequired(a, st.context, c.sim.appByBot(st.creator))
		}),
	})
}

func (c *call) gqlAppByID(id int64) any {
	if a := c.sim.apps[id]; a != nil {
		return gqlApp(a)
	}
	return nil
}

func gqlApp(a *AppHandle) gqlexec.Object {
	return gql("App", obj{
		"id": nodeID("A", a.spec.ID), "databaseId": a.spec.ID, "slug": a.spec.Slug, "name": a.spec.Name, "url": "https://github.com/apps/" + a.spec.Slug,
	})
}

func (c *call) gqlSuites(r *Repo, sha string, a gqlexec.Args) (any, error) {
	if err := c.allowed("checks:read"); err != nil {
		return nil, err
	}
	filter, _ := a["filterBy"].(map[string]any)
	app, filtered := gqlexec.Args(filter).Int("appId")
	name := gqlexec.Args(filter).String("checkName")
	var all []*checkSuite
	for _, s := range r.suitesAt(sha) {
		named := name == "" || slices.ContainsFunc(s.runs, func(run *checkRun) bool { return run.name == name })
		if named && (!filtered || int64(app) == s.app.spec.ID) {
			all = append(all, s)
		}
	}
	return gqlexec.Connection("checkSuites", "CheckSuiteConnection", a, len(all), func(i int) (gqlexec.Object, error) { return c.gqlSuite(all[i]), nil })
}

func (c *call) gqlSuite(s *checkSuite) gqlexec.Object {
	status, conclusion := s.state()
	return gql("CheckSuite", obj{
		"id": nodeID("CS", s.id), "databaseId": s.id, "status": strings.ToUpper(status), "conclusion": upperOrNull(conclusion),
		"createdAt": stamp(s.created), "updatedAt": stamp(s.updated), "url": fmt.Sprintf("%s/commit/%s/checks?check_suite_id=%d", s.repo.htmlURL(), s.sha, s.id),
		"app":         gqlApp(s.app),
		"branch":      lazy(func() (any, error) { return c.gqlRef(s.repo, s.branch), nil }),
		"workflowRun": c.gqlWorkflowRun(s),
		"checkRuns":   gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlRuns(s, a) }),
	})
}

// gqlRuns are a suite's runs, the newest of each name unless checkType says ALL.
func (c *call) gqlRuns(s *checkSuite, a gqlexec.Args) (any, error) {
	filter, _ := a["filterBy"].(map[string]any)
	by := gqlexec.Args(filter)
	app, byApp := by.Int("appId")
	statuses, _ := by["statuses"].([]any)
	if one := by.String("status"); one != "" {
		statuses = append(slices.Clone(statuses), one)
	}
	conclusions, _ := by["conclusions"].([]any)
	fits := func(list []any, value string) bool {
		return len(list) == 0 || slices.Contains(list, any(strings.ToUpper(value)))
	}
	var out []*checkRun
	for _, run := range c.runs([]*checkSuite{s}, by.String("checkType") == "ALL") {
		if name := by.String("checkName"); (name == "" || name == run.name) && (!byApp || int64(app) == s.app.spec.ID) &&
			fits(statuses, run.status) && fits(conclusions, run.conclusion) {
			out = append(out, run)
		}
	}
	return connect("checkRuns", "CheckRunConnection", out, c.gqlRun)(a)
}

func (c *call) gqlWorkflowRun(s *checkSuite) any {
	w := s.workflow
	if w.RunID == 0 {
		return nil
	}
	url := fmt.Sprintf("%s/actions/runs/%d", s.repo.htmlURL(), w.RunID)
	return gql("WorkflowRun", obj{
		"id": nodeID("WFR", w.RunID), "databaseId": w.RunID, "runNumber": 1, "event": w.Event, "url": url,
		"createdAt": stamp(s.created), "updatedAt": stamp(s.updated),
		"file": gql("WorkflowRunFile", obj{
			"id": nodeID("WFRF", w.RunID), "path": w.Path, "url": url + "/workflow", "repositoryName": s.repo.fullName(),
			"repositoryFileUrl": s.repo.blobURL(s.sha, w.Path),
		}),
		"workflow": gql("Workflow", obj{
			"id": "W_" + w.Path, "name": w.Name, "databaseId": workflowID(s.repo, w.Path), "state": "ACTIVE",
			"url": s.repo.htmlURL() + "/actions/workflows/" + w.Path[strings.LastIndex(w.Path, "/")+1:],
		}),
	})
}

// workflowID is a workflow's id: the same for every run of a path in a repository.
func workflowID(r *Repo, path string) int64 {
	id := r.id * 1000
	for _, b := range []byte(path) {
		id = (id*31 + int64(b)) % 900_000_000
	}
	return 100_000_000 + id
}
