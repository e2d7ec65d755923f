package trail

import (
	"context"
	"fmt"
)

// MaxProblems bounds the problems a report lists; the rest is counted.
const MaxProblems = 100

// Problem is one place where a chain does not hold.
type Problem struct {
	Chain Chain  `json:"chain"`
	Seq   int64  `json:"seq"`          // of the row, or of the first missing one
	ID    string `json:"id,omitempty"` // of the row, when there is one
	What  string `json:"what"`
}

func (p Problem) String() string { return fmt.Sprintf("%s #%d: %s", p.Chain, p.Seq, p.What) }

// Report is what a verification found.
type Report struct {
	Chains   int       `json:"chains"`
	Records  int64     `json:"records"`
	Problems []Problem `json:"problems,omitempty"`
	// Unlisted counts the problems beyond MaxProblems.
	Unlisted int `json:"unlisted,omitempty"`
}

// OK reports whether every chain holds.
func (r Report) OK() bool { return len(r.Problems) == 0 && r.Unlisted == 0 }

func (r *Report) add(p Problem) {
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, p)
		return
	}
	r.Unlisted++
}

// Verify walks every chain and names each row that was changed, dropped,
// reordered or inserted, and each chain that does not end where the chain table
// says. It holds one record at a time, and may run while others append. Rows cut
// from the end together with the chain's head leave no trace here: what was
// published outside is the witness for those. The error is about reading; what
// was read up to there is in the report.
func Verify(ctx context.Context, store Store) (Report, error) {
	var report Report
	heads, err := store.Chains(ctx)
	if err != nil {
		return report, fmt.Errorf("verify trail: list chains: %w", err)
	}
	grown := make(map[Chain]Head) // chains that reach beyond the head that was read before
	for _, head := range heads {
		w := walker{chain: head.Chain, head: head, report: &report}
		if err := store.ReadTrail(ctx, head.Chain, w.row); err != nil {
			return report, fmt.Errorf("verify trail: read chain %s after row %d: %w", head.Chain, w.seq, err)
		}
		report.Chains++
		if w.finish(); w.seq > head.Seq {
			grown[head.Chain] = Head{Chain: head.Chain, Seq: w.seq, Hash: w.hash}
		}
	}
	if len(grown) == 0 {
		return report, nil
	}
	return report, verifyGrown(ctx, store, grown, &report)
}

// verifyGrown looks at the heads again. A row and its head are committed
// together, so a head that still lies before a row that was seen is wrong.
func verifyGrown(ctx context.Context, store Store, grown map[Chain]Head, report *Report) error {
	heads, err := store.Chains(ctx)
	if err != nil {
		return fmt.Errorf("verify trail: list chains again: %w", err)
	}
	for _, head := range heads {
		seen, ok := grown[head.Chain]
		switch {
		case !ok:
		case head.Seq == 0:
			report.add(Problem{Chain: head.Chain, Seq: seen.Seq, What: "the chain has rows, but the chain table does not know it"})
		case head.Seq < seen.Seq:
			report.add(Problem{Chain: head.Chain, Seq: seen.Seq, What: fmt.Sprintf("the chain table says that the chain ends with row %d, but it goes on to row %d: inserted, or the head was set back", head.Seq, seen.Seq)})
		case head.Seq == seen.Seq && head.Hash != seen.Hash:
			report.add(Problem{Chain: head.Chain, Seq: seen.Seq, What: "the last row has another hash than the chain table says: one of them was replaced"})
		}
	}
	return nil
}

// walker follows one chain.
type walker struct {
	chain  Chain
	head   Head // as the chain table had it before the walk
	report *Report
	seq    int64  // of the last row seen
	hash   string // stored in the last row seen
}

func (w *walker) problem(r Record, what string) {
	w.report.add(Problem{Chain: w.chain, Seq: r.Seq, ID: r.ID, What: what})
}

func (w *walker) row(r Record) error {
	w.report.Records++
	if r.Seq <= w.seq {
		w.problem(r, fmt.Sprintf("comes after row %d: reordered or inserted", w.seq))
		return nil
	}
	gap := r.Seq != w.seq+1
	if gap {
		w.missing(w.seq+1, r.Seq-1)
	}
	if r.Chain != w.chain {
		w.problem(r, fmt.Sprintf("belongs to chain %s", r.Chain))
	}
	if HashOf(r) != r.Hash {
		w.problem(r, "its contents do not give its hash: changed")
	}
	if !gap && r.PrevHash != w.hash {
		w.problem(r, fmt.Sprintf("does not follow row %d: that row was replaced, or this one inserted or moved here", w.seq))
	}
	if r.Seq == w.head.Seq && r.Hash != w.head.Hash {
		w.problem(r, "has another hash than the chain table says: one of them was replaced")
	}
	w.seq, w.hash = r.Seq, r.Hash
	return nil
}

func (w *walker) missing(first, last int64) {
	what := "row is missing: dropped or moved away"
	if last > first {
		what = fmt.Sprintf("rows %d to %d are missing: dropped or moved away", first, last)
	}
	w.report.add(Problem{Chain: w.chain, Seq: first, What: what})
}

// finish compares the chain's end with the head that was read before the walk.
func (w *walker) finish() {
	if w.seq < w.head.Seq {
		what := fmt.Sprintf("the chain ends with row %d, but the chain table says row %d: its end was cut", w.seq, w.head.Seq)
		w.report.add(Problem{Chain: w.chain, Seq: w.seq + 1, What: what})
	}
}
