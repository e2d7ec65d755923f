package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

// The routes we call, as GitHub's API description names them.
const (
	routeApp         = "GET /app"
	routeAppBySlug   = "GET /apps/{app_slug}"
	routeToken       = "POST /app/installations/{installation_id}/access_tokens"
	routeCompare     = "GET /repos/{owner}/{repo}/compare/{basehead}"
	routeFiles       = "GET /repos/{owner}/{repo}/pulls/{pull_number}/files"
	routeBlob        = "GET /repos/{owner}/{repo}/git/blobs/{file_sha}"
	routeTree        = "GET /repos/{owner}/{repo}/git/trees/{tree_sha}"
	routeBranch      = "GET /repos/{owner}/{repo}/branches/{branch}"
	routeRules       = "GET /repos/{owner}/{repo}/rules/branches/{branch}"
	routePermission  = "GET /repos/{owner}/{repo}/collaborators/{username}/permission"
	routePulls       = "GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls"
	routeCreateCheck = "POST /repos/{owner}/{repo}/check-runs"
	routeUpdateCheck = "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}"
	routeListChecks  = "GET /repos/{owner}/{repo}/commits/{ref}/check-runs"
	routePull        = "POST /graphql Pull"
	routeSnapshot    = "POST /graphql Snapshot"
	routeMoreChecks  = "POST /graphql Checks"
)

// answer is a buffered answer that GitHub gave with success.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes a call through a client and turns every failure into a
// *forge.Error.
func send(ctx context.Context, client *http.Client, k clock, op string, c call, req *http.Request) (answer, error) {
	resp, err := client.Do(req.WithContext(withCall(ctx, c)))
	if err != nil {
		return answer{}, unanswered(op, c, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return answer{}, refused(op, c, resp, k.now())
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, unanswered(op, c, err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// rest makes a REST call. path is relative and escaped; body, if any, is sent
// as JSON.
func (c *Client) rest(ctx context.Context, op string, k call, method, path string, body any) (answer, error) {
	req, err := c.host.rest.NewRequest(method, path, body)
	if err != nil {
		return answer{}, &forge.Error{Kind: forge.KindInvalid, Op: op, Err: errors.New("the request cannot be formed")}
	}
	k.installation = c.installation
	return send(ctx, c.host.http, c.host.clock, op, k, req)
}

// getJSON reads a path into out.
func (c *Client) getJSON(ctx context.Context, op string, k call, path string, out any) (answer, error) {
	a, err := c.rest(ctx, op, k, http.MethodGet, path, nil)
	if err != nil {
		return a, err
	}
	return a, decode(op, a.body, out)
}

// decode reads one JSON value.
func decode(op string, body []byte, out any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return malformed(op, errors.New("empty answer"))
	}
	if err := json.Unmarshal(body, out); err != nil {
		return malformed(op, describeJSON(err))
	}
	return nil
}

// describeJSON says where an answer is wrong without quoting it.
func describeJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("field %q holds a %s", clip(wrong.Field, 100), firstWord(wrong.Value))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not JSON at byte %d", syntax.Offset)
	}
	return errors.New("an answer that cannot be decoded")
}

// firstWord drops the literal that UnmarshalTypeError appends to "number".
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// repoPath joins escaped segments below a repository. Segments that would climb
// or vanish are refused: owner, name and branch come from outside.
func repoPath(repo forge.Repo, segments ...string) (string, error) {
	all := append([]string{"repos", repo.Owner, repo.Name}, segments...)
	for i, s := range all {
		if s == "" || s == "." || s == ".." {
			return "", fmt.Errorf("%q cannot be part of an address", s)
		}
		all[i] = url.PathEscape(s)
	}
	return strings.Join(all, "/"), nil
}

func invalid(op string, err error) error {
	return &forge.Error{Kind: forge.KindInvalid, Op: op, Err: err}
}

func malformed(op string, err error) error {
	return &forge.Error{Kind: forge.KindMalformed, Op: op, Err: err}
}

// isOID reports whether s is a full object id, SHA-1 or SHA-256. Everything
// that becomes a git revision must be one: a name could be an expression.
func isOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}

// short is an object id for people.
func short(oid string) string { return clip(oid, 7) }

// clip cuts to at most n bytes without splitting a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
