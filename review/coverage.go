package review

// CoverageState says how far reviewers got with one file.
type CoverageState uint8

// The values of CoverageState, best first.
const (
	FileInspected CoverageState = iota + 1
	FilePartiallyInspected
	FileSkipped
)

const coverageStateNames = "inspected partially_inspected skipped"

// String is the value's name, or empty for the zero value.
func (c CoverageState) String() string { return enumName(coverageStateNames, uint8(c)) }

// MarshalText writes the name.
func (c CoverageState) MarshalText() ([]byte, error) {
	return enumText("coverage state", coverageStateNames, uint8(c))
}

// UnmarshalText reads a name; an unknown one is an error.
func (c *CoverageState) UnmarshalText(text []byte) error {
	n, err := enumValue("coverage state", coverageStateNames, text)
	if err == nil {
		*c = CoverageState(n)
	}
	return err
}

// SkipReason says why a file that needs eyes got none.
type SkipReason uint8

// The values of SkipReason, best first.
const (
	SkipUnfit   SkipReason = iota + 1 // not given: too large
	SkipOmitted                       // given, not accounted for even after one more turn asked
)

const skipReasonNames = "unfit omitted"

// String is the value's name, or empty for the zero value.
func (s SkipReason) String() string { return enumName(skipReasonNames, uint8(s)) }

// MarshalText writes the name.
func (s SkipReason) MarshalText() ([]byte, error) {
	return enumText("skip reason", skipReasonNames, uint8(s))
}

// UnmarshalText reads a name; an unknown one is an error.
func (s *SkipReason) UnmarshalText(text []byte) error {
	n, err := enumValue("skip reason", skipReasonNames, text)
	if err == nil {
		*s = SkipReason(n)
	}
	return err
}

// FileCoverage is one changed file on the coverage map; every changed file has
// exactly one entry.
type FileCoverage struct {
	Path      string        `json:"path"`
	State     CoverageState `json:"state"`
	NeedsEyes bool          `json:"needs_eyes,omitempty"` // false: generated, vendored and the like
	Why       SkipReason    `json:"why,omitempty"`        // only for skipped
	Note      string        `json:"note,omitempty"`
	// By names the reviewers that accounted for the file, as in ReviewerResult.Model;
	// none: every reviewer that ran.
	By []string `json:"by,omitempty"`
}

// worth is the Coverage that this file alone would give. What is not said counts
// as omitted.
func (c FileCoverage) worth() Coverage {
	switch {
	case !c.NeedsEyes || c.State == FileInspected:
		return CoverageAll
	case c.State == FilePartiallyInspected:
		return CoveragePartial
	case c.State == FileSkipped && c.Why == SkipUnfit:
		return CoverageUnfit
	}
	return CoverageOmitted
}

// cause is the file as a rule's cause.
func (c FileCoverage) cause() Cause {
	text := c.Path + " was not inspected"
	switch c.worth() {
	case CoveragePartial:
		text = c.Path + " was inspected in part"
	case CoverageUnfit:
		text = c.Path + " was too large to be given to the reviewer"
	}
	return Cause{Kind: CauseFile, Key: c.Path, Text: sentence(text, c.Note)}
}
