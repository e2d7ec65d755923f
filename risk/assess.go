package risk

import (
	"cmp"
	"slices"

	"github.com/countersign/countersign/risk/diff"
)

// Signal is one deterministic fact that decides or raises the tier.
type Signal struct {
	Rule   string   // its id; RuleIDs explains it, or the policy's own rule does
	Floor  Tier     // the tier is at least this; Low for a raise
	Raise  bool     // raises the tier by one step instead, once for all raises
	Files  []string // what it rests on, sorted; of a rename, the path that counts
	Detail string   // one clause for people: counts, what is missing, which glob
}

// FileRisk is what a changed file is.
type FileRisk struct {
	Path         string
	PreviousPath string // of a rename or copy
	Kinds        Kinds  // over both paths
	NeedsReview  bool   // more than docs, generated, vendored or binary
}

// Assessment is the risk of a patch with every reason for it. It does not depend
// on the order of the patch's files.
type Assessment struct {
	Tier           Tier
	Floor          Tier       // the highest floor, before a raise
	Raised         bool       // one step above Floor
	Signals        []Signal   // floors worst first, then raises
	Files          []FileRisk // sorted by path
	ReviewRequired bool       // from medium up, and no rule that asks for a review has a lower floor
	Unknown        []string   // ids of rules that apply to this patch and could not be evaluated
	Problems       []string   // what is wrong with the policy's rules
}

// Assess decides the risk of a patch: the highest floor of all rules that fire,
// the policy's among them, plus at most one step of raises, capped at critical.
//
// It is pure, accepts any input, and takes time in proportion to the patch times
// the policy's globs. What is unknown raises nothing by itself and is listed;
// what should have been read and was not is high.
func Assess(p diff.Patch, c Context, policy []Rule) Assessment {
	matchers := newMatchers(policy)
	f := newFacts(p, c, matchers)

	var a Assessment
	raise, revert := false, false
	for _, r := range rules() {
		v := r.when(f)
		if v.unknown {
			a.Unknown = append(a.Unknown, r.id)
		}
		if !v.fired {
			continue
		}
		a.add(Signal{Rule: r.id, Floor: r.floor, Raise: r.raise, Files: v.files, Detail: v.detail})
		raise = raise || r.raise
		revert = revert || r.accepted
	}
	for i, m := range matchers {
		for _, s := range m.signals(f.matched[i]) {
			a.add(s)
		}
		a.Problems = append(a.Problems, m.problems()...)
	}
	a.sort()

	a.Tier = a.Floor
	if raise && !revert && a.Floor < Critical {
		a.Tier, a.Raised = a.Floor+1, true
	}
	a.ReviewRequired = a.Tier >= Medium
	a.Files = f.risks()
	return a
}

func (a *Assessment) add(s Signal) {
	s.Files = unique(slices.Clone(s.Files))
	a.Floor = max(a.Floor, s.Floor)
	a.Signals = append(a.Signals, s)
}

// sort puts the worst first and keeps the table's order among equals; what the
// policy's rules say of the same floor follows, in the policy's order.
func (a *Assessment) sort() {
	slices.SortStableFunc(a.Signals, func(x, y Signal) int { return cmp.Compare(weight(y), weight(x)) })
}

func weight(s Signal) int {
	if s.Raise {
		return -1
	}
	return int(s.Floor)
}

func (f *facts) risks() []FileRisk {
	list := make([]FileRisk, 0, len(f.files))
	for _, file := range f.files {
		r := FileRisk{Path: file.Path(), Kinds: file.kinds, NeedsReview: f.needsReview(file)}
		if paths := file.Paths(); len(paths) > 1 {
			r.PreviousPath = paths[1]
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y FileRisk) int {
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.PreviousPath, y.PreviousPath), cmp.Compare(x.Kinds, y.Kinds))
	})
	return list
}
