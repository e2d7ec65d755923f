package scan

import (
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// deceptivePath reports a path that the patch brings and that reads as another.
// That a patch touches one which was there already raises its tier, by the rule
// of the same name, and is no fault of this patch.
func deceptivePath(f diff.File) (Finding, bool) {
	if !f.HasNew() || f.Op == diff.Modified || f.Op == diff.TypeChanged || !risk.Deceives(f.Path()) {
		return Finding{}, false
	}
	return Finding{Rule: RuleDeceptivePath, Path: f.Path(), Side: diff.Right, Severity: High,
		Title: "A path reads as another: " + visible(f.Path(), maxDetail),
		Why:   "It has letters that look like others, characters that do not show, or a form that some system takes for another path; rules and people may take the file for one that it is not.",
		Do:    "Name the file in letters of one script, without invisible characters and without odd slashes, dots or spaces."}, true
}
