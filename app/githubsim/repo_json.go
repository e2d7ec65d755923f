package githubsim

import (
	"fmt"
	"maps"
)

// stub is how a repository is named in installation webhooks.
func (r *Repo) stub() obj {
	return obj{
		"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.fullName(), "private": r.private,
	}
}

func (r *Repo) apiURL() string  { return r.sim.url + "/repos/" + r.fullName() }
func (r *Repo) htmlURL() string { return "https://github.com/" + r.fullName() }

func (r *Repo) openIssues() int {
	n := 0
	for _, t := range r.threads {
		if t.state == "open" {
			n++
		}
	}
	return n
}

// json is GitHub's repository object.
func (r *Repo) json() obj {
	u := r.apiURL()
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	issues := r.openIssues()
	o := obj{
		"owner": r.sim.userJSON(r.owner), "html_url": r.htmlURL(), "description": nil, "fork": r.parent != nil, "url": u,
		"git_url":   "git://github.com/" + r.fullName() + ".git",
		"ssh_url":   "git@github.com:" + r.fullName() + ".git",
		"clone_url": r.htmlURL() + ".git", "svn_url": r.htmlURL(), "homepage": nil, "language": nil, "license": nil, "mirror_url": nil,
		"created_at": stamp(r.created), "updated_at": stamp(r.pushed), "pushed_at": stamp(r.pushed),
		"size": 0, "stargazers_count": 0, "watchers_count": 0, "watchers": 0, "forks": 0, "forks_count": 0,
		"open_issues": issues, "open_issues_count": issues,
		"archived": false, "disabled": false, "allow_forking": true, "is_template": false, "web_commit_signoff_required": false,
		"has_issues": true, "has_projects": true, "has_downloads": true, "has_wiki": true, "has_pages": false,
		"has_discussions": false, "topics": []string{}, "visibility": visibility, "default_branch": r.defaultBranch,
	}
	maps.Copy(o, r.stub())
	for name, path := range repoLinks() {
		o[name] = u + path
	}
	return o
}

// repoLinks are the URL templates in every repository object.
func repoLinks() map[string]string {
	return map[string]string{
		"forks_url": "/forks", "keys_url": "/keys{/key_id}", "collaborators_url": "/collaborators{/collaborator}",
		"teams_url": "/teams", "hooks_url": "/hooks", "issue_events_url": "/issues/events{/number}", "events_url": "/events",
		"assignees_url": "/assignees{/user}", "branches_url": "/branches{/branch}", "tags_url": "/tags",
		"blobs_url": "/git/blobs{/sha}", "git_tags_url": "/git/tags{/sha}", "git_refs_url": "/git/refs{/sha}",
		"trees_url": "/git/trees{/sha}", "statuses_url": "/statuses/{sha}", "languages_url": "/languages",
		"stargazers_url": "/stargazers", "contributors_url": "/contributors", "subscribers_url": "/subscribers",
		"subscription_url": "/subscription", "commits_url": "/commits{/sha}", "git_commits_url": "/git/commits{/sha}",
		"comments_url": "/comments{/number}", "issue_comment_url": "/issues/comments{/number}", "contents_url": "/contents/{+path}",
		"compare_url": "/compare/{base}...{head}", "merges_url": "/merges", "archive_url": "/{archive_format}{/ref}",
		"downloads_url": "/downloads", "issues_url": "/issues{/number}", "pulls_url": "/pulls{/number}",
		"milestones_url": "/milestones{/number}", "notifications_url": "/notifications{?since,all,participating}",
		"labels_url": "/labels{/name}", "releases_url": "/releases{/id}", "deployments_url": "/deployments",
	}
}

// fullJSON is what GET /repos/{owner}/{repo} answers.
func (r *Repo) fullJSON(role string) obj {
	o := r.json()
	o["network_count"], o["subscribers_count"] = 0, 0
	o["permissions"] = rolePermissions(role)
	if r.owner.typ == "Organization" {
		o["organization"] = r.sim.userJSON(r.owner)
	}
	if len(r.props) > 0 {
		o["custom_properties"] = maps.Clone(r.props)
	}
	if r.parent != nil && !r.parent.deleted {
		o["parent"], o["source"] = r.parent.json(), r.parent.json()
	}
	return o
}

// pushJSON is the repository in push events, where two times are Unix seconds.
func (r *Repo) pushJSON() obj {
	o := r.json()
	o["created_at"], o["pushed_at"] = r.created.Unix(), r.pushed.Unix()
	o["stargazers"], o["master_branch"] = 0, r.defaultBranch
	if r.owner.typ == "Organization" {
		o["organization"] = r.owner.login
	}
	o["owner"] = r.ownerWithMail()
	return o
}

func (r *Repo) ownerWithMail() any {
	o, isObj := r.sim.userJSON(r.owner).(obj)
	if isObj {
		o["name"], o["email"] = r.owner.login, nil
	}
	return o
}

// minimalRef is the repository inside the pull requests that check runs list.
func (r *Repo) minimalRef() obj {
	return obj{"id": r.id, "url": r.apiURL(), "name": r.name}
}

func (r *Repo) blobURL(sha, path string) string {
	return fmt.Sprintf("%s/blob/%s/%s", r.htmlURL(), sha, path)
}
