package diff

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	godiff "github.com/sourcegraph/go-diff/diff"
)

// row is what the three parsers can be compared by.
type row struct {
	old, new       string
	hunks          int
	added, deleted int
}

func ourRows(s string) ([]row, error) {
	p, err := Parse(s, PatchLimits{})
	var rows []row
	for _, f := range p.Files {
		rows = append(rows, row{f.OldPath, f.NewPath, len(f.Hunks), f.Added, f.Deleted})
	}
	return rows, err
}

func gitdiffRows(s string) ([]row, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(s))
	var rows []row
	for _, f := range files {
		r := row{old: f.OldName, new: f.NewName, hunks: len(f.TextFragments)}
		for _, h := range f.TextFragments {
			r.added += int(h.LinesAdded)
			r.deleted += int(h.LinesDeleted)
		}
		rows = append(rows, r)
	}
	return rows, err
}

// godiffRows is the thinnest wrapper around go-diff that could do: its names
// without prefix and its lines counted.
func godiffRows(s string) ([]row, error) {
	files, err := godiff.ParseMultiFileDiffOptions([]byte(s), godiff.ParseOptions{KeepCR: true})
	var rows []row
	for _, f := range files {
		r := row{old: strings.TrimPrefix(f.OrigName, "a/"), new: strings.TrimPrefix(f.NewName, "b/"), hunks: len(f.Hunks)}
		if r.old == devNull {
			r.old = ""
		}
		if r.new == devNull {
			r.new = ""
		}
		for _, h := range f.Hunks {
			for line := range bytes.Lines(h.Body) {
				switch line[0] {
				case '+':
					r.added++
				case '-':
					r.deleted++
				}
			}
		}
		rows = append(rows, r)
	}
	return rows, err
}

// compareRows compares a parser with ours over the corpus. The cases where it
// differs are exactly those that are listed, each with the reason.
func compareRows(t *testing.T, parse func(string) ([]row, error), differs map[string]string) {
	t.Helper()
	for _, c := range corpus(t) {
		ours, ourErr := ourRows(c.diff)
		theirs, err := parse(c.diff)
		same := (err == nil) == (ourErr == nil) && (err != nil || slices.Equal(ours, theirs))
		why, listed := differs[c.name]
		switch {
		case same && listed:
			t.Errorf("%s: no difference any more (%s)", c.name, why)
		case !same && !listed:
			t.Errorf("%s: ours %s, theirs %s", c.name, show(ours, ourErr), show(theirs, err))
		case listed && why == "":
			t.Errorf("%s: a difference without a reason", c.name)
		}
	}
}

func show(rows []row, err error) string { return fmt.Sprintf("%+v (%v)", rows, err) }

// TestGoDiffDiffers is why Parse is no wrapper around sourcegraph/go-diff: it ends
// hunks where a line looks like a header instead of where their counts say, and
// counts nothing. A wrapper would have to find every boundary itself first, and
// take the names and modes out of the raw header lines; what is left for go-diff
// is copying hunk bodies, which it does without their counts.
func TestGoDiffDiffers(t *testing.T) {
	compareRows(t, godiffRows, map[string]string{
		"12d-trailing-space":         "cuts the space off the name: another file",
		"16u-submodule-log":          "drops it without an error",
		"20f-u0-fake-header":         "takes two lines of content for a new file, and the real file's second hunk with them",
		"22-combined":                "lists the file and says nothing of its missing hunks",
		"25c-noprefix-a-dir":         "its names as they stand, from which a wrapper has to guess",
		"30b-format-patch":           "reads files out of a mail's message",
		"30c-format-patch-plain":     "counts the mail's trailer as a deleted line",
		"38-truncated":               "takes half a hunk for a whole one",
		"38b-overlong":               "takes lines that the header does not count",
		"42-negative-counts":         "takes a hunk of nothing",
		"43-rename-mode-binary":      "the file vanishes",
		"43b-rename-mode-binary-mid": "a file without names",
		"44-binary-mode":             "a file without names",
		"44b-binary-mode-last":       "the file vanishes",
		"51-log-p-no-hunk-files":     "files without names",
	})
}

func TestGitdiffAgrees(t *testing.T) {
	compareRows(t, gitdiffRows, map[string]string{
		"16u-submodule-log":  "drops it without an error",
		"22-combined":        "drops it without an error",
		"25-noprefix":        "takes the folder for a prefix",
		"25c-noprefix-a-dir": "takes the folder for a prefix",
		"30b-format-patch":   "reads a file out of a mail's message",
		"37-plain-diff-u":    "leaves the prefix in the name",
		"38b-overlong":       "passes over the lines that the header does not count",
		"40-dev-null-spaces": "refuses carriage returns behind header lines",
	})
}
