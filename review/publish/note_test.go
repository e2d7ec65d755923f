package publish_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// noteScenario is one text of a check that informs.
type noteScenario struct {
	name, check, title string
	views              []publish.View
}

// mapped is a view with the files of a patch, as a session reads them.
func mapped(v publish.View, files ...risk.FileRisk) publish.View {
	v.Assessment.Files = files
	v.Evidence.ChangedFiles = len(files)
	v.Evidence.Coverage = nil
	for _, f := range files {
		c := review.FileCoverage{Path: f.Path, State: review.FileSkipped, NeedsEyes: f.NeedsReview, Note: "no review ran"}
		for _, r := range v.Evidence.Reviewers {
			if r.Status == review.ReviewerRan {
				c.State, c.Note = review.FileInspected, ""
			}
		}
		v.Evidence.Coverage = append(v.Evidence.Coverage, c)
	}
	return v
}

func file(path string, kinds ...risk.Kind) risk.FileRisk {
	set := risk.KindsOf(kinds...)
	return risk.FileRisk{Path: path, Kinds: set, NeedsReview: !set.Within(risk.KindsOf(risk.Docs, risk.Generated, risk.Vendored, risk.Binary))}
}

func someFiles() []risk.FileRisk {
	moved := file(".github/workflows/release.yml", risk.CI)
	moved.PreviousPath = "docs/release.txt"
	return []risk.FileRisk{
		moved, file("README.md", risk.Docs), file("internal/auth/session.go", risk.Source, risk.Auth), file("internal/auth/session_test.go", risk.Test),
		file("logo.png", risk.Binary), file("odd|name`.go", risk.Source), file("pb/api.pb.go", risk.Generated),
	}
}

func noteScenarios() []noteScenario {
	scan := []string{"credential", "hidden-characters", "hidden-text"}
	looked := reviewed(assessed(risk.High, authSignals()...), finding("Session survives a password change", "internal/auth/session.go", 88), finding("Token is logged", "internal/auth/log.go", 12))
	looked.Evidence.Findings = scanned()
	r := &looked.Evidence.Reviewers[0]
	r.Findings[0].Detail, r.Findings[0].FailingCase = "`Renew` re-signs the old token.\nIt never looks at the password.", "sign in, change the password, call /renew: 200"
	r.Findings[1].Line = 0
	r.Findings[1].Detail, r.Findings[1].FailingCase = "The whole token goes to the log.", "any request at level debug"
	lost, back := finding("A race in the cache", "internal/cache/cache.go", 9), finding("A nil map", "internal/cache/cache.go", 30)
	lost.Verified, back.Withdrawn, back.Severity = false, true, review.SeverityLow
	r.Findings = append(r.Findings, lost, back)
	r.Residual = []string{"No test covers a clock\nthat goes backwards."}
	looked.Commented = []review.FindingKey{r.Findings[0].ID(), scanned()[1].ID()}
	looked.CommentsLeft = 2
	looked.Evidence.MoreFindings = []review.MoreFindings{{Rule: "unpinned-action", Count: 4}}

	shared := decided(looked)
	other := decided(unreviewed(assessed(risk.Medium)))
	other.Pull.Number, other.PullURL, other.BaseRef = 9, "https://github.com/acme/api/pull/9", "release/2.x"
	other.Evidence.Findings = []review.Finding{scanned()[1], scanFinding("credential", review.SeverityCritical, "b.env", 2, "Private key")}

	clean := unreviewed(assessed(risk.Medium))
	clean.Evidence.ContentPassed = scan
	gaps := clean
	gaps.Evidence.ScanGaps = []review.ScanGap{
		{Rule: "hidden-text", Files: 25, Places: []review.ScanPlace{{Path: "internal/auth/session.go", Why: "over the limit of 1048576 bytes"}, {Why: "3 changed files are not listed"}}},
		{Rule: "untrusted-checkout", Files: 1, Places: []review.ScanPlace{{Path: ".github/workflows/release.yml", Why: "over the limit of 131072 bytes for a workflow"}}},
	}
	gaps = mapped(gaps, someFiles()...)
	gaps.Evidence.ChangedFiles, gaps.Evidence.ContentPassed = 10, scan[:2]
	gaps.Evidence.Truncated = []review.TruncatedFile{{Path: "internal/auth/session_test.go", Why: "GitHub left its diff out"}}

	inspected := mapped(reviewed(assessed(risk.High, authSignals()...)), someFiles()...)
	inspected.Evidence.ContentPassed = scan
	inspected.Evidence.Reviewers = append(inspected.Evidence.Reviewers, review.ReviewerResult{Provider: "anthropic", Model: "claude-opus-4-6", Status: review.ReviewerRan, Verdict: review.VerdictApproved, Independence: review.IndependenceWeak})
	inspected.Evidence.Coverage[0].By = []string{"gpt-5.2"}
	inspected.Evidence.Coverage[2].State, inspected.Evidence.Coverage[2].Note = review.FilePartiallyInspected, "the first 2,000 lines"
	inspected.Evidence.Coverage[3].State, inspected.Evidence.Coverage[3].Why = review.FileSkipped, review.SkipOmitted

	docs := mapped(assessed(risk.Low, risk.Signal{Rule: "docs-only", Files: []string{"README.md"}}), file("README.md", risk.Docs))
	docs.Evidence.DocsOnly, docs.Evidence.ContentPassed = true, scan

	evil := hostile()
	evil.Evidence.Findings = []review.Finding{scanFinding("a|b`c", review.SeverityHigh, "./close@copilot`<img src=x>\u202e\n#12", 1, "@all fixes #12 </details>\n/merge")}
	evil = mapped(evil, file("./close@copilot`<img src=x>\u202e\n#12", risk.Source), file("|", risk.Source))
	evil.Evidence.Coverage[0].Note = "</details><script>\n/merge @acme/all | x"

	asReview := func(name, title string, views ...publish.View) noteScenario {
		return noteScenario{"review-" + name, publish.ReviewName, title, views}
	}
	asMap := func(name, title string, views ...publish.View) noteScenario {
		return noteScenario{"coverage-" + name, publish.CoverageName, title, views}
	}
	return []noteScenario{
		asReview("findings", "12 findings · 1 critical, 3 high, 3 medium, 1 low, 4 not listed", decided(looked)),
		asReview("shared", "13 findings · 2 critical, 3 high, 3 medium, 1 low, 4 not listed", shared, other),
		asReview("clean", "No findings · gpt-5.2 (OpenAI)", decided(reviewed(assessed(risk.Medium)))),
		asReview("not-reviewed", "No findings by scanners · not reviewed", decided(clean)),
		asReview("not-scanned", "No findings in what was scanned · not reviewed", decided(gaps)),
		asReview("docs", "No findings by scanners · docs only", decided(docs)),
		asReview("hostile", "1 finding · 1 high · not reviewed", decided(evil)),
		asMap("inspected", "2 of 4 files inspected · 1 in part", decided(inspected)),
		asMap("nobody", "Nothing inspected · no reviewer ran · 4 files need eyes", decided(mapped(clean, someFiles()...))),
		asMap("gaps", "Nothing inspected · no reviewer ran · 4 files need eyes · 3 not listed", decided(gaps)),
		asMap("docs", "No file needs eyes · 1 changed", decided(docs)),
		asMap("shared", "Nothing inspected · no reviewer ran · 4 files need eyes", decided(inspected), func() publish.View {
			v := decided(mapped(clean, someFiles()...))
			v.Pull.Number, v.PullURL, v.BaseRef = 9, "https://github.com/acme/api/pull/9", "release/2.x"
			return v
		}()),
		asMap("hostile", "Nothing inspected · no reviewer ran · 2 files need eyes", decided(evil)),
	}
}

// shownNote publishes the views and answers what the forge then shows.
func shownNote(t *testing.T, check string, views []publish.View) (title, text string) {
	t.Helper()
	b := benchOf(t, check)
	for _, v := range views {
		b.publish(v, publish.PublishOptions{})
	}
	r := b.forge.runs[len(b.forge.runs)-1]
	if r.Status != "completed" || r.Conclusion != "neutral" {
		t.Errorf("the run is %s %s", r.Status, r.Conclusion)
	}
	return r.Title, r.Summary
}

func TestGoldenNotes(t *testing.T) {
	for _, s := range noteScenarios() {
		t.Run(s.name, func(t *testing.T) {
			title, text := shownNote(t, s.check, s.views)
			if title != s.title || utf8.RuneCountInString(title) > publish.TitleWidth {
				t.Errorf("title = %q, want %q", title, s.title)
			}
			got := title + "\n\n" + text
			file := filepath.Join("testdata", s.name+".md")
			if os.Getenv("UPDATE") == "1" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // test data, read by everyone
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file) //nolint:gosec // our own test data
			if err != nil {
				t.Fatalf("%v; UPDATE=1 go test ./review/publish writes it", err)
			}
			if got != string(want) {
				t.Errorf("%s differs; read it, and if it is better: UPDATE=1 go test ./review/publish\n--- got\n%s", file, got)
			}
			for i, line := range lines(got) {
				if len(line) > 0 && line[0] == '/' {
					t.Errorf("line %d is a command: %q", i, line)
				}
			}
		})
	}
}

// What a run of the two checks says of its head stays while a session is at work, fails
// or is given up; a draft keeps it up to date and begins nothing.
func TestNotesOfOtherStates(t *testing.T) {
	for _, check := range []string{publish.ReviewName, publish.CoverageName} {
		t.Run(check, func(t *testing.T) {
			b := benchOf(t, check)
			v := decided(mapped(unreviewed(assessed(risk.High)), someFiles()...))
			draft := in(v, publish.StateDraft)
			superseded := in(v, publish.StateSuperseded)
			superseded.SupersededBy = headB
			for _, state := range []publish.State{publish.StateInProgress, publish.StateDraft, publish.StatePaused, publish.StateFailed, publish.StateSuperseded, publish.StateClosed} {
				if res := b.publish(in(v, state), publish.PublishOptions{}); !res.Unchanged || res.Calls != 0 {
					t.Errorf("%s begins a run: %+v", state, res)
				}
			}
			b.publish(v, publish.PublishOptions{})
			if res := b.publish(draft, publish.PublishOptions{}); !res.Unchanged {
				t.Errorf("a draft that says the same: %+v", res)
			}
			draft = in(decided(mapped(reviewed(assessed(risk.High)), someFiles()[:3]...)), publish.StateDraft)
			if res := b.publish(draft, publish.PublishOptions{}); !res.Patched || res.Conclusion != "neutral" {
				t.Errorf("a draft that says otherwise: %+v", res)
			}
			text := b.forge.runs[0].Summary
			if res, err := b.Close(t.Context(), b.forge, b.row(), superseded); err != nil || !res.Unchanged || b.forge.runs[0].Summary != text {
				t.Errorf("superseded: %+v, %v", res, err)
			}
			if open, err := b.store.OpenPublications(t.Context(), 42, 7); err != nil || len(open) != 0 {
				t.Errorf("left open: %+v, %v", open, err)
			}
		})
	}
}

// A process that died between two batches leaves a run that waits: the next push ends
// it, as neutral, and says that it is not all.
func TestAGivenUpHeadLeavesNothingWaiting(t *testing.T) {
	b := benchOf(t, publish.ReviewName)
	b.forge.before = func(call string, _ forge.CheckWrite) error {
		if call == "update" {
			return &forge.Error{Kind: forge.KindUnavailable, Op: "update check"}
		}
		return nil
	}
	v := found(many(120)...)
	if _, err := b.Publish(t.Context(), b.forge, repo(), b.name, v, publish.PublishOptions{}); err == nil {
		t.Fatal("a lost answer was taken for one")
	}
	b.wantShown(`1 runs: in_progress  "120 findings · 40 high, 40 medium, 40 low · not reviewed"`)
	b.forge.before = nil
	open, err := b.store.OpenPublications(t.Context(), 42, 7)
	if err != nil || len(open) != 1 {
		t.Fatalf("open: %+v, %v", open, err)
	}
	superseded := in(v, publish.StateSuperseded)
	superseded.SupersededBy = headB
	if res, err := b.Close(t.Context(), b.forge, open[0], superseded); err != nil || !res.Patched {
		t.Errorf("close: %+v, %v", res, err)
	}
	b.wantShown(`1 runs: completed neutral "Superseded by 8c1f02d"`)
	if text := b.forge.runs[0].Summary; !strings.Contains(text, "was not finished") {
		t.Errorf("the text does not say that it is not all:\n%s", text)
	}
	if b.row().Open() {
		t.Errorf("the row is open: %+v", b.row())
	}
}

// With ten pull requests on a head, each with everything as large as it can be, both
// texts fit, every section is there, and what is left out is counted.
func TestNotesFitByConstruction(t *testing.T) {
	long := strings.Repeat("|", 900)
	v := manyFiles(600)
	r := review.ReviewerResult{Provider: long, Model: long, Status: review.ReviewerRan, Verdict: review.VerdictChanges, Residual: slicesOf(long, 100)}
	for i := range 60 {
		f := finding(long, fmt.Sprint(i)+long, i+1)
		f.Detail, f.FailingCase, f.Category = long, long, long
		r.Findings = append(r.Findings, f)
		f.Path, f.Verified = fmt.Sprint(i)+f.Path, false
		r.Findings = append(r.Findings, f)
		g := scanFinding(long, review.SeverityHigh, fmt.Sprint(i)+long, 0, long)
		v.Evidence.Findings = append(v.Evidence.Findings, g)
		v.Evidence.MoreFindings = append(v.Evidence.MoreFindings, review.MoreFindings{Rule: fmt.Sprint(i) + long, Count: 1_000_000})
		v.Evidence.ScanGaps = append(v.Evidence.ScanGaps, review.ScanGap{Rule: long, Files: 9, Places: []review.ScanPlace{{Path: v.Assessment.Files[i].Path, Why: long}}})
	}
	v.Evidence.Reviewers = []review.ReviewerResult{r, r, r, r, r}
	for i := range v.Evidence.Coverage {
		v.Evidence.Coverage[i].Note = long
	}
	v.SessionID, v.RecapURL = long, "https://recap.example/"+strings.Repeat("a", 500)
	v = decided(v)
	for check, want := range map[string][]string{
		publish.ReviewName:   {"This head belongs to 10", "Findings\n", "Reviewers of ", "Findings that do not count (", "Residual risks that reviewers named (1)", "more pull requests are not listed here"},
		publish.CoverageName: {"This head belongs to 10", "| File | Kinds | State | Who looked | Note |", "more files are not shown: ", "The maps of 2 more pull requests"},
	} {
		b := benchOf(t, check)
		for i := range 10 {
			w := v
			w.Pull.Number, w.BaseRef = i+1, long
			if res := b.publish(w, publish.PublishOptions{}); res.Minimal {
				t.Fatalf("%s: %+v", check, res)
			}
		}
		text := b.forge.runs[len(b.forge.runs)-1].Summary
		for _, w := range append(want, "**Next:** ", "trail `0123456789ab`</sub>\n") {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q was crowded out", check, w)
			}
		}
		if len(text) > publish.MaxOutputBytes || strings.Contains(text, "Truncated") {
			t.Errorf("%s: %d bytes, cut instead of bounded: %v", check, len(text), strings.Contains(text, "Truncated"))
		}
	}
}
