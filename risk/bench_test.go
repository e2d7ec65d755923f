package risk

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// benchPatch is a diff of that many files of about 33 kB each, of all kinds:
// 3,000 make 100 MB.
func benchPatch(files int) string {
	var body strings.Builder
	for i := range 48 {
		fmt.Fprintf(&body, "@@ -%d,12 +%[1]d,12 @@ func name(ctx context.Context) error {\n", i*20+1)
		body.WriteString(strings.Repeat(" \tif err := doSomething(ctx, argument); err != nil {\n", 5))
		body.WriteString("-\t\treturn err\n-\t}\n+\t\treturn fmt.Errorf(\"do something: %w\", err)\n+\t}\n")
		body.WriteString(strings.Repeat(" \t// and a line of comment that is about as long as they are\n", 5))
	}
	paths := somePaths()
	var s strings.Builder
	for i := range files {
		name := fmt.Sprintf("dir%d/Service%d/%s", i%50, i, paths[i%len(paths)])
		fmt.Fprintf(&s, "diff --git a/%[1]s b/%[1]s\nindex a92d664..9c2a709 100644\n--- a/%[1]s\n+++ b/%[1]s\n%s", name, &body)
	}
	return s.String()
}

// benchRules is a policy of the size that large organisations have.
func benchRules() []Rule {
	var rules []Rule
	for i := range 50 {
		glob := fmt.Sprintf("**/Service%d*/{auth,db,%d}/**/*.{go,sql,tf}", i, i)
		rules = append(rules, Rule{ID: fmt.Sprintf("rule-%d", i), Paths: []string{glob}, Tier: High})
	}
	return rules
}

// BenchmarkAssess reads and judges patches of three sizes. Both are to grow with
// the patch and no faster; heap/in is what a patch keeps of memory, its text and
// what was read of it, relative to the text.
func BenchmarkAssess(b *testing.B) {
	for _, size := range []int{30, 300, 3000} {
		input := benchPatch(size)
		read := func(b *testing.B) diff.Patch {
			p, err := diff.Parse(input, diff.PatchLimits{})
			if err != nil || len(p.Files) != size {
				b.Fatalf("%d files, %v", len(p.Files), err)
			}
			return p
		}
		judge := func(b *testing.B, p diff.Patch) {
			if a := Assess(p, known(), benchRules()); len(a.Files) != size || a.Tier != Critical {
				b.Fatalf("%d files, %s", len(a.Files), a.Tier)
			}
		}
		measure := func(name string, once func(*testing.B)) {
			b.Run(fmt.Sprintf("%s/files=%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(input)))
				b.ReportAllocs()
				for b.Loop() {
					once(b)
				}
			})
		}
		measure("read", func(b *testing.B) { read(b) })
		p := read(b)
		measure("assess", func(b *testing.B) { judge(b, p) })
		p = diff.Patch{}
		measure("both", func(b *testing.B) { judge(b, read(b)) })
		b.Run(fmt.Sprintf("heap/files=%d", size), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				p := read(b)
				b.ReportMetric(float64(heap()-before+uint64(len(input)))/float64(len(input)), "heap/in")
				runtime.KeepAlive(p)
			}
		})
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkAssessLocks is the worst case of the one rule that holds files against
// each other: long paths that begin the same.
func BenchmarkAssessLocks(b *testing.B) {
	var files []diff.File
	deep := strings.Repeat("a/", 400)
	for i := range 1500 {
		files = append(files, modified(fmt.Sprintf("%s%d/go.sum", deep, i)), modified(fmt.Sprintf("%sx%d/go.mod", deep, i)))
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
			classify(newPlace(p))
		}
	}
}
