package publish

import "fmt"

// judges reports whether the check of this name carries a verdict. The two others
// inform: whatever they say, they end as neutral, so that a branch that requires one
// of them by mistake is neither held up nor let through by it.
func judges(name string) bool { return name == CheckName || name == AdvisoryName }

// known reports whether the name is one of ours.
func known(name string) bool { return judges(name) || name == ReviewName || name == CoverageName }

// Rival is the name under which a pull request says nothing more once it says
// something under this one, on the same head: its base is gated, or it is not. It is
// empty where there is none.
func Rival(name string) string {
	switch name {
	case CheckName:
		return AdvisoryName
	case AdvisoryName:
		return CheckName
	}
	return ""
}

// givenUp is the conclusion of a run that another one, or nothing, took the place of.
func givenUp(name string) string {
	if judges(name) {
		return "cancelled"
	}
	return informs
}

// informs is the one conclusion of a check that does not judge.
const informs = "neutral"

// allowedEnd refuses a conclusion that a check of this name must not have, whatever
// a caller hands in.
func allowedEnd(name, conclusion string) error {
	if judges(name) || conclusion == "" || conclusion == informs {
		return nil
	}
	return fmt.Errorf("%s must not end as %s: only %s and %s judge", name, conclusion, CheckName, AdvisoryName)
}
