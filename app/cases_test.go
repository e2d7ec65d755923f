package app_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// cases are the numbers of failures reported in the field, by area, that must each be a
// test somewhere in the project: line comments, size limits, rate limits and tokens,
// webhooks and lifecycle. Numbers have holes.
func cases() []int {
	return []int{
		1, 2, 4, 5, 7, 8, 10, 12, 13, 15, 16, 17, 19, 20, 21, 23,
		24, 25, 26, 29, 30, 31, 32, 34, 37, 38, 39,
		41, 44, 45, 46, 47, 49,
		51, 53, 54, 55, 56, 59, 61, 63, 64, 66, 67, 68, 69, 71, 72, 73, 75, 76,
	}
}

// named finds the numbers in a name, a row or a comment: TestCase051_053_X, "case-016 x",
// (cases 55, 72 and 76), CASES 13.
var (
	named  = regexp.MustCompile(`(?i)\bcases?[ -](\d{1,3}(?:(?:, | and |,? case-?)\d{1,3})*)|\bTestCase(\d{3}(?:_\d{3})*)_`)
	number = regexp.MustCompile(`\d+`)
)

// numbersIn reads comments, strings and names alone: `case 7:` of a switch is none.
func numbersIn(source []byte) (map[int]bool, error) {
	fset := token.NewFileSet()
	var sc scanner.Scanner
	var bad error
	sc.Init(fset.AddFile("", fset.Base(), len(source)), source, func(at token.Position, msg string) { bad = fmt.Errorf("line %d: %s", at.Line, msg) }, scanner.ScanComments)
	out := make(map[int]bool)
	for {
		_, tok, text := sc.Scan()
		switch tok {
		case token.EOF:
			return out, bad
		case token.COMMENT, token.STRING, token.IDENT:
			for _, m := range named.FindAllStringSubmatch(text, -1) {
				for _, digits := range number.FindAllString(m[1]+" "+m[2], -1) {
					if n, err := strconv.Atoi(digits); err == nil {
						out[n] = true
					}
				}
			}
		}
	}
}

// Each case is named by a test. What a test that bears a number holds is for its reader
// to judge; that none is lost is for this one.
func TestEveryCaseIsATest(t *testing.T) {
	found := make(map[int]bool)
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path == filepath.Join("..", "app", "githubsim") {
			return filepath.SkipDir // what GitHub does is no test of what we do
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || path == filepath.Join("..", "app", "cases_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		numbers, err := numbersIn(text)
		maps.Copy(found, numbers)
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files with tests were read: %v", files, err)
	}
	for _, n := range cases() {
		if !found[n] {
			t.Errorf("no test names case %d: write one, and call it TestCase%03d_…, or its row case-%03d", n, n, n)
		}
	}
}
