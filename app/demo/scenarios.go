package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// actionsApp is GitHub Actions' own App: every job reports under it.
const actionsApp = 15368

type scenario struct {
	name, about string
	play        func(ctx context.Context, s *stage, p *printer) error
}

func scenarios() []scenario {
	return []scenario{
		{"Documentation only", "the README changes and CI is green: nothing for a model to add", docsOnly},
		{"Plain source", "a medium change needs a reviewer, and none is configured: it says so and is not green", plainSource},
		{"Authentication code", "high by path; green CI alone does not pass it", authCode},
		{"Authentication and a workflow together", "critical: two reviewers and a person", authAndWorkflow},
		{"A rename out of a sensitive path", "a workflow becomes docs/notes.txt: it is judged under both names", hidingRename},
		{"Failing CI", "a failed check overrides everything else", failingCI},
		{"CI turns red after the approval", "one re-read, one patch, and the green check is gone", redAfterApproval},
		{"A leaked key", "in documentation, and still critical: the line is named, the key is not shown", leakedKey},
		{"Characters that nobody sees", "a line of source that reads one way and runs another", hiddenCharacters},
		{"A workflow that lets strangers in", "its title becomes a part of a script, with the repository's secrets", injectedWorkflow},
		{"Four hundred files", "more than one comparison holds; nothing is left out", fourHundredFiles},
		{"A head superseded twice in a second", "one session is given up, one decides", supersededTwice},
	}
}

func docsOnly(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Explain returns", "docs", githubsim.Change{Path: "README.md", Content: "# shop\n\nSells things. Returns within 30 days.\n"})
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "success", "success", "Low · approved")
}

func plainSource(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Count items once", "count", githubsim.Change{Path: "cart/cart.go", Content: cartGo + "\n// Empty reports whether nothing is in the cart.\nfunc Empty(items []string) bool { return Count(items) == 0 }\n"})
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "success", "action_required", "Medium · not reviewed")
}

func authCode(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Renew sessions", "renew", githubsim.Change{Path: "internal/auth/session.go", Content: sessionGo + "\n// Renew keeps a session alive.\nfunc Renew(token string) string { return Sign(token) }\n"})
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "success", "action_required", "High · ")
}

func authAndWorkflow(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Sign releases with the session key", "sign",
		githubsim.Change{Path: "internal/auth/session.go", Content: sessionGo + "\n// Key is exported for the release job.\nfunc Key() string { return key }\n"},
		githubsim.Change{Path: ".github/workflows/release.yml", Content: releaseYAML + "      - run: ./sign.sh\n"})
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "success", "action_required", "Critical · ")
}

func hidingRename(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Tidy up notes", "tidy", githubsim.Change{Path: ".github/workflows/release.yml", RenameTo: "docs/notes.txt"})
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "success", "action_required", "")
}

func leakedKey(ctx context.Context, s *stage, p *printer) error {
	key := "AKIA" + "Z7XQ3M2N5P4R6TBV" // of nobody; in two parts, so that no scanner stops at this file
	pull, err := s.open("Explain the setup", "setup", githubsim.Change{Path: "docs/setup.md", Content: "# Setup\n\nexport AWS_ACCESS_KEY_ID=" + key + "\n"})
	if err != nil {
		return err
	}
	if err := s.found(ctx, p, pull, "Critical · changes requested · 1 finding"); err != nil {
		return err
	}
	if _, err := pull.Push(githubsim.Change{Path: "docs/setup.md", Content: "# Setup\n\nAsk for a key.\n"}); err != nil {
		return err
	}
	p.event("the line is replaced (the key has to be revoked all the same)")
	run, err := s.waitCheck(ctx, pull.HeadSHA(), publish.CheckName, func(run githubsim.CheckRun) bool {
		return strings.HasPrefix(run.Output.Title, "Low · waiting")
	})
	if err != nil {
		return err
	}
	p.title(run)
	return s.said(ctx, p, pull)
}

func hiddenCharacters(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Let members see prices", "members", githubsim.Change{Path: "cart/price.go",
		Content: "package cart\n\n// Price is shown to members\u202e\u2066 only\u2069 \u2066.\nfunc Price() int { return 3 }\n"})
	if err != nil {
		return err
	}
	return s.found(ctx, p, pull, "High · changes requested · ")
}

func injectedWorkflow(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Greet contributors", "greet", githubsim.Change{Path: ".github/workflows/greet.yml", Content: greetYAML})
	if err != nil {
		return err
	}
	return s.found(ctx, p, pull, "changes requested · ")
}

func fourHundredFiles(ctx context.Context, s *stage, p *printer) error {
	var changes []githubsim.Change
	for i := range 400 {
		changes = append(changes, githubsim.Change{Path: fmt.Sprintf("catalog/item%03d.go", i), Content: fmt.Sprintf("package catalog\n\n// Item%03d is for sale.\nconst Item%03d = %d\n", i, i, i)})
	}
	pull, err := s.open("Keep the catalog in the program", "catalog", changes...)
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "success", "action_required", "High · not reviewed")
}

// found shows a check that is red for a finding: it waits for no build.
func (s *stage) found(ctx context.Context, p *printer, pull *githubsim.Pull, title string) error {
	run, err := s.waitCheck(ctx, pull.HeadSHA(), "countersign", func(run githubsim.CheckRun) bool {
		return run.Conclusion == "failure" && strings.Contains(run.Output.Title, title)
	})
	if err != nil {
		return err
	}
	p.check(run, pull)
	return s.said(ctx, p, pull)
}

// said shows what stands beside the check that judges: the two that inform, and the
// comments on lines.
func (s *stage) said(ctx context.Context, p *printer, pull *githubsim.Pull) error {
	for _, name := range []string{publish.ReviewName, publish.CoverageName} {
		run, err := s.waitCheck(ctx, pull.HeadSHA(), name, titled("neutral", ""))
		if err != nil {
			return err
		}
		p.title(run)
	}
	for _, thread := range pull.Threads() {
		p.thread(thread)
	}
	return nil
}

func failingCI(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Round prices", "round", githubsim.Change{Path: "cart/price.go", Content: "package cart\n\n// Round is wrong for negative prices.\nfunc Round(cents int) int { return (cents + 50) / 100 * 100 }\n"})
	if err != nil {
		return err
	}
	return s.buildAndShow(ctx, p, pull, "failure", "failure", "Medium · changes requested · build failed")
}

func redAfterApproval(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Explain shipping", "shipping", githubsim.Change{Path: "docs/shipping.md", Content: "# Shipping\n\nBy post.\n"})
	if err != nil {
		return err
	}
	if err := s.buildAndShow(ctx, p, pull, "success", "success", "Low · approved"); err != nil {
		return err
	}
	p.event("somebody re-runs build, and it fails")
	s.sim.ResetRequests()
	if err := s.build(pull.HeadSHA(), "failure"); err != nil {
		return err
	}
	run, err := s.waitCheck(ctx, pull.HeadSHA(), "countersign", titled("failure", "Low · changes requested · build failed"))
	if err != nil {
		return err
	}
	p.check(run, pull)
	p.event("calls to GitHub for this: %d", len(s.sim.Requests()))
	return nil
}

func supersededTwice(ctx context.Context, s *stage, p *printer) error {
	pull, err := s.open("Gift wrapping", "gift", githubsim.Change{Path: "docs/gift.md", Content: "# Gift\n"})
	if err != nil {
		return err
	}
	first := pull.HeadSHA()
	if _, err := s.waitCheck(ctx, first, "countersign", func(run githubsim.CheckRun) bool { return run.ID != 0 }); err != nil {
		return err
	}
	p.event("two more pushes within a second")
	for i := range 2 {
		if _, err := pull.Push(githubsim.Change{Path: "docs/gift.md", Content: fmt.Sprintf("# Gift\n\nWrapped, try %d.\n", i+2)}); err != nil {
			return err
		}
	}
	run, err := s.waitCheck(ctx, first, "countersign", titled("cancelled", "Superseded by"))
	if err != nil {
		return err
	}
	p.check(run, pull)
	return s.buildAndShow(ctx, p, pull, "success", "success", "Low · approved")
}

// open opens a pull request by mona, who may write here.
func (s *stage) open(title, branch string, changes ...githubsim.Change) (*githubsim.Pull, error) {
	return s.repo.OpenPull(githubsim.PullSpec{
		Title: title, Body: title + ", as agreed in the team meeting.", Author: "mona", Head: branch, Changes: changes,
	})
}

// build reports the required check on a head, as Actions does: started, then
// done.
func (s *stage) build(sha, conclusion string) error {
	_, err := s.repo.SetCheck(sha, githubsim.CheckSpec{
		Name: "build", Conclusion: conclusion, Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml", Name: "ci"}, StartedAt: time.Now(),
	})
	return err
}

// buildAndShow lets CI end and prints the check that follows from it.
func (s *stage) buildAndShow(ctx context.Context, p *printer, pull *githubsim.Pull, build, conclusion, title string) error {
	if _, err := s.waitCheck(ctx, pull.HeadSHA(), "countersign", func(run githubsim.CheckRun) bool {
		return run.Output.Title != "" && run.Status == "in_progress" && run.Writes > 1
	}); err != nil {
		return err
	}
	if err := s.build(pull.HeadSHA(), build); err != nil {
		return err
	}
	run, err := s.waitCheck(ctx, pull.HeadSHA(), "countersign", titled(conclusion, title))
	if err != nil {
		return err
	}
	p.check(run, pull)
	return nil
}

// epilogue verifies the trail of everything that was shown.
func (s *stage) epilogue(ctx context.Context, p *printer) error {
	if err := s.sim.WaitIdle(ctx); err != nil {
		return err
	}
	report, err := trail.Verify(ctx, s.service.Store())
	if err != nil {
		return err
	}
	if !report.OK() {
		return fmt.Errorf("the trail does not hold: %v", report.Problems)
	}
	p.line("\nTrail: %d records in %d chains, verified: consistent with each other.", report.Records, report.Chains)
	p.line("%s", missing)
	return nil
}

const cartGo = `// Package cart counts what people want to buy.
package cart

// Count counts items.
func Count(items []string) int { return len(items) }
`

const sessionGo = `// Package auth signs people in.
package auth

const key = "from the environment, in a real shop"

// Sign signs a token.
func Sign(token string) string { return token + key[:0] }
`

const ciYAML = `name: ci
on: [pull_request]
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: go test ./...
`

const greetYAML = `name: greet
on: pull_request_target
jobs:
  greet:
    runs-on: ubuntu-latest
    steps:
      - run: echo "Thank you for ${{ github.event.pull_request.title }}"
`

const releaseYAML = `name: release
on: {push: {tags: ["v*"]}}
jobs:
  release:
    runs-on: ubuntu-latest
    steps:
      - run: make release
`
