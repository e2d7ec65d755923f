package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
	"golang.org/x/sync/errgroup"
)

// The sources of required names, as they are recorded.
const (
	sourceProtection = "branch protection"
	sourceRuleset    = "ruleset"
)

// maxRulePages bounds the rules read of one branch, 100 a page.
const maxRulePages = 10

// BranchRules reads the names that a branch requires, from branch protection
// and from rulesets; either alone would miss what the other demands. A branch
// that is not there is an error: it does not demand nothing.
func (c *Client) BranchRules(ctx context.Context, repo forge.Repo, branch string) (forge.BranchRules, error) {
	key := fmt.Sprintf("%d %d %s:%s", c.installation, repo.ID, repo.FullName(), branch)
	if kept, ok := c.host.rules.get(key, c.host.clock.now()); ok {
		return kept, nil
	}
	var protection, rulesets []forge.RequiredCheck
	var hasRulesets bool
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		protection, err = c.protection(gctx, repo, branch)
		return err
	})
	g.Go(func() (err error) {
		rulesets, hasRulesets, err = c.rulesets(gctx, repo, branch)
		return err
	})
	if err := g.Wait(); err != nil {
		return forge.BranchRules{}, err
	}
	rules := forge.BranchRules{Required: append(protection, rulesets...), ReadFrom: []string{sourceProtection}}
	if hasRulesets {
		rules.ReadFrom = append(rules.ReadFrom, sourceRuleset)
	}
	c.host.rules.put(key, rules, c.host.clock.now())
	return rules, nil
}

// protection reads what branches/{branch} shows with contents: read.
func (c *Client) protection(ctx context.Context, repo forge.Repo, branch string) ([]forge.RequiredCheck, error) {
	op := fmt.Sprintf("read branch %s:%s", repo.FullName(), oneLine(branch))
	path, err := repoPath(repo, "branches", branch)
	if err != nil {
		return nil, invalid(op, err)
	}
	var b gh.Branch
	if _, err := c.getJSON(ctx, op, call{route: routeBranch, revalidate: true}, path, &b); err != nil {
		return nil, err
	}
	if b.GetName() == "" || b.Protected == nil {
		return nil, malformed(op, errors.New("no name or no protection state in the answer"))
	}
	checks := b.GetProtection().GetRequiredStatusChecks()
	if checks == nil {
		return nil, nil
	}
	return requiredByProtection(checks), nil
}

// requiredByProtection joins the list with Apps and the older one without.
func requiredByProtection(checks *gh.RequiredStatusChecks) []forge.RequiredCheck {
	var out []forge.RequiredCheck
	seen := make(map[string]bool)
	for _, chk := range deref(checks.Checks) {
		if chk == nil || chk.Context == "" {
			continue
		}
		seen[chk.Context] = true
		out = append(out, forge.RequiredCheck{Name: chk.Context, AppID: appID(chk.AppID), Source: sourceProtection})
	}
	for _, name := range deref(checks.Contexts) {
		if name != "" && !seen[name] {
			out = append(out, forge.RequiredCheck{Name: name, Source: sourceProtection})
		}
	}
	return out
}

// appID reads an optional App; GitHub writes "any App" as absent, null or -1.
func appID(id *int64) int64 { return max(0, deref(id)) }

// rule is the part of a branch rule that names checks.
type rule struct {
	Type       string `json:"type"`
	Parameters *struct {
		Checks []struct {
			Context       string `json:"context"`
			IntegrationID *int64 `json:"integration_id"`
		} `json:"required_status_checks"`
	} `json:"parameters"`
}

// rulesets reads the rules in force on a branch. read is false where the
// repository's plan has no rulesets, which GitHub says with a 403.
func (c *Client) rulesets(ctx context.Context, repo forge.Repo, branch string) (required []forge.RequiredCheck, read bool, err error) {
	op := fmt.Sprintf("read rules of %s:%s", repo.FullName(), oneLine(branch))
	path, err := repoPath(repo, "rules", "branches", branch)
	if err != nil {
		return nil, false, invalid(op, err)
	}
	err = c.pages(ctx, op, call{route: routeRules, revalidate: true}, path, nil, maxRulePages, func(body []byte) (bool, error) {
		names, err := decodeRules(op, body)
		required = append(required, names...)
		return true, err
	})
	var fe *forge.Error
	if errors.As(err, &fe) && fe.Kind == forge.KindForbidden && strings.Contains(fe.Error(), "Upgrade to GitHub") {
		return nil, false, nil
	}
	return required, err == nil, err
}

func decodeRules(op string, body []byte) ([]forge.RequiredCheck, error) {
	var rules []*rule
	if err := decode(op, body, &rules); err != nil {
		return nil, err
	}
	var out []forge.RequiredCheck
	for _, r := range rules {
		if r == nil || r.Type == "" {
			return nil, malformed(op, errors.New("a rule without type"))
		}
		if r.Type != "required_status_checks" {
			continue
		}
		if r.Parameters == nil {
			return nil, malformed(op, errors.New("required_status_checks without parameters"))
		}
		for _, chk := range r.Parameters.Checks {
			if chk.Context == "" {
				return nil, malformed(op, errors.New("a required check without name"))
			}
			out = append(out, forge.RequiredCheck{Name: chk.Context, AppID: appID(chk.IntegrationID), Source: sourceRuleset})
		}
	}
	return out, nil
}

// maxRules bounds the branches whose rules are kept.
const maxRules = 1000

// rulesCache keeps what branches demand for a moment, since a burst of events
// on one base asks the same again and again.
type rulesCache struct {
	ttl   time.Duration
	mu    sync.Mutex
	byKey map[string]keptRules
}

type keptRules struct {
	rules forge.BranchRules
	until time.Time
}

func newRulesCache(ttl time.Duration) *rulesCache {
	return &rulesCache{ttl: ttl, byKey: make(map[string]keptRules)}
}

func (r *rulesCache) get(key string, now time.Time) (forge.BranchRules, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.byKey[key]
	if !ok || !now.Before(kept.until) {
		return forge.BranchRules{}, false
	}
	return cloneRules(kept.rules), true
}

func (r *rulesCache) put(key string, rules forge.BranchRules, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.byKey) >= maxRules {
		clear(r.byKey)
	}
	r.byKey[key] = keptRules{rules: cloneRules(rules), until: now.Add(r.ttl)}
}

// cloneRules keeps callers from changing what is kept.
func cloneRules(b forge.BranchRules) forge.BranchRules {
	return forge.BranchRules{Required: slices.Clone(b.Required), ReadFrom: slices.Clone(b.ReadFrom)}
}
