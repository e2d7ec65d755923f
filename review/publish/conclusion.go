package publish

import (
	"github.com/countersign/countersign/review"
)

// The statuses of a check run that we use, in the forge's words.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
)

// Conclusion is the check run's status and, when completed, its conclusion. Only
// a decided view can give one that satisfies a required check, except that mode
// observe never blocks a draft or a paused pull request.
func Conclusion(v View) (status, conclusion string) {
	c := conclude(v)
	if c == review.ConclusionInProgress {
		return statusInProgress, ""
	}
	return statusCompleted, c.String()
}

func conclude(v View) review.Conclusion {
	switch v.State {
	case StateDecided:
		return review.Conclude(v.Outcome.Gate.Decision, v.Outcome.Facts.Tier, review.StateActive, v.Observe)
	case StateDraft:
		return review.Conclude(review.Pending, v.Assessment.Tier, review.StateDraft, v.Observe)
	case StatePaused:
		return review.Conclude(review.Pending, v.Assessment.Tier, review.StatePaused, v.Observe)
	case StateSuperseded, StateClosed:
		// A head that was given up: a force-push or a reopening may bring it back.
		return review.ConclusionCancelled
	case StateFailed:
		if v.Failure != nil && v.Failure.Retrying {
			return review.ConclusionInProgress
		}
		return review.ConclusionActionRequired
	case StateInProgress:
		return review.ConclusionInProgress
	}
	return review.ConclusionActionRequired
}
