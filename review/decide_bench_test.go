package review

import (
	"fmt"
	"testing"
)

func BenchmarkDecide(b *testing.B) {
	f := goodFacts()
	b.Run("bits", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if decide(f).decision != Approved {
				b.Fatal("good facts are not approved")
			}
		}
	})
	b.Run("approved", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Decide(f)
		}
	})
	f.CI, f.Coverage, f.Clearance = CIFailed, CoverageOmitted, ClearanceAsked
	b.Run("four rules", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Decide(f)
		}
	})
}

// BenchmarkGate is a whole evaluation of a large pull request: 300 files, 100
// checks, two reviewers.
func BenchmarkGate(b *testing.B) {
	e, rules := acceptEvidence(), DefaultRules()
	for i := range 100 {
		e.Checks.Results = append(e.Checks.Results, run(fmt.Sprint("job ", i), "success"))
	}
	for i := range 299 {
		e.Coverage = append(e.Coverage, FileCoverage{Path: fmt.Sprint("f", i), NeedsEyes: true, State: FileInspected})
	}
	e.Checks.Required = []RequiredCheck{{Name: "build"}, {Name: "job 99"}}
	b.ReportAllocs()
	for b.Loop() {
		if Gate(e, rules).Gate.Decision != Approved {
			b.Fatal("not approved")
		}
	}
}
