package diff_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/risk/diff"
)

// way is one way to have git write diffs.
type way struct {
	name         string
	config, args []string
	patchArgs    []string // only where it writes patches: -U switches them on
}

var (
	asGitHub = way{"as GitHub writes them", nil, []string{"-M"}, nil}
	unquoted = way{"copies found, names unquoted", []string{"-c", "core.quotePath=false"}, []string{"-C", "--find-copies-harder"}, nil}
	bare     = way{"without context", nil, []string{"-M"}, []string{"-U0"}}
	whole    = way{"much context, another algorithm", nil, []string{"--no-renames", "--histogram"}, []string{"-U30"}}
)

// TestHistory holds the reader against git over real history: for every commit,
// against its first parent, what Parse makes of the diff is compared with what
// git says of the files, and every line with the blob that it is from.
//
// It reads the history in testdata/history, every commit in several ways. `make
// commits` runs it over random commits of other clones instead: CLONES is a list
// of bare ones, COMMITS how many commits of them together, SEED which.
func TestHistory(t *testing.T) {
	if clones := strings.Fields(os.Getenv("CLONES")); len(clones) > 0 {
		checkClones(t, clones)
		return
	}
	c := unpack(t)
	all, err := c.commits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []way{asGitHub, unquoted, bare, whole} {
		t.Run(w.name, func(t *testing.T) {
			got := check(t, w, []sample{{c, all}})
			t.Log(got)
			if got.commits != 650 || got.merges != 2 || got.files < 2500 || got.lines < 180_000 || got.binaries < 120 {
				t.Errorf("read only %s", got)
			}
			for op := diff.Added; op <= diff.Renamed; op++ {
				if got.ops[op] == 0 && (op != diff.Renamed || w.name != whole.name) {
					t.Errorf("no file is %s", op)
				}
			}
		})
	}
}

// checkClones checks random commits of the clones.
func checkClones(t *testing.T, dirs []string) {
	commits, seed := number(t, "COMMITS", 1000), number(t, "SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("SEED=%d COMMITS=%d", seed, commits)
	start := time.Now()
	list, err := samples(t.Context(), dirs, commits, rand.New(rand.NewPCG(uint64(seed), 0)))
	if err != nil {
		t.Fatal(err)
	}
	got := check(t, asGitHub, list)
	t.Logf("%s in %s", got, time.Since(start).Round(time.Second))
	if got.commits == 0 {
		t.Error("nothing was read")
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %q is no number", name, s)
	}
	return n
}

// sample is what is read of a clone.
type sample struct {
	clone
	commits []commit
}

// samples draws the commits from all clones alike; where one has too few, the
// larger ones give more.
func samples(ctx context.Context, dirs []string, total int, random *rand.Rand) ([]sample, error) {
	var list []sample
	for _, dir := range dirs {
		s := sample{clone: clone{dir: dir}}
		var err error
		if s.commits, err = s.clone.commits(ctx); err != nil {
			return nil, err
		}
		if err := s.findMissing(ctx); err != nil {
			return nil, err
		}
		random.Shuffle(len(s.commits), func(i, j int) { s.commits[i], s.commits[j] = s.commits[j], s.commits[i] })
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b sample) int { return len(a.commits) - len(b.commits) })
	for i := range list {
		share := min(total/(len(list)-i), len(list[i].commits))
		list[i].commits = list[i].commits[:share]
		total -= share
	}
	return list, nil
}

const (
	workers   = 2
	chunkSize = 25 // commits that one git writes, and that are held in memory
)

// check reads all samples and reports every difference.
func check(t *testing.T, w way, samples []sample) *totals {
	t.Helper()
	type job struct {
		clone
		commits []commit
	}
	jobs, sum := make(chan job), &totals{ops: map[diff.Op]int{}}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for j := range jobs {
				c := checker{t: t, way: w, clone: j.clone, sum: &totals{ops: map[diff.Op]int{}}}
				if err := c.chunk(t.Context(), j.commits); err != nil {
					t.Errorf("%s: %v", j.dir, err)
				}
				sum.add(c.sum)
			}
		})
	}
	for _, s := range samples {
		for chunk := range slices.Chunk(s.commits, chunkSize) {
			jobs <- job{s.clone, chunk}
		}
	}
	close(jobs)
	wg.Wait()
	if sum.differences > 0 {
		t.Errorf("%d differences", sum.differences)
	}
	return sum
}

// totals counts what was read.
type totals struct {
	mu                                   sync.Mutex
	commits, merges, leftOut             int
	files, binaries, hunks, lines, bytes int
	ops                                  map[diff.Op]int
	differences                          int
}

func (s *totals) add(o *totals) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits += o.commits
	s.merges += o.merges
	s.leftOut += o.leftOut
	s.files += o.files
	s.binaries += o.binaries
	s.hunks += o.hunks
	s.lines += o.lines
	s.bytes += o.bytes
	s.differences += o.differences
	for op, n := range o.ops {
		s.ops[op] += n
	}
}

func (s *totals) String() string {
	left := ""
	if s.leftOut > 0 {
		left = fmt.Sprintf(" (%d more left out: the clone lacks objects of theirs)", s.leftOut)
	}
	return fmt.Sprintf("%d commits%s, %d of them merges; %d files %v, %d of them binary; %d hunks, %d hunk lines, %.1f MB; %d differences",
		s.commits, left, s.merges, s.files, s.ops, s.binaries, s.hunks, s.lines, float64(s.bytes)/1e6, s.differences)
}

// checker compares a chunk of commits.
type checker struct {
	t      *testing.T
	way    way
	clone  clone
	blobs  *blobs
	sum    *totals
	at     string // the commit, and the file in it
	random *rand.Rand
}

// maxShown is how many differences of a chunk are printed.
const maxShown = 10

func (c *checker) differ(format string, args ...any) {
	if c.sum.differences++; c.sum.differences <= maxShown {
		c.t.Errorf("%s: %s", c.at, fmt.Sprintf(format, args...))
	}
}

func (c *checker) chunk(ctx context.Context, commits []commit) (err error) {
	if commits, err = c.complete(ctx, commits); err != nil || len(commits) == 0 {
		return err
	}
	out, err := c.clone.diffTree(ctx, commits, c.way.config, append([]string{"--raw", "--numstat", "-z", "--no-abbrev"}, c.way.args...)...)
	if err != nil {
		return err
	}
	rows, err := gitRows(out, commits)
	if err != nil {
		return err
	}
	written, err := c.clone.diffTree(ctx, commits, c.way.config, slices.Concat([]string{"-p", "--full-index"}, c.way.args, c.way.patchArgs)...)
	if err != nil {
		return err
	}
	patches, err := split(written, commits)
	if err != nil {
		return err
	}
	if c.blobs, err = c.clone.blobs(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.blobs.close()) }()
	for i, one := range commits {
		c.sum.commits++
		if one.merge {
			c.sum.merges++
		}
		c.at = one.id
		c.random = rand.New(rand.NewPCG(uint64(len(patches[i])), 1))
		if err := c.commit(patches[i], rows[i]); err != nil {
			return err
		}
		c.blobs.forget()
	}
	return nil
}

// complete leaves out the commits that git cannot compare, since objects of
// theirs are not in the clone.
func (c *checker) complete(ctx context.Context, commits []commit) ([]commit, error) {
	if len(c.clone.missing) == 0 {
		return commits, nil
	}
	out, err := c.clone.diffTree(ctx, commits, nil, "--raw", "--no-renames", "--no-abbrev")
	if err != nil {
		return nil, err
	}
	patches, err := split(out, commits)
	if err != nil {
		return nil, err
	}
	var kept []commit
	for i, one := range commits {
		lacks := false
		for word := range strings.FieldsSeq(patches[i]) {
			lacks = lacks || c.clone.missing[word]
		}
		if lacks {
			c.sum.leftOut++
		} else {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// split cuts git's output at the lines that are the commits' ids. In a diff
// every line of content has a character before it.
func split(out string, commits []commit) ([]string, error) {
	var parts []string
	for i, one := range commits {
		rest, ok := strings.CutPrefix(out, one.id+"\n")
		if !ok {
			return nil, fmt.Errorf("split git's output: %.80q in the place of commit %s", out, one.id)
		}
		end := len(rest)
		if i+1 < len(commits) {
			next := commits[i+1].id + "\n"
			if strings.HasPrefix(rest, next) {
				end = 0
			} else if end = strings.Index(rest, "\n"+next) + 1; end == 0 {
				return nil, fmt.Errorf("split git's output: no commit %s behind %s", commits[i+1].id, one.id)
			}
		}
		parts = append(parts, strings.TrimPrefix(rest[:end], "\n")) // an empty line before each patch
		out = rest[end:]
	}
	return parts, nil
}
