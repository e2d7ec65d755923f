package githubsim

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/countersign/countersign/app/githubsim/gitstore"
	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

// maxGraphQLText is how much of a blob's text GraphQL shows; more is cut and marked truncated.
const maxGraphQLText = 512_000

func (c *call) gqlRepo(r *Repo) gqlexec.Object {
	visibility := "PUBLIC"
	if r.private {
		visibility = "PRIVATE"
	}
	return gql("Repository", obj{
		"id": nodeID("R", r.id), "databaseId": r.id, "name": r.name, "nameWithOwner": r.fullName(), "url": r.htmlURL(),
		"isPrivate": r.private, "isFork": r.parent != nil, "isArchived": false, "isDisabled": false, "visibility": visibility,
		"createdAt": stamp(r.created), "pushedAt": stamp(r.pushed), "updatedAt": stamp(r.pushed),
		"owner":            lazy(func() (any, error) { return c.gqlActor(r.owner), nil }),
		"viewerPermission": c.viewerPermission(r),
		"defaultBranchRef": lazy(func() (any, error) { return c.gqlRef(r, r.defaultBranch), nil }),
		"ref": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			return c.gqlRef(r, strings.TrimPrefix(a.String("qualifiedName"), "refs/heads/")), nil
		}),
		"object": gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlObject(r, a) }),
		"parent": lazy(func() (any, error) {
			if r.parent == nil || !c.me.sees(r.parent) {
				return nil, nil
			}
			return c.gqlRepo(r.parent), nil
		}),
		"pullRequest": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			if err := c.allowed("pull_requests:read"); err != nil {
				return nil, err
			}
			n, _ := a.Int("number")
			p := r.findPull(int64(n))
			if p == nil {
				return nil, &gqlexec.Error{Type: "NOT_FOUND", Message: fmt.Sprintf("Could not resolve to a PullRequest with the number of %d.", n)}
			}
			return c.gqlPull(p)
		}),
		"pullRequests": gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlPulls(r, a) }),
	})
}

// viewerPermission: for an installation it follows from its contents permission.
func (c *call) viewerPermission(r *Repo) any {
	level := r.roleOf(c.me.user)
	if c.me.inst != nil {
		if level = c.me.tok.perms["contents"]; level == "" {
			level = "read"
		}
	}
	if level == "none" {
		return nil
	}
	return strings.ToUpper(level)
}

func (c *call) gqlPulls(r *Repo, a gqlexec.Args) (any, error) {
	if err := c.allowed("pull_requests:read"); err != nil {
		return nil, err
	}
	states, _ := a["states"].([]any)
	var found []*Pull
	for _, p := range r.pulls {
		keep := len(states) == 0
		for _, s := range states {
			keep = keep || s == p.gqlState()
		}
		if base := a.String("baseRefName"); base != "" && base != p.baseRef {
			keep = false
		}
		if head := a.String("headRefName"); head != "" && head != p.headRef {
			keep = false
		}
		if keep {
			found = append(found, p)
		}
	}
	found = known(c, found, func(p *Pull) int64 { return p.pullID })
	// Without an order they come oldest first.
	if order, given := a["orderBy"].(map[string]any); given {
		field, down := gqlexec.Args(order).String("field"), gqlexec.Args(order).String("direction") == "DESC"
		sortPulls(found, map[string]string{"UPDATED_AT": "updated"}[field], map[bool]string{true: "desc", false: "asc"}[down])
	}
	return gqlexec.Connection("pullRequests", "PullRequestConnection", a, len(found), func(i int) (gqlexec.Object, error) { return c.gqlPull(found[i]) })
}

func (c *call) gqlRef(r *Repo, name string) any {
	sha := r.branches[name]
	if sha == "" {
		return nil
	}
	return gql("Ref", obj{
		"id": "REF_" + nodeID("R", r.id) + name, "name": name, "prefix": "refs/heads/",
		"target": lazy(func() (any, error) {
			commit, err := r.store.Commit(sha)
			if err != nil {
				return nil, err
			}
			return c.gqlCommit(r, commit), nil
		}),
		// Without administration the rule is null, whether there is one or not.
		"branchProtectionRule": lazy(func() (any, error) {
			p := r.required[name]
			if p == nil || c.me.inst != nil && !covers(c.me.tok.perms["administration"], "read") {
				return nil, nil
			}
			contexts, checks := []any{}, []any{}
			for _, ref := range p.checks {
				contexts = append(contexts, ref.Context)
				checks = append(checks, gql("RequiredStatusCheckDescription", obj{"context": ref.Context, "app": c.gqlAppByID(ref.AppID)}))
			}
			return gql("BranchProtectionRule", obj{
				"id": "BPR_" + nodeID("R", r.id) + name, "pattern": name, "requiresStatusChecks": len(p.checks) > 0,
				"requiredStatusCheckContexts": contexts, "requiredStatusChecks": checks, "requiresStrictStatusChecks": false,
			}), nil
		}),
	})
}

// gqlObject resolves "SHA", "SHA:path" and "branch:path"; what is not there is null.
func (c *call) gqlObject(r *Repo, a gqlexec.Args) (any, error) {
	if err := c.allowed("contents:read"); err != nil {
		return nil, err
	}
	expr, oid := a.String("expression"), a.String("oid")
	if expr == "" {
		expr = oid
	}
	ref, path, hasPath := strings.Cut(expr, ":")
	commit, err := r.resolve(ref)
	if err != nil {
		if hasPath {
			return nil, nil
		}
		switch r.store.Kind(expr) {
		case "tree":
			return c.gqlTree(r, expr, ""), nil
		case "blob":
			return c.gqlBlob(r, expr), nil
		}
		return nil, nil
	}
	if !hasPath {
		return c.gqlCommit(r, commit), nil
	}
	e, err := r.store.Lookup(commit.Tree, strings.Trim(path, "/"))
	if err != nil {
		return nil, nil // a path that is not there is null, not an error
	}
	return c.gqlEntryObject(r, e), nil
}

func (c *call) gqlEntryObject(r *Repo, e gitstore.Entry) any {
	switch e.Type {
	case "tree":
		return c.gqlTree(r, e.SHA, e.Path)
	case "blob":
		return c.gqlBlob(r, e.SHA)
	}
	return nil // a submodule's commit is in another repository
}

func (c *call) gqlTree(r *Repo, id, path string) gqlexec.Object {
	return gql("Tree", obj{
		"id": "T_" + id, "oid": id, "abbreviatedOid": id[:7],
		"entries": lazy(func() (any, error) {
			list, err := r.store.Tree(id)
			if err != nil {
				return nil, err
			}
			out := []any{}
			for _, e := range list {
				name := e.Path
				if path != "" {
					e.Path = path + "/" + e.Path
				}
				mode, err := strconv.ParseInt(e.Mode, 8, 32)
				if err != nil {
					return nil, fmt.Errorf("mode of %s: %w", e.Path, err)
				}
				out = append(out, gql("TreeEntry", obj{
					"name": name, "path": e.Path, "mode": mode, "type": e.Type, "oid": e.SHA, "size": e.Size,
					"object": lazy(func() (any, error) { return c.gqlEntryObject(r, e), nil }),
				}))
			}
			return out, nil
		}),
	})
}

// gqlBlob shows text only for text: null for binary, cut for large.
func (c *call) gqlBlob(r *Repo, id string) any {
	data, err := r.store.Blob(id)
	if err != nil {
		return nil
	}
	binary := isBinary(data)
	var text any
	if !binary {
		cut := data[:min(len(data), maxGraphQLText)]
		for len(cut) < len(data) && len(cut) > 0 && !utf8.Valid(cut) { // not inside a character
			cut = cut[:len(cut)-1]
		}
		text = string(cut)
	}
	return gql("Blob", obj{
		"id": "B_" + id, "oid": id, "abbreviatedOid": id[:7], "byteSize": len(data), "isBinary": binary,
		"isTruncated": !binary && len(data) > maxGraphQLText, "text": text,
	})
}

func (c *call) gqlCommit(r *Repo, m gitstore.Commit) gqlexec.Object {
	headline, body, _ := strings.Cut(m.Message, "\n")
	return gql("Commit", obj{
		"id": "C_" + m.SHA, "oid": m.SHA, "abbreviatedOid": m.SHA[:7], "message": m.Message, "messageHeadline": headline,
		"messageBody": strings.TrimSpace(body), "authoredDate": stamp(m.Author.When), "committedDate": stamp(m.Committer.When),
		"url": r.htmlURL() + "/commit/" + m.SHA, "authoredByCommitter": m.Author == m.Committer, "committedViaWeb": m.Signed == "GitHub",
		"author": c.gqlGitActor(r, m.Author), "committer": c.gqlGitActor(r, m.Committer),
		"authors": connect("authors", "GitActorConnection", authorsOf(m), func(g gitstore.Signature) gqlexec.Object { return c.gqlGitActor(r, g) }),
		"parents": connect("parents", "CommitConnection", m.Parents, func(sha string) gqlexec.Object {
			parent, err := r.store.Commit(sha)
			if err != nil {
				parent.SHA = sha
			}
			return c.gqlCommit(r, parent)
		}),
		"signature": c.gqlSignature(r, m),
		"tree":      lazy(func() (any, error) { return c.gqlTree(r, m.Tree, ""), nil }),
		"statusCheckRollup": lazy(func() (any, error) {
			return c.gqlRollup(r, m.SHA)
		}),
		"checkSuites": gqlexec.Func(func(a gqlexec.Args) (any, error) { return c.gqlSuites(r, m.SHA, a) }),
		"repository":  lazy(func() (any, error) { return c.gqlRepo(r), nil }),
	})
}

// authorsOf are the author and the co-authors that trailers name.
func authorsOf(m gitstore.Commit) []gitstore.Signature {
	out := []gitstore.Signature{m.Author}
	for _, line := range strings.Split(m.Message, "\n") {
		key, rest, found := strings.Cut(line, ":")
		name, mail, hasMail := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), ">"), "<")
		if found && hasMail && strings.EqualFold(strings.TrimSpace(key), "co-authored-by") {
			out = append(out, gitstore.Signature{Name: strings.TrimSpace(name), Email: strings.TrimSpace(mail), When: m.Author.When})
		}
	}
	return out
}

func (c *call) gqlGitActor(r *Repo, g gitstore.Signature) gqlexec.Object {
	return gql("GitActor", obj{
		"name": g.Name, "email": g.Email, "date": stamp(g.When), "user": c.gqlUser(r.accountOf(g)),
		"avatarUrl": "https://avatars.githubusercontent.com/u/0?v=4",
	})
}

func (c *call) gqlSignature(r *Repo, m gitstore.Commit) any {
	if m.Signed == "" {
		return nil
	}
	return gql("GpgSignature", obj{
		"isValid": true, "wasSignedByGitHub": m.Signed == "GitHub", "state": "VALID", "email": m.Committer.Email,
		"signature": m.SignatureText(), "payload": m.Payload(), "keyId": nil, "verifiedAt": stamp(m.Committer.When),
		"signer": c.gqlUser(r.accountOf(m.Committer)),
	})
}
