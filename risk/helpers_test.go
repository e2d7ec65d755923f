package risk

import (
	"slices"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// oneLine is a hunk that replaces one line.
func oneLine(text string) []diff.Hunk {
	return []diff.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []diff.Line{
		{Op: diff.DeletedLine, Old: 1, Text: "old"},
		{Op: diff.AddedLine, New: 1, Text: text},
	}}}
}

// isTextName tells which files the helpers give a hunk.
func isTextName(path string) bool {
	p := newPlace(path)
	return !isAsset(p) && !isArchive(p)
}

func modified(path string) diff.File {
	f := diff.File{Op: diff.Modified, OldPath: path, NewPath: path, OldMode: diff.ModeRegular, NewMode: diff.ModeRegular,
		OldBlob: "1", NewBlob: "2"}
	if isTextName(path) {
		f.Hunks, f.Added, f.Deleted = oneLine("new"), 1, 1
	}
	return f
}

func added(path string) diff.File {
	f := modified(path)
	f.Op, f.OldPath, f.OldMode, f.OldBlob = diff.Added, "", diff.ModeNone, ""
	return f
}

func deleted(path string) diff.File {
	f := modified(path)
	f.Op, f.NewPath, f.NewMode, f.NewBlob = diff.Deleted, "", diff.ModeNone, ""
	return f
}

func renamed(from, to string) diff.File {
	return diff.File{Op: diff.Renamed, OldPath: from, NewPath: to, OldMode: diff.ModeRegular, NewMode: diff.ModeRegular,
		OldBlob: "1", NewBlob: "1"}
}

func withModes(f diff.File, oldMode, newMode diff.Mode) diff.File {
	f.OldMode, f.NewMode = oldMode, newMode
	return f
}

// withCounts is what GitHub says of a text whose patch it leaves out.
func withCounts(f diff.File) diff.File {
	f.Hunks, f.Binary, f.Added, f.Deleted = nil, false, 429, 460
	return f
}

func patchOf(files ...diff.File) diff.Patch {
	return diff.Patch{Files: files, ChangedFiles: len(files)}
}

func modifiedAll(paths ...string) diff.Patch {
	var files []diff.File
	for _, p := range paths {
		files = append(files, modified(p))
	}
	return patchOf(files...)
}

// known is a context in which everything is known and nothing is the matter.
func known() Context {
	c := Context{
		Author:        Author{Write: Yes, FirstContribution: No, VerifiedAutomation: No},
		RequiredKnown: true,
		Content:       map[string]ContentFact{},
		ExactRevert:   No,
	}
	for _, r := range RuleIDs() {
		if r.Content {
			c.Content[r.ID] = ContentFact{State: No}
		}
	}
	return c
}

type floorCase struct {
	name  string
	patch diff.Patch
	tier  Tier
	rule  string // the first signal
}

// checkFloors assesses each patch where everything else is known and quiet.
func checkFloors(t *testing.T, tests []floorCase) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Assess(tt.patch, known(), nil)
			if a.Tier != tt.tier || a.Floor != tt.tier || a.Raised {
				t.Errorf("tier %s, floor %s, want %s; signals %v", a.Tier, a.Floor, tt.tier, ids(a))
			}
			if len(a.Signals) == 0 || a.Signals[0].Rule != tt.rule {
				t.Errorf("signals %v, want %s first", ids(a), tt.rule)
			}
			if len(a.Unknown) > 0 || len(a.Problems) > 0 {
				t.Errorf("unknown %v, problems %v", a.Unknown, a.Problems)
			}
			if want := tt.tier >= Medium; a.ReviewRequired != want {
				t.Errorf("review required: %t, want %t", a.ReviewRequired, want)
			}
		})
	}
}

func signal(a Assessment, id string) (Signal, bool) {
	i := slices.IndexFunc(a.Signals, func(s Signal) bool { return s.Rule == id })
	if i < 0 {
		return Signal{}, false
	}
	return a.Signals[i], true
}

func ids(a Assessment) []string {
	var list []string
	for _, s := range a.Signals {
		list = append(list, s.Rule)
	}
	return list
}

func wantSignal(t *testing.T, a Assessment, id string) Signal {
	t.Helper()
	s, ok := signal(a, id)
	if !ok {
		t.Errorf("no signal %s among %v", id, ids(a))
	}
	return s
}

func wantNoSignal(t *testing.T, a Assessment, id string) {
	t.Helper()
	if s, ok := signal(a, id); ok {
		t.Errorf("signal %s on %v (%s)", id, s.Files, s.Detail)
	}
}
