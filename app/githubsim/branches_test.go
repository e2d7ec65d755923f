package githubsim_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

func TestDeletedBranches(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	if err := w.repo.CreateBranch("release", "main"); err != nil {
		t.Fatal(err)
	}
	from := w.pull()
	into := must(w.repo.OpenPull(githubsim.PullSpec{Title: "x", Head: "x", Base: "release", Changes: []githubsim.Change{{Path: "x", Content: "x"}}}))
	for name, p := range map[string]*githubsim.Pull{"hello": from, "release": into} {
		tip := w.repo.Branch(name)
		if err := w.repo.DeleteBranch(name); err != nil {
			t.Fatal(err)
		}
		push := w.last("push", "")
		if !push.Get("deleted").Bool() || push.Get("ref").String() != "refs/heads/"+name || push.Get("before").String() != tip ||
			push.Get("after").String() != strings.Repeat("0", 40) || push.Get("head_commit").Raw != "null" {
			t.Errorf("push of %s's end: %s", name, push)
		}
		if got := w.last("pull_request", "closed"); got.Get("number").Int() != int64(p.Number()) || got.Get("pull_request.merged").Bool() {
			t.Errorf("after %s went, closed is %s; want %d, not merged", name, got.Get("number"), p.Number())
		}
		if err := p.Reopen(); err == nil {
			t.Errorf("pull request %d was reopened without its branch", p.Number())
		}
	}
	if err := w.repo.DeleteBranch("main"); err == nil {
		t.Error("the default branch was deleted")
	}
	if _, resp, _ := w.gh.Repositories.GetBranch(context.Background(), "acme", "shop", "hello", 0); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the branch that is gone answers %d; want 404", resp.StatusCode)
	}
	if _, _, err := w.gh.Git.GetRef(context.Background(), "acme", "shop", "pull/1/head"); err != nil {
		t.Errorf("refs/pull/1/head went with its branch: %v", err)
	}
}

// TestClassicProtection: with administration the protection itself is shown, without a required check
// it is 404.
func TestClassicProtection(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.inst.WithholdPermissions(map[string]string{"administration": "read", "contents": "read"})
	ctx := context.Background()
	get := func() (*github.RequiredStatusChecks, int) {
		got, resp, err := w.gh.Repositories.GetRequiredStatusChecks(ctx, "acme", "shop", "main")
		if resp == nil {
			t.Fatal(err)
		}
		return got, resp.StatusCode
	}
	if _, status := get(); status != http.StatusNotFound {
		t.Errorf("an unprotected branch: %d; want 404", status)
	}
	w.repo.RequireChecks("main")
	if _, status := get(); status != http.StatusNotFound {
		t.Errorf("protected without required checks: %d; want 404", status)
	}
	w.repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: 15368}, githubsim.CheckRef{Context: "any"})
	got, status := get()
	if status != http.StatusOK || len(*got.Checks) != 2 || (*got.Checks)[0].GetAppID() != 15368 || !slices.Equal(*got.Contexts, []string{"build", "any"}) {
		t.Errorf("%d, %+v; want build of 15368 and any", status, got)
	}
	w.repo.Unprotect("main")
	if branch, _, err := w.gh.Repositories.GetBranch(ctx, "acme", "shop", "main", 0); err != nil || branch.GetProtected() {
		t.Errorf("after Unprotect: protected %v (%v); want false", branch.GetProtected(), err)
	}
}
