package githubsim

import (
	"errors"
	"fmt"

	"github.com/countersign/countersign/app/githubsim/gitstore"
)

// place is where a comment is to stand: on a line, on lines of one hunk, or on a file.
type place struct {
	path               string
	side, startSide    string
	line, startLine    int
	file               bool
	position           int  // the older way to name a line; 0 where line is given
	hasLine, hasStarts bool // line and start_line were given: 0 is a refusal, absent is not
}

// anchor is where a thread stands in the present diff.
type anchor struct {
	outdated        bool
	commit          string // the newest commit that has it
	path            string
	line, startLine int
	position        int
	hunk            string
}

// diffAt is the pull request's diff as of one of its commits.
func (p *Pull) diffAt(commit string) ([]gitstore.FileDiff, error) {
	base, err := p.repo.store.Commit(p.repo.store.MergeBase(p.baseSHA, commit))
	if err != nil {
		return nil, fmt.Errorf("diff of pull request %d: %w", p.number, err)
	}
	head, err := p.repo.store.Commit(commit)
	if err != nil {
		return nil, fmt.Errorf("diff of pull request %d: %w", p.number, err)
	}
	return p.repo.store.Diff(base.Tree, head.Tree)
}

func fileIn(diff []gitstore.FileDiff, path string) (gitstore.FileDiff, bool) {
	for _, f := range diff {
		if f.Path == path {
			return f, true
		}
	}
	return gitstore.FileDiff{}, false
}

// resolve finds a place in the diff of a commit, and fills in what follows from it.
func (p *Pull) resolve(commit string, pl place) (anchor, error) {
	diff, err := p.diffAt(commit)
	if err != nil {
		return anchor{}, err
	}
	f, ok := fileIn(diff, pl.path)
	if !ok {
		return anchor{}, refusal("Path could not be resolved")
	}
	a := anchor{commit: commit, path: pl.path}
	if pl.file {
		a.position = 1
		return a, nil
	}
	lines := patchLines(f.Patch)
	end, ok := lineAt(lines, pl.side, pl.line)
	if !ok {
		return anchor{}, refusal("Line could not be resolved")
	}
	if pl.hasStarts {
		start, ok := lineAt(lines, pl.startSide, pl.startLine)
		switch {
		case !ok:
			return anchor{}, refusal("Start line could not be resolved")
		case start.position >= end.position:
			return anchor{}, refusal("Pull request review thread start line must precede the end line.")
		case start.hunk != end.hunk:
			return anchor{}, refusal("Pull request review thread start line must be part of the same hunk as the line.")
		}
		a.startLine = pl.startLine
	}
	a.line, a.position, a.hunk = pl.line, end.position, hunkUpTo(lines, end)
	return a, nil
}

// byPosition turns the older way to name a line into side and line.
func (p *Pull) byPosition(commit string, pl place) (place, error) {
	diff, err := p.diffAt(commit)
	if err != nil {
		return pl, err
	}
	f, ok := fileIn(diff, pl.path)
	if !ok {
		return pl, refusal("Path could not be resolved")
	}
	for _, l := range patchLines(f.Patch) {
		if l.position != pl.position || l.left == 0 && l.right == 0 {
			continue
		}
		pl.side, pl.line, pl.hasLine = sideRight, l.right, true
		if l.right == 0 {
			pl.side, pl.line = sideLeft, l.left
		}
		return pl, nil
	}
	return pl, refusal("Position could not be resolved")
}

// reanchor looks the thread's place up at the head: a line that was changed, removed, or is no longer in
// the diff makes it outdated; else it moves with its line. It always starts from where it was begun, so
// that a commit which comes back brings the thread back.
func (t *reviewThread) reanchor() error {
	p := t.pull
	path, ok, err := t.carry()
	if err != nil {
		return err
	}
	if ok {
		a, err := p.resolve(p.headSHA, path)
		if err == nil {
			t.now = a
			return nil
		}
		var why refusal
		if !errors.As(err, &why) {
			return err
		}
	}
	t.now.outdated, t.now.line, t.now.startLine, t.now.position = true, 0, 0, 0
	return nil
}

// carry is the thread's place in the head's diff by way of the file's own change since it was begun.
func (t *reviewThread) carry() (place, bool, error) {
	pl := t.place
	f, changed, err := t.since(sideRight)
	if err != nil {
		return pl, false, err
	}
	if changed {
		if f.Status == 'D' {
			return pl, false, nil
		}
		pl.path = f.Path
	}
	if pl.file {
		return pl, true, nil
	}
	move := func(side string, line int) (int, bool, error) {
		f, changed, err := t.since(side)
		if err != nil || !changed {
			return line, err == nil, err
		}
		n, ok := moved(f, line)
		return n, ok, nil
	}
	var ok bool
	if pl.line, ok, err = move(pl.side, pl.line); err != nil || !ok {
		return pl, false, err
	}
	if !pl.hasStarts {
		return pl, true, nil
	}
	// Every line of the range has to be there still, one after the other.
	if pl.side == pl.startSide {
		for n := t.place.startLine; n < t.place.line; n++ {
			at, ok, err := move(pl.side, n)
			if err != nil || !ok || at != pl.line-(t.place.line-n) {
				return pl, false, err
			}
		}
	}
	pl.startLine, ok, err = move(pl.startSide, pl.startLine)
	return pl, ok, err
}

// since is how the thread's file changed on one side between the commit the thread was begun at and the
// head: on the left the merge bases are compared.
func (t *reviewThread) since(side string) (gitstore.FileDiff, bool, error) {
	p, from, to, path := t.pull, t.commit, t.pull.headSHA, t.place.path
	if side == sideLeft {
		diff, err := p.diffAt(t.commit)
		if err != nil {
			return gitstore.FileDiff{}, false, err
		}
		if f, ok := fileIn(diff, path); ok {
			path = f.OldPath
		}
		from, to = p.repo.store.MergeBase(p.baseSHA, t.commit), p.mergeBase()
	}
	if from == to {
		return gitstore.FileDiff{}, false, nil
	}
	old, err := p.repo.store.Commit(from)
	if err != nil {
		return gitstore.FileDiff{}, false, err
	}
	cur, err := p.repo.store.Commit(to)
	if err != nil {
		return gitstore.FileDiff{}, false, err
	}
	diff, err := p.repo.store.Diff(old.Tree, cur.Tree)
	if err != nil {
		return gitstore.FileDiff{}, false, err
	}
	for _, f := range diff {
		if f.OldPath == path && f.Status != 'A' {
			return f, true, nil
		}
	}
	return gitstore.FileDiff{}, false, nil
}

// reanchor moves every thread of the pull request to its place in the present diff.
func (p *Pull) reanchor() error {
	for _, t := range p.reviewThreads {
		if err := t.reanchor(); err != nil {
			return err
		}
	}
	return nil
}
