package risk

import (
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

// markerLines is how far from the top of a file a generator's marker stands:
// below a licence, above the code.
const markerLines = 40

// withMarker takes a generator's marker ("Code generated … DO NOT EDIT") into
// account. A marker that the file has and had makes it generated instead of
// source. One that a new file or a copy brings makes it generated as well as
// source: the patch would otherwise take itself out of the review. One that is
// added to an existing file, or taken away, says nothing.
func withMarker(s Kinds, f diff.File) Kinds {
	if !s.Has(Source) {
		return s
	}
	had, has := markers(f)
	switch {
	case has && (f.Op == diff.Added || f.Op == diff.Copied):
		return s.Add(Generated)
	case had && (has || f.Op == diff.Deleted):
		return s.Remove(Source).Add(Generated)
	}
	return s
}

// markers reports whether the hunks show a marker at the top of the file before
// and after the change. It ends at the first line that is no comment: further
// down, a marker is what a generator prints.
func markers(f diff.File) (had, has bool) {
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if max(l.Old, l.New) > markerLines || !isCommentOrBlank(l.Text) {
				return had, has
			}
			if isMarker(l.Text) {
				had = had || l.Op != diff.AddedLine
				has = has || l.Op != diff.DeletedLine
			}
		}
	}
	return had, has
}

// isCommentOrBlank goes by how comments begin in the languages that generators
// write.
func isCommentOrBlank(line string) bool {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(line, "#"); ok {
		return !startsWithLetter(rest) && !strings.HasPrefix(rest, "[") // #define, #[attribute]
	}
	return line == "" || hasAnyPrefix(line, "//", "/*", "*", "--", ";", "<!--", "<?", "%", `"""`)
}

func startsWithLetter(s string) bool {
	return s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// isMarker reports whether a comment is the one by which generators mark their
// output.
func isMarker(comment string) bool {
	lower := strings.ToLower(comment)
	return strings.Contains(comment, "@generated") || strings.Contains(lower, "generated") && strings.Contains(lower, "do not edit")
}
