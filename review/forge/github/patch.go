package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

const (
	// maxCompared is where GitHub's comparison ends without saying so.
	maxCompared = 300
	// maxPullFiles and maxFilePages are where list-files ends.
	maxPullFiles = 3000
	maxFilePages = maxPullFiles / 100
)

// Compare reads the three-dot comparison: what head adds to its merge base with
// base, not what base has gained since (case 151).
func (c *Client) Compare(ctx context.Context, repo forge.Repo, base, head string) (forge.Comparison, error) {
	op := fmt.Sprintf("compare %s %s...%s", repo.FullName(), short(base), short(head))
	if !isOID(base) || !isOID(head) {
		return forge.Comparison{}, invalid(op, errors.New("want full commit ids"))
	}
	path, err := repoPath(repo, "compare", base+"..."+head)
	if err != nil {
		return forge.Comparison{}, invalid(op, err)
	}
	var answer gh.CommitsComparison
	// Paging is by commits, of which we need none; the first page has all files.
	if _, err := c.getJSON(ctx, op, call{route: routeCompare}, path+"?per_page=1", &answer); err != nil {
		return forge.Comparison{}, err
	}
	return comparison(op, &answer)
}

func comparison(op string, answer *gh.CommitsComparison) (forge.Comparison, error) {
	out := forge.Comparison{MergeBase: answer.MergeBaseCommit.GetSHA(), Complete: len(answer.Files) < maxCompared}
	if !isOID(out.MergeBase) {
		return forge.Comparison{}, malformed(op, errors.New("no merge base in the answer"))
	}
	if answer.Files == nil {
		return forge.Comparison{}, malformed(op, errors.New("no file list in the answer"))
	}
	files, err := comparedFiles(answer.Files)
	if err != nil {
		return forge.Comparison{}, malformed(op, err)
	}
	out.Files = files
	return out, nil
}

// PullFiles reads the list of a pull request's files, page by page, following
// GitHub's own links (case 39). It answers for the head at the time of the
// call: whoever combines it with a SHA has to look at the head again.
func (c *Client) PullFiles(ctx context.Context, ref forge.PullRef) ([]forge.ComparedFile, error) {
	op := fmt.Sprintf("list files of %s#%d", ref.Repo.FullName(), ref.Number)
	path, err := repoPath(ref.Repo, "pulls", strconv.Itoa(ref.Number), "files")
	if err != nil {
		return nil, invalid(op, err)
	}
	var out []forge.ComparedFile
	err = c.pages(ctx, op, call{route: routeFiles}, path, nil, maxFilePages, func(body []byte) (bool, error) {
		files, err := decodeFiles(op, body)
		if err != nil {
			return false, err
		}
		out = append(out, files...)
		return len(out) < maxPullFiles, nil
	})
	if err != nil {
		return nil, err
	}
	return out[:min(len(out), maxPullFiles)], nil
}

// decodeFiles reads one page of a file list.
func decodeFiles(op string, body []byte) ([]forge.ComparedFile, error) {
	var page []*gh.CommitFile
	if err := decode(op, body, &page); err != nil {
		return nil, err
	}
	files, err := comparedFiles(page)
	if err != nil {
		return nil, malformed(op, err)
	}
	return files, nil
}

func comparedFiles(rows []*gh.CommitFile) ([]forge.ComparedFile, error) {
	out := make([]forge.ComparedFile, 0, len(rows))
	for i, r := range rows {
		if r.GetFilename() == "" || r.GetStatus() == "" {
			return nil, fmt.Errorf("file %d has no name or no status", i)
		}
		f := forge.ComparedFile{
			Status: r.GetStatus(), Path: r.GetFilename(), PreviousPath: r.GetPreviousFilename(), Blob: r.GetSHA(),
			Additions: r.GetAdditions(), Deletions: r.GetDeletions(), Changes: r.GetChanges(),
			Patch: r.GetPatch(), HasPatch: r.Patch != nil,
		}
		if f.Additions < 0 || f.Deletions < 0 || f.Changes < 0 {
			return nil, fmt.Errorf("file %d has negative counts", i)
		}
		if (f.Status == "renamed" || f.Status == "copied") && f.PreviousPath == "" {
			return nil, fmt.Errorf("file %d is %s from nowhere", i, f.Status)
		}
		out = append(out, f)
	}
	return out, nil
}

// pages reads a paged list until its links end, each stops it, or max pages are
// read. Of a link only the page number is used: its address comes from outside.
func (c *Client) pages(ctx context.Context, op string, k call, path string, query url.Values, max int, each func(body []byte) (more bool, err error)) error {
	q := url.Values{}
	for name, v := range query {
		q[name] = v
	}
	q.Set("per_page", "100")
	for n := 0; n < max; n++ {
		a, err := c.rest(ctx, op, k, http.MethodGet, path+"?"+q.Encode(), nil)
		if err != nil {
			return err
		}
		more, err := each(a.body)
		if err != nil {
			return err
		}
		next := nextPage(a.header.Get("Link"))
		if !more || next == 0 {
			return nil
		}
		q.Set("page", strconv.Itoa(next))
	}
	return nil
}

// nextPage reads the page number of a Link header's rel="next"; 0 when there is
// none.
func nextPage(link string) int {
	for _, part := range strings.Split(link, ",") {
		target, params, ok := strings.Cut(part, ";")
		if !ok || !strings.Contains(params, `rel="next"`) {
			continue
		}
		u, err := url.Parse(strings.Trim(strings.TrimSpace(target), "<>"))
		if err != nil {
			return 0
		}
		n, err := strconv.Atoi(u.Query().Get("page"))
		if err != nil || n < 2 {
			return 0
		}
		return n
	}
	return 0
}
