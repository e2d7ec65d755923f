package github

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids are SHA-1
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// rawMedia asks for an object's bytes instead of JSON around base64.
const rawMedia = "application/vnd.github.raw+json"

// Blob reads one blob and holds its bytes against its id.
func (c *Client) Blob(ctx context.Context, repo forge.Repo, oid string, max int64) ([]byte, error) {
	op := fmt.Sprintf("read blob %s %s", repo.FullName(), short(oid))
	if !isOID(oid) || max <= 0 {
		return nil, invalid(op, errors.New("want a full object id and a positive bound"))
	}
	path, err := repoPath(repo, "git", "blobs", oid)
	if err != nil {
		return nil, invalid(op, err)
	}
	req, err := c.host.rest.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return nil, invalid(op, errors.New("the request cannot be formed"))
	}
	req.Header.Set("Accept", rawMedia)
	k := call{route: routeBlob, installation: c.installation, maxBody: max}
	a, err := send(ctx, c.host.http, c.host.clock, op, k, req)
	if err != nil {
		return nil, err
	}
	if len(oid) == 2*sha1.Size && blobID(a.body) != oid {
		return nil, malformed(op, errors.New("the bytes are not those of that id"))
	}
	return a.body, nil
}

// blobID is the id that git gives to these bytes.
func blobID(data []byte) string {
	h := sha1.New() //nolint:gosec // git's object ids are SHA-1
	h.Write([]byte("blob " + strconv.Itoa(len(data)) + "\x00"))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// Tree reads a whole tree, folders included. complete is false when GitHub cut
// it (100,000 entries or 7 MB).
func (c *Client) Tree(ctx context.Context, repo forge.Repo, sha string) (entries map[string]forge.TreeEntry, complete bool, err error) {
	op := fmt.Sprintf("read tree %s %s", repo.FullName(), short(sha))
	if !isOID(sha) {
		return nil, false, invalid(op, errors.New("want a full object id"))
	}
	path, err := repoPath(repo, "git", "trees", sha)
	if err != nil {
		return nil, false, invalid(op, err)
	}
	var tree gh.Tree
	if _, err := c.getJSON(ctx, op, call{route: routeTree}, path+"?recursive=1", &tree); err != nil {
		return nil, false, err
	}
	if tree.Entries == nil || tree.Truncated == nil {
		return nil, false, malformed(op, errors.New("no entries in the answer"))
	}
	entries = make(map[string]forge.TreeEntry, len(tree.Entries))
	for _, e := range tree.Entries {
		if e.GetPath() == "" || e.GetMode() == "" || !isOID(e.GetSHA()) {
			return nil, false, malformed(op, errors.New("a tree entry without path, mode or id"))
		}
		entries[e.GetPath()] = forge.TreeEntry{Mode: e.GetMode(), OID: e.GetSHA()}
	}
	return entries, !*tree.Truncated, nil
}
