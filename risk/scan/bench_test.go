package scan

import (
	"context"
	"fmt"
	"strings"
	"testing"

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
