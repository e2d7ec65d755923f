package review

import "github.com/countersign/countersign/risk"

// Facts is everything that the gate's rules may know: closed enums, no text, no
// number. Where several states hold at once (one check failed, another is
// pending), the fact is the last of its list. The zero Facts is invalid and never
// approves.
//
// Independence, Confidence, Coverage and Panel describe reviewers, so rules read
// them only where Review says that one ended.
type Facts struct {
	Tier         risk.Tier    `json:"tier"`
	Clearance    Clearance    `json:"clearance"`
	Policy       Policy       `json:"policy"`
	Intent       Intent       `json:"intent"`
	Collected    Collected    `json:"collected"`
	Artifacts    Artifacts    `json:"artifacts"`
	CI           CI           `json:"ci"`
	Review       Review       `json:"review"`
	Independence Independence `json:"independence"`
	Confidence   Confidence   `json:"confidence"`
	Coverage     Coverage     `json:"coverage"`
	Standing     Findings     `json:"standing"` // of reviewers: verified, not waived, earlier ones too
	Scan         Findings     `json:"scan"`     // of deterministic scanners
	Panel        Panel        `json:"panel"`
}

// valid reports whether every fact holds one of its values.
func (f Facts) valid() bool {
	return f.Tier <= risk.Critical &&
		f.Clearance-1 < ClearanceDenied && f.Policy-1 < PolicyInvalid && f.Intent-1 < IntentMissing &&
		f.Collected-1 < CollectedNone && f.Artifacts-1 < ArtifactsMissing && f.CI-1 < CIFailed &&
		f.Review-1 < ReviewChanges && f.Independence-1 < IndependenceNone && f.Confidence-1 < ConfidenceLow &&
		f.Coverage-1 < CoverageOmitted && f.Standing-1 < FindingsCritical && f.Scan-1 < FindingsCritical &&
		f.Panel-1 < PanelDiffer
}

// reviewEnded reports whether a reviewer came to a verdict on this patch.
func (f Facts) reviewEnded() bool {
	return f.Review == ReviewApproved || f.Review == ReviewBlocked || f.Review == ReviewChanges
}

// worse is the later of two values of one fact.
func worse[T ~uint8](a, b T) T { return max(a, b) }

// Clearance says whether the paths may change and whether everyone who was
// asked has answered: asks, plan approval and human approval alike.
type Clearance uint8

// The values of Clearance, best first.
const (
	ClearanceClear  Clearance = iota + 1
	ClearanceAsked            // an ask, plan approval or human approval is unanswered
	ClearanceDenied           // a deny rule matches
)

const clearanceNames = "clear asked denied"

// String is the value's name, or empty for the zero value.
func (c Clearance) String() string { return enumName(clearanceNames, uint8(c)) }

// MarshalText writes the name.
func (c Clearance) MarshalText() ([]byte, error) {
	return enumText("clearance", clearanceNames, uint8(c))
}

// UnmarshalText reads a name; an unknown one is an error.
func (c *Clearance) UnmarshalText(text []byte) error {
	n, err := enumValue("clearance", clearanceNames, text)
	if err == nil {
		*c = Clearance(n)
	}
	return err
}

// Policy says whether a policy holds that can be trusted.
type Policy uint8

// The values of Policy, best first.
const (
	PolicyGood    Policy = iota + 1 // the effective one, or the last good revision of a file broken since
	PolicyInvalid                   // broken, and no good one was ever seen
)

const policyNames = "good invalid"

// String is the value's name, or empty for the zero value.
func (p Policy) String() string { return enumName(policyNames, uint8(p)) }

// MarshalText writes the name.
func (p Policy) MarshalText() ([]byte, error) { return enumText("policy state", policyNames, uint8(p)) }

// UnmarshalText reads a name; an unknown one is an error.
func (p *Policy) UnmarshalText(text []byte) error {
	n, err := enumValue("policy state", policyNames, text)
	if err == nil {
		*p = Policy(n)
	}
	return err
}

// Intent says whether the pull request states what it is for.
type Intent uint8

// The values of Intent, best first.
const (
	IntentStated Intent = iota + 1
	IntentMissing
)

const intentNames = "stated missing"

// String is the value's name, or empty for the zero value.
func (i Intent) String() string { return enumName(intentNames, uint8(i)) }

// MarshalText writes the name.
func (i Intent) MarshalText() ([]byte, error) { return enumText("intent", intentNames, uint8(i)) }

// UnmarshalText reads a name; an unknown one is an error.
func (i *Intent) UnmarshalText(text []byte) error {
	n, err := enumValue("intent", intentNames, text)
	if err == nil {
		*i = Intent(n)
	}
	return err
}

// Collected says how much of the evidence could be read.
type Collected uint8

// The values of Collected, best first.
const (
	CollectedAll     Collected = iota + 1
	CollectedPartial           // part of the patch was not seen
	CollectedNone              // files, diff or checks could not be read: unknown, which is never success
)

const collectedNames = "all partial none"

// String is the value's name, or empty for the zero value.
func (c Collected) String() string { return enumName(collectedNames, uint8(c)) }

// MarshalText writes the name.
func (c Collected) MarshalText() ([]byte, error) {
	return enumText("collected", collectedNames, uint8(c))
}

// UnmarshalText reads a name; an unknown one is an error.
func (c *Collected) UnmarshalText(text []byte) error {
	n, err := enumValue("collected", collectedNames, text)
	if err == nil {
		*c = Collected(n)
	}
	return err
}

// Artifacts says whether the files that the policy requires beside the patch hold.
type Artifacts uint8

// The values of Artifacts, best first.
const (
	ArtifactsHeld Artifacts = iota + 1
	ArtifactsMissing
)

const artifactsNames = "held missing"

// String is the value's name, or empty for the zero value.
func (a Artifacts) String() string { return enumName(artifactsNames, uint8(a)) }

// MarshalText writes the name.
func (a Artifacts) MarshalText() ([]byte, error) {
	return enumText("artifacts", artifactsNames, uint8(a))
}

// UnmarshalText reads a name; an unknown one is an error.
func (a *Artifacts) UnmarshalText(text []byte) error {
	n, err := enumValue("artifacts", artifactsNames, text)
	if err == nil {
		*a = Artifacts(n)
	}
	return err
}

// CI is what the head's checks say together.
type CI uint8

// The values of CI, best first.
const (
	CIPassed  CI = iota + 1
	CINone       // nothing that counts reported, and the grace for it is over
	CISkipped    // some were skipped or neutral
	CIMissing    // a required name never came within the wait
	CIPending    // something is not finished
	CIFailed     // a check that is not advisory did not succeed
)

const cINames = "passed none skipped missing pending failed"

// String is the value's name, or empty for the zero value.
func (c CI) String() string { return enumName(cINames, uint8(c)) }

// MarshalText writes the name.
func (c CI) MarshalText() ([]byte, error) { return enumText("CI", cINames, uint8(c)) }

// UnmarshalText reads a name; an unknown one is an error.
func (c *CI) UnmarshalText(text []byte) error {
	n, err := enumValue("CI", cINames, text)
	if err == nil {
		*c = CI(n)
	}
	return err
}

// Review is what the reviewers concluded together.
type Review uint8

// The values of Review, best first.
const (
	ReviewApproved Review = iota + 1
	ReviewSettled         // nothing is left that a model could find (DESIGN section 6)
	ReviewNotRun
	ReviewFailed  // ran, without a verdict that can be used
	ReviewBlocked // needs an external change or a human
	ReviewPending
	ReviewChanges // rejected
)

const reviewNames = "approved settled not_run failed blocked pending changes"

// String is the value's name, or empty for the zero value.
func (r Review) String() string { return enumName(reviewNames, uint8(r)) }

// MarshalText writes the name.
func (r Review) MarshalText() ([]byte, error) { return enumText("review", reviewNames, uint8(r)) }

// UnmarshalText reads a name; an unknown one is an error.
func (r *Review) UnmarshalText(text []byte) error {
	n, err := enumValue("review", reviewNames, text)
	if err == nil {
		*r = Review(n)
	}
	return err
}

// Confidence says whether the reviewers were as sure as the policy demands.
type Confidence uint8

// The values of Confidence, best first.
const (
	ConfidenceOK Confidence = iota + 1
	ConfidenceLow
)

const confidenceNames = "ok low"

// String is the value's name, or empty for the zero value.
func (c Confidence) String() string { return enumName(confidenceNames, uint8(c)) }

// MarshalText writes the name.
func (c Confidence) MarshalText() ([]byte, error) {
	return enumText("confidence", confidenceNames, uint8(c))
}

// UnmarshalText reads a name; an unknown one is an error.
func (c *Confidence) UnmarshalText(text []byte) error {
	n, err := enumValue("confidence", confidenceNames, text)
	if err == nil {
		*c = Confidence(n)
	}
	return err
}

// Coverage is the worst state of a file that needs eyes.
type Coverage uint8

// The values of Coverage, best first.
const (
	CoverageAll Coverage = iota + 1
	CoveragePartial
	CoverageUnfit   // not given to the reviewer: too large
	CoverageOmitted // given, and not accounted for
)

const coverageNames = "all partial unfit omitted"

// String is the value's name, or empty for the zero value.
func (c Coverage) String() string { return enumName(coverageNames, uint8(c)) }

// MarshalText writes the name.
func (c Coverage) MarshalText() ([]byte, error) { return enumText("coverage", coverageNames, uint8(c)) }

// UnmarshalText reads a name; an unknown one is an error.
func (c *Coverage) UnmarshalText(text []byte) error {
	n, err := enumValue("coverage", coverageNames, text)
	if err == nil {
		*c = Coverage(n)
	}
	return err
}

// Findings is the gravest finding of one source.
type Findings uint8

// The values of Findings, best first.
const (
	FindingsNone  Findings = iota + 1
	FindingsMinor          // low and medium severity
	FindingsHigh
	FindingsCritical
)

const findingsNames = "none minor high critical"

// String is the value's name, or empty for the zero value.
func (f Findings) String() string { return enumName(findingsNames, uint8(f)) }

// MarshalText writes the name.
func (f Findings) MarshalText() ([]byte, error) { return enumText("findings", findingsNames, uint8(f)) }

// UnmarshalText reads a name; an unknown one is an error.
func (f *Findings) UnmarshalText(text []byte) error {
	n, err := enumValue("findings", findingsNames, text)
	if err == nil {
		*f = Findings(n)
	}
	return err
}

// Panel says whether reviewers differ and the policy leaves that to a person.
// A difference that the policy settles itself is a residual risk, not a fact.
type Panel uint8

// The values of Panel, best first.
const (
	PanelAgree Panel = iota + 1
	PanelDiffer
)

const panelNames = "agree differ"

// String is the value's name, or empty for the zero value.
func (p Panel) String() string { return enumName(panelNames, uint8(p)) }

// MarshalText writes the name.
func (p Panel) MarshalText() ([]byte, error) { return enumText("panel", panelNames, uint8(p)) }

// UnmarshalText reads a name; an unknown one is an error.
func (p *Panel) UnmarshalText(text []byte) error {
	n, err := enumValue("panel", panelNames, text)
	if err == nil {
		*p = Panel(n)
	}
	return err
}
