package diff

import (
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	godiff "github.com/sourcegraph/go-diff/diff"
)

// wholeDiff is a diff of that many files of about 33 kB each: 3,000 make 100 MB.
func wholeDiff(files int) string {
	var body strings.Builder
	for i := range 48 {
		start := itoa(i*20 + 1)
		body.WriteString("@@ -" + start + ",12 +" + start + ",12 @@ func name(ctx context.Context) error {\n")
		for range 5 {
			body.WriteString(" \tif err := doSomething(ctx, argument); err != nil {\n")
		}
		body.WriteString("-\t\treturn err\n-\t}\n+\t\treturn fmt.Errorf(\"do something: %w\", err)\n+\t}\n")
		for range 5 {
			body.WriteString(" \t// and a line of comment that is about as long as they are\n")
		}
	}
	var s strings.Builder
	for i := range files {
		name := "pkg/dir" + itoa(i%50) + "/file" + itoa(i) + ".go"
		s.WriteString("diff --git a/" + name + " b/" + name + "\nindex a92d664..9c2a709 100644\n--- a/" + name + "\n+++ b/" + name + "\n")
		s.WriteString(body.String())
	}
	return s.String()
}

// BenchmarkParse reads diffs of three sizes, beside the other two parsers.
func BenchmarkParse(b *testing.B) {
	parsers := []struct {
		name  string
		parse func(string) (files int, err error)
	}{
		{"ours", func(s string) (int, error) {
			p, err := Parse(s, PatchLimits{})
			return len(p.Files), err
		}},
		{"go-gitdiff", func(s string) (int, error) {
			files, _, err := gitdiff.Parse(strings.NewReader(s))
			return len(files), err
		}},
		{"go-diff", func(s string) (int, error) {
			files, err := godiff.NewMultiFileDiffReader(strings.NewReader(s)).ReadAllFiles()
			return len(files), err
		}},
	}
	for _, size := range []int{30, 300, 3000} {
		input := wholeDiff(size)
		for _, p := range parsers {
			b.Run(p.name+"/files="+itoa(size), func(b *testing.B) {
				b.SetBytes(int64(len(input)))
				b.ReportAllocs()
				for b.Loop() {
					if n, err := p.parse(input); err != nil || n != size {
						b.Fatalf("%d files, %v", n, err)
					}
				}
			})
		}
	}
}
