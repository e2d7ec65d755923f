package collect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const actions = 15368

// run is a completed check run of GitHub Actions that began some minutes after noon.
func run(id int64, name, conclusion string, minute int, change ...func(*forge.Check)) forge.Check {
	c := forge.Check{Kind: forge.CheckRun, ID: id, Name: name, AppID: actions, App: "github-actions", Status: "completed", Conclusion: conclusion,
		StartedAt: noon.Add(time.Duration(minute) * time.Minute), CompletedAt: noon.Add(time.Duration(minute)*time.Minute + 30*time.Second)}
	for _, f := range change {
		f(&c)
	}
	return c
}

func status(name, state string) forge.Check {
	c := forge.Check{Kind: forge.CommitStatus, Name: name, App: "jenkins", Status: "completed", Conclusion: state, StartedAt: noon}
	if state == "pending" {
		c.Status, c.Conclusion = "pending", ""
	}
	return c
}

func from(app int64, slug string) func(*forge.Check) {
	return func(c *forge.Check) { c.AppID, c.App = app, slug }
}

func workflow(path, event string) func(*forge.Check) {
	return func(c *forge.Check) { c.Workflow, c.Event = path, event }
}

// page gives a run the address of a job's page.
func page(c *forge.Check) {
	c.URL = fmt.Sprintf("https://github.com/acme/api/actions/runs/77/job/%d", c.ID)
}

func suite(id int64) func(*forge.Check) { return func(c *forge.Check) { c.Suite = id } }

func input(rows ...forge.Check) ChecksInput {
	return ChecksInput{Snapshot: forge.Snapshot{Checks: rows, ChecksComplete: true}, OwnAppID: 4711, OwnNames: []string{"countersign"},
		HeadSince: noon, Now: noon.Add(10 * time.Minute), Wait: 45 * time.Minute}
}

// gate runs the checks through the gate, at low and without a review, and tells CI's fact.
func ciOf(c review.Checks) review.CI {
	facts, _ := review.Summarise(review.Evidence{Tier: risk.Low, Checks: c}, review.Rules{})
	return facts.CI
}

func show(c review.Checks) string {
	var out []string
	for _, r := range c.Results {
		s := fmt.Sprintf("%d %s %s", r.ID, r.Name, r.Conclusion)
		for _, mark := range []struct {
			on   bool
			text string
		}{{r.Required, " required"}, {r.Advisory, " advisory"}, {r.Ours, " ours"}, {r.Untrusted != "", " untrusted"}} {
			if mark.on {
				s += mark.text
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestChecks(t *testing.T) {
	required := func(rs ...forge.RequiredCheck) func(*ChecksInput) {
		return func(in *ChecksInput) { in.Required = rs }
	}
	for name, tc := range map[string]struct {
		rows   []forge.Check
		change func(*ChecksInput)
		want   string
		ci     review.CI
	}{
		"case-101 ours is left out": {[]forge.Check{run(1, "test", "success", 0), run(2, "countersign", "", 1, from(4711, "countersign"), func(c *forge.Check) { c.Status = "in_progress" })},
			required(forge.RequiredCheck{Name: "countersign", AppID: 4711}, forge.RequiredCheck{Name: "countersign"}), "2 countersign  ours; 1 test success", review.CIPassed},
		"case-104 the newest attempt counts": {[]forge.Check{run(20, "lint", "success", 5), run(10, "lint", "failure", 0)}, nil, "20 lint success", review.CIPassed},
		"case-104 in either order":           {[]forge.Check{run(10, "lint", "failure", 0), run(20, "lint", "success", 5)}, nil, "20 lint success", review.CIPassed},
		"case-104 a newer failure":           {[]forge.Check{run(10, "lint", "success", 0), run(20, "lint", "failure", 5)}, nil, "20 lint failure", review.CIFailed},
		"started together: the id decides":   {[]forge.Check{run(20, "lint", "success", 0), run(10, "lint", "failure", 0)}, nil, "20 lint success", review.CIPassed},
		"a queued attempt is the newest": {[]forge.Check{run(10, "lint", "success", 0), run(20, "lint", "", 0, func(c *forge.Check) { c.Status, c.StartedAt, c.CompletedAt = "queued", time.Time{}, time.Time{} })}, nil,
			"20 lint ", review.CIPending},
		"one name in two workflows": {[]forge.Check{run(1, "build", "success", 5, workflow("a.yml", "push")), run(2, "build", "failure", 0, workflow("b.yml", "push"))}, nil,
			"1 build success; 2 build failure", review.CIFailed},
		"one workflow for two events": {[]forge.Check{run(1, "build", "success", 5, workflow("a.yml", "push")), run(2, "build", "failure", 0, workflow("a.yml", "pull_request"))},
			required(forge.RequiredCheck{Name: "build"}), "1 build success required; 2 build failure required", review.CIFailed},
		"one workflow twice": {[]forge.Check{run(1, "build", "failure", 0, workflow("a.yml", "push"), suite(1)), run(2, "build", "success", 5, workflow("a.yml", "push"), suite(2))}, nil,
			"2 build success", review.CIPassed},
		"cancelled by its successor": {[]forge.Check{run(1, "build", "cancelled", 0, workflow("a.yml", "push"), suite(1), func(c *forge.Check) { c.CompletedAt = noon.Add(6 * time.Minute) }),
			run(2, "build", "success", 5, workflow("a.yml", "push"), suite(2))}, nil, "2 build success", review.CIPassed},
		"a skipped job hides no failure": {[]forge.Check{run(1, "build", "failure", 0, workflow("a.yml", "pull_request"), suite(1)), run(2, "build", "skipped", 5, workflow("a.yml", "pull_request"), suite(2))}, nil,
			"1 build failure; 2 build skipped", review.CIFailed},
		"nor does a neutral one, in its own suite": {[]forge.Check{run(1, "build", "timed_out", 0, suite(1)), run(2, "build", "neutral", 5, suite(1))}, nil, "1 build timed_out; 2 build neutral", review.CIFailed},
		"nor two of them":                          {[]forge.Check{run(1, "build", "failure", 0), run(2, "build", "skipped", 5), run(3, "build", "skipped", 6)}, nil, "1 build failure; 3 build skipped", review.CIFailed},
		"nor an open run": {[]forge.Check{run(1, "build", "", 0, workflow("a.yml", "pull_request"), suite(1), func(c *forge.Check) { c.Status, c.CompletedAt = "in_progress", time.Time{} }), run(2, "build", "skipped", 5, workflow("a.yml", "pull_request"), suite(2))}, nil,
			"1 build ; 2 build skipped", review.CIPending},
		"a later success mends a failure":          {[]forge.Check{run(1, "build", "failure", 0), run(2, "build", "skipped", 5), run(3, "build", "success", 6)}, nil, "3 build success", review.CIPassed},
		"also when a skipped job follows":          {[]forge.Check{run(1, "build", "failure", 0), run(2, "build", "success", 5), run(3, "build", "skipped", 6)}, nil, "3 build skipped", review.CISkipped},
		"a later failure is the one":               {[]forge.Check{run(1, "build", "failure", 0), run(2, "build", "cancelled", 5), run(3, "build", "skipped", 6)}, nil, "2 build cancelled; 3 build skipped", review.CIFailed},
		"a skipped job after a success is skipped": {[]forge.Check{run(1, "build", "success", 0), run(2, "build", "skipped", 5)}, nil, "2 build skipped", review.CISkipped},
		"two jobs of one name side by side": {[]forge.Check{run(1, "build", "failure", 0, workflow("a.yml", "push"), suite(1), func(c *forge.Check) { c.CompletedAt = noon.Add(9 * time.Minute) }),
			run(2, "build", "success", 1, workflow("a.yml", "push"), suite(1))}, nil, "1 build failure; 2 build success", review.CIFailed},
		"two suites of another app": {[]forge.Check{run(1, "scan", "failure", 0, from(9001, "scanner"), suite(1)), run(2, "scan", "success", 5, from(9001, "scanner"), suite(2))}, nil,
			"1 scan failure; 2 scan success", review.CIFailed},
		"case-107 another app's run": {[]forge.Check{run(1, "security-scan", "success", 0)}, required(forge.RequiredCheck{Name: "security-scan", AppID: 9001}),
			"1 security-scan success required untrusted", review.CIPending},
		"case-107 a status of that name": {[]forge.Check{status("security-scan", "success")}, required(forge.RequiredCheck{Name: "security-scan", AppID: 9001}),
			"0 security-scan success required untrusted", review.CIPending},
		"case-107 the right app": {[]forge.Check{run(1, "security-scan", "success", 0), run(2, "security-scan", "success", 0, from(9001, "scanner"))}, required(forge.RequiredCheck{Name: "security-scan", AppID: 9001}),
			"2 security-scan success required; 1 security-scan success required untrusted", review.CIPassed},
		"a changed workflow proves nothing": {[]forge.Check{run(1, "build", "success", 0, workflow(".github/workflows/ci.yml", "pull_request"))},
			func(in *ChecksInput) {
				in.ChangedWorkflows = []string{".github/workflows/ci.yml"}
				in.PolicyRequired = []string{"build"}
			},
			"1 build success required untrusted", review.CIMissing},
		"a changed workflow, not required": {[]forge.Check{run(1, "build", "success", 0, workflow("ci.yml", "push"))}, func(in *ChecksInput) { in.ChangedWorkflows = []string{"ci.yml"} }, "1 build success", review.CIPassed},
		"a hidden workflow while some change": {[]forge.Check{run(1, "build", "success", 0, workflow("", "push"))},
			func(in *ChecksInput) { in.ChangedWorkflows = []string{"ci.yml"}; in.PolicyRequired = []string{"build"} }, "1 build success required untrusted", review.CIMissing},
		"case-109 no statuses":                {[]forge.Check{run(1, "a", "success", 0), run(2, "b", "skipped", 0)}, nil, "1 a success; 2 b skipped", review.CISkipped},
		"case-110a statuses green, a run red": {[]forge.Check{status("ci/x", "success"), run(1, "test", "failure", 0)}, nil, "0 ci/x success; 1 test failure", review.CIFailed},
		"case-110b runs green, a status open": {[]forge.Check{status("ci/jenkins", "pending"), run(1, "test", "success", 0)}, nil, "0 ci/jenkins ; 1 test success", review.CIPending},
		"case-110b and then red":              {[]forge.Check{status("ci/jenkins", "failure"), run(1, "test", "success", 0)}, nil, "0 ci/jenkins failure; 1 test success", review.CIFailed},
		"case-111 a status in error":          {[]forge.Check{status("ci/x", "error")}, nil, "0 ci/x error", review.CIFailed},
		"case-113 a required name that never reports": {[]forge.Check{run(1, "build", "success", 0)}, required(forge.RequiredCheck{Name: "build"}, forge.RequiredCheck{Name: "test"}),
			"1 build success required", review.CIPending},
		"case-113 and after the wait": {[]forge.Check{run(1, "build", "success", 0)}, func(in *ChecksInput) {
			in.Required, in.Now = []forge.RequiredCheck{{Name: "build"}, {Name: "test"}}, noon.Add(time.Hour)
		}, "1 build success required", review.CIMissing},
		"policy pattern": {[]forge.Check{run(1, "test (linux)", "success", 0), run(2, "test (mac/arm)", "failure", 0), run(3, "attest", "success", 0)},
			func(in *ChecksInput) { in.PolicyRequired = []string{"test (*)"} }, "3 attest success; 1 test (linux) success required; 2 test (mac/arm) failure required", review.CIFailed},
		"a pattern that nothing matches": {[]forge.Check{run(1, "build", "success", 0)}, func(in *ChecksInput) { in.PolicyRequired = []string{"test (*)"}; in.Now = noon.Add(time.Hour) },
			"1 build success", review.CIMissing},
		"advisory": {[]forge.Check{run(1, "build", "success", 0), run(2, "codecov/patch", "failure", 0, from(254, "codecov"))}, func(in *ChecksInput) { in.Advisory = []string{"codecov/*"} },
			"1 build success; 2 codecov/patch failure advisory", review.CIPassed},
		"what is required is not advisory": {[]forge.Check{run(2, "codecov/patch", "failure", 0)}, func(in *ChecksInput) { in.Advisory, in.PolicyRequired = []string{"*"}, []string{"codecov/*"} },
			"2 codecov/patch failure required", review.CIFailed},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(tc.rows...)
			if tc.change != nil {
				tc.change(&in)
			}
			c := Checks(in)
			if got := show(c); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if got := ciOf(c); got != tc.ci {
				t.Errorf("CI is %s, want %s", got, tc.ci)
			}
			slices.Reverse(in.Snapshot.Checks)
			if again := show(Checks(in)); again != tc.want {
				t.Errorf("the order of the list decides: %s", again)
			}
		})
	}
}

// A patch that changes workflows can report anything with a workflow's token.
func TestCase107_ThePatchReportsForItself(t *testing.T) {
	set := func(by string, change ...func(*forge.Check)) forge.Check {
		c := status("build", "success")
		c.App = by
		for _, f := range change {
			f(&c)
		}
		return c
	}
	lint := run(9, "lint", "success", 0, workflow("lint.yml", "pull_request"), page)
	for name, tc := range map[string]struct {
		rows []forge.Check
		app  int64  // that the branch demands
		why  string // part of it; empty: it counts
	}{
		"a status by Actions":                    {[]forge.Check{set("github-actions[bot]"), lint}, actions, `a commit status by "github-actions[bot]"`},
		"a status by Actions, any App":           {[]forge.Check{set("github-actions[bot]"), lint}, 0, `a commit status by "github-actions[bot]"`},
		"a status by Actions alone":              {[]forge.Check{set("github-actions[bot]")}, 0, "a commit status"},
		"a status by a person":                   {[]forge.Check{set("mara"), lint}, 0, `a commit status by "mara"`},
		"a status by an account that is gone":    {[]forge.Check{set(""), lint}, 0, "a commit status"},
		"a status by another App":                {[]forge.Check{set("jenkins[bot]"), lint}, 0, ""},
		"a status by another App that runs":      {[]forge.Check{set("scanner[bot]"), run(3, "scan", "success", 0, from(9001, "scanner")), lint}, 9001, ""},
		"a run by Actions of no workflow":        {[]forge.Check{run(1, "build", "success", 0), lint}, actions, "its workflow file is unknown"},
		"a run by Actions under another id":      {[]forge.Check{run(1, "build", "success", 0, from(7, "github-actions")), lint}, 0, "its workflow file is unknown"},
		"a run by what Actions is called here":   {[]forge.Check{run(1, "build", "success", 0, from(7, "ci")), run(2, "x", "success", 0, from(7, "ci"), workflow("lint.yml", "push"))}, 7, "its workflow file is unknown"},
		"a run by nobody":                        {[]forge.Check{run(1, "build", "success", 0, from(0, "")), lint}, 0, "its workflow file is unknown"},
		"a run by another App":                   {[]forge.Check{run(1, "build", "success", 0, from(9001, "scanner")), lint}, 9001, ""},
		"a job of a workflow that is left alone": {[]forge.Check{run(1, "build", "success", 0, workflow("lint.yml", "push"), page), lint}, actions, ""},
		"a job of the changed workflow":          {[]forge.Check{run(1, "build", "success", 0, workflow("ci.yml", "push"), page), lint}, actions, "it comes from ci.yml"},
		"a step's run in another workflow's suite": {[]forge.Check{run(1, "build", "success", 0, workflow("lint.yml", "push"), func(c *forge.Check) {
			c.URL = "https://github.com/acme/api/runs/1"
		}), lint}, actions, "it is not a job of lint.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(tc.rows...)
			in.Required = []forge.RequiredCheck{{Name: "build", AppID: tc.app}}
			in.ChangedWorkflows, in.Now = []string{"ci.yml"}, noon.Add(time.Hour)
			c := Checks(in)
			i := slices.IndexFunc(c.Results, func(r review.CheckResult) bool { return r.Name == "build" })
			if got := c.Results[i].Untrusted; (got == "") != (tc.why == "") || !strings.Contains(got, tc.why) {
				t.Errorf("untrusted: %q, want %q", got, tc.why)
			}
			want := review.CIPassed
			if tc.why != "" {
				want = review.CIMissing
			}
			if got := ciOf(c); got != want {
				t.Errorf("CI is %s, want %s", got, want)
			}
			// Where no workflow changes, what reported before still counts.
			in.ChangedWorkflows = nil
			if got := ciOf(Checks(in)); got != review.CIPassed {
				t.Errorf("without a changed workflow CI is %s", got)
			}
		})
	}
}

func TestIsJob(t *testing.T) {
	for url, want := range map[string]bool{
		"https://github.com/a/b/actions/runs/1/job/2": true, "https://ghe.acme.example/a/b/actions/runs/12/job/34": true,
		"": false, "https://github.com/a/b/runs/1": false, "https://github.com/a/b/actions/runs/1": false, "https://github.com/a/b/actions/runs/1/job/": false,
		"https://github.com/a/b/actions/runs//job/2": false, "https://github.com/a/b/actions/runs/1/job/2/x": false, "/job/2/actions/runs/1": false,
	} {
		if got := isJob(url); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}

func TestCase107_SpoofIsExplained(t *testing.T) {
	in := input(run(1, "scan", "success", 0), status("other", "success"))
	in.Required = []forge.RequiredCheck{{Name: "scan", AppID: 9001}, {Name: "other", AppID: 9001}}
	c := Checks(in)
	if got := c.Results[1].Untrusted; got != "it comes from github-actions (app 15368), and app 9001 is required" {
		t.Errorf("got %q", got)
	}
	if got := c.Results[0].Untrusted; got != `it comes from a commit status by "jenkins", and app 9001 is required` {
		t.Errorf("got %q", got)
	}
	// An App that reports both ways proves its statuses by its runs.
	set := status("other", "success")
	set.App = "scanner[bot]"
	in.Snapshot.Checks = []forge.Check{set, run(3, "scan", "success", 0, from(9001, "scanner"))}
	for _, r := range Checks(in).Results {
		if r.Untrusted != "" || r.AppID != 9001 {
			t.Errorf("%+v", r)
		}
	}
}

func TestCase116_IncompleteStaysIncomplete(t *testing.T) {
	in := input(run(1, "a", "success", 0))
	in.Snapshot.ChecksComplete = false
	if c := Checks(in); c.Complete {
		t.Error("rows are missing, and the checks are complete")
	}
}

func TestRequirementsAreJoined(t *testing.T) {
	in := input()
	in.Required = []forge.RequiredCheck{{Name: "build", Source: "branch protection"}, {Name: "build", Source: "ruleset"}, {Name: "build", AppID: 9, Source: "ruleset"}}
	in.PolicyRequired = []string{"build", "countersign"}
	got := Checks(in).Required
	if len(got) != 2 || got[0].Source != "branch protection, ruleset, policy" || fmt.Sprint(got[1].AppIDs) != "[9]" {
		t.Errorf("got %+v", got)
	}
}

func TestWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		head, first, now time.Duration // from noon; negative: not known
		waitOver, none   bool
		recheck          time.Duration // from noon; 0: never
	}{
		"just arrived":                      {0, -1, 0, false, false, 2 * time.Minute},
		"two minutes of nothing":            {0, -1, 2 * time.Minute, false, true, 45 * time.Minute},
		"the wait counts from the head":     {0, -1, 45 * time.Minute, true, true, 0},
		"or from the first event":           {0, 10 * time.Minute, 45 * time.Minute, false, true, 55 * time.Minute},
		"and ends":                          {0, 10 * time.Minute, 55 * time.Minute, true, true, 0},
		"nothing is known of its arrival":   {-1, -1, time.Hour, false, false, 0},
		"an event, and no arrival is known": {-1, 0, time.Hour, true, false, 0},
	} {
		at := func(d time.Duration) time.Time {
			if d < 0 {
				return time.Time{}
			}
			return noon.Add(d)
		}
		in := input()
		in.HeadSince, in.FirstEvent, in.Now = at(tc.head), at(tc.first), at(tc.now)
		c := Checks(in)
		if c.WaitOver != tc.waitOver || c.NoneSettled != tc.none {
			t.Errorf("%s: wait over %v, none settled %v", name, c.WaitOver, c.NoneSettled)
		}
		want := time.Time{}
		if tc.recheck > 0 {
			want = noon.Add(tc.recheck)
		}
		if got := Recheck(in); !got.Equal(want) {
			t.Errorf("%s: recheck at %s, want %s", name, got, want)
		}
	}
}

func TestDigest(t *testing.T) {
	base := run(1, "a", "success", 0)
	base.Title, base.Summary = "ab", "c"
	seen := map[string]string{digest(base): "base"}
	for name, change := range map[string]func(*forge.Check){
		"shifted":    func(c *forge.Check) { c.Title, c.Summary = "a", "bc" },
		"conclusion": func(c *forge.Check) { c.Conclusion = "failure" },
		"time":       func(c *forge.Check) { c.CompletedAt = c.CompletedAt.Add(time.Second) },
		"url":        func(c *forge.Check) { c.URL = "u" },
		"attempt":    func(c *forge.Check) { c.Attempt = 2 },
		"workflow":   func(c *forge.Check) { c.Workflow = "w" },
	} {
		c := base
		change(&c)
		if other, ok := seen[digest(c)]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[digest(c)] = name
	}
	same := base
	same.StartedAt = base.StartedAt.In(time.FixedZone("x", 3600))
	if digest(same) != digest(base) {
		t.Error("the zone of a time changes the digest")
	}
	long := base
	long.Summary = strings.Repeat("語", 500)
	if e := Checks(input(long)).Results[0].Excerpt; len(e) > maxExcerpt || strings.ContainsRune(e, '\uFFFD') || !strings.HasPrefix(e, "ab\n語") {
		t.Errorf("case-038: excerpt of %d bytes: %q", len(e), e)
	}
}

func TestMatchName(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"build", "build", true}, {"build", "Build", false}, {"build", "build2", false}, {"test (*)", "test (a, b/c)", true}, {"test (*)", "test", false},
		{"codecov/*", "codecov/patch", true}, {"codecov/*", "codecov", false}, {"*", "", true}, {"*a*b", "xaxxb", true}, {"*a*b", "xaxxbc", false},
		{"build [linux]", "build [linux]", true}, {"{a,b}", "a", false}, {"?", "é", true}, {"**", "x", true}, {"", "x", false}, {"a?", "a", false},
	} {
		if got := matchName(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q, %q: %v", tc.pattern, tc.name, got)
		}
	}
	// Many stars stay cheap.
	if matchName(strings.Repeat("*a", 200), strings.Repeat("a", 5000)+"b") {
		t.Error("matched")
	}
}
