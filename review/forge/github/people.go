package github

import (
	"context"
	"errors"
	"fmt"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// Permission asks what a person may do. Custom roles count as the standard role
// that they extend, which is what `permission` holds.
func (c *Client) Permission(ctx context.Context, repo forge.Repo, login string) (forge.Permission, error) {
	op := fmt.Sprintf("read permission of %s in %s", oneLine(login), repo.FullName())
	path, err := repoPath(repo, "collaborators", login, "permission")
	if err != nil {
		return "", invalid(op, err)
	}
	var level gh.RepositoryPermissionLevel
	if _, err := c.getJSON(ctx, op, call{route: routePermission, revalidate: true}, path, &level); err != nil {
		return "", err
	}
	p, err := permissionOf(level.GetPermission(), level.GetRoleName())
	if err != nil {
		return "", malformed(op, err)
	}
	return p, nil
}

// permissionOf reads the coarse permission, refined by the role where GitHub
// folds two roles into one: maintain shows as write, triage as read.
func permissionOf(permission, role string) (forge.Permission, error) {
	switch permission {
	case "admin":
		return forge.PermissionAdmin, nil
	case "write":
		if role == "maintain" {
			return forge.PermissionMaintain, nil
		}
		return forge.PermissionWrite, nil
	case "read":
		if role == "triage" {
			return forge.PermissionTriage, nil
		}
		return forge.PermissionRead, nil
	case "none":
		return forge.PermissionNone, nil
	}
	return "", errors.New("permission is none of admin, write, read and none")
}

// maxPullPages bounds the pull requests looked through for one commit.
const maxPullPages = 10

// PullsByHead lists the open pull requests whose head is the commit, and not
// those that merely contain it.
func (c *Client) PullsByHead(ctx context.Context, repo forge.Repo, sha string) ([]int, error) {
	op := fmt.Sprintf("list pulls of %s at %s", repo.FullName(), short(sha))
	if !isOID(sha) {
		return nil, invalid(op, errors.New("want a full commit id"))
	}
	path, err := repoPath(repo, "commits", sha, "pulls")
	if err != nil {
		return nil, invalid(op, err)
	}
	var out []int
	err = c.pages(ctx, op, call{route: routePulls}, path, nil, maxPullPages, func(body []byte) (bool, error) {
		var pulls []*gh.PullRequest
		if err := decode(op, body, &pulls); err != nil {
			return false, err
		}
		for _, p := range pulls {
			if p.GetNumber() <= 0 || p.GetState() == "" {
				return false, malformed(op, errors.New("a pull request without number or state"))
			}
			if p.GetState() == "open" && p.GetHead().GetSHA() == sha {
				out = append(out, p.GetNumber())
			}
		}
		return true, nil
	})
	return out, err
}
