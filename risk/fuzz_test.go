package risk

import (
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

// FuzzAssess assesses a patch of one file, however it is described, and holds what
// must be true of each: every path has a kind, capitals do not hide what raises
// risk, neither path of a rename does, a broken glob is never silent, and
// nothing panics.
func FuzzAssess(f *testing.F) {
	for _, p := range somePaths() {
		f.Add(p, "x/"+p, "src/**", uint8(diff.Modified), uint8(1), uint8(1), "// line", 0)
	}
	f.Add("..//./\xff\x00", `a\..\b. `, "[a-", uint8(9), uint8(0), uint8(9), "\xff", -1)
	f.Add("\u0430uth/\u212Aey", "", "{a,b}/**", uint8(diff.Renamed), uint8(2), uint8(3), "# @generated", 900)
	modes := []diff.Mode{diff.ModeNone, diff.ModeRegular, diff.ModeExecutable, diff.ModeSymlink, diff.ModeSubmodule, diff.ModeUnknown, "x"}
	f.Fuzz(func(t *testing.T, path, from, glob string, op, oldMode, newMode uint8, text string, count int) {
		kinds := classify(newPlace(path))
		if kinds == 0 {
			t.Fatalf("%q has no kind", path)
		}
		sensitive := KindsOf(CI, Auth, Secrets, Policy, Infra, DB)
		// Only lower-case ASCII: upper case separates words elsewhere.
		if upper := classify(newPlace(strings.ToUpper(path))); isLowerASCII(path) && kinds.HasAny(sensitive) && !upper.HasAny(sensitive) {
			t.Fatalf("%q is %s, in capitals %s", path, kinds, upper)
		}
		rules := []Rule{{ID: "mine", Paths: []string{glob}, Tier: High}}
		a := Assess(patchOf(modified(path)), Context{}, rules)
		if a.Tier < Medium && !kinds.Within(KindsOf(Docs)) {
			t.Fatalf("%q is %s and only %s", path, kinds, a.Tier)
		}
		if len(a.Problems) > 0 && a.Tier < High {
			t.Fatalf("glob %q is broken and the tier is %s", glob, a.Tier)
		}
		_, unread := signal(a, "unreadable") // without hunks, a change is that and a pure rename is not
		if r := Assess(patchOf(renamed(from, path)), Context{}, rules); r.Tier < a.Tier && !unread && !missesManifest(a) {
			t.Fatalf("%q is %s, renamed from %q %s", path, a.Tier, from, r.Tier)
		}
		file := diff.File{Op: diff.Op(op), OldPath: from, NewPath: path, Added: count, Deleted: count, Binary: count%2 == 1,
			OldMode: modes[int(oldMode)%len(modes)], NewMode: modes[int(newMode)%len(modes)], Hunks: oneLine(text)}
		whole := Assess(diff.Patch{Files: []diff.File{file, file}, ChangedFiles: count}, Context{Unread: []string{from}}, rules)
		if len(whole.Signals) == 0 || whole.Tier < whole.Floor {
			t.Fatalf("%+v", whole)
		}
	})
}

// missesManifest reports whether a tier rests on a manifest that is not there.
func missesManifest(a Assessment) bool {
	return slices.ContainsFunc(ids(a), func(id string) bool { return id == "lock-without-manifest" || id == "vendored-without-manifest" })
}
