package review

import "github.com/countersign/countersign/risk"

// Decision is the gate's result. The order is from worst to best, so the lowest
// ceiling of all rules that fire is the decision; it also says who acts next.
type Decision uint8

// The values of Decision, worst first.
const (
	Blocked          Decision = iota + 1 // nobody may pass
	ChangesRequested                     // the author acts
	Pending                              // a machine acts
	NeedsHuman                           // a person acts
	NotReviewed                          // nothing against it, but no reviewer ended; at low only
	Approved                             // no concrete blocking defect in the available evidence
)

const decisionNames = "blocked changes_requested pending needs_human not_reviewed approved"

// String is the value's name, or empty for the zero value.
func (d Decision) String() string { return enumName(decisionNames, uint8(d)) }

// MarshalText writes the name.
func (d Decision) MarshalText() ([]byte, error) { return enumText("decision", decisionNames, uint8(d)) }

// UnmarshalText reads a name; an unknown one is an error.
func (d *Decision) UnmarshalText(text []byte) error {
	n, err := enumValue("decision", decisionNames, text)
	if err == nil {
		*d = Decision(n)
	}
	return err
}

// Next says who acts next.
type Next uint8

// The values of Next, least bad first.
const (
	NextNone Next = iota + 1 // no one has to
	NextPerson
	NextMachine
	NextAuthor
	NextNobody // no one may pass it
)

const nextNames = "none person machine author nobody"

// String is the value's name, or empty for the zero value.
func (x Next) String() string { return enumName(nextNames, uint8(x)) }

// MarshalText writes the name.
func (x Next) MarshalText() ([]byte, error) { return enumText("next", nextNames, uint8(x)) }

// UnmarshalText reads a name; an unknown one is an error.
func (x *Next) UnmarshalText(text []byte) error {
	n, err := enumValue("next", nextNames, text)
	if err == nil {
		*x = Next(n)
	}
	return err
}

// Next is who acts next after the decision.
func (d Decision) Next() Next {
	switch d {
	case Approved, NotReviewed:
		return NextNone
	case NeedsHuman:
		return NextPerson
	case Pending:
		return NextMachine
	case ChangesRequested:
		return NextAuthor
	}
	return NextNobody
}

// State is what a pull request is in besides its decision.
type State uint8

// The values of State, the usual one first.
const (
	StateActive State = iota + 1
	StateDraft
	StatePaused
	StateSuperseded // a newer head took its place
)

const stateNames = "active draft paused superseded"

// String is the value's name, or empty for the zero value.
func (s State) String() string { return enumName(stateNames, uint8(s)) }

// MarshalText writes the name.
func (s State) MarshalText() ([]byte, error) { return enumText("state", stateNames, uint8(s)) }

// UnmarshalText reads a name; an unknown one is an error.
func (s *State) UnmarshalText(text []byte) error {
	n, err := enumValue("state", stateNames, text)
	if err == nil {
		*s = State(n)
	}
	return err
}

// Conclusion is how a decision is shown as a check run. InProgress is a check's
// status and has no conclusion of its own; the rest complete it.
type Conclusion uint8

// The values of Conclusion, those that satisfy first.
const (
	ConclusionSuccess Conclusion = iota + 1
	ConclusionNeutral
	ConclusionInProgress
	ConclusionActionRequired
	ConclusionFailure
	ConclusionCancelled // given up: a force-push may bring the SHA back
)

const conclusionNames = "success neutral in_progress action_required failure cancelled"

// String is the value's name, or empty for the zero value.
func (c Conclusion) String() string { return enumName(conclusionNames, uint8(c)) }

// MarshalText writes the name.
func (c Conclusion) MarshalText() ([]byte, error) {
	return enumText("conclusion", conclusionNames, uint8(c))
}

// UnmarshalText reads a name; an unknown one is an error.
func (c *Conclusion) UnmarshalText(text []byte) error {
	n, err := enumValue("conclusion", conclusionNames, text)
	if err == nil {
		*c = Conclusion(n)
	}
	return err
}

// Satisfies reports whether a check with this conclusion lets a branch that
// requires it be merged. GitHub's skipped would too, and is never used.
func (c Conclusion) Satisfies() bool { return c == ConclusionSuccess || c == ConclusionNeutral }

// Conclude maps a decision to the check's conclusion (DESIGN section 8). In mode
// observe everything that is not pending ends neutral, drafts and paused pull
// requests too; a superseded head is cancelled in every mode. What is not a valid
// decision asks for action.
func Conclude(d Decision, tier risk.Tier, state State, observe bool) Conclusion {
	switch {
	case state == StateSuperseded:
		return ConclusionCancelled
	case state == StateDraft || state == StatePaused:
		if observe {
			return ConclusionNeutral
		}
		return ConclusionActionRequired
	case d == Pending:
		return ConclusionInProgress
	case observe && d >= Blocked && d <= Approved:
		return ConclusionNeutral
	}
	switch {
	case d == Approved:
		return ConclusionSuccess
	case d == ChangesRequested:
		return ConclusionFailure
	case d == NotReviewed && tier == risk.Low:
		return ConclusionNeutral
	}
	return ConclusionActionRequired
}

// Satisfies reports whether a decision at a tier lets a required check pass
// outside mode observe: approved, and not_reviewed at low.
func Satisfies(d Decision, tier risk.Tier) bool {
	return Conclude(d, tier, StateActive, false).Satisfies()
}
