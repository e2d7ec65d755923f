package githubsim

import (
	"fmt"
	"strconv"

	"github.com/countersign/countersign/app/githubsim/gitstore"
	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

func (p *Pull) gqlState() string {
	switch {
	case p.merged:
		return "MERGED"
	case p.state == "open":
		return "OPEN"
	}
	return "CLOSED"
}

// gqlPull is a pull request.
func (c *call) gqlPull(p *Pull) (gqlexec.Object, error) {
	diff, err := p.changedFiles()
	if err != nil {
		return gqlexec.Object{}, err
	}
	added, deleted := count(diff)
	url := fmt.Sprintf("%s/pull/%d", p.repo.htmlURL(), p.number)
	mergeable := "MERGEABLE"
	if p.state != "open" {
		mergeable = "UNKNOWN"
	}
	fields := obj{
		"id": nodeID("PR", p.pullID), "databaseId": p.pullID, "fullDatabaseId": strconv.FormatInt(p.pullID, 10), "number": p.number,
		"title": p.title, "body": p.body, "bodyText": p.body, "state": p.gqlState(), "isDraft": p.draft, "merged": p.merged,
		"closed": p.state != "open", "locked": false, "url": url, "permalink": url,
		"createdAt": stamp(p.created), "updatedAt": stamp(p.updated), "closedAt": stamp(p.closed), "mergedAt": stamp(p.mergedAt),
		"mergedBy": c.gqlActor(p.mergedBy), "mergeable": mergeable, "author": c.gqlActor(p.author),
		"authorAssociation": p.authorAssociation(), "baseRefName": p.baseRef, "baseRefOid": p.baseSHA, "headRefName": p.headRef,
		"headRefOid": p.headSHA, "isCrossRepository": p.isFork(), "changedFiles": len(diff), "additions": added, "deletions": deleted,
		"maintainerCanModify": p.maintainerCanWrite, "isInMergeQueue": false, "reviewDecision": nil, "milestone": nil,
		"totalCommentsCount": len(p.comments) + len(p.public()), "viewerDidAuthor": p.author == c.me.account(),
		"repository":     lazy(func() (any, error) { return c.gqlRepo(p.repo), nil }),
		"baseRepository": lazy(func() (any, error) { return c.gqlRepo(p.repo), nil }),
		"baseRef":        lazy(func() (any, error) { return c.gqlRef(p.repo, p.baseRef), nil }),
		"headRef":        lazy(func() (any, error) { return c.gqlRef(p.headRepo, p.headRef), nil }),
		"mergeCommit": lazy(func() (any, error) {
			if !p.merged {
				return nil, nil
			}
			commit, err := p.repo.store.Commit(p.mergeSHA)
			return c.gqlCommit(p.repo, commit), err
		}),
		"labels": connect("labels", "LabelConnection", p.labels, func(l *label) gqlexec.Object {
			return gql("Label", obj{"id": nodeID("LA", l.id), "name": l.name, "color": l.col, "description": orNull(l.desc)})
		}),
		"commits": connect("commits", "PullRequestCommitConnection", p.commits(), func(m gitstore.Commit) gqlexec.Object {
			return gql("PullRequestCommit", obj{
				"id": "PURC_" + m.SHA, "url": url + "/commits/" + m.SHA,
				"commit": lazy(func() (any, error) { return c.gqlCommit(p.repo, m), nil }),
			})
		}),
		"files":    connect("files", "PullRequestChangedFileConnection", diff, gqlChangedFile),
		"comments": connect("comments", "IssueCommentConnection", known(c, p.comments, func(m *comment) int64 { return m.id }), c.gqlComment),
		"closingIssuesReferences": connect("closingIssuesReferences", "IssueConnection", p.closingIssues(), func(t *thread) gqlexec.Object {
			return gql("Issue", obj{
				"id": nodeID("I", t.id), "databaseId": t.id, "number": t.number, "title": t.title, "body": t.body,
				"url": fmt.Sprintf("%s/issues/%d", t.repo.htmlURL(), t.number), "author": c.gqlActor(t.author),
			})
		}),
		"reviews":           gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlReviews(p, a) }),
		"latestReviews":     gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlLatestReviews(p, a) }),
		"reviewThreads":     gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlThreads(p, a) }),
		"statusCheckRollup": lazy(func() (any, error) { return c.gqlRollup(p.repo, p.headSHA) }),
	}
	fields["headRepository"], fields["headRepositoryOwner"] = nil, nil
	if !p.headRepo.deleted {
		fields["headRepository"] = lazy(func() (any, error) { return c.gqlRepo(p.headRepo), nil })
		fields["headRepositoryOwner"] = lazy(func() (any, error) { return c.gqlActor(p.headRepo.owner), nil })
	}
	return gql("PullRequest", fields), nil
}

func (p *Pull) closingIssues() []*thread {
	var out []*thread
	for _, n := range p.closes {
		if t := p.repo.threads[n]; t != nil {
			out = append(out, t)
		}
	}
	return out
}

func gqlChangedFile(f gitstore.FileDiff) gqlexec.Object {
	return gql("PullRequestChangedFile", obj{
		"path": f.Path, "additions": f.Added, "deletions": f.Deleted, "viewerViewedState": "UNVIEWED",
		"changeType": map[byte]string{'A': "ADDED", 'D': "DELETED", 'M': "MODIFIED", 'R': "RENAMED", 'C': "COPIED", 'T': "CHANGED"}[f.Status],
	})
}

func (c *call) gqlComment(m *comment) gqlexec.Object {
	return gql("IssueComment", obj{
		"id": nodeID("IC", m.id), "databaseId": m.id, "fullDatabaseId": strconv.FormatInt(m.id, 10), "body": m.body, "bodyText": m.body,
		"author": c.gqlActor(m.author), "authorAssociation": m.thread.repo.associationOf(m.author),
		"createdAt": stamp(m.created), "updatedAt": stamp(m.updated), "isMinimized": false, "minimizedReason": nil,
		"viewerDidAuthor": m.author == c.me.account(), "includesCreatedEdit": !m.updated.Equal(m.created), "lastEditedAt": nil,
		"url": fmt.Sprintf("%s/pull/%d#issuecomment-%d", m.thread.repo.htmlURL(), m.thread.number, m.id),
	})
}
