package risk

import (
	"fmt"
	"strconv"
)

// Tri is an answer that may not be known. The zero value is Unknown, so that a
// fact nobody filled in is never taken for a no.
type Tri uint8

// The answers.
const (
	Unknown Tri = iota
	No
	Yes
)

// String returns the answer in lower case.
func (t Tri) String() string {
	switch t {
	case Unknown:
		return "unknown"
	case No:
		return "no"
	case Yes:
		return "yes"
	}
	return "tri(" + strconv.Itoa(int(t)) + ")"
}

// MarshalText writes the answer as String does.
func (t Tri) MarshalText() ([]byte, error) {
	if t > Yes {
		return nil, fmt.Errorf("write answer: %s is none of unknown, no, yes", t)
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads an answer as String writes it.
func (t *Tri) UnmarshalText(b []byte) error {
	for v := Unknown; v <= Yes; v++ {
		if string(b) == v.String() {
			*t = v
			return nil
		}
	}
	return fmt.Errorf("read answer: %q is none of unknown, no, yes", b)
}

// Rule is one of the policy's own rules: files under Paths are of Kind, and the
// tier is at least Tier.
//
// Paths are doublestar globs over the whole path. They match either path of a
// file and ignore case and look-alikes. A rule can raise only: its kind is added
// to what the path says, and its tier is a floor.
type Rule struct {
	ID             string
	Paths          []string
	Kind           Kind // optional
	Tier           Tier
	ReviewRequired bool // the policy's `review: required`; floor high
	Ask            bool // a path that the policy asks a person about; floor high
}

// Author is the standing of the pull request's author in the repository, by
// GitHub's word and not by what the author's marks claim.
type Author struct {
	Write              Tri // may push here
	FirstContribution  Tri // has nothing merged here yet
	VerifiedAutomation Tri // an App known to be one, by its account
}

// ContentFact is what a scanner says about one content rule.
type ContentFact struct {
	State Tri
	Files []string // where it found it, when State is Yes
}

// Context is what the assessment needs to know besides the patch. Its zero
// value means that nothing is known.
type Context struct {
	Author Author

	// RequiredWorkflows are the paths of workflows known to report a required
	// name, at the merge base or at the head: an edit can make any workflow report
	// any name. RequiredKnown says that this list and RequiredNames are complete.
	RequiredWorkflows []string
	RequiredKnown     bool
	// RequiredNames are the required checks' names. While there are any, a new
	// workflow may report one of them.
	RequiredNames []string

	// CIPaths are files that a required job runs: scripts, composite actions,
	// files that hold make targets. They are of kind CI whatever else they are.
	CIPaths []string

	// Content holds the scanners' answers by rule id (those that RuleIDs marks
	// as Content). An id that is absent is Unknown.
	Content map[string]ContentFact

	// ExactRevert says that the patch restores an earlier merged state, proven
	// by equal trees. It takes raises back, never a floor.
	ExactRevert Tri

	// Unread are the paths of files whose content could not be read, besides those
	// that the patch itself marks as truncated.
	Unread []string
}
