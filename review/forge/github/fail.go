package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// unanswered is the error of a call that got no usable answer.
func unanswered(op string, c call, err error) error {
	var inner *forge.Error
	if errors.As(err, &inner) { // the token could not be had
		e := *inner
		e.Op = op + ": " + inner.Op
		return &e
	}
	var late *limitedError
	if errors.As(err, &late) {
		return &forge.Error{Kind: forge.KindRateLimited, Op: op, RetryAfter: late.after, Unsent: true, Err: late}
	}
	var open *openError
	if errors.As(err, &open) {
		return &forge.Error{Kind: forge.KindUnavailable, Op: op, RetryAfter: open.after, Unsent: true, Err: open}
	}
	if errors.Is(err, errTooLarge) {
		return &forge.Error{Kind: forge.KindTooLarge, Op: op, Err: withoutURL(err)}
	}
	if errors.Is(err, errRedirect) {
		return malformed(op, errRedirect)
	}
	e := &forge.Error{Kind: forge.KindUnavailable, Op: op, Err: withoutURL(err)}
	if c.effect == creates {
		e.Hint = "it may have happened all the same: look for it before trying again"
	}
	return e
}

// withoutURL drops the address that net/http puts before the cause: Op says
// what was tried, and addresses may hold what logs should not.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refused is the error of an answer without success.
func refused(op string, c call, resp *http.Response, now time.Time) error {
	said := parseRefusal(resp)
	e := &forge.Error{Op: op, Status: resp.StatusCode, Kind: kindOf(resp, said)}
	if said.message != "" {
		e.Err = errors.New(said.message)
	}
	if limit, limited := limitOf(resp, now); limited {
		e.Kind, e.RetryAfter = forge.KindRateLimited, limit.after
		return e
	}
	switch e.Kind {
	case forge.KindUnavailable:
		e.RetryAfter = retryAfter(resp, now)
		if c.effect == creates {
			e.Hint = "it may have happened all the same: look for it before trying again"
		}
	case forge.KindUnauthorized:
		e.Hint = clockHint(said.message, resp, now)
	case forge.KindForbidden:
		e.Hint = permissionHint(c.route, resp, said.message)
	case forge.KindNotFound:
		if c.effect == mints {
			e.Hint = "the App is no longer installed there"
		}
	}
	return e
}

func kindOf(resp *http.Response, said refusal) forge.Kind {
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized:
		return forge.KindUnauthorized
	case said.tooLarge || s == http.StatusNotAcceptable || s == http.StatusRequestEntityTooLarge:
		return forge.KindTooLarge
	case s == http.StatusForbidden && strings.Contains(strings.ToLower(said.message), "suspended"):
		return forge.KindSuspended
	case s == http.StatusForbidden || s == http.StatusUnavailableForLegalReasons:
		return forge.KindForbidden
	case s == http.StatusNotFound || s == http.StatusGone:
		return forge.KindNotFound
	case s == http.StatusTooManyRequests:
		return forge.KindRateLimited
	case s == http.StatusRequestTimeout || s >= http.StatusInternalServerError:
		return forge.KindUnavailable
	case s >= http.StatusBadRequest:
		return forge.KindInvalid
	}
	return forge.KindMalformed // a redirect that was not followed
}

// refusal is the readable part of an error body.
type refusal struct {
	message  string
	tooLarge bool
}

// maxMessage bounds what is repeated of GitHub's words.
const maxMessage = 300

// parseRefusal reads an error body with go-github's own shape. GitHub's messages
// name fields and rules, never contents.
func parseRefusal(resp *http.Response) refusal {
	var body gh.ErrorResponse
	if json.Unmarshal(peek(resp), &body) != nil {
		return refusal{}
	}
	r := refusal{}
	parts := []string{body.Message}
	for i, e := range body.Errors {
		r.tooLarge = r.tooLarge || e.Code == "too_large"
		if i < 5 {
			parts = append(parts, strings.TrimSpace(strings.Join([]string{e.Field, e.Code, e.Message}, " ")))
		}
	}
	r.message = oneLine(strings.Join(nonEmpty(parts), "; "))
	return r
}

func nonEmpty(parts []string) []string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// oneLine makes foreign text fit for a log line.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return clip(strings.TrimSpace(s), maxMessage)
}

// clockHint names the usual cause of a refused App token.
func clockHint(message string, resp *http.Response, now time.Time) string {
	if !aboutTimes(message) {
		return ""
	}
	hint := "check this machine's clock: the App's token is dated by it"
	if theirs, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if skew := now.Sub(theirs).Round(time.Second); skew.Abs() > time.Second {
			hint += fmt.Sprintf("; it differs from GitHub's by %s", skew)
		}
	}
	return hint
}

// permissionHint names what the App would need. GitHub says so itself in a
// header; where it does not, the route tells.
func permissionHint(route string, resp *http.Response, message string) string {
	if !strings.Contains(message, "not accessible by integration") {
		return ""
	}
	needs := oneLine(resp.Header.Get("X-Accepted-GitHub-Permissions"))
	if needs == "" {
		needs = permissionFor(route)
	}
	if needs == "" {
		return ""
	}
	return "the App needs the permission " + needs + ", and an owner has to accept it"
}

func permissionFor(route string) string {
	switch route {
	case routeCreateCheck, routeUpdateCheck:
		return "checks=write"
	case routeBeginReview, routeSubmitReview, routeDropReview, routeAddToReview:
		return "pull_requests=write"
	case routeListChecks:
		return "checks=read"
	case routeFiles, routePulls, routeOwnReviews, routeOwnThreads:
		return "pull_requests=read"
	case routeCompare, routeBlob, routeTree, routeBranch:
		return "contents=read"
	case routeRules, routePermission:
		return "metadata=read"
	case routePull:
		return "pull_requests=read, contents=read, issues=read"
	case routeSnapshot, routeMoreChecks:
		return "pull_requests=read, contents=read, checks=read, statuses=read, actions=read"
	}
	return ""
}
