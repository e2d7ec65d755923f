package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
)

// Reason says why a reconciler wakes a pull request.
type Reason string

// The reasons.
const (
	// FoundNone: no check of ours on the head says anything of this pull request.
	FoundNone Reason = "none"
	// FoundOther: the newest one is about another pull request or another base.
	FoundOther Reason = "other"
	// FoundStuck: it is in progress and nobody is at work (case 76).
	FoundStuck Reason = "stuck"
	// FoundChanged: the pull request is not as it was when it was decided.
	FoundChanged Reason = "changed"
	// FoundCI: the decision rests on checks whose events may be lost (case 55).
	FoundCI Reason = "ci"
	// FoundClosed: we hold it for open and the forge does not list it.
	FoundClosed Reason = "closed"
	// FoundLeft: a check was left open and nobody has written it for long.
	FoundLeft Reason = "left"
)

// Finding is what a reconciler saw of a pull request. It stays until a turn of the
// pull request has succeeded: it says where to look, and what the turn cannot see
// by itself, that the forge does not show what was posted.
type Finding struct {
	Pull    forge.PullRef
	HeadSHA string
	Reason  Reason
	// Seen identifies what was seen: the same is not found again at once.
	Seen string
	// UpdatedAt is the forge's time of the pull request's newest change: the newest
	// is woken first.
	UpdatedAt time.Time
	FoundAt   time.Time
}

// shownWrongly: what the forge shows is not what was posted, so "nothing changed"
// is no reason not to write.
func (f Finding) shownWrongly() bool {
	return f.Reason == FoundNone || f.Reason == FoundOther || f.Reason == FoundStuck
}

// Findings keeps what was found until it is dealt with.
type Findings interface {
	// Finding returns the one of a pull request that is not settled.
	Finding(ctx context.Context, repoID int64, pull int) (Finding, bool, error)
	// SettleFinding ends it, unless a newer one took its place.
	SettleFinding(ctx context.Context, f Finding) error
}

// Behind is what we know of an open pull request that a list shows.
type Behind struct {
	// Working: a turn is under way or to come, which will look by itself.
	Working bool
	// Indexed: HeadSHA, BaseRef and Draft are those of the last evaluation.
	Indexed          bool
	HeadSHA, BaseRef string
	Draft            bool
	// Spoken are the check runs that speak for it, by our own word: where several
	// pull requests share a head, one run does, and its external id names another.
	Spoken []Spoken
	// Waits: its decision rests on checks that had not passed.
	Waits bool
}

// Spoken is a check run that we know to speak for a pull request.
type Spoken struct {
	HeadSHA, Name string
	RunID         int64
}

// Look decides whether the checks shown of an open pull request are current
// (DESIGN section 8). It is pure.
func Look(o forge.OpenPull, defaultBranch string, b Behind) (Reason, bool) {
	if o.Unread || b.Working {
		return "", false
	}
	shown, ours := shownOf(o, defaultBranch, b)
	switch {
	case shown.ID == 0:
		return FoundNone, true
	case !ours:
		return FoundOther, true
	case shown.Conclusion == "cancelled": // the end of a head that was given up, and that is back
		return FoundNone, true
	case b.Indexed && (b.HeadSHA != o.HeadSHA || b.BaseRef != o.BaseRef || b.Draft != o.Draft):
		return FoundChanged, true
	case b.Waits:
		return FoundCI, true
	case shown.Status != "completed":
		return FoundStuck, true
	case o.Red && passes(shown.Conclusion):
		return FoundCI, true
	}
	return "", false
}

// shownOf is the run that people see for this pull request, and whether it is about
// it. Only where the base is not the default branch may it bear either name.
func shownOf(o forge.OpenPull, defaultBranch string, b Behind) (shown forge.Check, ours bool) {
	for _, name := range []string{publish.CheckName, publish.AdvisoryName} {
		if name == publish.AdvisoryName && o.BaseRef == defaultBranch {
			continue
		}
		run := newestOf(o.Own, name)
		if run.ID == 0 || (shown.ID != 0 && ours) {
			continue
		}
		shown, ours = run, about(run, o, b)
	}
	return shown, ours
}

func newestOf(runs []forge.Check, name string) forge.Check {
	var out forge.Check
	for _, r := range runs {
		if r.Name == name && cmp.Compare(r.ID, out.ID) > 0 {
			out = r
		}
	}
	return out
}

func about(run forge.Check, o forge.OpenPull, b Behind) bool {
	if strings.HasPrefix(run.ExternalID, strconv.Itoa(o.Number)+":"+o.BaseRef+":") {
		return true
	}
	return b.Indexed && b.BaseRef == o.BaseRef && slices.Contains(b.Spoken, Spoken{HeadSHA: o.HeadSHA, Name: run.Name, RunID: run.ID})
}

// seenOf identifies what a list showed.
func seenOf(reason Reason, o forge.OpenPull) string {
	s := fmt.Sprintf("%s %s %s %t %t", reason, o.HeadSHA, o.BaseRef, o.Draft, o.Red)
	for _, name := range []string{publish.CheckName, publish.AdvisoryName} {
		if run := newestOf(o.Own, name); run.ID != 0 {
			s += fmt.Sprintf(" %d %s %s %s", run.ID, run.Status, run.Conclusion, run.ExternalID)
		}
	}
	return s
}

// Reconcile holds a page of open pull requests against what we know of them, and
// says which have no current check. Sessions are read only where the list alone
// does not tell.
func (e *Engine) Reconcile(ctx context.Context, repo forge.Repo, page forge.PullsPage, behind map[int]Behind) ([]Finding, error) {
	var out []Finding
	for _, o := range page.Pulls {
		b := behind[o.Number]
		if shown, ours := shownOf(o, page.DefaultBranch, b); ours && !o.Unread && !b.Working && shown.Conclusion != "success" {
			b.Waits = e.waits(ctx, repo, o)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if reason, found := Look(o, page.DefaultBranch, b); found {
			out = append(out, Finding{Pull: forge.PullRef{Repo: repo, Number: o.Number}, HeadSHA: o.HeadSHA, Reason: reason,
				Seen: seenOf(reason, o), UpdatedAt: o.UpdatedAt, FoundAt: e.now()})
		}
	}
	return out, nil
}

// waits: the stored decision on this head would be another if checks were. A
// session that cannot be read says nothing; one row must not stop a sweep.
func (e *Engine) waits(ctx context.Context, repo forge.Repo, o forge.OpenPull) bool {
	s, known, err := e.o.Store.LatestSession(ctx, repo.ID, o.Number)
	if err != nil {
		e.o.Logger.Warn().Err(err).Str("repo", repo.FullName()).Int("pull", o.Number).Msg("the reconciler cannot read a session")
		return false
	}
	if !known || s.Status != Decided || s.HeadSHA != o.HeadSHA || s.Draft {
		return false
	}
	out := review.Gate(s.Evidence, reviewRules(e.o.Policy, s.Assessment))
	return out.Gate.Decision == review.Pending || slices.ContainsFunc(out.Gate.Fired, func(id review.RuleID) bool {
		return strings.HasPrefix(string(id), "checks-") || id == review.RuleEvidenceMissing
	})
}

// readFinding reads what a reconciler left for this turn.
func (r *run) readFinding(ctx context.Context) error {
	if r.o.Findings == nil {
		return nil
	}
	f, ok, err := r.o.Findings.Finding(ctx, r.turn.Pull.Repo.ID, r.turn.Pull.Number)
	if ok {
		r.finding = &f
	}
	return err
}

// settleFinding ends it once the turn has dealt with everything. A process that
// dies before finds it again, and writes the same once more.
func (r *run) settleFinding(ctx context.Context, out Outcome) error {
	if r.finding == nil || out.EventsOnly || out.Postpone > 0 {
		return nil
	}
	return r.o.Findings.SettleFinding(ctx, *r.finding)
}

// foundKind is what a finding makes of a turn that would do less.
func (r *run) foundKind(kind turnKind) turnKind {
	switch {
	case r.finding == nil || kind == turnEvaluate:
		return kind
	case r.finding.Reason == FoundClosed && r.prev.HeadSHA != "":
		return turnClose
	case r.prev.Status == Closed: // and the forge lists it as open
		return turnEvaluate
	}
	return kind
}
