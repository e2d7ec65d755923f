package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genFile draws a regular file with up to three hunks below line 80.
func genFile() *rapid.Generator[File] {
	return rapid.Custom(func(t *rapid.T) File {
		path := rapid.SampledFrom([]string{"a.go", "b/c.go", "d.md"}).Draw(t, "path")
		f := File{Op: Modified, OldPath: path, NewPath: path, OldMode: ModeRegular, NewMode: ModeRegular, OldBlob: "1", NewBlob: "2"}
		oldNo, newNo := 1, 1
		for range rapid.IntRange(1, 3).Draw(t, "hunks") {
			gap := rapid.IntRange(0, 5).Draw(t, "gap")
			oldNo, newNo = oldNo+gap, newNo+gap
			h := Hunk{OldStart: oldNo, NewStart: newNo}
			for range rapid.IntRange(1, 6).Draw(t, "lines") {
				l := Line{Op: LineOp(rapid.IntRange(0, 2).Draw(t, "op")), Text: rapid.StringMatching("[ab]{0,2}").Draw(t, "text")}
				if l.Op != AddedLine {
					l.Old = oldNo
					oldNo++
				}
				if l.Op != DeletedLine {
					l.New = newNo
					newNo++
				}
				h.Lines = append(h.Lines, l)
			}
			f.Hunks = append(f.Hunks, h)
		}
		return f
	})
}

func genPatch() *rapid.Generator[Patch] {
	return rapid.Custom(func(t *rapid.T) Patch {
		p := Patch{Repo: "acme/x", Head: "aaaa", Base: "bbbb", MergeBase: "cccc"}
		p.Files = rapid.SliceOfNDistinct(genFile(), 1, 3, File.Path).Draw(t, "files")
		p.ChangedFiles = len(p.Files)
		return p
	})
}

// clone copies what the tests change.
func clone(p Patch) Patch {
	p.Files = slices.Clone(p.Files)
	for i, f := range p.Files {
		p.Files[i].Hunks = slices.Clone(f.Hunks)
		for j, h := range f.Hunks {
			p.Files[i].Hunks[j].Lines = slices.Clone(h.Lines)
		}
	}
	return p
}

func TestIdentitySurvivesRebase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPatch().Draw(t, "patch")
		q := clone(p)
		q.Head, q.Base, q.MergeBase = "dddd", "eeee", "ffff"
		slices.Reverse(q.Files)
		by := rapid.IntRange(1, 1000).Draw(t, "shift")
		for i := range q.Files {
			q.Files[i].OldBlob, q.Files[i].NewBlob = "3", "4" // other lines of the file moved on
			for j := range q.Files[i].Hunks {
				h := &q.Files[i].Hunks[j]
				h.OldStart, h.NewStart, h.Section = h.OldStart+by, h.NewStart+by, "another function"
				for k := range h.Lines {
					h.Lines[k].Old, h.Lines[k].New = h.Lines[k].Old+by, h.Lines[k].New+by
				}
			}
		}
		if p.Identity() != q.Identity() {
			t.Fatal("the same change on another head has another identity")
		}
	})
}

func TestIdentityChanges(t *testing.T) {
	changes := map[string]func(*Patch){
		"text":          func(p *Patch) { p.Files[0].Hunks[0].Lines[0].Text += "x" },
		"line removed":  func(p *Patch) { h := &p.Files[0].Hunks[0]; h.Lines = h.Lines[1:] },
		"line op":       func(p *Patch) { l := &p.Files[0].Hunks[0].Lines[0]; l.Op = (l.Op + 1) % 3 },
		"line end":      func(p *Patch) { p.Files[0].Hunks[0].Lines[0].NoNewline = true },
		"new path":      func(p *Patch) { p.Files[0].NewPath += "x" },
		"old path":      func(p *Patch) { p.Files[0].OldPath += "x" },
		"new mode":      func(p *Patch) { p.Files[0].NewMode = ModeExecutable },
		"old mode":      func(p *Patch) { p.Files[0].OldMode = ModeExecutable },
		"file removed":  func(p *Patch) { p.Files = p.Files[1:]; p.ChangedFiles-- },
		"file repeated": func(p *Patch) { p.Files = append(p.Files, p.Files[0]); p.ChangedFiles++ },
		"hunk removed":  func(p *Patch) { p.Files[0].Hunks = p.Files[0].Hunks[1:] },
		"hunk split": func(p *Patch) {
			h := p.Files[0].Hunks[0]
			p.Files[0].Hunks = append([]Hunk{{Lines: h.Lines[:1]}, {Lines: h.Lines[1:]}}, p.Files[0].Hunks[1:]...)
		},
		"binary":    func(p *Patch) { p.Files[0].Binary = true },
		"truncated": func(p *Patch) { p.Files[0].Truncated = true },
		"copy":      func(p *Patch) { p.Files[0].Op = Copied },
		"deletion":  func(p *Patch) { p.Files[0].Op = Deleted },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := genPatch().Draw(t, "patch")
				q := clone(p)
				change(&q)
				if p.Identity() == q.Identity() {
					t.Fatal("the identity is the same")
				}
			})
		})
	}
}

// TestIdentityNeedsSight changes only the head of patches that were not seen in
// full: nothing may be carried from one to the other.
func TestIdentityNeedsSight(t *testing.T) {
	image := File{Op: Modified, OldPath: "i.png", NewPath: "i.png", OldMode: ModeRegular, NewMode: ModeRegular, OldBlob: "1", NewBlob: "2", Binary: true}
	tests := []struct {
		name   string
		change func(*Patch)
		bound  bool
	}{
		{"binary with blobs", func(*Patch) {}, false},
		{"binary without old blob", func(p *Patch) { p.Files[0].OldBlob = "" }, true},
		{"binary without new blob", func(p *Patch) { p.Files[0].NewBlob = "" }, true},
		{"added binary needs no old blob", func(p *Patch) { p.Files[0].Op, p.Files[0].OldBlob = Added, "" }, false},
		{"unknown mode", func(p *Patch) { p.Files[0].NewMode = ModeUnknown }, true},
		{"mode nobody set", func(p *Patch) { p.Files[0].OldMode = "" }, true},
		{"unknown operation", func(p *Patch) { p.Files[0].Op = 0 }, true},
		{"files missing", func(p *Patch) { p.ChangedFiles = 2 }, true},
		{"truncated without blobs", func(p *Patch) { f := &p.Files[0]; f.Truncated, f.Binary, f.NewBlob = true, false, "" }, true},
		{"truncated with blobs", func(p *Patch) { f := &p.Files[0]; f.Truncated, f.Binary = true, false }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Patch{Head: "a", Files: []File{image}, ChangedFiles: 1}
			tt.change(&p)
			q := p
			q.Head = "b"
			if bound := p.Identity() != q.Identity(); bound != tt.bound {
				t.Errorf("bound to its head: %t, want %t", bound, tt.bound)
			}
		})
	}
}

// TestIdentityTail changes what a truncated file does not show.
func TestIdentityTail(t *testing.T) {
	f := modified(t, "a.go", "@@ -1 +1 @@\n-a\n+b")
	f.Truncated = true
	p := Patch{Head: "h", Files: []File{f}, ChangedFiles: 1}
	q := clone(p)
	q.Files[0].NewBlob = "9999"
	if p.Identity() == q.Identity() {
		t.Error("an unseen tail changed and the identity did not")
	}
}

func TestIdentitySpelling(t *testing.T) {
	a := Patch{Files: []File{{Op: Added, NewPath: "x", NewMode: ModeRegular, NewBlob: "1"}}}
	b := Patch{Files: []File{{Op: Added, OldPath: "x", NewPath: "x", NewMode: ModeRegular, NewBlob: "1"}}}
	if a.Identity() != b.Identity() {
		t.Error("an added file with and without its old path differ")
	}
	if id := string(a.Identity()); len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		t.Errorf("%q is no hex SHA-256", id)
	}
}

// TestIdentityFraming moves content over the borders of lines and hunks, and
// lets text imitate what is hashed between two lines.
func TestIdentityFraming(t *testing.T) {
	add := func(texts ...string) (h Hunk) {
		for _, text := range texts {
			h.Lines = append(h.Lines, Line{Op: AddedLine, Text: text})
		}
		return h
	}
	between := "\x00\x00\x00\x00\x00\x00\x00\x02" + "\x00\x00\x00\x00\x00\x00\x00\x00"
	tests := []struct {
		name string
		a, b []Hunk
	}{
		{"text moved to the next line", []Hunk{add("b", "c")}, []Hunk{add("bc", "")}},
		{"line moved to the next hunk", []Hunk{add("a", "b"), add("c")}, []Hunk{add("a"), add("b", "c")}},
		{"text imitates a border", []Hunk{add("b"+between+"c", "d")}, []Hunk{add("b", "c"+between+"d")}},
	}
	for _, tt := range tests {
		a, b := Patch{Files: []File{{Op: Added, Hunks: tt.a}}}, Patch{Files: []File{{Op: Added, Hunks: tt.b}}}
		if a.Identity() == b.Identity() {
			t.Errorf("%s: the identity stayed", tt.name)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	var p Patch
	for i := range 300 {
		p.Files = append(p.Files, modified(b, "pkg/file"+itoa(i)+".go", "@@ -1,3 +1,3 @@\n a\n-"+strings.Repeat("b", 60)+"\n+c\n d"))
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Identity()
	}
}
