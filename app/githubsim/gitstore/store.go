// Package gitstore keeps the git objects of one repository network in memory and asks the git binary
// only for what git alone should decide: renames, hunks and diff text. Objects have the ids git gives
// them. It knows nothing of GitHub.
package gitstore

import (
	"crypto/sha1" // git's object ids are SHA-1; nothing here rests on its strength
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// EmptyTree is the id of git's empty tree.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Modes of tree entries, as git writes them.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
	ModeSubmodule  = "160000"
	ModeTree       = "040000"
)

// ErrNotFound says that an object is not in the store.
var ErrNotFound = errors.New("no such git object")

type object struct {
	kind string
	data []byte
}

// Entry is one entry of a tree. Size is the blob's size in bytes, 0 for everything else.
type Entry struct {
	Path string // relative to the tree it was listed from
	Mode string // six digits
	Type string // blob, tree or commit
	SHA  string
	Size int
}

// Store holds the objects of one network of repositories. It is safe for concurrent use.
type Store struct {
	dir string
	git string

	mu      sync.Mutex
	objects map[string]object
	commits map[string]Commit
	unsaved []string                    // objects that are not in dir yet
	folders map[string]bool             // made in dir/objects so far
	flat    map[string]map[string]Entry // tree id → every path below it that is not a tree
	trees   map[string][]Entry          // tree id → its own entries, parsed
	lists   map[string][]Entry          // tree id → recursive listing
	diffs   map[string]*diffResult      // old tree + new tree → changed files
	bases   map[string]string           // two commits → merge base
}

// New returns an empty store whose objects git will find under dir, which must not exist yet or be
// empty. It fails where there is no git binary.
func New(dir string) (*Store, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git, which makes the diffs (install it): %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil { // git runs elsewhere
		return nil, fmt.Errorf("make git repository: %w", err)
	}
	for _, sub := range []string{"objects", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make git repository: %w", err)
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("make git repository: %w", err)
		}
	}
	s := &Store{
		dir: dir, git: git,
		folders: map[string]bool{}, objects: map[string]object{}, commits: map[string]Commit{},
		flat: map[string]map[string]Entry{}, trees: map[string][]Entry{}, lists: map[string][]Entry{},
		diffs: map[string]*diffResult{}, bases: map[string]string{},
	}
	s.put("tree", nil)
	return s, nil
}

// put stores an object and returns its id. The caller holds mu or owns the store alone.
func (s *Store) put(kind string, data []byte) string {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	_, _ = h.Write(data)
	id := hex.EncodeToString(h.Sum(nil))
	if _, ok := s.objects[id]; !ok {
		s.objects[id] = object{kind, data}
		s.unsaved = append(s.unsaved, id)
	}
	return id
}

// Blob returns a blob's content, which the caller must not change.
func (s *Store) Blob(id string) ([]byte, error) { return s.get(id, "blob") }

func (s *Store) get(id, kind string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[id]
	if !ok || o.kind != kind {
		return nil, fmt.Errorf("%s %s: %w", kind, id, ErrNotFound)
	}
	return o.data, nil
}

// Kind tells what an object is: blob, tree or commit; empty when it is not here.
func (s *Store) Kind(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[id].kind
}

// WriteTree stores the blobs and trees for a flat set of paths and returns the root tree's id.
// Entries carry path, mode and either their object's id or, in contents, their content.
func (s *Store) WriteTree(files map[string]Entry, contents map[string][]byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	whole := make(map[string]Entry, len(files))
	root := &node{}
	for _, p := range paths {
		e := files[p]
		if err := checkPath(p); err != nil {
			return "", err
		}
		if c, ok := contents[p]; ok && e.Mode != ModeSubmodule {
			e.SHA = s.put("blob", c)
		}
		e.Path, e.Type, e.Size = p, "blob", 0
		if e.Mode == ModeSubmodule {
			e.Type = "commit"
		} else {
			o, ok := s.objects[e.SHA]
			if !ok || o.kind != "blob" {
				return "", fmt.Errorf("blob %s of %s: %w", e.SHA, p, ErrNotFound)
			}
			e.Size = len(o.data)
		}
		whole[p] = e
		if err := root.add(strings.Split(p, "/"), e); err != nil {
			return "", fmt.Errorf("%s: %w", p, err)
		}
	}
	id := s.writeNode(root)
	s.flat[id] = whole
	return id, nil
}

func checkPath(p string) error {
	for _, part := range strings.Split(p, "/") {
		if part == "" || part == "." || part == ".." || part == ".git" {
			return fmt.Errorf("path %q: want a relative path without empty, dot or .git parts", p)
		}
	}
	if strings.ContainsRune(p, 0) {
		return fmt.Errorf("path %q: holds a NUL", p)
	}
	return nil
}

// node is a folder while a tree is built.
type node struct {
	files map[string]Entry
	dirs  map[string]*node
}

func (n *node) add(parts []string, e Entry) error {
	name := parts[0]
	if len(parts) == 1 {
		if n.dirs[name] != nil {
			return errors.New("is a folder and a file at once")
		}
		if n.files == nil {
			n.files = map[string]Entry{}
		}
		n.files[name] = e
		return nil
	}
	if _, ok := n.files[name]; ok {
		return fmt.Errorf("%q is a file and a folder at once", name)
	}
	if n.dirs == nil {
		n.dirs = map[string]*node{}
	}
	if n.dirs[name] == nil {
		n.dirs[name] = &node{}
	}
	return n.dirs[name].add(parts[1:], e)
}

func (s *Store) writeNode(n *node) string {
	type item struct{ key, mode, name, sha string }
	items := make([]item, 0, len(n.files)+len(n.dirs))
	for name, e := range n.files {
		items = append(items, item{name, e.Mode, name, e.SHA})
	}
	for name, d := range n.dirs {
		// git sorts a folder as if its name ended in a slash
		items = append(items, item{name + "/", "40000", name, s.writeNode(d)})
	}
	sort.Slice(items, func(i, j int) bool { return items[i].key < items[j].key })
	var b []byte
	for _, it := range items {
		raw, _ := hex.DecodeString(it.sha)
		b = append(b, it.mode+" "+it.name+"\x00"...)
		b = append(b, raw...)
	}
	return s.put("tree", b)
}

// Tree lists a tree's own entries in git's order.
func (s *Store) Tree(id string) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree(id)
}

func (s *Store) tree(id string) ([]Entry, error) {
	if list, ok := s.trees[id]; ok {
		return list, nil
	}
	o, ok := s.objects[id]
	if !ok || o.kind != "tree" {
		return nil, fmt.Errorf("tree %s: %w", id, ErrNotFound)
	}
	list := []Entry{}
	for rest := o.data; len(rest) > 0; {
		head, after, ok := strings.Cut(string(rest), "\x00")
		if !ok || len(after) < sha1.Size {
			return nil, fmt.Errorf("tree %s is damaged", id)
		}
		mode, name, _ := strings.Cut(head, " ")
		e := Entry{Path: name, Mode: mode, Type: "blob", SHA: hex.EncodeToString([]byte(after[:sha1.Size]))}
		switch mode {
		case "40000":
			e.Mode, e.Type = ModeTree, "tree"
		case ModeSubmodule:
			e.Type = "commit"
		default:
			e.Size = len(s.objects[e.SHA].data)
		}
		list = append(list, e)
		rest = rest[len(head)+1+sha1.Size:]
	}
	s.trees[id] = list
	return list, nil
}

// List lists a tree recursively, folders before what they hold, as GitHub's recursive trees do.
func (s *Store) List(id string) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, ok := s.lists[id]; ok {
		return list, nil
	}
	list, err := s.list(nil, id, "")
	if err != nil {
		return nil, err
	}
	s.lists[id] = list
	return list, nil
}

func (s *Store) list(out []Entry, id, prefix string) ([]Entry, error) {
	entries, err := s.tree(id)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		e.Path = prefix + e.Path
		out = append(out, e)
		if e.Type == "tree" {
			if out, err = s.list(out, e.SHA, e.Path+"/"); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// Files returns every file and submodule below a tree by path. The caller must not change the map.
func (s *Store) Files(tree string) (map[string]Entry, error) {
	list, err := s.List(tree)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.flat[tree]; ok {
		return m, nil
	}
	m := make(map[string]Entry, len(list))
	for _, e := range list {
		if e.Type != "tree" {
			m[e.Path] = e
		}
	}
	s.flat[tree] = m
	return m, nil
}

// Lookup finds the entry at a path below a tree. The empty path is the tree itself.
func (s *Store) Lookup(tree, path string) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Entry{Mode: ModeTree, Type: "tree", SHA: tree}
	if path == "" {
		_, err := s.tree(tree)
		return e, err
	}
parts:
	for _, part := range strings.Split(path, "/") {
		if e.Type != "tree" {
			return Entry{}, fmt.Errorf("path %s: %w", path, ErrNotFound)
		}
		entries, err := s.tree(e.SHA)
		if err != nil {
			return Entry{}, err
		}
		for _, c := range entries {
			if c.Path == part {
				e = c
				continue parts
			}
		}
		return Entry{}, fmt.Errorf("path %s: %w", path, ErrNotFound)
	}
	e.Path = path
	return e, nil
}

// Expand returns the id of the one object an abbreviation of at least seven digits stands for.
func (s *Store) Expand(short string) (string, error) {
	if len(short) < 7 || len(short) > 40 {
		return "", fmt.Errorf("object %q: %w", short, ErrNotFound)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[short]; ok {
		return short, nil
	}
	found := ""
	for id := range s.commits {
		if strings.HasPrefix(id, short) {
			if found != "" {
				return "", errors.New("object " + strconv.Quote(short) + " is ambiguous")
			}
			found = id
		}
	}
	if found == "" {
		return "", fmt.Errorf("object %q: %w", short, ErrNotFound)
	}
	return found, nil
}
