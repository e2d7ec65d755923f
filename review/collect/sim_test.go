package collect_test

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/forge/github"
	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// must is for steps that have to work before there is anything to test.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// evidence is what a session would collect.
type evidence struct {
	pull   forge.Pull
	patch  diff.Patch
	snap   forge.Snapshot
	checks review.Checks
	author risk.Author
	gaps   []collect.Gap
}

func gather(t *testing.T, c forge.Client, ref forge.PullRef) evidence {
	t.Helper()
	ctx := t.Context()
	e := evidence{pull: must(c.Pull(ctx, ref))(t)}
	var err error
	if e.patch, e.gaps, err = collect.Patch(ctx, c, e.pull); err != nil {
		t.Fatal(err)
	}
	rules := must(c.BranchRules(ctx, ref.Repo, e.pull.BaseRef))(t)
	e.author = must(collect.Author(ctx, c, e.pull))(t)
	e.snap = must(c.Snapshot(ctx, forge.SnapshotRequest{Pull: ref, Head: e.pull.HeadSHA, MergeBase: e.patch.MergeBase, Dirs: collect.Dirs(e.patch)}))(t)
	e.gaps = append(e.gaps, collect.Modes(&e.patch, e.snap)...)
	e.gaps = append(e.gaps, must(collect.Fill(ctx, c, ref.Repo, &e.patch, collect.Budget{}))(t)...)
	now := time.Now()
	e.checks = collect.Checks(collect.ChecksInput{Snapshot: e.snap, Required: rules.Required, OwnAppID: 4711, OwnNames: []string{"countersign"},
		HeadSince: now.Add(-time.Hour), Now: now, Wait: time.Hour})
	return e
}

func TestEvidenceAgainstTheSimulator(t *testing.T) {
	key := must(rsa.GenerateKey(rand.Reader, 2048))(t)
	sim := must(githubsim.New(githubsim.Options{MaxPatchLines: 50}))(t)
	t.Cleanup(func() { _ = sim.Close() })
	url := must(sim.Start())(t)
	repo := must(sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "api"}))(t)
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	must(repo.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "README.md", Content: "# api\n"}, {Path: "run.sh", Content: "echo\n"}, {Path: "old.go", Content: "package old\n\nvar A = 1\n"},
		{Path: "logo.png", Content: "\x89PNG\x00\x01"}, {Path: "big.go", Content: long.String()}, {Path: "link", Content: "text\n"},
	}}))(t)
	repo.RequireChecks("main", githubsim.CheckRef{Context: "build", AppID: 15368})
	app := must(sim.AddApp(githubsim.App{ID: 4711, Slug: "countersign", Key: key}))(t)
	inst := must(sim.Install(app, "acme", repo))(t)
	host := must(github.New(github.Options{AppID: 4711, PrivateKeyPEM: app.PrivateKeyPEM(), RESTURL: url}))(t)
	client := must(host.Client(inst.ID()))(t)

	pull := must(repo.OpenPull(githubsim.PullSpec{Title: "Many kinds of change", Author: "mona", Head: "topic", Changes: []githubsim.Change{
		{Path: "run.sh", Mode: "100755"}, {Path: "old.go", RenameTo: "new.go"}, {Path: "README.md", Delete: true},
		{Path: "logo.png", Content: "\x89PNG\x00\x02"}, {Path: "big.go", Content: strings.ReplaceAll(long.String(), "line 1", "LINE 1")},
		{Path: "link", Content: "run.sh", Mode: "120000"}, {Path: "empty", Content: ""}, {Path: "deep/er/x.go", Content: "package er"},
	}}))(t)
	// The base moves on; what others changed there is not this patch's (case 151).
	must(repo.Commit("main", "elsewhere", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "auth/login.go", Content: "package auth\n"}}}))(t)
	must(repo.SetCheck(pull.HeadSHA(), githubsim.CheckSpec{Name: "build", Conclusion: "success", Workflow: githubsim.Workflow{Path: ".github/workflows/ci.yml"}}))(t)

	e := gather(t, client, forge.PullRef{Repo: forge.Repo{ID: repo.ID(), Owner: "acme", Name: "api", Installation: inst.ID()}, Number: pull.Number()})
	if len(e.gaps) != 0 || e.patch.Missing() != 0 || len(collect.Truncated(e.patch)) != 0 {
		t.Errorf("gaps %v, missing %d, truncated %v", e.gaps, e.patch.Missing(), collect.Truncated(e.patch))
	}
	got := map[string]string{}
	for _, f := range e.patch.Files {
		got[f.Path()] = fmt.Sprintf("%s %s>%s binary=%v hunks=%v", f.Op, f.OldMode, f.NewMode, f.Binary, len(f.Hunks) > 0)
	}
	want := map[string]string{
		"run.sh":       "modified 100644>100755 binary=false hunks=false",
		"new.go":       "renamed 100644>100644 binary=false hunks=false",
		"README.md":    "deleted 100644> binary=false hunks=true",
		"logo.png":     "modified 100644>100644 binary=true hunks=false",
		"big.go":       "modified 100644>100644 binary=false hunks=true",
		"link":         "type_changed 100644>120000 binary=false hunks=true",
		"empty":        "added >100644 binary=false hunks=false",
		"deep/er/x.go": "added >100644 binary=false hunks=true",
	}
	for path, w := range want {
		if got[path] != w {
			t.Errorf("%s: got  %s\nwant %s", path, got[path], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("case-151: files %v", got)
	}
	if len(e.checks.Results) != 1 || !e.checks.Results[0].Required || e.checks.Results[0].Untrusted != "" || !e.checks.Complete {
		t.Errorf("checks %+v", e.checks)
	}
	if e.author.Write != risk.No || collect.Intent(e.pull) != review.IntentStated {
		t.Errorf("author %+v", e.author)
	}
}
