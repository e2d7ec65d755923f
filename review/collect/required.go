package collect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// sourcePolicy is where the policy's own required names come from.
const sourcePolicy = "policy"

// requirements joins the branch's names with the policy's. Names that we report
// ourselves are left out. A pattern that matches nothing stays, as a check that
// has not come.
func (in ChecksInput) requirements(rows []forge.Check) []review.RequiredCheck {
	var out []review.RequiredCheck
	for _, r := range in.Required {
		if in.ours(r.Name, r.AppID) {
			continue
		}
		req := review.RequiredCheck{Name: r.Name, Source: r.Source}
		if r.AppID > 0 {
			req.AppIDs = []int64{r.AppID}
		}
		out = appendRequirement(out, req)
	}
	for _, name := range in.PolicyRequired {
		if in.ours(name, 0) {
			continue
		}
		out = appendRequirement(out, review.RequiredCheck{Name: name, Names: in.reported(name, rows), Source: sourcePolicy})
	}
	return out
}

// appendRequirement adds a requirement, or the further source of one that is
// there already.
func appendRequirement(all []review.RequiredCheck, r review.RequiredCheck) []review.RequiredCheck {
	for i, have := range all {
		if have.Name == r.Name && slices.Equal(have.AppIDs, r.AppIDs) {
			if !strings.Contains(have.Source, r.Source) {
				all[i].Source += ", " + r.Source
			}
			if len(have.Names) == 0 {
				all[i].Names = r.Names
			}
			return all
		}
	}
	return append(all, r)
}

func (in ChecksInput) ours(name string, app int64) bool {
	if app > 0 {
		return app == in.OwnAppID
	}
	return slices.Contains(in.OwnNames, name)
}

// reported lists the names that a pattern stands for on this head.
func (in ChecksInput) reported(pattern string, rows []forge.Check) []string {
	if !strings.ContainsAny(pattern, "*?") {
		return nil
	}
	var out []string
	for _, r := range rows {
		own := r.Kind == forge.CheckRun && r.AppID == in.OwnAppID && in.OwnAppID != 0
		if !own && r.Name != pattern && matchName(pattern, r.Name) {
			out = append(out, r.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func demands(r review.RequiredCheck, name string) bool {
	return r.Name == name || slices.Contains(r.Names, name)
}

func demanded(required []review.RequiredCheck, name string) bool {
	return slices.ContainsFunc(required, func(r review.RequiredCheck) bool { return demands(r, name) })
}

// untrusted says why a row under a required name proves nothing: another App
// reports it (case 107).
func untrusted(row forge.Check, required []review.RequiredCheck) string {
	var wanted []string
	for _, r := range required {
		if !demands(r, row.Name) {
			continue
		}
		if len(r.AppIDs) == 0 || slices.Contains(r.AppIDs, row.AppID) {
			return ""
		}
		for _, id := range r.AppIDs {
			wanted = append(wanted, fmt.Sprint(id))
		}
	}
	return fmt.Sprintf("it comes from %s, and app %s is required", producer(row), strings.Join(wanted, " or "))
}

// actionsSlug is the App under which every workflow reports.
const actionsSlug = "github-actions"

// calledJob stands between a job's name and that of the job it calls in a reusable
// workflow, whose own file the forge does not name.
const calledJob = " / "

// selfMade says why a row may be the patch's own word about itself. A workflow
// may set any status and any check run with its token, as the same App that
// reports its jobs: where the patch changes workflows, only a job of a workflow
// that it leaves alone says something.
func (in ChecksInput) selfMade(row forge.Check, actions map[int64]bool) string {
	if len(in.ChangedWorkflows) == 0 {
		return ""
	}
	switch {
	case row.Workflow != "" && slices.Contains(in.ChangedWorkflows, row.Workflow):
		return "it comes from " + row.Workflow + ", which this patch adds or changes"
	case !maybeActions(row, actions):
		return ""
	case row.Kind == forge.CommitStatus:
		return fmt.Sprintf("it is a commit status by %q, which a workflow can set, while this patch changes workflows", clip(row.App, 100))
	case row.Workflow == "":
		return "its workflow file is unknown while this patch changes workflows"
	case strings.Contains(row.Name, calledJob):
		return "it may be a job of a workflow that this patch changes, called by " + row.Workflow
	case !isJob(row.URL):
		return "it is not a job of " + row.Workflow + ": a workflow can report it, while this patch changes workflows"
	}
	return ""
}

// actionsApps are the Apps of which a row on this head tells that they run
// workflows: GitHub Actions, whatever id it has on this server.
func actionsApps(rows []forge.Check) map[int64]bool {
	ids := make(map[int64]bool)
	for _, r := range rows {
		if r.AppID > 0 && (r.Workflow != "" || r.Event != "" || isActions(r.App)) {
			ids[r.AppID] = true
		}
	}
	return ids
}

func isActions(app string) bool { return strings.TrimSuffix(app, botSuffix) == actionsSlug }

// botSuffix ends the login of every App's account, and of no other's.
const botSuffix = "[bot]"

// maybeActions reports whether a workflow may have reported a row. A person's
// token can be a workflow's secret; an App that has a name is that App.
func maybeActions(row forge.Check, actions map[int64]bool) bool {
	switch {
	case row.Workflow != "" || row.Event != "" || isActions(row.App):
		return true
	case row.AppID > 0:
		return actions[row.AppID]
	}
	return row.Kind != forge.CommitStatus || !strings.HasSuffix(row.App, botSuffix)
}

// isJob reports whether an address is that of a job. GitHub puts a check run
// that a step creates into whichever suite of Actions came first, so that it
// seems to come from a workflow that never ran it. Its page is then /runs/ID; by
// all reports GitHub ignores the details_url that a workflow's token asks for.
func isJob(url string) bool {
	_, rest, ok := strings.Cut(url, "/actions/runs/")
	run, job, sub := strings.Cut(rest, "/job/")
	return ok && sub && isNumber(run) && isNumber(job)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func producer(row forge.Check) string {
	switch {
	case row.Kind == forge.CommitStatus && row.AppID == 0:
		return fmt.Sprintf("a commit status by %q", clip(row.App, 100))
	case row.App == "":
		return fmt.Sprintf("app %d", row.AppID)
	}
	return fmt.Sprintf("%s (app %d)", clip(row.App, 100), row.AppID)
}

// nameStatusApps gives statuses the id of the App that set them, where the
// App's check runs on this head tell it: a status names its creator only, and
// an App that makes none has to be asked for before. Without id, a status
// satisfies no requirement that is bound to an App.
func nameStatusApps(rows []forge.Check) {
	ids := make(map[string]int64)
	for _, r := range rows {
		if r.Kind == forge.CheckRun && r.App != "" && r.AppID > 0 {
			ids[r.App+botSuffix] = r.AppID
		}
	}
	for i, r := range rows {
		if r.Kind == forge.CommitStatus && r.AppID == 0 {
			rows[i].AppID = ids[r.App]
		}
	}
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchName(p, name) })
}

// matchName matches a check's name. Names are not paths: `*` stands for any run
// of characters, `?` for one, and all else for itself, brackets too.
func matchName(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
