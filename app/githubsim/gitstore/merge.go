package gitstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrConflict says that two sides changed the same lines.
var ErrConflict = errors.New("merge conflict")

// Merge returns the tree that has what theirs changed since base, applied to ours. Files both sides
// changed are merged line by line by git.
func (s *Store) Merge(base, ours, theirs string) (string, error) {
	if ours == base {
		return theirs, nil
	}
	if theirs == base {
		return ours, nil
	}
	diff, err := s.Diff(base, theirs)
	if err != nil {
		return "", err
	}
	old, err := s.Files(base)
	if err != nil {
		return "", err
	}
	mine, err := s.Files(ours)
	if err != nil {
		return "", err
	}
	their, err := s.Files(theirs)
	if err != nil {
		return "", err
	}
	files, contents := maps.Clone(mine), map[string][]byte{}
	for _, f := range diff {
		was, cur := old[f.OldPath], mine[f.OldPath]
		touched := was.SHA != cur.SHA
		if f.Status == 'D' || f.OldPath != f.Path {
			delete(files, f.OldPath)
		}
		if f.Status == 'D' {
			if touched && cur.SHA != "" {
				return "", fmt.Errorf("%s: %w", f.Path, ErrConflict)
			}
			continue
		}
		files[f.Path] = their[f.Path]
		if !touched || cur.SHA == f.NewSHA {
			continue
		}
		if cur.SHA == "" || was.SHA == "" || f.Binary {
			return "", fmt.Errorf("%s: %w", f.Path, ErrConflict)
		}
		if contents[f.Path], err = s.mergeFile(was.SHA, cur.SHA, f.NewSHA); err != nil {
			return "", fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return s.WriteTree(files, contents)
}

func (s *Store) mergeFile(base, ours, theirs string) ([]byte, error) {
	dir, err := os.MkdirTemp(s.dir, "merge-")
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args := []string{"merge-file", "-p"}
	for _, side := range []struct{ name, id string }{{"ours", ours}, {"base", base}, {"theirs", theirs}} {
		data, err := s.Blob(side.id)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, side.name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, fmt.Errorf("merge: %w", err)
		}
		args = append(args, file)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.run(args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128 { // the number of conflicts
		return nil, ErrConflict
	}
	return out, err
}
