package githubsim

import "fmt"

// simpleJSON is a pull request as lists show it.
func (p *Pull) simpleJSON() obj {
	r := p.repo
	u := fmt.Sprintf("%s/pulls/%d", r.apiURL(), p.number)
	html := fmt.Sprintf("%s/pull/%d", r.htmlURL(), p.number)
	issue := fmt.Sprintf("%s/issues/%d", r.apiURL(), p.number)
	statuses := r.apiURL() + "/statuses/" + p.headSHA
	link := func(href string) obj { return obj{"href": href} }
	return obj{
		"id": p.pullID, "node_id": nodeID("PR", p.pullID), "number": p.number, "url": u, "html_url": html, "diff_url": html + ".diff",
		"patch_url": html + ".patch", "issue_url": issue, "commits_url": u + "/commits", "review_comments_url": u + "/comments",
		"review_comment_url": r.apiURL() + "/pulls/comments{/number}", "comments_url": issue + "/comments", "statuses_url": statuses,
		"state": p.state, "locked": false, "active_lock_reason": nil, "title": p.title, "body": orNull(p.body),
		"user": r.sim.userJSON(p.author), "labels": p.labelsJSON(), "milestone": nil, "draft": p.draft, "assignee": nil,
		"assignees": []obj{}, "requested_reviewers": []obj{}, "requested_teams": []obj{},
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closed), "merged_at": stamp(p.mergedAt),
		"merge_commit_sha": p.mergeSHA, "author_association": p.authorAssociation(), "auto_merge": nil,
		"base": p.side(r, p.baseRef, p.baseSHA), "head": p.side(p.headRepo, p.headRef, p.headSHA),
		"_links": obj{
			"self": link(u), "html": link(html), "issue": link(issue), "comments": link(issue + "/comments"),
			"review_comments": link(u + "/comments"), "review_comment": link(r.apiURL() + "/pulls/comments{/number}"),
			"commits": link(u + "/commits"), "statuses": link(statuses),
		},
	}
}

// side is base or head. A fork that is gone leaves null for repository and user.
func (p *Pull) side(r *Repo, ref, sha string) obj {
	if r.deleted {
		return obj{"label": "unknown repository", "ref": ref, "sha": sha, "user": nil, "repo": nil}
	}
	return obj{"label": r.owner.login + ":" + ref, "ref": ref, "sha": sha, "user": r.sim.userJSON(r.owner), "repo": r.json()}
}

// json is a pull request as GET answers it and webhooks carry it.
func (p *Pull) json() (obj, error) {
	diff, err := p.changedFiles()
	if err != nil {
		return nil, err
	}
	added, deleted := count(diff)
	state := "clean"
	switch {
	case p.merged:
		state = "unknown"
	case p.draft:
		state = "draft"
	case len(p.blockedBy()) > 0:
		state = "blocked"
	}
	o := p.simpleJSON()
	var mergeable any = true
	if p.state != "open" {
		mergeable = nil
	}
	for k, v := range (obj{
		"merged": p.merged, "mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": state,
		"merged_by": p.repo.sim.userJSON(p.mergedBy), "comments": len(p.comments), "review_comments": len(p.public()),
		"maintainer_can_modify": p.maintainerCanWrite, "commits": len(p.commits()),
		"additions": added, "deletions": deleted, "changed_files": len(diff),
	}) {
		o[k] = v
	}
	return o, nil
}

// minimalJSON is a pull request inside check runs and suites.
func (p *Pull) minimalJSON() obj {
	side := func(r *Repo, ref, sha string) obj { return obj{"ref": ref, "sha": sha, "repo": r.minimalRef()} }
	return obj{
		"id": p.pullID, "number": p.number, "url": fmt.Sprintf("%s/pulls/%d", p.repo.apiURL(), p.number),
		"head": side(p.headRepo, p.headRef, p.headSHA), "base": side(p.repo, p.baseRef, p.baseSHA),
	}
}

// pullsAt are the open pull requests that check events name: those whose head is this commit in this
// very repository. Those from forks are never named.
func (r *Repo) pullsAt(sha string) []obj {
	out := []obj{}
	for _, p := range r.pulls {
		if p.state == "open" && p.headSHA == sha && !p.isFork() {
			out = append(out, p.minimalJSON())
		}
	}
	return out
}
