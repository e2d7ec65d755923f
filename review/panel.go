package review

import (
	"fmt"
	"slices"

	"github.com/countersign/countersign/risk"
)

// sameModelConfidence caps the confidence of a review by the model that wrote the
// code, from medium up (DESIGN section 8).
const sameModelConfidence = 0.5

// panel is the reviewers of one patch: of each the last review that came to a
// verdict, and those that never did. A later review that does not run replaces
// nothing.
type panel struct {
	ended   []reviewEnd
	missing []ReviewerResult // last not_run or failed review of those that never ended
	pending []ReviewerResult
}

// reviewEnd is a review that came to a verdict.
type reviewEnd struct {
	ReviewerResult
	verdict Review // approved, blocked or changes
}

func (p panel) anyEnded() bool { return len(p.ended) > 0 }

func newPanel(results []ReviewerResult) panel {
	var p panel
	var names []string
	last := map[string]ReviewerResult{}
	ends := map[string]reviewEnd{}
	for _, r := range results {
		name := r.Name()
		if _, seen := last[name]; !seen {
			names = append(names, name)
		}
		last[name] = r
		if v := r.review(); ended(v) {
			ends[name] = reviewEnd{r, v}
		}
	}
	for _, name := range names {
		end, hasEnd := ends[name]
		if hasEnd {
			p.ended = append(p.ended, end)
		}
		switch {
		case last[name].Status == ReviewerPending:
			p.pending = append(p.pending, last[name])
		case !hasEnd:
			p.missing = append(p.missing, last[name])
		}
	}
	return p
}

func ended(v Review) bool { return v == ReviewApproved || v == ReviewBlocked || v == ReviewChanges }

// review is what one result alone comes to. A rejection without a standing
// finding, and a review none of whose findings is where it says, have failed
// (DESIGN sections 7 and 8).
func (r ReviewerResult) review() Review {
	switch r.Status {
	case ReviewerPending:
		return ReviewPending
	case ReviewerNotRun:
		return ReviewNotRun
	case ReviewerRan:
	default:
		return ReviewFailed
	}
	if len(r.Findings) > 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Verified }) {
		return ReviewFailed
	}
	switch r.Verdict {
	case VerdictApproved:
		return ReviewApproved
	case VerdictBlocked:
		return ReviewBlocked
	case VerdictChanges:
		if len(r.grounds()) > 0 {
			return ReviewChanges
		}
	}
	return ReviewFailed
}

// grounds are the findings that a stricter verdict rests on. An unconfirmed one does not
// block by itself.
func (r ReviewerResult) grounds() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		f.Source = FromReviewer
		if f.Stands() && !f.Unconfirmed {
			out = append(out, f)
		}
	}
	return out
}

// cause is the reviewer as a rule's cause.
func (r ReviewerResult) cause(text string) Cause {
	return Cause{Kind: CauseReviewer, Key: r.Name(), Text: r.Name() + " " + text}
}

// review joins the panel to one fact, and says whether a disagreement is left to a
// person.
func (p panel) review(l *ledger, e Evidence, rules Rules, checkPassed bool) (Review, Panel) {
	for _, r := range p.ended {
		for _, text := range r.Residual {
			l.risk("", text)
		}
	}
	fact, differ := p.verdict(l, e.Tier, rules.At(e.Tier).Disagreement)
	for _, r := range p.pending {
		fact = worse(fact, ReviewPending)
		l.add(RuleReviewPending, r.cause("has not finished"))
	}
	if len(p.pending) > 0 {
		return fact, differ
	}
	if !p.anyEnded() && settled(e, rules, checkPassed) {
		return ReviewSettled, differ
	}
	return worse(fact, p.shortfall(l, rules.At(e.Tier).Reviewers)), differ
}

// settled: nothing is left that a model could find (DESIGN section 6).
func settled(e Evidence, rules Rules, checkPassed bool) bool {
	return e.Tier == risk.Low && e.DocsOnly && !rules.ReviewRequired && (checkPassed || len(e.ContentPassed) > 0)
}

// shortfall is what fewer reviews than the tier needs come to. Attempts that
// failed do not matter once enough others ended.
func (p panel) shortfall(l *ledger, needed int) Review {
	fact := ReviewApproved
	lacking := needed - len(p.ended)
	if lacking <= 0 {
		return fact
	}
	for _, r := range p.missing {
		state, text := r.review(), "did not run"
		if state == ReviewFailed {
			text = "came to no usable verdict"
		}
		if l.stands(RuleReviewMissing, r.cause(sentence(text, r.Reason))) {
			fact = worse(fact, state)
		}
	}
	if lacking <= len(p.missing) {
		return fact
	}
	text := "no reviewer ran"
	if p.anyEnded() || needed > 1 {
		text = fmt.Sprintf("%d of %d reviews ended", len(p.ended), needed)
	}
	key := fmt.Sprintf("%d of %d reviews", len(p.ended), needed)
	if l.stands(RuleReviewMissing, Cause{Kind: CauseOther, Key: key, Text: text}) {
		fact = worse(fact, ReviewNotRun)
	}
	return fact
}

// verdict joins the verdicts of the reviews that ended.
func (p panel) verdict(l *ledger, tier risk.Tier, how Disagreement) (Review, Panel) {
	hold := p.ended
	if p.differ() {
		switch {
		case how == LeftToHuman && tier >= risk.Medium:
			return p.leaveToHuman(l)
		case how == Third:
			hold = p.majority()
		}
		l.risk(RuleReviewersDisagree, "reviewers differ: "+p.describe())
	}
	fact := ReviewApproved
	for _, r := range hold {
		fact = worse(fact, r.weigh(l))
	}
	return fact, PanelAgree
}

// weigh is the verdict of one review, unless a person accepted it: a rejection
// together with every finding that it rests on.
func (r reviewEnd) weigh(l *ledger) Review {
	stands := false
	switch r.verdict {
	case ReviewBlocked:
		stands = l.stands(RuleReviewerBlocked, r.cause(sentence("says that a person or an outside change is needed", r.Reason)))
	case ReviewChanges:
		stands = l.stands(RuleReviewerRequestedChanges, r.cause("rejects the patch"))
		for _, f := range r.grounds() {
			if l.stands(RuleReviewerRequestedChanges, f.cause()) {
				stands = true
			}
		}
	}
	if stands {
		return r.verdict
	}
	return ReviewApproved
}

func (p panel) differ() bool {
	return slices.ContainsFunc(p.ended, func(r reviewEnd) bool { return r.verdict != p.ended[0].verdict })
}

// majority is those who hold the verdict of more than half, or everyone when there
// is none: then the strictest holds.
func (p panel) majority() []reviewEnd {
	for _, v := range []Review{ReviewApproved, ReviewBlocked, ReviewChanges} {
		var hold []reviewEnd
		for _, r := range p.ended {
			if r.verdict == v {
				hold = append(hold, r)
			}
		}
		if 2*len(hold) > len(p.ended) {
			return hold
		}
	}
	return p.ended
}

// leaveToHuman keeps the mildest verdict, so that the open question is the
// disagreement itself and a person, not the author, acts next. Findings of the
// stricter reviewer stand by themselves. Who accepts names each verdict and the
// stricter one's findings: what changes asks again.
func (p panel) leaveToHuman(l *ledger) (Review, Panel) {
	mildest, differ := p.ended[0].verdict, PanelAgree
	for _, r := range p.ended {
		mildest = min(mildest, r.verdict)
		c := r.cause("says " + r.verdict.String())
		c.Key += " " + r.verdict.String()
		if l.stands(RuleReviewersDisagree, c) {
			differ = PanelDiffer
		}
	}
	fact := ReviewApproved
	for _, r := range p.ended {
		if r.verdict == mildest {
			fact = worse(fact, r.weigh(l))
			continue
		}
		for _, f := range r.grounds() {
			if l.stands(RuleReviewersDisagree, f.cause()) {
				differ = PanelDiffer
			}
		}
	}
	return fact, differ
}

func (p panel) describe() string {
	s := ""
	for i, r := range p.ended {
		if i > 0 {
			s += ", "
		}
		s += r.Name() + " says " + r.verdict.String()
	}
	return s
}

// confidence is low when any review that ended is less sure than the tier demands.
func (p panel) confidence(l *ledger, tier risk.Tier, demanded float64) Confidence {
	fact := ConfidenceOK
	for _, r := range p.ended {
		c := r.Confidence
		stated := c > 0 && c <= 1 // false for NaN too
		if tier >= risk.Medium && r.level() == IndependenceNone {
			c = min(c, sameModelConfidence)
		}
		if stated && c >= demanded {
			continue
		}
		text := fmt.Sprintf("is %.2f confident, %.2f is demanded", c, demanded)
		if !stated {
			text = "states no confidence"
		}
		if l.stands(RuleConfidenceLow, r.cause(text)) {
			fact = ConfidenceLow
		}
	}
	return fact
}
