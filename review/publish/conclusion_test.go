package publish_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/risk"
)

// Over every state, decision, tier and mode: what satisfies a required check is a
// decision that may, or mode observe; a run is completed exactly when it has a
// conclusion. Neutral never stands for an unfinished review above low (case 100).
func TestCase100_WhatSatisfies(t *testing.T) {
	n := 0
	for state := publish.StateInProgress; state <= publish.StateFailed; state++ {
		for d := review.Decision(0); d <= review.Approved; d++ {
			for tier := risk.Low; tier <= risk.Critical; tier++ {
				for _, observe := range []bool{false, true} {
					for _, failure := range []*publish.Failure{nil, {Retrying: true}, {}} {
						v := publish.View{State: state, Observe: observe, Failure: failure}
						v.Assessment.Tier = tier
						v.Outcome.Facts.Tier, v.Outcome.Gate.Decision = tier, d
						status, conclusion := publish.Conclusion(v)
						n++
						if (status == "completed") != (conclusion != "") || (status != "completed" && status != "in_progress") {
							t.Errorf("%s %s: %q %q", state, d, status, conclusion)
						}
						satisfies := conclusion == "success" || conclusion == "neutral" || conclusion == "skipped"
						may := state == publish.StateDecided && (d == review.Approved || d == review.NotReviewed && tier == risk.Low)
						quiet := observe && (state == publish.StateDraft || state == publish.StatePaused || state == publish.StateDecided && d != review.Pending && d != 0)
						if satisfies != (may || quiet) {
							t.Errorf("%s %s at %s, observe %v: %q satisfies", state, d, tier, observe, conclusion)
						}
						if conclusion == "success" && !(may && d == review.Approved && !observe) {
							t.Errorf("%s %s at %s, observe %v: success", state, d, tier, observe)
						}
					}
				}
			}
		}
	}
	if n != 7*7*4*2*3 {
		t.Errorf("%d points visited", n)
	}
}

// The join is no better than any of its parts, in whatever order they come.
func TestJoinIsTheWorst(t *testing.T) {
	var all []publish.View
	for i, s := range scenarios() {
		v := s.views[0]
		v.Pull.Number, v.HeadSHA = i+1, headA
		all = append(all, v)
	}
	satisfies := func(v publish.View) bool {
		_, c := publish.Conclusion(v)
		return c == "success" || c == "neutral"
	}
	for _, a := range all {
		for _, b := range all {
			j := publish.Join([]publish.View{a, b})
			if !reflect.DeepEqual(j.Worst, publish.Join([]publish.View{b, a}).Worst) {
				t.Fatalf("%q and %q: the order matters", publish.Title(a), publish.Title(b))
			}
			if a.Live() && b.Live() && satisfies(j.Worst) && !(satisfies(a) && satisfies(b)) {
				t.Errorf("%q and %q: the check passes with %q", publish.Title(a), publish.Title(b), j.Title())
			}
			if a.Live() != b.Live() && !j.Worst.Live() {
				t.Errorf("%q and %q: a given-up head speaks for a live one", publish.Title(a), publish.Title(b))
			}
		}
	}
	if status, conclusion := publish.Join(nil).Conclusion(); status != "completed" || conclusion != "action_required" {
		t.Errorf("nothing joined shows %s %s", status, conclusion)
	}
}

// A view is stored and shown later: it must say the same then.
func TestViewsSurviveStorage(t *testing.T) {
	for _, s := range scenarios() {
		for _, v := range s.views {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var back publish.View
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			if publish.Title(back) != publish.Title(v) || publish.Summary(back) != publish.Summary(v) {
				t.Errorf("%s reads differently after storage", s.name)
			}
		}
	}
	var s publish.State
	if err := s.UnmarshalText([]byte("approved")); err == nil {
		t.Error("a state that does not exist was read")
	}
	if _, err := publish.State(0).MarshalText(); err == nil {
		t.Error("no state was written")
	}
}
