package gitstore

import (
	"fmt"
	"strings"
	"time"
)

// Signature names who and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// Commit is a commit object.
type Commit struct {
	SHA               string
	Tree              string
	Parents           []string
	Author, Committer Signature
	Message           string
	// Signed names the signer; the object then carries a gpgsig header (not a real signature).
	Signed string

	generation int // 1 + the highest of its parents': an ancestor's is always lower
}

// SignatureText is what stands in the gpgsig header and in the API's verification.
func (c Commit) SignatureText() string {
	if c.Signed == "" {
		return ""
	}
	return "-----BEGIN PGP SIGNATURE-----\n\nsimulated signature of " + c.Signed + "\n-----END PGP SIGNATURE-----"
}

// Payload is the commit's text without the signature: what a signature covers.
func (c Commit) Payload() string {
	head, foot := c.text()
	return head + foot
}

func (c Commit) text() (head, foot string) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.Author.line(), c.Committer.line())
	return b.String(), "\n" + c.Message
}

func (g Signature) line() string {
	clean := strings.NewReplacer("<", "", ">", "", "\n", " ", "\x00", "")
	return fmt.Sprintf("%s <%s> %d +0000", clean.Replace(g.Name), clean.Replace(g.Email), g.When.Unix())
}

// WriteCommit stores a commit and returns it with its id. Its tree and parents must be here.
func (s *Store) WriteCommit(c Commit) (Commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[c.Tree].kind != "tree" {
		return Commit{}, fmt.Errorf("tree %s: %w", c.Tree, ErrNotFound)
	}
	c.generation = 1
	for _, p := range c.Parents {
		parent, ok := s.commits[p]
		if !ok {
			return Commit{}, fmt.Errorf("parent %s: %w", p, ErrNotFound)
		}
		c.generation = max(c.generation, parent.generation+1)
	}
	head, foot := c.text()
	if sig := c.SignatureText(); sig != "" {
		head += "gpgsig " + strings.ReplaceAll(sig, "\n", "\n ") + "\n"
	}
	c.SHA = s.put("commit", []byte(head+foot))
	s.commits[c.SHA] = c
	return c, nil
}

// Commit returns a commit by its full id.
func (s *Store) Commit(id string) (Commit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.commits[id]
	if !ok {
		return Commit{}, fmt.Errorf("commit %s: %w", id, ErrNotFound)
	}
	return c, nil
}

// MergeBase returns the best common ancestor of two commits, or "" when their histories are unrelated.
func (s *Store) MergeBase(a, b string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := a + b
	if m, ok := s.bases[key]; ok {
		return m
	}
	ofA, ofB := s.ancestors(a), s.ancestors(b)
	best := ""
	for id := range ofA {
		if !ofB[id] {
			continue
		}
		g, h := s.commits[id].generation, s.commits[best].generation
		if g > h || g == h && id < best { // a criss-cross has several: choose the same one every time
			best = id
		}
	}
	s.bases[key] = best
	return best
}

func (s *Store) ancestors(id string) map[string]bool {
	seen := map[string]bool{}
	for todo := []string{id}; len(todo) > 0; {
		c, ok := s.commits[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if !ok || seen[c.SHA] {
			continue
		}
		seen[c.SHA] = true
		todo = append(todo, c.Parents...)
	}
	return seen
}

// Ahead lists the commits that head has and base has not, oldest first.
func (s *Store) Ahead(base, head string) []Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.ancestors(base)
	var out []Commit
	seen := map[string]bool{}
	// Depth first with parents before children gives a topological order; the recursion is written
	// as a loop so that a long history cannot exhaust the stack.
	type frame struct {
		id   string
		next int
	}
	stack := []frame{{id: head}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		c, ok := s.commits[f.id]
		if !ok || known[f.id] || f.next == 0 && seen[f.id] {
			stack = stack[:len(stack)-1]
			continue
		}
		seen[f.id] = true
		if f.next < len(c.Parents) {
			f.next++
			stack = append(stack, frame{id: c.Parents[f.next-1]})
			continue
		}
		out = append(out, c)
		stack = stack[:len(stack)-1]
	}
	return out
}
