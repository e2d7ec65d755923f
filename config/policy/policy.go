// Package policy holds the effective rules for a pull request in their valid
// form: what the rest of the program can trust. Decoding files, joining
// templates and saying where each value came from build on it; it knows the
// vocabulary of risk and permission, and nothing of GitHub or a database.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/risk"
)

// Policy is the effective policy of one pull request.
type Policy struct {
	Version int             `json:"version"`
	Mode    permission.Mode `json:"mode"`
	// Risk are the policy's own rules: they only ever raise a tier.
	Risk        []risk.Rule                             `json:"risk,omitempty"`
	Paths       []permission.PathRule                   `json:"paths,omitempty"`
	Actions     map[permission.Action]permission.Effect `json:"actions,omitempty"`
	Checks      Checks                                  `json:"checks"`
	Artifacts   []Artifact                              `json:"artifacts,omitempty"`
	Review      Review                                  `json:"review"`
	Findings    []AllowedFinding                        `json:"findings,omitempty"`
	Comments    Comments                                `json:"comments"`
	StrictHead  bool                                    `json:"strict_head"`
	SingleOwner bool                                    `json:"single_owner"` // a user's own repository with one maintainer
}

// Checks says what CI must show, besides what the branch itself requires.
type Checks struct {
	Required []string `json:"required,omitempty"` // names, with globs
	Advisory []string `json:"advisory,omitempty"` // the only failures that override no approval
	// SkippedFails makes a skipped or neutral check count as failed; else it is
	// a residual risk.
	SkippedFails bool          `json:"skipped_fails"`
	Wait         time.Duration `json:"wait"` // from the head's first check event
}

// Artifact is a file that must exist at the head when another one changes.
type Artifact struct {
	When    string `json:"when"`
	Require string `json:"require"`
}

// Reviewer is a model that may review, by provider.
type Reviewer struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Disagreement says who decides when two reviewers differ.
type Disagreement string

// The ways to settle a disagreement.
const (
	Strictest Disagreement = "strictest"
	Third     Disagreement = "third"
	Human     Disagreement = "human"
)

// TierReview says what a tier demands of a review.
type TierReview struct {
	Required      bool         `json:"required"`
	MinConfidence float64      `json:"min_confidence"` // 0 to 1
	Reviewers     int          `json:"reviewers"`
	Disagreement  Disagreement `json:"disagreement"`
	HumanApproval bool         `json:"human_approval"`
	PlanApproval  bool         `json:"plan_approval"`
}

// Review says who reviews, and within which budgets (tokens).
type Review struct {
	Reviewers []Reviewer    `json:"reviewers,omitempty"`
	Tiers     [4]TierReview `json:"tiers"` // by risk.Tier
	Budget    Budget        `json:"budget"`
}

// Budget bounds what reviews may spend, in tokens.
type Budget struct {
	TokensPerSession  int64 `json:"tokens_per_session"`
	TokensPerDay      int64 `json:"tokens_per_day"`
	ReserveForWriters int   `json:"reserve_for_writers"` // percent
}

// AllowedFinding names a false positive of a deterministic rule.
type AllowedFinding struct {
	Rule   string   `json:"rule"`
	Paths  []string `json:"paths"`
	Reason string   `json:"reason"`
}

// Comments bounds the line comments.
type Comments struct {
	Max         int    `json:"max"`
	MinSeverity string `json:"min_severity"`
}

// Default is the policy that is compiled in (DESIGN section 4, "Defaults"): what
// holds where no file says otherwise.
func Default() Policy {
	return Policy{
		Version: 1,
		Mode:    permission.Observe,
		Checks:  Checks{Wait: 45 * time.Minute},
		Review: Review{
			Tiers: [4]TierReview{
				risk.Low:      {Reviewers: 1, Disagreement: Strictest},
				risk.Medium:   {Required: true, MinConfidence: 0.55, Reviewers: 1, Disagreement: Strictest},
				risk.High:     {Required: true, MinConfidence: 0.6, Reviewers: 1, Disagreement: Strictest},
				risk.Critical: {Required: true, MinConfidence: 0.7, Reviewers: 2, Disagreement: Strictest, HumanApproval: true},
			},
			Budget: Budget{TokensPerSession: 400_000, TokensPerDay: 20_000_000, ReserveForWriters: 30},
		},
		Comments: Comments{Max: 10, MinSeverity: "medium"},
	}
}

// Revision is the SHA-256 of the effective policy, in hex; every record carries
// it. Two policies with the same rules have the same revision: maps are written
// in the order of their keys.
func (p Policy) Revision() string {
	b, err := json.Marshal(p)
	if err != nil { // only plain values: cannot fail
		b = []byte(err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
