package githubsim

import (
	"maps"
	"sync"
)

// Requests lists what was asked so far, oldest first; of more than Options.MaxRequests the newest.
func (s *Sim) Requests() []Request { return s.journal.list() }

// RequestCounts counts what was asked, by method and route, "GET /repos/{owner}/{repo}"; a GraphQL
// operation that has a name is counted under "POST /graphql NAME". Nothing is lost to MaxRequests.
func (s *Sim) RequestCounts() map[string]int {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	return maps.Clone(s.journal.counts)
}

// ResetRequests empties the request log and its counts.
func (s *Sim) ResetRequests() { s.journal.reset() }

// key is what a request is counted under.
func (q Request) key() string {
	k := q.Method + " " + q.Route
	if q.Operation != "" {
		k += " " + q.Operation
	}
	return k
}

type journal struct {
	max int // half of the entries go when there are so many

	mu     sync.Mutex
	all    []Request
	counts map[string]int
}

func (j *journal) add(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.all) >= j.max {
		j.all = append([]Request(nil), j.all[(j.max+1)/2:]...)
	}
	j.all = append(j.all, r)
	j.counts[r.key()]++
}

func (j *journal) list() []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Request(nil), j.all...)
}

func (j *journal) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all, j.counts = nil, map[string]int{}
}
