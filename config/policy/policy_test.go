package policy_test

import (
	"testing"
	"time"

	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/risk"
)

// The defaults are part of the contract (DESIGN section 4): changing one is a
// decision that this table makes visible.
func TestDefault(t *testing.T) {
	p := policy.Default()
	if p.Mode != permission.Observe || p.Checks.Wait != 45*time.Minute || p.Checks.SkippedFails {
		t.Errorf("mode %s, wait %s, skipped fails %v", p.Mode, p.Checks.Wait, p.Checks.SkippedFails)
	}
	for tier, want := range map[risk.Tier]policy.TierReview{
		risk.Low:      {Reviewers: 1, Disagreement: policy.Strictest},
		risk.Medium:   {Required: true, MinConfidence: 0.55, Reviewers: 1, Disagreement: policy.Strictest},
		risk.High:     {Required: true, MinConfidence: 0.6, Reviewers: 1, Disagreement: policy.Strictest},
		risk.Critical: {Required: true, MinConfidence: 0.7, Reviewers: 2, Disagreement: policy.Strictest, HumanApproval: true},
	} {
		if got := p.Review.Tiers[tier]; got != want {
			t.Errorf("%s: %+v, want %+v", tier, got, want)
		}
	}
	if p.Comments.Max != 10 || p.Comments.MinSeverity != "medium" {
		t.Errorf("comments %+v", p.Comments)
	}
}

func TestRevision(t *testing.T) {
	a, b := policy.Default(), policy.Default()
	if a.Revision() != b.Revision() || len(a.Revision()) != 64 {
		t.Fatalf("two defaults: %s and %s", a.Revision(), b.Revision())
	}
	b.Mode = permission.Auto
	if a.Revision() == b.Revision() {
		t.Error("another mode has the same revision")
	}
	b = policy.Default()
	b.Actions = map[permission.Action]permission.Effect{permission.Label: permission.Deny, permission.Reply: permission.Ask}
	first := b.Revision()
	for range 20 {
		b.Actions = map[permission.Action]permission.Effect{permission.Reply: permission.Ask, permission.Label: permission.Deny}
		if b.Revision() != first {
			t.Fatal("the revision depends on map order")
		}
	}
}
