package trail_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review/trail"
)

// lines is an export of the store, chain by chain.
func lines(t testing.TB, rows []trail.Record) []byte {
	t.Helper()
	var out []byte
	for _, r := range rows {
		var err error
		if out, err = trail.AppendLine(out, r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Whatever a record holds, its line gives it back, and the hash still fits.
func TestLineGivesTheRecordBack(t *testing.T) {
	bodies := []string{`{"b":1, "a":"ü"}`, `{"a":"<&>\u2028"}`, `{}`, `null`, "{\n}", "not json", "{\"a\":\"x\"}\r", `{"body":null,"prev_hash":"x"}`, ""}
	rapid.Check(t, func(t *rapid.T) {
		r := trail.Record{
			ID: rapid.String().Draw(t, "id"), Chain: trail.PullChain(42, 7), Seq: rapid.Int64().Draw(t, "seq"), TS: at(),
			Repo: rapid.String().Draw(t, "repo"), Actor: rapid.String().Draw(t, "actor"), Type: trail.TypePublish,
			Body: json.RawMessage(rapid.SampledFrom(bodies).Draw(t, "body")), PrevHash: rapid.String().Draw(t, "prev"),
		}
		r.TS = r.TS.Truncate(1000)
		r.Hash = trail.HashOf(r)
		line, err := trail.AppendLine(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) {
			t.Fatalf("not one line of JSON: %q", line)
		}
		got, err := trail.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Body) == "" {
			got.Body = r.Body // nothing and no text are the same bytes
		}
		if !reflect.DeepEqual(got, r) || trail.HashOf(got) != r.Hash {
			t.Fatalf("got  %+v\nwant %+v\nline %s", got, r, line)
		}
	})
}

// An export is verified like the database that it came from, but for the end.
func TestVerifyLines(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tamper  func(m *memStore)
		partial bool
		want    []string
		gaps    int64
	}{
		{"nothing", func(*memStore) {}, false, nil, 0},
		{"chains mixed", func(m *memStore) {
			m.rows[0], m.rows[5] = m.rows[5], m.rows[0]
			m.rows[0], m.rows[1] = m.rows[1], m.rows[0]
		}, false,
			[]string{"#2: ", "#1: "}, 0}, // the first row after the second: out of order
		{"body changed", func(m *memStore) { m.rows[2].Body = []byte(`{"n":2}`) }, false, []string{"#3: its contents do not give its hash"}, 0},
		{"sealed again", func(m *memStore) { m.rows[2].Actor = "x"; m.rows[2].Hash = trail.HashOf(m.rows[2]) }, false, []string{"#4: does not follow row 3"}, 0},
		{"dropped", func(m *memStore) { m.rows = append(m.rows[:1], m.rows[2:]...) }, false, []string{"#2: row is missing"}, 0},
		{"filtered", func(m *memStore) { m.rows = append(m.rows[:1], m.rows[3:]...) }, true, nil, 2},
		{"filtered at the front", func(m *memStore) { m.rows = m.rows[2:] }, true, nil, 2},
		{"filtered and changed", func(m *memStore) { m.rows = m.rows[2:]; m.rows[0].Actor = "x" }, true, []string{"#3: its contents"}, 2},
		{"twice", func(m *memStore) { m.rows = append(m.rows, m.rows[2]) }, true, []string{"#3: comes after row 5"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := filled(t)
			tt.tamper(m)
			report, err := trail.VerifyLines(t.Context(), bytes.NewReader(lines(t, m.rows)), tt.partial)
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == "chains mixed" {
				if report.OK() {
					t.Error("rows out of order pass")
				}
				return
			}
			if len(report.Problems) != len(tt.want) || report.Gaps != tt.gaps {
				t.Fatalf("problems %v and %d gaps, want %d and %d", report.Problems, report.Gaps, len(tt.want), tt.gaps)
			}
			for i, want := range tt.want {
				if got := report.Problems[i].String(); !strings.Contains(got, want) {
					t.Errorf("problem %q, want %q", got, want)
				}
			}
		})
	}
}

func TestVerifyLinesRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "hello\n", "another JSON": "{}\n", "a number in a word's place": `{"chain":1}` + "\n",
		"a line without end": strings.Repeat("x", 3<<20),
	} {
		report, err := trail.VerifyLines(t.Context(), strings.NewReader(text), false)
		if err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %+v, %v; want an error that names the line", name, report, err)
		}
	}
	// The last line may have been written without its end.
	whole := lines(t, filled(t).rows)
	if report, err := trail.VerifyLines(t.Context(), bytes.NewReader(whole[:len(whole)-1]), false); err != nil || !report.OK() || report.Records != 6 || report.Chains != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

// needs_human is our word; outsiders read "blocked" and who must act. The body
// stays what the hash covers.
func TestNeedsHumanIsExportedAsBlocked(t *testing.T) {
	for body, want := range map[string]string{
		`{"gate":{"decision":"needs_human","fired":["approval-missing"]},"causes":[{"rule":"approval-missing","causes":[{"text":"x.yml needs the approval of @acme/platform"}]}]}`: `"shown":{"decision":"blocked","waits_for":"a person: x.yml needs the approval of @acme/platform"}`,
		`{"gate":{"decision":"needs_human","fired":["coverage-missing"]}}`:       `"shown":{"decision":"blocked","waits_for":"a person, because of coverage-missing"}`,
		`{"decision":"needs_human","fired":["review-missing","confidence-low"]}`: `"waits_for":"a person, because of review-missing, confidence-low"`,
		`{"gate":{"decision":"approved"}}`:                                       "",
	} {
		line, err := trail.AppendLine(nil, trail.Record{Chain: "repo:1", Type: trail.TypeGateDecision, Body: []byte(body), Hash: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(line, []byte(body)) || want != "" && !bytes.Contains(line, []byte(want)) || want == "" && bytes.Contains(line, []byte("shown")) {
			t.Errorf("%s\nwant %s", line, want)
		}
	}
}

func TestMatch(t *testing.T) {
	gate := trail.Record{Body: []byte(`{"gate":{"decision":"needs_human","fired":["review-missing"],"residual":["checks-none"]},"causes":[{"rule":"coverage-missing","causes":[{"text":"checks-failed"}]}]}`)}
	patch := trail.Record{Body: []byte(`{"need_review":["internal/auth/session.go"],"scan":{"findings":{"credential":1},"places":["hidden-text docs/a.md:3"]}}`)}
	for _, tt := range []struct {
		match trail.Match
		rec   trail.Record
		want  bool
	}{
		{trail.Match{}, gate, true},
		{trail.Match{Rule: "review-missing"}, gate, true},
		{trail.Match{Rule: "checks-none"}, gate, true},
		{trail.Match{Rule: "coverage-missing"}, gate, true},
		{trail.Match{Rule: "checks-failed"}, gate, false}, // only in a text
		{trail.Match{Rule: "review"}, gate, false},
		{trail.Match{Decision: "needs_human"}, gate, true},
		{trail.Match{Decision: "approved"}, gate, false},
		{trail.Match{Decision: "needs_human", Rule: "review-missing"}, gate, true},
		{trail.Match{Decision: "needs_human", Rule: "credential"}, gate, false},
		{trail.Match{Rule: "credential"}, patch, true},
		{trail.Match{File: "internal/auth/session.go"}, patch, true},
		{trail.Match{File: "docs/a.md"}, patch, true},
		{trail.Match{File: "docs/a"}, patch, false},
		{trail.Match{Rule: "x"}, trail.Record{Body: []byte("not json")}, false},
	} {
		if got := tt.match.Matches(tt.rec); got != tt.want {
			t.Errorf("%+v on %s: %v", tt.match, tt.rec.Body, got)
		}
	}
}
