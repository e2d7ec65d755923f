package diff

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"slices"
)

// Identity is the hex SHA-256 of a change, the same on every head that makes
// the same change. Reviews, answers and waivers are bound to it.
type Identity string

// identityVersion is hashed first. It changes with the format, so that no
// identity of another format can be taken for one of this.
const identityVersion = "countersign patch 1"

// Identity computes the patch's identity over its files in any order: paths,
// modes, whether it is a copy, and the hunks' context, deleted and added lines
// with a missing line end at the end of a file; for binary files, files without
// hunks and truncated ones, the two blob ids. Line numbers and section titles
// are left out: they change when the base moves.
//
// What was not seen cannot be called the same. A patch with missing files, an
// unknown mode, or unseen content whose blob ids are unknown is bound to its
// head, so that nothing is carried from it to another.
//
// Every part is prefixed by its length or its count: no content can imitate
// another file, hunk or line.
func (p Patch) Identity() Identity {
	sums := make([][]byte, 0, len(p.Files))
	seen := p.Missing() == 0
	w := identityWriter{h: sha256.New()}
	for _, f := range p.Files {
		w.h.Reset()
		seen = w.file(f) && seen
		sums = append(sums, w.h.Sum(nil))
	}
	slices.SortFunc(sums, bytes.Compare)

	w.h.Reset()
	w.text(identityVersion)
	w.count(len(sums))
	for _, s := range sums {
		w.h.Write(s)
	}
	if !seen {
		w.text(p.Head)
	}
	return Identity(hex.EncodeToString(w.h.Sum(nil)))
}

type identityWriter struct {
	h   hash.Hash
	num [8]byte
}

func (w *identityWriter) count(n int) {
	binary.BigEndian.PutUint64(w.num[:], uint64(n))
	w.h.Write(w.num[:])
}

func (w *identityWriter) text(s string) {
	w.count(len(s))
	_, _ = io.WriteString(w.h, s) // a hash never fails
}

func (w *identityWriter) flag(b bool) {
	n := 0
	if b {
		n = 1
	}
	w.count(n)
}

// file hashes one file and reports whether all of it was seen.
func (w *identityWriter) file(f File) bool {
	oldSide, newSide := f.sides()
	w.text(oldSide.path)
	w.text(newSide.path)
	w.text(string(oldSide.mode))
	w.text(string(newSide.mode))
	// A copy and a rename have the same two paths and are different changes.
	w.flag(f.Op == Copied)

	byBlob := f.Binary || f.Truncated || len(f.Hunks) == 0
	w.flag(byBlob)
	if byBlob {
		w.text(oldSide.blob)
		w.text(newSide.blob)
	}
	w.count(len(f.Hunks))
	for _, h := range f.Hunks {
		w.hunk(h)
	}
	blobsKnown := (!f.HasOld() || f.OldBlob != "") && (!f.HasNew() || f.NewBlob != "")
	return f.Op != 0 && f.ModesKnown() && (!byBlob || blobsKnown)
}

func (w *identityWriter) hunk(h Hunk) {
	w.count(len(h.Lines))
	for _, l := range h.Lines {
		op := int(l.Op) << 1
		if l.NoNewline {
			op |= 1
		}
		w.count(op)
		w.text(l.Text)
	}
}

type side struct {
	path string
	mode Mode
	blob string
}

// sides returns the file's two sides in one spelling, however the reader filled
// in what an added, deleted or unmoved file does not need.
func (f File) sides() (oldSide, newSide side) {
	if f.HasOld() {
		oldSide = side{f.OldPath, f.OldMode, f.OldBlob}
		if oldSide.path == "" {
			oldSide.path = f.NewPath
		}
	}
	if f.HasNew() {
		newSide = side{f.NewPath, f.NewMode, f.NewBlob}
		if newSide.path == "" {
			newSide.path = f.OldPath
		}
	}
	return oldSide, newSide
}
