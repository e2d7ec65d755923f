package diff

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// corpusFile is what git itself says of one file, from --raw and --numstat.
type corpusFile struct {
	Op       string
	Old, New *string
	OldMode  *string `json:"old_mode"`
	NewMode  *string `json:"new_mode"`
	Binary   bool
	Added    int
	Deleted  int
}

type corpusCase struct {
	name, diff string
	Files      []corpusFile
	Note       string
}

// corpus returns the cases of testdata/diffs.
func corpus(t testing.TB) []corpusCase {
	t.Helper()
	names, err := filepath.Glob("../../testdata/diffs/*.diff")
	if err != nil || len(names) < 79 {
		t.Fatalf("%d cases in the corpus: %v", len(names), err)
	}
	var cases []corpusCase
	for _, name := range names {
		base := strings.TrimSuffix(name, ".diff")
		c := corpusCase{name: filepath.Base(base), diff: readFile(t, name)}
		// Names that are not UTF-8 stand there as Python's lone surrogates.
		facts := loneSurrogate.ReplaceAllString(readFile(t, base+".json"), `\uf7$1`)
		if err := json.Unmarshal([]byte(facts), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

var loneSurrogate = regexp.MustCompile(`\\udc([89a-f][0-9a-f])`)

// corpusName undoes what corpus did to bytes beyond UTF-8.
func corpusName(s *string) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	for _, r := range *s {
		if r >= 0xf780 && r <= 0xf7ff {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

var corpusOps = map[string]Op{"A": Added, "M": Modified, "D": Deleted, "R": Renamed, "C": Copied}

// refused are the cases where an error is as good as the facts, or better: what
// is said, of which kind, and how many files are listed and missing.
var refused = map[string]struct {
	kind            error
	says            string
	listed, missing int
}{
	"16u-submodule-log":  {ErrUnsupported, "line 1: not supported: \"Submodul…", 0, 1},
	"22-combined":        {ErrUnsupported, "line 1: \"m\": not supported: a combined diff", 1, 0},
	"38-truncated":       {ErrMalformed, "line 8: \"x\": malformed diff: the hunk ends after 2 of 5 old and 2 of 5 new", 1, 0},
	"38b-overlong":       {ErrMalformed, "line 9: \"x\": malformed diff: more lines than the 2 old and 2 new", 1, 0},
	"41-huge-counts":     {ErrMalformed, "line 5: \"x\": malformed diff: hunk header", 1, 0},
	"42-negative-counts": {ErrMalformed, "line 5: \"x\": malformed diff: hunk header \"@@ -0,0 …\" counts no lines", 1, 0},
}

func TestParseCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			patch, err := Parse(c.diff, PatchLimits{})
			if r, ok := refused[c.name]; ok {
				if !errors.Is(err, r.kind) || !strings.Contains(err.Error(), r.says) || !strings.Contains(err.Error(), "right is") && !strings.Contains(err.Error(), "header counts too") {
					t.Errorf("error %v, want %q", err, r.says)
				}
				if len(patch.Files) != r.listed || patch.Missing() != r.missing {
					t.Errorf("%d listed, %d missing, want %d and %d", len(patch.Files), patch.Missing(), r.listed, r.missing)
				}
				for _, f := range patch.Files {
					if !f.Truncated || f.Why == "" || !f.Unseen() {
						t.Errorf("%q does not say that it is incomplete", f.Path())
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(patch.Files) != len(c.Files) || patch.Missing() != 0 {
				t.Fatalf("%d files, %d missing, git says %d", len(patch.Files), patch.Missing(), len(c.Files))
			}
			for i, f := range patch.Files {
				sameAsGit(t, f, c.Files[i])
			}
		})
	}
}

func sameAsGit(t *testing.T, f File, git corpusFile) {
	t.Helper()
	if f.Op != corpusOps[git.Op] || f.OldPath != corpusName(git.Old) || f.NewPath != corpusName(git.New) {
		t.Errorf("%v %q %q, git says %s %q %q", f.Op, f.OldPath, f.NewPath, git.Op, corpusName(git.Old), corpusName(git.New))
	}
	if f.Binary != git.Binary || f.Added != git.Added || f.Deleted != git.Deleted {
		t.Errorf("%q: binary %t +%d -%d, git says %t +%d -%d", f.Path(), f.Binary, f.Added, f.Deleted, git.Binary, git.Added, git.Deleted)
	}
	sameMode(t, f, f.OldMode, git.OldMode)
	sameMode(t, f, f.NewMode, git.NewMode)
	if f.Unseen() || f.Truncated {
		t.Errorf("%q: not all seen: %s", f.Path(), f.Why)
	}
	added, deleted := counts(f.Hunks)
	if added != f.Added || deleted != f.Deleted {
		t.Errorf("%q: counts +%d -%d, hunks have +%d -%d", f.Path(), f.Added, f.Deleted, added, deleted)
	}
}

// sameMode takes an unknown mode only where the diff does not tell it.
func sameMode(t *testing.T, f File, got Mode, git *string) {
	t.Helper()
	pure := (f.Op == Renamed || f.Op == Copied) && f.SameContent
	switch {
	case git == nil || got == ModeUnknown && pure: // diff -u; a pure rename or copy
	case *git == "000000" && got == ModeNone, string(got) == *git:
	default:
		t.Errorf("%q: mode %q, git says %q", f.Path(), got, *git)
	}
}
