package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk/diff"
)

// diffArgs are the options of every comparison: renames as GitHub finds them,
// with a bound on the search (git's own default), and nothing that a
// configuration, an attribute or a terminal could change.
func diffArgs() []string {
	return []string{"diff-tree", "-r", "-z", "--raw", "--numstat", "--patch",
		"--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "--no-abbrev", "--find-renames=50%", "-l1000",
		"--src-prefix=a/", "--dst-prefix=b/", "--no-relative", "--ignore-submodules=dirty", "--submodule=short",
		"--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--no-indent-heuristic", "--end-of-options"}
}

// Patch compares a range's merge base with its head. The text of git's diff is
// read by package diff and held against git's own list of what changed: modes and
// ids come from that list, and a file that it has and the text does not is in the
// patch, truncated. The gaps say in words what could not be read.
//
// It is an error when there is no whole list: KindTooLarge, KindNotFound for
// objects that the clone lacks, KindUnavailable after the time limit.
func (r *Repo) Patch(ctx context.Context, rg Range) (diff.Patch, []string, error) {
	op := fmt.Sprintf("compare %s with %s", short(rg.MergeBase), short(rg.Head))
	if !isID(rg.MergeBase) || !isID(rg.Head) {
		return diff.Patch{}, nil, refuse(forge.KindInvalid, op, errors.New("want a range that Range or Landed made"), "")
	}
	args := append(diffArgs(), rg.MergeBase, rg.Head)
	out, cut, err := r.run(ctx, command{args: args})
	if err != nil {
		return diff.Patch{}, nil, r.wrap(op, err)
	}
	rows, text, err := readRows(out)
	if err != nil {
		if cut {
			err = refuse(forge.KindTooLarge, op, fmt.Errorf("the list of changed files alone is longer than %d bytes", r.output), "")
		}
		return diff.Patch{}, nil, r.wrap(op, err)
	}
	shown, faults := diff.Parse(text, r.opts.Patch)
	p := diff.Patch{Repo: r.Name(), Base: rg.Base, MergeBase: rg.MergeBase, Head: rg.Head, ChangedFiles: len(rows)}
	p.Files = join(rows, shown.Files, r.missingText(cut))
	gaps := slices.Clone(rg.gaps)
	if faults != nil {
		gaps = append(gaps, "git's diff: "+faults.Error())
	}
	addUnread(&p, rg)
	if err := r.tooLargeToCompare(ctx, &p); err != nil {
		return diff.Patch{}, nil, r.wrap(op, err)
	}
	if n := truncated(p); n > 0 {
		gaps = append(gaps, fmt.Sprintf("the text of %d of %d files was not read, or not to its end", n, len(p.Files)))
	}
	return p, gaps, nil
}

// missingText is why a file of the list has no text.
func (r *Repo) missingText(cut bool) string {
	if cut {
		return fmt.Sprintf("the diff is longer than %d bytes", r.output)
	}
	return "its part of the diff could not be read"
}

func truncated(p diff.Patch) int {
	n := 0
	for _, f := range p.Files {
		if f.Truncated {
			n++
		}
	}
	return n
}

// row is one changed file by git's list.
type row struct {
	op               diff.Op
	old, new         string
	oldMode, newMode diff.Mode
	oldBlob, newBlob string
	added, deleted   int
	binary           bool
}

var errList = errors.New("git's list of changed files breaks off")

// readRows reads the list that diff-tree --raw --numstat -z prints, and returns
// what follows it: the diff.
func readRows(out string) (rows []row, text string, err error) {
	s := out
	for strings.HasPrefix(s, ":") {
		var one row
		if one, s, err = readRaw(s[1:]); err != nil {
			return nil, "", err
		}
		rows = append(rows, one)
	}
	if len(rows) == 0 {
		if s != "" {
			return nil, "", fmt.Errorf("git's list of changed files begins with %.40q", s)
		}
		return nil, "", nil
	}
	for i := range rows {
		if s, err = rows[i].readCounts(s); err != nil {
			return nil, "", err
		}
	}
	text, ok := strings.CutPrefix(s, "\x00")
	if !ok {
		return nil, "", errList
	}
	return rows, text, nil
}

// readRaw reads `mode mode id id status NUL path NUL [path NUL]`.
func readRaw(s string) (row, string, error) {
	head, s, ok := strings.Cut(s, "\x00")
	f := strings.Split(head, " ")
	if !ok || len(f) != 5 || f[4] == "" || !isID(f[2]) || !isID(f[3]) {
		return row{}, "", errList
	}
	var r row
	if r.op, ok = opOf(f[4][0]); !ok {
		return row{}, "", fmt.Errorf("git's list of changed files has a status %.10q", f[4])
	}
	r.oldMode, r.newMode, r.oldBlob, r.newBlob = modeOf(f[0]), modeOf(f[1]), idOf(f[2]), idOf(f[3])
	if r.old, s, ok = strings.Cut(s, "\x00"); !ok || r.old == "" {
		return row{}, "", errList
	}
	switch r.new = r.old; r.op {
	case diff.Renamed, diff.Copied:
		if r.new, s, ok = strings.Cut(s, "\x00"); !ok || r.new == "" {
			return row{}, "", errList
		}
	case diff.Added:
		r.old = ""
	case diff.Deleted:
		r.new = ""
	}
	return r, s, nil
}

// readCounts reads `added TAB deleted TAB path NUL`, for two paths an empty one
// and then both.
func (r *row) readCounts(s string) (rest string, err error) {
	added, s, ok1 := strings.Cut(s, "\t")
	deleted, s, ok2 := strings.Cut(s, "\t")
	want := r.new + "\x00"
	switch r.op {
	case diff.Deleted:
		want = r.old + "\x00"
	case diff.Renamed, diff.Copied:
		want = "\x00" + r.old + "\x00" + r.new + "\x00"
	}
	rest, ok3 := strings.CutPrefix(s, want)
	if !ok1 || !ok2 || !ok3 {
		return "", errList
	}
	if r.binary = added == "-" && deleted == "-"; r.binary {
		return rest, nil
	}
	var err1, err2 error
	r.added, err1 = strconv.Atoi(added)
	r.deleted, err2 = strconv.Atoi(deleted)
	return rest, errors.Join(err1, err2)
}

func opOf(status byte) (diff.Op, bool) {
	switch status {
	case 'A':
		return diff.Added, true
	case 'M':
		return diff.Modified, true
	case 'D':
		return diff.Deleted, true
	case 'R':
		return diff.Renamed, true
	case 'C':
		return diff.Copied, true
	case 'T':
		return diff.TypeChanged, true
	}
	return 0, false
}

func modeOf(s string) diff.Mode {
	switch m := diff.Mode(s); {
	case s == "000000":
		return diff.ModeNone
	case m.Known():
		return m
	}
	return diff.ModeUnknown
}

func idOf(s string) string {
	if strings.Trim(s, "0") == "" {
		return ""
	}
	return s
}
