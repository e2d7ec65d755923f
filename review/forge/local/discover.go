package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

// places are the folders of a repository, absolute and free of links.
type places struct {
	root   string // the work tree, empty for a bare repository
	gitDir string // HEAD and the index: of this work tree
	common string // objects, refs and configuration: of all work trees
}

// locate finds the repository that holds dir, by git's order: at each level a
// .git, then the folder itself. Nothing is asked of git, whose search would read
// configuration on its way. core.worktree is not followed: it could make any
// folder of this machine a work tree to be sent to a reviewer.
func locate(dir string) (places, error) {
	op := fmt.Sprintf("open repository %.200q", dir)
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return places{}, refuse(forge.KindNotFound, op, err, "")
	}
	if !isDir(abs) {
		abs = filepath.Dir(abs)
	}
	for at := abs; ; at = filepath.Dir(at) {
		p, ok, err := look(at)
		if err != nil {
			return places{}, refuse(forge.KindInvalid, op, err, hintFor(err))
		}
		if ok {
			return p, nil
		}
		if at == filepath.Dir(at) {
			return places{}, refuse(forge.KindNotFound, op, errors.New("it is in no git repository"), "run in a clone, or name one")
		}
	}
}

// look tries one level.
func look(at string) (places, bool, error) {
	dot := filepath.Join(at, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return places{}, false, err
	case info.IsDir():
		if p, ok, err := gitDirAt(dot, at); ok || err != nil {
			return p, ok, err
		}
	case info.Mode().IsRegular():
		return linked(dot, at)
	}
	return gitDirAt(at, "")
}

// linked follows a .git file, as submodules and further work trees have it.
func linked(dot, at string) (places, bool, error) {
	text, err := readSmall(dot)
	if err != nil {
		return places{}, false, err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
	if !ok || target == "" {
		return places{}, false, fmt.Errorf("%.200q is no repository: right is a folder, or a line `gitdir: PATH`", dot)
	}
	p, ok, err := gitDirAt(under(at, target), at)
	if err == nil && !ok {
		err = fmt.Errorf("%.200q names %.200q, where no repository is", dot, target)
	}
	return p, ok, err
}

// gitDirAt reports whether dir is a git folder: HEAD, objects and refs.
func gitDirAt(dir, root string) (places, bool, error) {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return places{}, false, nil
	} else if err != nil {
		return places{}, false, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return places{}, false, err
	}
	p := places{root: root, gitDir: dir, common: dir}
	text, err := readSmall(filepath.Join(dir, "commondir"))
	switch {
	case err == nil:
		if p.common, err = filepath.EvalSymlinks(under(dir, strings.TrimRight(text, "\r\n"))); err != nil {
			return places{}, false, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return places{}, false, err
	}
	return p, isDir(filepath.Join(p.common, "objects")) && isDir(filepath.Join(p.common, "refs")), nil
}

// under joins a path to the folder it is relative to.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// smallFile bounds the repository's own files that are read here: the list of
// shallow commits is the largest of them.
const smallFile = 16 << 20

// readSmall reads a regular file of the repository. Anything else could hang or
// never end.
func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%.200q is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, smallFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > smallFile {
		return "", fmt.Errorf("%.200q is larger than %d bytes", path, smallFile)
	}
	return string(data), nil
}
