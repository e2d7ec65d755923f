package trail_test

import (
	"errors"
	"testing"

	"github.com/countersign/countersign/review/trail"
)

func TestRebuildASession(t *testing.T) {
	m := filled(t)
	log := trail.NewLog(m, "1.0.0", at)
	j := judgment()
	j.Supersedes = m.rows[1].ID
	body, err := j.Body()
	if err != nil {
		t.Fatal(err)
	}
	d := draft(trail.TypeHumanDecision, "s1", string(body))
	d.PlanID, d.PolicyRevision = "p1", "8c1f02d"
	if _, err := log.Append(t.Context(), trail.PullChain(42, 7), draft(trail.TypePublish, "other", `{}`), d); err != nil {
		t.Fatal(err)
	}
	s, err := trail.Rebuild(t.Context(), m, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Records) != 6 || s.Records[0].Type != trail.TypeRunStart || s.Records[5].Seq != 7 {
		t.Errorf("records = %+v, want the six of the session in order", s.Records)
	}
	if s.PlanID != "p1" || s.Repo != "acme/api" || s.RepoID != 42 || s.Pull != 7 || s.HeadSHA != "3f2a9c1" || s.Chain != trail.PullChain(42, 7) {
		t.Errorf("session = %+v", s)
	}
	if len(s.PolicyRevisions) != 1 || len(s.Superseded) != 1 || s.Superseded[0] != m.rows[1].ID {
		t.Errorf("revisions %v, superseded %v", s.PolicyRevisions, s.Superseded)
	}
	if got := len(s.Of(trail.TypeGateDecision)); got != 1 || s.Counts()[trail.TypePublish] != 1 {
		t.Errorf("%d gate decisions, counts %v", got, s.Counts())
	}
}

func TestRebuildOfNothing(t *testing.T) {
	m := filled(t)
	if _, err := trail.Rebuild(t.Context(), m, "nobody"); !errors.Is(err, trail.ErrNoSession) {
		t.Errorf("error = %v, want ErrNoSession", err)
	}
	if _, err := trail.Rebuild(t.Context(), m, ""); err == nil {
		t.Error("an empty id would collect the records of every session")
	}
}
