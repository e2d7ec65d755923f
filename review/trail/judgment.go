package trail

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// MaxJudgment bounds a judgment's body in bytes: a row of 4 KiB or more is
// refused, since whoever needs more room is telling a story.
const MaxJudgment = 4<<10 - 1

// MaxEvidence bounds the pieces of evidence of one judgment.
const MaxEvidence = 20

// Result is how a judgment turned out.
type Result string

// The results of a judgment.
const (
	ResultVerified     Result = "verified"
	ResultFailed       Result = "failed"
	ResultOpen         Result = "open"
	ResultInconclusive Result = "inconclusive"
	ResultReverted     Result = "reverted"
)

// Actor is who judged, by the forge's own word.
type Actor struct {
	ID         int64  `json:"id,omitempty"`
	Login      string `json:"login"`
	Permission string `json:"permission,omitempty"` // "write", "maintain", "admin"
	Team       string `json:"team,omitempty"`       // "@acme/platform"
	URL        string `json:"url,omitempty"`        // of the comment, review or button that said so
}

// Judgment is a decision that no rule computed: an answer, a waiver, an accepted
// rule, a raised tier, an automatic approval, a skipped review, the merge.
type Judgment struct {
	Decision string `json:"decision"`
	Why      string `json:"why"`
	// Evidence is what a reader can look up: a commit SHA, "path:line" (At), or
	// the URL of a check or comment. Never prose and never empty.
	Evidence []string `json:"evidence"`
	Result   Result   `json:"result"`
	// Supersedes is the id of the row that this one corrects.
	Supersedes string `json:"supersedes,omitempty"`
	Actor      Actor  `json:"actor"`
	// Details are what the record's type adds: the rule, the finding, the causes.
	Details json.RawMessage `json:"details,omitempty"`
}

// Validate says what is missing or wrong, and what would be right.
func (j Judgment) Validate() error {
	switch {
	case strings.TrimSpace(j.Decision) == "":
		return errors.New("judgment: decision is empty; say what was decided")
	case strings.TrimSpace(j.Why) == "":
		return errors.New("judgment: why is empty; give the reason")
	case j.Actor.Login == "":
		return errors.New("judgment: actor has no login; name who judged")
	case !j.Result.known():
		return fmt.Errorf("judgment: result is %q, want verified, failed, open, inconclusive or reverted", string(j.Result))
	case j.Supersedes != "" && !isULID(j.Supersedes):
		return fmt.Errorf("judgment: supersedes is %q, want the id of a trail row", j.Supersedes)
	case len(j.Evidence) == 0:
		return errors.New("judgment: no evidence; name a commit SHA, path:line, or the URL of a check or comment")
	case len(j.Evidence) > MaxEvidence:
		return fmt.Errorf("judgment: %d pieces of evidence, at most %d", len(j.Evidence), MaxEvidence)
	}
	for _, e := range j.Evidence {
		if !IsEvidence(e) {
			return fmt.Errorf("judgment: evidence %q is not a commit SHA, path:line, or the URL of a check or comment", e)
		}
	}
	return nil
}

// Body is the judgment as a record's body. It is refused when invalid, and with
// a *TooLargeError at 4 KiB.
func (j Judgment) Body() (json.RawMessage, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode judgment %q: %w", j.Decision, err)
	}
	if len(body) > MaxJudgment {
		return nil, &TooLargeError{Type: TypeHumanDecision, Size: len(body), Limit: MaxJudgment}
	}
	return body, nil
}

func (r Result) known() bool {
	switch r {
	case ResultVerified, ResultFailed, ResultOpen, ResultInconclusive, ResultReverted:
		return true
	}
	return false
}

// At names a line as evidence. Blanks, colons and percent signs in the path are
// percent-encoded: a blank would make it prose, a colon a second line number.
func At(path string, line int) string {
	r := strings.NewReplacer("%", "%25", " ", "%20", ":", "%3A", "\t", "%09", "\n", "%0A", "\r", "%0D")
	return r.Replace(path) + ":" + strconv.Itoa(line)
}

// IsEvidence reports whether s is something that can be looked up.
func IsEvidence(s string) bool {
	return shaPattern().MatchString(s) || placePattern().MatchString(s) || isEvidenceURL(s)
}

// The patterns are built on use: judgments are rare, and a package keeps no
// variables.

// shaPattern is a commit: seven hex digits are what git abbreviates to.
func shaPattern() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{7,64}$`) }

// placePattern is "path:line" or "path:first-last", without blanks.
func placePattern() *regexp.Regexp { return regexp.MustCompile(`^[^\s:]+:[1-9][0-9]*(-[1-9][0-9]*)?$`) }

func isEvidenceURL(s string) bool {
	if strings.ContainsAny(s, " \t\r\n") {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

func isULID(s string) bool {
	return regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`).MatchString(s)
}
