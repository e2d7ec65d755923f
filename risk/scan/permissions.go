package scan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rhysd/actionlint"
)

// grant is what a token may do in one scope, and where that is written.
type grant struct {
	write bool
	line  int
}

// allScopes stands for write-all, inherited for what the repository's settings say.
const (
	allScopes = "all scopes"
	inherited = "the repository's default"
)

// permissions reports what a job's token may write and could not before.
func (w *workflow) permissions() {
	severity := Medium
	if privileged(w.now) {
		severity = High
	}
	seen := map[string]bool{}
	for id, job := range w.now.Jobs {
		before := grants(w.old, id)
		for scope, g := range grantsOf(w.now.Permissions, job.Permissions) {
			if !g.write || before[scope].write || before[allScopes].write || seen[scope] && g.line == 0 {
				continue
			}
			if key := scope + "@" + strconv.Itoa(g.line); seen[key] {
				continue
			} else {
				seen[key], seen[scope] = true, true
			}
			f := w.finding(RulePermissionsWidened, g.line, severity, "The token of a job may write more: "+scope)
			switch scope {
			case allScopes:
				f.Severity = High
			case inherited:
				// With neither before nor after there is nothing that the patch widens.
				if w.old == nil || len(before) == 0 || before[inherited].write {
					continue
				}
				f.Title = "The token of a job is no longer limited: the repository's default holds"
			}
			f.Why = "Every step of the job, with the actions that it uses, has the token; what one of them is made to do, it can do with it."
			f.Do = "Give the scope to the one job that needs it, and only that scope, or leave it out."
			w.report(f)
		}
	}
}

// grants are those of the job of that id or, where there was none, the workflow's.
func grants(w *actionlint.Workflow, id string) map[string]grant {
	if w == nil {
		return nil
	}
	if job := w.Jobs[id]; job != nil {
		return grantsOf(w.Permissions, job.Permissions)
	}
	return grantsOf(w.Permissions, nil)
}

// grantsOf are those of a job: its own, or else the workflow's. Without either the
// repository's settings decide, which the file does not tell.
func grantsOf(workflow, job *actionlint.Permissions) map[string]grant {
	p := job
	if p == nil {
		p = workflow
	}
	list := map[string]grant{}
	switch {
	case p == nil:
		list[inherited] = grant{write: true}
	case p.All != nil:
		list[allScopes] = grant{write: strings.EqualFold(p.All.Value, "write-all"), line: lineOf(p.All)}
	}
	if p != nil {
		for _, scope := range p.Scopes {
			if scope.Name == nil || scope.Value == nil {
				continue
			}
			if name := strings.ToLower(scope.Name.Value); slices.Contains(scopes(), name) {
				list[name] = grant{write: scope.Value.Value == "write", line: lineOf(scope.Value)}
			}
		}
	}
	return list
}

// scopes are the scopes of a job's token. A name that is none is a fault, and is
// not repeated.
func scopes() []string {
	return []string{"actions", "artifact-metadata", "attestations", "checks", "code-quality", "contents", "deployments", "discussions", "id-token", "issues",
		"models", "packages", "pages", "pull-requests", "repository-projects", "security-events", "statuses"}
}

// privileged reports whether anyone can start the workflow with the base's token
// and secrets.
func privileged(w *actionlint.Workflow) bool {
	return w != nil && slices.ContainsFunc(w.On, func(e actionlint.Event) bool {
		switch strings.ToLower(e.EventName()) {
		case "pull_request_target", "workflow_run", "issue_comment":
			return true
		}
		return false
	})
}
