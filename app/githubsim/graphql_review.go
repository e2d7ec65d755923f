package githubsim

import (
	"slices"
	"strconv"

	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

// gqlReviews pages through the reviews that the caller may see, by state and author where asked.
func (c *call) gqlReviews(p *Pull, a gqlexec.Args) (any, error) {
	states, _ := a["states"].([]any)
	var all []*review
	for _, v := range p.reviews {
		keep := v.visibleTo(c.me.account()) && (len(states) == 0 || slices.Contains(states, any(v.state)))
		if by := a.String("author"); by != "" && by != v.author.login && by+"[bot]" != v.author.login {
			keep = false
		}
		if keep {
			all = append(all, v)
		}
	}
	return c.reviewPage("reviews", a, known(c, all, (*review).number))
}

// gqlLatestReviews are the newest submitted review of each author.
func (c *call) gqlLatestReviews(p *Pull, a gqlexec.Args) (any, error) {
	submitted := slices.DeleteFunc(slices.Clone(p.reviews), func(v *review) bool { return v.state == reviewPending })
	submitted = known(c, submitted, (*review).number)
	newest := map[*account]*review{}
	for _, v := range submitted {
		newest[v.author] = v
	}
	var all []*review
	for _, v := range submitted {
		if newest[v.author] == v {
			all = append(all, v)
		}
	}
	return c.reviewPage("latestReviews", a, all)
}

// gqlNode finds a pull request, or a review, thread or comment of one, by its id.
func (c *call) gqlNode(a gqlexec.Args) (any, error) {
	id := a.String("id")
	var p *Pull
	var show func() (gqlexec.Object, error)
	plain := func(o gqlexec.Object) (gqlexec.Object, error) { return o, nil }
	switch v := c.sim.nodes[id].(type) {
	case *Pull:
		p, show = v, func() (gqlexec.Object, error) { return c.gqlPull(v) }
	case *review:
		if v.visibleTo(c.me.account()) {
			p, show = v.pull, func() (gqlexec.Object, error) { return plain(c.gqlReview(v)) }
		}
	case *reviewThread:
		if len(c.shown(v.comments)) > 0 {
			p, show = v.pull, func() (gqlexec.Object, error) { return plain(c.gqlThread(v)) }
		}
	case *reviewComment:
		if v.review.visibleTo(c.me.account()) {
			p, show = v.thread.pull, func() (gqlexec.Object, error) { return plain(c.gqlReviewComment(v)) }
		}
	}
	if p == nil || !c.me.sees(p.repo) {
		return nil, noNode(id)
	}
	c.repo = p.repo
	if err := c.allowed("pull_requests:read"); err != nil {
		return nil, err
	}
	return show()
}

func (c *call) reviewPage(field string, a gqlexec.Args, all []*review) (any, error) {
	return gqlexec.Connection(field, "PullRequestReviewConnection", a, len(all), func(i int) (gqlexec.Object, error) { return c.gqlReview(all[i]), nil })
}

func (c *call) gqlThreads(p *Pull, a gqlexec.Args) (any, error) {
	var all []*reviewThread
	for _, t := range p.reviewThreads {
		if len(c.shown(t.comments)) > 0 {
			all = append(all, t)
		}
	}
	return gqlexec.Connection("reviewThreads", "PullRequestReviewThreadConnection", a, len(all), func(i int) (gqlexec.Object, error) { return c.gqlThread(all[i]), nil })
}

// shown are the comments that the caller sees. A stale answer lacks the newest comment of the pull
// request, and with it a thread that it began.
func (c *call) shown(list []*reviewComment) []*reviewComment {
	var out []*reviewComment
	for _, m := range list {
		if m.review.visibleTo(c.me.account()) && !(c.stale && m == m.thread.pull.newestComment()) {
			out = append(out, m)
		}
	}
	return out
}

func (p *Pull) newestComment() *reviewComment {
	var newest *reviewComment
	for _, t := range p.reviewThreads {
		for _, m := range t.comments {
			if newest == nil || m.id > newest.id {
				newest = m
			}
		}
	}
	return newest
}

func (v *review) number() int64 { return v.id }

func (c *call) gqlReview(v *review) gqlexec.Object {
	p := v.pull
	return gql("PullRequestReview", obj{
		"id": nodeID("PRR", v.id), "databaseId": v.id, "fullDatabaseId": strconv.FormatInt(v.id, 10), "body": v.body, "bodyText": v.body,
		"state": v.state, "author": c.gqlActor(v.author), "authorAssociation": p.repo.associationOf(v.author),
		"authorCanPushToRepository": roleWrites(p.repo.roleOf(v.author)), "viewerDidAuthor": v.author == c.me.account(),
		"createdAt": stamp(v.created), "updatedAt": stamp(v.updated), "submittedAt": stamp(v.submitted), "publishedAt": stamp(v.submitted),
		"url": v.htmlURL(), "isMinimized": false, "minimizedReason": nil,
		"pullRequest": lazy(func() (any, error) { return c.gqlPull(p) }),
		"repository":  lazy(func() (any, error) { return c.gqlRepo(p.repo), nil }),
		"commit":      lazy(func() (any, error) { return c.gqlCommitOf(p, v.commit) }),
		"comments": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			return connect("comments", "PullRequestReviewCommentConnection", c.shown(v.comments()), c.gqlReviewComment)(a)
		}),
	})
}

func (c *call) gqlCommitOf(p *Pull, sha string) (any, error) {
	commit, err := p.repo.store.Commit(sha)
	if err != nil {
		return nil, err
	}
	return c.gqlCommit(p.repo, commit), nil
}

func subjectOf(t *reviewThread) string {
	if t.place.file {
		return "FILE"
	}
	return "LINE"
}

func (c *call) gqlThread(t *reviewThread) gqlexec.Object {
	var by any
	if t.resolved != nil {
		by = c.gqlUser(t.resolved)
	}
	mayWrite := c.me.may(t.pull.repo, "contents:write")
	return gql("PullRequestReviewThread", obj{
		"id": nodeID("PRRT", t.id), "isResolved": t.resolved != nil, "isOutdated": t.now.outdated, "isCollapsed": t.resolved != nil || t.now.outdated,
		"path": t.now.path, "line": orNullInt(t.now.line), "startLine": orNullInt(t.now.startLine), "diffSide": t.place.side,
		"startDiffSide": orNull(t.place.startSide), "originalLine": orNullInt(t.place.line), "originalStartLine": orNullInt(t.place.startLine),
		"subjectType": subjectOf(t), "resolvedBy": by,
		"viewerCanReply": true, "viewerCanResolve": mayWrite && t.resolved == nil, "viewerCanUnresolve": mayWrite && t.resolved != nil,
		"pullRequest": lazy(func() (any, error) { return c.gqlPull(t.pull) }),
		"repository":  lazy(func() (any, error) { return c.gqlRepo(t.pull.repo), nil }),
		"comments": gqlexec.Func(func(a gqlexec.Args) (any, error) { // looked at when asked: a mutation may have added one
			return connect("comments", "PullRequestReviewCommentConnection", c.shown(t.comments), c.gqlReviewComment)(a)
		}),
	})
}

func (c *call) gqlReviewComment(m *reviewComment) gqlexec.Object {
	t := m.thread
	state := "SUBMITTED"
	if m.review.state == reviewPending {
		state = "PENDING"
	}
	var replyTo any
	if m.replyTo != nil {
		replyTo = lazy(func() (any, error) { return c.gqlReviewComment(m.replyTo), nil })
	}
	return gql("PullRequestReviewComment", obj{
		"id": nodeID("PRRC", m.id), "databaseId": m.id, "fullDatabaseId": strconv.FormatInt(m.id, 10), "body": m.body, "bodyText": m.body,
		"author": c.gqlActor(m.author), "authorAssociation": t.pull.repo.associationOf(m.author), "viewerDidAuthor": m.author == c.me.account(),
		"path": t.now.path, "line": orNullInt(t.now.line), "startLine": orNullInt(t.now.startLine), "position": orNullInt(t.now.position),
		"originalLine": orNullInt(t.place.line), "originalStartLine": orNullInt(t.place.startLine), "originalPosition": t.position,
		"diffHunk": t.hunk, "outdated": t.now.outdated, "subjectType": subjectOf(t), "state": state,
		"createdAt": stamp(m.created), "draftedAt": stamp(m.created), "updatedAt": stamp(m.updated), "publishedAt": stamp(m.review.submitted),
		"includesCreatedEdit": !m.updated.Equal(m.created), "lastEditedAt": nil, "url": m.htmlURL(),
		"isMinimized": m.minimized != "", "minimizedReason": orNull(m.minimized), "replyTo": replyTo,
		"pullRequest":       lazy(func() (any, error) { return c.gqlPull(t.pull) }),
		"repository":        lazy(func() (any, error) { return c.gqlRepo(t.pull.repo), nil }),
		"pullRequestReview": lazy(func() (any, error) { return c.gqlReview(m.review), nil }),
		"commit":            lazy(func() (any, error) { return c.gqlCommitOf(t.pull, t.now.commit) }),
		"originalCommit":    lazy(func() (any, error) { return c.gqlCommitOf(t.pull, t.commit) }),
	})
}
