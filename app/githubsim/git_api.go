package githubsim

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

func gitRoutes() []route {
	return []route{
		{"GET /repos/{owner}/{repo}/git/ref/{ref...}", anyToken, "contents:read", getRef},
		{"GET /repos/{owner}/{repo}/git/commits/{commit_sha}", anyToken, "contents:read", func(c *call) (*reply, error) {
			commit, err := c.repo.store.Commit(c.path("commit_sha"))
			if err != nil {
				return nil, notFound()
			}
			return ok(c.repo.gitCommitJSON(commit))
		}},
	}
}

func getRef(c *call) (*reply, error) {
	ref := c.path("ref")
	if !strings.HasPrefix(ref, "heads/") && !strings.HasPrefix(ref, "pull/") {
		return nil, notFound()
	}
	commit, err := c.repo.resolve(ref)
	if err != nil {
		return nil, notFound()
	}
	u := c.repo.apiURL() + "/git/"
	return ok(obj{
		"ref": "refs/" + ref, "node_id": "REF_kwDO" + commit.SHA[:20], "url": u + "refs/" + ref,
		"object": obj{"sha": commit.SHA, "type": "commit", "url": u + "commits/" + commit.SHA},
	})
}

// The diff media type's limits.
const (
	maxDiffFiles = 300
	maxDiffLines = 20_000
)

// diffReply is the diff media type. It is refused above 300 files or 20,000 lines, context included.
func (c *call) diffReply(oldTree, newTree string) (*reply, error) {
	files, err := c.repo.store.Diff(oldTree, newTree)
	if err != nil {
		return nil, err
	}
	if len(files) > maxDiffFiles {
		return nil, tooLarge("Sorry, the diff exceeded the maximum number of files (300). Consider using 'List pull requests files' API or locally cloning the repository instead.")
	}
	text, err := c.repo.store.DiffText(oldTree, newTree)
	if err != nil {
		return nil, err
	}
	if bytes.Count(text, []byte("\n")) > maxDiffLines {
		return nil, tooLarge("Sorry, the diff exceeded the maximum number of lines (20000)")
	}
	return &reply{raw: nonNil(text), ctype: "application/vnd.github.diff; charset=utf-8"}, nil
}

func tooLarge(message string) *apiError {
	return refuse(http.StatusNotAcceptable, message, obj{"resource": "PullRequest", "field": "diff", "code": "too_large"})
}

// changedFiles are the files between a pull request's merge base and its head.
func (p *Pull) changedFiles() ([]gitstore.FileDiff, error) {
	base, err := p.repo.store.Commit(p.mergeBase())
	if err != nil {
		return nil, err
	}
	head, err := p.repo.store.Commit(p.headSHA)
	if err != nil {
		return nil, err
	}
	return p.repo.store.Diff(base.Tree, head.Tree)
}
