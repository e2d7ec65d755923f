package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

const (
	// maxDirs bounds the folders of one query; each is asked for on both sides.
	maxDirs = 120
	// maxChecks bounds the checks read of one head, and maxCheckPages the calls.
	maxChecks     = 1000
	maxCheckPages = maxChecks / 100
)

// snapshotQuery asks for the pull request, the head's checks and folders. Only
// the generated names h0, b0, … vary; revisions and paths are variables.
func snapshotQuery(dirs int) string {
	var vars, fields strings.Builder
	for i := range dirs {
		fmt.Fprintf(&vars, ", $h%d: String!, $b%d: String!", i, i)
		fmt.Fprintf(&fields, "    h%d: object(expression: $h%d) { ...Folder }\n    b%d: object(expression: $b%d) { ...Folder }\n", i, i, i, i)
	}
	fragment := ""
	if dirs > 0 {
		fragment = "\nfragment Folder on GitObject { __typename ... on Tree { entries { name mode type oid } } }"
	}
	return `query Snapshot($owner: String!, $name: String!, $number: Int!, $head: String!, $after: String` + vars.String() + `) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) { number state isDraft baseRefName headRefOid }
    head: object(expression: $head) { ... on Commit { oid ` + contextsFields + ` } }
` + fields.String() + `  }
}` + fragment
}

// moreChecksQuery asks for a further page of the head's checks.
const moreChecksQuery = `query Checks($owner: String!, $name: String!, $head: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    head: object(expression: $head) { ... on Commit { oid ` + contextsFields + ` } }
  }
}`

// snapshotData keeps the repository's fields apart, since the folders' names
// are generated.
type snapshotData struct {
	Repository map[string]json.RawMessage `json:"repository"`
}

// field reads one field; a null leaves out as it is.
func (d snapshotData) field(name string, out any) error {
	raw, ok := d.Repository[name]
	if !ok {
		return fmt.Errorf("%s is missing", name)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s: %w", name, describeJSON(err))
	}
	return nil
}

// Snapshot re-reads a head and its checks, by the head's id and not by the pull
// request's newest commit: what is read is the SHA that was asked for.
func (c *Client) Snapshot(ctx context.Context, req forge.SnapshotRequest) (forge.Snapshot, error) {
	op := fmt.Sprintf("read head %s#%d at %s", req.Pull.Repo.FullName(), req.Pull.Number, short(req.Head))
	if !isOID(req.Head) || (len(req.Dirs) > 0 && !isOID(req.MergeBase)) {
		return forge.Snapshot{}, invalid(op, errors.New("want full commit ids for head and merge base"))
	}
	dirs := req.Dirs
	if len(dirs) > maxDirs {
		dirs = nil
	}
	vars := map[string]any{
		"owner": req.Pull.Repo.Owner, "name": req.Pull.Repo.Name, "number": req.Pull.Number,
		"head": req.Head, "after": nil,
	}
	for i, d := range dirs {
		n := strconv.Itoa(i)
		vars["h"+n], vars["b"+n] = req.Head+":"+d, req.MergeBase+":"+d
	}
	var data snapshotData
	if err := c.query(ctx, op, routeSnapshot, graphRequest{Query: snapshotQuery(len(dirs)), Variables: vars}, &data); err != nil {
		return forge.Snapshot{}, err
	}
	snap, page, err := data.snapshot(op, req, dirs)
	if err != nil {
		return forge.Snapshot{}, err
	}
	if err := c.moreChecks(ctx, op, req, &snap, page); err != nil {
		return forge.Snapshot{}, err
	}
	if len(req.Dirs) > maxDirs {
		err = c.wholeTrees(ctx, req, &snap)
	}
	return snap, err
}

// snapshot reads the first answer; page is nil when no further one is needed.
func (d snapshotData) snapshot(op string, req forge.SnapshotRequest, dirs []string) (forge.Snapshot, *graphContexts, error) {
	var snap forge.Snapshot
	if d.Repository == nil {
		return snap, nil, malformed(op, errors.New("no repository in the answer"))
	}
	if err := d.pullInto(&snap, req.Pull); err != nil {
		return snap, nil, malformed(op, err)
	}
	page, err := d.head(op, req.Head)
	if err != nil {
		return snap, nil, err
	}
	if page == nil {
		snap.ChecksComplete = true
	} else if snap.Checks, err = page.rows(); err != nil {
		return snap, nil, malformed(op, err)
	}
	snap.Base, snap.Head = make(map[string]forge.TreeEntry), make(map[string]forge.TreeEntry)
	for i, dir := range dirs {
		n := strconv.Itoa(i)
		if err := d.folder("h"+n, dir, snap.Head); err != nil {
			return snap, nil, malformed(op, err)
		}
		if err := d.folder("b"+n, dir, snap.Base); err != nil {
			return snap, nil, malformed(op, err)
		}
	}
	return snap, page, nil
}

func (d snapshotData) pullInto(snap *forge.Snapshot, ref forge.PullRef) error {
	var id int64
	if err := d.field("databaseId", &id); err != nil {
		return err
	}
	if ref.Repo.ID != 0 && id != ref.Repo.ID {
		return fmt.Errorf("that name now belongs to repository %d, not %d", id, ref.Repo.ID)
	}
	var pull *struct {
		Number      int    `json:"number"`
		State       string `json:"state"`
		IsDraft     *bool  `json:"isDraft"`
		BaseRefName string `json:"baseRefName"`
		HeadRefOID  string `json:"headRefOid"`
	}
	if err := d.field("pullRequest", &pull); err != nil {
		return err
	}
	if pull == nil || pull.Number != ref.Number || !isOID(pull.HeadRefOID) || pull.BaseRefName == "" || pull.IsDraft == nil {
		return errors.New("pullRequest lacks number, head, base or draft state")
	}
	state, err := pullState(pull.State)
	if err != nil {
		return err
	}
	snap.HeadSHA, snap.BaseRef, snap.State, snap.Draft = pull.HeadRefOID, pull.BaseRefName, state, *pull.IsDraft
	return nil
}

// head reads the commit's checks; nil when nothing reported on it.
func (d snapshotData) head(op, sha string) (*graphContexts, error) {
	var head *graphHead
	if err := d.field("head", &head); err != nil {
		return nil, malformed(op, err)
	}
	if head == nil {
		return nil, &forge.Error{Kind: forge.KindNotFound, Op: op, Err: errors.New("the repository does not have that commit")}
	}
	if head.OID != sha {
		return nil, malformed(op, errors.New("another commit was answered"))
	}
	if head.Rollup == nil {
		return nil, nil
	}
	if head.Rollup.Contexts == nil {
		return nil, malformed(op, errors.New("checks without contexts"))
	}
	return head.Rollup.Contexts, nil
}

// folder adds a folder's entries under their full paths. A folder that is not
// there, or is a file on this side, adds none.
func (d snapshotData) folder(field, dir string, into map[string]forge.TreeEntry) error {
	var tree *struct {
		Typename string `json:"__typename"`
		Entries  []*struct {
			Name string `json:"name"`
			Mode int64  `json:"mode"`
			OID  string `json:"oid"`
		} `json:"entries"`
	}
	if err := d.field(field, &tree); err != nil {
		return err
	}
	if tree == nil || tree.Typename != "Tree" {
		return nil
	}
	if dir != "" {
		dir += "/"
	}
	for _, e := range tree.Entries {
		if e == nil || e.Name == "" || e.Mode <= 0 || !isOID(e.OID) {
			return errors.New("a tree entry without name, mode or id")
		}
		into[dir+e.Name] = forge.TreeEntry{Mode: fmt.Sprintf("%06o", e.Mode), OID: e.OID}
	}
	return nil
}

// moreChecks follows the pages of a head's checks. Rows are counted against
// GitHub's own number: fewer means that what is missing could have failed
// (case 116).
func (c *Client) moreChecks(ctx context.Context, op string, req forge.SnapshotRequest, snap *forge.Snapshot, page *graphContexts) error {
	if page == nil {
		return nil
	}
	for n := 1; page.PageInfo.HasNextPage && n < maxCheckPages; n++ {
		vars := map[string]any{
			"owner": req.Pull.Repo.Owner, "name": req.Pull.Repo.Name, "head": req.Head, "after": page.PageInfo.EndCursor,
		}
		var data snapshotData
		if err := c.query(ctx, op, routeMoreChecks, graphRequest{Query: moreChecksQuery, Variables: vars}, &data); err != nil {
			return err
		}
		next, err := data.head(op, req.Head)
		if err != nil {
			return err
		}
		if next == nil {
			return malformed(op, errors.New("a page of checks is gone"))
		}
		rows, err := next.rows()
		if err != nil {
			return malformed(op, err)
		}
		snap.Checks = append(snap.Checks, rows...)
		page = next
	}
	snap.ChecksComplete = !page.PageInfo.HasNextPage && len(snap.Checks) >= page.TotalCount
	return nil
}

// wholeTrees reads both trees at once, where folder by folder would be too many
// questions.
func (c *Client) wholeTrees(ctx context.Context, req forge.SnapshotRequest, snap *forge.Snapshot) error {
	for _, side := range []struct {
		sha  string
		into *map[string]forge.TreeEntry
	}{{req.Head, &snap.Head}, {req.MergeBase, &snap.Base}} {
		entries, complete, err := c.Tree(ctx, req.Pull.Repo, side.sha)
		if err != nil {
			return err
		}
		*side.into = entries
		if !complete {
			snap.Unread = req.Dirs // what is there is true; what is not may be cut off
		}
	}
	return nil
}
