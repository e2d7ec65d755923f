package githubsim

import (
	"maps"
	"slices"
	"strings"
)

// MergeBlockedBy names the required checks that keep the pull request from being merged, by GitHub's
// rule: success, neutral and skipped satisfy, anything else or nothing does not.
func (p *Pull) MergeBlockedBy() []string {
	p.repo.sim.mu.Lock()
	defer p.repo.sim.mu.Unlock()
	return p.blockedBy()
}

func (p *Pull) blockedBy() []string {
	var refs []CheckRef
	if pr := p.repo.required[p.baseRef]; pr != nil {
		refs = append(refs, pr.checks...)
	}
	for _, rs := range p.repo.rulesets {
		if p.repo.rulesetMatches(rs, p.baseRef) {
			refs = append(refs, rs.checks...)
		}
	}
	out := map[string]bool{}
	for _, ref := range refs {
		if !p.repo.satisfied(p.headSHA, ref) {
			out[ref.Context] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// satisfied looks at the newest run of each App under the name, and at the newest status.
func (r *Repo) satisfied(sha string, ref CheckRef) bool {
	found := false
	for _, run := range r.latestRuns(sha) {
		if run.name != ref.Context || ref.AppID != 0 && run.suite.app.spec.ID != ref.AppID {
			continue
		}
		if !slices.Contains([]string{"success", "neutral", "skipped"}, run.conclusion) {
			return false
		}
		found = true
	}
	for _, st := range r.latestStatuses(sha) {
		if st.context == ref.Context && (ref.AppID == 0 || strings.HasSuffix(st.creator.login, "[bot]") && r.sim.appByBot(st.creator) == ref.AppID) {
			if st.state != "success" {
				return false
			}
			found = true
		}
	}
	return found
}

func (s *Sim) appByBot(a *account) int64 {
	for id, app := range s.apps {
		if app.bot == a {
			return id
		}
	}
	return 0
}
