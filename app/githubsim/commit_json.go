package githubsim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// accountOf finds the account behind a commit's author or committer, or nil.
func (r *Repo) accountOf(g gitstore.Signature) *account {
	return r.sim.emails[strings.ToLower(g.Email)]
}

func signatureJSON(g gitstore.Signature) obj {
	return obj{"name": g.Name, "email": g.Email, "date": stamp(g.When)}
}

func verification(c gitstore.Commit) obj {
	if c.Signed == "" {
		return obj{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
	}
	return obj{
		"verified": true, "reason": "valid", "signature": c.SignatureText(), "payload": c.Payload(), "verified_at": stamp(c.Committer.When),
	}
}

// commitJSON is a commit as lists of commits show it.
func (r *Repo) commitJSON(c gitstore.Commit) obj {
	u := r.apiURL()
	parents := []obj{}
	for _, p := range c.Parents {
		parents = append(parents, obj{"sha": p, "url": u + "/commits/" + p, "html_url": r.htmlURL() + "/commit/" + p})
	}
	return obj{
		"sha": c.SHA, "node_id": "C_kwDO" + c.SHA[:20], "url": u + "/commits/" + c.SHA, "html_url": r.htmlURL() + "/commit/" + c.SHA,
		"comments_url": u + "/commits/" + c.SHA + "/comments",
		"commit": obj{
			"author": signatureJSON(c.Author), "committer": signatureJSON(c.Committer), "message": c.Message,
			"tree": obj{"sha": c.Tree, "url": u + "/git/trees/" + c.Tree}, "url": u + "/git/commits/" + c.SHA,
			"comment_count": 0, "verification": verification(c),
		},
		"author": r.sim.userJSON(r.accountOf(c.Author)), "committer": r.sim.userJSON(r.accountOf(c.Committer)), "parents": parents,
	}
}

// gitCommitJSON is the git object as the git database shows it.
func (r *Repo) gitCommitJSON(c gitstore.Commit) obj {
	u := r.apiURL() + "/git/"
	parents := []obj{}
	for _, p := range c.Parents {
		parents = append(parents, obj{"sha": p, "url": u + "commits/" + p, "html_url": r.htmlURL() + "/commit/" + p})
	}
	return obj{
		"sha": c.SHA, "node_id": "C_kwDO" + c.SHA[:20], "url": u + "commits/" + c.SHA, "html_url": r.htmlURL() + "/commit/" + c.SHA,
		"author": signatureJSON(c.Author), "committer": signatureJSON(c.Committer), "message": c.Message, "parents": parents,
		"tree": obj{"sha": c.Tree, "url": u + "trees/" + c.Tree}, "verification": verification(c),
	}
}

// simpleCommit is a commit inside check suites and merge groups.
func simpleCommit(c gitstore.Commit) obj {
	return obj{
		"id": c.SHA, "tree_id": c.Tree, "message": c.Message, "timestamp": stamp(c.Committer.When),
		"author":    obj{"name": c.Author.Name, "email": c.Author.Email},
		"committer": obj{"name": c.Committer.Name, "email": c.Committer.Email},
	}
}

// count adds up the changed lines.
func count(diff []gitstore.FileDiff) (added, deleted int) {
	for _, f := range diff {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	return added, deleted
}

// fileEntries are changed files as list-files, comparisons and commits show them.
func (r *Repo) fileEntries(diff []gitstore.FileDiff, sha string) []obj {
	out := make([]obj, 0, len(diff))
	for _, f := range diff {
		blob, at := f.NewSHA, sha
		status := map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'R': "renamed", 'C': "copied", 'T': "changed"}[f.Status]
		if f.Status == 'D' {
			blob = f.OldSHA
		}
		path := escapePath(f.Path)
		e := obj{
			"sha": blob, "filename": f.Path, "status": status,
			"additions": f.Added, "deletions": f.Deleted, "changes": f.Added + f.Deleted,
			"blob_url": r.blobURL(at, path), "raw_url": r.htmlURL() + "/raw/" + at + "/" + path,
			"contents_url": r.apiURL() + "/contents/" + path + "?ref=" + at,
		}
		if f.OldPath != f.Path {
			e["previous_filename"] = f.OldPath
		}
		if f.Patch != "" && len(f.Patch) <= r.sim.opts.MaxPatchBytes && strings.Count(f.Patch, "\n") < r.sim.opts.MaxPatchLines {
			e["patch"] = f.Patch
		}
		out = append(out, e)
	}
	return out
}
