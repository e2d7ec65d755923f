package local

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/countersign/countersign/review/forge"
)

// Line chooses the commits of a history. Both follow first parents: the line of
// a branch that others are merged into.
type Line uint8

// The lines of a history.
const (
	FirstParent Line = iota // every commit
	Merges                  // merge commits only: one for each pull request, where they are merged so
)

// Commit is a commit of a history.
type Commit struct {
	SHA     string
	Parent  string // the first one; empty for a commit without
	Subject string // one line of at most MaxSubject characters, all of them visible
	Time    time.Time
}

// MaxSubject bounds a Commit's subject, in characters.
const MaxSubject = 200

// History lists up to n commits, newest first, from a commit by any name, HEAD
// for "". A commit whose parent a shallow clone lacks is not among them: nobody
// can tell what it changed. Errors are those of Range.
func (r *Repo) History(ctx context.Context, from string, n int, line Line) ([]Commit, error) {
	if from == "" {
		from = "HEAD"
	}
	id, err := r.Resolve(ctx, from)
	if err != nil {
		return nil, err
	}
	args := []string{"log", "-z", "--first-parent", "--no-decorate", "--no-show-signature", "--no-notes", "--no-mailmap", "--no-color",
		"--encoding=UTF-8", "--format=%H%n%P%n%ct%n%s", "--max-count=" + strconv.Itoa(max(n, 0))}
	if line == Merges {
		args = append(args, "--merges")
	}
	op := "read history from " + short(id)
	out, err := r.whole(ctx, command{args: append(args, "--end-of-options", id)})
	if err != nil {
		return nil, r.wrap(op, err)
	}
	var commits []Commit
	for text := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if text == "" {
			continue
		}
		c, err := readCommit(text)
		if err != nil {
			return nil, refuse(forge.KindMalformed, op, err, "")
		}
		if !r.cut[c.SHA] {
			commits = append(commits, c)
		}
	}
	return commits, nil
}

func readCommit(text string) (Commit, error) {
	f := strings.SplitN(text, "\n", 4)
	if len(f) < 4 || !isID(f[0]) {
		return Commit{}, fmt.Errorf("git log answered %.80q", text)
	}
	parent, _, _ := strings.Cut(f[1], " ")
	if parent != "" && !isID(parent) {
		return Commit{}, fmt.Errorf("git log names a parent %.80q", parent)
	}
	seconds, _ := strconv.ParseInt(f[2], 10, 64) // a commit may lie about its time, or have none
	return Commit{SHA: f[0], Parent: parent, Subject: printable(f[3], MaxSubject), Time: time.Unix(seconds, 0).UTC()}, nil
}

// The trees without entries: what a commit without parent is compared with.
const (
	emptyTree    = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptyTree256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// Landed is the range of what a commit changed on its line: from its first parent
// to itself. It is for Patch and Content.
func (c Commit) Landed() Range {
	base := c.Parent
	switch {
	case base != "":
	case len(c.SHA) == len(emptyTree256):
		base = emptyTree256
	default:
		base = emptyTree
	}
	return Range{Base: base, MergeBase: base, Head: c.SHA}
}

// printable drops what cannot be seen, and cuts to so many characters.
func printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			continue
		}
		if n++; n > limit {
			break
		}
		b.WriteRune(c)
	}
	return b.String()
}
