package githubsim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkSuite groups the runs of one App on one commit; GitHub Actions has one for each workflow run.
type checkSuite struct {
	id       int64
	repo     *Repo
	app      *AppHandle
	sha      string
	branch   string
	before   string
	workflow Workflow // of GitHub Actions only
	runs     []*checkRun
	reset    bool // rerequested and not yet answered by a run
	created  time.Time
	updated  time.Time
}

type checkRun struct {
	suite                *checkSuite
	id                   int64
	name                 string
	status, conclusion   string
	externalID, details  string
	started, completed   time.Time
	title, summary, text *string
	annotations          []Annotation
	actions              []CheckAction
	writes               int
}

// SetCheck reports a check run on a commit as CI does. A run of the same App, workflow and name that
// is not completed is updated; otherwise a new one is made. It sends check_run and check_suite events.
func (r *Repo) SetCheck(sha string, spec CheckSpec) (CheckRun, error) {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	run, err := r.setCheck(sha, spec)
	if err != nil {
		return CheckRun{}, fmt.Errorf("set check %q on %.7s of %s: %w", spec.Name, sha, r.fullName(), err)
	}
	return run.snapshot(), nil
}

func (r *Repo) setCheck(sha string, spec CheckSpec) (*checkRun, error) {
	if _, err := r.store.Commit(sha); err != nil {
		return nil, err
	}
	if spec.Name == "" {
		return nil, errors.New("want a name")
	}
	app, err := r.sim.appOrMake(spec.App)
	if err != nil {
		return nil, err
	}
	if spec.Status == "" {
		spec.Status = "queued"
		if spec.Conclusion != "" {
			spec.Status = "completed"
		}
	}
	suite := r.suite(app, sha, r.branchOf(sha), spec.Workflow)
	var run *checkRun
	for _, one := range suite.runs {
		if one.name == spec.Name && one.status != "completed" {
			run = one
		}
	}
	isNew := run == nil
	if isNew {
		run = suite.newRun(spec.Name)
	}
	run.writes++
	run.status, run.conclusion = spec.Status, spec.Conclusion
	if !spec.StartedAt.IsZero() {
		run.started = spec.StartedAt.UTC()
	}
	if run.status == "completed" {
		if run.completed = spec.CompletedAt.UTC(); spec.CompletedAt.IsZero() {
			run.completed = r.sim.now()
		}
	}
	run.fill(spec)
	return run, run.announce(isNew)
}

func (run *checkRun) fill(spec CheckSpec) {
	if spec.DetailsURL != "" {
		run.details = spec.DetailsURL
	}
	if spec.ExternalID != "" {
		run.externalID = spec.ExternalID
	}
	text := func(field **string, value string) {
		if value != "" {
			*field = &value
		}
	}
	text(&run.title, spec.Output.Title)
	text(&run.summary, spec.Output.Summary)
	text(&run.text, spec.Output.Text)
	run.annotations = append(run.annotations, spec.Output.Annotations...)
}

// announce sends the events of a run that was made or changed, and the suite's when it is done.
func (run *checkRun) announce(isNew bool) error {
	run.suite.updated, run.suite.reset = run.suite.repo.sim.now(), false
	var errs []error
	if isNew {
		errs = append(errs, run.send("created", nil, nil))
	}
	if run.status == "completed" {
		errs = append(errs, run.send("completed", nil, nil))
		if status, _ := run.suite.state(); status == "completed" {
			errs = append(errs, run.suite.send("completed", false))
		}
	}
	return errors.Join(errs...)
}

// branchOf names a branch that points at a commit; "" for a commit that only a fork's branch has.
func (r *Repo) branchOf(sha string) string {
	for _, p := range r.pulls {
		if p.headSHA == sha && p.headRepo == r {
			return p.headRef
		}
	}
	for _, name := range sortedKeys(r.branches) {
		if r.branches[name] == sha {
			return name
		}
	}
	return ""
}

// suite finds or makes the suite for an App on a commit.
func (r *Repo) suite(app *AppHandle, sha, branch string, w Workflow) *checkSuite {
	if app.spec.ID != actionsAppID {
		w = Workflow{}
	} else {
		w = r.workflow(sha, w)
	}
	for _, s := range r.suites {
		if s.app == app && s.sha == sha && s.workflow.RunID == w.RunID {
			return s
		}
	}
	now := r.sim.now()
	s := &checkSuite{
		id: r.sim.ids.next("suite"), repo: r, app: app, sha: sha, branch: branch, workflow: w, created: now, updated: now,
	}
	if c, err := r.store.Commit(sha); err == nil && len(c.Parents) > 0 {
		s.before = c.Parents[0]
	}
	r.suites = append(r.suites, s)
	return s
}

// workflow fills in the defaults of a workflow and its run id.
func (r *Repo) workflow(sha string, w Workflow) Workflow {
	if w.Path == "" {
		w.Path = ".github/workflows/ci.yml"
	}
	if w.Name == "" {
		w.Name = strings.TrimSuffix(strings.TrimSuffix(w.Path[strings.LastIndex(w.Path, "/")+1:], ".yml"), ".yaml")
	}
	if w.Event == "" {
		w.Event = "pull_request"
	}
	key := strings.Join([]string{sha, w.Path, w.Event}, "\x00")
	if w.RunID == 0 {
		if r.workflows[key] == 0 {
			r.workflows[key] = r.sim.ids.next("workflow")
		}
		w.RunID = r.workflows[key]
	}
	return w
}

func (s *checkSuite) newRun(name string) *checkRun {
	sim := s.repo.sim
	run := &checkRun{suite: s, id: sim.ids.next("run"), name: name, status: "queued", started: sim.now()}
	run.details = fmt.Sprintf("https://github.com/%s/runs/%d", s.repo.fullName(), run.id)
	if s.workflow.RunID != 0 {
		run.details = fmt.Sprintf("https://github.com/%s/actions/runs/%d/job/%d", s.repo.fullName(), s.workflow.RunID, run.id)
	}
	s.runs = append(s.runs, run)
	s.repo.runs = append(s.repo.runs, run)
	return run
}

// latest are the suite's newest runs of each name.
func (s *checkSuite) latest() []*checkRun { return latestOf(s.runs) }

func latestOf(runs []*checkRun) []*checkRun {
	newest := map[string]*checkRun{}
	for _, run := range runs {
		if old := newest[run.name]; old == nil || run.id > old.id {
			newest[run.name] = run
		}
	}
	var out []*checkRun
	for _, run := range runs {
		if newest[run.name] == run {
			out = append(out, run)
		}
	}
	return out
}

// state is the suite's status and conclusion, from its newest runs.
func (s *checkSuite) state() (status, conclusion string) {
	runs := s.latest()
	if len(runs) == 0 || s.reset {
		return "queued", ""
	}
	started := false
	var conclusions []string
	for _, run := range runs {
		started = started || run.status != "queued"
		if run.status == "completed" {
			conclusions = append(conclusions, run.conclusion)
		}
	}
	switch {
	case len(conclusions) == len(runs):
		return "completed", worst(conclusions)
	case started:
		return "in_progress", ""
	}
	return "queued", ""
}

// worst rolls conclusions up as a suite shows them.
func worst(conclusions []string) string {
	for _, c := range []string{
		"failure", "startup_failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral", "skipped",
	} {
		if slices.Contains(conclusions, c) {
			return c
		}
	}
	return "failure"
}

// runsAt are the runs on a commit, oldest first.
func (r *Repo) runsAt(sha string) []*checkRun {
	var out []*checkRun
	for _, run := range r.runs {
		if run.suite.sha == sha {
			out = append(out, run)
		}
	}
	return out
}

// latestRuns are the newest runs of each suite and name on a commit.
func (r *Repo) latestRuns(sha string) []*checkRun {
	var out []*checkRun
	for _, s := range r.suites {
		if s.sha == sha {
			out = append(out, s.latest()...)
		}
	}
	return out
}

func (r *Repo) findRun(id int64) *checkRun {
	for _, run := range r.runs {
		if run.id == id {
			return run
		}
	}
	return nil
}

func (run *checkRun) snapshot() CheckRun {
	get := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return CheckRun{
		ID: run.id, AppID: run.suite.app.spec.ID, SuiteID: run.suite.id, AppSlug: run.suite.app.spec.Slug, Name: run.name,
		HeadSHA: run.suite.sha, Status: run.status, Conclusion: run.conclusion, ExternalID: run.externalID, DetailsURL: run.details,
		StartedAt: run.started, CompletedAt: run.completed, Actions: slices.Clone(run.actions), Writes: run.writes,
		Output: CheckOutput{
			Title: get(run.title), Summary: get(run.summary), Text: get(run.text), Annotations: slices.Clone(run.annotations),
		},
	}
}

// CheckRuns lists every run on a commit, oldest first, of all Apps.
func (r *Repo) CheckRuns(sha string) []CheckRun {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	var out []CheckRun
	for _, run := range r.runsAt(sha) {
		out = append(out, run.snapshot())
	}
	return out
}

// AllCheckRuns lists every run of the repository, oldest first.
func (r *Repo) AllCheckRuns() []CheckRun {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	var out []CheckRun
	for _, run := range r.runs {
		out = append(out, run.snapshot())
	}
	return out
}

// Rerequest asks for a run again, as the "Re-run" button does: its App gets check_run.rerequested.
func (r *Repo) Rerequest(runID int64, by string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	run := r.findRun(runID)
	if run == nil {
		return fmt.Errorf("rerequest check run %d of %s: no such run", runID, r.fullName())
	}
	run.suite.reset = true
	return run.send("rerequested", r.sim.account(by), nil)
}

// RerequestSuite asks for all of an App's runs on a commit, as "Re-run all checks" does: the App gets
// check_suite.rerequested.
func (r *Repo) RerequestSuite(sha string, appID int64) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	sent := false
	var errs []error
	for _, s := range r.suites {
		if s.sha == sha && s.app.spec.ID == appID {
			s.reset, sent = true, true
			errs = append(errs, s.send("rerequested", true))
		}
	}
	if !sent {
		errs = append(errs, fmt.Errorf("rerequest checks of app %d on %.7s of %s: no such suite", appID, sha, r.fullName()))
	}
	return errors.Join(errs...)
}

// RequestAction presses a button of a run: its App gets check_run.requested_action.
func (r *Repo) RequestAction(runID int64, identifier, by string) error {
	r.sim.mu.Lock()
	defer r.sim.mu.Unlock()
	run := r.findRun(runID)
	if run == nil || !slices.ContainsFunc(run.actions, func(a CheckAction) bool { return a.Identifier == identifier }) {
		return fmt.Errorf("request action %q of check run %d of %s: no such button", identifier, runID, r.fullName())
	}
	return run.send("requested_action", r.sim.account(by), obj{"requested_action": obj{"identifier": identifier}})
}

// requestSuites tells the Apps that may write checks about a new commit, as GitHub does on every push.
func (r *Repo) requestSuites(branch, before, sha string) error {
	var errs []error
	for _, i := range r.sim.installs {
		if i.deleted || !i.covers(r) || i.perms["checks"] != "write" {
			continue
		}
		s := r.suite(i.app, sha, branch, Workflow{})
		if before != "" {
			s.before = before
		}
		if len(s.runs) == 0 {
			errs = append(errs, s.send("requested", true))
		}
	}
	return errors.Join(errs...)
}
