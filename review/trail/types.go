package trail

import "slices"

// Types lists the record types in the order of the gates.
func Types() []Type {
	return []Type{
		TypeDelivery, TypeRunStart, TypeClarification, TypePlanReview, TypePermission,
		TypePatchSummary, TypeArtifactCheck, TypeCheckSummary, TypeCarried,
		TypeReviewArtifacts, TypeReviewerStart, TypeToolUse, TypeReviewerEnd, TypeReviewerError,
		TypeReviewDecision, TypeTokenUsage, TypeGateDecision, TypeHumanDecision, TypeFixIteration,
		TypePublish, TypeFinalReport, TypeRunEnd, TypeRunError, TypeHandoverAudit, TypeRedaction,
	}
}

// Known reports whether t is one of Types.
func (t Type) Known() bool { return slices.Contains(Types(), t) }

// Bound keeps the first n of a list and counts what it left out, for bodies
// that say so.
func Bound[T any](list []T, n int) (kept []T, leftOut int) {
	if n < 0 {
		n = 0
	}
	if len(list) <= n {
		return list, 0
	}
	return list[:n:n], len(list) - n
}
