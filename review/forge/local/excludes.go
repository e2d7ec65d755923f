package local

import (
	"os"
	"path/filepath"
	"strings"
)

// layExcludes copies the lists of what to ignore into the private repository: the
// clone's own and the user's.
func (r *Repo) layExcludes() error {
	own, _ := readSmall(filepath.Join(r.common, "info", "exclude")) // none is as good
	users := ""
	if path := r.settings.userExcludes(); path != "" {
		users, _ = readSmall(path)
	}
	return os.WriteFile(filepath.Join(r.runner.gitDir, "info", "exclude"), []byte(users+"\n"+own), 0o600)
}

// userExcludes is the file that git reads for the user: core.excludesFile of
// the user's own configuration, or its default.
func (s *settings) userExcludes() string {
	home, _ := os.UserHomeDir()
	switch {
	case s.excludes == "":
		dir := os.Getenv("XDG_CONFIG_HOME")
		if dir == "" {
			dir = filepath.Join(home, ".config")
		}
		return filepath.Join(dir, "git", "ignore")
	case strings.HasPrefix(s.excludes, "~/"):
		return filepath.Join(home, s.excludes[2:])
	case filepath.IsAbs(s.excludes):
		return s.excludes
	}
	return ""
}
