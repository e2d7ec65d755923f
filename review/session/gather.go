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

// found is what was read of a pull request.
type found struct {
	Reading
	required []forge.RequiredCheck
	scanned  scan.Result
}

// collect reads everything there is to read. The modes, the checks and the head
// itself come last and in one call, so that what is published was true a moment
// before (cases 59 and 115).
func (r *run) collect(ctx context.Context, pull forge.Pull) (found, error) {
	f, err := readFiles(ctx, r.client, pull)
	if err != nil {
		return f, err
	}
	snap, err := r.client.Snapshot(ctx, snapshotOf(pull, f.Patch))
	if err != nil {
		return f, err
	}
	if snap.HeadSHA != pull.HeadSHA {
		return f, r.supersede(ctx, snap.HeadSHA)
	}
	if snap.State != forge.PullOpen || snap.Draft != pull.Draft || snap.BaseRef != pull.BaseRef {
		return f, r.supersede(ctx, "")
	}
	if err := f.readWhole(ctx, r.client, pull, snap); err != nil {
		return f, err
	}
	r.s.Patch = f.Patch.Identity()
	r.s.Required = f.required
	r.s.ChangedWorkflows = changedWorkflows(f.Patch)
	if err := r.readChecks(ctx, snap); err != nil {
		return f, err
	}
	f.Checks = r.s.Evidence.Checks
	sources, err := r.o.Store.Sources(ctx, r.turn.Pull.Repo.ID)
	f.reportedBy(sources)
	f.scanned = scanOf(ctx, f.Reading)
	return f, err
}

// readFiles reads the patch, the base's rules and the author's standing: three
// independent questions, asked side by side.
func readFiles(ctx context.Context, c forge.Client, pull forge.Pull) (found, error) {
	f := found{Reading: Reading{Intent: collect.Intent(pull)}}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		f.Patch, f.Unread, err = collect.Patch(gctx, c, pull)
		return err
	})
	g.Go(func() error {
		rules, err := c.BranchRules(gctx, pull.Ref.Repo, pull.BaseRef)
		f.required = rules.Required
		return err
	})
	g.Go(func() (err error) {
		f.Author, err = collect.Author(gctx, c, pull)
		return err
	})
	return f, g.Wait()
}

// snapshotOf asks for the head, its checks and the modes of what the patch
// touches.
func snapshotOf(pull forge.Pull, p diff.Patch) forge.SnapshotRequest {
	return forge.SnapshotRequest{Pull: pull.Ref, Head: pull.HeadSHA, MergeBase: p.MergeBase, Dirs: collect.Dirs(p)}
}

// readWhole fills in what the list of files does not tell: modes, left out
// patches, and the whole contents that scanners ask for.
func (f *found) readWhole(ctx context.Context, c forge.Client, pull forge.Pull, snap forge.Snapshot) error {
	f.Unread = append(f.Unread, collect.Modes(&f.Patch, snap)...)
	gaps, err := collect.Fill(ctx, c, pull.Ref.Repo, &f.Patch, collect.Budget{})
	if err != nil {
		return err
	}
	f.Unread = append(f.Unread, gaps...)
	f.Files, err = collect.Contents(ctx, f.Patch, func(ctx context.Context, file diff.File, most int64) ([]byte, error) {
		return c.Blob(ctx, pull.Ref.Repo, file.NewBlob, most)
	}, collect.Budget{})
	return err
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
		Snapshot: snap, Heard: h.Rows, Required: r.s.Required, PolicyRequired: r.o.Policy.Checks.Required, Advisory: r.o.Policy.Checks.Advisory,
		ChangedWorkflows: r.s.ChangedWorkflows, OwnAppID: r.o.Host.AppID(), OwnNames: publish.OwnNames(),
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

// assess is G4: how risky is it? The answer is kept and recorded.
func (r *run) assess(f found) risk.Assessment {
	a := assess(f.Reading, f.scanned, r.o.Policy)
	r.s.Assessment = a
	r.note("G4", trail.TypePatchSummary, summaryOf(f, a))
	return a
}

// reportedBy names the required checks and the workflows that report them. Which
// workflow reports a name is learnt from heads that were read before; a name of
// Actions that never reported may come from any workflow that this patch touches.
func (f *found) reportedBy(sources []Source) {
	f.RequiredKnown = !slices.ContainsFunc(f.Unread, func(u review.Unread) bool { return u.Fatal })
	for _, req := range f.required {
		if req.Name == publish.CheckName {
			continue
		}
		f.RequiredNames = append(f.RequiredNames, req.Name)
		known := false
		for _, src := range sources {
			if src.Name == req.Name && (req.AppID == 0 || req.AppID == src.AppID) {
				known = true
				if src.Workflow != "" {
					f.RequiredWorkflows = append(f.RequiredWorkflows, src.Workflow)
				}
			}
		}
		if !known {
			f.RequiredWorkflows = append(f.RequiredWorkflows, changedWorkflows(f.Patch)...)
		}
	}
	slices.Sort(f.RequiredWorkflows)
	f.RequiredWorkflows = slices.Compact(f.RequiredWorkflows)
}

func summaryOf(f found, a risk.Assessment) patchSummary {
	p := patchSummary{
		Identity: string(f.Patch.Identity()), Base: f.Patch.Base, MergeBase: f.Patch.MergeBase,
		Files: len(f.Patch.Files), ChangedFiles: f.Patch.ChangedFiles, ContentNotRun: a.Unknown, Scan: scannedOf(f.scanned), ReviewKinds: []string{}, NeedReview: []string{},
	}
	for _, file := range f.Patch.Files {
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
	for _, u := range f.Unread {
		p.Unread = append(p.Unread, u.What+": "+u.Detail)
	}
	return p
}

// evidence is G4: what the gate will read, and the record of it.
func (r *run) evidence(f found, a risk.Assessment, allowed review.Permission) {
	r.s.Evidence = evidenceOf(f.Reading, f.scanned, a, allowed, r.revision)
	r.s.Evidence.Findings = publish.Place(r.s.Evidence.Findings, f.Patch)
	if f.Intent != review.IntentStated && a.Tier >= risk.High {
		r.note("G1", trail.TypeClarification, map[string]string{"question": "What is this pull request for?", "asked_on": "the check"})
	}
	r.note("G4", trail.TypeCheckSummary, checkSummary(f.Checks))
}
