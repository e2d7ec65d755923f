package scan

import (
	"path"
	"strings"
)

// formatOf returns the reader for a file's name, nil where there is none. What
// counts as a file with dependencies is for package risk to say.
func formatOf(p string) format {
	base := strings.ToLower(path.Base(p))
	switch base {
	case "package.json":
		return packageJSON
	case "package-lock.json", "npm-shrinkwrap.json":
		return packageLock
	case "bun.lock":
		return bunLock
	case "yarn.lock":
		return yarnLock
	case "pnpm-lock.yaml":
		return pnpmLock
	case "go.mod", "go.work":
		return goMod
	case "go.sum", "go.work.sum":
		return goSum
	case "cargo.toml":
		return cargoToml
	case "cargo.lock":
		return cargoLock
	case "poetry.lock", "uv.lock", "pdm.lock":
		return tomlLock
	case "pyproject.toml":
		return pyproject
	case "pipfile":
		return pipfile
	case "pipfile.lock":
		return pipfileLock
	case "requirements.in", "constraints.txt":
		return requirements
	case "gemfile", "gems.rb":
		return gemfile
	case "gemfile.lock", "gems.locked":
		return gemfileLock
	case "composer.json":
		return composerJSON
	case "composer.lock":
		return composerLock
	case "pom.xml":
		return pomXML
	case "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts":
		return gradle
	case "libs.versions.toml":
		return versionCatalog
	case ".npmrc", ".yarnrc", "pip.conf", "gradle-wrapper.properties", "maven-wrapper.properties":
		return settings
	case ".yarnrc.yml", "pnpm-workspace.yaml":
		return settingsYAML
	case "config.toml", "bunfig.toml":
		return settingsTOML
	case "nuget.config":
		return settingsXML
	case ".gitmodules", "dependabot.yml", "dependabot.yaml", "renovate.json", "renovate.json5", ".renovaterc", ".renovaterc.json":
		return notOfPackages
	}
	switch {
	case strings.HasSuffix(base, ".txt"):
		return requirements
	case strings.HasSuffix(base, "proj"), base == "directory.packages.props", base == "packages.config":
		return packageReferences
	}
	return nil
}

// notOfPackages is for files that other rules judge: submodules, and the robots
// that propose changes of dependencies and make none by themselves.
func notOfPackages([][]line, bool) listed { return listed{} }

// assembly gathers the parts of entries that a text says in several places.
type assembly struct {
	order []string
	byID  map[string]*entry
}

// part returns the entry of that id, which begins at the line if it is new.
func (a *assembly) part(id string, at line) *entry {
	if a.byID == nil {
		a.byID = map[string]*entry{}
	}
	e := a.byID[id]
	if e == nil {
		e = &entry{at: at}
		a.byID[id] = e
		a.order = append(a.order, id)
	}
	if at.added {
		e.changed = true
		if !e.at.added {
			e.at = at // the line that the patch adds is the one to show
		}
	}
	return e
}

// list returns the entries that have a name, those without by their id.
func (a *assembly) list() []entry {
	list := make([]entry, 0, len(a.order))
	for _, id := range a.order {
		e := a.byID[id]
		if e.name == "" {
			e.name = "?" + id
		}
		list = append(list, *e)
	}
	return list
}

func (e *entry) fetched(raw string, at line) { e.from, e.fromAt = originOf(raw), at }

// isVersion reports whether a text is a version or a range of versions.
func isVersion(text string) bool {
	text = strings.TrimLeft(text, "=<>~^!v ")
	if text == "*" || text == "" || text == "latest" || text == "next" || text == "x" {
		return text != ""
	}
	if text[0] < '0' || text[0] > '9' {
		return false
	}
	return !strings.ContainsAny(text, "/\\;&$(){}`")
}
