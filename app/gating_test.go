package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
)

// CASES area 6, gating truth, through the whole path. Each row says what CI
// reports on a docs-only head and what our check makes of it.
func TestGatingTruth(t *testing.T) {
	actions := func(name, conclusion string) func(*world, string) {
		return func(w *world, sha string) { w.check(sha, name, conclusion) }
	}
	status := func(context, state string) func(*world, string) {
		return func(w *world, sha string) { w.must(w.repo.SetStatus(sha, context, state)) }
	}
	const other = 9001
	scanner := func(slug string) func(*world, string) {
		return func(w *world, sha string) {
			_, err := w.sim.AddApp(githubsim.App{ID: other, Slug: "scanner", WebhookSecret: hookSecret, Key: testKey(t)})
			w.must(err)
			w.must(w.repo.SetStatus(sha, "security-scan", "success", githubsim.StatusDetail{Creator: slug + "[bot]"}))
		}
	}
	for _, tc := range []struct {
		name       string
		required   []githubsim.CheckRef
		ci         []func(*world, string)
		conclusion string // empty: in progress
		title      string
		says       string // somewhere in the summary
	}{
		{name: "case-096 still running", ci: []func(*world, string){actions("lint", "success"), actions("test", "in_progress")}, title: "Low · waiting for "},
		{name: "case-098 skipped is not passed", required: []githubsim.CheckRef{{Context: "greetings", AppID: actionsApp}},
			ci: []func(*world, string){actions("greetings", "skipped"), actions("build", "success")}, conclusion: "success", title: "Low · approved · ", says: "checks-skipped"},
		{name: "case-100 neutral is terminal", ci: []func(*world, string){actions("a", "success"), actions("b", "neutral")}, conclusion: "success", title: "Low · approved"},
		{name: "case-103 timed_out", ci: []func(*world, string){actions("a", "timed_out")}, conclusion: "failure", title: "Low · changes requested · a "},
		{name: "case-103 startup_failure", ci: []func(*world, string){actions("a", "startup_failure")}, conclusion: "failure", title: "Low · changes requested"},
		{name: "case-103 stale", ci: []func(*world, string){actions("a", "stale")}, conclusion: "failure", title: "Low · changes requested"},
		{name: "case-103 cancelled", ci: []func(*world, string){actions("a", "cancelled")}, conclusion: "failure", title: "Low · changes requested"},
		{name: "case-104 the newer green run counts", ci: []func(*world, string){actions("lint", "failure"), actions("lint", "success")}, conclusion: "success", title: "Low · approved"},
		{name: "case-107 a required name from another App", required: []githubsim.CheckRef{{Context: "security-scan", AppID: other}},
			ci: []func(*world, string){actions("security-scan", "success")}, title: "Low · waiting for ", says: "security-scan"},
		{name: "case-107 a status of that name", required: []githubsim.CheckRef{{Context: "security-scan", AppID: other}},
			ci: []func(*world, string){status("security-scan", "success")}, title: "Low · waiting for "},
		{name: "case-107 a status of the required App", required: []githubsim.CheckRef{{Context: "security-scan", AppID: other}},
			ci: []func(*world, string){scanner("scanner")}, conclusion: "success", title: "Low · approved"},
		{name: "case-107 a status of an App that nobody knows", required: []githubsim.CheckRef{{Context: "security-scan", AppID: other}},
			ci: []func(*world, string){scanner("scamner")}, title: "Low · waiting for "},
		{name: "case-109 no statuses at all", ci: []func(*world, string){actions("a", "success")}, conclusion: "success", title: "Low · approved"},
		{name: "case-110a a run fails beside green statuses", ci: []func(*world, string){status("ci/x", "success"), actions("a", "failure")}, conclusion: "failure", title: "Low · changes requested"},
		{name: "case-110b a status is pending beside green runs", ci: []func(*world, string){actions("a", "success"), status("ci/jenkins", "pending")}, title: "Low · waiting for "},
		{name: "case-110b and fails", ci: []func(*world, string){actions("a", "success"), status("ci/jenkins", "pending"), status("ci/jenkins", "failure")}, conclusion: "failure", title: "Low · changes requested"},
		{name: "case-111 state error", ci: []func(*world, string){status("ci/x", "error")}, conclusion: "failure", title: "Low · changes requested"},
		{name: "case-113 a required check never reports", required: []githubsim.CheckRef{{Context: "build"}, {Context: "test"}},
			ci: []func(*world, string){actions("build", "success")}, title: "Low · waiting for ", says: "test"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if len(tc.required) > 0 {
				w.repo.RequireChecks("main", tc.required...)
			}
			p := w.docs("gating")
			w.await(p.HeadSHA(), waiting("Low"))
			for _, report := range tc.ci {
				report(w, p.HeadSHA())
			}
			want := concluded(tc.conclusion, tc.title)
			w.await(p.HeadSHA(), want)
			w.idle()
			run := w.ours(p.HeadSHA(), publish.CheckName)[0]
			if !want(run) {
				t.Errorf("it did not stay: %q %s", run.Output.Title, run.Conclusion)
			}
			if !strings.Contains(run.Output.Summary, tc.says) {
				t.Errorf("the summary does not say %q:\n%s", tc.says, run.Output.Summary)
			}
		})
	}
}

// More checks than a page, the red one last; and a page that cannot be read is
// unknown, never green (116).
func TestCase116_RedOnTheSecondPage(t *testing.T) {
	w := newWorld(t)
	w.sim.Hold()
	p := w.docs("pages")
	for i := range 130 {
		w.check(p.HeadSHA(), fmt.Sprintf("job-%03d", i), "success")
	}
	w.check(p.HeadSHA(), "job-zzz", "failure")
	w.sim.Release()
	w.await(p.HeadSHA(), concluded("failure", "Low · changes requested · job-zzz"))
}

// A rename out of a sensitive path is judged under both names (137), and says
// both.
func TestCase137_Rename(t *testing.T) {
	w := newWorld(t)
	p := w.open("rename", githubsim.Change{Path: ".github/workflows/release.yml", RenameTo: "docs/notes.txt"})
	run := w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool {
		return strings.HasPrefix(run.Output.Title, "High") || strings.HasPrefix(run.Output.Title, "Critical")
	})
	if !strings.Contains(run.Output.Summary, "release.yml") {
		t.Errorf("the old name is not shown:\n%s", run.Output.Summary)
	}
}

// Where a person is needed, they see both names.
func TestCase137_BothNamesAreShown(t *testing.T) {
	w := newWorld(t)
	p := w.open("tidy", githubsim.Change{Path: ".github/workflows/release.yml", RenameTo: "docs/notes.txt"})
	w.check(p.HeadSHA(), "build", "success")
	run := w.await(p.HeadSHA(), concluded("action_required", "High · not reviewed"))
	if want := "`.github/workflows/release.yml` → `docs/notes.txt`"; !strings.Contains(run.Output.Summary, want) {
		t.Errorf("the summary does not show %s:\n%s", want, run.Output.Summary)
	}
}

// Only what the pull request changes counts, not what the base did meanwhile
// (151).
func TestCase151_MergeBase(t *testing.T) {
	w := newWorld(t)
	w.sim.Hold()
	p := w.docs("base")
	_, err := w.repo.Commit("main", "auth meanwhile", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "internal/auth/new.go", Content: "package auth\n"}}})
	w.must(err)
	w.sim.Release()
	w.await(p.HeadSHA(), waiting("Low"))
}

// The checks cannot be read: said so, retried, never green.
func TestUnreadableChecksAreNotGreen(t *testing.T) {
	w := newWorld(t)
	p := w.docs("unreadable")
	w.await(p.HeadSHA(), waiting("Low"))
	w.idle()
	undo := w.sim.Fail(githubsim.Fault{Route: "POST /graphql", Status: http.StatusServiceUnavailable})
	w.check(p.HeadSHA(), "build", "success")
	w.await(p.HeadSHA(), waiting("Could not complete"))
	undo()
	w.await(p.HeadSHA(), concluded("success", "Low · approved"))
}

// Two open pull requests with one head: the check says the worst and lists both.
func TestSharedHead(t *testing.T) {
	w := newWorld(t)
	a := w.docs("shared")
	w.await(a.HeadSHA(), waiting("Low"))
	w.must(w.repo.CreateBranch("copy", a.HeadSHA()))
	b, err := w.repo.OpenPull(githubsim.PullSpec{Title: "The same head once more", Author: "mona", Head: "copy", Draft: true})
	w.must(err)
	w.check(a.HeadSHA(), "build", "success")
	run := w.await(a.HeadSHA(), func(run githubsim.CheckRun) bool { return run.Conclusion == "action_required" })
	for _, n := range []int{a.Number(), b.Number()} {
		if !strings.Contains(run.Output.Summary, fmt.Sprintf("#%d", n)) && !strings.Contains(run.Output.Summary, fmt.Sprintf("pull/%d", n)) {
			t.Errorf("#%d is not listed:\n%s", n, run.Output.Summary)
		}
	}
}
