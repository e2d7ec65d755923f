package githubsim

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The states of a review, as REST and GraphQL write them. Events write them in lower case.
const (
	reviewPending   = "PENDING"
	reviewCommented = "COMMENTED"
	reviewApproved  = "APPROVED"
	reviewRequested = "CHANGES_REQUESTED"
	reviewDismissed = "DISMISSED"
)

// review is one pull request review. While it is pending only its author sees it and its comments.
type review struct {
	pull               *Pull
	id                 int64
	author             *account
	app                *AppHandle // that wrote it, if one did
	body, state        string
	commit             string
	created, submitted time.Time
	updated            time.Time
	dismissal          string
}

// reviewThread is a conversation on lines of the diff, or on a file of it.
type reviewThread struct {
	pull     *Pull
	id       int64
	place    place // as it was begun
	commit   string
	hunk     string
	position int
	now      anchor // where it stands at the head
	comments []*reviewComment
	resolved *account // who resolved it
}

// reviewComment is one comment of a thread.
type reviewComment struct {
	thread           *reviewThread
	id               int64
	review           *review
	author           *account
	app              *AppHandle
	replyTo          *reviewComment
	body             string
	created, updated time.Time
	minimized        string // the reason
}

// draft is a comment that is to begin a thread.
type draft struct {
	place
	body string
}

// refusal says why a review or comment cannot be made: REST answers 422 with the text in `errors`,
// GraphQL an error of type UNPROCESSABLE.
type refusal string

func (r refusal) Error() string { return string(r) }

func (v *review) visibleTo(a *account) bool { return v.state != reviewPending || v.author == a }

func (t *reviewThread) visibleTo(a *account) bool { return len(t.shown(a)) > 0 }

// shown are the comments that an account may see: those of others' pending reviews are not.
func (t *reviewThread) shown(a *account) []*reviewComment {
	var out []*reviewComment
	for _, m := range t.comments {
		if m.review.visibleTo(a) {
			out = append(out, m)
		}
	}
	return out
}

// comments are the review's own, oldest first.
func (v *review) comments() []*reviewComment {
	return v.pull.reviewComments(func(m *reviewComment) bool { return m.review == v })
}

// reviewComments are the comments of all threads that match, in order of creation.
func (p *Pull) reviewComments(match func(*reviewComment) bool) []*reviewComment {
	var out []*reviewComment
	for _, t := range p.reviewThreads {
		for _, m := range t.comments {
			if match(m) {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b *reviewComment) int { return int(a.id - b.id) })
	return out
}

// public are the comments of reviews that were submitted.
func (p *Pull) public() []*reviewComment {
	return p.reviewComments(func(m *reviewComment) bool { return m.review.state != reviewPending })
}

func (p *Pull) pendingOf(a *account) *review {
	for _, v := range p.reviews {
		if v.author == a && v.state == reviewPending {
			return v
		}
	}
	return nil
}

func (p *Pull) findReview(id int64) *review {
	for _, v := range p.reviews {
		if v.id == id {
			return v
		}
	}
	return nil
}

// checkBody holds a text to GitHub's limit.
func checkBody(body string) error {
	if utf8.RuneCountInString(body) > maxCommentRunes {
		return refusal("Body is too long (maximum is 65536 characters)")
	}
	return nil
}

// newReview makes a pending review with its threads, or nothing at all: one comment that is refused
// refuses the whole call.
func (p *Pull) newReview(by *account, app *AppHandle, commit, body string, drafts []draft) (*review, error) {
	if p.pendingOf(by) != nil {
		return nil, refusal("User can only have one pending review per pull request")
	}
	if commit == "" {
		commit = p.headSHA
	}
	if !p.has(commit) {
		return nil, refusal("End commit oid is not part of the pull request")
	}
	if err := checkBody(body); err != nil {
		return nil, err
	}
	sim := p.repo.sim
	v := &review{
		pull: p, id: sim.ids.next("review"), author: by, app: app, body: body, state: reviewPending, commit: commit,
		created: sim.now(), updated: sim.now(),
	}
	var threads []*reviewThread
	for _, d := range drafts {
		t, err := v.newThread(d)
		if err != nil {
			return nil, err
		}
		threads = append(threads, t)
	}
	p.reviews = append(p.reviews, v)
	sim.nodes[nodeID("PRR", v.id)] = v
	for _, t := range threads {
		p.addThread(t)
	}
	return v, nil
}

// newThread builds a thread with its first comment; addThread makes it part of the pull request.
func (v *review) newThread(d draft) (*reviewThread, error) {
	if strings.TrimSpace(d.body) == "" {
		return nil, refusal("Body can't be blank")
	}
	if err := checkBody(d.body); err != nil {
		return nil, err
	}
	a, err := v.pull.resolve(v.commit, d.place)
	if err != nil {
		return nil, err
	}
	t := &reviewThread{
		pull: v.pull, id: v.pull.repo.sim.ids.next("reviewThread"), place: d.place, commit: v.commit, hunk: a.hunk, position: a.position, now: a,
	}
	if err := t.reanchor(); err != nil {
		return nil, err
	}
	v.comment(t, d.body, nil)
	return t, nil
}

func (p *Pull) addThread(t *reviewThread) {
	p.reviewThreads = append(p.reviewThreads, t)
	p.repo.sim.nodes[nodeID("PRRT", t.id)] = t
}

func (v *review) comment(t *reviewThread, body string, replyTo *reviewComment) *reviewComment {
	sim := v.pull.repo.sim
	m := &reviewComment{
		thread: t, id: sim.ids.next("reviewComment"), review: v, author: v.author, app: v.app, replyTo: replyTo, body: body,
		created: sim.now(), updated: sim.now(),
	}
	t.comments = append(t.comments, m)
	sim.nodes[nodeID("PRRC", m.id)] = m
	return m
}

// reply adds a comment to a thread, as part of a review. It answers the thread's first comment.
func (v *review) reply(t *reviewThread, body string) (*reviewComment, error) {
	if strings.TrimSpace(body) == "" {
		return nil, refusal("Body can't be blank")
	}
	if err := checkBody(body); err != nil {
		return nil, err
	}
	return v.comment(t, body, t.comments[0]), nil
}

// eventState is the state an event leads to; empty for an event that does not exist.
func eventState(event string) string {
	return map[string]string{"COMMENT": reviewCommented, "APPROVE": reviewApproved, "REQUEST_CHANGES": reviewRequested}[event]
}

// checkEvent refuses what GitHub does not let be submitted.
func (p *Pull) checkEvent(by *account, event, body string, comments int) error {
	switch state := eventState(event); {
	case state == "":
		return refusal("Event is not included in the list")
	case p.author == by && state == reviewApproved:
		return refusal("Can not approve your own pull request")
	case p.author == by && state == reviewRequested:
		return refusal("Can not request changes on your own pull request")
	case strings.TrimSpace(body) != "" || state == reviewApproved || state == reviewCommented && comments > 0:
		return nil
	}
	return refusal("Body can't be blank")
}

// submit makes a pending review visible and tells about it and its comments. A nil body keeps the text.
func (v *review) submit(event string, body *string) error {
	if v.state != reviewPending {
		return refusal("Can not submit a review that is not pending")
	}
	text := v.body
	if body != nil {
		text = *body
	}
	if err := checkBody(text); err != nil {
		return err
	}
	comments := v.comments()
	if err := v.pull.checkEvent(v.author, event, text, len(comments)); err != nil {
		return err
	}
	now := v.pull.repo.sim.now()
	v.body, v.state, v.submitted, v.updated, v.pull.updated = text, eventState(event), now, now, now
	return v.announce(comments)
}

// drop deletes a pending review with its comments, and the threads that it began.
func (v *review) drop() error {
	if v.state != reviewPending {
		return refusal("Can not delete a non-pending pull request review")
	}
	for _, m := range v.comments() {
		m.delete()
	}
	v.pull.reviews = slices.DeleteFunc(v.pull.reviews, func(o *review) bool { return o == v })
	delete(v.pull.repo.sim.nodes, nodeID("PRR", v.id))
	return nil
}

// delete removes a comment, and its thread with the last one. Replies to it stay.
func (m *reviewComment) delete() {
	t, nodes := m.thread, m.thread.pull.repo.sim.nodes
	t.comments = slices.DeleteFunc(t.comments, func(o *reviewComment) bool { return o == m })
	delete(nodes, nodeID("PRRC", m.id))
	if len(t.comments) == 0 {
		t.pull.reviewThreads = slices.DeleteFunc(t.pull.reviewThreads, func(o *reviewThread) bool { return o == t })
		delete(nodes, nodeID("PRRT", t.id))
	}
}

// dismiss takes a verdict back. The text stays.
func (v *review) dismiss(by *account, message string) error {
	switch {
	case strings.TrimSpace(message) == "":
		return refusal("Message can't be blank")
	case v.state != reviewApproved && v.state != reviewRequested:
		return refusal("Can not dismiss a " + strings.ToLower(strings.ReplaceAll(v.state, "_", " ")) + " pull request review")
	}
	v.state, v.dismissal, v.updated = reviewDismissed, message, v.pull.repo.sim.now()
	return v.send("dismissed", by)
}
