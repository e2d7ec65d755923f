package githubsim

import (
	"slices"
	"strings"
)

// maxListFiles is how many files list-files shows at most; maxListCommits the same for commits.
const (
	maxListFiles   = 3000
	maxListCommits = 250
)

func pullRoutes() []route {
	return []route{
		{"GET /repos/{owner}/{repo}/pulls", anyToken, "pull_requests:read", listPulls},
		{"GET /repos/{owner}/{repo}/pulls/{pull_number}", anyToken, "pull_requests:read", getPull},
		{"GET /repos/{owner}/{repo}/pulls/{pull_number}/files", anyToken, "pull_requests:read", listFiles},
		{"GET /repos/{owner}/{repo}/pulls/{pull_number}/commits", anyToken, "pull_requests:read", listPullCommits},
	}
}

func (c *call) pull() (*Pull, error) {
	n, err := c.id("pull_number")
	if err != nil {
		return nil, err
	}
	if p := c.repo.findPull(n); p != nil {
		return p, nil
	}
	return nil, notFound()
}

func listPulls(c *call) (*reply, error) {
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	var found []*Pull
	for _, p := range c.repo.pulls {
		if state != "all" && p.state != state || c.query("base") != "" && c.query("base") != p.baseRef {
			continue
		}
		if head := c.query("head"); head != "" && !strings.EqualFold(head, p.headLabel()) {
			continue
		}
		found = append(found, p)
	}
	found = knownAlone(c, found, func(p *Pull) int64 { return p.pullID })
	sortPulls(found, c.query("sort"), c.query("direction"))
	from, to := c.page(len(found))
	out := []obj{}
	for _, p := range found[from:to] {
		out = append(out, p.simpleJSON())
	}
	return ok(out)
}

// sortPulls orders as GitHub does: newest first by creation unless asked otherwise.
func sortPulls(list []*Pull, by, direction string) {
	slices.SortStableFunc(list, func(a, b *Pull) int {
		if by == "updated" {
			if d := a.updated.Compare(b.updated); d != 0 {
				return d
			}
		}
		return a.number - b.number
	})
	if direction == "desc" || direction == "" && (by == "" || by == "created") {
		slices.Reverse(list)
	}
}

func getPull(c *call) (*reply, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	if c.accepts("diff") {
		base, err := c.repo.store.Commit(p.mergeBase())
		if err != nil {
			return nil, err
		}
		head, err := c.repo.store.Commit(p.headSHA)
		if err != nil {
			return nil, err
		}
		return c.diffReply(base.Tree, head.Tree)
	}
	o, err := p.json()
	if err != nil {
		return nil, err
	}
	return ok(o)
}

func listFiles(c *call) (*reply, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	diff, err := p.changedFiles()
	if err != nil {
		return nil, err
	}
	diff = diff[:min(len(diff), maxListFiles)]
	from, to := c.page(len(diff))
	return ok(c.repo.fileEntries(diff[from:to], p.headSHA))
}

func listPullCommits(c *call) (*reply, error) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	all := p.commits()
	all = all[:min(len(all), maxListCommits)]
	from, to := c.page(len(all))
	out := []obj{}
	for _, one := range all[from:to] {
		out = append(out, c.repo.commitJSON(one))
	}
	return ok(out)
}
