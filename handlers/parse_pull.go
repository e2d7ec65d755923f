package handlers

import (
	"errors"
	"fmt"
)

// readPull routes the changes of a pull request that a decision can depend on
// (cases 63, 64 and 66). Labels, assignments and requests for reviewers are not
// among them.
func readPull(e *Event, v []value) (Route, error) {
	if err := fillPull(e, v); err != nil {
		return Route{}, err
	}
	if n := v[slotNumber].integer(); n != 0 && int(n) != e.Pull {
		return Route{}, fmt.Errorf("number %d is not pull_request.number %d", n, e.Pull)
	}
	subject := PullSubject(e.Repo.ID, e.Pull)
	switch e.Action {
	case "opened", "reopened", "synchronize", "ready_for_review", "converted_to_draft", "closed":
		return routed(subject, "pull request "+e.Action), nil
	case "edited":
		e.BaseChanged = v[slotChangedBase].present()
		e.TitleChanged = v[slotChangedTitle].present()
		e.BodyChanged = v[slotChangedBody].present()
		if e.BaseChanged || e.TitleChanged || e.BodyChanged {
			return routed(subject, "pull request edited"), nil
		}
		return ignored("nothing that a decision depends on was edited"), nil
	}
	return ignored("nothing acts on the pull_request action " + printable(e.Action)), nil
}

// fillPull takes what pull_request and pull_request_review say alike.
func fillPull(e *Event, v []value) error {
	if err := needRepo(e); err != nil {
		return err
	}
	number := v[slotPullNumber].integer()
	if number <= 0 || number > 1<<31-1 {
		return errors.New("it names no pull request (pull_request.number)")
	}
	e.Pull = int(number)
	e.HeadSHA = v[slotPullHeadSHA].text(64)
	if err := needSHA(e.HeadSHA, "pull_request.head.sha"); err != nil {
		return err
	}
	e.BaseRef = v[slotPullBaseRef].text(maxField)
	e.BaseSHA = v[slotPullBaseSHA].text(64)
	e.Draft = v[slotPullDraft].boolean()
	e.State = v[slotPullState].text(16)
	if v[slotPullMerged].boolean() {
		e.State = "merged"
	}
	e.UpdatedAt = v[slotPullUpdated].when()
	// A head without a repository gets the least trust: it is a fork's (case 63).
	e.HeadRepoGone = !v[slotPullHeadRepo].present()
	e.Fork = e.HeadRepoGone || v[slotPullHeadRepoID].integer() != e.Repo.ID
	return nil
}

// readReview routes people's native reviews. Those that a bot submits, ours
// among them, are never an answer: routing our own would wake us with every
// review we post. A dismissal counts whoever made it.
func (p *Parser) readReview(e *Event, v []value) (Route, error) {
	if err := fillPull(e, v); err != nil {
		return Route{}, err
	}
	subject := PullSubject(e.Repo.ID, e.Pull)
	e.Comment = readText(v)
	e.Comment.OnPull = true
	e.Comment.Review = lower(v[slotReviewState].text(32))
	e.Comment.CommitID = v[slotReviewCommit].text(64)
	switch e.Action {
	case "submitted":
		if p.byMachine(e, v) {
			return ignored("reviews submitted by bots are no answers"), nil
		}
		return routed(subject, "review submitted"), nil
	case "dismissed":
		return routed(subject, "review dismissed"), nil
	}
	return ignored("nothing acts on the pull_request_review action " + printable(e.Action)), nil
}

// readComment routes new comments of people on pull requests. Edited ones are no
// commands (case 83), and bots', ours first, are ignored by who wrote them,
// whatever they say (cases 85 and 86).
func (p *Parser) readComment(e *Event, v []value) (Route, error) {
	if err := needRepo(e); err != nil {
		return Route{}, err
	}
	number := v[slotIssueNumber].integer()
	if number <= 0 || number > 1<<31-1 {
		return Route{}, errors.New("it names no issue (issue.number)")
	}
	e.Comment = readText(v)
	e.Comment.OnPull = v[slotIssuePull].present()
	e.State = v[slotIssueState].text(16)
	switch {
	case e.Action != "created":
		return ignored("only new comments can hold commands, not the action " + printable(e.Action)), nil
	case !e.Comment.OnPull:
		return ignored("the comment is on an issue, not on a pull request"), nil
	case p.byMachine(e, v):
		return ignored("comments of bots hold no commands"), nil
	}
	e.Pull = int(number)
	return routed(PullSubject(e.Repo.ID, e.Pull), "comment on the pull request"), nil
}

// byMachine reports a sender or author that is a bot, or text that our own App
// posted, also under a person's name.
func (p *Parser) byMachine(e *Event, v []value) bool {
	return e.Sender.Bot || e.Comment.Author.Bot || v[slotCommentApp].integer() == p.ownAppID
}

func readText(v []value) *CommentEvent {
	return &CommentEvent{
		ID:     v[slotCommentID].integer(),
		Author: account(v[slotCommentUserID], v[slotCommentUser], v[slotCommentUserType]),
		Body:   v[slotCommentBody].text(MaxCommentBody),
		URL:    v[slotCommentURL].text(maxField),
		At:     v[slotCommentAt].when(),
	}
}
