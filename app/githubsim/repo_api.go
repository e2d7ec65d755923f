package githubsim

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

func repoRoutes() []route {
	return []route{
		{"GET /repos/{owner}/{repo}", anyToken, "metadata:read", getRepo},
		{"GET /repos/{owner}/{repo}/branches/{branch...}", anyToken, "contents:read", getBranch},
		{"GET /repos/{owner}/{repo}/branches/{branch}/protection/required_status_checks", anyToken, "administration:read", getProtection},
		{"GET /repos/{owner}/{repo}/rules/branches/{branch...}", anyToken, "metadata:read", getRules},
		{"GET /repos/{owner}/{repo}/commits", anyToken, "contents:read", listCommits},
		{"GET /repos/{owner}/{repo}/commits/{ref...}", anyToken, "contents:read", getCommit},
		{"GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls", anyToken, "pull_requests:read", commitPulls},
		{"GET /repos/{owner}/{repo}/compare/{basehead...}", anyToken, "contents:read", compare},
		{"GET /repos/{owner}/{repo}/properties/values", anyToken, "metadata:read", getProperties},
	}
}

func getRepo(c *call) (*reply, error) {
	role := "read"
	if c.me.user != nil {
		role = c.repo.roleOf(c.me.user)
	}
	return ok(c.repo.fullJSON(role))
}

func getProperties(c *call) (*reply, error) {
	out := []obj{}
	for _, name := range sortedKeys(c.repo.props) {
		out = append(out, obj{"property_name": name, "value": c.repo.props[name]})
	}
	return ok(out)
}

// getBranch shows which checks are required even to those who may not read the protection itself.
func getBranch(c *call) (*reply, error) {
	name := c.path("branch")
	sha := c.repo.branches[name]
	if sha == "" {
		return nil, refuse(http.StatusNotFound, "Branch not found")
	}
	commit, err := c.repo.store.Commit(sha)
	if err != nil {
		return nil, err
	}
	p, protected := c.repo.required[name]
	checks := obj{"enforcement_level": "off", "contexts": []string{}, "checks": []obj{}}
	enabled := false
	if protected && len(p.checks) > 0 {
		enabled = true
		contexts, list := checkRefs(p.checks)
		checks = obj{"enforcement_level": "non_admins", "contexts": contexts, "checks": list}
	}
	for _, rs := range c.repo.rulesets {
		protected = protected || c.repo.rulesetMatches(rs, name)
	}
	u := c.repo.apiURL() + "/branches/" + name
	return ok(obj{
		"name": name, "commit": c.repo.commitJSON(commit), "protected": protected,
		"protection":     obj{"enabled": enabled, "required_status_checks": checks},
		"protection_url": u + "/protection",
		"_links":         obj{"self": u, "html": c.repo.htmlURL() + "/tree/" + name},
	})
}

func checkRefs(refs []CheckRef) (contexts []string, checks []obj) {
	contexts, checks = []string{}, []obj{}
	for _, ref := range refs {
		one := obj{"context": ref.Context, "app_id": nil}
		if ref.AppID != 0 {
			one["app_id"] = ref.AppID
		}
		contexts, checks = append(contexts, ref.Context), append(checks, one)
	}
	return contexts, checks
}

func getProtection(c *call) (*reply, error) {
	p := c.repo.required[c.path("branch")]
	if p == nil || len(p.checks) == 0 {
		return nil, refuse(http.StatusNotFound, "Required status checks not enabled")
	}
	u := c.repo.apiURL() + "/branches/" + c.path("branch") + "/protection/required_status_checks"
	contexts, checks := checkRefs(p.checks)
	return ok(obj{"url": u, "strict": false, "contexts": contexts, "contexts_url": u + "/contexts", "checks": checks})
}

// rulesetMatches tells whether a ruleset holds for a branch.
func (r *Repo) rulesetMatches(rs ruleset, branch string) bool {
	for _, pattern := range rs.branches {
		if pattern == "~ALL" || pattern == "~DEFAULT_BRANCH" && branch == r.defaultBranch {
			return true
		}
		if ok, err := path.Match(strings.TrimPrefix(pattern, "refs/heads/"), branch); err == nil && ok {
			return true
		}
	}
	return false
}

func getRules(c *call) (*reply, error) {
	out := []obj{}
	for _, rs := range c.repo.rulesets {
		if !c.repo.rulesetMatches(rs, c.path("branch")) {
			continue
		}
		checks := []obj{}
		for _, ref := range rs.checks {
			one := obj{"context": ref.Context}
			if ref.AppID != 0 {
				one["integration_id"] = ref.AppID
			}
			checks = append(checks, one)
		}
		out = append(out, obj{
			"type": "required_status_checks", "ruleset_id": rs.id, "ruleset_source_type": "Repository",
			"ruleset_source": c.repo.fullName(),
			"parameters": obj{
				"strict_required_status_checks_policy": false, "do_not_enforce_on_create": false,
				"required_status_checks": checks,
			},
		})
	}
	from, to := c.page(len(out))
	return ok(out[from:to])
}

// isRequired tells whether protection or a ruleset requires a context on a branch from this source.
func (r *Repo) isRequired(branch, context string, appID int64) bool {
	match := func(refs []CheckRef) bool {
		for _, ref := range refs {
			if ref.Context == context && (ref.AppID == 0 || ref.AppID == appID) {
				return true
			}
		}
		return false
	}
	if p := r.required[branch]; p != nil && match(p.checks) {
		return true
	}
	for _, rs := range r.rulesets {
		if r.rulesetMatches(rs, branch) && match(rs.checks) {
			return true
		}
	}
	return false
}

// findCommit resolves a ref from a request.
func (c *call) findCommit(ref string) (gitstore.Commit, error) {
	commit, err := c.repo.resolve(ref)
	if err != nil {
		return commit, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+ref)
	}
	return commit, nil
}

func listCommits(c *call) (*reply, error) {
	start, err := c.findCommit(c.query("sha"))
	if err != nil {
		return nil, err
	}
	all := c.repo.store.Ahead("", start.SHA)
	from, to := c.page(len(all))
	out := []obj{}
	for i := from; i < to; i++ { // newest first
		out = append(out, c.repo.commitJSON(all[len(all)-1-i]))
	}
	return ok(out)
}

func getCommit(c *call) (*reply, error) {
	commit, err := c.findCommit(c.path("ref"))
	if err != nil {
		return nil, err
	}
	if c.accepts("sha") {
		return &reply{raw: []byte(commit.SHA), ctype: "application/vnd.github.sha; charset=utf-8"}, nil
	}
	parentTree := gitstore.EmptyTree
	if len(commit.Parents) > 0 {
		parent, err := c.repo.store.Commit(commit.Parents[0])
		if err != nil {
			return nil, err
		}
		parentTree = parent.Tree
	}
	if c.accepts("diff") {
		return c.diffReply(parentTree, commit.Tree)
	}
	diff, err := c.repo.store.Diff(parentTree, commit.Tree)
	if err != nil {
		return nil, err
	}
	out := c.repo.commitJSON(commit)
	added, deleted := count(diff)
	out["stats"] = obj{"total": added + deleted, "additions": added, "deletions": deleted}
	from, to := c.pageOf(len(diff), 300)
	out["files"] = c.repo.fileEntries(diff[from:to], commit.SHA)
	return ok(out)
}

// commitPulls lists the pull requests a commit is the head of, or part of.
func commitPulls(c *call) (*reply, error) {
	commit, err := c.findCommit(c.path("commit_sha"))
	if err != nil {
		return nil, err
	}
	var found []*Pull
	for _, p := range c.repo.pulls {
		if p.state == "open" && p.has(commit.SHA) || p.mergeSHA == commit.SHA && p.merged {
			found = append(found, p)
		}
	}
	from, to := c.page(len(found))
	out := []obj{}
	for _, p := range found[from:to] {
		out = append(out, p.simpleJSON())
	}
	return ok(out)
}

// maxCompareFiles is how many files a comparison shows at most.
const maxCompareFiles = 300

// compare answers base...head: three dots, that is from their merge base.
func compare(c *call) (*reply, error) {
	baseName, headName, found := strings.Cut(c.path("basehead"), "...")
	if !found {
		return nil, notFound()
	}
	base, err := c.compareSide(baseName)
	if err != nil {
		return nil, notFound()
	}
	head, err := c.compareSide(headName)
	if err != nil {
		return nil, notFound()
	}
	store := c.repo.store
	mergeBase, err := store.Commit(store.MergeBase(base.SHA, head.SHA))
	if err != nil {
		return nil, refuse(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", baseName, headName))
	}
	if c.accepts("diff") {
		return c.diffReply(mergeBase.Tree, head.Tree)
	}
	diff, err := store.Diff(mergeBase.Tree, head.Tree)
	if err != nil {
		return nil, err
	}
	ahead, behind := store.Ahead(base.SHA, head.SHA), store.Ahead(head.SHA, base.SHA)
	status := "identical"
	switch {
	case len(ahead) > 0 && len(behind) > 0:
		status = "diverged"
	case len(ahead) > 0:
		status = "ahead"
	case len(behind) > 0:
		status = "behind"
	}
	from, to := c.pageOf(len(ahead), 250)
	commits := []obj{}
	for _, one := range ahead[from:to] {
		commits = append(commits, c.repo.commitJSON(one))
	}
	files := []fileEntry{}
	if p := c.query("page"); p == "" || p == "1" { // only the first page lists files
		files = c.repo.fileEntries(diff[:min(len(diff), maxCompareFiles)], head.SHA)
	}
	api, html := c.repo.apiURL()+"/compare/"+c.path("basehead"), c.repo.htmlURL()+"/compare/"+c.path("basehead")
	return ok(obj{
		"url": api, "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch",
		"permalink_url": fmt.Sprintf("%s/compare/%s:%.7s...%s:%.7s", c.repo.htmlURL(), c.repo.owner.login, base.SHA, c.repo.owner.login, head.SHA),
		"base_commit":   c.repo.commitJSON(base), "merge_base_commit": c.repo.commitJSON(mergeBase), "status": status,
		"ahead_by": len(ahead), "behind_by": len(behind), "total_commits": len(ahead), "commits": commits, "files": files,
	})
}

// compareSide resolves a ref, owner:ref or owner:repo:ref of the same network.
func (c *call) compareSide(name string) (gitstore.Commit, error) {
	owner, ref, crossed := strings.Cut(name, ":")
	if !crossed {
		return c.repo.resolve(name)
	}
	for _, r := range c.sim.repoList {
		if r.store == c.repo.store && strings.EqualFold(r.owner.login, owner) {
			if rest, ok := strings.CutPrefix(ref, r.name+":"); ok {
				ref = rest
			}
			return r.resolve(ref)
		}
	}
	return gitstore.Commit{}, notFound()
}
