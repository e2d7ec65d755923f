package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign/countersign/review/forge"
)

var pullSeven = forge.PullRef{Repo: acme, Number: 7}

// pullAnswer is a whole answer; change alters the pull request's fields.
func pullAnswer(t testing.TB, change func(repo, pull map[string]any)) string {
	t.Helper()
	pull := map[string]any{
		"number": 7, "title": "Renew sessions", "body": "Because.", "url": "https://github.com/acme/api/pull/7",
		"state": "OPEN", "isDraft": false, "updatedAt": "2026-11-01T10:00:00Z",
		"author":      map[string]any{"__typename": "User", "login": "mona", "databaseId": 5},
		"baseRefName": "main", "baseRefOid": sha1A, "headRefName": "renew", "headRefOid": sha1B,
		"headRepository": map[string]any{"nameWithOwner": "acme/api"}, "isCrossRepository": false,
		"changedFiles": 2, "additions": 10, "deletions": 3,
		"labels":                  map[string]any{"nodes": []any{map[string]any{"name": "auth"}}},
		"closingIssuesReferences": map[string]any{"nodes": []any{map[string]any{"number": 3, "title": "Stale", "url": "u"}}},
		"commits": map[string]any{"totalCount": 1, "nodes": []any{map[string]any{"commit": map[string]any{
			"oid": sha1B, "message": "m",
			"author":    map[string]any{"name": "Mona", "email": "m@x", "user": map[string]any{"login": "mona"}},
			"committer": map[string]any{"name": "GitHub", "email": "noreply@github.com", "user": nil},
			"parents":   map[string]any{"nodes": []any{map[string]any{"oid": sha1A}}},
			"signature": map[string]any{"isValid": true, "wasSignedByGitHub": true},
		}}}},
	}
	repo := map[string]any{"databaseId": 42, "isPrivate": true, "defaultBranchRef": map[string]any{"name": "main"}, "pullRequest": pull}
	if change != nil {
		change(repo, pull)
	}
	return graphData(t, map[string]any{"repository": repo})
}

func graphData(t testing.TB, data any) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(200, pullAnswer(t, nil))}
		p, err := newTestClient(t, f).Pull(t.Context(), pullSeven)
		if err != nil {
			t.Fatal(err)
		}
		if p.Author != (forge.Account{ID: 5, Login: "mona"}) || p.HeadSHA != sha1B || p.BaseSHA != sha1A || p.BaseRef != "main" ||
			!p.Private || p.DefaultBranch != "main" || p.State != forge.PullOpen || p.ChangedFiles != 2 || p.CommitsTotal != 1 ||
			len(p.Linked) != 1 || len(p.Labels) != 1 || p.HeadRepo != "acme/api" || p.CrossRepository || p.UpdatedAt.IsZero() {
			t.Errorf("got %+v", p)
		}
		c := p.Commits[0]
		if c.SHA != sha1B || !c.Verified || !c.SignedByForge || c.Parents[0] != sha1A || c.Author.Login != "mona" || c.Committer.Login != "" {
			t.Errorf("commit %+v", c)
		}
		if strings.Contains(f.requests()[0].body, "mona") || !strings.Contains(f.requests()[0].body, `"number":7`) {
			t.Errorf("request %s", f.requests()[0].body)
		}
	})
}

func TestPullVariants(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(repo, pull map[string]any)
		check  func(forge.Pull) bool
	}{
		"case-063 deleted fork": {func(_, p map[string]any) { p["headRepository"] = nil }, func(p forge.Pull) bool { return p.HeadRepo == "" && p.CrossRepository }},
		"a bot is spelled as REST does": {func(_, p map[string]any) {
			p["author"] = map[string]any{"__typename": "Bot", "login": "dependabot", "databaseId": 49699333}
		}, func(p forge.Pull) bool { return p.Author.Login == "dependabot[bot]" && p.Author.Bot }},
		"a deleted account":      {func(_, p map[string]any) { p["author"] = nil }, func(p forge.Pull) bool { return p.Author.Login == "ghost" && !p.Author.Bot }},
		"no labels and no issue": {func(_, p map[string]any) { p["labels"], p["closingIssuesReferences"] = nil, nil }, func(p forge.Pull) bool { return p.Labels == nil && p.Linked == nil }},
		"merged":                 {func(_, p map[string]any) { p["state"] = "MERGED" }, func(p forge.Pull) bool { return p.State == forge.PullMerged }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answer: always(200, pullAnswer(t, tc.change))}
				p, err := newTestClient(t, f).Pull(t.Context(), pullSeven)
				if err != nil || !tc.check(p) {
					t.Errorf("got %+v, %v", p, err)
				}
			})
		})
	}
}

func TestGraphQLAnswersAreChecked(t *testing.T) {
	without := func(field string) func(repo, pull map[string]any) {
		return func(repo, pull map[string]any) { delete(repo, field); delete(pull, field) }
	}
	with := func(field string, v any) func(repo, pull map[string]any) {
		return func(_, pull map[string]any) { pull[field] = v }
	}
	partial := strings.TrimSuffix(pullAnswer(t, nil), "}") + `,"errors":[{"type":"FORBIDDEN","message":"Resource not accessible by integration"}]}`
	for name, tc := range map[string]struct {
		body string
		kind forge.Kind
	}{
		"empty":                {``, forge.KindMalformed},
		"html":                 {`<html>`, forge.KindMalformed},
		"null":                 {`null`, forge.KindMalformed},
		"no data":              {`{"data":null}`, forge.KindMalformed},
		"no repository":        {`{"data":{"repository":null}}`, forge.KindMalformed},
		"no pull":              {pullAnswer(t, without("pullRequest")), forge.KindMalformed},
		"no head":              {pullAnswer(t, without("headRefOid")), forge.KindMalformed},
		"a head that is a ref": {pullAnswer(t, with("headRefOid", "main")), forge.KindMalformed},
		"no base ref":          {pullAnswer(t, without("baseRefName")), forge.KindMalformed},
		"no file count":        {pullAnswer(t, without("changedFiles")), forge.KindMalformed},
		"no default branch":    {pullAnswer(t, without("defaultBranchRef")), forge.KindMalformed},
		"no commits":           {pullAnswer(t, without("commits")), forge.KindMalformed},
		"an unknown state":     {pullAnswer(t, with("state", "LOCKED")), forge.KindMalformed},
		"another pull":         {pullAnswer(t, with("number", 8)), forge.KindMalformed},
		"an empty commit":      {pullAnswer(t, with("commits", map[string]any{"totalCount": 1, "nodes": []any{nil}})), forge.KindMalformed},
		"a number as title":    {pullAnswer(t, with("title", 5)), forge.KindMalformed},
		"another repository":   {pullAnswer(t, func(repo, _ map[string]any) { repo["databaseId"] = 43 }), forge.KindNotFound},
		"not found":            {`{"data":{"repository":null},"errors":[{"type":"NOT_FOUND","message":"Could not resolve"}]}`, forge.KindNotFound},
		"data with errors":     {partial, forge.KindForbidden},
		"a wrong query":        {`{"errors":[{"message":"Field 'x' doesn't exist","extensions":{"code":"undefinedField"}}]}`, forge.KindInvalid},
		"trouble inside":       {`{"data":{},"errors":[{"message":"Something went wrong while executing your query."}]}`, forge.KindUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := newTestClient(t, &fake{answer: always(200, tc.body)}).Pull(t.Context(), pullSeven)
				if fe := asForge(t, err); fe.Kind != tc.kind || fe.Op != "read pull acme/api#7" {
					t.Errorf("got %v, want %s", err, tc.kind)
				}
			})
		})
	}
}

func TestGraphQLRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.answer = func(int, *http.Request, string) (*http.Response, error) {
			return reply(200, `{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`,
				"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", fmt.Sprint(time.Now().Add(10*time.Minute).Unix())), nil
		}
		c := newTestClient(t, f)
		for range 2 {
			_, err := c.Pull(t.Context(), pullSeven)
			if fe := asForge(t, err); fe.Kind != forge.KindRateLimited || fe.RetryAfter < 9*time.Minute || f.calls != 1 {
				t.Errorf("got %v, %s, %d calls", err, fe.RetryAfter, f.calls)
			}
		}
		f.answer = always(200, branchBody)
		if err := readBranch(t.Context(), c); err != nil {
			t.Errorf("REST has a limit of its own: %v", err)
		}
	})
}

// headAnswer is a snapshot's answer with a page of n check runs after from.
func headAnswer(t testing.TB, from, n, total int, more bool, extra map[string]any) string {
	t.Helper()
	nodes := []any{}
	for i := from; i < from+n; i++ {
		conclusion := "SUCCESS"
		if i == 140 {
			conclusion = "FAILURE"
		}
		nodes = append(nodes, map[string]any{
			"__typename": "CheckRun", "databaseId": i + 1, "name": fmt.Sprintf("job %d", i), "status": "COMPLETED", "conclusion": conclusion,
			"startedAt": "2026-11-01T10:00:00Z", "completedAt": "2026-11-01T10:01:00Z", "title": nil, "summary": nil, "externalId": nil, "detailsUrl": nil,
			"checkSuite": map[string]any{"databaseId": 1, "app": map[string]any{"databaseId": 15368, "slug": "github-actions"},
				"workflowRun": map[string]any{"event": "pull_request", "file": map[string]any{"path": ".github/workflows/ci.yml"}}},
		})
	}
	repo := map[string]any{
		"databaseId":  42,
		"pullRequest": map[string]any{"number": 7, "state": "OPEN", "isDraft": false, "baseRefName": "main", "headRefOid": sha1B},
		"head": map[string]any{"oid": sha1B, "statusCheckRollup": map[string]any{"contexts": map[string]any{
			"totalCount": total, "pageInfo": map[string]any{"hasNextPage": more, "endCursor": fmt.Sprint(from + n)}, "nodes": nodes}}},
	}
	for k, v := range extra {
		repo[k] = v
	}
	return graphData(t, map[string]any{"repository": repo})
}

func headRequest(dirs ...string) forge.SnapshotRequest {
	return forge.SnapshotRequest{Pull: pullSeven, Head: sha1B, MergeBase: sha1A, Dirs: dirs}
}

func TestCase116_AllPagesOfChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, body string) (*http.Response, error) {
			switch n {
			case 1:
				return reply(200, headAnswer(t, 0, 100, 145, true, nil)), nil
			case 2:
				return reply(500, ""), nil
			}
			if !strings.Contains(body, `"after":"100"`) {
				t.Errorf("page 2 asks %s", body)
			}
			return reply(200, headAnswer(t, 100, 45, 145, false, nil)), nil
		}}
		snap, err := newTestClient(t, f).Snapshot(t.Context(), headRequest())
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Checks) != 145 || !snap.ChecksComplete || snap.Checks[140].Conclusion != "failure" || f.calls != 3 {
			t.Errorf("%d checks, complete %v, %d calls", len(snap.Checks), snap.ChecksComplete, f.calls)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a page that cannot be had is no success
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(200, headAnswer(t, 0, 100, 145, true, nil)), nil
			}
			return reply(500, ""), nil
		}}
		if _, err := newTestClient(t, f).Snapshot(t.Context(), headRequest()); !forge.IsKind(err, forge.KindUnavailable) {
			t.Errorf("got %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // fewer rows than counted
		f := &fake{answer: always(200, headAnswer(t, 0, 30, 45, false, nil))}
		snap, err := newTestClient(t, f).Snapshot(t.Context(), headRequest())
		if err != nil || snap.ChecksComplete {
			t.Errorf("complete %v, %v", snap.ChecksComplete, err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // more than are read
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			return reply(200, headAnswer(t, (n-1)*100, 100, 5000, true, nil)), nil
		}}
		snap, err := newTestClient(t, f).Snapshot(t.Context(), headRequest())
		if err != nil || snap.ChecksComplete || len(snap.Checks) != maxChecks || f.calls != maxCheckPages {
			t.Errorf("complete %v, %d checks, %d calls, %v", snap.ChecksComplete, len(snap.Checks), f.calls, err)
		}
	})
}

func TestSnapshotRows(t *testing.T) {
	status := map[string]any{"__typename": "StatusContext", "context": "ci/x", "state": "ERROR", "createdAt": "2026-11-01T10:00:00Z",
		"creator": map[string]any{"__typename": "Bot", "login": "jenkins"}}
	pending := map[string]any{"__typename": "StatusContext", "context": "ci/y", "state": "EXPECTED", "createdAt": "2026-11-01T10:00:00Z", "creator": nil}
	queued := map[string]any{"__typename": "CheckRun", "databaseId": 9, "name": "q", "status": "QUEUED", "conclusion": nil, "startedAt": nil, "completedAt": nil,
		"checkSuite": map[string]any{"databaseId": 1, "app": nil, "workflowRun": nil}}
	contexts := func(nodes ...any) map[string]any {
		return map[string]any{"head": map[string]any{"oid": sha1B, "statusCheckRollup": map[string]any{"contexts": map[string]any{
			"totalCount": len(nodes), "pageInfo": map[string]any{"hasNextPage": false}, "nodes": nodes}}}}
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(200, headAnswer(t, 0, 0, 0, false, contexts(status, pending, queued)))}
		snap, err := newTestClient(t, f).Snapshot(t.Context(), headRequest())
		if err != nil || len(snap.Checks) != 3 || !snap.ChecksComplete {
			t.Fatalf("%+v, %v", snap, err)
		}
		s, p, q := snap.Checks[0], snap.Checks[1], snap.Checks[2]
		if s.Kind != forge.CommitStatus || s.Status != "completed" || s.Conclusion != "error" || s.App != "jenkins[bot]" {
			t.Errorf("case-111: status %+v", s)
		}
		if p.Status != "pending" || p.Conclusion != "" {
			t.Errorf("pending %+v", p)
		}
		if q.Kind != forge.CheckRun || q.Status != "queued" || q.Conclusion != "" || !q.StartedAt.IsZero() || q.AppID != 0 {
			t.Errorf("queued %+v", q)
		}
	})
	nothing := map[string]any{"head": map[string]any{"oid": sha1B, "statusCheckRollup": nil}}
	synctest.Test(t, func(t *testing.T) {
		snap, err := newTestClient(t, &fake{answer: always(200, headAnswer(t, 0, 0, 0, false, nothing))}).Snapshot(t.Context(), headRequest())
		if err != nil || !snap.ChecksComplete || len(snap.Checks) != 0 {
			t.Errorf("case-109: %+v, %v", snap, err)
		}
	})
	bad := map[string]map[string]any{
		"commit gone":        {"head": nil},
		"another commit":     {"head": map[string]any{"oid": sha1C, "statusCheckRollup": nil}},
		"no contexts":        {"head": map[string]any{"oid": sha1B, "statusCheckRollup": map[string]any{}}},
		"empty check":        contexts(nil),
		"unknown kind":       contexts(map[string]any{"__typename": "Other"}),
		"run without name":   contexts(map[string]any{"__typename": "CheckRun", "databaseId": 1, "status": "QUEUED"}),
		"ended without end":  contexts(map[string]any{"__typename": "CheckRun", "databaseId": 1, "name": "n", "status": "COMPLETED"}),
		"time that is none":  contexts(map[string]any{"__typename": "CheckRun", "databaseId": 1, "name": "n", "status": "QUEUED", "startedAt": "now"}),
		"no draft state":     {"pullRequest": map[string]any{"number": 7, "state": "OPEN", "baseRefName": "main", "headRefOid": sha1B}},
		"no pull":            {"pullRequest": nil},
		"another repository": {"databaseId": 43},
	}
	for name, extra := range bad {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := newTestClient(t, &fake{answer: always(200, headAnswer(t, 0, 0, 0, false, extra))}).Snapshot(t.Context(), headRequest())
				if !forge.IsKind(err, forge.KindMalformed) && !forge.IsKind(err, forge.KindNotFound) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestSnapshotFolders(t *testing.T) {
	entry := func(name string, mode int, oid string) map[string]any {
		return map[string]any{"name": name, "mode": mode, "type": "blob", "oid": oid}
	}
	folders := map[string]any{
		"h0": map[string]any{"__typename": "Tree", "entries": []any{entry("a.go", 33188, sha1A), entry("run.sh", 33261, sha1B), entry("dir", 16384, sha1C)}},
		"b0": map[string]any{"__typename": "Tree", "entries": []any{entry("a.go", 33188, sha1C)}},
		"h1": map[string]any{"__typename": "Tree", "entries": []any{entry("link", 40960, sha1A)}},
		"b1": nil, // new at the head
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(200, headAnswer(t, 0, 0, 0, false, folders))}
		hostile := `x" } } evil { `
		snap, err := newTestClient(t, f).Snapshot(t.Context(), headRequest("", hostile))
		if err != nil {
			t.Fatal(err)
		}
		if snap.Head["run.sh"].Mode != "100755" || snap.Head["dir"].Mode != "040000" || snap.Base["a.go"].OID != sha1C ||
			snap.Head[hostile+"/link"].Mode != "120000" || len(snap.Base) != 1 || snap.Unread != nil {
			t.Errorf("head %v base %v", snap.Head, snap.Base)
		}
		var sent graphRequest
		if err := json.Unmarshal([]byte(f.requests()[0].body), &sent); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sent.Query, "evil") || sent.Variables["h1"] != sha1B+":"+hostile || sent.Variables["b0"] != sha1A+":" {
			t.Errorf("folders travel as variables only: %v", sent.Variables)
		}
	})
	missing := map[string]any{"h0": map[string]any{"__typename": "Tree", "entries": []any{entry("", 1, sha1A)}}, "b0": nil}
	for _, extra := range []map[string]any{missing, {"h0": nil}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: always(200, headAnswer(t, 0, 0, 0, false, extra))}
			if _, err := newTestClient(t, f).Snapshot(t.Context(), headRequest("")); !forge.IsKind(err, forge.KindMalformed) {
				t.Errorf("%v: got %v", extra, err)
			}
		})
	}
}

func TestSnapshotOfManyFolders(t *testing.T) {
	var dirs []string
	for i := range maxDirs + 1 {
		dirs = append(dirs, fmt.Sprintf("d%d", i))
	}
	for _, truncated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(_ int, r *http.Request, _ string) (*http.Response, error) {
				if strings.Contains(r.URL.Path, "/git/trees/") {
					return reply(200, fmt.Sprintf(`{"sha":%q,"truncated":%v,"tree":[{"path":"d1/x","mode":"100755","type":"blob","sha":%q}]}`, sha1A, truncated, sha1C)), nil
				}
				return reply(200, headAnswer(t, 0, 0, 0, false, nil)), nil
			}}
			snap, err := newTestClient(t, f).Snapshot(t.Context(), headRequest(dirs...))
			if err != nil || f.calls != 3 || snap.Head["d1/x"].Mode != "100755" || snap.Base["d1/x"].OID != sha1C || (len(snap.Unread) > 0) != truncated {
				t.Errorf("%v, %d calls, unread %d", err, f.calls, len(snap.Unread))
			}
		})
	}
}

func TestRequestsThatCannotBeMade(t *testing.T) {
	f := &fake{answer: always(200, `{}`)}
	c := newTestClient(t, f)
	up := forge.Repo{Owner: "..", Name: "x", Installation: 7}
	ctx := t.Context()
	errs := map[string]error{}
	_, errs["snapshot of a name"] = c.Snapshot(ctx, forge.SnapshotRequest{Pull: pullSeven, Head: "main"})
	_, errs["compare of names"] = c.Compare(ctx, acme, "main", sha1A)
	_, errs["compare above"] = c.Compare(ctx, up, sha1A, sha1B)
	_, errs["blob of a name"] = c.Blob(ctx, acme, "HEAD", 10)
	_, errs["blob without bound"] = c.Blob(ctx, acme, sha1A, 0)
	_, _, errs["tree of a name"] = c.Tree(ctx, acme, "main")
	_, errs["rules above"] = c.BranchRules(ctx, acme, "..")
	_, errs["nobody"] = c.Permission(ctx, acme, "")
	_, errs["pulls of a name"] = c.PullsByHead(ctx, acme, "main")
	_, errs["check on a name"] = c.CreateCheck(ctx, acme, forge.CheckWrite{Name: "n", HeadSHA: "main", Status: "queued"})
	_, errs["checks of a name"] = c.OwnChecks(ctx, acme, "main", "n")
	for name, err := range errs {
		if !forge.IsKind(err, forge.KindInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.calls != 0 || f.tokens != 0 {
		t.Errorf("%d calls were made", f.calls)
	}
	var fe *forge.Error
	if !errors.As(errs["compare of names"], &fe) || fe.Op != "compare acme/api main...aaaaaaa" {
		t.Errorf("op %v", errs["compare of names"])
	}
}
