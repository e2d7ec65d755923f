package githubsim

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// maxContents is the largest file the contents API shows inline; larger ones come without content.
const maxContents = 1 << 20

// maxFolder is how many entries of a folder the contents API shows at most, without a word about the rest.
const maxFolder = 1000

func contentRoutes() []route {
	return []route{
		{"GET /repos/{owner}/{repo}/contents", anyToken, "contents:read", getContents},
		{"GET /repos/{owner}/{repo}/contents/{path...}", anyToken, "contents:read", getContents},
		{"GET /repos/{owner}/{repo}/git/trees/{tree_sha...}", anyToken, "contents:read", getTree},
		{"GET /repos/{owner}/{repo}/git/blobs/{file_sha}", anyToken, "contents:read", getBlob},
	}
}

// escapePath escapes each part of a path for a URL.
func escapePath(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

func getContents(c *call) (*reply, error) {
	ref := c.query("ref")
	commit, err := c.repo.resolve(ref)
	if err != nil {
		return nil, refuse(http.StatusNotFound, "No commit found for the ref "+ref)
	}
	e, err := c.repo.store.Lookup(commit.Tree, strings.Trim(c.path("path"), "/"))
	if err != nil {
		return nil, notFound()
	}
	if ref == "" {
		ref = c.repo.defaultBranch
	}
	if e.Type == "tree" {
		entries, err := c.repo.store.Tree(e.SHA)
		if err != nil {
			return nil, err
		}
		out := []obj{}
		for _, one := range entries[:min(len(entries), maxFolder)] {
			one.Path = path.Join(e.Path, one.Path)
			item, err := c.contentEntry(one, ref, false)
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		return ok(out)
	}
	// A symlink inside the repository is followed, as GitHub does.
	if e.Mode == gitstore.ModeSymlink {
		target, err := c.repo.store.Blob(e.SHA)
		if err != nil {
			return nil, err
		}
		if to := path.Join(path.Dir(e.Path), string(target)); !strings.HasPrefix(to, "../") && !path.IsAbs(string(target)) {
			if real, err := c.repo.store.Lookup(commit.Tree, to); err == nil && real.Type == "blob" && real.Mode != gitstore.ModeSymlink {
				real.Path, e = e.Path, real
			}
		}
	}
	if e.Size > c.sim.opts.MaxBlobBytes {
		return nil, c.blobTooLarge()
	}
	if c.accepts("raw") && e.Type == "blob" {
		data, err := c.repo.store.Blob(e.SHA)
		return &reply{raw: nonNil(data), ctype: "application/vnd.github.raw; charset=utf-8"}, err
	}
	item, err := c.contentEntry(e, ref, true)
	if err != nil {
		return nil, err
	}
	return ok(item)
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// contentEntry is one entry of the contents API. In a folder's list submodules are called files, as on
// GitHub ("for backwards compatibility").
func (c *call) contentEntry(e gitstore.Entry, ref string, whole bool) (obj, error) {
	api, esc := c.repo.apiURL(), escapePath(e.Path)
	self := api + "/contents/" + esc + "?ref=" + url.QueryEscape(ref)
	git, html := api+"/git/blobs/"+e.SHA, c.repo.htmlURL()+"/blob/"+ref+"/"+esc
	var download any = "https://raw.githubusercontent.com/" + c.repo.fullName() + "/" + ref + "/" + esc
	typ := "file"
	switch {
	case e.Type == "tree":
		typ, download = "dir", nil
		git, html = api+"/git/trees/"+e.SHA, c.repo.htmlURL()+"/tree/"+ref+"/"+esc
	case e.Mode == gitstore.ModeSubmodule:
		download = nil
		git, html = api+"/git/trees/"+e.SHA, c.repo.htmlURL()+"/tree/"+e.SHA
		if whole {
			typ = "submodule"
		}
	case e.Mode == gitstore.ModeSymlink:
		typ = "symlink"
	}
	o := obj{
		"name": path.Base(e.Path), "path": e.Path, "sha": e.SHA, "size": e.Size, "type": typ, "url": self, "git_url": git,
		"html_url": html, "download_url": download, "_links": obj{"self": self, "git": git, "html": html},
	}
	if !whole {
		return o, nil
	}
	switch typ {
	case "submodule":
		o["submodule_git_url"] = ""
	case "symlink":
		data, err := c.repo.store.Blob(e.SHA)
		if err != nil {
			return nil, err
		}
		o["target"] = string(data)
	case "file":
		data, err := c.repo.store.Blob(e.SHA)
		if err != nil {
			return nil, err
		}
		o["encoding"], o["content"] = "base64", base64Lines(data)
		if len(data) > maxContents {
			o["encoding"], o["content"] = "none", ""
		}
	}
	return o, nil
}

// base64Lines encodes with a line end after sixty digits, as GitHub does.
func base64Lines(data []byte) string {
	text := base64.StdEncoding.EncodeToString(data)
	var b strings.Builder
	for len(text) > 60 {
		b.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	if text != "" {
		b.WriteString(text + "\n")
	}
	return b.String()
}

// treeEntry is one entry of a tree. Submodules have neither size nor URL.
type treeEntry struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Type string `json:"type"`
	SHA  string `json:"sha"`
	Size *int   `json:"size,omitempty"`
	URL  string `json:"url,omitempty"`
}

func getTree(c *call) (*reply, error) {
	id := c.path("tree_sha")
	if commit, err := c.repo.resolve(id); err == nil {
		id = commit.Tree
	}
	list, err := c.repo.store.Tree(id)
	if c.query("recursive") != "" && err == nil {
		list, err = c.repo.store.List(id)
	}
	if err != nil {
		return nil, notFound()
	}
	limit := c.sim.opts.MaxTreeEntries
	truncated := len(list) > limit
	if truncated {
		list = list[:limit]
	}
	u := c.repo.apiURL() + "/git/"
	entries := make([]treeEntry, 0, len(list))
	for i := range list {
		e := &list[i]
		one := treeEntry{Path: e.Path, Mode: e.Mode, Type: e.Type, SHA: e.SHA}
		switch e.Type {
		case "blob":
			one.Size, one.URL = &e.Size, u+"blobs/"+e.SHA
		case "tree":
			one.URL = u + "trees/" + e.SHA
		}
		entries = append(entries, one)
	}
	return ok(obj{"sha": id, "url": u + "trees/" + id, "tree": entries, "truncated": truncated})
}

func getBlob(c *call) (*reply, error) {
	id := c.path("file_sha")
	data, err := c.repo.store.Blob(id)
	if err != nil {
		return nil, notFound()
	}
	if len(data) > c.sim.opts.MaxBlobBytes {
		return nil, c.blobTooLarge()
	}
	if c.accepts("raw") {
		return &reply{raw: nonNil(data), ctype: "application/vnd.github.raw; charset=utf-8"}, nil
	}
	return ok(obj{
		"sha": id, "node_id": "B_kwDO" + id[:20], "size": len(data), "url": c.repo.apiURL() + "/git/blobs/" + id,
		"content": base64Lines(data), "encoding": "base64",
	})
}

// blobTooLarge is the refusal of a file over 100 MB.
func (c *call) blobTooLarge() *apiError {
	return refuse(http.StatusForbidden, "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API, "+
		"but you can always clone the repository via Git in order to obtain the blob.",
		obj{"resource": "Blob", "field": "data", "code": "too_large"})
}

// isBinary is git's rule: a NUL in the first 8,000 bytes.
func isBinary(data []byte) bool {
	return strings.IndexByte(string(data[:min(len(data), 8000)]), 0) >= 0 || !utf8.Valid(data)
}
