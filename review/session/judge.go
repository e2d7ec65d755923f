package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
	"github.com/countersign/countersign/risk/scan"
)

// Reading is what was read of a change, from wherever it comes, before anybody
// judged it. What is absent counts as unknown.
type Reading struct {
	Patch diff.Patch
	// Files are whole contents at the head, by path, of files that a scanner
	// reads whole.
	Files  map[string][]byte
	Unread []review.Unread
	Author risk.Author
	Intent review.Intent
	Checks review.Checks

	// RequiredNames are the names that the base requires, RequiredWorkflows the
	// workflows that report them or may. RequiredKnown: both are complete.
	RequiredNames, RequiredWorkflows []string
	RequiredKnown                    bool
}

// ReadPull reads a pull request as a session does, for somebody who only looks: it
// writes nothing, remembers nothing, and asks for nothing that the person behind
// the client could not see. A pull request that changes while it is read is an
// error: look again.
func ReadPull(ctx context.Context, c forge.Client, ref forge.PullRef, p policy.Policy, now time.Time) (forge.Pull, Reading, error) {
	pull, err := c.Pull(ctx, ref)
	if err != nil {
		return pull, Reading{}, err
	}
	f, err := readFiles(ctx, c, pull)
	if err != nil {
		return pull, Reading{}, err
	}
	snap, err := c.Snapshot(ctx, snapshotOf(pull, f.Patch))
	switch {
	case err != nil:
		return pull, Reading{}, err
	case snap.HeadSHA != pull.HeadSHA:
		return pull, Reading{}, fmt.Errorf("%s #%d was pushed to while it was read; try again", ref.Repo.FullName(), ref.Number)
	}
	if err := f.readWhole(ctx, c, pull, snap); err != nil {
		return pull, Reading{}, err
	}
	f.reportedBy(nil)
	f.Checks = collect.Checks(collect.ChecksInput{
		Snapshot: snap, Required: f.required, PolicyRequired: p.Checks.Required, Advisory: p.Checks.Advisory,
		ChangedWorkflows: changedWorkflows(f.Patch), OwnNames: publish.OwnNames(), Now: now, Wait: p.Checks.Wait,
	})
	return pull, f.Reading, nil
}

// Judged is what follows from a reading, gate by gate.
type Judged struct {
	Scan        scan.Result
	Assessment  risk.Assessment
	Permissions []permission.Verdict
	Evidence    review.Evidence
	Outcome     review.Outcome
}

// Judge takes a reading through the gates as a session does, and records and
// writes nothing: for a terminal. Its only bound on time is that of the scanners.
func Judge(ctx context.Context, rd Reading, p policy.Policy) Judged {
	j := Judged{Scan: scanOf(ctx, rd)}
	j.Assessment = assess(rd, j.Scan, p)
	j.Permissions = permission.OfPaths(changesOf(rd.Patch, j.Assessment), p.Paths, p.Mode)
	j.Evidence = evidenceOf(rd, j.Scan, j.Assessment, permitted(j.Permissions), p.Revision())
	j.Evidence.Reviewers = []review.ReviewerResult{notReviewed(j.Evidence, j.Assessment, false)}
	j.Outcome = review.Gate(j.Evidence, reviewRules(p, j.Assessment))
	return j
}

// scanFor bounds the search for what needs no model. What is not reached in time
// is named, and its rule has no answer.
const scanFor = 30 * time.Second

// scanOf looks for dangers in what the patch brings.
func scanOf(ctx context.Context, rd Reading) scan.Result {
	ctx, cancel := context.WithTimeout(ctx, scanFor)
	defer cancel()
	return scan.Patch(ctx, rd.Patch, rd.Files, scan.Limits{})
}

// assess asks risk, which is pure.
func assess(rd Reading, s scan.Result, p policy.Policy) risk.Assessment {
	c := risk.Context{
		Author: rd.Author, Content: s.Content,
		RequiredNames: rd.RequiredNames, RequiredWorkflows: rd.RequiredWorkflows, RequiredKnown: rd.RequiredKnown,
	}
	return risk.Assess(rd.Patch, c, p.Risk)
}

// permitted is what the path rules' verdicts say of the patch: may these paths
// change?
func permitted(verdicts []permission.Verdict) review.Permission {
	var out review.Permission
	for _, v := range verdicts {
		switch {
		case v.Decision == permission.Deny:
			out.Denied = append(out.Denied, review.Denial{Rule: strings.Join(v.Rules, ", "), Paths: []string{v.Target}, Reason: v.Reason})
		case v.Decision == permission.Ask || v.Waived:
			out.Asks = append(out.Asks, review.Ask{
				ID: "path:" + v.Target, Paths: []string{v.Target}, Approvers: v.Approvers, Reason: v.Reason,
				Surface: slices.Contains(v.Rules, "surface"),
			})
		}
	}
	return out
}

// evidenceOf puts together what the gate reads; nothing is judged here.
func evidenceOf(rd Reading, s scan.Result, a risk.Assessment, allowed review.Permission, revision string) review.Evidence {
	e := review.Evidence{
		Tier: a.Tier, Patch: rd.Patch.Identity(), ChangedFiles: rd.Patch.ChangedFiles, DocsOnly: docsOnly(a),
		Permission: allowed,
		Policy:     review.PolicyState{State: review.PolicyGood, Revision: revision},
		Intent:     rd.Intent,
		Unread:     rd.Unread,
		Truncated:  collect.Truncated(rd.Patch),
		Checks:     rd.Checks,
		Findings:   findingsOf(s),
	}
	scannedInto(&e, s)
	for _, sig := range a.Signals {
		e.Signals = append(e.Signals, sig.Rule)
	}
	for _, file := range a.Files {
		e.Coverage = append(e.Coverage, review.FileCoverage{Path: file.Path, State: review.FileSkipped, NeedsEyes: file.NeedsReview, Note: "no review ran"})
	}
	return e
}

// docsOnly: every changed file is documentation and nothing else.
func docsOnly(a risk.Assessment) bool {
	for _, f := range a.Files {
		if !f.Kinds.Has(risk.Docs) || len(f.Kinds.List()) != 1 {
			return false
		}
	}
	return len(a.Files) > 0
}

// notReviewed is honest about what does not exist yet: no provider is configured,
// so no reviewer ran, and the gate does what its table says of that.
func notReviewed(e review.Evidence, a risk.Assessment, draft bool) review.ReviewerResult {
	reason := "no provider configured"
	switch {
	case draft:
		reason = "draft"
	case e.DocsOnly && !a.ReviewRequired:
		reason = "documentation needs none once a check has passed"
	}
	return review.ReviewerResult{Status: review.ReviewerNotRun, Reason: reason}
}

// reviewRules is the part of the policy that the gate reads, as plain values.
func reviewRules(p policy.Policy, a risk.Assessment) review.Rules {
	rules := review.Rules{
		Radical:        p.Mode == permission.Radical,
		SkippedFails:   p.Checks.SkippedFails,
		ReviewRequired: a.ReviewRequired,
	}
	for tier, t := range p.Review.Tiers {
		rules.Tiers[tier] = review.TierRules{
			MinConfidence: t.MinConfidence,
			Reviewers:     t.Reviewers,
			Disagreement:  review.Disagreement(t.Disagreement),
			HumanApproval: t.HumanApproval,
			PlanApproval:  t.PlanApproval,
		}
	}
	return rules
}
