package review

import (
	"slices"
	"testing"
)

const actionsApp = 15368

// run is a completed check run of GitHub Actions.
func run(name, conclusion string) CheckResult {
	return CheckResult{Kind: KindCheckRun, AppID: actionsApp, App: "github-actions", Name: name, Status: "completed", Conclusion: conclusion, URL: "https://example.test/" + name}
}

func status(name, state string) CheckResult {
	r := CheckResult{Kind: KindStatus, Name: name, Status: "completed", Conclusion: state}
	if state == "pending" {
		r.Status = "pending"
	}
	return r
}

func with(r CheckResult, change func(*CheckResult)) CheckResult {
	change(&r)
	return r
}

func settledChecks(results ...CheckResult) Checks {
	return Checks{Results: results, WaitOver: true, NoneSettled: true, Complete: true}
}

func requiring(c Checks, required ...RequiredCheck) Checks {
	c.Required = required
	return c
}

type ciRow struct {
	name   string
	checks Checks
	skip   bool // skipped counts as failed
	want   CI
	rule   RuleID // one that must have the cause
	cause  string // the cause's key
}

func ciRows() []ciRow {
	open := func(status string) CheckResult {
		return with(run("test", ""), func(r *CheckResult) { r.Status = status })
	}
	ours := with(open("in_progress"), func(r *CheckResult) { r.Name, r.AppID, r.Ours = "countersign", 77, true })
	advisory := with(run("codecov/patch", "failure"), func(r *CheckResult) { r.Advisory = true })
	untrusted := with(run("build", "success"), func(r *CheckResult) { r.Untrusted = "its workflow is changed by this patch" })
	selfMade := with(untrusted, func(r *CheckResult) { r.SelfMade = true })
	waiting := func(c Checks) Checks {
		c.WaitOver, c.NoneSettled = false, false
		return c
	}
	lots := make([]CheckResult, 0, 23)
	for range 20 {
		lots = append(lots, run("job", "success"))
	}
	for range 3 {
		lots = append(lots, run("lint", "skipped"))
	}
	build, test := RequiredCheck{Name: "build"}, RequiredCheck{Name: "test"}
	scan := RequiredCheck{Name: "security-scan", AppIDs: []int64{9001}}
	return []ciRow{
		{name: "passed", checks: settledChecks(run("build", "success")), want: CIPassed},
		{name: "case-96 running", checks: settledChecks(run("lint", "success"), open("in_progress")), want: CIPending, rule: RuleChecksPending, cause: "test"},
		{name: "case-96 then failed", checks: settledChecks(run("lint", "success"), run("test", "failure")), want: CIFailed, rule: RuleChecksFailed, cause: "test"},
		{name: "failed and running", checks: settledChecks(run("lint", "failure"), open("queued")), want: CIFailed, rule: RuleChecksFailed, cause: "lint"},
		{name: "case-98 required and skipped", checks: requiring(settledChecks(run("greetings", "skipped")), RequiredCheck{Name: "greetings"}), want: CISkipped, rule: RuleChecksSkipped, cause: "greetings"},
		{name: "case-98 skipped fails by policy", checks: requiring(settledChecks(run("greetings", "skipped")), RequiredCheck{Name: "greetings"}), skip: true, want: CIFailed, rule: RuleChecksFailed, cause: "greetings"},
		{name: "case-100 required and neutral", checks: requiring(settledChecks(run("build", "success"), run("test", "neutral")), build, test), want: CISkipped, rule: RuleChecksSkipped, cause: "test"},
		{name: "case-101 our own running check", checks: settledChecks(run("test", "success"), ours), want: CIPassed},
		{name: "case-101 our own check is required", checks: requiring(settledChecks(run("test", "success"), ours), RequiredCheck{Name: "countersign"}), want: CIPassed},
		{name: "case-109 statuses say nothing", checks: settledChecks(lots...), want: CISkipped, rule: RuleChecksSkipped, cause: "lint"},
		{name: "case-110a a run failed beside good statuses", checks: settledChecks(status("ci/a", "success"), run("test", "failure")), want: CIFailed, rule: RuleChecksFailed, cause: "test"},
		{name: "case-110b a status pending beside good runs", checks: settledChecks(run("test", "success"), status("ci/jenkins", "pending")), want: CIPending, rule: RuleChecksPending, cause: "ci/jenkins"},
		{name: "case-110b a status failed beside good runs", checks: settledChecks(run("test", "success"), status("ci/jenkins", "failure")), want: CIFailed, rule: RuleChecksFailed, cause: "ci/jenkins"},
		{name: "case-111 status error", checks: settledChecks(status("ci/x", "error")), want: CIFailed, rule: RuleChecksFailed, cause: "ci/x"},
		{name: "case-113 required, waited for", checks: waiting(requiring(settledChecks(run("build", "success")), build, test)), want: CIPending, rule: RuleChecksPending, cause: "test"},
		{name: "case-113 required, wait over", checks: requiring(settledChecks(run("build", "success")), build, test), want: CIMissing, rule: RuleChecksMissing, cause: "test"},
		{name: "case-107 required from another app", checks: requiring(settledChecks(run("security-scan", "success")), scan), want: CIMissing, rule: RuleChecksMissing, cause: "security-scan (app 9001)"},
		{name: "case-107 required from its app", checks: requiring(settledChecks(with(run("security-scan", "success"), func(r *CheckResult) { r.AppID = 9001 })), scan), want: CIPassed},
		{name: "any app", checks: requiring(settledChecks(run("build", "success")), RequiredCheck{Name: "build", AppIDs: []int64{-1}}), want: CIPassed},
		{name: "an untrusted run satisfies nothing", checks: requiring(settledChecks(untrusted, run("x", "success")), build), want: CIMissing, rule: RuleChecksMissing, cause: "build"},
		{name: "the patch's own run is not waited out", checks: waiting(requiring(settledChecks(selfMade, run("x", "success")), build)), want: CIMissing, rule: RuleChecksMissing, cause: "build"},
		{name: "the patch's own run has not ended", checks: waiting(requiring(settledChecks(with(selfMade, func(r *CheckResult) { r.Status, r.Conclusion = "in_progress", "" })), build)), want: CIPending, rule: RuleChecksPending, cause: "build"},
		{name: "the patch's own run beside a trusted one", checks: waiting(requiring(settledChecks(selfMade, with(run("build", "success"), func(r *CheckResult) { r.Workflow = "other.yml" })), build)), want: CIPassed},
		{name: "an untrusted run that fails", checks: settledChecks(with(untrusted, func(r *CheckResult) { r.Conclusion = "failure" })), want: CIFailed, rule: RuleChecksFailed, cause: "build"},
		{name: "only untrusted runs are no checks", checks: settledChecks(untrusted), want: CINone, rule: RuleChecksNone, cause: "checks"},
		{name: "two identities under a required name, one failed", checks: requiring(settledChecks(run("build", "success"), with(run("build", "failure"), func(r *CheckResult) { r.Event = "push" })), build), want: CIFailed, rule: RuleChecksFailed, cause: "build"},
		{name: "a pattern by its names", checks: requiring(settledChecks(run("test (1)", "success")), RequiredCheck{Name: "test (*)", Names: []string{"test (1)"}}), want: CIPassed},
		{name: "a pattern that nothing matches", checks: requiring(settledChecks(run("x", "success")), RequiredCheck{Name: "test (*)"}), want: CIMissing, rule: RuleChecksMissing, cause: "test (*)"},
		{name: "advisory failure", checks: settledChecks(run("build", "success"), advisory), want: CIPassed},
		{name: "advisory and required", checks: requiring(settledChecks(run("build", "success"), advisory), RequiredCheck{Name: "codecov/patch"}), want: CIFailed, rule: RuleChecksFailed, cause: "codecov/patch"},
		{name: "only advisory checks are no checks", checks: settledChecks(advisory), want: CINone, rule: RuleChecksNone, cause: "checks"},
		{name: "none yet", checks: waiting(settledChecks()), want: CIPending, rule: RuleChecksPending, cause: "checks"},
		{name: "none", checks: settledChecks(), want: CINone, rule: RuleChecksNone, cause: "checks"},
		{name: "a status without an end", checks: settledChecks(open("brand_new_status")), want: CIPending, rule: RuleChecksPending, cause: "test"},
		{name: "completed without a conclusion", checks: settledChecks(run("test", "")), want: CIFailed, rule: RuleChecksFailed, cause: "test"},
		{name: "case matters", checks: settledChecks(run("test", "SUCCESS")), want: CIFailed, rule: RuleChecksFailed, cause: "test"},
	}
}

func TestCI(t *testing.T) {
	for _, row := range ciRows() {
		t.Run(row.name, func(t *testing.T) {
			e := goodEvidence()
			e.Checks = row.checks
			facts, causes := Summarise(e, Rules{SkippedFails: row.skip})
			if facts.CI != row.want {
				t.Errorf("CI is %s, want %s", facts.CI, row.want)
			}
			if row.rule != "" && !slices.ContainsFunc(causes.Of(row.rule), func(c Cause) bool { return c.Key == row.cause }) {
				t.Errorf("causes of %s are %v, want one named %s", row.rule, causes.Of(row.rule), row.cause)
			}
			got := Decide(facts)
			if ok := row.want <= CISkipped; got.Satisfies != ok {
				t.Errorf("satisfies: %t with CI %s", got.Satisfies, facts.CI)
			}
		})
	}
}

// TestCase103_OnlySuccessPasses: success is a positive list.
func TestCase103_OnlySuccessPasses(t *testing.T) {
	for _, conclusion := range []string{"failure", "startup_failure", "stale", "cancelled", "timed_out", "action_required", "error", "foo", "", "pending"} {
		e := goodEvidence()
		e.Checks = settledChecks(run("build", "success"), run("odd", conclusion))
		out := Gate(e, Rules{})
		if out.Facts.CI != CIFailed || out.Gate.Decision != ChangesRequested {
			t.Errorf("conclusion %q: CI %s, decision %s", conclusion, out.Facts.CI, out.Gate.Decision)
		}
		if causes := out.Causes.Of(RuleChecksFailed); len(causes) != 1 || causes[0].Key != "odd" || causes[0].URL == "" {
			t.Errorf("conclusion %q: causes %v", conclusion, causes)
		}
	}
}

// TestCase104_NewestOfEachIdentity: the collector hands over the newest of each
// identity; what it hands over decides, in any order.
func TestCase104_NewestOfEachIdentity(t *testing.T) {
	lint := with(run("lint", "success"), func(r *CheckResult) { r.ID = 20 })
	for _, results := range [][]CheckResult{{lint, run("build", "success")}, {run("build", "success"), lint}} {
		e := goodEvidence()
		e.Checks = settledChecks(results...)
		if out := Gate(e, Rules{}); out.Gate.Decision != Approved || out.Causes.Checks.Passed != 2 {
			t.Errorf("decision %s, %d passed", out.Gate.Decision, out.Causes.Checks.Passed)
		}
	}
}

// TestCase116_IncompleteListIsUnknown: fewer rows than the forge counts is never
// success, and a failure that was seen still counts.
func TestCase116_IncompleteListIsUnknown(t *testing.T) {
	e := goodEvidence()
	e.Checks.Complete = false
	out := Gate(e, Rules{})
	if out.Facts.Collected != CollectedNone || out.Gate.Decision != NeedsHuman || !slices.Contains(out.Gate.Fired, RuleEvidenceMissing) {
		t.Errorf("collected %s, decision %s, fired %v", out.Facts.Collected, out.Gate.Decision, out.Gate.Fired)
	}
	e.Checks.Results = append(e.Checks.Results, run("forty-one", "failure"))
	if out := Gate(e, Rules{}); out.Gate.Decision != ChangesRequested {
		t.Errorf("with a failure seen: decision %s", out.Gate.Decision)
	}
}

func TestCheckCounts(t *testing.T) {
	e := goodEvidence()
	e.Checks = requiring(settledChecks(
		run("a", "success"), run("b", "failure"), run("c", "neutral"), status("d", "pending"),
		with(run("e", "failure"), func(r *CheckResult) { r.Advisory = true }),
		with(run("f", "success"), func(r *CheckResult) { r.Untrusted = "another app" }),
		with(run("g", "success"), func(r *CheckResult) { r.Ours = true }),
	), RequiredCheck{Name: "h"})
	out := Gate(e, Rules{})
	want := CheckCounts{Passed: 1, Failed: 1, Skipped: 1, Pending: 1, Missing: 1, Advisory: 1, Untrusted: 1}
	if out.Causes.Checks != want {
		t.Errorf("got %+v, want %+v", out.Causes.Checks, want)
	}
	if !slices.ContainsFunc(out.Residual, func(r ResidualRisk) bool { return r.Rule == RuleChecksSkipped }) {
		t.Errorf("the skipped check is no residual risk behind the failed one: %v", out.Residual)
	}
}
