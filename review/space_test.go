package review

import (
	"cmp"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/risk"
)

// The space of all facts, by mixed radix: one digit per fact, the first slowest.
const (
	dTier = iota
	dClearance
	dPolicy
	dIntent
	dCollected
	dArtifacts
	dCI
	dReview
	dIndependence
	dConfidence
	dCoverage
	dStanding
	dScan
	dPanel
	dimensions
)

type point [dimensions]uint8

// sizes is how many values each fact has, as DESIGN section 8 lists them.
func sizes() point { return point{4, 3, 2, 2, 3, 2, 6, 7, 4, 2, 4, 4, 4, 2} }

func (p point) facts() Facts {
	return Facts{
		Tier:         risk.Tier(p[dTier]),
		Clearance:    Clearance(p[dClearance] + 1),
		Policy:       Policy(p[dPolicy] + 1),
		Intent:       Intent(p[dIntent] + 1),
		Collected:    Collected(p[dCollected] + 1),
		Artifacts:    Artifacts(p[dArtifacts] + 1),
		CI:           CI(p[dCI] + 1),
		Review:       Review(p[dReview] + 1),
		Independence: Independence(p[dIndependence] + 1),
		Confidence:   Confidence(p[dConfidence] + 1),
		Coverage:     Coverage(p[dCoverage] + 1),
		Standing:     Findings(p[dStanding] + 1),
		Scan:         Findings(p[dScan] + 1),
		Panel:        Panel(p[dPanel] + 1),
	}
}

func pointAt(i int) point {
	var p point
	size := sizes()
	for d := dimensions - 1; d >= 0; d-- {
		p[d] = uint8(i % int(size[d]))
		i /= int(size[d])
	}
	return p
}

// space answers for every point; without a cache it decides each time.
type space struct {
	total   int
	strides [dimensions]int
	size    point
	cache   []Decision
}

func newSpace() *space {
	s := &space{total: 1, size: sizes()}
	for d := dimensions - 1; d >= 0; d-- {
		s.strides[d] = s.total
		s.total *= int(s.size[d])
	}
	return s
}

func (s *space) decision(i int) Decision {
	if s.cache != nil {
		return s.cache[i]
	}
	return decide(pointAt(i).facts()).decision
}

// each asks a question of every spaceStep-th point, on two goroutines. It returns
// how many were asked and an example of each answer that is not empty.
func (s *space) each(ask func(i int, p point) string) (int, map[string]Facts) {
	half := s.total / 2 / spaceStep * spaceStep
	visited, wrong := 0, map[string]Facts{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, part := range [][2]int{{0, half}, {half, s.total}} {
		wg.Go(func() {
			n, found := s.walk(part[0], part[1], ask)
			mu.Lock()
			defer mu.Unlock()
			visited += n
			maps.Copy(wrong, found)
		})
	}
	wg.Wait()
	return visited, wrong
}

func (s *space) walk(from, to int, ask func(i int, p point) string) (int, map[string]Facts) {
	n, wrong := 0, map[string]Facts{}
	p := pointAt(from)
	for i := from; i < to; i += spaceStep {
		n++
		if answer := ask(i, p); answer != "" {
			wrong[answer] = p.facts()
		}
		if spaceStep == 1 {
			p.next(s.size)
		} else {
			p = pointAt(i + spaceStep)
		}
	}
	return n, wrong
}

// worsening is a step from a better to a worse value of one fact, after which the
// decision may not be better.
type worsening struct {
	dimension    int
	better, than uint8 // digits
}

// worsenings is the written table of "worse". Facts that are plain lists from good
// to bad go step by step; Review does not, because a review that did not end also
// says nothing about independence, confidence, coverage and disagreement.
func worsenings() []worsening {
	var out []worsening
	size := sizes()
	for _, d := range []int{dTier, dClearance, dPolicy, dIntent, dCollected, dArtifacts, dCI, dIndependence, dConfidence, dCoverage, dStanding, dScan, dPanel} {
		for v := uint8(0); v+1 < size[d]; v++ {
			out = append(out, worsening{d, v, v + 1})
		}
	}
	for _, pair := range [][2]Review{
		{ReviewApproved, ReviewBlocked},
		{ReviewBlocked, ReviewChanges},
		{ReviewSettled, ReviewNotRun},
		{ReviewSettled, ReviewFailed},
		{ReviewNotRun, ReviewFailed},
		{ReviewFailed, ReviewNotRun}, // equally bad
		{ReviewNotRun, ReviewBlocked},
		{ReviewFailed, ReviewBlocked},
		{ReviewNotRun, ReviewPending},
		{ReviewFailed, ReviewPending},
		{ReviewFailed, ReviewChanges},
		{ReviewPending, ReviewChanges},
	} {
		out = append(out, worsening{dReview, uint8(pair[0]) - 1, uint8(pair[1]) - 1})
	}
	return out
}

// TestInvariantsOverAllFacts visits the whole space of facts (a sample under the
// race detector) and holds section 8's invariants at every point.
func TestInvariantsOverAllFacts(t *testing.T) {
	start := time.Now()
	s := newSpace()
	if want := 12_386_304; s.total != want {
		t.Fatalf("the space has %d points, want %d", s.total, want)
	}
	if spaceStep == 1 {
		s.cache = make([]Decision, s.total)
	}
	visited, wrong := s.each(func(i int, p point) string {
		f := p.facts()
		v := decide(f)
		if s.cache != nil {
			s.cache[i] = v.decision
		}
		return atPoint(f, v)
	})
	table := worsenings()
	_, worse := s.each(func(i int, p point) string {
		d := s.decision(i)
		return cmp.Or(losingReview(s, i, p, d), gettingWorse(s, i, p, d, table))
	})
	maps.Copy(wrong, worse)
	for what, where := range wrong {
		t.Errorf("%s, for example at %+v", what, where)
	}
	if want := s.total / spaceStep; visited < want {
		t.Errorf("visited %d points, want at least %d", visited, want)
	}
	t.Logf("%d of %d points in %v", visited, s.total, time.Since(start).Round(time.Millisecond))
}

// next moves to the following point.
func (p *point) next(size point) {
	for d := dimensions - 1; d >= 0; d-- {
		if p[d]++; p[d] < size[d] {
			return
		}
		p[d] = 0
	}
}

// atPoint holds what is true of one point alone.
func atPoint(f Facts, v verdict) string {
	switch {
	case f.CI == CIFailed && v.decision > ChangesRequested:
		return "a failed check is not overridden"
	case f.Clearance == ClearanceDenied && v.decision != Blocked:
		return "a deny does not block"
	case f.Policy == PolicyInvalid && v.decision != Blocked:
		return "an invalid policy does not block"
	case f.Collected == CollectedNone && v.decision > NeedsHuman:
		return "unread evidence passes"
	case f.Scan == FindingsCritical && v.decision > ChangesRequested:
		return "a critical scan finding passes"
	case v.decision < Approved && v.fired == 0:
		return "a result below approved names no rule"
	case v.decision == Approved && v.fired != 0:
		return "an approval has rules against it"
	case v.fired&v.residual != 0:
		return "a rule is fired and residual at once"
	case v.decision == NotReviewed && f.Tier != risk.Low:
		return "not_reviewed above low"
	case v.decision == Approved && f.Tier > risk.Low && f.Review != ReviewApproved:
		return "an approval above low without an approving review"
	}
	return ""
}

// losingReview: a review that is lost never makes a result satisfy that did not,
// above low. At low the facts say of not_run and failed that none ever ended on
// this patch: Summarise guarantees that (TestLosingAReviewNeverHelps).
func losingReview(s *space, i int, p point, d Decision) string {
	review := Review(p[dReview] + 1)
	tier := risk.Tier(p[dTier])
	if review == ReviewNotRun || review == ReviewFailed || tier == risk.Low || Satisfies(d, tier) {
		return ""
	}
	for _, lost := range []Review{ReviewNotRun, ReviewFailed} {
		j := i + (int(lost)-int(review))*s.strides[dReview]
		if Satisfies(s.decision(j), tier) {
			return "losing a review makes a result satisfy"
		}
	}
	return ""
}

func gettingWorse(s *space, i int, p point, d Decision, table []worsening) string {
	for _, w := range table {
		if p[w.dimension] != w.better {
			continue
		}
		j := i + (int(w.than)-int(w.better))*s.strides[w.dimension]
		if s.decision(j) > d {
			return fmt.Sprintf("fact %d getting worse from %d to %d improves the decision", w.dimension, w.better, w.than)
		}
	}
	return ""
}
