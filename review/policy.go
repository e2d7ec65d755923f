package review

import "github.com/countersign/countersign/risk"

// Rules is the part of the effective policy that Summarise needs, as plain
// values. Whoever owns the policy fills it; check globs are resolved before
// (CheckResult.Advisory, RequiredCheck.Names).
type Rules struct {
	// Radical: the policy answers asks by itself, except on the surfaces that no
	// mode may approve, and never a plan or human approval.
	Radical bool `json:"radical,omitempty"`
	// SkippedFails: a skipped or neutral check counts as failed.
	SkippedFails bool `json:"skipped_fails,omitempty"`
	// ReviewRequired: a path of this patch requires a review whatever the tier.
	ReviewRequired bool `json:"review_required,omitempty"`
	// Tiers are the rules by tier, low first.
	Tiers [4]TierRules `json:"tiers"`
}

// TierRules is what one tier demands.
type TierRules struct {
	// MinConfidence below which a review's confidence is low, 0 to 1.
	MinConfidence float64 `json:"min_confidence,omitempty"`
	// Reviewers that must come to a verdict; less than 1 means 1.
	Reviewers     int          `json:"reviewers,omitempty"`
	Disagreement  Disagreement `json:"disagreement,omitempty"`
	HumanApproval bool         `json:"human_approval,omitempty"`
	PlanApproval  bool         `json:"plan_approval,omitempty"`
}

// Disagreement is what happens when reviewers come to different verdicts.
type Disagreement string

// The ways to settle a disagreement. Any other counts as strictest.
const (
	Strictest   Disagreement = "strictest" // the worst verdict holds
	Third       Disagreement = "third"     // the majority of three; without it, the worst
	LeftToHuman Disagreement = "human"     // a person decides, medium and above
)

// At is what a tier demands. A tier that does not exist gets critical's rules.
func (r Rules) At(tier risk.Tier) TierRules {
	if int(tier) >= len(r.Tiers) {
		tier = risk.Critical
	}
	t := r.Tiers[tier]
	t.Reviewers = max(t.Reviewers, 1)
	return t
}

// DefaultRules is what holds where no policy says otherwise (DESIGN section 4).
func DefaultRules() Rules {
	var r Rules
	r.Tiers[risk.Medium].MinConfidence = 0.55
	r.Tiers[risk.High].MinConfidence = 0.6
	r.Tiers[risk.Critical] = TierRules{MinConfidence: 0.7, Reviewers: 2, Disagreement: Strictest, HumanApproval: true}
	return r
}
