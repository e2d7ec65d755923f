package session

import (
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
	"github.com/countersign/countersign/risk"
)

// planReview is G2's record: what will be done, on what evidence, and what
// allows it (DESIGN section 2).
type planReview struct {
	Plan       string          `json:"plan"`
	Session    string          `json:"session"`
	Pull       int             `json:"pull"`
	HeadSHA    string          `json:"head_sha"`
	Patch      string          `json:"patch"`
	Goal       goal            `json:"goal"`
	Tier       risk.Tier       `json:"tier"`
	Mode       permission.Mode `json:"mode"`
	Review     planOfReview    `json:"review"`
	Steps      []planStep      `json:"steps"`
	Assumed    []string        `json:"assumptions,omitempty"`
	Missing    []string        `json:"missing,omitempty"`
	Effects    []sideEffect    `json:"side_effects"`
	Validation validation      `json:"validation"`
	Triggers   []riskTrigger   `json:"risk_triggers"`
	Residual   []string        `json:"residual_risks_before_execution,omitempty"`
	Status     string          `json:"status"` // approved auto_approved blocked needs_clarification
	Approver   string          `json:"approver_kind"`
	Rationale  string          `json:"rationale"`
	LeftOut    int             `json:"left_out,omitempty"`
}

func (p planReview) shrunk() any {
	p.LeftOut += len(p.Triggers) + len(p.Missing)
	p.Triggers, p.Missing, p.Goal.Linked = nil, counted(p.Missing), nil
	return p
}

// goal is the author's own words, marked as such: untrusted.
type goal struct {
	AuthorSays string        `json:"author_says"`
	Cut        int           `json:"cut,omitempty"` // bytes left out
	Linked     []forge.Issue `json:"linked_issues,omitempty"`
	Stated     bool          `json:"stated"`
}

type planOfReview struct {
	Required  bool     `json:"required"`
	By        string   `json:"by,omitempty"` // what requires it
	Reviewers []string `json:"reviewers"`
	Reason    string   `json:"reason"`
}

type planStep struct {
	Step      string   `json:"step"`
	DependsOn []string `json:"depends_on,omitempty"`
}

type sideEffect struct {
	Kind   permission.Action `json:"kind"`
	Target string            `json:"target"`
	Risk   string            `json:"risk"`
}

type validation struct {
	Checks   []string `json:"checks"`
	Evidence []string `json:"evidence"`
	Success  []string `json:"success_criteria"`
}

type riskTrigger struct {
	Rule  string   `json:"rule"`
	Floor string   `json:"floor"`
	Raise bool     `json:"raise,omitempty"`
	Files []string `json:"files,omitempty"`
	More  int      `json:"more,omitempty"`
}

// goalBytes bounds the author's words in the record: enough to see what was
// claimed, far under a record's limit.
const goalBytes = 4 << 10

// plan records what the session is going to do. It writes nothing itself; no
// write but the first and no model call comes before it.
func (r *run) plan(pull forge.Pull, f found, a risk.Assessment, allowed review.Permission) {
	p := planReview{
		Plan: r.s.PlanID, Session: r.s.ID, Pull: pull.Ref.Number, HeadSHA: r.s.HeadSHA, Patch: string(r.s.Patch),
		Goal: goalOf(pull, f.Intent), Tier: a.Tier, Mode: r.o.Policy.Mode,
		Review: r.planOfReview(a),
		Steps: []planStep{
			{Step: "read CI's checks"}, {Step: "review", DependsOn: []string{"read CI's checks"}},
			{Step: "decide", DependsOn: []string{"read CI's checks", "review"}}, {Step: "publish", DependsOn: []string{"decide"}},
		},
		Effects: r.effects(),
		Validation: validation{
			Checks:   namesOf(f.required),
			Evidence: []string{"the patch", "check runs and statuses of the head", "permission rules"},
			Success:  []string{"no rule below approved fires"},
		},
		Assumed: []string{"the policy is " + r.o.PolicySource},
	}
	for _, u := range f.Unread {
		p.Missing = append(p.Missing, u.What+": "+u.Detail)
	}
	for _, id := range a.Unknown {
		p.Residual = append(p.Residual, "content rule not evaluated: "+id)
	}
	signals, more := trail.Bound(a.Signals, listed)
	p.LeftOut = more
	for _, s := range signals {
		t := riskTrigger{Rule: s.Rule, Floor: s.Floor.String(), Raise: s.Raise}
		t.Files, t.More = trail.Bound(s.Files, 5)
		p.Triggers = append(p.Triggers, t)
	}
	p.Status, p.Approver, p.Rationale = planStatus(allowed)
	r.note("G2", trail.TypePlanReview, p)
}

// effects are the writes to come.
func (r *run) effects() []sideEffect {
	out := []sideEffect{{Kind: permission.CheckRun, Target: r.s.CheckName, Risk: "a check that branch protection may require"}}
	for _, name := range notes() {
		out = append(out, sideEffect{Kind: permission.CheckRun, Target: name, Risk: "a neutral check that shows what was found"})
	}
	return out
}

// planStatus: nothing of the plan but reading and the checks themselves happens
// without a reviewer, so the runtime may approve it; what the paths need is
// decided at the gate.
func planStatus(allowed review.Permission) (status, approver, rationale string) {
	switch {
	case len(allowed.Denied) > 0:
		return "blocked", string(permission.ByPolicy), "a deny rule matches: the plan is carried out to say so, and nothing can pass it"
	case len(allowed.Asks) > 0:
		return "needs_clarification", string(permission.ByHuman), "paths of this patch are answered by a person"
	}
	return "auto_approved", string(permission.ByRuntime), "the plan reads, and writes nothing but its own checks"
}

func (r *run) planOfReview(a risk.Assessment) planOfReview {
	p := planOfReview{Reviewers: []string{}, Reason: "no provider configured"}
	switch {
	case a.ReviewRequired:
		p.Required, p.By = true, "a rule says so"
	case r.o.Policy.Review.Tiers[a.Tier].Required:
		p.Required, p.By = true, "tier "+a.Tier.String()
	}
	return p
}

func goalOf(pull forge.Pull, intent review.Intent) goal {
	text := strings.TrimSpace(pull.Title + "\n\n" + pull.Body)
	g := goal{AuthorSays: text, Linked: pull.Linked, Stated: intent == review.IntentStated}
	if len(text) > goalBytes {
		g.AuthorSays = strings.ToValidUTF8(text[:goalBytes], "")
		g.Cut = len(text) - len(g.AuthorSays)
	}
	return g
}

func namesOf(required []forge.RequiredCheck) []string {
	out := []string{}
	for _, req := range required {
		if req.Name != publish.CheckName && !slices.Contains(out, req.Name) && len(out) < listed {
			out = append(out, req.Name)
		}
	}
	return out
}
