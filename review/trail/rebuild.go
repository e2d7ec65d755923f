package trail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxSession bounds the records that Rebuild reads; a session has a few dozen.
const MaxSession = 5000

// ErrNoSession says that no record carries the session's id.
var ErrNoSession = errors.New("no record of this session in the trail")

// Session is one evaluation, put together from its records.
type Session struct {
	ID      string `json:"id"`
	PlanID  string `json:"plan_id,omitempty"`
	Chain   Chain  `json:"chain"`
	Repo    string `json:"repo"`
	RepoID  int64  `json:"repo_id"`
	Pull    int    `json:"pull,omitempty"`
	HeadSHA string `json:"head_sha,omitempty"`
	// PolicyRevisions are those its records were written under, in order.
	PolicyRevisions []string  `json:"policy_revisions,omitempty"`
	First           time.Time `json:"first"`
	Last            time.Time `json:"last"`
	// Records are all of them, in the order of the chain. Superseded ones are
	// among them.
	Records []Record `json:"records"`
	// Superseded are the ids of rows that a later row corrects.
	Superseded []string `json:"superseded,omitempty"`
	// Truncated says that there are more records than MaxSession.
	Truncated bool `json:"truncated,omitempty"`
}

// Of lists the session's records of one type, in order.
func (s Session) Of(t Type) []Record {
	var out []Record
	for _, r := range s.Records {
		if r.Type == t {
			out = append(out, r)
		}
	}
	return out
}

// Counts gives the number of records by type.
func (s Session) Counts() map[Type]int {
	out := make(map[Type]int)
	for _, r := range s.Records {
		out[r.Type]++
	}
	return out
}

// Rebuild puts a session together from its records. It answers ErrNoSession
// when there are none.
func Rebuild(ctx context.Context, store Store, sessionID string) (Session, error) {
	if sessionID == "" {
		return Session{}, errors.New("rebuild session: the id is empty; it stands at the end of the check")
	}
	records, err := store.FindTrail(ctx, Query{SessionID: sessionID, Limit: MaxSession + 1})
	if err != nil {
		return Session{}, fmt.Errorf("rebuild session %s: %w", sessionID, err)
	}
	if len(records) == 0 {
		return Session{}, fmt.Errorf("rebuild session %s: %w", sessionID, ErrNoSession)
	}
	s := Session{ID: sessionID}
	if len(records) > MaxSession {
		records, s.Truncated = records[:MaxSession], true
	}
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Chain, b.Chain), cmp.Compare(a.Seq, b.Seq))
	})
	s.Records = records
	s.fill()
	return s, nil
}

// fill takes from the records what they agree on; the first word counts.
func (s *Session) fill() {
	s.First, s.Last = s.Records[0].TS, s.Records[0].TS
	for _, r := range s.Records {
		s.PlanID = cmp.Or(s.PlanID, r.PlanID)
		s.Chain = cmp.Or(s.Chain, r.Chain)
		s.Repo = cmp.Or(s.Repo, r.Repo)
		s.RepoID = cmp.Or(s.RepoID, r.RepoID)
		s.Pull = cmp.Or(s.Pull, r.Pull)
		s.HeadSHA = cmp.Or(s.HeadSHA, r.HeadSHA)
		if r.PolicyRevision != "" && !slices.Contains(s.PolicyRevisions, r.PolicyRevision) {
			s.PolicyRevisions = append(s.PolicyRevisions, r.PolicyRevision)
		}
		if r.TS.Before(s.First) {
			s.First = r.TS
		}
		if r.TS.After(s.Last) {
			s.Last = r.TS
		}
		if id := supersededBy(r); id != "" {
			s.Superseded = append(s.Superseded, id)
		}
	}
}

// supersededBy reads which row a judgment corrects, if r is one.
func supersededBy(r Record) string {
	var j struct {
		Supersedes string `json:"supersedes"`
	}
	if json.Unmarshal(r.Body, &j) != nil || !isULID(j.Supersedes) {
		return ""
	}
	return j.Supersedes
}
