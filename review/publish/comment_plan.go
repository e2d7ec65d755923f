package publish

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// CommentLimits bound the line comments of one pull request.
type CommentLimits struct {
	// Max is how many of our comments may stand open at once, at most
	// MaxOpenComments; 0 means none.
	Max int
	// MinSeverity is the least grave finding that is commented; zero means any.
	MinSeverity review.Severity
}

// MaxOpenComments bounds CommentLimits.Max: nobody reads more, and one call to the
// forge carries all of them.
const MaxOpenComments = 50

// commentPlan is what one view has to say on the lines of its pull request.
type commentPlan struct {
	// comments are new findings with a place, the worst first; left are those that
	// stand and are neither commented nor in a review's body.
	comments, left []review.Finding
	// gone are findings that people were shown and that are fixed.
	gone []Delivered
	// noted are rows that change without anybody being told.
	noted []Delivered
	// standing are findings that were shown before and may still be there.
	standing []Delivered
	digest   string
}

// planComments compares what stands with what people were shown. It is pure: the
// same view and rows give the same plan.
func planComments(v View, open []Delivered, limits CommentLimits) commentPlan {
	var p commentPlan
	all := knownFindings(v)
	shown := make(map[review.FindingKey]bool)
	for _, d := range open {
		shown[d.Key] = true
	}
	twins := twinsOf(v, all, shown)
	posted := 0
	for _, d := range sortedDelivered(open) {
		if _, present := all.byKey[d.Key]; !present {
			if twin, moved := twins.take(d); moved {
				was := d
				was.State = DeliveryMoved
				d.Key, d.Path = twin.ID(), twin.Path
				shown[d.Key] = true
				p.noted = append(p.noted, was, d)
			} else if isGone(v.Evidence, d) {
				p.gone = append(p.gone, d)
				continue
			}
		}
		p.standing = append(p.standing, d)
		if d.State == DeliveryPosted {
			posted++
		}
	}
	room := min(limits.Max, MaxOpenComments) - posted
	for _, f := range all.list {
		switch {
		case !f.Stands() || shown[f.ID()]:
		case room > len(p.comments) && gravity(f) >= limits.MinSeverity && anchored(f):
			p.comments = append(p.comments, f)
		default:
			p.left = append(p.left, f)
		}
	}
	p.digest = p.name(v.HeadSHA)
	return p
}

// name identifies the plan by what people would see of it.
func (p commentPlan) name(head string) string {
	type part struct {
		Key    review.FindingKey
		Anchor *review.Anchor
		Body   string
	}
	parts := []part{{Body: head}}
	for _, f := range p.comments {
		parts = append(parts, part{f.ID(), f.Anchor, commentBody(f)})
	}
	for _, d := range p.gone {
		parts = append(parts, part{Key: d.Key})
	}
	raw, err := json.Marshal(parts)
	if err != nil { // plain values: it cannot fail, and must not look like another plan
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// findingSet are a view's findings, each once, the worst first and then by place.
type findingSet struct {
	list  []review.Finding
	byKey map[review.FindingKey]review.Finding
}

// knownFindings are the findings of scanners and reviewers. One that is listed twice
// stands where either does.
func knownFindings(v View) findingSet {
	s := findingSet{byKey: make(map[review.FindingKey]review.Finding)}
	add := func(f review.Finding) {
		if known, ok := s.byKey[f.ID()]; !ok || (f.Stands() && !known.Stands()) {
			s.byKey[f.ID()] = f
		}
	}
	for _, f := range v.Evidence.Findings {
		add(f)
	}
	for _, r := range v.Evidence.Reviewers {
		for _, f := range r.Findings {
			f.Source = review.FromReviewer
			add(f)
		}
	}
	for _, f := range s.byKey {
		s.list = append(s.list, f)
	}
	slices.SortFunc(s.list, func(a, b review.Finding) int {
		return cmp.Or(cmp.Compare(gravity(b), gravity(a)), strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Title, b.Title), cmp.Compare(a.ID(), b.ID()))
	})
	return s
}

// anchored reports whether the finding has a place that can be sent. Whoever filled
// it in, no request has a line 0 or a side that is none (case 23).
func anchored(f review.Finding) bool {
	a := f.Anchor
	return a != nil && a.Path != "" && a.Line > 0 && a.StartLine >= 0 && a.StartLine < a.Line &&
		(a.Side == review.SideLeft || a.Side == review.SideRight)
}

func sortedDelivered(list []Delivered) []Delivered {
	return slices.SortedStableFunc(slices.Values(list), func(a, b Delivered) int {
		return cmp.Or(a.PostedAt.Compare(b.PostedAt), cmp.Compare(a.Key, b.Key))
	})
}

// likeness is the same for findings that differ in nothing but their line: where
// nothing may be quoted, the line is part of the key, and a finding that moved would
// otherwise look fixed.
func likeness(f review.Finding, path string) string {
	kind := f.Rule
	if kind == "" {
		kind = f.Category
	}
	return string(review.KeyOf(path, f.Title, kind))
}

// twins are findings that nobody was shown under their key, by likeness.
type twins map[string][]review.Finding

func twinsOf(v View, all findingSet, shown map[review.FindingKey]bool) twins {
	previous := make(map[string]string)
	for _, f := range v.Assessment.Files {
		if f.PreviousPath != "" {
			previous[f.Path] = f.PreviousPath
		}
	}
	t := make(twins)
	for _, f := range all.list {
		if shown[f.ID()] {
			continue
		}
		t.add(likeness(f, f.Path), f)
		if old := previous[f.Path]; old != "" && old != f.Path {
			t.add(likeness(f, old), f)
		}
	}
	return t
}

func (t twins) add(like string, f review.Finding) { t[like] = append(t[like], f) }

// take gives the finding that a delivered one has become, each at most once.
func (t twins) take(d Delivered) (review.Finding, bool) {
	list := t[d.Likeness]
	if len(list) == 0 {
		return review.Finding{}, false
	}
	f := list[0]
	for like, others := range t {
		t[like] = slices.DeleteFunc(others, func(o review.Finding) bool { return o.ID() == f.ID() })
	}
	return f, true
}

// lineComment is the finding as the forge is given it.
func lineComment(f review.Finding) forge.LineComment {
	a := *f.Anchor
	return forge.LineComment{Path: a.Path, Side: string(a.Side), StartLine: a.StartLine, Line: a.Line, Body: commentBody(f)}
}

// deliveredOf is the row of a finding that is about to be shown.
func deliveredOf(f review.Finding, head string) Delivered {
	d := Delivered{
		Key: f.ID(), State: DeliveryPosted, Rule: f.Rule, From: f.Source, Path: f.Path, Severity: gravity(f),
		Likeness: likeness(f, f.Path), Marker: review.FindingKey(markerKey(f.ID())), HeadSHA: head,
	}
	if d.From != review.FromReviewer {
		d.From = review.FromScan
	}
	return d
}
