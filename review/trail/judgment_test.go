package trail_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/countersign/countersign/review/trail"
)

func judgment() trail.Judgment {
	return trail.Judgment{
		Decision: "accept coverage-missing",
		Why:      "session.go was read by hand",
		Evidence: []string{"3f2a9c1", trail.At("internal/auth/session.go", 88), "https://github.com/acme/api/pull/7#issuecomment-1"},
		Result:   trail.ResultVerified,
		Actor:    trail.Actor{ID: 5, Login: "ada", Permission: "write"},
	}
}

func TestJudgmentValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*trail.Judgment)
		want   string // empty: valid
	}{
		{"as it should be", func(*trail.Judgment) {}, ""},
		{"supersedes a row", func(j *trail.Judgment) { j.Supersedes = "01J00000000000000000000000" }, ""},
		{"supersedes prose", func(j *trail.Judgment) { j.Supersedes = "the earlier one" }, "supersedes"},
		{"no decision", func(j *trail.Judgment) { j.Decision = " " }, "decision is empty"},
		{"no reason", func(j *trail.Judgment) { j.Why = "\n" }, "why is empty"},
		{"nobody", func(j *trail.Judgment) { j.Actor.Login = "" }, "no login"},
		{"unknown result", func(j *trail.Judgment) { j.Result = "fine" }, "result is"},
		{"no evidence", func(j *trail.Judgment) { j.Evidence = nil }, "no evidence"},
		{"empty evidence", func(j *trail.Judgment) { j.Evidence = []string{""} }, "evidence"},
		{"prose as evidence", func(j *trail.Judgment) { j.Evidence = []string{"I looked at it"} }, "is not a commit SHA"},
		{"prose with a time", func(j *trail.Judgment) { j.Evidence = []string{"see the chat at 10:30"} }, "is not a commit SHA"},
		{"a short word", func(j *trail.Judgment) { j.Evidence = []string{"abc"} }, "is not a commit SHA"},
		{"a URL with a password", func(j *trail.Judgment) { j.Evidence = []string{"https://u:p@github.com/x"} }, "is not a commit SHA"},
		{"a file URL", func(j *trail.Judgment) { j.Evidence = []string{"file:///etc/passwd"} }, "is not a commit SHA"},
		{"line zero", func(j *trail.Judgment) { j.Evidence = []string{"a.go:0"} }, "is not a commit SHA"},
		{"a range of lines", func(j *trail.Judgment) { j.Evidence = []string{"a.go:3-9"} }, ""},
		{"a path with blanks", func(j *trail.Judgment) { j.Evidence = []string{trail.At("my docs/a: b%.md", 3)} }, ""},
		{"too much evidence", func(j *trail.Judgment) { j.Evidence = make([]string, trail.MaxEvidence+1) }, "at most 20"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := judgment()
			tt.change(&j)
			body, err := j.Body()
			if tt.want == "" {
				if err != nil || !json.Valid(body) {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestJudgmentIsRefusedAtFourKiB(t *testing.T) {
	j := judgment()
	body, err := j.Body()
	if err != nil {
		t.Fatal(err)
	}
	j.Why += strings.Repeat("x", trail.MaxJudgment-len(body))
	if body, err = j.Body(); err != nil || len(body) != 4095 {
		t.Fatalf("a body of %d bytes was refused: %v", len(body), err)
	}
	j.Why += "x"
	var large *trail.TooLargeError
	if _, err := j.Body(); !errors.As(err, &large) || large.Size != 4096 {
		t.Errorf("error = %v, want a TooLargeError at 4,096 bytes", err)
	}
}
