package review

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Severity is how grave a finding is.
type Severity uint8

// The values of Severity, least first.
const (
	SeverityLow Severity = iota + 1
	SeverityMedium
	SeverityHigh
	SeverityCritical
)

const severityNames = "low medium high critical"

// String is the value's name, or empty for the zero value.
func (s Severity) String() string { return enumName(severityNames, uint8(s)) }

// MarshalText writes the name.
func (s Severity) MarshalText() ([]byte, error) { return enumText("severity", severityNames, uint8(s)) }

// UnmarshalText reads a name; an unknown one is an error.
func (s *Severity) UnmarshalText(text []byte) error {
	n, err := enumValue("severity", severityNames, text)
	if err == nil {
		*s = Severity(n)
	}
	return err
}

// FindingSource says who found it.
type FindingSource uint8

// The sources of findings.
const (
	FromReviewer FindingSource = iota + 1 // a model: counts only once verified
	FromScan                              // a deterministic scanner: exact lines
)

const findingSourceNames = "reviewer scan"

// String is the value's name, or empty for the zero value.
func (f FindingSource) String() string { return enumName(findingSourceNames, uint8(f)) }

// MarshalText writes the name.
func (f FindingSource) MarshalText() ([]byte, error) {
	return enumText("finding source", findingSourceNames, uint8(f))
}

// UnmarshalText reads a name; an unknown one is an error.
func (f *FindingSource) UnmarshalText(text []byte) error {
	n, err := enumValue("finding source", findingSourceNames, text)
	if err == nil {
		*f = FindingSource(n)
	}
	return err
}

// Side is the side of the diff that a finding points at, in GitHub's words.
type Side string

// The sides of a diff.
const (
	SideLeft  Side = "LEFT"
	SideRight Side = "RIGHT"
)

// FindingKey names the same finding across pushes: path, normalised quote and
// category, not the wording and not the line.
type FindingKey string

// KeyOf computes a FindingKey. White space inside the quote does not matter, so
// that a reindented line is still the same finding.
func KeyOf(path, quote, category string) FindingKey {
	h := sha256.New()
	for _, part := range []string{path, strings.Join(strings.Fields(quote), " "), category} {
		// Lengths go first, so that no part can be moved into its neighbour.
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return FindingKey(hex.EncodeToString(h.Sum(nil)[:16]))
}

// Waiver is a person's statement that a finding is not one.
type Waiver struct {
	By     string `json:"by"`
	URL    string `json:"url,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Anchor is a place in a hunk of the diff.
type Anchor struct {
	Path      string `json:"path"`
	Side      Side   `json:"side"`
	StartLine int    `json:"start_line,omitempty"` // 0: one line
	Line      int    `json:"line"`
}

// Finding is one defect at one place.
type Finding struct {
	Key         FindingKey    `json:"key,omitempty"`  // computed when empty
	Rule        string        `json:"rule,omitempty"` // the scanner's rule
	Source      FindingSource `json:"source"`
	Path        string        `json:"path"`
	Side        Side          `json:"side,omitempty"`
	StartLine   int           `json:"start_line,omitempty"`
	Line        int           `json:"line,omitempty"`
	Quote       string        `json:"quote,omitempty"`
	Severity    Severity      `json:"severity"`
	Category    string        `json:"category,omitempty"`
	Title       string        `json:"title"`
	Detail      string        `json:"detail,omitempty"`
	FailingCase string        `json:"failing_case,omitempty"`
	// Suggestion is what the lines of Anchor should be replaced by, whole lines; set
	// only where that is exact.
	Suggestion string `json:"suggestion,omitempty"`
	// Anchor is the place at which the forge accepts a comment; nil: there is none.
	Anchor *Anchor `json:"anchor,omitempty"`

	// Verified: path, line and quote were found. A reviewer's finding without it
	// is listed and decides nothing.
	Verified bool `json:"verified,omitempty"`
	// Unconfirmed: a second look named no failing input or state. It stays
	// visible and does not block by itself.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Withdrawn: the reviewer took it back with evidence.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Waived by a person; never counts for a deterministic critical finding.
	Waived *Waiver `json:"waived,omitempty"`
	// Allowed is the reason by which the base's policy names it a false positive.
	Allowed string `json:"allowed,omitempty"`
}

// ID is the finding's key, computed where none was stored.
func (f Finding) ID() FindingKey {
	if f.Key != "" {
		return f.Key
	}
	category := f.Category
	if category == "" {
		category = f.Rule
	}
	return KeyOf(f.Path, f.Quote, category)
}

// Stands reports whether the finding counts: found where it says, and neither
// waived, withdrawn nor allowed. One without a source counts as a scanner's, which
// is the stricter reading.
func (f Finding) Stands() bool {
	if f.Allowed != "" || f.Withdrawn {
		return false
	}
	waived := f.Waived != nil && f.Waived.By != ""
	if f.Source == FromReviewer {
		return f.Verified && !waived
	}
	return !waived || f.Severity == SeverityCritical
}

// weight is what the finding alone would give. A severity that nobody stated
// counts as high.
func (f Finding) weight() Findings {
	switch {
	case f.Unconfirmed && f.Source == FromReviewer:
		return FindingsMinor
	case f.Severity == SeverityLow || f.Severity == SeverityMedium:
		return FindingsMinor
	case f.Severity == SeverityCritical:
		return FindingsCritical
	}
	return FindingsHigh
}

// cause is the finding as a rule's cause.
func (f Finding) cause() Cause {
	return Cause{
		Kind: CauseFinding,
		Key:  string(f.ID()),
		Text: fmt.Sprintf("%s (%s:%d)", f.Title, f.Path, f.Line),
	}
}
