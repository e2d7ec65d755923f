package forge

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what a refused call means for the caller: retry, wait, give up, or
// tell someone.
type Kind uint8

// The kinds of refusal.
const (
	KindUnavailable  Kind = iota // 5xx, reset, timeout: retried
	KindRateLimited              // primary or secondary limit: wait until RetryAfter
	KindUnauthorized             // token refused although fresh
	KindForbidden                // a permission is missing; retrying is useless
	KindSuspended                // the installation is suspended
	KindNotFound                 // not there, or not visible to us
	KindInvalid                  // 422: the request itself is wrong
	KindTooLarge                 // 406, or over our own bound
	KindMalformed                // an answer that is not what the API promises
)

// kindNames is read-only.
var kindNames = [...]string{"unavailable", "rate limited", "unauthorized", "forbidden", "suspended", "not found", "invalid", "too large", "malformed"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is a call to the forge that failed. Its text never holds a token or a
// body's source text.
type Error struct {
	Kind   Kind
	Op     string // what was tried: "compare acme/api main...3f2a9c1"
	Status int    // HTTP status, 0 when there was no answer
	// RetryAfter is when the forge said it would answer again; zero when it did
	// not say.
	RetryAfter time.Duration
	// Unsent: no request was made, because of what was answered to earlier ones.
	Unsent bool
	// Hint says what would be right: the missing permission, the clock skew.
	Hint string
	Err  error
}

func (e *Error) Error() string {
	s := e.Op + ": " + e.Kind.String()
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind reports whether err is a refusal of this kind.
func IsKind(err error, k Kind) bool {
	var fe *Error
	return errors.As(err, &fe) && fe.Kind == k
}

// Held reports whether the call has to wait for something that ends, so that it says
// nothing against what was tried: a limit, or a forge that is known to be down.
func Held(err error) bool {
	var fe *Error
	return errors.As(err, &fe) && (fe.Kind == KindRateLimited || fe.Unsent)
}

// Temporary reports whether waiting may help.
func Temporary(err error) bool {
	var fe *Error
	return errors.As(err, &fe) && (fe.Kind == KindUnavailable || fe.Kind == KindRateLimited)
}
