package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// BlobReader reads one file's bytes.
type BlobReader interface {
	Blob(ctx context.Context, repo forge.Repo, oid string, max int64) ([]byte, error)
}

// Budget bounds what Fill reads. A zero field takes its default.
type Budget struct {
	Files     int   // files read; 20, two calls each at most
	Bytes     int64 // bytes of all of them; 8 MiB
	FileBytes int64 // bytes of one side of one file; 1 MiB
}

func (b Budget) withDefaults() Budget {
	if b.Files <= 0 {
		b.Files = 20
	}
	if b.Bytes <= 0 {
		b.Bytes = 8 << 20
	}
	if b.FileBytes <= 0 {
		b.FileBytes = 1 << 20
	}
	return b
}

// Fill reads the files whose patch GitHub left out, cut short or garbled from
// their blobs and compares them here, within the budget. It also looks into files that GitHub calls
// binary and whose name says otherwise: one line of .gitattributes in the patch
// is enough to have source code called binary. What remains unread stays marked
// as truncated, with the reason.
//
// It stops at the first read that may work when it is tried again, with an
// error: the patch is then half filled and nothing to judge.
//
// It needs the blob ids that Modes fills in.
func Fill(ctx context.Context, r BlobReader, repo forge.Repo, p *diff.Patch, budget Budget) ([]Gap, error) {
	f := filler{r: r, repo: repo, left: budget.withDefaults()}
	for i := range p.Files {
		file := &p.Files[i]
		if !wanting(file) {
			continue
		}
		err := f.fill(ctx, file)
		switch {
		case mendable(err):
			return nil, err
		case err != nil:
			file.Truncated, file.Why = true, because(file, err)
			f.failed++
		}
	}
	if f.failed == 0 {
		return nil, nil
	}
	files := "1 file"
	if f.failed > 1 {
		files = fmt.Sprintf("%d files", f.failed)
	}
	return []Gap{{What: "diff", Detail: files + " without a patch could not be compared"}}, nil
}

// wanting reports whether a file's text has to be looked for.
func wanting(f *diff.File) bool {
	if f.OldMode == diff.ModeSubmodule || f.NewMode == diff.ModeSubmodule {
		return false // there is no text: the two commits are the change
	}
	if f.Truncated {
		return f.Why != whyOtherHead
	}
	return f.Binary && !looksBinary(f.Path())
}

// binaryEndings are of formats that are never text. A file that has one and is
// text all the same is then taken for binary, as GitHub does.
const binaryEndings = " .png .jpg .jpeg .gif .webp .ico .bmp .tif .tiff .avif .heic .pdf .zip .gz .tgz .bz2 .xz .zst .7z .rar .jar .war .ear" +
	" .woff .woff2 .ttf .otf .eot .mp3 .mp4 .m4a .mov .avi .webm .ogg .wav .flac .psd .ai .sketch .fig .docx .xlsx .pptx .odt" +
	" .so .dll .dylib .exe .a .o .lib .class .pyc .wasm .bin .dat .db .sqlite .parquet .onnx .pt .safetensors .npy .npz .pb "

func looksBinary(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext != "" && strings.Contains(binaryEndings, " "+ext+" ")
}

// Reasons why a file was not compared.
var (
	errBudget  = errors.New("the budget for reading files without a patch is used up")
	errNoBlobs = errors.New("its blobs are not known")
)

func because(f *diff.File, err error) string {
	why := f.Why
	if f.Binary {
		why = "called binary by GitHub, and not looked into"
	}
	return why + ": " + err.Error()
}

// filler keeps count of what the budget leaves.
type filler struct {
	r      BlobReader
	repo   forge.Repo
	left   Budget
	failed int
}

func (f *filler) fill(ctx context.Context, file *diff.File) error {
	if (file.HasOld() && file.OldBlob == "") || (file.HasNew() && file.NewBlob == "") {
		return errNoBlobs
	}
	if f.left.Files <= 0 {
		return errBudget
	}
	f.left.Files--
	before, err := f.read(ctx, file.HasOld(), file.OldBlob)
	if err != nil {
		return err
	}
	after, err := f.read(ctx, file.HasNew(), file.NewBlob)
	if err != nil {
		return err
	}
	if isBinary(before) || isBinary(after) {
		file.Binary, file.Truncated, file.Why = true, false, ""
		return nil
	}
	hunks, err := compare(before, after)
	if err != nil {
		return err
	}
	file.Hunks, file.Binary, file.Truncated, file.Why = hunks, false, false, ""
	if file.Added+file.Deleted == 0 { // GitHub counts no lines of what it calls binary
		file.Added, file.Deleted = countLines(hunks)
	}
	return nil
}

func (f *filler) read(ctx context.Context, exists bool, oid string) ([]byte, error) {
	if !exists || oid == emptyBlob {
		return nil, nil
	}
	bound := min(f.left.FileBytes, f.left.Bytes)
	if bound <= 0 {
		return nil, errBudget
	}
	data, err := f.r.Blob(ctx, f.repo, oid, bound)
	switch {
	case forge.IsKind(err, forge.KindTooLarge):
		return nil, fmt.Errorf("larger than %d bytes", bound)
	case err != nil:
		return nil, err
	}
	f.left.Bytes -= int64(len(data))
	return data, nil
}

// isBinary is git's own test: a NUL among the first 8,000 bytes.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}
