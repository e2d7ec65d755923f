package publish_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// attacks are pieces that do something wherever they reach people unescaped.
func attacks() []string {
	return []string{
		"@copilot", "@acme/platform", "#12", "fixes #12", "closes acme/api#5", "GH-7", "/close", "\n/merge", "\r\n/review approve", "\u2028/close",
		"`", "``", "```\n", "~~~", "|", `\|`, `\`, "*", "_", "[x](https://evil.example)", "![x](https://evil.example/x.png)", "](", "](javascript:alert(1))",
		"<img src=x onerror=alert(1)>", "<!--", "-->", "<details>", "</details>", "</sub>", "<script>", "&#64;copilot", "&lt;", "$x$",
		"https://evil.example/a", "http://evil.example", "www.evil.example", "HTTPS://EVIL.example", "a@evil.example",
		"\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\x00", "\x1b[31m", "\x7f", "\x85", "\xff", "\xed\xa0\x80", "\U000E0041", "\u3164", "\u00a0",
		"# heading", "\n# heading", "\n- list", "\n> quote", "\n\n    code", "---", "\n---\n", "name", "名前", "😀", " ", "",
	}
}

func attack() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom(attacks()), rapid.StringN(0, 6, 24))
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			s = strings.Repeat(s, 200)
		}
		return s
	})
}

// attacked is a view with an attack in every text that comes from outside.
func attacked(t *rapid.T) publish.View {
	draw := func(label string) string { return attack().Draw(t, label) }
	tier := rapid.SampledFrom([]risk.Tier{risk.Low, risk.Medium, risk.High, risk.Critical}).Draw(t, "tier")
	v := assessed(tier, risk.Signal{Rule: draw("signal"), Files: []string{draw("file"), draw("file2")}, Detail: draw("detail")})
	v.Observe = rapid.Bool().Draw(t, "observe")
	v.Commands = rapid.Bool().Draw(t, "commands")
	v.BaseRef, v.SessionID, v.PolicySource, v.PolicyRevision = draw("base"), draw("session"), draw("source"), draw("revision")
	v.SupersededBy, v.PausedBy, v.RecapURL, v.TrailHead = draw("by"), draw("paused"), draw("recap"), draw("trail")
	v.Failure = &publish.Failure{What: draw("what"), Reference: draw("reference"), Retrying: rapid.Bool().Draw(t, "retrying")}
	if rapid.Bool().Draw(t, "approvers") {
		v.Approvers = []string{draw("approver"), draw("approver2")}
	}
	if rapid.Bool().Draw(t, "line") {
		v.ReviewerLine = draw("reviewer line")
	}
	a := check(draw("check"), rapid.SampledFrom([]string{"success", "failure", "skipped", "neutral", "", "odd`one"}).Draw(t, "conclusion"))
	a.URL = draw("url")
	b := check(draw("check2"), "failure")
	b.URL = "https://github.com/" + draw("path")
	v = withChecks(v, check("build", "success"), a)
	if rapid.Bool().Draw(t, "failing") {
		v.Evidence.Checks.Results = append(v.Evidence.Checks.Results, b)
	}
	v.Evidence.Checks.Required = []review.RequiredCheck{{Name: draw("required")}}
	f := finding(draw("title"), draw("where"), 3)
	v.Evidence.Reviewers = []review.ReviewerResult{{
		Provider: draw("provider"), Model: draw("model"), Family: "f", Independence: review.IndependenceStrong, Confidence: 1,
		Status:  rapid.SampledFrom([]review.ReviewerStatus{review.ReviewerRan, review.ReviewerNotRun, review.ReviewerFailed, review.ReviewerPending}).Draw(t, "status"),
		Verdict: rapid.SampledFrom([]review.Verdict{review.VerdictApproved, review.VerdictChanges, review.VerdictBlocked}).Draw(t, "verdict"),
		Reason:  draw("reason"), Findings: []review.Finding{f}, Residual: []string{draw("residual")},
	}}
	if rapid.Bool().Draw(t, "denied") {
		v.Evidence.Permission.Denied = []review.Denial{{Rule: "r", Paths: []string{draw("denied path")}, Reason: draw("denied because")}}
	}
	v.Evidence.Permission.Asks = []review.Ask{{ID: "a", Paths: []string{draw("asked path")}, Approvers: []string{draw("asked")}, Reason: draw("ask because")}}
	if rapid.Bool().Draw(t, "answered") {
		v.Evidence.Permission.Asks[0].Answer = &review.Answer{By: "x" + draw("answered by"), URL: draw("answer"), Reason: draw("answer because")}
	}
	v.Evidence.Artifacts = []review.ArtifactResult{{When: draw("when"), Path: draw("artifact"), Why: draw("why"), Held: rapid.Bool().Draw(t, "held")}}
	v.Evidence.Truncated = []review.TruncatedFile{{Path: draw("truncated"), Why: draw("truncated why")}}
	v.Evidence.Policy.Problems = []review.PolicyProblem{{File: draw("policy file"), Line: 1, Text: draw("policy text")}}
	v.Evidence.Acceptances = []review.Acceptance{{Rule: review.RuleChecksMissing, Checks: []string{v.Evidence.Checks.Required[0].Name}, By: "x" + draw("acceptor"), URL: draw("accept url"), Reason: draw("accept why")}}
	v.Assessment.Problems, v.Assessment.Unknown = []string{draw("problem")}, []string{draw("unknown")}
	v = decided(v)
	v.State = rapid.SampledFrom([]publish.State{publish.StateDecided, publish.StateDecided, publish.StateDecided, publish.StateInProgress, publish.StateDraft, publish.StatePaused, publish.StateSuperseded, publish.StateClosed, publish.StateFailed}).Draw(t, "state")
	return v
}

// Whatever strangers write, the text is ours: no mention, reference, command,
// foreign link or markup of theirs acts (case 93), and the limits hold.
func TestCase093_HostileTextDoesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		views := []publish.View{attacked(t)}
		if rapid.Bool().Draw(t, "shared") {
			second := attacked(t)
			second.Pull.Number = 9
			views = append(views, second)
		}
		j := publish.Join(views)
		assertTitle(t, j.Title())
		assertSummary(t, j.Text(), hostName(j.Worst.RecapURL))
	})
}

func hostName(s string) string {
	m := regexp.MustCompile(`^(?i:https?)://([^/?#\s]+)`).FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	return m[1]
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

func assertTitle(t failer, title string) {
	t.Helper()
	if n := utf8.RuneCountInString(title); n > publish.TitleWidth || len(title) > publish.MaxTitleBytes {
		t.Errorf("title has %d characters and %d bytes: %q", n, len(title), title)
	}
	assertVisible(t, title)
	if strings.ContainsAny(title, "\n\r") || strings.HasPrefix(title, "/") {
		t.Errorf("title is not one harmless line: %q", title)
	}
}

func assertVisible(t failer, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not valid UTF-8: %q", s)
	}
	for _, r := range s {
		if r != '\n' && (unicode.Is(unicode.C, r) || r == '\u3164' || r == '\u00a0' || r == '\u2028') {
			t.Errorf("an invisible character %U stands in %q", r, s)
			return
		}
	}
}

// assertSummary: recaps are the hosts that the text may link to beside GitHub.
func assertSummary(t failer, s string, recaps ...string) {
	t.Helper()
	if len(s) > publish.MaxOutputBytes {
		t.Errorf("the text has %d bytes", len(s))
	}
	assertVisible(t, s)
	ours := regexp.MustCompile(`</?(details|summary|sub)>`)
	bars, head := 3, "|---|---|"
	if strings.Contains(s, "\n|---|---|---|---|---|\n") {
		bars, head = 6, "|---|---|---|---|---|"
	}
	depth := 0
	for _, line := range lines(s) {
		bare := withoutCode(line)
		depth += strings.Count(bare, "<details>") - strings.Count(bare, "</details>")
		if first := strings.TrimLeft(line, " \t->|*"); strings.HasPrefix(first, "/") {
			t.Errorf("a line begins with a command: %q", line)
		}
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != bars && line != head {
			t.Errorf("a table's row has other cells than ours: %q", line)
		}
		targets, rest := linkTargets(bare)
		for _, target := range targets {
			if h := hostName(target); !strings.EqualFold(h, "github.com") && (h == "" || !slices.Contains(recaps, h)) {
				t.Errorf("a link leads to %q", target)
			}
		}
		rest = ours.ReplaceAllString(rest, "")
		if m := regexp.MustCompile(`@[A-Za-z0-9]|#[0-9]|(?i)gh-[0-9]|://|(?i)www\.|<|\]\(|!\[`).FindString(strings.ReplaceAll(rest, "&#", "&")); m != "" {
			t.Errorf("%q acts in the line %q", m, line)
		}
	}
	if depth != 0 {
		t.Errorf("%d <details> are left open", depth)
	}
}

func TestCase093_NamesAreNotActedOn(t *testing.T) {
	v := hostile()
	v.Evidence.Reviewers[0].Reason = "@copilot @org/team fixes #12 owner/repo#5\n/close"
	v = decided(v)
	assertTitle(t, publish.Title(v))
	assertSummary(t, publish.Summary(v), "recap.example")
	for _, want := range []string{"@&#8203;copilot", "@&#8203;org/team", "fixes #&#8203;12", "owner/repo#&#8203;5", "‹U+000A›/close"} {
		if !strings.Contains(publish.Summary(v), want) {
			t.Errorf("the text does not show %q harmlessly:\n%s", want, publish.Summary(v))
		}
	}
}

func FuzzHostileNames(f *testing.F) {
	for _, a := range attacks() {
		f.Add(a, a, "https://github.com/"+a)
	}
	f.Fuzz(func(t *testing.T, name, reason, address string) {
		c := check(name, "failure")
		c.URL = address
		v := withChecks(assessed(risk.High, risk.Signal{Rule: "r", Files: []string{name}, Detail: reason}), c)
		v.Evidence.Reviewers = []review.ReviewerResult{{Provider: name, Model: reason, Status: review.ReviewerNotRun, Reason: reason}}
		v.Evidence.Permission.Asks = []review.Ask{{ID: "a", Paths: []string{name}, Approvers: []string{name}, Reason: reason}}
		v = decided(v)
		assertTitle(t, publish.Title(v))
		assertSummary(t, publish.Summary(v), "")
	})
}
