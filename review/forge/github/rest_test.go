package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/h2non/gock"
)

func files(from, n int) string {
	var rows []string
	for i := from; i < from+n; i++ {
		rows = append(rows, fmt.Sprintf(`{"sha":%q,"filename":"f%d.go","status":"modified","additions":1,"deletions":0,"changes":1,"patch":"@@ -1 +1,2 @@\n a\n+b"}`, sha1C, i))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func TestCompare(t *testing.T) {
	// gock swaps the default transport, so the client is built on it.
	defer gock.Off()
	gock.New("https://api.test").Post("/app/installations/7/access_tokens").Reply(201).
		JSON(map[string]any{"token": "ghs_x", "expires_at": time.Now().Add(time.Hour)})
	gock.New("https://api.test").Get("/repos/acme/api/compare/" + sha1A + "..." + sha1B).Reply(200).
		BodyString(`{"merge_base_commit":{"sha":"` + sha1C + `"},"files":[
			{"filename":"new.go","previous_filename":"old.go","status":"renamed","sha":"` + sha1A + `","additions":0,"deletions":0,"changes":0},
			{"filename":"big.go","status":"modified","sha":"` + sha1A + `","additions":429,"deletions":460,"changes":889},
			{"filename":"e.go","status":"modified","sha":null,"additions":0,"deletions":0,"changes":0,"patch":""}]}`)
	c := clientOf(t, newTestHost(t, nil, func(o *Options) { o.Transport = http.DefaultTransport }))
	cmp, err := c.Compare(t.Context(), acme, sha1A, sha1B)
	if err != nil {
		t.Fatal(err)
	}
	if cmp.MergeBase != sha1C || !cmp.Complete || len(cmp.Files) != 3 {
		t.Errorf("got %+v", cmp)
	}
	if r := cmp.Files[0]; r.PreviousPath != "old.go" || r.Status != "renamed" || r.HasPatch {
		t.Errorf("renamed %+v", r)
	}
	if b := cmp.Files[1]; b.HasPatch || b.Additions != 429 || b.Changes != 889 {
		t.Errorf("case-029: %+v", b)
	}
	if e := cmp.Files[2]; !e.HasPatch || e.Patch != "" {
		t.Errorf("an empty patch is not an absent one: %+v", e)
	}
	if !gock.IsDone() {
		t.Error("not every call was made")
	}
}

func TestCompareAnswersAreChecked(t *testing.T) {
	base := `"merge_base_commit":{"sha":"` + sha1C + `"}`
	for name, body := range map[string]string{
		"no merge base":      `{"files":[]}`,
		"null merge base":    `{"merge_base_commit":null,"files":[]}`,
		"no files":           `{` + base + `}`,
		"null file":          `{` + base + `,"files":[null]}`,
		"no name":            `{` + base + `,"files":[{"status":"added"}]}`,
		"no status":          `{` + base + `,"files":[{"filename":"a"}]}`,
		"renamed from where": `{` + base + `,"files":[{"filename":"a","status":"renamed"}]}`,
		"negative":           `{` + base + `,"files":[{"filename":"a","status":"added","additions":-1}]}`,
		"not json":           `oops`,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := newTestClient(t, &fake{answer: always(200, body)}).Compare(t.Context(), acme, sha1A, sha1B)
			if !forge.IsKind(err, forge.KindMalformed) {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // 300 files may be all or not
		body := `{` + base + `,"files":` + files(0, 300) + `}`
		cmp, err := newTestClient(t, &fake{answer: always(200, body)}).Compare(t.Context(), acme, sha1A, sha1B)
		if err != nil || cmp.Complete {
			t.Errorf("complete %v, %v", cmp.Complete, err)
		}
	})
}

func TestCase039_PullFilesFollowsLinks(t *testing.T) {
	page := func(n int) string {
		return fmt.Sprintf(`<https://evil.test/repositories/42/pulls/7/files?per_page=100&page=%d>; rel="next", <https://x/?page=9>; rel="last"`, n)
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, r *http.Request, _ string) (*http.Response, error) {
			if r.URL.Host != "api.test" {
				t.Errorf("asked %s", r.URL.Host)
			}
			if n == 1 { // a short page is not the last one
				return reply(200, files(0, 60), "Link", page(2)), nil
			}
			if r.URL.Query().Get("page") != "2" {
				t.Errorf("page %q", r.URL.Query().Get("page"))
			}
			return reply(200, files(60, 41)), nil
		}}
		got, err := newTestClient(t, f).PullFiles(t.Context(), pullSeven)
		if err != nil || len(got) != 101 || got[100].Path != "f100.go" || f.calls != 2 {
			t.Errorf("%d files, %d calls, %v", len(got), f.calls, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a list without end
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			return reply(200, files(n*100, 100), "Link", page(n+1)), nil
		}}
		got, err := newTestClient(t, f).PullFiles(t.Context(), pullSeven)
		if err != nil || len(got) != maxPullFiles || f.calls != maxFilePages {
			t.Errorf("%d files, %d calls, %v", len(got), f.calls, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // links that lead nowhere
		for _, link := range []string{`<::>; rel="next"`, `<https://x/?page=-1>; rel="next"`, `nonsense`, `<https://x/?page=2>`, `;`} {
			if n := nextPage(link); n != 0 {
				t.Errorf("%q: page %d", link, n)
			}
		}
	})
}

func TestBlob(t *testing.T) {
	const text = "hello\n"
	oid := blobID([]byte(text))
	if oid != "ce013625030ba8dba906f756967f9e9ca394464a" {
		t.Fatalf("git calls it otherwise: %s", oid)
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(200, text)}
		c := newTestClient(t, f)
		data, err := c.Blob(t.Context(), acme, oid, 6)
		if err != nil || string(data) != text || f.requests()[0].header.Get("Accept") != rawMedia {
			t.Errorf("%q, %v, %v", data, err, f.requests()[0].header)
		}
		if _, err := c.Blob(t.Context(), acme, oid, 5); !forge.IsKind(err, forge.KindTooLarge) {
			t.Errorf("over the bound: %v", err)
		}
		if _, err := c.Blob(t.Context(), acme, sha1A, 6); !forge.IsKind(err, forge.KindMalformed) {
			t.Errorf("other bytes: %v", err)
		}
		f.answer = always(403, `{"message":"This blob is too large","errors":[{"resource":"Blob","field":"data","code":"too_large"}]}`)
		if _, err := c.Blob(t.Context(), acme, oid, 6); !forge.IsKind(err, forge.KindTooLarge) {
			t.Errorf("refused by GitHub: %v", err)
		}
	})
}

func TestTree(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		ok   bool
	}{
		"whole":        {`{"sha":"x","truncated":false,"tree":[{"path":"a","mode":"100644","type":"blob","sha":"` + sha1A + `"}]}`, true},
		"no tree":      {`{"truncated":false}`, false},
		"no truncated": {`{"tree":[]}`, false},
		"null entry":   {`{"truncated":false,"tree":[null]}`, false},
		"no mode":      {`{"truncated":false,"tree":[{"path":"a","sha":"` + sha1A + `"}]}`, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			got, complete, err := newTestClient(t, &fake{answer: always(200, tc.body)}).Tree(t.Context(), acme, sha1A)
			if tc.ok != (err == nil) || (tc.ok && (!complete || got["a"].Mode != "100644")) || (!tc.ok && !forge.IsKind(err, forge.KindMalformed)) {
				t.Errorf("%s: %v, %v, %v", name, got, complete, err)
			}
		})
	}
}

func TestBranchRules(t *testing.T) {
	protected := `{"name":"release/1","protected":true,"protection":{"required_status_checks":{"contexts":["build","lint"],"checks":[{"context":"build","app_id":15368},{"context":"any","app_id":null},{"context":"minus","app_id":-1}]}}}`
	rules := `[{"type":"deletion"},{"type":"required_status_checks","parameters":{"required_status_checks":[{"context":"scan","integration_id":9001},{"context":"build"}]}}]`
	answer := func(branch, ruleset *http.Response) func(int, *http.Request, string) (*http.Response, error) {
		return func(_ int, r *http.Request, _ string) (*http.Response, error) {
			switch r.URL.EscapedPath() {
			case "/repos/acme/api/branches/release%2F1":
				return branch, nil
			case "/repos/acme/api/rules/branches/release%2F1":
				return ruleset, nil
			}
			return nil, fmt.Errorf("unexpected %s", r.URL.EscapedPath())
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: answer(reply(200, protected), reply(200, rules))}
		c := newTestClient(t, f)
		got, err := c.BranchRules(t.Context(), acme, "release/1")
		if err != nil {
			t.Fatal(err)
		}
		want := []forge.RequiredCheck{
			{Name: "build", AppID: 15368, Source: "branch protection"}, {Name: "any", Source: "branch protection"}, {Name: "minus", Source: "branch protection"},
			{Name: "lint", Source: "branch protection"}, {Name: "scan", AppID: 9001, Source: "ruleset"}, {Name: "build", Source: "ruleset"},
		}
		if fmt.Sprint(got.Required) != fmt.Sprint(want) || fmt.Sprint(got.ReadFrom) != "[branch protection ruleset]" {
			t.Errorf("got %v from %v", got.Required, got.ReadFrom)
		}
		// Kept for a minute, in copies.
		got.Required[0].Name = "changed"
		if again, err := c.BranchRules(t.Context(), acme, "release/1"); err != nil || again.Required[0].Name != "build" || f.calls != 2 {
			t.Errorf("%v, %v, %d calls", again, err, f.calls)
		}
		time.Sleep(time.Minute)
		f.answer = answer(reply(404, `{"message":"Branch not found"}`), reply(200, `[]`))
		if _, err := c.BranchRules(t.Context(), acme, "release/1"); !forge.IsKind(err, forge.KindNotFound) {
			t.Errorf("a branch that is gone: %v", err)
		}
	})
	bad := map[string][2]*http.Response{
		"no protection state": {reply(200, `{"name":"x"}`), reply(200, `[]`)},
		"null rule":           {reply(200, branchBody), reply(200, `[null]`)},
		"no parameters":       {reply(200, branchBody), reply(200, `[{"type":"required_status_checks"}]`)},
		"nameless check":      {reply(200, branchBody), reply(200, `[{"type":"required_status_checks","parameters":{"required_status_checks":[{}]}}]`)},
		"rules not found":     {reply(200, branchBody), reply(404, `{}`)},
		"rules forbidden":     {reply(200, branchBody), reply(403, `{"message":"Resource not accessible by integration"}`)},
	}
	for name, pair := range bad {
		synctest.Test(t, func(t *testing.T) {
			if _, err := newTestClient(t, &fake{answer: answer(pair[0], pair[1])}).BranchRules(t.Context(), acme, "release/1"); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a plan without rulesets
		f := &fake{answer: answer(reply(200, branchBody), reply(403, `{"message":"Upgrade to GitHub Pro or make this repository public to enable this feature."}`))}
		got, err := newTestClient(t, f).BranchRules(t.Context(), acme, "release/1")
		if err != nil || fmt.Sprint(got.ReadFrom) != "[branch protection]" {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestPermission(t *testing.T) {
	for body, want := range map[string]forge.Permission{
		`{"permission":"admin","role_name":"admin"}`:    forge.PermissionAdmin,
		`{"permission":"write","role_name":"maintain"}`: forge.PermissionMaintain,
		`{"permission":"write","role_name":"security"}`: forge.PermissionWrite,
		`{"permission":"read","role_name":"triage"}`:    forge.PermissionTriage,
		`{"permission":"read","role_name":"admin"}`:     forge.PermissionRead,
		`{"permission":"none"}`:                         forge.PermissionNone,
		`{"permission":"owner","role_name":"admin"}`:    "",
		`{"role_name":"admin"}`:                         "",
	} {
		synctest.Test(t, func(t *testing.T) {
			got, err := newTestClient(t, &fake{answer: always(200, body)}).Permission(t.Context(), acme, "mona")
			if got != want || (want == "") != forge.IsKind(err, forge.KindMalformed) {
				t.Errorf("%s: %q, %v", body, got, err)
			}
		})
	}
}

func TestCase061_PullsByHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := `[{"number":282,"state":"open","head":{"sha":"` + sha1A + `","repo":null}},
			{"number":3,"state":"closed","head":{"sha":"` + sha1A + `"}},
			{"number":4,"state":"open","head":{"sha":"` + sha1B + `"}}]`
		got, err := newTestClient(t, &fake{answer: always(200, body)}).PullsByHead(t.Context(), acme, sha1A)
		if err != nil || fmt.Sprint(got) != "[282]" {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestCheckWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(201, createdBody), nil
			}
			return reply(200, `{"id":9}`), nil
		}}
		c := newTestClient(t, f)
		w := aCheck()
		w.StartedAt = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		w.Actions = []forge.Action{{Label: "Re-review", Description: "d", Identifier: "rereview"}}
		if id, err := c.CreateCheck(t.Context(), acme, w); err != nil || id != 9 {
			t.Fatalf("%d, %v", id, err)
		}
		w.Actions, w.Status, w.Conclusion = nil, "completed", "success"
		w.Annotations = []forge.Annotation{{Path: "a.go", StartLine: 1, EndLine: 2, Level: "warning", Title: "t", Message: "m"}}
		if err := c.UpdateCheck(t.Context(), acme, 9, w); err != nil {
			t.Fatal(err)
		}
		var created, updated map[string]any
		for i, into := range []*map[string]any{&created, &updated} {
			if err := json.Unmarshal([]byte(f.requests()[i].body), into); err != nil {
				t.Fatal(err)
			}
		}
		if created["head_sha"] != sha1A || created["started_at"] != "2026-01-02T03:04:05Z" || created["conclusion"] != nil || created["external_id"] != "1:main:s" {
			t.Errorf("created %v", created)
		}
		if updated["conclusion"] != "success" || updated["head_sha"] != nil || fmt.Sprint(updated["actions"]) != "[]" {
			t.Errorf("updated %v: buttons of an earlier state must go", updated)
		}
		if f.requests()[1].path != "/repos/acme/api/check-runs/9" || f.requests()[1].method != http.MethodPatch {
			t.Errorf("asked %+v", f.requests()[1])
		}
	})
	open, closed := aCheck(), aCheck()
	open.Conclusion = "success"
	closed.Status = "completed"
	for _, w := range []forge.CheckWrite{open, closed, {HeadSHA: sha1A, Status: "queued"}} {
		f := &fake{}
		if _, err := newTestClient(t, f).CreateCheck(t.Context(), acme, w); !forge.IsKind(err, forge.KindInvalid) {
			t.Errorf("%+v: got %v", w, err)
		}
	}
	for _, body := range []string{`{}`, `{"id":9,"head_sha":"` + sha1B + `"}`, `null`} {
		synctest.Test(t, func(t *testing.T) {
			if err := create(t.Context(), newTestClient(t, &fake{answer: always(201, body)})); !forge.IsKind(err, forge.KindMalformed) {
				t.Errorf("%s: got %v", body, err)
			}
		})
	}
}

func TestOwnChecks(t *testing.T) {
	run := func(id int, app int, name, sha, started string) string {
		return fmt.Sprintf(`{"id":%d,"name":%q,"head_sha":%q,"status":"completed","conclusion":"success","started_at":%q,"app":{"id":%d}}`, id, name, sha, started, app)
	}
	synctest.Test(t, func(t *testing.T) {
		body := fmt.Sprintf(`{"total_count":5,"check_runs":[%s,%s,%s,%s,%s]}`,
			run(1, 4711, "countersign", sha1A, "2026-01-01T00:00:00Z"), run(3, 4711, "countersign", sha1A, "2026-01-01T01:00:00Z"),
			run(4, 15368, "countersign", sha1A, "2026-01-01T02:00:00Z"), run(5, 4711, "countersign / review", sha1A, "2026-01-01T02:00:00Z"),
			run(6, 4711, "countersign", sha1B, "2026-01-01T02:00:00Z"))
		f := &fake{answer: always(200, body)}
		got, err := newTestClient(t, f).OwnChecks(t.Context(), acme, sha1A, "countersign")
		if err != nil || len(got) != 2 || got[0].ID != 3 || got[1].ID != 1 || got[0].AppID != 4711 {
			t.Errorf("%+v, %v", got, err)
		}
		if p := f.requests()[0].path; !strings.Contains(p, "app_id=4711") || !strings.Contains(p, "filter=all") || !strings.Contains(p, "check_name=countersign") {
			t.Errorf("asked %s", p)
		}
	})
}

// A write that a proxy's redirect would turn into a read has not been done, even
// when the read succeeds.
func TestRedirectedWrite(t *testing.T) {
	for status, done := range map[int]bool{http.StatusMovedPermanently: false, http.StatusFound: false, http.StatusSeeOther: false, http.StatusTemporaryRedirect: true} {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(status, "", "Location", "https://api.test/repositories/42/check-runs/5"), nil
			}
			return reply(http.StatusOK, `{"id":5,"status":"in_progress"}`), nil
		}}
		err := newTestClient(t, f).UpdateCheck(t.Context(), acme, 5, forge.CheckWrite{Name: "countersign", HeadSHA: sha1A, Status: "in_progress", Title: "x", Summary: "y"})
		if (err == nil) != done {
			t.Errorf("%d: the write ended with %v", status, err)
		}
	}
}
