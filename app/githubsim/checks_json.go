package githubsim

import "fmt"

func textOrNull(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// json is a check run as the API shows it.
func (run *checkRun) json() obj {
	r := run.suite.repo
	u := fmt.Sprintf("%s/check-runs/%d", r.apiURL(), run.id)
	o := obj{
		"id": run.id, "node_id": nodeID("CR", run.id), "name": run.name, "head_sha": run.suite.sha, "external_id": run.externalID,
		"url": u, "html_url": fmt.Sprintf("%s/runs/%d", r.htmlURL(), run.id), "details_url": orNull(run.details),
		"status": run.status, "conclusion": orNull(run.conclusion), "started_at": stamp(run.started), "completed_at": nil,
		"output": obj{
			"title": textOrNull(run.title), "summary": textOrNull(run.summary), "text": textOrNull(run.text),
			"annotations_count": len(run.annotations), "annotations_url": u + "/annotations",
		},
		"check_suite": obj{"id": run.suite.id}, "app": run.suite.app.json(), "pull_requests": r.pullsAt(run.suite.sha),
	}
	if run.status == "completed" {
		o["completed_at"] = stamp(run.completed)
	}
	return o
}

// hookJSON is a check run as webhooks carry it: its suite is written out.
func (run *checkRun) hookJSON() obj {
	o := run.json()
	suite := run.suite.common()
	suite["app"] = run.suite.app.json()
	o["check_suite"] = suite
	return o
}

// branchOrNull: commits that only a fork has belong to no branch here.
func (s *checkSuite) branchOrNull() any { return orNull(s.branch) }

func (s *checkSuite) common() obj {
	status, conclusion := s.state()
	return obj{
		"id": s.id, "node_id": nodeID("CS", s.id), "head_branch": s.branchOrNull(), "head_sha": s.sha,
		"status": status, "conclusion": orNull(conclusion), "url": fmt.Sprintf("%s/check-suites/%d", s.repo.apiURL(), s.id),
		"before": orNull(s.before), "after": s.sha, "pull_requests": s.repo.pullsAt(s.sha),
		"created_at": stamp(s.created), "updated_at": stamp(s.updated),
	}
}

// json is a check suite as the API shows it.
func (s *checkSuite) json() obj {
	o := s.common()
	o["app"], o["repository"], o["latest_check_runs_count"] = s.app.json(), s.repo.json(), len(s.latest())
	o["check_runs_url"] = fmt.Sprintf("%s/check-suites/%d/check-runs", s.repo.apiURL(), s.id)
	o["rerequestable"], o["runs_rerequestable"] = true, true
	if c, err := s.repo.store.Commit(s.sha); err == nil {
		o["head_commit"] = simpleCommit(c)
	}
	return o
}

func (a Annotation) json(r *Repo, sha string) obj {
	column := func(n int) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return obj{
		"path": a.Path, "start_line": a.StartLine, "end_line": a.EndLine, "start_column": column(a.StartColumn), "end_column": column(a.EndColumn),
		"annotation_level": a.Level, "message": a.Message, "title": orNull(a.Title), "raw_details": orNull(a.Raw),
		"blob_href": r.blobURL(sha, escapePath(a.Path)),
	}
}
