package handlers

// The slots of what is wanted from payloads. One table serves all events: a
// slot that an event does not have stays empty.
const (
	slotAction = iota
	slotNumber
	slotInstallation
	slotRepoID
	slotRepoName
	slotRepoOwner
	slotRepoPrivate
	slotRepoDefault
	slotSenderID
	slotSenderLogin
	slotSenderType

	slotPull
	slotPullNumber
	slotPullState
	slotPullMerged
	slotPullDraft
	slotPullUpdated
	slotPullHeadSHA
	slotPullHeadRepo
	slotPullHeadRepoID
	slotPullBaseRef
	slotPullBaseSHA

	slotChangedBase
	slotChangedTitle
	slotChangedBody

	slotCheckID
	slotCheckName
	slotCheckHead
	slotCheckStatus
	slotCheckConclusion
	slotCheckExternal
	slotCheckStarted
	slotCheckCompleted
	slotCheckURL
	slotCheckAppID
	slotCheckApp
	slotCheckSuite
	slotCheckBranch
	slotCheckPulls
	slotCheckRequested

	slotStatusID
	slotStatusSHA
	slotStatusContext
	slotStatusState
	slotStatusURL
	slotStatusCreated
	slotStatusUpdated

	slotCommentID
	slotCommentBody
	slotCommentURL
	slotCommentUserID
	slotCommentUser
	slotCommentUserType
	slotCommentApp
	slotCommentAt
	slotReviewState
	slotReviewCommit
	slotIssueNumber
	slotIssuePull
	slotIssueState

	slotRef
	slotBefore
	slotAfter
	slotGroupHead
	slotGroupBaseRef
	slotGroupBase

	slotCount
)

// shapes are the wanted parts per event, built once by newShapes.
type shapes map[string]*shape

func leaf(name string, slot int) shapeKey { return shapeKey{name: name, slot: slot} }

func branch(name string, slot int, keys ...shapeKey) shapeKey {
	return shapeKey{name: name, slot: slot, sub: &shape{keys: keys}}
}

// newShapes lists what each event is read for. An event that is not in it is one
// that nothing acts on.
func newShapes() shapes {
	common := []shapeKey{
		leaf("action", slotAction),
		branch("installation", -1, leaf("id", slotInstallation)),
		branch("repository", -1, leaf("id", slotRepoID), leaf("name", slotRepoName), leaf("private", slotRepoPrivate),
			leaf("default_branch", slotRepoDefault), branch("owner", -1, leaf("login", slotRepoOwner))),
		branch("sender", -1, leaf("id", slotSenderID), leaf("login", slotSenderLogin), leaf("type", slotSenderType)),
	}
	with := func(keys ...shapeKey) *shape {
		return &shape{keys: append(append([]shapeKey(nil), common...), keys...)}
	}
	pull := branch("pull_request", slotPull, pullKeys()...)
	return shapes{
		"pull_request": with(leaf("number", slotNumber), pull,
			branch("changes", -1, leaf("base", slotChangedBase), leaf("title", slotChangedTitle), leaf("body", slotChangedBody))),
		"pull_request_review": with(pull, branch("review", -1, append(commentKeys(),
			leaf("state", slotReviewState), leaf("commit_id", slotReviewCommit), leaf("submitted_at", slotCommentAt))...)),
		"issue_comment": with(
			branch("comment", -1, append(commentKeys(), leaf("created_at", slotCommentAt))...),
			branch("issue", -1, leaf("number", slotIssueNumber), leaf("pull_request", slotIssuePull), leaf("state", slotIssueState))),
		"check_run": with(branch("check_run", -1, append(checkKeys(), leaf("name", slotCheckName), leaf("external_id", slotCheckExternal),
			leaf("started_at", slotCheckStarted), leaf("completed_at", slotCheckCompleted), leaf("html_url", slotCheckURL),
			branch("check_suite", -1, leaf("id", slotCheckSuite), leaf("head_branch", slotCheckBranch)))...),
			branch("requested_action", -1, leaf("identifier", slotCheckRequested))),
		"check_suite": with(branch("check_suite", -1, append(checkKeys(), leaf("head_branch", slotCheckBranch),
			leaf("created_at", slotCheckStarted), leaf("updated_at", slotCheckCompleted))...)),
		"status": with(leaf("id", slotStatusID), leaf("sha", slotStatusSHA), leaf("context", slotStatusContext), leaf("state", slotStatusState),
			leaf("target_url", slotStatusURL), leaf("created_at", slotStatusCreated), leaf("updated_at", slotStatusUpdated)),
		"installation":              with(),
		"installation_repositories": with(),
		"push":                      with(leaf("ref", slotRef), leaf("before", slotBefore), leaf("after", slotAfter)),
		"merge_group": with(branch("merge_group", -1, leaf("head_sha", slotGroupHead), leaf("base_ref", slotGroupBaseRef),
			leaf("base_sha", slotGroupBase))),
	}
}

func pullKeys() []shapeKey {
	return []shapeKey{
		leaf("number", slotPullNumber), leaf("state", slotPullState), leaf("merged", slotPullMerged), leaf("draft", slotPullDraft),
		leaf("updated_at", slotPullUpdated),
		branch("head", -1, leaf("sha", slotPullHeadSHA), branch("repo", slotPullHeadRepo, leaf("id", slotPullHeadRepoID))),
		branch("base", -1, leaf("ref", slotPullBaseRef), leaf("sha", slotPullBaseSHA)),
	}
}

func checkKeys() []shapeKey {
	return []shapeKey{
		leaf("id", slotCheckID), leaf("head_sha", slotCheckHead), leaf("status", slotCheckStatus), leaf("conclusion", slotCheckConclusion),
		branch("app", -1, leaf("id", slotCheckAppID), leaf("slug", slotCheckApp)),
		leaf("pull_requests", slotCheckPulls),
	}
}

// The slots of one element of pull_requests, which is read for itself.
const (
	slotNamedNumber = iota
	slotNamedRepo
	slotNamedCount
)

func namedPull() *shape {
	return &shape{keys: []shapeKey{
		leaf("number", slotNamedNumber),
		branch("base", -1, branch("repo", -1, leaf("id", slotNamedRepo))),
	}}
}

func commentKeys() []shapeKey {
	return []shapeKey{
		leaf("id", slotCommentID), leaf("body", slotCommentBody), leaf("html_url", slotCommentURL),
		branch("user", -1, leaf("id", slotCommentUserID), leaf("login", slotCommentUser), leaf("type", slotCommentUserType)),
		branch("performed_via_github_app", -1, leaf("id", slotCommentApp)),
	}
}
