package store

import (
	"testing"

	"github.com/countersign/countersign/review/publish"
)

// A pull request speaks under all names of its head but one of the two that judge, and
// under none of another head.
func TestNamesBesideEachOther(t *testing.T) {
	s := openTrail(t)
	say := func(pull int, head, name string) publish.Claimed {
		return claim(t, s, "one", pubClock(), name, pubView(pull, head, publish.StateDecided))
	}
	say(7, pubHeadA, publish.CheckName)
	say(7, pubHeadA, publish.ReviewName)
	say(7, pubHeadA, publish.CoverageName)
	for _, name := range []string{publish.CheckName, publish.ReviewName, publish.CoverageName} {
		if got := pulls(say(9, pubHeadA, name).Views); got != "[9:decided 7:decided]" {
			t.Errorf("%s speaks for %s", name, got)
		}
	}
	// The base of the one is not gated any more: its word leaves that name alone.
	say(7, pubHeadA, publish.AdvisoryName)
	if got := pulls(say(9, pubHeadA, publish.CheckName).Views); got != "[9:decided]" {
		t.Errorf("the gated name speaks for %s", got)
	}
	if got := len(say(9, pubHeadA, publish.ReviewName).Views); got != 2 {
		t.Errorf("the review speaks for %d", got)
	}
	// A new head takes it out of all of them.
	say(7, pubHeadB, publish.CheckName)
	for _, name := range []string{publish.ReviewName, publish.CoverageName} {
		if got := pulls(say(9, pubHeadA, name).Views); got != "[9:decided]" {
			t.Errorf("%s speaks for %s", name, got)
		}
	}
}
