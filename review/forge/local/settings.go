package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

// settings are all that is taken from configuration files, each checked.
type settings struct {
	objectFormat string // sha1, sha256
	refStorage   string // files, reftable
	partial      bool   // the clone lacks objects on purpose
	perWorktree  bool
	worktree     string // core.worktree, only to notice that it is set
	branch       string // init.defaultBranch
	excludes     string // core.excludesFile of the user, never of the clone
	remote       string // owner/name in the URL of origin
	core         map[string]string
}

// coreValues are the settings without which an untouched work tree looks
// changed, with the values they may have.
func coreValues() map[string][]string {
	return map[string][]string{
		"core.autocrlf":          {"true", "false", "input"},
		"core.eol":               {"lf", "crlf", "native"},
		"core.filemode":          {"true", "false"},
		"core.symlinks":          {"true", "false"},
		"core.ignorecase":        {"true", "false"},
		"core.precomposeunicode": {"true", "false"},
	}
}

// settings reads the configuration: the system's and the user's, which are
// trusted to name files, then the clone's, which is not.
func (r *runner) settings(ctx context.Context, p places) (settings, error) {
	s := settings{objectFormat: "sha1", refStorage: "files", core: make(map[string]string)}
	for _, own := range []string{"--system", "--global"} {
		// A file that is not there is an error to git, and none here.
		if out, err := r.whole(ctx, command{args: []string{"config", own, "--includes", "-z", "--list"}, home: true}); err == nil {
			s.take(out, false)
		}
	}
	files := []string{filepath.Join(p.common, "config")}
	for i := 0; i < len(files); i++ {
		text, err := readSmall(files[i])
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		out, err := r.whole(ctx, command{args: []string{"config", "--file", "-", "--no-includes", "-z", "--list"}, stdin: text})
		if err != nil {
			return s, fmt.Errorf("%.200q: %w", files[i], err)
		}
		s.take(out, true)
		if s.perWorktree && i == 0 {
			files = append(files, filepath.Join(p.gitDir, "config.worktree"))
		}
	}
	return s, s.check()
}

// take reads the output of git config --list -z. The last value counts.
func (s *settings) take(out string, clone bool) {
	for entry := range strings.SplitSeq(out, "\x00") {
		key, value, given := strings.Cut(entry, "\n")
		if !given {
			value = "true" // a key alone is a yes
		}
		if _, ok := coreValues()[key]; ok {
			s.core[key] = value
			continue
		}
		if !clone {
			switch key {
			case "init.defaultbranch":
				s.branch = value
			case "core.excludesfile":
				s.excludes = value
			}
			continue
		}
		s.takeOwn(key, value)
	}
}

// takeOwn reads what only the clone's own configuration tells.
func (s *settings) takeOwn(key, value string) {
	switch {
	case key == "extensions.objectformat":
		s.objectFormat = strings.ToLower(value)
	case key == "extensions.refstorage":
		s.refStorage = strings.ToLower(value)
	case key == "extensions.worktreeconfig":
		s.perWorktree = truth(value) == "true"
	case key == "extensions.partialclone":
		s.partial = true
	case strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor"):
		s.partial = s.partial || truth(value) == "true"
	case key == "core.worktree":
		s.worktree = value
	case key == "remote.origin.url":
		s.remote = ownerName(value)
	}
}

// check refuses what cannot be read and drops values that git does not know.
func (s *settings) check() error {
	if s.objectFormat != "sha1" && s.objectFormat != "sha256" {
		return fmt.Errorf("extensions.objectFormat is %.40q: right is sha1 or sha256", s.objectFormat)
	}
	if s.refStorage != "files" {
		return refuse(forge.KindInvalid, "read refs", fmt.Errorf("they are stored as %.40q, which is not read here", s.refStorage),
			"`git refs migrate --ref-format=files` changes that")
	}
	for key, value := range s.core {
		if !oneOf(value, coreValues()[key]) {
			value = truth(value)
		}
		if !oneOf(value, coreValues()[key]) {
			delete(s.core, key)
			continue
		}
		s.core[key] = value
	}
	return nil
}

func oneOf(value string, values []string) bool {
	for _, v := range values {
		if v == value {
			return true
		}
	}
	return false
}

// truth spells a yes or no in one way; what is neither is empty.
func truth(value string) string {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return "true"
	case "false", "no", "off", "0", "":
		return "false"
	}
	return ""
}

var nameParts = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,99})$`)

// ownerName takes owner and name from a remote's URL, and nothing else of it:
// URLs can hold passwords. It is empty where the URL does not look like one of a
// forge.
func ownerName(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		host, after, scp := strings.Cut(url, ":")
		if !scp || strings.HasPrefix(after, ":") || strings.ContainsAny(host, `/\`) || len(host) < 2 {
			return "" // a path on this machine
		}
		rest = "host/" + after
	}
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(rest, "/"), ".git"), "/")
	if len(parts) < 3 {
		return ""
	}
	owner, name := parts[len(parts)-2], parts[len(parts)-1]
	if !nameParts.MatchString(owner) || !nameParts.MatchString(name) {
		return ""
	}
	return path.Join(owner, name)
}

// config is the private repository's configuration. Nothing in it names a
// program, a path or a remote.
func (s *settings) config(fileBytes int64) string {
	var b strings.Builder
	b.WriteString("[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n\thooksPath = " + os.DevNull + "\n" +
		"\tlogAllRefUpdates = false\n\tcommitGraph = false\n\tmultiPackIndex = false\n\tfsmonitor = false\n\tuntrackedCache = false\n" +
		"\tpreloadIndex = true\n\tsafecrlf = false\n\tattributesFile = " + os.DevNull + "\n\texcludesFile = " + os.DevNull + "\n")
	fmt.Fprintf(&b, "\tbigFileThreshold = %d\n", fileBytes)
	for _, key := range []string{"autocrlf", "eol", "filemode", "symlinks", "ignorecase", "precomposeunicode"} {
		if value, ok := s.core["core."+key]; ok {
			fmt.Fprintf(&b, "\t%s = %s\n", key, value)
		}
	}
	fmt.Fprintf(&b, "[extensions]\n\tobjectFormat = %s\n", s.objectFormat)
	b.WriteString("[protocol]\n\tallow = never\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[submodule]\n\trecurse = false\n[index]\n\tversion = 2\n")
	return b.String()
}
