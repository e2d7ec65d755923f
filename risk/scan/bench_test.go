package scan

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// BenchmarkPatch scans added lines like those of ordinary code. MB/s is the
// figure that Limits are about.
func BenchmarkPatch(b *testing.B) {
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf("\tif err := store.Save(ctx, item%04d, options[%d]); err != nil { // keep the token's key", i, i%7))
	}
	file := newFile("a.go", lines...)
	size := int64(len(strings.Join(lines, "\n")))
	var list []look
	for _, l := range looks() {
		if l.only == nil {
			list = append(list, l)
		}
	}
	for _, l := range list {
		b.Run(l.rules[0], func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				s := &scanner{ctx: context.Background(), lim: Limits{}.WithDefaults()}
				src, _ := newSource(file, nil, false)
				l.at(s, src, func(Finding) {})
			}
		})
	}
	for _, n := range []int{1, 4, 16} {
		files := make([]diff.File, n)
		for i := range files {
			files[i] = newFile(fmt.Sprintf("a%d.go", i), lines...)
		}
		b.Run(fmt.Sprintf("all/%dKB", int64(n)*size>>10), func(b *testing.B) {
			b.SetBytes(int64(n) * size)
			b.ReportAllocs()
			for b.Loop() {
				if r := Patch(context.Background(), patchOf(files...), nil, Limits{}); len(r.Gaps) > 0 {
					b.Fatal(r.Gaps)
				}
			}
		})
	}
}

func BenchmarkWorkflow(b *testing.B) {
	p, files := changed(wf, job("push", "", quiet), job("pull_request_target", "", strings.Repeat(headRef+injection+quiet, 10)))
	b.SetBytes(int64(len(files[wf])))
	for b.Loop() {
		Patch(context.Background(), p, files, Limits{})
	}
}

// BenchmarkDependencies reads a lock file of 2,000 entries, of which one moves to
// another version, and BenchmarkTests a file of 2,000 tests, of which one is gone.
func BenchmarkDependencies(b *testing.B) {
	for _, w := range lockWriters() {
		var list []locked
		for i := range 2000 {
			list = append(list, locked{fmt.Sprintf("pkg%04d", i), "1.0.0", w.home, fmt.Sprintf("%016x", i), []string{"a", "b"}})
		}
		before := w.write(list)
		list[1000].version, list[1000].sum = "1.0.1", "ff"
		p, files := changed(w.path, before, w.write(list))
		b.Run(w.path, func(b *testing.B) {
			b.SetBytes(int64(2 * len(before)))
			b.ReportAllocs()
			for b.Loop() {
				if r := Patch(context.Background(), p, files, Limits{}); r.Content[risk.RuleDependencyChange].State != risk.No {
					b.Fatal(r.Findings, r.Gaps)
				}
			}
		})
	}
}

func BenchmarkTests(b *testing.B) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("+func TestA%04d(t *testing.T) {", i), "+\tx()", "+}")
	}
	f := change("a_test.go", 1, lines...)
	b.SetBytes(int64(len(strings.Join(lines, "\n"))))
	for b.Loop() {
		s := &scanner{ctx: context.Background(), lim: Limits{}.WithDefaults()}
		src, _ := newSource(f, nil, false)
		s.testChanges(src, func(Finding) {})
	}
}
