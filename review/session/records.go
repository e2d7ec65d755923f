package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
	"github.com/countersign/countersign/risk"
)

// actor is who writes the records of a session; people's decisions name them.
const actor = "countersign"

// listed bounds every list in a record's body: what is beyond is counted. With
// the lists of one body it stays far under trail.MaxBody.
const listed = 100

// note drafts a record; it is written by the next flush, which comes before any
// write to the outside.
func (r *run) note(phase string, typ trail.Type, body any) {
	r.drafts = append(r.drafts, r.draft(phase, typ, body))
}

func (r *run) draft(phase string, typ trail.Type, body any) trail.Draft {
	d := draftOf(r.turn.Pull.Repo, r.s.HeadSHA, phase, typ, body)
	d.PlanID, d.SessionID, d.Pull, d.PolicyRevision = r.s.PlanID, r.s.ID, r.turn.Pull.Number, r.revision
	return d
}

func draftOf(repo forge.Repo, sha, phase string, typ trail.Type, body any) trail.Draft {
	b := marshal(body)
	if s, ok := body.(shrinker); ok && len(b) > trail.MaxBody {
		b = marshal(s.shrunk())
	}
	if len(b) > trail.MaxBody {
		b = marshal(map[string]any{"too_large": len(b)})
	}
	return trail.Draft{Repo: repo.FullName(), RepoID: repo.ID, HeadSHA: sha, Phase: phase, Type: typ, Actor: actor, Body: b}
}

// shrinker is a body whose lists come from outside: their entries are counted, and
// still may be too long together.
type shrinker interface{ shrunk() any }

func marshal(body any) []byte {
	b, err := json.Marshal(body)
	if err != nil { // bodies are plain values; a lost one must still be seen
		b, _ = json.Marshal(map[string]string{"unwritable": err.Error()})
	}
	return b
}

// flush writes the drafts. It is repeated as a whole when it fails: a retry of
// the session writes its own.
func (r *run) flush(ctx context.Context) error {
	for len(r.drafts) > 0 {
		n := min(len(r.drafts), trail.MaxAppend)
		records, err := r.o.Log.Append(ctx, r.chain, r.drafts[:n]...)
		if err != nil {
			return err
		}
		r.head = records[len(records)-1].Hash
		r.drafts = r.drafts[n:]
	}
	return nil
}

// recordDeliveries chains what woke this turn, together with the drafts so far.
func (r *run) recordDeliveries(ctx context.Context) error {
	events := r.turn.Events
	if len(r.drafts)+len(events) > trail.MaxAppend || len(events) == 0 {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	for len(events) > 0 {
		n := min(len(events), trail.MaxAppend-len(r.drafts))
		for _, ev := range events[:n] {
			r.drafts = append(r.drafts, r.draft("G0", trail.TypeDelivery, deliveryOf(ev)))
		}
		seal := r.o.Log.Sealer(r.chain, r.drafts...)
		head := r.head
		err := r.o.Store.RecordDeliveries(ctx, guidsOf(events[:n]), r.chain, func(seq int64, hash string) ([]trail.Record, error) {
			records, err := seal(seq, hash)
			if len(records) > 0 {
				head = records[len(records)-1].Hash
			}
			return records, err
		})
		if err != nil {
			return err
		}
		r.head, r.drafts, events = head, nil, events[n:]
	}
	return nil
}

// recordEvents chains deliveries outside of a session.
func (e *Engine) recordEvents(ctx context.Context, chain trail.Chain, repo forge.Repo, sha string, events []Event) error {
	for len(events) > 0 {
		n := min(len(events), trail.MaxAppend)
		drafts := make([]trail.Draft, n)
		for i, ev := range events[:n] {
			drafts[i] = draftOf(repo, sha, "G0", trail.TypeDelivery, deliveryOf(ev))
			drafts[i].PolicyRevision = e.revision
		}
		if err := e.o.Store.RecordDeliveries(ctx, guidsOf(events[:n]), chain, e.o.Log.Sealer(chain, drafts...)); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

func guidsOf(events []Event) []string {
	out := make([]string, 0, len(events))
	for _, ev := range events {
		if ev.GUID != "" {
			out = append(out, ev.GUID)
		}
	}
	return out
}

type delivery struct {
	GUID       string    `json:"guid"`
	Event      string    `json:"event"`
	Action     string    `json:"action,omitempty"`
	BodySHA256 string    `json:"body_sha256"`
	ReceivedAt time.Time `json:"received_at"`
	Sender     string    `json:"sender,omitempty"`
	// Handled is false for what no gate acts on yet.
	Handled bool `json:"handled"`
}

func deliveryOf(ev Event) delivery {
	d := delivery{GUID: ev.GUID, Event: ev.Name, Action: ev.Action, BodySHA256: ev.BodySHA256, ReceivedAt: ev.ReceivedAt, Sender: ev.Sender}
	switch ev.Name {
	case "pull_request", "check_run", "check_suite", "status":
		d.Handled = true
	}
	return d
}

type runStart struct {
	Reason     string          `json:"reason"`
	Mode       permission.Mode `json:"mode"`
	Resumes    string          `json:"resumes,omitempty"`
	NotWritten []trail.Type    `json:"not_written,omitempty"` // by the session that this one resumes
}

// notWritten lists what a whole session writes and this one did not.
func notWritten(wrote []trail.Type) []trail.Type {
	have := make(map[trail.Type]bool, len(wrote))
	for _, t := range wrote {
		have[t] = true
	}
	var out []trail.Type
	for _, t := range []trail.Type{trail.TypePlanReview, trail.TypePatchSummary, trail.TypeCheckSummary, trail.TypeReviewDecision, trail.TypeGateDecision, trail.TypePublish, trail.TypeRunEnd} {
		if !have[t] {
			out = append(out, t)
		}
	}
	return out
}

type runEnd struct {
	Status Status         `json:"status"`
	By     string         `json:"by,omitempty"` // the head that superseded this one
	Calls  map[string]int `json:"calls,omitempty"`
	Total  int            `json:"calls_total"`
}

type runError struct {
	Error    string         `json:"error"`
	Retrying bool           `json:"retrying"`
	Calls    map[string]int `json:"calls,omitempty"`
	Total    int            `json:"calls_total"`
}

type patchSummary struct {
	Identity      string   `json:"identity"`
	Base          string   `json:"base"`
	MergeBase     string   `json:"merge_base"`
	Files         int      `json:"files"`
	ChangedFiles  int      `json:"changed_files"`
	Added         int      `json:"added"`
	Deleted       int      `json:"deleted"`
	ReviewKinds   []string `json:"review_kinds"` // kinds that require review, in this patch
	NeedReview    []string `json:"need_review"`
	NotListed     int      `json:"not_listed,omitempty"`
	Truncated     []string `json:"truncated,omitempty"`
	Unread        []string `json:"unread,omitempty"`
	ContentNotRun []string `json:"content_rules_not_run,omitempty"` // unknown, not absent
	Scan          scanned  `json:"scan"`
}

type checkRecord struct {
	ID         int64     `json:"id"`
	App        string    `json:"app,omitempty"`
	AppID      int64     `json:"app_id,omitempty"`
	Workflow   string    `json:"workflow,omitempty"`
	Name       string    `json:"name"`
	Attempt    int       `json:"attempt,omitempty"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion,omitempty"`
	Why        string    `json:"why,omitempty"` // why it was skipped, or satisfies nothing
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndedAt    time.Time `json:"completed_at,omitzero"`
	URL        string    `json:"url,omitempty"`
	Digest     string    `json:"digest,omitempty"`
}

type checksRecord struct {
	Checks    []checkRecord `json:"checks"`
	NotListed int           `json:"not_listed,omitempty"`
	Required  []string      `json:"required,omitempty"`
	Complete  bool          `json:"complete"`
	WaitOver  bool          `json:"wait_over"`
}

// Shrunk, a list is its length: what it listed can be read again from the forge.
func (p patchSummary) shrunk() any {
	p.NotListed += len(p.NeedReview)
	p.NeedReview, p.Truncated, p.Unread = []string{}, counted(p.Truncated), counted(p.Unread)
	p.Scan = p.Scan.shrunk()
	return p
}

func (c checksRecord) shrunk() any {
	c.NotListed += len(c.Checks)
	c.Checks, c.Required = []checkRecord{}, counted(c.Required)
	return c
}

func (g gateRecord) shrunk() any {
	for _, rc := range g.Causes {
		g.LeftOut += len(rc.Causes)
	}
	g.LeftOut += len(g.Residual) + len(g.Accepted)
	g.Causes, g.Residual, g.Accepted = nil, nil, nil
	return g
}

func counted(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d entries, too long for one record", len(list))}
}

func checkSummary(c review.Checks) checksRecord {
	out := checksRecord{Checks: []checkRecord{}, Complete: c.Complete, WaitOver: c.WaitOver}
	results, left := trail.Bound(c.Results, listed)
	out.NotListed = left
	for _, x := range results {
		rec := checkRecord{ID: x.ID, App: x.App, AppID: x.AppID, Workflow: x.Workflow, Name: x.Name, Attempt: x.Attempt, Status: x.Status,
			Conclusion: x.Conclusion, Why: x.Untrusted, StartedAt: x.StartedAt, EndedAt: x.CompletedAt, URL: x.URL, Digest: x.Digest}
		if rec.Why == "" && (x.Conclusion == "skipped" || x.Conclusion == "neutral") {
			rec.Why = x.Excerpt
			if rec.Why == "" {
				rec.Why = "the check gave no reason"
			}
		}
		out.Checks = append(out.Checks, rec)
	}
	required, _ := trail.Bound(c.Required, listed)
	for _, req := range required {
		out.Required = append(out.Required, req.Name)
	}
	return out
}

type reviewDecision struct {
	Status review.ReviewerStatus `json:"status"`
	Reason string                `json:"reason,omitempty"`
}

type gateRecord struct {
	Facts    review.Facts          `json:"facts"`
	Gate     review.GateDecision   `json:"gate"`
	Tier     risk.Tier             `json:"tier"`
	Patch    string                `json:"patch"`
	Causes   []review.RuleCauses   `json:"causes,omitempty"`
	Residual []review.ResidualRisk `json:"residual,omitempty"`
	Accepted []review.Accepted     `json:"accepted,omitempty"`
	Checks   review.CheckCounts    `json:"checks"`
	LeftOut  int                   `json:"left_out,omitempty"`
}

func gateDecision(out review.Outcome, s Session) gateRecord {
	rec := gateRecord{Facts: out.Facts, Gate: out.Gate, Tier: s.Assessment.Tier, Patch: string(s.Patch), Checks: out.Causes.Checks}
	var left int
	for _, rc := range out.Causes.Rules {
		var n int
		rc.Causes, n = trail.Bound(rc.Causes, 20)
		left += n
		rec.Causes = append(rec.Causes, rc)
	}
	rec.Residual, rec.LeftOut = trail.Bound(out.Residual, listed)
	rec.Accepted, _ = trail.Bound(out.Accepted, listed)
	rec.LeftOut += left
	return rec
}

type publishRecord struct {
	Name       string `json:"name"`
	HeadSHA    string `json:"head_sha"`
	CheckRun   int64  `json:"check_run_id,omitempty"`
	Title      string `json:"title"`
	Conclusion string `json:"conclusion,omitempty"`
	Digest     string `json:"digest,omitempty"`
	How        string `json:"how"`                   // created, patched, unchanged
	Annotated  int    `json:"annotations,omitempty"` // that this write sent
}

func published(name, sha string, res publish.Result) publishRecord {
	how := "unchanged"
	switch {
	case res.Created:
		how = "created"
	case res.Patched:
		how = "patched"
	}
	return publishRecord{Name: name, HeadSHA: sha, CheckRun: res.CheckRunID, Title: res.Title, Conclusion: res.Conclusion, Digest: res.Digest, How: how, Annotated: res.Annotated}
}

type finalReport struct {
	Decision  review.Decision `json:"decision"`
	Satisfies bool            `json:"satisfies"`
	Tier      risk.Tier       `json:"tier"`
	Fired     []review.RuleID `json:"fired,omitempty"`
	Residual  int             `json:"residual"`
	Check     string          `json:"check"`
	URL       string          `json:"url,omitempty"`
}

func (r *run) finalReport(out review.Outcome) finalReport {
	return finalReport{Decision: out.Gate.Decision, Satisfies: out.Gate.Satisfies, Tier: r.s.Assessment.Tier, Fired: out.Gate.Fired,
		Residual: len(out.Residual), Check: r.s.CheckName, URL: r.s.URL}
}

// automaticApprovals writes a judgment for every ask that mode radical answered.
func (r *run) automaticApprovals(out review.Outcome) {
	for _, id := range out.Causes.Automatic {
		j := trail.Judgment{Decision: "approved " + id + " automatically", Why: "mode radical answers what the policy asks", Evidence: []string{r.s.HeadSHA},
			Result: trail.ResultOpen, Actor: trail.Actor{Login: actor}}
		if body, err := j.Body(); err == nil {
			r.note("G6", trail.TypeHumanDecision, body)
		} else {
			r.note("G6", trail.TypeRunError, runError{Error: err.Error()})
		}
	}
}
