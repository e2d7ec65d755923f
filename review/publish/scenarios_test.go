package publish_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

const (
	headA = "3f2a9c1b7d5e4f60718293a4b5c6d7e8f9012345"
	headB = "8c1f02d0a1b2c3d4e5f60718293a4b5c6d7e8f90"
)

func repo() forge.Repo { return forge.Repo{ID: 42, Owner: "acme", Name: "api", Installation: 9} }

// base is a view before anything is known but the pull request.
func base() publish.View {
	return publish.View{
		Pull: forge.PullRef{Repo: repo(), Number: 7}, PullURL: "https://github.com/acme/api/pull/7",
		BaseRef: "main", HeadSHA: headA, SessionID: "01J9ZQ4C8Z0000000000000007", State: publish.StateInProgress, Commands: true,
		PolicySource: "acme/countersign-policies service + this repository", PolicyRevision: "8c1f02d94b",
		TrailHead: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	}
}

// assessed is a view whose patch was read: fourteen files at a tier.
func assessed(tier risk.Tier, signals ...risk.Signal) publish.View {
	v := base()
	if len(signals) == 0 {
		signals = []risk.Signal{{Rule: "source", Floor: risk.Medium, Files: []string{"internal/session/renew.go", "internal/session/store.go"}}}
	}
	v.Assessment = risk.Assessment{Tier: tier, Floor: tier, Signals: signals}
	v.Evidence = review.Evidence{
		Tier: tier, ChangedFiles: 14, Intent: review.IntentStated,
		Policy: review.PolicyState{State: review.PolicyGood},
		Checks: review.Checks{Complete: true, WaitOver: true, NoneSettled: true, Results: []review.CheckResult{check("build", "success"), check("test", "success")}},
	}
	return v
}

func check(name, conclusion string) review.CheckResult {
	c := review.CheckResult{
		ID: int64(len(name)), AppID: 15368, App: "github-actions", Workflow: ".github/workflows/ci.yml", Name: name,
		Kind: review.KindCheckRun, Status: "completed", Conclusion: conclusion,
		CompletedAt: time.Date(2026, 11, 30, 17, 58, 0, 0, time.UTC), URL: "https://github.com/acme/api/actions/runs/1/job/" + fmt.Sprint(len(name)),
	}
	if conclusion == "" {
		c.Status, c.CompletedAt = "in_progress", time.Time{}
	}
	return c
}

// reviewed adds a reviewer that read every file, with its findings.
func reviewed(v publish.View, findings ...review.Finding) publish.View {
	r := review.ReviewerResult{
		Provider: "openai", Model: "gpt-5.2", Family: "gpt", Independence: review.IndependenceStrong,
		Status: review.ReviewerRan, Verdict: review.VerdictApproved, Confidence: 0.9, Findings: findings,
	}
	if len(findings) > 0 {
		r.Verdict = review.VerdictChanges
	}
	v.Evidence.Reviewers = []review.ReviewerResult{r}
	for i := range 14 {
		v.Evidence.Coverage = append(v.Evidence.Coverage, review.FileCoverage{Path: fmt.Sprintf("internal/session/f%02d.go", i), State: review.FileInspected, NeedsEyes: true})
	}
	return v
}

// unreviewed says that no provider is configured.
func unreviewed(v publish.View) publish.View {
	v.Evidence.Reviewers = []review.ReviewerResult{{Status: review.ReviewerNotRun, Reason: "no provider configured"}}
	return v
}

func finding(title, path string, line int) review.Finding {
	return review.Finding{
		Source: review.FromReviewer, Path: path, Line: line, Side: review.SideRight, Quote: title, Severity: review.SeverityHigh,
		Category: "auth", Title: title, Verified: true,
	}
}

func scanFinding(rule string, s review.Severity, path string, line int, title string) review.Finding {
	return review.Finding{
		Key: review.KeyOf(path, fmt.Sprint(line), rule), Rule: rule, Source: review.FromScan, Path: path, Line: line, Side: review.SideRight,
		Severity: s, Category: rule, Title: title, Detail: "Why it is wrong. What to do.", Verified: true,
	}
}

// scanned are findings of every severity, on both sides, with and without a line, and
// some that do not count.
func scanned() []review.Finding {
	gone := scanFinding("test-removed", review.SeverityMedium, "internal/session/renew_test.go", 12, "A test is gone")
	gone.Side = review.SideLeft
	allowed := scanFinding("credential", review.SeverityCritical, "testdata/key.pem", 1, "Private key")
	allowed.Allowed = "example keys"
	waived := scanFinding("unpinned-action", review.SeverityMedium, ".github/workflows/ci.yml", 9, "acme/deploy is not pinned")
	waived.Waived = &review.Waiver{By: "ada", URL: "https://github.com/acme/api/pull/7#issuecomment-2", Reason: "our own action"}
	return []review.Finding{
		scanFinding("credential", review.SeverityCritical, "deploy/prod.env", 3, "AWS access key"),
		scanFinding("untrusted-input", review.SeverityHigh, ".github/workflows/pr.yml", 6, "A title is run as a command"),
		scanFinding("deceptive-path", review.SeverityMedium, "раypal.go", 0, "The path reads as another"),
		scanFinding("unpinned-action", review.SeverityMedium, ".github/workflows/pr.yml", 4, "actions/checkout is not pinned"),
		scanFinding("conflict-marker", review.SeverityLow, "README.md", 20, "A conflict marker"),
		gone, allowed, waived,
	}
}

// decided runs the real gate.
func decided(v publish.View, change ...func(*review.Rules)) publish.View {
	rules := review.DefaultRules()
	for _, f := range change {
		f(&rules)
	}
	v.State = publish.StateDecided
	v.Outcome = review.Gate(v.Evidence, rules)
	return v
}

func withChecks(v publish.View, checks ...review.CheckResult) publish.View {
	v.Evidence.Checks.Results = checks
	return v
}

func asked(v publish.View) publish.View {
	v.Evidence.Permission.Asks = []review.Ask{{ID: "workflows", Paths: []string{".github/workflows/release.yml"}, Approvers: []string{"@acme/platform"}, Reason: "releases"}}
	return v
}

func noHuman(r *review.Rules) { r.Tiers[risk.Critical].HumanApproval = false }
func oneReviewer(r *review.Rules) {
	r.Tiers[risk.Critical].Reviewers = 1
}

func authSignals() []risk.Signal {
	return []risk.Signal{
		{Rule: "auth", Floor: risk.High, Files: []string{"internal/auth/session.go"}},
		{Rule: "large-change", Raise: true, Detail: "1,204 lines"},
	}
}

func ciSignals() []risk.Signal {
	return []risk.Signal{
		{Rule: "required-workflow", Floor: risk.Critical, Files: []string{".github/workflows/ci.yml"}},
		{Rule: "ci", Floor: risk.High, Files: []string{".github/workflows/ci.yml", ".github/workflows/release.yml", "Makefile"}},
	}
}

// scenario is one golden text.
type scenario struct {
	name, title, status, conclusion string
	views                           []publish.View
}

func one(name, title, status, conclusion string, v publish.View) scenario {
	return scenario{name, title, status, conclusion, []publish.View{v}}
}

// scenarios are VOICE's table and what else can occur, each with the title that it
// must have.
func scenarios() []scenario {
	const completed, working = "completed", "in_progress"
	return slices.Concat(undecidedScenarios(), []scenario{
		one("approved", "Medium · approved · 14 of 14 files inspected", completed, "success", decided(reviewed(assessed(risk.Medium)))),
		one("approved-with-risks", "Medium · approved · 2 residual risks", completed, "success", func() publish.View {
			v := withChecks(reviewed(assessed(risk.Medium)), check("build", "success"), check("lint", "skipped"))
			v.Evidence.Reviewers[0].Residual = []string{"No test covers a clock that goes backwards."}
			return decided(v)
		}()),
		one("findings", "High · changes requested · 2 findings", completed, "failure", decided(reviewed(assessed(risk.High, authSignals()...),
			finding("Session survives a password change", "internal/auth/session.go", 88), finding("Token is logged", "internal/auth/log.go", 12)))),
		one("failed-check-over-approval", "High · changes requested · build failed", completed, "failure",
			decided(withChecks(reviewed(assessed(risk.High, authSignals()...)), check("build", "failure"), check("test", "success"), check("lint", "skipped")))),
		one("failed-checks", "High · changes requested · 25 checks failed", completed, "failure", func() publish.View {
			var list []review.CheckResult
			for i := range 25 {
				list = append(list, check(fmt.Sprintf("test (%02d)", i), "failure"))
			}
			return decided(withChecks(unreviewed(assessed(risk.High)), list...))
		}()),
		one("skipped-counts-as-failed", "Medium · changes requested · lint was skipped", completed, "failure",
			decided(withChecks(reviewed(assessed(risk.Medium)), check("build", "success"), check("lint", "skipped")), func(r *review.Rules) { r.SkippedFails = true })),
		one("waiting", "High · waiting for 2 checks · review done", working, "", decided(withChecks(reviewed(assessed(risk.High)), check("build", ""), check("test", "")))),
		one("waiting-for-one", "Medium · waiting for build, then a person · not reviewed", working, "", decided(withChecks(unreviewed(assessed(risk.Medium)), check("build", ""), check("test", "success")))),
		one("waiting-for-the-first", "Low · waiting for checks to start · not reviewed", working, "", func() publish.View {
			v := withChecks(unreviewed(assessed(risk.Low, risk.Signal{Rule: "docs-only"})))
			v.Evidence.Checks.NoneSettled = false
			return decided(v)
		}()),
		one("waiting-then-a-team", "Critical · waiting for 2 checks, then @acme/platform · review done", working, "",
			decided(asked(withChecks(reviewed(assessed(risk.Critical, ciSignals()...)), check("build", ""), check("test", ""))), noHuman, oneReviewer)),
		one("needs-a-team", "Critical · needs @acme/platform · no findings", completed, "action_required",
			decided(asked(reviewed(assessed(risk.Critical, ciSignals()...))), oneReviewer)),
		one("needs-a-team-unreviewed", "Critical · needs @acme/platform · not reviewed", completed, "action_required",
			decided(asked(unreviewed(assessed(risk.Critical, ciSignals()...))))),
		one("accepted", "High · approved by @ada over coverage-missing", completed, "success", func() publish.View {
			v := reviewed(assessed(risk.High, authSignals()...))
			v.Evidence.Coverage[3].State, v.Evidence.Coverage[3].Why = review.FileSkipped, review.SkipUnfit
			v.Evidence.Acceptances = []review.Acceptance{{
				Rule: review.RuleCoverageMissing, Files: []string{v.Evidence.Coverage[3].Path}, By: "ada",
				URL: "https://github.com/acme/api/pull/7#issuecomment-1", Reason: "read it by hand, line by line",
			}}
			return decided(v)
		}()),
		one("denied", "Blocked · third_party/ may not change", completed, "action_required", func() publish.View {
			v := unreviewed(assessed(risk.High))
			v.Evidence.Permission.Denied = []review.Denial{{Rule: "vendored", Paths: []string{"third_party/zlib/inflate.c", "third_party/lz4/lz4.c"}, Reason: "vendored by a bot only"}}
			return decided(v)
		}()),
		one("not-reviewed-high", "High · not reviewed · no provider configured", completed, "action_required", decided(unreviewed(assessed(risk.High, authSignals()...)))),
		one("not-reviewed-low", "Low · not reviewed · no provider configured", completed, "neutral",
			decided(unreviewed(assessed(risk.Low, risk.Signal{Rule: "docs-only", Files: []string{"README.md"}})))),
		one("no-commands", "High · not reviewed · no provider configured", completed, "action_required",
			withoutCommands(decided(unreviewed(assessed(risk.High, authSignals()...))))),
		one("no-commands-observe", "High · not reviewed · no provider configured · observe", completed, "neutral", func() publish.View {
			v := unreviewed(assessed(risk.High, authSignals()...))
			v.Observe = true
			return withoutCommands(decided(v))
		}()),
		one("docs-only-unknown", "Low · approved · docs only, checks green", completed, "success", func() publish.View {
			v := assessed(risk.Low, risk.Signal{Rule: "docs-only", Files: []string{"README.md"}})
			v.Evidence.DocsOnly, v.Assessment.Unknown = true, []string{"credential", "hidden-text"}
			return decided(v)
		}()),
		one("no-commands-waiting", "High · waiting for build, then a person · not reviewed", working, "",
			func() publish.View {
				v := withChecks(unreviewed(assessed(risk.High, authSignals()...)), check("test", "success"))
				v.Evidence.Checks.WaitOver = false
				v.Evidence.Checks.Required = []review.RequiredCheck{{Name: "build", Source: "ruleset", AppIDs: []int64{15368}}}
				return withoutCommands(decided(v))
			}()),
		one("docs-only-failed", "Low · changes requested · build failed", completed, "failure", func() publish.View {
			v := unreviewed(withChecks(assessed(risk.Low, risk.Signal{Rule: "docs-only", Files: []string{"README.md"}}), check("build", "failure")))
			v.Evidence.DocsOnly = true
			v.Evidence.Reviewers[0].Reason = "documentation needs none once a check has passed"
			return decided(v)
		}()),
		one("renamed", "High · not reviewed · no provider configured", completed, "action_required", func() publish.View {
			v := unreviewed(assessed(risk.High, risk.Signal{Rule: "ci", Floor: risk.High, Files: []string{".github/workflows/release.yml"}}))
			v.Assessment.Files = []risk.FileRisk{{Path: "docs/notes.txt", PreviousPath: ".github/workflows/release.yml", NeedsReview: true}}
			return decided(v)
		}()),
		one("no-checks-ran", "Medium · approved · no checks ran", completed, "success", decided(withChecks(reviewed(assessed(risk.Medium))))),
		one("docs-only", "Low · approved · docs only, checks green", completed, "success", func() publish.View {
			v := assessed(risk.Low, risk.Signal{Rule: "docs-only", Files: []string{"README.md"}})
			v.Evidence.DocsOnly = true
			return decided(v)
		}()),
		one("observe", "High · changes requested · build failed · observe", completed, "neutral", func() publish.View {
			v := withChecks(unreviewed(assessed(risk.High, authSignals()...)), check("build", "failure"))
			v.Observe = true
			return decided(v)
		}()),
		one("policy-broken", "Blocked · .github/countersign.yml line 12", completed, "action_required", func() publish.View {
			v := unreviewed(assessed(risk.High))
			v.Evidence.Policy = review.PolicyState{State: review.PolicyInvalid, Problems: []review.PolicyProblem{
				{File: ".github/countersign.yml", Line: 12, Column: 5, Text: `unknown key "tires" (did you mean "tiers"?)`}}}
			return decided(v)
		}()),
		one("artifact-missing", "High · changes requested · db/migrations/0007.down.sql is missing", completed, "failure", func() publish.View {
			v := reviewed(assessed(risk.High))
			v.Evidence.Artifacts = []review.ArtifactResult{{When: "db/migrations/0007.up.sql", Require: "db/migrations/{stem}.down.sql", Path: "db/migrations/0007.down.sql", Why: "it does not exist at the head"}}
			return decided(v)
		}()),
		one("evidence-missing", "High · evidence missing · checks could not be read", completed, "action_required", func() publish.View {
			v := reviewed(assessed(risk.High))
			v.Evidence.Unread = []review.Unread{{What: "checks", Detail: "GitHub answered 502", Fatal: true}}
			return decided(v)
		}()),
		one("check-never-came", "High · needs a person · e2e never reported", completed, "action_required", func() publish.View {
			v := reviewed(assessed(risk.High))
			v.Evidence.Checks.Required = []review.RequiredCheck{{Name: "e2e", Source: "branch protection"}}
			return decided(v)
		}()),
		one("check-by-the-patch", "High · needs a person · build is written by this patch", completed, "action_required", func() publish.View {
			v := reviewed(assessed(risk.High, ciSignals()...))
			v.Evidence.Checks.WaitOver = false
			v.Evidence.Checks.Results[0].Untrusted = "it comes from .github/workflows/ci.yml, which this patch adds or changes"
			v.Evidence.Checks.Results[0].Required, v.Evidence.Checks.Results[0].SelfMade = true, true
			v.Evidence.Checks.Required = []review.RequiredCheck{{Name: "build", Source: "branch protection"}}
			return decided(v)
		}()),
		one("credential", "Critical · changes requested · 1 finding", completed, "failure", func() publish.View {
			v := unreviewed(assessed(risk.Critical, risk.Signal{Rule: "credential", Floor: risk.Critical, Files: []string{"deploy/prod.env"}}))
			v.Evidence.Findings = []review.Finding{{Source: review.FromScan, Rule: "credential", Path: "deploy/prod.env", Line: 3, Severity: review.SeverityCritical, Title: "AWS access key", Quote: "AKIA"}}
			return decided(v)
		}()),
		one("findings-of-scanners", "Critical · changes requested · 2 findings", completed, "failure", func() publish.View {
			v := unreviewed(assessed(risk.Critical, risk.Signal{Rule: "credential", Floor: risk.Critical, Files: []string{"deploy/prod.env"}}))
			v.Evidence.Findings = scanned()
			return decided(v)
		}()),
		one("findings-uncounted", "High · changes requested · 138 findings", completed, "failure", func() publish.View {
			v := unreviewed(assessed(risk.High, ciSignals()[1:]...))
			for i := range 101 {
				v.Evidence.Findings = append(v.Evidence.Findings, scanFinding("untrusted-input", review.SeverityHigh, ".github/workflows/pr.yml", i+1, "A title is run as a command"))
			}
			v.Evidence.Findings = append(v.Evidence.Findings, scanFinding("unpinned-action", review.SeverityLow, ".github/workflows/pr.yml", 3, "actions/checkout is not pinned"))
			v.Evidence.MoreFindings = []review.MoreFindings{{Rule: "unpinned-action", Count: 4}, {Rule: "untrusted-input", Count: 37}}
			v.Evidence.ScanGaps = []review.ScanGap{{Rule: "untrusted-checkout", Files: 5, Places: []review.ScanPlace{
				{Path: ".github/workflows/big.yml", Why: "over the limit of 131072 bytes for a workflow"}, {Path: ".github/workflows/`@all`.yml", Why: "not shown"}, {Why: "3 changed files are not listed"}}}}
			v.RecapURL = "https://recap.example/s/1"
			return decided(v)
		}()),
		one("findings-that-decide-nothing", "Medium · approved · 14 of 14 files inspected", completed, "success", func() publish.View {
			v := reviewed(assessed(risk.Medium))
			v.Evidence.Findings = scanned()[2:]
			return decided(v)
		}()),
		one("docs-only-scanned", "Low · approved · docs only, scans clean, no checks ran", completed, "success", func() publish.View {
			v := withChecks(unreviewed(assessed(risk.Low, risk.Signal{Rule: "docs-only", Files: []string{"README.md"}})))
			v.Evidence.DocsOnly, v.Evidence.ContentPassed = true, []string{"credential", "hidden-characters", "hidden-text"}
			return decided(v)
		}()),
		{"shared-head", "High · changes requested · build failed", completed, "failure", sharedHead()},
		one("hostile", "Blocked · ./close＠copilot`<img src=x>‹U+202E›‹U+000A›#12 may not change", completed, "action_required", hostile()),
	})
}

func undecidedScenarios() []scenario {
	return []scenario{
		one("in-progress", "Reading the pull request", "in_progress", "", base()),
		one("in-progress-assessed", "High · reading the pull request", "in_progress", "", assessed(risk.High, authSignals()...)),
		one("draft", "Draft · high · reviewed when marked ready", "completed", "action_required", in(assessed(risk.High, authSignals()...), publish.StateDraft)),
		one("draft-observe", "Draft · high · reviewed when marked ready · observe", "completed", "neutral", func() publish.View {
			v := in(assessed(risk.High, authSignals()...), publish.StateDraft)
			v.Observe = true
			return v
		}()),
		one("paused", "High · paused by @ada", "completed", "action_required", func() publish.View {
			v := in(assessed(risk.High), publish.StatePaused)
			v.PausedBy = "ada"
			return v
		}()),
		one("superseded", "Superseded by 3f2a9c1", "completed", "cancelled", func() publish.View {
			v := in(assessed(risk.High), publish.StateSuperseded)
			v.HeadSHA, v.SupersededBy = headB, headA
			return v
		}()),
		one("closed", "Closed · nothing more to decide", "completed", "cancelled", in(assessed(risk.High), publish.StateClosed)),
		one("failed-retrying", "Could not complete · GitHub answered 502 · retrying", "in_progress", "", func() publish.View {
			v := in(base(), publish.StateFailed)
			v.Failure = &publish.Failure{What: "GitHub answered 502", Retrying: true, Reference: "01J9ZQ4C8Z0000000000000007"}
			return v
		}()),
		one("failed-permission", "Could not complete · a permission is missing", "completed", "action_required", func() publish.View {
			v := in(base(), publish.StateFailed)
			v.Failure = &publish.Failure{What: "a permission is missing", Permission: true, Reference: "01J9ZQ4C8Z0000000000000007"}
			return v
		}()),
		one("failed", "Could not complete · GitHub answered 502", "completed", "action_required", func() publish.View {
			v := in(base(), publish.StateFailed)
			v.Failure = &publish.Failure{What: "GitHub answered 502", Reference: "01J9ZQ4C8Z0000000000000007"}
			return v
		}()),
	}
}

func withoutCommands(v publish.View) publish.View {
	v.Commands = false
	return v
}

func in(v publish.View, s publish.State) publish.View {
	v.State = s
	return v
}

// sharedHead is three pull requests on one head: one approved, one with a failed
// check, one closed.
func sharedHead() []publish.View {
	a := decided(reviewed(assessed(risk.Medium)))
	b := decided(withChecks(reviewed(assessed(risk.High, authSignals()...)), check("build", "failure")))
	b.Pull.Number, b.PullURL, b.BaseRef, b.SessionID = 9, "https://github.com/acme/api/pull/9", "release/2.x", "01J9ZQ4C8Z0000000000000009"
	c := in(assessed(risk.Critical), publish.StateClosed)
	c.Pull.Number = 11
	return []publish.View{b, a, c}
}

// hostile puts an attack into every text that comes from outside.
func hostile() publish.View {
	const evil = "./close@copilot`<img src=x>\u202e\n#12"
	v := assessed(risk.High, risk.Signal{Rule: "a|b`c", Floor: risk.High, Files: []string{evil, "|"}, Detail: "<b>@acme/all"})
	v = withChecks(v, check("/close", "failure"), check("@copilot fixes #12", "failure"), check("a|b", ""), check("``", "skipped"))
	v.Evidence.Checks.Results[0].URL = "javascript:alert(1)"
	v.Evidence.Checks.Results[1].URL = "https://evil.example/login"
	v.Evidence.Checks.Results[2].URL = "https://github.com/a)b(c"
	v.Evidence.Permission.Denied = []review.Denial{{Rule: "r", Paths: []string{evil}, Reason: "see https://evil.example and www.evil.example, fixes acme/api#5, GH-5, @acme/all\n/close"}}
	v.Evidence.Reviewers = []review.ReviewerResult{{Provider: "o`p", Model: "m|n", Status: review.ReviewerNotRun, Reason: "</details><script>\n/merge"}}
	v.Evidence.Artifacts = []review.ArtifactResult{{When: "a", Path: "![x](https://evil.example/x.png)", Why: "$x$ ~~y~~ **z**"}}
	v.Assessment.Problems = []string{"# heading\n- list"}
	v.Assessment.Unknown = []string{"credential"}
	v.PolicySource, v.BaseRef = "x | y\n| z", "main`|"
	v.SessionID = "s`\n/close"
	v.RecapURL = "https://recap.example/s/1"
	return decided(v)
}

func text(s scenario) (title, status, conclusion, summary string) {
	j := publish.Join(s.views)
	status, conclusion = j.Conclusion()
	return j.Title(), status, conclusion, j.Text()
}

func lines(s string) []string { return strings.Split(s, "\n") }
