package risk

import (
	"fmt"
	"slices"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

func TestRaises(t *testing.T) {
	big := modified("a.go")
	big.Added, big.Deleted = 700, 100
	almost := modified("a.go")
	almost.Added, almost.Deleted = 700, 99
	uncounted := modified("a.go")
	uncounted.Hunks, uncounted.Added, uncounted.Deleted = slices.Repeat(oneLine("x"), 400), 0, 0
	bigTest := modified("a_test.go")
	bigTest.Added = 5000
	many := func(n int) (files []diff.File) {
		for i := range n {
			files = append(files, modified(fmt.Sprintf("f%d.go", i)))
		}
		return files
	}
	newcomer := func(c *Context) { c.Author = Author{Write: No, FirstContribution: Yes, VerifiedAutomation: No} }
	author := func(w, first, auto Tri) func(*Context) {
		return func(c *Context) { c.Author = Author{Write: w, FirstContribution: first, VerifiedAutomation: auto} }
	}
	tests := []struct {
		name  string
		patch diff.Patch
		ctx   func(*Context)
		tier  Tier
		rules []string
	}{
		{"800 lines", patchOf(big), nil, High, []string{"large-change"}},
		{"800 lines that nobody counted", patchOf(uncounted), nil, High, []string{"large-change"}},
		{"799 lines", patchOf(almost), nil, Medium, nil},
		{"lines of tests", patchOf(bigTest), nil, Medium, nil},
		{"40 files", patchOf(many(40)...), nil, High, []string{"large-change"}},
		{"39 files", patchOf(many(39)...), nil, Medium, nil},
		{"test deleted, source changed", patchOf(deleted("a_test.go"), modified("a.go")), nil, High, []string{"tests-removed"}},
		{"test deleted, docs changed", patchOf(deleted("a_test.go"), modified("README.md")), nil, Medium, nil},
		{"test deleted alone", patchOf(deleted("a_test.go")), nil, Medium, nil},
		{"test renamed to a test", patchOf(renamed("a_test.go", "b_test.go"), modified("a.go")), nil, Medium, nil},
		{"test renamed to source", patchOf(renamed("a_test.go", "b.go"), modified("a.go")), nil, High, []string{"tests-removed"}},
		{"test renamed to where none runs", patchOf(renamed("a_test.go", "third_party/a_test.go"), modified("a.go")), nil, High, []string{"tests-removed"}},
		{"test renamed to source, nothing else", patchOf(renamed("a_test.go", "b.go")), nil, Medium, nil},
		{"newcomer", modifiedAll("a.go"), newcomer, High, []string{"newcomer"}},
		{"newcomer with docs", modifiedAll("README.md"), newcomer, Low, nil},
		{"newcomer, verified automation", modifiedAll("a.go"), author(No, Yes, Yes), Medium, nil},
		{"writer's first", modifiedAll("a.go"), author(Yes, Yes, No), Medium, nil},
		{"outsider, not new", modifiedAll("a.go"), author(No, No, No), Medium, nil},
		{"one step for all raises", patchOf(big, deleted("a_test.go")), newcomer, High, []string{"tests-removed", "large-change", "newcomer"}},
		{"capped", modifiedAll("auth/a.go", "Makefile"), newcomer, Critical, []string{"newcomer"}},
		{"exact revert", patchOf(big), func(c *Context) { c.ExactRevert = Yes }, Medium, []string{"exact-revert", "large-change"}},
		{"exact revert keeps floors", modifiedAll("auth/a.go"), func(c *Context) { c.ExactRevert = Yes }, High, []string{"exact-revert"}},
		{"revert not verified", patchOf(big), func(c *Context) { c.ExactRevert = Unknown }, High, []string{"large-change"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := known()
			if tt.ctx != nil {
				tt.ctx(&c)
			}
			a := Assess(tt.patch, c, nil)
			var got []string
			for _, s := range a.Signals {
				if s.Raise || s.Rule == "exact-revert" {
					got = append(got, s.Rule)
				}
			}
			if a.Tier != tt.tier || !slices.Equal(got, tt.rules) {
				t.Errorf("tier %s, raises %v, want %s, %v", a.Tier, got, tt.tier, tt.rules)
			}
			if len(a.Unknown) > 0 {
				t.Errorf("unknown %v", a.Unknown)
			}
			if a.Raised != (a.Tier > a.Floor) || a.Tier-a.Floor > 1 {
				t.Errorf("floor %s, tier %s, raised %t", a.Floor, a.Tier, a.Raised)
			}
		})
	}
}

func TestUnknownAuthorIsListed(t *testing.T) {
	for _, author := range []Author{{}, {Write: No}, {FirstContribution: Yes}} {
		c := known()
		c.Author = author
		if a := Assess(modifiedAll("a.go"), c, nil); !slices.Contains(a.Unknown, "newcomer") || a.Raised {
			t.Errorf("%+v: unknown %v, raised %t", author, a.Unknown, a.Raised)
		}
		if a := Assess(modifiedAll("README.md"), c, nil); len(a.Unknown) > 0 {
			t.Errorf("docs: unknown %v", a.Unknown)
		}
	}
}
