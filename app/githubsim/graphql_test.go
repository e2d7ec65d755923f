package githubsim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/countersign/countersign/app/githubsim"
)

// query sends a GraphQL query with an installation's token.
func (w *world) query(text string, vars map[string]any) gjson.Result {
	w.t.Helper()
	body := must(json.Marshal(map[string]any{"query": text, "variables": vars}))
	req := must(http.NewRequestWithContext(context.Background(), http.MethodPost, w.url+"/graphql", bytes.NewReader(body)))
	resp, err := w.gh.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw := must(io.ReadAll(resp.Body))
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("GraphQL answered %d: %s", resp.StatusCode, raw)
	}
	return gjson.ParseBytes(raw)
}

const bigQuery = `query($owner: String!, $name: String!, $number: Int!, $tree: String!, $file: String!) {
  rateLimit { cost remaining resetAt }
  viewer { login }
  repository(owner: $owner, name: $name) {
    id databaseId isPrivate viewerPermission
    defaultBranchRef { name target { oid } }
    ref(qualifiedName: "refs/heads/main") { name target { ... on Commit { oid } } branchProtectionRule { requiredStatusChecks { context } } }
    tree: object(expression: $tree) { __typename ... on Tree { entries { name mode type oid size } } }
    file: object(expression: $file) { ... on Blob { byteSize isBinary isTruncated text oid } }
    pullRequest(number: $number) {
      id databaseId number title body state isDraft merged closed locked url createdAt updatedAt
      author { __typename login url ... on User { databaseId } ... on Bot { databaseId } }
      authorAssociation baseRefName baseRefOid headRefName headRefOid isCrossRepository changedFiles additions deletions
      headRepository { nameWithOwner databaseId isFork }
      labels(first: 10) { nodes { name } }
      closingIssuesReferences(first: 10) { totalCount nodes { number title url } }
      reviews(first: 10) { totalCount nodes { id } }
      reviewThreads(first: 10) { totalCount }
      commits(last: 1) { totalCount pageInfo { hasNextPage endCursor } nodes { commit {
        oid messageHeadline message authoredDate committedDate
        author { name email user { login databaseId } } committer { name email user { login } }
        signature { isValid wasSignedByGitHub }
        parents(first: 3) { nodes { oid } } authors(first: 5) { nodes { name email } } tree { oid }
        statusCheckRollup { state contexts(first: 50) { totalCount pageInfo { hasNextPage endCursor } nodes {
          __typename
          ... on CheckRun { databaseId name status conclusion startedAt completedAt detailsUrl externalId isRequired(pullRequestNumber: $number)
            title summary checkSuite { databaseId app { databaseId slug name } workflowRun { databaseId runNumber event file { path } workflow { name } } } }
          ... on StatusContext { id context state targetUrl description createdAt creator { login } isRequired(pullRequestNumber: $number) }
        } } }
      } } }
    }
  }
}`

func TestGraphQLBringsAPullRequestInOneQuery(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	issue := w.repo.OpenIssue("It is silent", "", "mona")
	p := must(w.repo.OpenPull(githubsim.PullSpec{
		Title: "Say hello", Author: "helper[bot]", Head: "hello", Labels: []string{"ai"}, ClosesIssues: []int{issue},
		Message: "Say hello\n\nCo-authored-by: Mona <mona@example.com>",
		Changes: []githubsim.Change{
			{Path: "src/run.sh", Content: "#!/bin/sh\n", Mode: "100755"}, {Path: "src/bin", Content: "\x00\x01"}, {Path: "src/link", Content: "a.go", Mode: "120000"},
		},
	}))
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: 15368})
	vars := map[string]any{"owner": "acme", "name": "shop", "number": p.Number(), "tree": p.HeadSHA() + ":src", "file": p.HeadSHA() + ":src/a.go"}

	before := w.query(bigQuery, vars)
	if got := before.Get("data.repository.pullRequest.commits.nodes.0.commit.statusCheckRollup"); got.Type != gjson.Null || before.Get("errors").Exists() {
		t.Errorf("rollup with nothing reported is %s, errors %s; want null and none", got, before.Get("errors"))
	}
	must(w.repo.SetCheck(p.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "failure", Workflow: githubsim.Workflow{Path: ".github/workflows/build.yml"}}))
	if err := w.repo.SetStatus(p.HeadSHA(), "ci/x", "pending"); err != nil {
		t.Fatal(err)
	}
	got := w.query(bigQuery, vars)
	commit := "data.repository.pullRequest.commits.nodes.0.commit."
	for path, want := range map[string]string{
		"errors":                          "",
		"data.viewer.login":               "countersign[bot]",
		"data.repository.tree.__typename": "Tree",
		"data.repository.tree.entries.#(name==\"run.sh\").mode":             "33261",
		"data.repository.tree.entries.#(name==\"link\").mode":               "40960",
		"data.repository.tree.entries.#(name==\"a.go\").mode":               "33188",
		"data.repository.file.text":                                         "package a\n\nfunc A() {}\n",
		"data.repository.ref.branchProtectionRule":                          "",
		"data.repository.pullRequest.author.__typename":                     "Bot",
		"data.repository.pullRequest.author.login":                          "helper",
		"data.repository.pullRequest.state":                                 "OPEN",
		"data.repository.pullRequest.changedFiles":                          "3",
		"data.repository.pullRequest.headRepository.nameWithOwner":          "acme/shop",
		"data.repository.pullRequest.labels.nodes.0.name":                   "ai",
		"data.repository.pullRequest.closingIssuesReferences.nodes.0.title": "It is silent",
		commit + "oid":                     p.HeadSHA(),
		commit + "author.user.login":       "helper[bot]",
		commit + "authors.nodes.1.email":   "mona@example.com",
		commit + "signature":               "",
		commit + "statusCheckRollup.state": "FAILURE",
		commit + "statusCheckRollup.contexts.nodes.#(name==\"build\").conclusion":                       "FAILURE",
		commit + "statusCheckRollup.contexts.nodes.#(name==\"build\").isRequired":                       "true",
		commit + "statusCheckRollup.contexts.nodes.#(name==\"build\").checkSuite.app.databaseId":        "15368",
		commit + "statusCheckRollup.contexts.nodes.#(name==\"build\").checkSuite.workflowRun.file.path": ".github/workflows/build.yml",
		commit + "statusCheckRollup.contexts.nodes.#(context==\"ci/x\").state":                          "PENDING",
		commit + "statusCheckRollup.contexts.nodes.#(context==\"ci/x\").isRequired":                     "false",
	} {
		if v := got.Get(path); v.String() != want {
			t.Errorf("%s is %q; want %q", path, v.String(), want)
		}
	}
}

func TestGraphQLRefusals(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.pull()
	for name, row := range map[string]struct{ query, path, want string }{
		"a field the schema does not have": {`{ repository(owner:"acme",name:"shop") { colour } }`, "errors.0.message", `Cannot query field "colour" on type "Repository".`},
		"no page size":                     {`{ repository(owner:"acme",name:"shop") { pullRequest(number:1) { labels { nodes { name } } } } }`, "errors.0.type", "MISSING_PAGINATION_BOUNDARIES"},
		"over a hundred":                   {`{ repository(owner:"acme",name:"shop") { pullRequest(number:1) { commits(first:101) { totalCount } } } }`, "errors.0.type", "EXCESSIVE_PAGINATION"},
		"no such repository":               {`{ repository(owner:"acme",name:"gone") { id } }`, "errors.0.type", "NOT_FOUND"},
		"no such pull request":             {`{ repository(owner:"acme",name:"shop") { pullRequest(number:9) { id } } }`, "errors.0.type", "NOT_FOUND"},
		"not simulated, so never null":     {`{ repository(owner:"acme",name:"shop") { mergeQueue { id } } }`, "errors.0.message", "field mergeQueue of Repository is not simulated"},
		"a bad cursor":                     {`{ repository(owner:"acme",name:"shop") { pullRequest(number:1) { commits(first:1,after:"x") { totalCount } } } }`, "errors.0.type", "INVALID_CURSOR_ARGUMENTS"},
		"a missing variable":               {`query($n:Int!) { repository(owner:"acme",name:"shop") { pullRequest(number:$n) { id } } }`, "data", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.query(row.query, nil)
			if v := got.Get(row.path).String(); v != row.want || len(got.Get("errors").Array()) == 0 {
				t.Errorf("got %s; want %s = %q and an error", got, row.path, row.want)
			}
		})
	}
}

func TestGraphQLPages(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	for _, c := range "bcd" {
		must(p.Push(githubsim.Change{Path: string(c), Content: string(c)}))
	}
	const q = `query($after:String) { repository(owner:"acme",name:"shop") { pullRequest(number:1) {
		commits(first:3, after:$after) { totalCount pageInfo { hasNextPage endCursor } nodes { commit { oid } } } } } }`
	var seen []string
	var after any
	for range 5 {
		got := w.query(q, map[string]any{"after": after}).Get("data.repository.pullRequest.commits")
		for _, n := range got.Get("nodes.#.commit.oid").Array() {
			seen = append(seen, n.String())
		}
		if !got.Get("pageInfo.hasNextPage").Bool() {
			break
		}
		after = got.Get("pageInfo.endCursor").String()
	}
	if len(seen) != 4 || seen[3] != p.HeadSHA() {
		t.Errorf("paging gave %s; want four commits, the head last", strings.Join(seen, " "))
	}
}

func TestGraphQLForkThatIsGone(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	fork := must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "eve", Name: "shop", UserOwned: true, ForkOf: w.repo}))
	p := must(w.repo.OpenPull(githubsim.PullSpec{Title: "x", Head: "x", HeadRepo: fork, Changes: []githubsim.Change{{Path: "x", Content: "x"}}}))
	fork.Delete()
	got := w.query(`{ repository(owner:"acme",name:"shop") { pullRequest(number:1) { headRepository { id } isCrossRepository headRefOid } } }`, nil).Get("data.repository.pullRequest")
	if got.Get("headRepository").Type != gjson.Null || !got.Get("isCrossRepository").Bool() || got.Get("headRefOid").String() != p.HeadSHA() {
		t.Errorf("got %s; want no head repository, still cross-repository", got)
	}
}

func TestGraphQLNeedsPermission(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.pull()
	w.inst.WithholdPermissions(map[string]string{"contents": "read"})
	got := w.query(`{ repository(owner:"acme",name:"shop") { pullRequest(number:1) { id } } }`, nil)
	if got.Get("errors.0.type").String() != "FORBIDDEN" || got.Get("errors.0.message").String() != "Resource not accessible by integration" {
		t.Errorf("got %s; want FORBIDDEN", got)
	}
}
