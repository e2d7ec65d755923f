package publish

import (
	"context"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

// The forge appends the annotations of every write, takes none back, and takes
// MaxAnnotations of them at once. So a run gets one set, in as many writes as that
// takes, and completes with the last of them (case 32); the same set is never sent to
// it again, and a changed set is a new run of the same name.
//
// How far it got stands in the row, and what is sent next is named there before it is
// sent. When an answer is lost, the run is asked how many annotations it has: as many
// as before, and the write never arrived; as many as after it, and it did; any other
// number, and nobody can tell what it bears: a new run is given the whole set, and the
// old one is ended. Only a request that is lost, not counted, and arrives after all
// would leave some twice: the forge takes no condition with a write.

// borne is what a run bears of a set of annotations: the first n of it.
type borne struct {
	set     string
	n       int
	refused bool // the forge did not take the next ones, and no more are sent
}

// unclear is what a run bears of which nobody can tell: no set has this name.
func unclear() borne { return borne{set: "?"} }

// The row keeps "set+n", or "set!n" where the rest was refused.
func (b borne) String() string {
	switch {
	case b.set == "":
		return ""
	case b.refused:
		return b.set + "!" + strconv.Itoa(b.n)
	}
	return b.set + "+" + strconv.Itoa(b.n)
}

// parseBorne reads what String wrote; anything else is no set that could be wanted.
func parseBorne(s string) borne {
	i := strings.IndexAny(s, "+!")
	if i <= 0 {
		return borne{set: s}
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return unclear()
	}
	return borne{set: s[:i], n: n, refused: s[i] == '!'}
}

// ends reports whether nothing of the wanted set is to be sent any more.
func (b borne) ends(w wanted) bool {
	return !w.marked || (b.set == w.marks && (b.refused || b.n >= len(w.annotations)))
}

// step is one write towards what is wanted. plain ends the run without the
// annotations, should the forge refuse them.
type step struct {
	write, plain forge.CheckWrite
	set          string
	from         int // of the set, on the run so far
}

// stepOf is the next write to a run that bears this.
func stepOf(row Publication, w wanted, have borne) step {
	all := len(w.annotations)
	if have.ends(w) {
		if have.refused {
			all = have.n
		}
		cw := checkWrite(row, w, all)
		return step{write: cw, plain: cw}
	}
	s := step{set: w.marks, write: checkWrite(row, w, all), plain: checkWrite(row, w, have.n), from: have.n}
	to := min(all, have.n+MaxAnnotations)
	s.write.Annotations = w.annotations[have.n:to]
	if to < all {
		s.write.Status, s.write.Conclusion = statusInProgress, ""
	}
	return s
}

func (s step) sends() bool { return len(s.write.Annotations) > 0 }

// after is what the run bears once the step has arrived; empty where none is sent.
func (s step) after() string {
	if !s.sends() {
		return ""
	}
	return borne{set: s.set, n: s.from + len(s.write.Annotations)}.String()
}

// took takes into the row that the forge accepted a step, and reports whether that
// was the last one.
func (k *work) took(w wanted, s step, whole bool) bool {
	if s.sends() {
		k.row.Annotated = k.row.Annotating
		if !whole { // refused ones would be refused again
			k.row.Annotated = borne{set: s.set, n: s.from, refused: true}.String()
		}
	}
	k.row.Annotating = ""
	if whole && s.write.Status != w.status {
		k.row.Status, k.row.Conclusion, k.row.Title, k.row.Digest = s.write.Status, "", w.title, ""
		return false
	}
	k.confirm(w)
	return true
}

// marksDiffer reports whether the run's annotations are not, or may not be, those
// that are wanted.
func (k *work) marksDiffer(w wanted) bool {
	if !w.marked {
		return false
	}
	b := parseBorne(k.row.Annotated)
	return k.row.Annotating != "" || b.set != w.marks || !b.ends(w)
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
	b := parseBorne(k.row.Annotated)
	return b.set != "" && b.set != w.marks, nil
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

// learnAnnotated takes into the row what a run bears: what was unconfirmed arrived
// as a whole, or not at all, or something else happened.
func (k *work) learnAnnotated(r forge.Check) {
	before, after := parseBorne(k.row.Annotated), parseBorne(k.row.Annotating)
	switch r.Annotations {
	case before.n:
	case after.n:
		k.row.Annotated = k.row.Annotating
	default:
		k.row.Annotated = unclear().String()
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
	_, err := k.put(ctx, k.row.CheckRunID, cw)
	if err != nil && !forge.IsKind(err, forge.KindNotFound) {
		return err
	}
	k.row.Status, k.row.Conclusion, k.row.Title, k.row.Digest, k.row.Intended = cw.Status, cw.Conclusion, cw.Title, digest, ""
	k.res.Cancelled = append(k.res.Cancelled, k.row.CheckRunID)
	return nil
}
