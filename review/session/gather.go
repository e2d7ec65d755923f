package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
	"github.com/countersign/countersign/risk/scan"
)

// found is what was read of a pull request, before anybody judged it.
type found struct {
	patch    diff.Patch
	unread   []review.Unread
	author   risk.Author
	required []forge.RequiredCheck
	sources  []Source
	intent   review.Intent
	scanned  scan.Result
}

// collect reads everything there is to read. The modes, the checks and the head
// itself come last and in one call, so that what is published was true a moment
// before (cases 59 and 115).
func (r *run) collect(ctx context.Context, pull forge.Pull) (found, error) {
	f := found{intent: collect.Intent(pull)}
	if err := r.readFiles(ctx, pull, &f); err != nil {
		return f, err
	}
	snap, err := r.client.Snapshot(ctx, forge.SnapshotRequest{Pull: r.turn.Pull, Head: pull.HeadSHA, MergeBase: f.patch.MergeBase, Dirs: collect.Dirs(f.patch)})
	if err != nil {
		return f, err
	}
	if snap.HeadSHA != pull.HeadSHA {
		return f, r.supersede(ctx, snap.HeadSHA)
	}
	if snap.State != forge.PullOpen || snap.Draft != pull.Draft || snap.BaseRef != pull.BaseRef {
		return f, r.supersede(ctx, "")
	}
	f.unread = append(f.unread, collect.Modes(&f.patch, snap)...)
	gaps, err := collect.Fill(ctx, r.client, r.turn.Pull.Repo, &f.patch, collect.Budget{})
	if err != nil {
		return f, err
	}
	f.unread = append(f.unread, gaps...)

	f.scanned = r.scan(ctx, f.patch)
	r.s.Patch = f.patch.Identity()
	r.s.Required = f.required
	r.s.ChangedWorkflows = changedWorkflows(f.patch)
	if err := r.readChecks(ctx, snap); err != nil {
		return f, err
	}
	f.sources, err = r.o.Store.Sources(ctx, r.turn.Pull.Repo.ID)
	return f, err
}

// readFiles reads the patch, the base's rules and the author's standing: three
// independent questions, asked side by side.
func (r *run) readFiles(ctx context.Context, pull forge.Pull, f *found) error {
	var gaps []review.Unread
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		f.patch, gaps, err = collect.Patch(gctx, r.client, pull)
		return err
	})
	g.Go(func() error {
		rules, err := r.client.BranchRules(gctx, r.turn.Pull.Repo, pull.BaseRef)
		f.required = rules.Required
		return err
	})
	g.Go(func() (err error) {
		f.author, err = collect.Author(gctx, r.client, pull)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	f.unread = append(f.unread, gaps...)
	return nil
}

// readChecks lays out the head's checks and learns who reports which name.
func (r *run) readChecks(ctx context.Context, snap forge.Snapshot) error {
	if err := r.nameApps(ctx, snap.Checks); err != nil {
		return err
	}
	in, err := r.checksInput(ctx, snap)
	if err != nil {
		return err
	}
	r.s.Evidence.Checks = collect.Checks(in)
	r.recheck = collect.Recheck(in)
	var learnt []Source
	for _, c := range r.s.Evidence.Checks.Results {
		if !c.Ours && c.Untrusted == "" {
			learnt = append(learnt, Source{Name: c.Name, AppID: c.AppID, Workflow: c.Workflow})
		}
	}
	return r.o.Store.LearnSources(ctx, r.turn.Pull.Repo.ID, learnt)
}

// nameApps finds the App behind a status that is required of an App: a status
// names only the account that set it, and an App's account bears its slug. Whose
// App cannot be found, the status satisfies nothing.
func (r *run) nameApps(ctx context.Context, checks []forge.Check) error {
	for i, c := range checks {
		slug, isApp := strings.CutSuffix(c.App, "[bot]")
		ofApp := func(req forge.RequiredCheck) bool { return req.Name == c.Name && req.AppID > 0 }
		if c.Kind != forge.CommitStatus || c.AppID > 0 || !isApp || !slices.ContainsFunc(r.s.Required, ofApp) {
			continue
		}
		id, err := r.client.AppBySlug(ctx, slug)
		switch {
		case forge.Temporary(err):
			return err
		case err == nil:
			checks[i].AppID = id
		}
	}
	return nil
}

func (r *run) checksInput(ctx context.Context, snap forge.Snapshot) (collect.ChecksInput, error) {
	h, err := r.o.Store.Head(ctx, r.turn.Pull.Repo.ID, r.s.HeadSHA, r.now())
	if err != nil {
		return collect.ChecksInput{}, err
	}
	return collect.ChecksInput{
		Snapshot: snap, Required: r.s.Required, PolicyRequired: r.o.Policy.Checks.Required, Advisory: r.o.Policy.Checks.Advisory,
		ChangedWorkflows: r.s.ChangedWorkflows, OwnAppID: r.o.Host.AppID(), OwnNames: []string{publish.CheckName, publish.AdvisoryName},
		HeadSince: later(h.SeenAt, r.s.StartedAt), FirstEvent: later(h.FirstCheck, r.s.StartedAt), Now: r.now(), Wait: r.o.Policy.Checks.Wait,
	}, nil
}

// later is t, or since where t is earlier: a commit may have been there, and been
// checked, long before this pull request. The zero time stays zero.
func later(t, since time.Time) time.Time {
	if !t.IsZero() && t.Before(since) {
		return since
	}
	return t
}

// workflowDir holds the workflows that Actions runs; nothing below a subfolder
// counts.
const workflowDir = ".github/workflows/"

// changedWorkflows are those that the patch adds or changes: what they report on
// this head was written by the author.
func changedWorkflows(p diff.Patch) []string {
	var out []string
	for _, f := range p.Files {
		if f.HasNew() && strings.HasPrefix(f.Path(), workflowDir) {
			out = append(out, f.Path())
		}
	}
	return out
}

// assess asks risk, which is pure, and keeps its answer.
func (r *run) assess(pull forge.Pull, f found) risk.Assessment {
	c := risk.Context{Author: f.author, RequiredKnown: true}
	c.RequiredNames, c.RequiredWorkflows = r.reporters(f)
	c.Content = f.scanned.Content
	for _, u := range f.unread {
		if u.Fatal {
			c.RequiredKnown = false
		}
	}
	a := risk.Assess(f.patch, c, r.o.Policy.Risk)
	r.s.Assessment = a
	r.note("G4", trail.TypePatchSummary, summaryOf(f, a))
	return a
}

// reporters names the required checks and the workflows that report them. Which
// workflow reports a name is learnt from heads that were read before; a name of
// Actions that never reported may come from any workflow that this patch touches.
func (r *run) reporters(f found) (names, workflows []string) {
	for _, req := range f.required {
		if req.Name == publish.CheckName {
			continue
		}
		names = append(names, req.Name)
		known := false
		for _, src := range f.sources {
			if src.Name == req.Name && (req.AppID == 0 || req.AppID == src.AppID) {
				known = true
				if src.Workflow != "" {
					workflows = append(workflows, src.Workflow)
				}
			}
		}
		if !known {
			workflows = append(workflows, changedWorkflows(f.patch)...)
		}
	}
	slices.Sort(workflows)
	return names, slices.Compact(workflows)
}

func summaryOf(f found, a risk.Assessment) patchSummary {
	p := patchSummary{
		Identity: string(f.patch.Identity()), Base: f.patch.Base, MergeBase: f.patch.MergeBase,
		Files: len(f.patch.Files), ChangedFiles: f.patch.ChangedFiles, ContentNotRun: a.Unknown, Scan: scannedOf(f.scanned), ReviewKinds: []string{}, NeedReview: []string{},
	}
	for _, file := range f.patch.Files {
		p.Added += file.Added
		p.Deleted += file.Deleted
		if file.Truncated && len(p.Truncated) < listed {
			p.Truncated = append(p.Truncated, file.Path()+": "+file.Why)
		}
	}
	for _, file := range a.Files {
		if !file.NeedsReview {
			continue
		}
		for _, k := range file.Kinds.List() {
			if !slices.Contains(p.ReviewKinds, k.String()) {
				p.ReviewKinds = append(p.ReviewKinds, k.String())
			}
		}
		if len(p.NeedReview) < listed {
			p.NeedReview = append(p.NeedReview, file.Path)
		} else {
			p.NotListed++
		}
	}
	for _, u := range f.unread {
		p.Unread = append(p.Unread, u.What+": "+u.Detail)
	}
	return p
}

// evidence puts together what the gate reads; nothing is judged here.
func (r *run) evidence(pull forge.Pull, f found, a risk.Assessment, allowed permitted) {
	e := &r.s.Evidence
	checks := e.Checks
	*e = review.Evidence{
		Tier: a.Tier, Patch: r.s.Patch, ChangedFiles: f.patch.ChangedFiles, DocsOnly: docsOnly(a),
		Permission: allowed.permission,
		Policy:     review.PolicyState{State: review.PolicyGood, Revision: r.revision},
		Intent:     f.intent,
		Unread:     f.unread,
		Truncated:  collect.Truncated(f.patch),
		Checks:     checks,
		Findings:   findingsOf(f.scanned),
	}
	for _, s := range a.Signals {
		e.Signals = append(e.Signals, s.Rule)
	}
	for _, file := range a.Files {
		e.Coverage = append(e.Coverage, review.FileCoverage{Path: file.Path, State: review.FileSkipped, NeedsEyes: file.NeedsReview, Note: "no review ran"})
	}
	if f.intent != review.IntentStated && a.Tier >= risk.High {
		r.note("G1", trail.TypeClarification, map[string]string{"question": "What is this pull request for?", "asked_on": "the check"})
	}
	r.note("G4", trail.TypeCheckSummary, checkSummary(checks))
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
