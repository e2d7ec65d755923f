package handlers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/countersign/countersign/review/forge"
)

const (
	sha  = "3f2a9c1d5b7e80412a6c9d3e5f7081b2c4d6e8f0"
	repo = `"repository":{"id":11,"name":"ledger","private":true,"default_branch":"main","owner":{"login":"acme"}},"installation":{"id":5},"sender":{"id":3,"login":"mara","type":"User"}`
)

func newParser(tb testing.TB) *Parser {
	tb.Helper()
	p, err := NewParser(ownAppID)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func pullBody(action, rest, change string) string {
	return `{"action":"` + action + `","number":7,` + rest + `"pull_request":{"number":7,"state":"open","draft":false,"updated_at":"2026-11-30T08:11:19Z",` +
		change + `"base":{"ref":"main","sha":"` + sha + `"}},` + repo + `}`
}

const ownHead = `"head":{"sha":"` + sha + `","repo":{"id":11}},`

func checkBody(action, kind string, app int64, more string) string {
	return fmt.Sprintf(`{"action":%q,%q:{"id":9,"name":"build","head_sha":%q,"status":"completed","conclusion":"FAILURE",
"app":{"id":%d,"slug":"ci"},"pull_requests":[]%s},%s}`, action, kind, sha, app, more, repo)
}

func commentBody(action, sender, author string, more string) string {
	return fmt.Sprintf(`{"action":%q,"issue":{"number":7,"state":"open"%s},"comment":{"id":8,"body":"/review","user":{"id":3,"login":"mara","type":%q}},
"repository":{"id":11,"name":"ledger","owner":{"login":"acme"}},"sender":{"id":3,"login":"mara","type":%q}}`, action, more, author, sender)
}

func TestRoutes(t *testing.T) {
	pull, head, onPull := PullSubject(11, 7), HeadSubject(11, sha), `,"pull_request":{"url":"u"}`
	review := func(action, kind string) string {
		return strings.Replace(pullBody(action, `"review":{"id":1,"state":"APPROVED","commit_id":"`+sha+`","user":{"id":3,"login":"x","type":"`+kind+`"}},`, ownHead), `"number":7,`, "", 1)
	}
	for _, tc := range []struct {
		name, event, body string
		want              Subject // zero: ignored
	}{
		{"opened", "pull_request", pullBody("opened", "", ownHead), pull},
		{"case-068 reopened", "pull_request", pullBody("reopened", "", ownHead), pull},
		{"synchronize", "pull_request", pullBody("synchronize", "", ownHead), pull},
		{"case-066 ready_for_review", "pull_request", pullBody("ready_for_review", "", ownHead), pull},
		{"case-066 converted_to_draft", "pull_request", pullBody("converted_to_draft", "", ownHead), pull},
		{"case-068 closed", "pull_request", pullBody("closed", "", ownHead), pull},
		{"labeled", "pull_request", pullBody("labeled", "", ownHead), Subject{}},
		{"case-064 edited base", "pull_request", pullBody("edited", `"changes":{"base":{"ref":{"from":"dev"}}},`, ownHead), pull},
		{"case-064 edited title", "pull_request", pullBody("edited", `"changes":{"title":{"from":"old"}},`, ownHead), pull},
		{"edited nothing", "pull_request", pullBody("edited", `"changes":{},`, ownHead), Subject{}},
		{"edited nulls", "pull_request", pullBody("edited", `"changes":{"base":null},`, ownHead), Subject{}},
		{"review submitted", "pull_request_review", review("submitted", "User"), pull},
		{"case-085 review by a bot", "pull_request_review", review("submitted", "Bot"), Subject{}},
		{"review dismissed", "pull_request_review", review("dismissed", "Bot"), pull},
		{"review edited", "pull_request_review", review("edited", "User"), Subject{}},
		{"comment", "issue_comment", commentBody("created", "User", "User", onPull), pull},
		{"case-083 comment edited", "issue_comment", commentBody("edited", "User", "User", onPull), Subject{}},
		{"case-092 comment on an issue", "issue_comment", commentBody("created", "User", "User", ""), Subject{}},
		{"case-085 case-086 sender is a bot", "issue_comment", commentBody("created", "Bot", "User", onPull), Subject{}},
		{"case-085 author is a bot", "issue_comment", commentBody("created", "User", "Bot", onPull), Subject{}},
		{"case-086 our text under a person's name", "issue_comment", strings.Replace(commentBody("created", "User", "User", onPull),
			`"comment":{`, fmt.Sprintf(`"comment":{"performed_via_github_app":{"id":%d},`, ownAppID), 1), Subject{}},
		{"check created", "check_run", checkBody("created", "check_run", 1, ""), head},
		{"check completed", "check_run", checkBody("completed", "check_run", 1, ""), head},
		{"check rerequested", "check_run", checkBody("rerequested", "check_run", 1, ""), head},
		{"another App's button", "check_run", checkBody("requested_action", "check_run", 1, ""), Subject{}},
		{"our check created", "check_run", checkBody("created", "check_run", ownAppID, ""), Subject{}},
		{"our check completed", "check_run", checkBody("completed", "check_run", ownAppID, ""), Subject{}},
		{"our check rerequested", "check_run", checkBody("rerequested", "check_run", ownAppID, ""), head},
		{"our button", "check_run", checkBody("requested_action", "check_run", ownAppID, ""), head},
		{"case-061 suite completed", "check_suite", checkBody("completed", "check_suite", 1, `,"head_branch":null`), head},
		{"case-071 our suite rerequested", "check_suite", checkBody("rerequested", "check_suite", ownAppID, `,"head_branch":null`), head},
		{"case-071 another's suite rerequested", "check_suite", checkBody("rerequested", "check_suite", 1, ""), Subject{}},
		{"case-071 suite requested", "check_suite", checkBody("requested", "check_suite", ownAppID, ""), Subject{}},
		{"our suite completed", "check_suite", checkBody("completed", "check_suite", ownAppID, ""), Subject{}},
		{"status", "status", `{"id":1,"sha":"` + sha + `","context":"ci","state":"pending",` + repo + `}`, head},
		{"push", "push", `{"ref":"refs/heads/main","before":"` + sha + `","after":"` + sha + `",` + repo + `}`, RepoSubject(11)},
		{"merge group", "merge_group", `{"action":"checks_requested","merge_group":{"head_sha":"` + sha + `","base_ref":"refs/heads/main"},` + repo + `}`, RepoSubject(11)},
		{"installation", "installation", `{"action":"suspend","installation":{"id":5}}`, InstallationSubject(5)},
		{"repositories", "installation_repositories", `{"action":"added","installation":{"id":5}}`, InstallationSubject(5)},
		{"unknown event", "star", `{}`, Subject{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, route, err := newParser(t).Parse(tc.event, []byte(tc.body))
			if err != nil {
				t.Fatalf("parse: %v", err)
			}
			if route.Subject != tc.want {
				t.Errorf("got %v (%s%s), want %v", route.Subject, route.Why, route.Ignore, tc.want)
			}
			if (route.Ignore == "") != (tc.want != Subject{}) || (route.Why == "") == (route.Ignore == "") {
				t.Errorf("exactly one of Why and Ignore must be said: %+v", route)
			}
		})
	}
}

func TestEventOfAPull(t *testing.T) {
	e, _, err := newParser(t).Parse("pull_request", golden(t))
	if err != nil {
		t.Fatal(err)
	}
	want := Event{
		Event: "pull_request", Action: "synchronize",
		Repo:          forge.Repo{ID: 770001, Owner: "acme", Name: "ledger", Installation: 5501},
		DefaultBranch: "main", Private: true, Sender: forge.Account{ID: 4101, Login: "mara"},
		Pull: 7, HeadSHA: sha, BaseRef: "main", BaseSHA: "9b1c3d5e7f90a2b4c6d8e0f1a3b5c7d9e1f30527",
		State: "open", UpdatedAt: time.Date(2026, 11, 30, 8, 11, 19, 0, time.UTC),
	}
	if !reflect.DeepEqual(e, want) {
		t.Errorf("got  %+v\nwant %+v", e, want)
	}
}

func TestCase063_HeadRepositoryIsGone(t *testing.T) {
	for name, head := range map[string]string{
		"null":   `"head":{"sha":"` + sha + `","repo":null,"user":null},`,
		"absent": `"head":{"sha":"` + sha + `"},`,
	} {
		e, _, err := newParser(t).Parse("pull_request", []byte(pullBody("edited", `"changes":{"body":{"from":""}},`, head)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !e.HeadRepoGone || !e.Fork || !e.BodyChanged || e.BaseChanged || e.TitleChanged {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	e, _, err := newParser(t).Parse("pull_request", []byte(pullBody("opened", "", `"head":{"sha":"`+sha+`","repo":{"id":12}},`)))
	if err != nil || !e.Fork || e.HeadRepoGone {
		t.Errorf("a fork that is there: got %+v, %v", e, err)
	}
}

func TestMergedIsAState(t *testing.T) {
	body := strings.Replace(pullBody("closed", "", ownHead), `"state":"open"`, `"state":"closed","merged":true`, 1)
	if e, _, err := newParser(t).Parse("pull_request", []byte(body)); err != nil || e.State != "merged" {
		t.Errorf("got %q, %v", e.State, err)
	}
}

func TestEventOfACheck(t *testing.T) {
	body := checkBody("completed", "check_run", ownAppID+1, `,"external_id":"pull:main:s1","started_at":"2026-11-30T08:00:00Z","completed_at":"2026-11-30T08:01:00Z",
"html_url":"https://x","check_suite":{"id":77,"head_branch":null,"head_sha":"`+strings.Repeat("0", 40)+`","status":"queued"}`)
	body = strings.Replace(body, `"pull_requests":[]`, `"pull_requests":[{"id":900,"number":3,"base":{"ref":"main","repo":{"id":11,"number":66}}},{"number":4,"base":{"repo":{"id":11}},"head":{"repo":{"id":12}}},{"id":901,"base":{"repo":{"id":11}}}]`, 1)
	e, _, err := newParser(t).Parse("check_run", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := CheckEvent{
		Kind: "check_run", ID: 9, Name: "build", AppID: ownAppID + 1, App: "ci", SuiteID: 77, Status: "completed", Conclusion: "failure",
		ExternalID: "pull:main:s1", URL: "https://x", HeadBranchNull: true, Pulls: []int{3, 4},
		StartedAt: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), CompletedAt: time.Date(2026, 11, 30, 8, 1, 0, 0, time.UTC),
	}
	if e.Check == nil || !reflect.DeepEqual(*e.Check, want) || e.HeadSHA != sha {
		t.Errorf("got  %+v\nwant %+v", e.Check, want)
	}
}

// A fork's own delivery names the pull requests that its branch has upstream.
func TestPullsOfAnotherRepositoryAreLeftOut(t *testing.T) {
	named := func(number string, base string) string {
		return `{"id":900,"number":` + number + `,"base":` + base + `}`
	}
	in := func(id string) string { return `{"ref":"main","sha":"x","repo":{"id":` + id + `,"name":"ledger"}}` }
	for name, tc := range map[string]struct {
		pulls []string
		want  []int
	}{
		"ours":                          {[]string{named("3", in("11"))}, []int{3}},
		"upstream's":                    {[]string{named("3", in("12"))}, nil},
		"each keeps its own repository": {[]string{named("3", in("12")), named("4", in("11")), named("5", in("12")), named("6", in("11"))}, []int{4, 6}},
		"the base says nothing":         {[]string{named("3", in("11")), named("4", `{}`), named("5", `null`), `{"number":6}`}, []int{3}},
		"the head's is not the base's":  {[]string{`{"number":3,"head":{"repo":{"id":11}},"base":` + in("12") + `}`}, nil},
		"an array for a base":           {[]string{named("3", `[{"repo":{"id":11}}]`), named("4", in("12"))}, nil},
		"not pull requests":             {[]string{`1`, `"x"`, `null`, `[]`, `[` + named("3", in("11")) + `]`}, nil},
		"a number that is none":         {[]string{named(`"3"`, in("11")), named("0", in("11")), named("-1", in("11")), named("2147483648", in("11"))}, nil},
	} {
		for _, kind := range []string{"check_run", "check_suite"} {
			body := strings.Replace(checkBody("completed", kind, 1, ""), `"pull_requests":[]`, `"pull_requests":[`+strings.Join(tc.pulls, " , ")+`]`, 1)
			e, _, err := newParser(t).Parse(kind, []byte(body))
			if err != nil || !reflect.DeepEqual(e.Check.Pulls, tc.want) {
				t.Errorf("%s, %s: got %v, %v, want %v", name, kind, e.Check.Pulls, err, tc.want)
			}
		}
	}
	many := strings.Replace(checkBody("completed", "check_run", 1, ""), `"pull_requests":[]`, `"pull_requests":[`+strings.Repeat(named("3", in("11"))+",", 500)+`1]`, 1)
	if e, _, err := newParser(t).Parse("check_run", []byte(many)); err != nil || len(e.Check.Pulls) != maxListed {
		t.Errorf("500 pull requests: %d are kept, %v", len(e.Check.Pulls), err)
	}
}

func TestEventOfAStatus(t *testing.T) {
	for state, want := range map[string][2]string{"pending": {"pending", ""}, "error": {"completed", "error"}} {
		body := `{"id":6,"sha":"` + sha + `","context":"ci/x","state":"` + state + `","updated_at":"2026-11-30T08:01:00Z",` + repo + `}`
		e, _, err := newParser(t).Parse("status", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if c := e.Check; c.Kind != "status" || c.Name != "ci/x" || c.Status != want[0] || c.Conclusion != want[1] || c.App != "mara" {
			t.Errorf("%s: got %+v", state, c)
		}
	}
}

func TestCommentBodyIsCutOnARune(t *testing.T) {
	long := "/review\\r\\n" + strings.Repeat("é", MaxCommentBody)
	body := strings.Replace(commentBody("created", "User", "User", `,"pull_request":{}`), "/review", long, 1)
	e, _, err := newParser(t).Parse("issue_comment", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	got := e.Comment.Body
	if len(got) > MaxCommentBody || len(got) < MaxCommentBody-4 || !utf8.ValidString(got) || !strings.HasPrefix(got, "/review\r\né") {
		t.Errorf("got %d bytes, valid %v, beginning %q", len(got), utf8.ValidString(got), got[:12])
	}
}

func TestWhatAnEventCannotBeWithout(t *testing.T) {
	for _, tc := range []struct{ name, event, body, says string }{
		{"no repository", "status", `{"sha":"` + sha + `"}`, "names no repository"},
		{"no number", "pull_request", strings.ReplaceAll(pullBody("opened", "", ownHead), `"number":7`, `"number":0`), "names no pull request"},
		{"huge number", "pull_request", strings.ReplaceAll(pullBody("opened", "", ownHead), `"number":7`, `"number":99999999999`), "names no pull request"},
		{"two numbers", "pull_request", strings.Replace(pullBody("opened", "", ownHead), `"number":7`, `"number":8`, 1), "is not pull_request.number"},
		{"no head", "pull_request", pullBody("opened", "", `"head":{},`), "is not a commit id"},
		{"head that is a path", "check_run", strings.ReplaceAll(checkBody("created", "check_run", 1, ""), sha, strings.Repeat("../", 13)+"x"), "is not a commit id"},
		{"installation without id", "installation", `{"action":"created"}`, "names no installation"},
		{"comment without issue", "issue_comment", `{"action":"created",` + repo + `}`, "names no issue"},
	} {
		_, _, err := newParser(t).Parse(tc.event, []byte(tc.body))
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want an error with %q", tc.name, err, tc.says)
		}
	}
}

func TestEventSurvivesItsStorage(t *testing.T) {
	e, _, err := newParser(t).Parse("check_run", []byte(checkBody("created", "check_run", 1, "")))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back Event
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(e, back) {
		t.Errorf("got %+v, %v", back, err)
	}
}
