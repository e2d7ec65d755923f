package terminal

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/countersign/countersign/review/forge/local"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/scan"
)

// SurveyFormat names the shape of a Survey.
const SurveyFormat = "countersign-survey/1"

// Bounds of a survey.
const (
	// DefaultCommits and MaxCommits bound how many commits are judged.
	DefaultCommits = 500
	MaxCommits     = 20_000
	// maxExamples is how many commits are named for a tier or a rule, newest first.
	maxExamples = 10
	// maxNamed bounds the list of those critical and of those that failed.
	maxNamed = 200
)

// Survey is what the rules say of a repository's own history: what
// `countersign survey --json` prints.
type Survey struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	// Line is merges, where most of the line is merged so, or first_parent.
	Line string `json:"line"`
	// Newest and Oldest are the ends of what was judged; Commits counts it.
	Newest  string `json:"newest"`
	Oldest  string `json:"oldest"`
	Commits int    `json:"commits"`

	Tiers []SurveyTier `json:"tiers"`
	// Rules are those of the tier that fired, most often first.
	Rules []SurveyRule `json:"rules"`
	// Findings are the scanners', by rule and severity, gravest first.
	Findings []SurveyFinding `json:"findings"`
	// Unanswered counts, by rule, the commits for which no scanner could answer.
	Unanswered map[string]int `json:"unanswered"`
	// Critical are all commits of that tier, at most 200.
	Critical []SurveyCommit `json:"critical"`
	// Surprising are commits that touch tests or documentation only and are high
	// or critical all the same.
	Surprising []SurveyCommit `json:"surprising"`
	// NotKnown says which signals a history does not tell.
	NotKnown []string `json:"not_known"`
	// Failed are commits that could not be judged, at most 200 of FailedCount.
	Failed      []SurveyCommit `json:"failed,omitempty"`
	FailedCount int            `json:"failed_count"`
}

// SurveyTier is one tier's share.
type SurveyTier struct {
	Tier     string         `json:"tier"`
	Commits  int            `json:"commits"`
	Share    float64        `json:"share"` // of those judged, 0 to 1
	Examples []SurveyCommit `json:"examples"`
}

// SurveyRule is one rule of the tier.
type SurveyRule struct {
	Rule  string `json:"rule"`
	Floor string `json:"floor"`
	Raise bool   `json:"raise,omitempty"`
	// Commits is where it fired, Alone where the tier rests on no other rule.
	Commits  int            `json:"commits"`
	Share    float64        `json:"share"`
	Alone    int            `json:"alone"`
	Examples []SurveyCommit `json:"examples"`
}

// SurveyFinding is one rule of the scanners at one severity.
type SurveyFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Findings int    `json:"findings"`
	Commits  int    `json:"commits"`
	// Examples say where: the detail is path:line.
	Examples []SurveyCommit `json:"examples"`
}

// SurveyCommit is one commit as an example.
type SurveyCommit struct {
	SHA     string `json:"sha"`
	Subject string `json:"subject"`
	Tier    string `json:"tier,omitempty"`
	// Detail is what it rests on, or why it failed.
	Detail string `json:"detail,omitempty"`
}

// SurveyOptions name a history.
type SurveyOptions struct {
	Dir     string // a folder of the clone
	Commits int    // 0 means DefaultCommits
	From    string // the newest commit; empty is HEAD
	Merges  bool   // merge commits only, whatever their share
}

// History judges a repository's own history, each commit against its first parent.
func History(ctx context.Context, o SurveyOptions) (s Survey, err error) {
	if o.Commits == 0 {
		o.Commits = DefaultCommits
	}
	if o.Commits < 0 || o.Commits > MaxCommits {
		return s, fmt.Errorf("want 1 to %d commits, got %d", MaxCommits, o.Commits)
	}
	repo, err := open(ctx, o.Dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	commits, line, err := lineOf(ctx, repo, o)
	if err != nil {
		return s, err
	}
	if len(commits) == 0 {
		return s, fmt.Errorf("%s: no commits to judge; a shallow clone lacks them: git fetch --unshallow", repo.Name())
	}
	t := newTally()
	judged := make([]judgedCommit, len(commits))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range commits {
		g.Go(func() error {
			judged[i] = judgeCommit(gctx, repo, c)
			return gctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return s, err
	}
	for _, j := range judged { // in order, so that the examples are the newest
		t.add(j)
	}
	if s = t.survey(); s.Commits == 0 {
		return s, fmt.Errorf("%s: none of %d commits could be judged; the first: %s", repo.Name(), len(commits), s.Failed[0].Detail)
	}
	s.Name, s.Line, s.Newest, s.Oldest = repo.Name(), line, commits[0].SHA, commits[len(commits)-1].SHA
	return s, nil
}

// lineOf chooses the commits: merges where at least half of the line is merges,
// since each is then a pull request.
func lineOf(ctx context.Context, repo *local.Repo, o SurveyOptions) ([]local.Commit, string, error) {
	all, err := repo.History(ctx, o.From, o.Commits, local.FirstParent)
	if err != nil {
		return nil, "", err
	}
	merges, err := repo.History(ctx, o.From, o.Commits, local.Merges)
	if err != nil {
		return nil, "", err
	}
	among := 0
	of := make(map[string]bool, len(all))
	for _, c := range all {
		of[c.SHA] = true
	}
	for _, c := range merges {
		if of[c.SHA] {
			among++
		}
	}
	if o.Merges || among*2 >= len(all) {
		return merges, "merges", nil
	}
	return all, "first_parent", nil
}

// judgedCommit is one commit with what was said of it.
type judgedCommit struct {
	commit     local.Commit
	assessment risk.Assessment
	found      []scan.Finding
	err        error
}

func judgeCommit(ctx context.Context, repo *local.Repo, c local.Commit) judgedCommit {
	l, err := look(ctx, repo, c.Landed())
	if err != nil {
		return judgedCommit{commit: c, err: err}
	}
	// Which checks were required then is gone: not knowing would make every new
	// workflow critical, so the rule is left out and said to be.
	l.reading.RequiredKnown = true
	j := session.Judge(ctx, l.reading, terminalPolicy())
	return judgedCommit{commit: c, assessment: j.Assessment, found: j.Scan.Findings}
}

// notKnown are the signals that need more than a commit and its parent.
func notKnown() []string {
	return []string{
		"required-workflow: which checks were required when a commit landed",
		"newcomer: what its author might do then",
		"exact-revert: whether a tree was merged before",
		"checks, approvals and reviews: git does not keep them",
	}
}
