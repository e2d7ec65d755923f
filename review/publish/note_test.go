package publish_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/countersign/countersign/review"
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
