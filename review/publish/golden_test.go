package publish_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/countersign/countersign/review/publish"
)

// Each scenario's whole text stands in testdata, to be read as who wants to merge
// reads it.
func TestGoldenTexts(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			title, status, conclusion, summary := text(s)
			got := title + "\n" + status + " " + conclusion + "\n\n" + summary
			file := filepath.Join("testdata", s.name+".md")
			if os.Getenv("UPDATE") == "1" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // test data, read by everyone
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file) //nolint:gosec // our own test data
			if err != nil {
				t.Fatalf("%v; UPDATE=1 go test ./review/publish writes it", err)
			}
			if got != string(want) {
				t.Errorf("%s differs; read it, and if it is better: UPDATE=1 go test ./review/publish\n--- got\n%s\n--- want\n%s", file, got, want)
			}
		})
	}
}

// The titles of VOICE's table, word for word.
func TestTitlesAndConclusions(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			title, status, conclusion, _ := text(s)
			if title != s.title {
				t.Errorf("title = %q, want %q", title, s.title)
			}
			if status != s.status || conclusion != s.conclusion {
				t.Errorf("shown as %s %s, want %s %s", status, conclusion, s.status, s.conclusion)
			}
			if n := utf8.RuneCountInString(title); n > publish.TitleWidth {
				t.Errorf("title has %d characters", n)
			}
		})
	}
}

// Branch protection stores these names: a change would leave every protected
// branch waiting for a check that nobody reports.
func TestCase112_CheckNamesAreConstants(t *testing.T) {
	if publish.CheckName != "countersign" || publish.AdvisoryName != "countersign / advisory" {
		t.Errorf("check names are %q and %q", publish.CheckName, publish.AdvisoryName)
	}
	if publish.ReviewName != "countersign / review" || publish.CoverageName != "countersign / coverage" {
		t.Errorf("check names are %q and %q", publish.ReviewName, publish.CoverageName)
	}
}
