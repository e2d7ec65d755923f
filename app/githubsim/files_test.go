package githubsim_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

func many(n int) []githubsim.Change {
	var out []githubsim.Change
	for i := range n {
		out = append(out, githubsim.Change{Path: fmt.Sprintf("d/%04d.txt", i), Content: fmt.Sprintf("%d\n", i)})
	}
	return out
}

// files lists a pull request's files by following Link.
func (w *world) files(number, perPage int) (all []*github.CommitFile, pages int) {
	w.t.Helper()
	opts := &github.ListOptions{PerPage: perPage}
	for {
		list, resp, err := w.gh.PullRequests.ListFiles(context.Background(), "acme", "shop", number, opts)
		if err != nil {
			w.t.Fatal(err)
		}
		all, pages = append(all, list...), pages+1
		if resp.NextPage == 0 {
			return all, pages
		}
		opts.Page = resp.NextPage
	}
}

func TestCase024_DiffOver300Files(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull(many(301)...)
	ctx := context.Background()
	_, resp, err := w.gh.PullRequests.GetRaw(ctx, "acme", "shop", p.Number(), github.RawOptions{Type: github.Diff})
	var refused *github.ErrorResponse
	if !asError(err, &refused) || resp.StatusCode != http.StatusNotAcceptable || refused.Errors[0].Code != "too_large" || refused.Errors[0].Field != "diff" {
		t.Errorf("diff of 301 files: %v; want 406 too_large on diff", err)
	}
	all, pages := w.files(p.Number(), 100)
	if len(all) != 301 || pages != 4 {
		t.Errorf("list-files gave %d files on %d pages; want 301 on 4", len(all), pages)
	}
	cmp, _, err := w.gh.Repositories.CompareCommits(ctx, "acme", "shop", p.BaseSHA(), p.HeadSHA(), nil)
	if err != nil || len(cmp.Files) != 300 {
		t.Errorf("compare shows %d files (%v); want 300", len(cmp.Files), err)
	}
}

func TestCase025_DiffOver20000Lines(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	// Few changed lines, many lines of context around them.
	var old, cur strings.Builder
	for i := range 24_000 {
		fmt.Fprintf(&old, "line %d\n", i)
		if i%7 == 0 {
			fmt.Fprintf(&cur, "LINE %d\n", i)
		} else {
			fmt.Fprintf(&cur, "line %d\n", i)
		}
	}
	must(w.repo.Commit("main", "long", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "long.txt", Content: old.String()}}}))
	p := w.pull(githubsim.Change{Path: "long.txt", Content: cur.String()})
	pr, _, err := w.gh.PullRequests.Get(context.Background(), "acme", "shop", p.Number())
	if err != nil || pr.GetAdditions()+pr.GetDeletions() > 10_000 {
		t.Fatalf("%d+%d changed lines (%v); want fewer than 10,000", pr.GetAdditions(), pr.GetDeletions(), err)
	}
	_, resp, _ := w.gh.PullRequests.GetRaw(context.Background(), "acme", "shop", p.Number(), github.RawOptions{Type: github.Diff})
	if resp.StatusCode != http.StatusNotAcceptable {
		t.Errorf("answered %d; want 406: context lines count", resp.StatusCode)
	}
}

func TestCase026_ListFilesStopsAt3000(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull(many(3_010)...)
	pr, _, err := w.gh.PullRequests.Get(context.Background(), "acme", "shop", p.Number())
	if err != nil {
		t.Fatal(err)
	}
	all, _ := w.files(p.Number(), 100)
	if pr.GetChangedFiles() != 3_010 || len(all) != 3_000 {
		t.Errorf("changed_files %d, listed %d; want 3010 and 3000", pr.GetChangedFiles(), len(all))
	}
	undo := w.sim.Lag("GET /repos/{owner}/{repo}/pulls/{pull_number}/files", 1)
	defer undo()
	first, _, err := w.gh.PullRequests.ListFiles(context.Background(), "acme", "shop", p.Number(), &github.ListOptions{PerPage: 100, Page: 30})
	if err != nil || len(first) != 99 {
		t.Errorf("a stale list's last page has %d files (%v); want 99", len(first), err)
	}
}

func TestCase029_FilesWithoutPatch(t *testing.T) {
	w := newWorld(t, githubsim.Options{MaxPatchLines: 100})
	must(w.repo.Commit("main", "more", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "big.txt", Content: strings.Repeat("old\n", 120)}, {Path: "old.go", Content: "package old\n"},
		{Path: "run.sh", Content: "#!/bin/sh\n"}, {Path: "noeol", Content: "a\nb"}, {Path: "vendor/lib", Mode: "160000", Content: strings.Repeat("1", 40)},
	}}))
	p := w.pull(
		githubsim.Change{Path: "img.bin", Content: "\x00\x01\x02"},
		githubsim.Change{Path: "big.txt", Content: strings.Repeat("new\n", 100)},
		githubsim.Change{Path: "old.go", RenameTo: "new.go"},
		githubsim.Change{Path: "run.sh", Mode: "100755"},
		githubsim.Change{Path: "noeol", Content: "a\nc"},
		githubsim.Change{Path: "vendor/lib", Mode: "160000", Content: strings.Repeat("2", 40)},
		githubsim.Change{Path: "README.md", Delete: true},
		githubsim.Change{Path: "na\u00efve\ttab.txt", Content: "x\n"},
	)
	all, _ := w.files(p.Number(), 100)
	byName := map[string]*github.CommitFile{}
	for _, f := range all {
		byName[f.GetFilename()] = f
	}
	for _, row := range []struct {
		name, status, patch string
		changes             int
	}{
		{"img.bin", "added", "", 0},
		{"big.txt", "modified", "", 220},
		{"new.go", "renamed", "", 0},
		{"run.sh", "modified", "", 0},
		{"noeol", "modified", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file", 2},
		{"vendor/lib", "modified", "@@ -1 +1 @@\n-Subproject commit " + strings.Repeat("1", 40) + "\n+Subproject commit " + strings.Repeat("2", 40), 2},
		{"README.md", "removed", "@@ -1 +0,0 @@\n-# shop", 1},
		{"na\u00efve\ttab.txt", "added", "@@ -0,0 +1 @@\n+x", 1},
	} {
		f := byName[row.name]
		if f == nil {
			t.Errorf("%s is not listed", row.name)
			continue
		}
		if f.GetStatus() != row.status || f.GetPatch() != row.patch || (f.Patch == nil) != (row.patch == "") || f.GetChanges() != row.changes {
			t.Errorf("%s: %s, %d changes, patch %q; want %s, %d, %q", row.name, f.GetStatus(), f.GetChanges(), f.GetPatch(), row.status, row.changes, row.patch)
		}
	}
	if f := byName["new.go"]; f.GetPreviousFilename() != "old.go" {
		t.Errorf("previous_filename is %q; want old.go", f.GetPreviousFilename())
	}
	if len(all) != 8 {
		t.Errorf("%d files; want 8", len(all))
	}
}

func TestCase151_CompareFromTheMergeBase(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	start := w.repo.Branch("main")
	p := w.pull(githubsim.Change{Path: "docs/a.md", Content: "a\n"})
	must(w.repo.Commit("main", "elsewhere", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "auth/login.go", Content: "package auth\n"}}}))
	ctx := context.Background()
	cmp, _, err := w.gh.Repositories.CompareCommits(ctx, "acme", "shop", "main", p.HeadSHA(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if cmp.GetMergeBaseCommit().GetSHA() != start || cmp.GetStatus() != "diverged" || len(cmp.Files) != 1 || cmp.Files[0].GetFilename() != "docs/a.md" {
		t.Errorf("merge base %s, %s, %d files; want %s, diverged, docs/a.md alone", cmp.GetMergeBaseCommit().GetSHA(), cmp.GetStatus(), len(cmp.Files), start)
	}
	before := cmp.Files[0].GetPatch()
	for name, update := range map[string]func() (string, error){"update branch": p.UpdateBranch, "rebase": p.Rebase} {
		must(w.repo.Commit("main", name, githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "auth/" + name, Content: name}}}))
		sha, err := update()
		if err != nil {
			t.Fatal(err)
		}
		cmp, _, err := w.gh.Repositories.CompareCommits(ctx, "acme", "shop", "main", sha, nil)
		if err != nil || len(cmp.Files) != 1 || cmp.Files[0].GetPatch() != before || cmp.GetBehindBy() != 0 {
			t.Errorf("after %s: %d files, behind by %d (%v); want the same one file, behind by 0", name, len(cmp.Files), cmp.GetBehindBy(), err)
		}
	}
}

func TestCase150_Contents(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	sha := must(w.repo.Commit("main", "more", githubsim.CommitSpec{Changes: []githubsim.Change{
		{Path: "link", Content: "README.md", Mode: "120000"}, {Path: "away", Content: "../../etc/passwd", Mode: "120000"},
		{Path: "sub", Mode: "160000", Content: strings.Repeat("3", 40)}, {Path: "a b/ü#.txt", Content: "x\n"},
	}}))
	ctx := context.Background()
	for path, want := range map[string]string{
		"README.md": "file:# shop\n", "link": "file:# shop\n", "away": "symlink:", "sub": "submodule:", "src": "folder of 1", "a b/ü#.txt": "file:x\n", "gone": "404",
	} {
		file, dir, resp, err := w.gh.Repositories.GetContents(ctx, "acme", "shop", path, &github.RepositoryContentGetOptions{Ref: sha})
		got := "404"
		switch {
		case err == nil && file == nil:
			got = fmt.Sprintf("folder of %d", len(dir))
		case err == nil:
			text := ""
			if file.GetType() == "file" {
				text = must(file.GetContent())
			}
			got = file.GetType() + ":" + text
		case resp == nil || resp.StatusCode != http.StatusNotFound:
			t.Errorf("%s: %v", path, err)
		}
		if got != want {
			t.Errorf("contents of %s are %q; want %q", path, got, want)
		}
	}
}

// TestLargeFilesAndFolders: over 1 MB the JSON form comes without content, over the limit nothing does;
// a folder shows a thousand entries and says nothing of the rest.
func TestLargeFilesAndFolders(t *testing.T) {
	const limit = 2 << 20
	w := newWorld(t, githubsim.Options{MaxBlobBytes: limit})
	changes := []githubsim.Change{
		{Path: "large", Content: strings.Repeat("x", limit)}, {Path: "too-large", Content: strings.Repeat("x", limit+1)},
	}
	sha := must(w.repo.Commit("main", "large", githubsim.CommitSpec{Changes: append(changes, many(1_001)...)}))
	ctx := context.Background()
	get := func(path string) (*github.RepositoryContent, []*github.RepositoryContent, int) {
		file, folder, resp, err := w.gh.Repositories.GetContents(ctx, "acme", "shop", path, &github.RepositoryContentGetOptions{Ref: sha})
		if err != nil && resp == nil {
			t.Fatal(err)
		}
		return file, folder, resp.StatusCode
	}
	file, _, _ := get("large")
	if file.GetEncoding() != "none" || file.GetSize() != limit || *file.Content != "" {
		t.Errorf("a large file: encoding %q, %d bytes, %d of content; want none, %d and 0", file.GetEncoding(), file.GetSize(), len(*file.Content), limit)
	}
	raw, _, err := w.gh.Git.GetBlobRaw(ctx, "acme", "shop", file.GetSHA())
	if err != nil || len(raw) != limit {
		t.Errorf("its blob has %d bytes (%v); want %d", len(raw), err, limit)
	}
	blob, _, err := w.gh.Git.GetBlob(ctx, "acme", "shop", file.GetSHA())
	if err != nil || blob.GetEncoding() != "base64" || blob.GetSize() != limit {
		t.Errorf("its blob as JSON: %s, %d bytes (%v); want base64 and %d", blob.GetEncoding(), blob.GetSize(), err, limit)
	}
	if _, _, status := get("too-large"); status != http.StatusForbidden {
		t.Errorf("contents over the limit answer %d; want 403", status)
	}
	tree, _, err := w.gh.Git.GetTree(ctx, "acme", "shop", sha, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tree.Entries, func(e *github.TreeEntry) bool { return e.GetPath() == "too-large" })
	if _, resp, _ := w.gh.Git.GetBlobRaw(ctx, "acme", "shop", tree.Entries[i].GetSHA()); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a blob over the limit answers %d; want 403", resp.StatusCode)
	}
	if _, folder, _ := get("d"); len(folder) != 1_000 {
		t.Errorf("a folder of 1,001 files shows %d; want 1,000", len(folder))
	}
}

func TestTreesAreCut(t *testing.T) {
	w := newWorld(t, githubsim.Options{MaxTreeEntries: 2})
	tree, _, err := w.gh.Git.GetTree(context.Background(), "acme", "shop", w.repo.Branch("main"), true)
	if err != nil || !tree.GetTruncated() || len(tree.Entries) != 2 {
		t.Errorf("%d entries, truncated %v (%v); want 2, true", len(tree.Entries), tree.GetTruncated(), err)
	}
}

func TestCase034_CommentsAreBounded(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	for n, want := range map[int]int{65_536: 201, 65_537: 422} {
		_, resp, _ := w.gh.Issues.CreateComment(context.Background(), "acme", "shop", p.Number(), &github.IssueComment{Body: github.String(strings.Repeat("é", n))})
		if resp.StatusCode != want {
			t.Errorf("a comment of %d characters: %d; want %d", n, resp.StatusCode, want)
		}
	}
}

func TestSameInputSameCommits(t *testing.T) {
	var shas []string
	at := newClock()
	for range 2 {
		w := newWorld(t, githubsim.Options{Clock: at.Now})
		shas = append(shas, w.pull().HeadSHA())
	}
	if shas[0] != shas[1] {
		t.Errorf("two runs with the same clock made %s and %s", shas[0], shas[1])
	}
}
