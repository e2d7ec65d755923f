package collect_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

func modified(path string) diff.File {
	return diff.File{Op: diff.Modified, OldPath: path, NewPath: path, OldMode: diff.ModeRegular, NewMode: diff.ModeRegular, OldBlob: "a", NewBlob: "b",
		Hunks: []diff.Hunk{{OldStart: 1, NewStart: 1, NewLines: 1, Lines: []diff.Line{{Op: diff.AddedLine, New: 1, Text: "x"}}}}}
}

// Only files whose hunks do not tell enough are read, workflows first.
func TestContentsReadsWhatHunksDoNotTell(t *testing.T) {
	added, gone, link, binary := modified(".github/workflows/new.yml"), modified("gone.md"), modified("link.md"), modified("b.md")
	added.Op, added.OldPath, added.OldMode, added.OldBlob = diff.Added, "", "", ""
	gone.Op, gone.NewPath = diff.Deleted, ""
	link.NewMode = diff.ModeSymlink
	binary.Binary = true
	unseen := added
	unseen.NewPath, unseen.Hunks, unseen.Truncated = "big.sql", nil, true
	p := diff.Patch{Files: []diff.File{
		modified("README.md"), modified("main.go"), modified(".GitHub/workflows/ci.yml"), modified("tools/Action.yaml"),
		modified("web/package.json"), added, gone, link, binary, unseen,
	}}
	var asked []string
	read := func(_ context.Context, f diff.File, _ int64) ([]byte, error) {
		asked = append(asked, f.Path())
		return []byte(f.Path()), nil
	}
	files, err := collect.Contents(t.Context(), p, read, collect.Budget{})
	want := []string{".GitHub/workflows/ci.yml", "tools/Action.yaml", "big.sql", "web/package.json", "README.md"}
	if err != nil || !slices.Equal(asked, want) || len(files) != len(want) || string(files["README.md"]) != "README.md" {
		t.Errorf("read %q, want %q (%v)", asked, want, err)
	}
}

func TestContentsKeepsToItsBudget(t *testing.T) {
	p := diff.Patch{Files: []diff.File{modified("a.md"), modified("b.md"), modified("c.md"), modified("d.md")}}
	var bounds []int64
	read := func(_ context.Context, _ diff.File, most int64) ([]byte, error) {
		bounds = append(bounds, most)
		return make([]byte, 6), nil
	}
	files, err := collect.Contents(t.Context(), p, read, collect.Budget{Files: 3, Bytes: 10, FileBytes: 8})
	if err != nil || !slices.Equal(bounds, []int64{8, 4}) || len(files) != 2 { // 6 bytes left 4, and those were overdrawn
		t.Errorf("bounds %v, %d files (%v)", bounds, len(files), err)
	}
	bounds = nil
	if files, _ = collect.Contents(t.Context(), p, read, collect.Budget{Files: 3}); len(files) != 3 {
		t.Errorf("%d files, want 3", len(files))
	}
}

// What the forge does not have is the scanner's gap; what may work later ends the
// attempt.
func TestContentsErrors(t *testing.T) {
	p := diff.Patch{Files: []diff.File{modified("a.md"), modified("b.md")}}
	reader := func(err error) collect.ContentReader {
		return func(_ context.Context, f diff.File, _ int64) ([]byte, error) {
			if f.Path() == "a.md" {
				return nil, err
			}
			return []byte("b"), nil
		}
	}
	for _, kind := range []forge.Kind{forge.KindNotFound, forge.KindTooLarge} {
		files, err := collect.Contents(t.Context(), p, reader(&forge.Error{Kind: kind}), collect.Budget{})
		if err != nil || len(files) != 1 {
			t.Errorf("%s: %d files, %v", kind, len(files), err)
		}
	}
	for _, cause := range []error{&forge.Error{Kind: forge.KindUnavailable}, &forge.Error{Kind: forge.KindRateLimited}, context.DeadlineExceeded} {
		if _, err := collect.Contents(t.Context(), p, reader(cause), collect.Budget{}); !errors.Is(err, cause) {
			t.Errorf("%v: got %v", cause, err)
		}
	}
}
