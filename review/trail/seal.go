package trail

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxColumn bounds every text column but the body, in bytes. The longest in use
// are "owner/name" (39+1+100) and a SHA-256 in hex (64).
const MaxColumn = 512

// NewID makes a record's id for a moment: a ULID, each greater than the last.
type NewID func(time.Time) (string, error)

// TooLargeError refuses a record whose body is over a limit. Writers bound
// their lists with Bound and say how much was left out.
type TooLargeError struct {
	Type  Type
	Size  int // bytes
	Limit int // bytes, still allowed
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("trail record %s: its body has %d bytes, at most %d are kept; bound its lists and count what is left out", e.Type, e.Size, e.Limit)
}

// DraftError refuses a record that could not be found, exported or verified
// later.
type DraftError struct {
	Type  Type
	Field string
	Why   string
}

func (e *DraftError) Error() string {
	return fmt.Sprintf("trail record %q: %s %s", string(e.Type), e.Field, e.Why)
}

// Seal turns drafts into the next records of a chain: sequence numbers, ids and
// hashes that follow from the last row (0 and "" at the start of a chain). A
// draft may leave RepoID and Pull out, since the chain names them; it may not
// contradict it. Nothing is sealed when one draft is refused.
func Seal(chain Chain, drafts []Draft, lastSeq int64, lastHash string, ids NewID, now time.Time, appVersion string) ([]Record, error) {
	subj, err := chain.parse()
	if err != nil {
		return nil, err
	}
	ts := now.UTC().Truncate(time.Microsecond)
	records := make([]Record, 0, len(drafts))
	for _, d := range drafts {
		if err := d.settle(subj); err != nil {
			return nil, err
		}
		id, err := ids(ts)
		if err != nil {
			return nil, fmt.Errorf("make the id of a trail record: %w", err)
		}
		lastSeq++
		r := d.record(chain, id, lastSeq, ts, lastHash, appVersion)
		lastHash = r.Hash
		records = append(records, r)
	}
	return records, nil
}

func (d Draft) record(chain Chain, id string, seq int64, ts time.Time, prev, version string) Record {
	r := Record{
		ID: id, Chain: chain, Seq: seq, TS: ts,
		PlanID: d.PlanID, SessionID: d.SessionID,
		Repo: d.Repo, RepoID: d.RepoID, Pull: d.Pull, HeadSHA: d.HeadSHA,
		Phase: d.Phase, Type: d.Type, Actor: d.Actor,
		PolicyRevision: d.PolicyRevision, AppVersion: version,
		Body: d.Body, PrevHash: prev,
	}
	r.Hash = HashOf(r)
	return r
}

// settle fills in what the chain knows and checks the rest.
func (d *Draft) settle(s subject) error {
	if d.RepoID == 0 {
		d.RepoID = s.repoID
	}
	if d.Pull == 0 {
		d.Pull = s.pull
	}
	refuse := func(field, why string) error { return &DraftError{Type: d.Type, Field: field, Why: why} }
	switch {
	case s.repoID != 0 && d.RepoID != s.repoID:
		return refuse("repo_id", fmt.Sprintf("is %d, but the chain belongs to repository %d", d.RepoID, s.repoID))
	case s.pull != 0 && d.Pull != s.pull:
		return refuse("pull", fmt.Sprintf("is %d, but the chain belongs to pull request %d", d.Pull, s.pull))
	case !d.Type.Known():
		return refuse("type", "is not one of the known record types")
	case !validPhase(d.Phase):
		return refuse("phase", fmt.Sprintf("is %q, want G0 to G8", d.Phase))
	case d.Actor == "":
		return refuse("actor", "is empty; name who did or decided it")
	}
	for field, text := range map[string]string{
		"plan_id": d.PlanID, "session_id": d.SessionID, "repo": d.Repo,
		"head_sha": d.HeadSHA, "actor": d.Actor, "policy_revision": d.PolicyRevision,
	} {
		if why := unfitColumn(text); why != "" {
			return refuse(field, why)
		}
	}
	return d.settleBody(refuse)
}

func (d *Draft) settleBody(refuse func(field, why string) error) error {
	if len(d.Body) > MaxBody {
		return &TooLargeError{Type: d.Type, Size: len(d.Body), Limit: MaxBody}
	}
	if len(d.Body) == 0 {
		d.Body = json.RawMessage("{}")
	}
	if !utf8.Valid(d.Body) || !json.Valid(d.Body) {
		return refuse("body", "is not valid JSON")
	}
	return nil
}

func validPhase(p string) bool {
	return len(p) == 2 && p[0] == 'G' && p[1] >= '0' && p[1] <= '8'
}

// unfitColumn says why a text cannot be a column in both databases: PostgreSQL
// keeps neither NUL nor invalid UTF-8.
func unfitColumn(s string) string {
	switch {
	case len(s) > MaxColumn:
		return fmt.Sprintf("has %d bytes, at most %d are kept", len(s), MaxColumn)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.ContainsRune(s, 0):
		return "holds a NUL character"
	}
	return ""
}
