package collect

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

const (
	shaBase = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	shaHead = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	shaFork = "cccccccccccccccccccccccccccccccccccccccc"
)

// fakeFiles answers from lists; each call takes the next one, the last stays.
type fakeFiles struct {
	compare    []forge.Comparison
	compareErr error
	lists      [][]forge.ComparedFile
	compares   int
	listed     int
}

func (f *fakeFiles) Compare(context.Context, forge.Repo, string, string) (forge.Comparison, error) {
	f.compares++
	if f.compareErr != nil {
		return forge.Comparison{}, f.compareErr
	}
	return f.compare[min(f.compares, len(f.compare))-1], nil
}

func (f *fakeFiles) PullFiles(context.Context, forge.PullRef) ([]forge.ComparedFile, error) {
	f.listed++
	return f.lists[min(f.listed, len(f.lists))-1], nil
}

func rows(n int) []forge.ComparedFile {
	var out []forge.ComparedFile
	for i := range n {
		out = append(out, forge.ComparedFile{Status: "modified", Path: fmt.Sprintf("f%d.go", i), Blob: shaHead, Additions: 1, Changes: 1, HasPatch: true, Patch: "@@ -1 +1,2 @@\n a\n+b"})
	}
	return out
}

func whole(files []forge.ComparedFile) []forge.Comparison {
	return []forge.Comparison{{MergeBase: shaFork, Files: files, Complete: true}}
}

func pullOf(changed int) forge.Pull {
	return forge.Pull{Ref: forge.PullRef{Repo: forge.Repo{Owner: "acme", Name: "api"}, Number: 7}, BaseSHA: shaBase, HeadSHA: shaHead, ChangedFiles: changed}
}

func TestPatchSources(t *testing.T) {
	part := []forge.Comparison{{MergeBase: shaFork, Files: rows(300)}}
	for name, tc := range map[string]struct {
		r                    *fakeFiles
		changed              int
		files, missing, gaps int
		compares, lists      int
	}{
		"one comparison is enough":                          {&fakeFiles{compare: whole(rows(2))}, 2, 2, 0, 0, 1, 0},
		"case-024 301 files come from the list":             {&fakeFiles{compare: part, lists: [][]forge.ComparedFile{rows(301)}}, 301, 301, 0, 0, 1, 1},
		"case-025 a comparison that GitHub finds too large": {&fakeFiles{compareErr: &forge.Error{Kind: forge.KindTooLarge, Op: "compare"}, lists: [][]forge.ComparedFile{rows(3)}}, 3, 3, 0, 1, 1, 1},
		"case-026 the list ends before the patch":           {&fakeFiles{compare: part, lists: [][]forge.ComparedFile{rows(3000)}}, 3200, 3000, 200, 1, 1, 1},
		"case-026 a lagging list is read again":             {&fakeFiles{compare: append(whole(rows(9)), whole(rows(10))...)}, 10, 10, 0, 0, 2, 0},
		"case-026 and once only":                            {&fakeFiles{compare: whole(rows(9))}, 10, 9, 1, 1, 2, 0},
		"a count that lags proves nothing":                  {&fakeFiles{compare: whole(rows(3))}, 2, 3, 0, 0, 2, 0},
		"no files at all":                                   {&fakeFiles{compare: whole([]forge.ComparedFile{})}, 0, 0, 0, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, gaps, err := Patch(t.Context(), tc.r, pullOf(tc.changed))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Files) != tc.files || p.Missing() != tc.missing || len(gaps) != tc.gaps || tc.r.compares != tc.compares || tc.r.listed != tc.lists {
				t.Errorf("%d files, %d missing, gaps %v, %d compares, %d lists", len(p.Files), p.Missing(), gaps, tc.r.compares, tc.r.listed)
			}
			if p.Base != shaBase || p.Head != shaHead || p.Repo != "acme/api" {
				t.Errorf("patch of %+v", p)
			}
			if tc.missing > 0 && !strings.Contains(gaps[0].Detail, fmt.Sprintf("%d of %d", tc.files, tc.changed)) {
				t.Errorf("gap %q names no numbers", gaps[0].Detail)
			}
		})
	}
	if _, _, err := Patch(t.Context(), &fakeFiles{compareErr: &forge.Error{Kind: forge.KindUnavailable, Op: "compare"}}, pullOf(1)); !forge.IsKind(err, forge.KindUnavailable) {
		t.Errorf("an error is an error: %v", err)
	}
}

func TestFile(t *testing.T) {
	const patch = "@@ -1,2 +1,2 @@\n a\n-b\n+c"
	for name, tc := range map[string]struct {
		row  forge.ComparedFile
		want string // op old new binary truncated hunks added deleted
	}{
		"added":                        {forge.ComparedFile{Status: "added", Path: "n", Blob: shaHead, Additions: 1, Changes: 1, HasPatch: true, Patch: "@@ -0,0 +1 @@\n+x"}, "added  n false false 1 1 0"},
		"removed":                      {forge.ComparedFile{Status: "removed", Path: "o", Blob: shaHead, Deletions: 1, Changes: 1, HasPatch: true, Patch: "@@ -1 +0,0 @@\n-x"}, "deleted o  false false 1 0 1"},
		"modified":                     {forge.ComparedFile{Status: "modified", Path: "m", Additions: 1, Deletions: 1, Changes: 2, HasPatch: true, Patch: patch}, "modified m m false false 1 1 1"},
		"renamed":                      {forge.ComparedFile{Status: "renamed", Path: "n", PreviousPath: "o", Additions: 1, Deletions: 1, Changes: 2, HasPatch: true, Patch: patch}, "renamed o n false false 1 1 1"},
		"purely renamed":               {forge.ComparedFile{Status: "renamed", Path: "n", PreviousPath: "o"}, "renamed o n false false 0 0 0"},
		"copied":                       {forge.ComparedFile{Status: "copied", Path: "n", PreviousPath: "o"}, "copied o n false false 0 0 0"},
		"case-029 binary":              {forge.ComparedFile{Status: "added", Path: "n.png", Blob: shaHead}, "added  n.png true false 0 0 0"},
		"case-029 large":               {forge.ComparedFile{Status: "modified", Path: "m", Additions: 429, Deletions: 460, Changes: 889}, "modified m m false true 0 429 460"},
		"large, counted in one number": {forge.ComparedFile{Status: "modified", Path: "m", Changes: 889}, "modified m m false true 0 889 0"},
		"empty":                        {forge.ComparedFile{Status: "added", Path: "n", Blob: emptyBlob}, "added  n false false 0 0 0"},
		"binary or only its mode":      {forge.ComparedFile{Status: "modified", Path: "m"}, "modified m m true false 0 0 0"},
		"a patch cut short":            {forge.ComparedFile{Status: "modified", Path: "m", Additions: 2, Deletions: 1, Changes: 3, HasPatch: true, Patch: patch}, "modified m m false true 1 2 1"},
		"a patch that is none":         {forge.ComparedFile{Status: "modified", Path: "m", Additions: 1, Changes: 1, HasPatch: true, Patch: "hello"}, "modified m m false true 0 1 0"},
		"an empty patch of changes":    {forge.ComparedFile{Status: "modified", Path: "m", Additions: 1, Changes: 1, HasPatch: true}, "modified m m false true 0 1 0"},
		"a status nobody knows":        {forge.ComparedFile{Status: "moved", Path: "m", HasPatch: true}, "modified m m false true 0 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			f := file(tc.row)
			got := fmt.Sprintf("%s %s %s %v %v %d %d %d", f.Op, f.OldPath, f.NewPath, f.Binary, f.Truncated, len(f.Hunks), f.Added, f.Deleted)
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if f.Truncated != (f.Why != "") {
				t.Errorf("truncated %v because %q", f.Truncated, f.Why)
			}
		})
	}
}

func TestCase151_AgainstTheMergeBase(t *testing.T) {
	p, _, err := Patch(t.Context(), &fakeFiles{compare: whole(rows(1))}, pullOf(1))
	if err != nil || p.MergeBase != shaFork || p.MergeBase == p.Base {
		t.Errorf("merge base %s, %v", p.MergeBase, err)
	}
}

func TestDirs(t *testing.T) {
	p := diff.Patch{MergeBase: shaFork, Files: []diff.File{
		{Op: diff.Renamed, OldPath: "old/a.go", NewPath: "new/deep/a.go"},
		{Op: diff.Added, NewPath: "README.md"}, {Op: diff.Deleted, OldPath: "old/b.go"},
	}}
	if got := fmt.Sprintf("%q", Dirs(p)); got != `["" "new/deep" "old"]` {
		t.Errorf("got %s", got)
	}
	p.MergeBase = ""
	if got := Dirs(p); got != nil {
		t.Errorf("without merge base: %q", got)
	}
}

func entry(mode, oid string) forge.TreeEntry { return forge.TreeEntry{Mode: mode, OID: oid} }

func TestModes(t *testing.T) {
	snap := forge.Snapshot{
		Base: map[string]forge.TreeEntry{"old.ts": entry("100644", shaBase), "run": entry("100644", shaBase), "img": entry("100644", shaBase), "gone": entry("100644", shaBase),
			"link": entry("100644", shaBase), "sub": entry("160000", shaBase), "m": entry("100644", shaBase), "dir": entry("040000", shaBase)},
		Head: map[string]forge.TreeEntry{"new.ts": entry("100644", shaBase), "run": entry("100755", shaBase), "img": entry("100644", shaHead), "fresh": entry("100755", shaHead),
			"link": entry("120000", shaHead), "sub": entry("160000", shaHead), "m": entry("100644", shaHead), "dir": entry("100644", shaHead)},
	}
	for name, tc := range map[string]struct {
		f    diff.File
		want string // op oldMode newMode oldBlob newBlob binary truncated
	}{
		"case-150 renamed: the base side under its old name": {diff.File{Op: diff.Renamed, OldPath: "old.ts", NewPath: "new.ts", NewBlob: shaBase}, "renamed 100644 100644 a a false false"},
		"mode only":        {diff.File{Op: diff.Modified, OldPath: "run", NewPath: "run", NewBlob: shaBase, Binary: true}, "modified 100644 100755 a a false false"},
		"binary":           {diff.File{Op: diff.Modified, OldPath: "img", NewPath: "img", NewBlob: shaHead, Binary: true}, "modified 100644 100644 a b true false"},
		"added":            {diff.File{Op: diff.Added, NewPath: "fresh", NewBlob: shaHead}, "added  100755  b false false"},
		"deleted":          {diff.File{Op: diff.Deleted, OldPath: "gone", OldBlob: shaBase}, "deleted 100644  a  false false"},
		"a symlink now":    {diff.File{Op: diff.Modified, OldPath: "link", NewPath: "link", NewBlob: shaHead, Hunks: []diff.Hunk{{}}}, "type_changed 100644 120000 a b false false"},
		"submodule":        {diff.File{Op: diff.Modified, OldPath: "sub", NewPath: "sub", NewBlob: shaHead, Hunks: []diff.Hunk{{}}}, "modified 160000 160000 a b false false"},
		"not in the tree":  {diff.File{Op: diff.Added, NewPath: "elsewhere", NewBlob: shaHead}, "added  unknown  b false false"},
		"a folder before":  {diff.File{Op: diff.Modified, OldPath: "dir", NewPath: "dir", NewBlob: shaHead, Hunks: []diff.Hunk{{}}}, "modified unknown 100644  b false false"},
		"of another head":  {diff.File{Op: diff.Modified, OldPath: "m", NewPath: "m", NewBlob: shaFork, Hunks: []diff.Hunk{{}}}, "modified 100644 100644 a c false true"},
		"changed, no text": {diff.File{Op: diff.Renamed, OldPath: "img", NewPath: "m"}, "renamed 100644 100644 a b true false"},
	} {
		t.Run(name, func(t *testing.T) {
			p := diff.Patch{Files: []diff.File{tc.f}}
			gaps := Modes(&p, snap)
			f := p.Files[0]
			first := func(s string) string { return s[:min(1, len(s))] }
			got := fmt.Sprintf("%s %s %s %s %s %v %v", f.Op, f.OldMode, f.NewMode, first(f.OldBlob), first(f.NewBlob), f.Binary, f.Truncated)
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if f.ModesKnown() != (len(gaps) == 0) {
				t.Errorf("gaps %v", gaps)
			}
		})
	}
	p := diff.Patch{Files: []diff.File{{Op: diff.Modified, OldPath: "m", NewPath: "m", Hunks: []diff.Hunk{{}}}}}
	if gaps := Modes(&p, forge.Snapshot{}); len(gaps) != 1 || p.Files[0].OldMode != diff.ModeUnknown || p.Files[0].NewMode != diff.ModeUnknown {
		t.Errorf("nothing was read: %v, %+v", gaps, p.Files[0])
	}
}

func TestTruncated(t *testing.T) {
	p := diff.Patch{Files: []diff.File{{Op: diff.Modified, NewPath: "a", OldPath: "a"}, {Op: diff.Deleted, OldPath: "b", Truncated: true, Why: "w"}}}
	if got := Truncated(p); len(got) != 1 || got[0].Path != "b" || got[0].Why != "w" {
		t.Errorf("got %v", got)
	}
}
