package githubsim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/countersign/countersign/app/githubsim"
)

// commentOn starts with a comment on lines 9 and 10 of the new side.
func (w *world) commentOn(p *githubsim.Pull, c githubsim.NewComment) {
	w.t.Helper()
	c.Body = "why?"
	if _, err := p.SubmitReview("hubot", "COMMENT", "", c); err != nil {
		w.t.Fatal(err)
	}
}

// TestCommentsMoveWithTheirLine covers CASES 13: an outdated comment has no line and no position.
func TestCommentsMoveWithTheirLine(t *testing.T) {
	base := edited(numbered(40), 10, 30)
	right := githubsim.NewComment{Path: "long.txt", StartLine: 9, Line: 10}
	for name, row := range map[string]struct {
		at        githubsim.NewComment
		push      []githubsim.Change
		line      int
		outdated  bool
		startLine int
	}{
		"elsewhere":                 {right, []githubsim.Change{{Path: "new.txt", Content: "n\n"}}, 10, false, 9},
		"two lines above":           {right, []githubsim.Change{{Path: "long.txt", Content: "a\nb\n" + base}}, 12, false, 11},
		"a line above removed":      {right, []githubsim.Change{{Path: "long.txt", Content: strings.Replace(base, "line 2\n", "", 1)}}, 9, false, 8},
		"a line far below added":    {right, []githubsim.Change{{Path: "long.txt", Content: strings.Replace(base, "line 35\n", "line 35\nx\n", 1)}}, 10, false, 9},
		"the line changed":          {right, []githubsim.Change{{Path: "long.txt", Content: strings.Replace(base, "LINE 10\n", "Line ten\n", 1)}}, 0, true, 0},
		"the first line changed":    {right, []githubsim.Change{{Path: "long.txt", Content: strings.Replace(base, "line 9\n", "Line nine\n", 1)}}, 0, true, 0},
		"a line in between":         {right, []githubsim.Change{{Path: "long.txt", Content: strings.Replace(base, "line 9\n", "line 9\nx\n", 1)}}, 0, true, 0},
		"the change taken back":     {right, []githubsim.Change{{Path: "long.txt", Content: edited(numbered(40), 30)}}, 0, true, 0},
		"the file deleted":          {right, []githubsim.Change{{Path: "long.txt", Delete: true}}, 0, true, 0},
		"the file renamed":          {right, []githubsim.Change{{Path: "long.txt", RenameTo: "longer.txt"}}, 10, false, 9},
		"the old side stays":        {githubsim.NewComment{Path: "long.txt", Line: 10, Side: "LEFT"}, []githubsim.Change{{Path: "long.txt", Content: "a\n" + base}}, 10, false, 0},
		"the old side, taken back":  {githubsim.NewComment{Path: "long.txt", Line: 10, Side: "LEFT"}, []githubsim.Change{{Path: "long.txt", Content: edited(numbered(40), 30)}}, 0, true, 0},
		"the old side of a removal": {githubsim.NewComment{Path: "src/a.go", Line: 1, Side: "LEFT"}, []githubsim.Change{{Path: "x", Content: "x"}}, 1, false, 0},
		"a file":                    {githubsim.NewComment{Path: "long.txt"}, []githubsim.Change{{Path: "long.txt", Content: "a\n" + base}}, 0, false, 0},
		"a file taken back":         {githubsim.NewComment{Path: "long.txt"}, []githubsim.Change{{Path: "long.txt", Content: numbered(40)}}, 0, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, githubsim.Options{})
			p := w.withLongFile()
			w.commentOn(p, row.at)
			began := p.HeadSHA()
			must(p.Push(row.push...))
			got := p.Threads()[0]
			if got.Line != row.line || got.StartLine != row.startLine || got.Outdated != row.outdated {
				t.Errorf("line %d to %d, outdated %v; want %d to %d, %v", got.StartLine, got.Line, got.Outdated, row.startLine, row.line, row.outdated)
			}
			_, list := w.rest(nil, http.MethodGet, "/repos/acme/shop/pulls/1/comments", "")
			c := list.Get("0")
			if row.outdated && (c.Get("line").Type != gjson.Null || c.Get("position").Type != gjson.Null || c.Get("commit_id").String() != began) {
				t.Errorf("an outdated comment is %s", c)
			}
			if !row.outdated && c.Get("commit_id").String() != p.HeadSHA() {
				t.Errorf("a comment that moved names commit %s", c.Get("commit_id"))
			}
			if c.Get("original_line").Int() != int64(row.at.Line) || c.Get("original_commit_id").String() != began {
				t.Errorf("where it began is forgotten: %s", c)
			}
			if err := p.ResetTo(began); err != nil {
				t.Fatal(err)
			}
			if got := p.Threads()[0]; got.Outdated || got.Line != row.at.Line {
				t.Errorf("the commit is back and the comment is not: %+v", got)
			}
		})
	}
}

func TestCommentsMoveWithTheBase(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 10})
	w.commentOn(p, githubsim.NewComment{Path: "long.txt", Line: 10, Side: "LEFT"})
	must(w.repo.Commit("main", "above", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "long.txt", Content: "a\n" + numbered(40)}}}))
	must(p.Rebase())
	for _, one := range p.Threads() {
		if one.Outdated || one.Line != 11 {
			t.Errorf("side %s is on line %d, outdated %v; want 11", one.Side, one.Line, one.Outdated)
		}
	}
}

// TestForcePush covers CASES 12: the commit a review was made for has left the pull request.
func TestForcePush(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.withLongFile()
	old := p.HeadSHA()
	must(p.ForcePush(githubsim.Change{Path: "long.txt", Content: edited(numbered(40), 11)}))
	status, got := w.rest(nil, http.MethodPost, reviewsPath, fmt.Sprintf(`{"event":"COMMENT","commit_id":%q,"comments":[{"path":"long.txt","line":10,"body":"b"}]}`, old))
	if status != http.StatusUnprocessableEntity || !strings.Contains(got.Raw, "not part of the pull request") {
		t.Errorf("%d %s; want 422", status, got)
	}
	first := p.HeadSHA()
	must(p.Push(githubsim.Change{Path: "long.txt", Content: edited(numbered(40), 11, 12)}))
	if status, got := w.rest(nil, http.MethodPost, reviewsPath, fmt.Sprintf(`{"event":"COMMENT","commit_id":%q,"comments":[{"path":"long.txt","line":11,"body":"b"}]}`, first)); status != http.StatusOK {
		t.Errorf("an older commit of the pull request: %d %s", status, got)
	}
	if one := p.ReviewComments()[0]; one.Line != 11 || one.OriginalCommitID != first || one.CommitID != p.HeadSHA() {
		t.Errorf("the comment stands at %+v", one)
	}
}

// TestMovesAgreeWithTheText: wherever a comment ends up, the text of its line is the one it was made on.
func TestMovesAgreeWithTheText(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	must(w.repo.Commit("main", "long", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "long.txt", Content: numbered(12)}}}))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		change := func(label string, lines []string) []string {
			var out []string
			for i, l := range lines {
				switch rapid.IntRange(0, 5).Draw(rt, fmt.Sprint(label, i)) {
				case 0:
				case 1:
					out = append(out, fmt.Sprintf("%s %d", label, i), l)
				case 2:
					out = append(out, l+" "+label)
				default:
					out = append(out, l)
				}
			}
			return out
		}
		text := func(lines []string) string { return strings.Join(append(lines, ""), "\n") }
		start := strings.Split(strings.TrimSpace(numbered(12)), "\n")
		first := change("first", start)
		if text(first) == text(start) || len(first) == 0 {
			return
		}
		p := must(w.repo.OpenPull(githubsim.PullSpec{Title: "x", Author: "mona", Head: fmt.Sprint("x", n), Changes: []githubsim.Change{{Path: "long.txt", Content: text(first)}}}))
		line := rapid.IntRange(1, len(first)).Draw(rt, "line")
		if _, err := p.SubmitReview("hubot", "COMMENT", "", githubsim.NewComment{Path: "long.txt", Line: line, Body: "b"}); err != nil {
			return // not in a hunk
		}
		second := change("second", first)
		must(p.Push(githubsim.Change{Path: "long.txt", Content: text(second)}))
		switch got := p.Threads()[0]; {
		case got.Outdated:
		case got.Line < 1 || got.Line > len(second) || second[got.Line-1] != first[line-1]:
			rt.Errorf("line %d %q became %d of %q", line, first[line-1], got.Line, second)
		}
	})
}
