package risk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// FuzzKinds classifies any path, alone and as part of a patch, and holds what
// must be true of every one: it has a kind, its case and its look-alikes do not
// lower the tier of what raises it, and nothing panics.
func FuzzKinds(f *testing.F) {
	for _, p := range somePaths() {
		f.Add(p, "src/**")
	}
	f.Add("..//./\xff\x00", "[a-")
	f.Add("\u0430uth/\u212Aey", "{a,b}/**")
	f.Fuzz(func(t *testing.T, path, glob string) {
		kinds := Classify(path)
		if kinds == 0 {
			t.Fatalf("%q has no kind", path)
		}
		sensitive := KindsOf(CI, Auth, Secrets, Policy, Infra, DB)
		upper := strings.ToUpper(path)
		// Only lower-case ASCII: upper case separates words elsewhere.
		if isLowerASCII(path) && kinds.HasAny(sensitive) && !Classify(upper).HasAny(sensitive) {
			t.Fatalf("%q is %s, %q is %s", path, kinds, upper, Classify(upper))
		}
		a := Assess(patchOf(modified(path)), Context{}, []Rule{{ID: "mine", Paths: []string{glob}, Tier: High}})
		if a.Tier < Medium && !kinds.Within(KindsOf(Docs)) {
			t.Fatalf("%q is %s and only %s", path, kinds, a.Tier)
		}
		if len(a.Problems) > 0 && a.Tier < High {
			t.Fatalf("glob %q is broken and the tier is %s", glob, a.Tier)
		}
	})
}

func BenchmarkAssess(b *testing.B) {
	var files []diff.File
	paths := somePaths()
	for i := range 3000 {
		files = append(files, modified(fmt.Sprintf("services/team%d/%s", i%50, paths[i%len(paths)])))
	}
	var rules []Rule
	for i := range 20 {
		rules = append(rules, Rule{ID: fmt.Sprintf("rule-%d", i), Paths: []string{fmt.Sprintf("services/team%d/**", i), "**/*.{sql,tf}"}, Tier: High})
	}
	p := patchOf(files...)
	b.ReportAllocs()
	for b.Loop() {
		Assess(p, Context{}, rules)
	}
}

// BenchmarkAssessLocks is the worst case of the one rule that compares files
// with each other.
func BenchmarkAssessLocks(b *testing.B) {
	var files []diff.File
	for i := range 1500 {
		files = append(files, modified(fmt.Sprintf("a/%d/go.sum", i)), modified(fmt.Sprintf("b/%d/go.mod", i)))
	}
	p := patchOf(files...)
	for b.Loop() {
		Assess(p, Context{}, nil)
	}
}

func BenchmarkClassify(b *testing.B) {
	paths := somePaths()
	for b.Loop() {
		for _, p := range paths {
			Classify(p)
		}
	}
}
