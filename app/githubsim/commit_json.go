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

// fileEntry is a changed file as list-files, comparisons and commits show it. It is a struct because
// there may be thousands: maps would cost several times as much to write.
type fileEntry struct {
	SHA              string  `json:"sha"`
	Filename         string  `json:"filename"`
	Status           string  `json:"status"`
	Additions        int     `json:"additions"`
	Deletions        int     `json:"deletions"`
	Changes          int     `json:"changes"`
	BlobURL          string  `json:"blob_url"`
	RawURL           string  `json:"raw_url"`
	ContentsURL      string  `json:"contents_url"`
	PreviousFilename string  `json:"previous_filename,omitempty"`
	Patch            *string `json:"patch,omitempty"`
}

func (r *Repo) fileEntries(diff []gitstore.FileDiff, sha string) []fileEntry {
	out := make([]fileEntry, 0, len(diff))
	for i := range diff {
		f := &diff[i]
		path := escapePath(f.Path)
		e := fileEntry{
			SHA: f.NewSHA, Filename: f.Path, Status: fileStatus(f.Status), Additions: f.Added, Deletions: f.Deleted, Changes: f.Added + f.Deleted,
			BlobURL: r.blobURL(sha, path), RawURL: r.htmlURL() + "/raw/" + sha + "/" + path,
			ContentsURL: r.apiURL() + "/contents/" + path + "?ref=" + sha,
		}
		if f.Status == 'D' {
			e.SHA = f.OldSHA
		}
		if f.OldPath != f.Path {
			e.PreviousFilename = f.OldPath
		}
		if f.Patch != "" && len(f.Patch) <= r.sim.opts.MaxPatchBytes && strings.Count(f.Patch, "\n") < r.sim.opts.MaxPatchLines {
			e.Patch = &f.Patch
		}
		out = append(out, e)
	}
	return out
}

func fileStatus(letter byte) string {
	switch letter {
	case 'A':
		return "added"
	case 'D':
		return "removed"
	case 'R':
		return "renamed"
	case 'C':
		return "copied"
	case 'T':
		return "changed"
	}
	return "modified"
}
