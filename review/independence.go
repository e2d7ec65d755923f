package review

import "slices"

// Independence is how far a reviewer stands from the models that wrote the code:
// provider and family against the provenance. It lowers shared blindness and is
// never proof. Rules test the level, never a provider's name.
type Independence uint8

// The values of Independence, best first.
const (
	IndependenceStrong   Independence = iota + 1 // provider and family differ from every mark
	IndependenceModerate                         // no mark, or one that names no vendor
	IndependenceWeak                             // same vendor or family
	IndependenceNone                             // same model
)

const independenceNames = "strong moderate weak none"

// String is the value's name, or empty for the zero value.
func (i Independence) String() string { return enumName(independenceNames, uint8(i)) }

// MarshalText writes the name.
func (i Independence) MarshalText() ([]byte, error) {
	return enumText("independence", independenceNames, uint8(i))
}

// UnmarshalText reads a name; an unknown one is an error.
func (i *Independence) UnmarshalText(text []byte) error {
	n, err := enumValue("independence", independenceNames, text)
	if err == nil {
		*i = Independence(n)
	}
	return err
}

// independence is the level that as many of the reviewers as the tier needs reach
// at least: a further, closer reviewer takes nothing away. Two that are moderate
// and of different families are together strong, since at least one of them is
// not the author.
func (p panel) independence(l *ledger, needed int) Independence {
	if !p.anyEnded() {
		return IndependenceStrong
	}
	levels := make([]Independence, len(p.ended))
	for i, r := range p.ended {
		levels[i] = r.distance(l)
	}
	slices.Sort(levels)
	level := levels[min(needed, len(levels))-1]
	if level == IndependenceModerate && p.twoFamilies() {
		level = IndependenceStrong
	}
	return level
}

// distance is one reviewer's independence after acceptances: who accepted that it
// is the same model need not accept once more that it is close.
func (r reviewEnd) distance(l *ledger) Independence {
	switch {
	case r.level() == IndependenceNone:
		c := r.cause("is the model that wrote the code, or nothing says otherwise")
		if !l.stands(RuleIndependenceNone, c) {
			return IndependenceStrong
		}
		l.add(RuleIndependenceWeak, c)
		return IndependenceNone
	case r.level() == IndependenceWeak:
		if !l.stands(RuleIndependenceWeak, r.cause("shares vendor or family with the models that wrote the code")) {
			return IndependenceStrong
		}
		return IndependenceWeak
	}
	return r.level()
}

// level is the stated independence; unstated or contradicted, there is none.
func (r ReviewerResult) level() Independence {
	if r.SameModel || r.Independence-1 >= IndependenceNone {
		return IndependenceNone
	}
	return r.Independence
}

// twoFamilies: two reviewers, each moderate or better, of known and different
// families.
func (p panel) twoFamilies() bool {
	family := ""
	for _, r := range p.ended {
		if r.Family == "" || r.level() > IndependenceModerate {
			continue
		}
		if family != "" && r.Family != family {
			return true
		}
		family = r.Family
	}
	return false
}
