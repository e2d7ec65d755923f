package githubsim

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

func reviewRoutes() []route {
	const reviews = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"
	const one = reviews + "/{review_id}"
	return []route{
		{"GET " + reviews, anyToken, "pull_requests:read", listReviews},
		{"POST " + reviews, anyToken, "", createReview},
		{"GET " + one, anyToken, "pull_requests:read", getReview},
		{"PUT " + one, anyToken, "", updateReview},
		{"DELETE " + one, anyToken, "", deleteReview},
		{"GET " + one + "/comments", anyToken, "pull_requests:read", listReviewOwnComments},
		{"POST " + one + "/events", anyToken, "", submitReview},
		{"PUT " + one + "/dismissals", anyToken, "pull_requests:write", dismissReview},
	}
}

// mayReview: an App needs pull_requests: write; a person who sees the repository may always review.
func (c *call) mayReview() error {
	if c.me.inst == nil {
		return nil
	}
	return c.need("pull_requests:write")
}

// unprocessable turns a refusal into GitHub's 422 for reviews, whose errors are plain texts.
func unprocessable(err error) error {
	var why refusal
	if errors.As(err, &why) {
		return refuse(http.StatusUnprocessableEntity, "Unprocessable Entity", why.Error())
	}
	return err
}

// notSupplied is the 422 for a field that is required and was not sent.
func notSupplied(field string) error {
	return refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n\""+field+"\" wasn't supplied.")
}

// commentInput is a comment of a review, or one of its own.
type commentInput struct {
	Path      *string `json:"path"`
	Body      *string `json:"body"`
	Position  *int    `json:"position"`
	Line      *int    `json:"line"`
	Side      *string `json:"side"`
	StartLine *int    `json:"start_line"`
	StartSide *string `json:"start_side"`
}

// draft checks the form of a comment; its place is looked up by resolve.
func (in commentInput) draft(p *Pull, commit string) (draft, error) {
	switch {
	case in.Path == nil:
		return draft{}, notSupplied("path")
	case in.Body == nil:
		return draft{}, notSupplied("body")
	}
	for _, side := range []*string{in.Side, in.StartSide} {
		if side != nil && *side != sideLeft && *side != sideRight {
			return draft{}, refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n"+*side+` is not a member of ["LEFT", "RIGHT"].`)
		}
	}
	d := draft{body: *in.Body, place: place{path: *in.Path, side: sideRight}}
	if in.Line == nil && in.Position != nil {
		var err error
		d.position = *in.Position
		d.place, err = p.byPosition(commit, d.place)
		return d, unprocessable(err)
	}
	if in.Line == nil {
		return draft{}, notSupplied("line")
	}
	d.line = *in.Line
	if in.Side != nil {
		d.side = *in.Side
	}
	if in.StartLine != nil {
		d.hasStarts, d.startLine, d.startSide = true, *in.StartLine, d.side
		if in.StartSide != nil {
			d.startSide = *in.StartSide
		}
	}
	return d, nil
}

func listReviews(c *call) (*reply, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(slices.Clone(p.reviews), func(v *review) bool { return !v.visibleTo(c.me.account()) })
	from, to := c.page(len(all))
	out := []obj{}
	for _, v := range all[from:to] {
		out = append(out, v.json())
	}
	return ok(out)
}

func createReview(c *call) (*reply, error) {
	if err := c.mayReview(); err != nil {
		return nil, err
	}
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	var in struct {
		CommitID string         `json:"commit_id"`
		Body     string         `json:"body"`
		Event    string         `json:"event"`
		Comments []commentInput `json:"comments"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	drafts, err := draftsOf(p, in.CommitID, in.Comments)
	if err != nil {
		return nil, err
	}
	if in.Event != "" && in.Event != "PENDING" {
		if err := p.checkEvent(c.me.account(), in.Event, in.Body, len(drafts)); err != nil {
			return nil, unprocessable(err)
		}
	}
	v, err := p.newReview(c.me.account(), c.app(), in.CommitID, in.Body, drafts)
	if err != nil {
		return nil, unprocessable(err)
	}
	if in.Event != "" && in.Event != "PENDING" {
		if err := v.submit(in.Event, nil); err != nil {
			return nil, unprocessable(err)
		}
	}
	return ok(v.json())
}

// draftsOf reads the comments of a review; a commit that is not the pull request's is refused later.
func draftsOf(p *Pull, commit string, list []commentInput) ([]draft, error) {
	if commit == "" || !p.has(commit) {
		commit = p.headSHA
	}
	var out []draft
	for _, one := range list {
		d, err := one.draft(p, commit)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// review finds the review of the path; one that is pending exists for its author alone.
func (c *call) review() (*review, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	id, err := c.id("review_id")
	if err != nil {
		return nil, err
	}
	v := p.findReview(id)
	if v == nil || !v.visibleTo(c.me.account()) {
		return nil, notFound()
	}
	return v, nil
}

// ownReview is a review that the caller wrote and may change.
func (c *call) ownReview() (*review, error) {
	if err := c.mayReview(); err != nil {
		return nil, err
	}
	v, err := c.review()
	if err != nil {
		return nil, err
	}
	if v.author != c.me.account() {
		return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	return v, nil
}

func getReview(c *call) (*reply, error) {
	v, err := c.review()
	if err != nil {
		return nil, err
	}
	return ok(v.json())
}

func updateReview(c *call) (*reply, error) {
	v, err := c.ownReview()
	if err != nil {
		return nil, err
	}
	var in struct {
		Body *string `json:"body"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.Body == nil {
		return nil, notSupplied("body")
	}
	if err := checkBody(*in.Body); err != nil {
		return nil, unprocessable(err)
	}
	v.body, v.updated = *in.Body, c.sim.now()
	return ok(v.json())
}

func deleteReview(c *call) (*reply, error) {
	v, err := c.ownReview()
	if err != nil {
		return nil, err
	}
	if err := v.drop(); err != nil {
		return nil, unprocessable(err)
	}
	return ok(v.json())
}

func submitReview(c *call) (*reply, error) {
	v, err := c.ownReview()
	if err != nil {
		return nil, err
	}
	var in struct {
		Body  *string `json:"body"`
		Event string  `json:"event"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := v.submit(in.Event, in.Body); err != nil {
		return nil, unprocessable(err)
	}
	return ok(v.json())
}

func dismissReview(c *call) (*reply, error) {
	v, err := c.review()
	if err != nil {
		return nil, err
	}
	var in struct {
		Message string `json:"message"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if err := v.dismiss(c.me.account(), in.Message); err != nil {
		return nil, unprocessable(err)
	}
	return ok(v.json())
}

func listReviewOwnComments(c *call) (*reply, error) {
	v, err := c.review()
	if err != nil {
		return nil, err
	}
	return c.commentPage(v.comments(), "")
}

// commentPage is one page of comments, in the order asked for.
func (c *call) commentPage(all []*reviewComment, by string) (*reply, error) {
	all = knownAlone(c, all, func(m *reviewComment) int64 { return m.id })
	if by == "updated" {
		slices.SortStableFunc(all, func(a, b *reviewComment) int { return a.updated.Compare(b.updated) })
	}
	if by != "" && strings.EqualFold(c.query("direction"), "desc") {
		slices.Reverse(all)
	}
	from, to := c.page(len(all))
	out := []obj{}
	for _, m := range all[from:to] {
		out = append(out, m.json())
	}
	return ok(out)
}
