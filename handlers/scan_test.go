package handlers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// The scanner must agree with encoding/json on what is JSON, except for depth.
func TestScanAgreesOnWhatIsJSON(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{}`, `[]`, ` {"a" : [1 , 2.5e-3 , true,false , null] } `, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`,
		`01`, `-0`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `NaN`, `tru`, `truer`, `nul`, `"`, `"a`, `"\`, `"\u12"`, `"\u12G4"`, `"\x"`, `"\u1234"`,
		"\"a\nb\"", "\"a\tb\"", "\"\x7f\"", "\"\xff\"", "\"\u2028\"", `"12345678901234567\n"`, `"1234567`, `"12345678`, `"1234567"`, `"12345678"`, `{"a":1}{"b":2}`, "\ufeff{}", `{"é\"":1}`,
		"\v{}", `[[[[1]]]]`, `[}`, `{]`, `{"a":"b" :1}`,
	} {
		var slots [slotCount]value
		if got, want := scan([]byte(text), nil, slots[:]) == nil, json.Valid([]byte(text)); got != want {
			t.Errorf("%q: got valid=%v, want %v", text, got, want)
		}
	}
}

func TestScanBoundsDepth(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		var slots [slotCount]value
		deep := strings.Repeat(open, 5_000_000)
		if err := scan([]byte(deep), nil, slots[:]); err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
			t.Errorf("5 million %s: got %v", open, err)
		}
	}
}

func TestText(t *testing.T) {
	for raw, want := range map[string]string{
		`"plain"`: "plain", `"\u00e9\n\"\ud83d\ude00"`: "é\n\"😀", `"é"`: "é", "\"\xff\"": "\uFFFD", `""`: "", `1`: "", `null`: "", ``: "", `"\ud800"`: "\uFFFD",
	} {
		if got := (value{raw: []byte(raw)}).text(100); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
	if got := (value{raw: []byte(`"ééé"`)}).text(3); got != "é" {
		t.Errorf("cut: got %q, want one whole rune", got)
	}
}

// FuzzParse holds the scanner against two other readers of JSON, and the parser
// against what it promises of any body.
func FuzzParse(f *testing.F) {
	f.Add("pull_request", []byte(pullBody("edited", `"changes":{"base":{}},`, ownHead)))
	f.Add("check_run", []byte(checkBody("completed", "check_run", ownAppID, "")))
	f.Add("issue_comment", []byte(commentBody("created", "User", "User", `,"pull_request":{}`)))
	f.Add("status", []byte(`{"sha":"`+sha+`","state":"success",`+repo+`}`))
	f.Add("push", []byte(`{"a":"\\\"\u0000","b":[{"c":-1.5e+7},[]]}`))
	f.Add("x", []byte("\"\xff\\ud800\""))
	p, err := NewParser(ownAppID)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		var slots [slotCount]value
		scanErr := scan(body, p.shapes["pull_request"], slots[:])
		if valid := json.Valid(body); scanErr == nil && !valid {
			t.Fatalf("taken for JSON: %q", body)
		} else if valid && scanErr != nil && !strings.Contains(scanErr.Error(), "deep") {
			t.Fatalf("not taken for JSON: %q: %v", body, scanErr)
		}
		e, route, err := p.Parse(event, body)
		if err != nil {
			return
		}
		if (route.Ignore == "") == (route.Subject == Subject{}) {
			t.Fatalf("neither routed nor ignored: %+v", route)
		}
		if route.Ignore == "" && !strings.HasPrefix(route.Subject.Key, string(route.Subject.Kind)+":") {
			t.Fatalf("subject %+v", route.Subject)
		}
		if e.Comment != nil && len(e.Comment.Body) > MaxCommentBody {
			t.Fatalf("comment of %d bytes", len(e.Comment.Body))
		}
		if got := gjson.GetBytes(body, "repository.id"); got.Type == gjson.Number && e.Repo.ID != 0 && uniqueKeys(body) && e.Repo.ID != got.Int() {
			t.Fatalf("repository.id: got %d, want %s in %q", e.Repo.ID, got.Raw, body)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatalf("the event cannot be stored: %v", err)
		}
	})
}

// uniqueKeys leaves out bodies in which a key stands twice or is escaped: readers
// differ on which one counts.
func uniqueKeys(body []byte) bool {
	return strings.Count(string(body), `"repository"`) == 1 && !strings.Contains(string(body), `\`) && strings.Count(string(body), `"id"`) == 1
}

func BenchmarkParse(b *testing.B) {
	body, p := golden(b), newParser(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := p.Parse("pull_request", body); err != nil {
			b.Fatal(err)
		}
	}
}
