package session

import (
	"path"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/trail"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// permit evaluates the path rules over both names of every changed file, and
// records each evaluation that a rule or a surface caused.
func (r *run) permit(f found, a risk.Assessment) review.Permission {
	verdicts := permission.OfPaths(changesOf(f.Patch, a), r.o.Policy.Paths, r.o.Policy.Mode)
	for _, v := range verdicts[:min(len(verdicts), listed)] {
		r.note("G3", trail.TypePermission, v)
	}
	if more := len(verdicts) - listed; more > 0 {
		r.note("G3", trail.TypePermission, map[string]int{"evaluations_not_listed": more})
	}
	return permitted(verdicts)
}

// requiredWorkflow is risk's rule for a workflow that reports a required name.
const requiredWorkflow = "required-workflow"

// changesOf names the surfaces that no mode and no model ever approves (DESIGN
// section 4).
func changesOf(p diff.Patch, a risk.Assessment) []permission.Change {
	reports := make(map[string]bool)
	for _, s := range a.Signals {
		if s.Rule == requiredWorkflow {
			for _, f := range s.Files {
				reports[f] = true
			}
		}
	}
	kinds := make(map[string]risk.Kinds, len(a.Files))
	for _, f := range a.Files {
		kinds[f.Path] |= f.Kinds // a path may be listed twice
	}
	out := make([]permission.Change, 0, len(p.Files))
	for _, f := range p.Files {
		c := permission.Change{Path: f.Path()}
		if paths := f.Paths(); len(paths) > 1 {
			c.PreviousPath = paths[1]
		}
		c.Surface = surfaceOf(f, kinds[f.Path()], reports)
		out = append(out, c)
	}
	return out
}

func surfaceOf(f diff.File, kinds risk.Kinds, reports map[string]bool) string {
	switch {
	case kinds.Has(risk.Policy):
		return "the rules of review are answered by a person"
	case slices.ContainsFunc(f.Paths(), func(p string) bool { return reports[p] }):
		return "a workflow that reports a required check is answered by a person"
	case slices.ContainsFunc(f.Paths(), func(p string) bool { return strings.EqualFold(path.Base(p), ".gitmodules") }):
		return "where a submodule comes from is answered by a person"
	case slices.ContainsFunc(f.Paths(), isKeyMaterial):
		return "key material is answered by a person"
	}
	return ""
}

// isKeyMaterial goes by the name only: the content is the scanner's business.
func isKeyMaterial(p string) bool {
	base := strings.ToLower(path.Base(p))
	for _, ext := range []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".asc", ".gpg"} {
		if strings.HasSuffix(base, ext) {
			return true
		}
	}
	return strings.HasPrefix(base, "id_rsa") || strings.HasPrefix(base, "id_ed25519") || strings.HasPrefix(base, "id_ecdsa")
}
