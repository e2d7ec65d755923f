package collect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// NoneGrace is how long after a head's arrival "no check at all" is believed.
const NoneGrace = 2 * time.Minute

// ChecksInput is what the head's checks are laid out from.
type ChecksInput struct {
	Snapshot forge.Snapshot
	// Heard are the head's checks by GitHub's events; see Merge.
	Heard []Row
	// Required are the branch's required names; PolicyRequired and Advisory are the
	// policy's, with `*` for any run of characters and `?` for one.
	Required       []forge.RequiredCheck
	PolicyRequired []string
	Advisory       []string
	// ChangedWorkflows are the workflow files that the patch adds or changes.
	ChangedWorkflows []string
	// OwnAppID is our App, and OwnNames the names that we report: we never wait
	// for ourselves.
	OwnAppID int64
	OwnNames []string
	// HeadSince is when the head arrived, FirstEvent when the first check reported
	// on it (zero when none did), Now the time of the snapshot.
	HeadSince, FirstEvent, Now time.Time
	// Wait is the policy's wait for required names.
	Wait time.Duration
}

// Checks lays out a head's checks: the newest row of each identity, from both of
// GitHub's systems, held against the names that must pass. GitHub's own
// aggregates are not looked at (case 109).
func Checks(in ChecksInput) review.Checks {
	out := review.Checks{
		Complete:    in.Snapshot.ChecksComplete,
		WaitOver:    passed(in.waitStart(), in.Wait, in.Now),
		NoneSettled: passed(in.HeadSince, NoneGrace, in.Now),
	}
	rows := in.withHeard()
	nameStatusApps(rows)
	actions := actionsApps(rows)
	rows = newest(rows)
	out.Required = in.requirements(rows)
	for _, row := range rows {
		out.Results = append(out.Results, in.result(row, out.Required, actions))
	}
	return out
}

// Recheck is when Checks may next answer differently although nothing
// reports; zero when time alone changes nothing any more.
func Recheck(in ChecksInput) time.Time {
	var next time.Time
	consider := func(since time.Time, d time.Duration) {
		at := since.Add(d)
		if !since.IsZero() && at.After(in.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(in.waitStart(), in.Wait)
	consider(in.HeadSince, NoneGrace)
	if len(in.behind()) > 0 {
		consider(in.Now, lagPause)
	}
	return next
}

// waitStart is the first check event or, failing that, the head's arrival.
func (in ChecksInput) waitStart() time.Time {
	if !in.FirstEvent.IsZero() {
		return in.FirstEvent
	}
	return in.HeadSince
}

// passed reports whether d has gone by since a known time.
func passed(since time.Time, d time.Duration, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) >= d
}

func (in ChecksInput) result(row forge.Check, required []review.RequiredCheck, actions map[int64]bool) review.CheckResult {
	r := review.CheckResult{
		ID: row.ID, AppID: row.AppID, App: row.App, Workflow: row.Workflow, Event: row.Event,
		Name: row.Name, Kind: review.CheckKind(row.Kind), Status: row.Status, Conclusion: row.Conclusion,
		Attempt: row.Attempt, StartedAt: row.StartedAt, CompletedAt: row.CompletedAt, URL: row.URL,
		Digest: digest(row), Excerpt: excerpt(row),
		Ours: row.Kind == forge.CheckRun && row.AppID == in.OwnAppID && in.OwnAppID != 0,
	}
	if r.Ours {
		return r
	}
	r.Required = demanded(required, row.Name)
	r.Advisory = !r.Required && matchesAny(in.Advisory, row.Name)
	if r.Required {
		r.Untrusted = in.selfMade(row, actions)
		if r.SelfMade = r.Untrusted != ""; !r.SelfMade {
			r.Untrusted = untrusted(row, required)
		}
	}
	return r
}

// identity is what makes two rows the same check. The workflow file and what
// started it tell apart jobs of one name; other Apps are told apart by suite.
type identity struct {
	kind            forge.CheckKind
	app             int64
	workflow, event string
	suite           int64
	name            string
}

func identityOf(c forge.Check) identity {
	id := identity{kind: c.Kind, app: c.AppID, name: c.Name}
	switch {
	case c.Kind == forge.CommitStatus:
		id.app = 0 // GitHub keeps one status a context, whoever sets it
	case c.Workflow != "":
		id.workflow, id.event = c.Workflow, c.Event
	default:
		id.suite = c.Suite
	}
	return id
}

// newest keeps the newest row of each identity, by its start and then its id,
// never by its place in the list (case 104).
//
// A row that was skipped, or is neutral, ran nothing that could mend what failed
// before it: editing a title must not hide a failure behind a job whose `if:`
// was false. Such a row replaces what passed, and leaves standing what failed or
// is still open.
//
// Two jobs of one workflow can have the same name. They run side by side in one
// suite, while a re-run begins only after its run has ended: rows of a suite that
// overlap in time are therefore different checks, and both count. Jobs of one
// name that run one after another (a matrix with max-parallel: 1 and a fixed
// name) look the same as a re-run and are taken for one: ids, suite and times
// are alike, and GraphQL has an attempt for neither check runs nor workflow runs.
// Only REST's list of a run's jobs tells (run_attempt).
func newest(rows []forge.Check) []forge.Check {
	slices.SortStableFunc(rows, func(a, b forge.Check) int {
		return cmp.Or(startOf(b).Compare(startOf(a)), cmp.Compare(b.ID, a.ID), cmp.Compare(a.Name, b.Name))
	})
	seen := make(map[identity][]forge.Check)
	var out []forge.Check
	for _, row := range rows {
		id := identityOf(row)
		byVerdict, bySkip := superseded(row, seen[id])
		if byVerdict {
			continue
		}
		// A success behind a skipped row is not shown, and still supersedes.
		seen[id] = append(seen[id], row)
		if !bySkip || !(wasSkipped(row) || succeeded(row)) {
			out = append(out, row)
		}
	}
	slices.SortStableFunc(out, func(a, b forge.Check) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.AppID, b.AppID), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// superseded reports whether a row is an older attempt of a newer one, and of
// which sort: one that says or will say something, or one that was skipped.
func superseded(row forge.Check, newer []forge.Check) (byVerdict, bySkip bool) {
	for _, n := range newer {
		switch {
		case row.ID == n.ID:
			byVerdict = true // the same row, listed twice
		case sideBySide(row, n):
		case wasSkipped(n):
			bySkip = true
		default:
			byVerdict = true
		}
	}
	return byVerdict, bySkip
}

// wasSkipped: nothing was looked at. An App's own "neutral" is its verdict; that of
// a workflow's job is not.
func wasSkipped(c forge.Check) bool {
	ofWorkflow := c.Workflow != "" || c.Event != "" || isActions(c.App)
	return c.Status == completed && (c.Conclusion == "skipped" || (c.Conclusion == "neutral" && ofWorkflow))
}

func succeeded(c forge.Check) bool { return c.Status == completed && c.Conclusion == "success" }

// sideBySide reports whether the older row was still running when the newer one
// of the same suite began.
func sideBySide(older, newer forge.Check) bool {
	if older.Kind != forge.CheckRun || older.Suite == 0 || older.Suite != newer.Suite || newer.StartedAt.IsZero() {
		return false
	}
	if older.CompletedAt.IsZero() {
		return older.Status != completed
	}
	return older.CompletedAt.After(newer.StartedAt)
}

// startOf orders attempts. One that has not begun is newer than all that have.
func startOf(c forge.Check) time.Time {
	switch {
	case !c.StartedAt.IsZero():
		return c.StartedAt
	case c.Status == completed:
		return c.CompletedAt
	}
	return time.Unix(1<<40, 0)
}
