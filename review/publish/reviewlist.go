package publish

import (
	"slices"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// MaxMarked bounds the annotations of one run: twenty writes. The least of what is
// beyond is in the text, where it has room, and counted where it has none.
const MaxMarked = 1_000

// listed is a finding as `countersign / review` shows it.
type listed struct {
	review.Finding
	by        []string // the models that found it; none: a scanner
	commented []int    // the pull requests in which its line has a comment
	pulls     []int    // the pull requests that it concerns
	mark      int      // its place among the annotations, counting from 1; 0: it is none
}

// findings are those of all views, each once, the worst first: those that stand, and
// the rest.
type findings struct {
	stand, rest []*listed
}

// gather collects what reviewers and scanners found. A finding that stands for one
// pull request stands; one that has a comment anywhere is marked nowhere.
func gather(views []View) findings {
	byID := make(map[review.FindingKey]*listed)
	var order []*listed
	for _, v := range views {
		add := func(f review.Finding, by string) {
			id := f.ID()
			f.Key = id
			l := byID[id]
			if l == nil {
				l = &listed{Finding: f}
				byID[id], order = l, append(order, l)
			}
			if f.Stands() && (!l.Stands() || worseFinding(f, l.Finding) < 0) {
				l.Finding = f
			}
			if by != "" && !slices.Contains(l.by, by) {
				l.by = append(l.by, by)
			}
			if !slices.Contains(l.pulls, v.Pull.Number) {
				l.pulls = append(l.pulls, v.Pull.Number)
			}
		}
		for _, f := range v.Evidence.Findings {
			add(f, "")
		}
		for _, r := range v.Evidence.Reviewers {
			for _, f := range r.Findings {
				f.Source = review.FromReviewer
				add(f, r.Model)
			}
		}
	}
	for _, v := range views {
		for _, key := range v.Commented {
			if l := byID[key]; l != nil && !slices.Contains(l.commented, v.Pull.Number) {
				l.commented = append(l.commented, v.Pull.Number)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *listed) int { return worseFinding(a.Finding, b.Finding) })
	var out findings
	for _, l := range order {
		if l.Stands() {
			out.stand = append(out.stand, l)
		} else {
			out.rest = append(out.rest, l)
		}
	}
	return out
}

// annotations are the findings that the run marks on the head's lines, the worst
// first: what is not a comment on its line already.
func (fs findings) annotations() []forge.Annotation {
	var out []forge.Annotation
	for _, l := range fs.stand {
		if len(l.commented) == 0 && onHeadLine(l.Finding) && len(out) < MaxMarked {
			out = append(out, annotation(l.Finding))
			l.mark = len(out)
		}
	}
	return out
}

// severities counts what stands, the worst first: "1 high, 2 low".
func severities(list []*listed) []string {
	counts := make(map[review.Severity]int)
	for _, l := range list {
		counts[gravity(l.Finding)]++
	}
	var out []string
	for s := review.SeverityCritical; s >= review.SeverityLow; s-- {
		if n := counts[s]; n > 0 {
			out = append(out, count(n)+" "+s.String())
		}
	}
	return out
}

// moreOf are the findings that are only counted, by rule. Pull requests on one head
// share most of them, so the largest number is the one that is certain.
func moreOf(views []View) []review.MoreFindings {
	var out []review.MoreFindings
	for _, v := range views {
		for _, m := range v.Evidence.MoreFindings {
			i := slices.IndexFunc(out, func(have review.MoreFindings) bool { return have.Rule == m.Rule })
			if i < 0 {
				out = append(out, m)
			} else if m.Count > out[i].Count {
				out[i].Count = m.Count
			}
		}
	}
	return out
}

func sumOf(more []review.MoreFindings) int {
	n := 0
	for _, m := range more {
		n += m.Count
	}
	return n
}
