package collect

import (
	"context"
	"errors"

	"github.com/countersign/countersign/review/forge"
)

// mendable reports whether a read failed for a reason that passes: the whole
// session is then tried again, as often as its queue allows, since what is
// written down as unread stays so until the next push. A refused token and a
// suspended installation belong to it: they tell of us and not of what was
// asked. What the forge does not have, does not show or answers in a way that
// nobody promised will not be better next time.
func mendable(err error) bool {
	var fe *forge.Error
	if !errors.As(err, &fe) {
		return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return forge.Temporary(err) || fe.Kind == forge.KindUnauthorized || fe.Kind == forge.KindSuspended
}
