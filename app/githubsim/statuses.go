package githubsim

import (
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// commitStatus is a legacy status. Statuses are never changed: a new one of the same context hides it.
type commitStatus struct {
	id                  int64
	repo                *Repo
	sha, context, state string
	description, target string
	creator             *account
	created             time.Time
}

// StatusDetail is what a status may say besides its state.
type StatusDetail struct {
	Description, TargetURL string
	Creator                string // login; defaults to the repository owner's account
}

// SetStatus reports a legacy commit status (error, failure, pending or success) and sends status.
func (r *Repo) SetStatus(sha, context, state string, more ...StatusDetail) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	if _, err := r.store.Commit(sha); err != nil {
		return fmt.Errorf("set status %q in %s: %w", context, r.fullName(), err)
	}
	st := &commitStatus{repo: r, sha: sha, context: context, state: state, creator: r.defaultAuthor()}
	for _, d := range more {
		st.description, st.target = d.Description, d.TargetURL
		if d.Creator != "" {
			st.creator = r.sim.account(d.Creator)
		}
	}
	if err := st.check(); err != nil {
		return fmt.Errorf("set status %q in %s: %w", context, r.fullName(), err)
	}
	return r.addStatus(st)
}

func (st *commitStatus) check() error {
	if !slices.Contains([]string{"error", "failure", "pending", "success"}, st.state) {
		return invalid("Status", "state", "custom", fmt.Sprintf("state %q: want error, failure, pending or success", st.state))
	}
	if utf8.RuneCountInString(st.description) > 140 {
		return invalid("Status", "description", "custom", "description is too long (maximum is 140 characters)")
	}
	return nil
}

func (r *Repo) addStatus(st *commitStatus) error {
	st.id, st.created = r.sim.ids.next("status"), r.sim.now()
	if st.context == "" {
		st.context = "default"
	}
	r.statuses = append(r.statuses, st)
	return st.send()
}

// latestStatuses are the newest of each context, newest first.
func (r *Repo) latestStatuses(sha string) []*commitStatus {
	var out []*commitStatus
	seen := map[string]bool{}
	for _, st := range slices.Backward(r.statuses) {
		if st.sha == sha && !seen[st.context] {
			seen[st.context] = true
			out = append(out, st)
		}
	}
	return out
}

func statusRoutes() []route {
	const repo = "/repos/{owner}/{repo}"
	return []route{
		{"GET " + repo + "/commits/{ref}/status", anyToken, "statuses:read", combinedStatus},
		{"GET " + repo + "/commits/{ref}/statuses", anyToken, "statuses:read", listStatuses},
		{"POST " + repo + "/statuses/{sha}", anyToken, "statuses:write", createStatus},
	}
}

func (st *commitStatus) simpleJSON() obj {
	return obj{
		"id": st.id, "node_id": nodeID("SC", st.id), "url": st.repo.apiURL() + "/statuses/" + st.sha, "state": st.state,
		"avatar_url":  fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", st.creator.id),
		"description": orNull(st.description), "target_url": orNull(st.target), "context": st.context,
		"created_at": stamp(st.created), "updated_at": stamp(st.created),
	}
}

func (st *commitStatus) json() obj {
	o := st.simpleJSON()
	o["creator"] = st.repo.sim.userJSON(st.creator)
	return o
}

// combinedStatus says pending when there is no status at all: the empty set is not success.
func combinedStatus(c *call) (*reply, error) {
	commit, err := c.findCommit(c.path("ref"))
	if err != nil {
		return nil, err
	}
	all := c.repo.latestStatuses(commit.SHA)
	state := "pending"
	if len(all) > 0 {
		state = combined(all)
	}
	total := len(all)
	all = knownAlone(c, all, func(st *commitStatus) int64 { return st.id })
	from, to := c.page(len(all))
	list := []obj{}
	for _, st := range all[from:to] {
		list = append(list, st.simpleJSON())
	}
	u := c.repo.apiURL() + "/commits/" + commit.SHA
	return ok(obj{
		"state": state, "sha": commit.SHA, "total_count": total, "statuses": list, "repository": c.repo.json(),
		"commit_url": u, "url": u + "/status",
	})
}

func combined(all []*commitStatus) string {
	state := "success"
	for _, st := range all {
		switch st.state {
		case "error", "failure":
			return "failure"
		case "pending":
			state = "pending"
		}
	}
	return state
}

func listStatuses(c *call) (*reply, error) {
	commit, err := c.findCommit(c.path("ref"))
	if err != nil {
		return nil, err
	}
	var all []*commitStatus
	for _, st := range slices.Backward(c.repo.statuses) {
		if st.sha == commit.SHA {
			all = append(all, st)
		}
	}
	all = knownAlone(c, all, func(st *commitStatus) int64 { return st.id })
	from, to := c.page(len(all))
	list := []obj{}
	for _, st := range all[from:to] {
		list = append(list, st.json())
	}
	return ok(list)
}

func createStatus(c *call) (*reply, error) {
	var in struct {
		State       string `json:"state"`
		TargetURL   string `json:"target_url"`
		Description string `json:"description"`
		Context     string `json:"context"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	commit, err := c.repo.store.Commit(c.path("sha"))
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.path("sha"))
	}
	st := &commitStatus{
		repo: c.repo, sha: commit.SHA, context: in.Context, state: in.State, description: in.Description, target: in.TargetURL,
		creator: c.me.account(),
	}
	if err := st.check(); err != nil {
		return nil, err
	}
	if err := c.repo.addStatus(st); err != nil {
		return nil, err
	}
	return created(st.json())
}

// branchesAt are the branches whose tip is a commit, as status events list them.
func (r *Repo) branchesAt(c gitstore.Commit) []obj {
	out := []obj{}
	for _, name := range sortedKeys(r.branches) {
		if r.branches[name] == c.SHA {
			out = append(out, obj{
				"name": name, "protected": r.required[name] != nil,
				"commit": obj{"sha": c.SHA, "url": r.apiURL() + "/commits/" + c.SHA},
			})
		}
	}
	return out[:min(len(out), 10)]
}
