package diff_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

// gitFile is what git diff-tree --raw and --numstat say of one file.
type gitFile struct {
	status         byte
	old, new       gitSide
	binary         bool
	added, deleted int
}

// gitSide is one side of a file; all of it is empty where there is none.
type gitSide struct{ path, mode, id string }

func (s gitSide) exists() bool { return s.mode != "" }

const noMode, submoduleMode = "000000", "160000"

// gitRows reads the output of --raw --numstat -z --no-abbrev for the commits.
func gitRows(out string, commits []commit) ([][]gitFile, error) {
	r := zeroReader{rest: out}
	all := make([][]gitFile, len(commits))
	for i, c := range commits {
		if got := r.next(); got != c.id {
			return nil, fmt.Errorf("read --raw: %q in the place of commit %s", got, c.id)
		}
		for strings.HasPrefix(r.rest, ":") {
			f, err := r.raw()
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], f)
		}
		for j := range all[i] {
			if err := r.numstat(&all[i][j]); err != nil {
				return nil, fmt.Errorf("read --numstat of %s: %w", c.id, err)
			}
		}
	}
	if r.rest != "" {
		return nil, fmt.Errorf("read --raw: %.80q behind the last commit", r.rest)
	}
	return all, nil
}

type zeroReader struct{ rest string }

func (r *zeroReader) next() string {
	word, rest, _ := strings.Cut(r.rest, "\x00")
	r.rest = rest
	return word
}

// raw reads `:oldmode newmode oldid newid status` and one or two paths.
func (r *zeroReader) raw() (gitFile, error) {
	head := r.next()
	w := strings.Fields(strings.TrimPrefix(head, ":"))
	if len(w) != 5 {
		return gitFile{}, fmt.Errorf("read --raw: %q", head)
	}
	f := gitFile{status: w[4][0]}
	from := r.next()
	to := from
	if f.status == 'R' || f.status == 'C' {
		to = r.next()
	}
	if w[0] != noMode {
		f.old = gitSide{from, w[0], w[2]}
	}
	if w[1] != noMode {
		f.new = gitSide{to, w[1], w[3]}
	}
	return f, nil
}

// numstat reads `added deleted path`, or those two and then two paths.
func (r *zeroReader) numstat(f *gitFile) error {
	row := r.next()
	w := strings.SplitN(row, "\t", 3)
	if len(w) != 3 {
		return fmt.Errorf("%q", row)
	}
	if w[2] == "" {
		if from, to := r.next(), r.next(); from != f.old.path || to != f.new.path {
			return fmt.Errorf("%q %q in the place of %q %q", from, to, f.old.path, f.new.path)
		}
	} else if w[2] != f.old.path && w[2] != f.new.path {
		return fmt.Errorf("%q in the place of %q", w[2], f.new.path)
	}
	if f.binary = w[0] == "-"; f.binary {
		return nil
	}
	var err, err2 error
	f.added, err = strconv.Atoi(w[0])
	f.deleted, err2 = strconv.Atoi(w[1])
	if err != nil || err2 != nil {
		return fmt.Errorf("%q", row)
	}
	return nil
}

var gitOps = map[byte]diff.Op{'A': diff.Added, 'M': diff.Modified, 'D': diff.Deleted, 'R': diff.Renamed, 'C': diff.Copied}

// asWritten returns the files as which git writes this one: a change of type is
// a deletion and an addition, counted by what the two sides hold.
func (f gitFile) asWritten(b *blobs) ([]gitFile, error) {
	if f.status != 'T' {
		return []gitFile{f}, nil
	}
	gone := gitFile{status: 'D', old: f.old}
	came := gitFile{status: 'A', new: f.new}
	var err, err2 error
	gone.deleted, gone.binary, err = f.old.measure(b)
	came.added, came.binary, err2 = f.new.measure(b)
	if err != nil {
		return nil, err
	}
	return []gitFile{gone, came}, err2
}

// content returns what the diff shows of a side.
func (s gitSide) content(b *blobs) ([]byte, error) {
	switch s.mode {
	case "":
		return nil, nil
	case submoduleMode:
		return []byte("Subproject commit " + s.id + "\n"), nil
	}
	return b.read(s.id)
}

// measure counts lines as git does. Binary is what has a zero byte in the first
// 8,000.
func (s gitSide) measure(b *blobs) (lines int, binary bool, err error) {
	data, err := s.content(b)
	if err != nil || bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return 0, true, err
	}
	return newText(data).len(), false, nil
}

// want returns the file as Parse should read it, without hunks. What the diff
// does not tell is unknown: git writes no blobs where both are one, and then a
// mode only if it changes.
func (f gitFile) want() diff.File {
	w := diff.File{Op: gitOps[f.status], OldPath: f.old.path, NewPath: f.new.path, OldMode: diff.Mode(f.old.mode), NewMode: diff.Mode(f.new.mode),
		OldBlob: f.old.id, NewBlob: f.new.id, Binary: f.binary, Added: f.added, Deleted: f.deleted}
	empty := func(s gitSide) bool { return strings.HasPrefix(s.id, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391") }
	same := f.old.id == f.new.id
	w.SameContent = same || !f.old.exists() && empty(f.new) || !f.new.exists() && empty(f.old)
	if same {
		w.OldBlob, w.NewBlob, w.Binary = "", "", false
		if f.old.mode == f.new.mode {
			w.OldMode, w.NewMode = diff.ModeUnknown, diff.ModeUnknown
		}
	}
	return w
}

// text is a blob with the places where its lines begin. A line ends at "\n" and
// nowhere else.
type text struct {
	data   []byte
	starts []int // one more than there are lines: the last is where they end
}

func newText(data []byte) text {
	t := text{data: data, starts: make([]int, 1, bytes.Count(data, []byte("\n"))+2)}
	for at := 0; at < len(data); {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			i = len(data) - at - 1
		}
		at += i + 1
		t.starts = append(t.starts, at)
	}
	return t
}

func (t text) len() int { return len(t.starts) - 1 }

// line returns the line of that number, from 1, and whether it has no line end.
func (t text) line(n int) (line string, open, ok bool) {
	if n < 1 || n > t.len() {
		return "", false, false
	}
	b := t.data[t.starts[n-1]:t.starts[n]]
	whole, ended := bytes.CutSuffix(b, []byte("\n"))
	return string(whole), !ended, true
}

// between returns the lines from first up to, and without, end.
func (t text) between(first, end int) ([]byte, bool) {
	if first < 1 || end < first || end > t.len()+1 {
		return nil, false
	}
	return t.data[t.starts[first-1]:t.starts[end-1]], true
}
