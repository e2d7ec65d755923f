package publish

import "testing"

// Whatever is rendered, a check that informs cannot be sent with a verdict.
func TestOnlyTheDecisionJudges(t *testing.T) {
	for _, name := range OwnNames() {
		for _, conclusion := range []string{"success", "failure", "action_required", "cancelled", "skipped", "timed_out", "neutral", ""} {
			err := allowedEnd(name, conclusion)
			if want := name == CheckName || name == AdvisoryName || conclusion == "neutral" || conclusion == ""; (err == nil) != want {
				t.Errorf("%s as %q: %v", name, conclusion, err)
			}
		}
		if err := guard(wanted{view: View{HeadSHA: "x", State: StateDecided}, conclusion: "success"}, Key{HeadSHA: "x", Name: name}); (err == nil) != Judges(name) {
			t.Errorf("%s as a success: %v", name, err)
		}
	}
}
