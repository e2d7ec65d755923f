package diff_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/countersign/countersign/risk/diff"
)

// places are the lines that git's hunk headers name, by path: those and no
// others are where GitHub takes comments.
type places map[string]*[3][]run // by diff.Side

// run is the lines of one hunk on one side.
type run struct{ first, last int }

func newPlaces() places { return places{} }

func (p places) add(path, section string) {
	if p[path] == nil {
		p[path] = &[3][]run{}
	}
	for _, header := range hunkHeaders(section) {
		w := strings.Fields(header) // @@ -1,2 +3,4 @@
		for side, word := range map[diff.Side]string{diff.Left: w[1], diff.Right: w[2]} {
			if r := runOf(word[1:]); r.last >= r.first {
				p[path][side] = append(p[path][side], r)
			}
		}
	}
}

func runOf(s string) run {
	first, count, some := strings.Cut(s, ",")
	start, _ := strconv.Atoi(first)
	n := 1
	if some {
		n, _ = strconv.Atoi(count)
	}
	return run{start, start + n - 1}
}

func has(runs []run, line int) bool {
	return slices.ContainsFunc(runs, func(r run) bool { return r.first <= line && line <= r.last })
}

// nearest looks at every line of every hunk.
func nearest(runs []run, line int) (best int, ok bool) {
	for _, r := range runs {
		for n := r.first; n <= r.last; n++ {
			if d := gap(n, line) - gap(best, line); !ok || d < 0 || d == 0 && n < best {
				best, ok = n, true
			}
		}
	}
	return best, ok
}

func gap(a, b int) int { return max(a-b, b-a) }

// lineMap holds the line map of a patch against git's headers.
func (c *checker) lineMap(patch diff.Patch, p places) {
	m := diff.NewLineMap(patch)
	at := c.at
	for path, sides := range p {
		for _, side := range []diff.Side{diff.Left, diff.Right} {
			c.at = fmt.Sprintf("%s %q %s", at, path, side)
			c.accepted(m, path, side, sides[side])
			c.ranges(m, path, side, sides[side])
			c.nearby(m, path, side, sides[side])
		}
	}
	c.at = at
}

// accepted: every line of every hunk, none beside them.
func (c *checker) accepted(m diff.LineMap, path string, side diff.Side, runs []run) {
	for _, r := range runs {
		for n := r.first; n <= r.last; n++ {
			if !m.Accepts(path, side, n) {
				c.differ("line %d of the hunk %v is not accepted", n, r)
				break
			}
		}
	}
	for _, n := range c.around(runs) {
		if m.Accepts(path, side, n) != has(runs, n) {
			c.differ("line %d is accepted: %t", n, !has(runs, n))
		}
	}
}

// someRuns is at how many of a file's hunks the slow comparisons look.
const someRuns = 40

// some returns hunks of both ends, with their neighbours, and of between.
func (c *checker) some(runs []run) []run {
	if len(runs) <= someRuns {
		return runs
	}
	between := someRuns - 6
	at := 3 + c.random.IntN(len(runs)-someRuns)
	return slices.Concat(runs[:3], runs[at:at+between], runs[len(runs)-3:])
}

// around returns lines at both edges of hunks, far from all, and at random.
func (c *checker) around(runs []run) []int {
	list := []int{math.MinInt, -1, 0, 1, math.MaxInt}
	for _, r := range c.some(runs) {
		list = append(list, r.first-2, r.first-1, r.first, r.last, r.last+1, r.last+2, r.last+4)
	}
	if n := len(runs); n > 0 {
		for range 10 {
			list = append(list, c.random.IntN(runs[n-1].last+10))
		}
	}
	return list
}

// ranges: within a hunk all, across hunks none.
func (c *checker) ranges(m diff.LineMap, path string, side diff.Side, runs []run) {
	expect := func(first, last int, want bool) {
		if m.AcceptsRange(path, side, first, last) != want {
			c.differ("lines %d to %d as a range: %t", first, last, !want)
		}
	}
	list := c.some(runs)
	for i, r := range list {
		expect(r.first, r.last, r.first < r.last)
		expect(r.last-1, r.last, r.first < r.last)
		expect(r.first, r.first, false)
		expect(r.last, r.first, false)
		expect(r.first-1, r.last, false)
		expect(r.first, r.last+1, false)
		a, b := r.first+c.random.IntN(r.last-r.first+1), r.first+c.random.IntN(r.last-r.first+1)
		expect(a, b, a < b)
		if i > 0 {
			before := list[i-1]
			expect(before.last, r.first, false)
			expect(before.first, r.last, false)
		}
	}
}

// nearby: the accepted line that is closest, the earlier of two.
func (c *checker) nearby(m diff.LineMap, path string, side diff.Side, runs []run) {
	lines := c.around(runs)
	if len(lines) > 60 {
		c.random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		lines = lines[:60]
	}
	for _, n := range lines {
		if n == math.MinInt || n == math.MaxInt {
			n /= 2 // differences must fit
		}
		want, some := nearest(runs, n)
		if got, ok := m.Nearest(path, side, n); got != want || ok != some {
			c.differ("nearest to %d is %d %t, of all lines it is %d %t", n, got, ok, want, some)
		}
	}
}
