package review

import (
	"testing"

	"github.com/countersign/countersign/risk"
)

func TestConclude(t *testing.T) {
	for _, row := range []struct {
		name     string
		decision Decision
		tier     risk.Tier
		state    State
		observe  bool
		want     Conclusion
	}{
		{"approved", Approved, risk.Critical, StateActive, false, ConclusionSuccess},
		{"changes", ChangesRequested, risk.High, StateActive, false, ConclusionFailure},
		{"blocked", Blocked, risk.Low, StateActive, false, ConclusionActionRequired},
		{"needs human", NeedsHuman, risk.High, StateActive, false, ConclusionActionRequired},
		{"pending", Pending, risk.High, StateActive, false, ConclusionInProgress},
		{"case-158 not reviewed at low", NotReviewed, risk.Low, StateActive, false, ConclusionNeutral},
		{"case-100 neutral never stands for an incomplete review above low", NotReviewed, risk.Medium, StateActive, false, ConclusionActionRequired},
		{"draft", Approved, risk.High, StateDraft, false, ConclusionActionRequired},
		{"draft while pending", Pending, risk.High, StateDraft, false, ConclusionActionRequired},
		{"paused", Approved, risk.Low, StatePaused, false, ConclusionActionRequired},
		{"superseded", Approved, risk.Low, StateSuperseded, false, ConclusionCancelled},
		{"observe, blocked", Blocked, risk.High, StateActive, true, ConclusionNeutral},
		{"observe, approved", Approved, risk.High, StateActive, true, ConclusionNeutral},
		{"observe, pending", Pending, risk.High, StateActive, true, ConclusionInProgress},
		{"observe, draft", Pending, risk.High, StateDraft, true, ConclusionNeutral},
		{"observe, paused", ChangesRequested, risk.High, StatePaused, true, ConclusionNeutral},
		{"observe, superseded", Approved, risk.High, StateSuperseded, true, ConclusionCancelled},
		{"no decision", 0, risk.Low, StateActive, false, ConclusionActionRequired},
		{"no decision, observe", 0, risk.Low, StateActive, true, ConclusionActionRequired},
		{"a number beyond", Approved + 1, risk.Low, StateActive, false, ConclusionActionRequired},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Conclude(row.decision, row.tier, row.state, row.observe); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

// TestOnlySuccessAndNeutralSatisfy pins what may satisfy a required check.
func TestOnlySuccessAndNeutralSatisfy(t *testing.T) {
	for c := Conclusion(0); c <= ConclusionCancelled+1; c++ {
		want := c == ConclusionSuccess || c == ConclusionNeutral
		if c.Satisfies() != want {
			t.Errorf("%q satisfies: %t, want %t", c, c.Satisfies(), want)
		}
	}
	for tier := risk.Low; tier <= risk.Critical; tier++ {
		for d := Decision(0); d <= Approved+1; d++ {
			want := d == Approved || d == NotReviewed && tier == risk.Low
			if Satisfies(d, tier) != want {
				t.Errorf("%s at %s satisfies: %t, want %t", d, tier, Satisfies(d, tier), want)
			}
		}
	}
}
