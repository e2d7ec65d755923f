package publish

import (
	"context"

	"github.com/countersign/countersign/review/forge"
)

// The forge appends the annotations of every write and takes none back. So a run
// gets its set once, with the first decision that has one; the same set is never
// sent to it again, and a changed set is a new run of the same name. The set is
// named in the row before it is sent. When its answer is lost, the run is asked how
// many annotations it has: any number but none is the set that was sent, for none
// was sent before. Only a request that is lost, not counted, and arrives after all
// would leave a set twice: the forge takes no condition with a write.

// marksDiffer reports whether the run's annotations are not, or may not be, those
// that are wanted.
func (k *work) marksDiffer(w wanted) bool {
	return w.marked && (k.row.Annotating != "" || k.row.Annotated != w.marks)
}

// needsAnother reports whether the known run bears annotations that are wanted no
// more, after learning what became of those whose answer was lost.
func (k *work) needsAnother(ctx context.Context, w wanted) (bool, error) {
	if !w.marked {
		return false, nil
	}
	if k.row.Annotating != "" {
		runs, err := k.ownRuns(ctx)
		if err != nil {
			return false, err
		}
		if !k.learnFrom(runs) {
			return true, nil // nobody can tell what it bears; a new run bears what it is given
		}
	}
	return k.row.Annotated != "" && k.row.Annotated != w.marks, nil
}

// learnFrom finds the known run among ours; false when it is not listed.
func (k *work) learnFrom(runs []forge.Check) bool {
	for _, r := range runs {
		if r.ID == k.row.CheckRunID {
			k.learnAnnotated(r)
			return true
		}
	}
	return false
}

// learnAnnotated takes into the row what a run bears. Where nothing is unconfirmed,
// the set that it bears is the one that the row names already.
func (k *work) learnAnnotated(r forge.Check) {
	switch {
	case r.Annotations == 0:
		k.row.Annotated = ""
	case k.row.Annotating != "":
		k.row.Annotated = k.row.Annotating
	}
	k.row.Annotating = ""
}

// replace begins a run with the wanted annotations. The old one is ended first: a
// process that dies in between leaves nothing that waits, and the next one goes on
// from there. One that had ended keeps its conclusion.
func (k *work) replace(ctx context.Context, w wanted) error {
	if k.row.Status != statusCompleted || k.row.Intended != "" {
		if err := k.retire(ctx); err != nil {
			return err
		}
	}
	return k.create(ctx, w)
}

// retire ends the known run in favour of another.
func (k *work) retire(ctx context.Context) error {
	cw := cancelled(k.row.Key, k.row.ExternalID, k.row.StartedAt, "other findings stand on its lines")
	digest := digestOf(cw.Status, cw.Conclusion, cw.Title)
	k.row.Intended = digest
	if err := k.save(ctx); err != nil {
		return err
	}
	err := k.call(ctx, func(ctx context.Context) error { return k.w.UpdateCheck(ctx, k.row.Repo, k.row.CheckRunID, cw) })
	if err != nil && !forge.IsKind(err, forge.KindNotFound) {
		return err
	}
	k.row.Status, k.row.Conclusion, k.row.Title, k.row.Digest, k.row.Intended = cw.Status, cw.Conclusion, cw.Title, digest, ""
	k.res.Cancelled = append(k.res.Cancelled, k.row.CheckRunID)
	return nil
}
