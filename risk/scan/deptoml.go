package scan

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// tomlLock reads the lock files of Cargo, Poetry, uv and PDM: [[package]] tables.
func tomlLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, true, func(n node) {
		if len(n.path) == 0 {
			return
		}
		id, field := n.path[0], 1
		if n.path[0] == "package" && len(n.path) > 2 {
			id, field = "package\x00"+n.path[1], 2
		} else if !n.unknownRoot() {
			return
		}
		if len(n.path) <= field {
			return
		}
		switch rest := n.path[field:]; rest[0] {
		case "name":
			if len(rest) == 1 {
				a.part(id, n.line).name = n.text
			}
		case "version":
			if len(rest) == 1 {
				a.part(id, n.line).version = n.text
			}
		case "source":
			lockSource(a.part(id, n.line), rest, n)
		case "checksum", "content_hash":
			a.part(id, n.line).sum(n.line, "sha256:"+n.text)
		case "files", "wheels", "sdist":
			artifact(a.part(id, n.line), n)
		case "dependencies", "optional-dependencies", "dev-dependencies", "metadata", "extras", "markers", "description", "optional", "groups",
			"python-versions", "category", "resolution-markers", "replace":
		default:
			if n.unknownRoot() && (n.key(0) == "hash" || n.key(0) == "file" || n.key(0) == "url") {
				artifact(a.part(id, n.line), n)
			}
		}
	})
	for _, e := range a.list() {
		if e.name[0] != '?' || e.version != "" || len(e.sums) > 0 || e.from != (origin{}) {
			l.add(e)
		}
	}
	l.takeWhy(why)
	return l
}

// cargoLock reads Cargo's lock file, in which what has no source is a part of the
// workspace.
func cargoLock(runs [][]line, whole bool) listed {
	l := tomlLock(runs, whole)
	for i, e := range l.entries {
		if e.fromAt.no == 0 && len(e.sums) == 0 && !strings.HasPrefix(e.name, "?") {
			l.entries[i].from = origin{name: "workspace", local: true}
		}
	}
	return l
}

// lockSource reads Cargo's one string, Poetry's table and uv's inline table.
func lockSource(e *entry, rest []string, n node) {
	e.fromAt = n.line
	switch kind := rest[len(rest)-1]; kind {
	case "source":
		if e.from = originOf(n.text); e.from.direct {
			e.version = n.text // with the commit
		}
	case "registry":
		e.from = originOf(n.text)
	case "git", "url":
		switch {
		case kind == "url" && e.from.name == "a registry":
			e.from = originOf(n.text)
		case kind == "git" || e.from.name == "git":
			e.from = originOf("git+" + strings.TrimPrefix(n.text, "git+"))
			e.version = n.text
		default:
			e.from = archive(n.text)
		}
	case "type": // Poetry; its url comes next
		switch n.text {
		case "git":
			e.from = origin{name: "git", direct: true}
		case "legacy":
			e.from = origin{name: "a registry"}
		case "directory":
			e.from = origin{name: "workspace", local: true}
		default:
			e.from = origin{name: n.text, direct: true}
		}
	case "resolved_reference":
		e.version = n.text
	case "editable", "virtual", "directory", "path":
		e.from = origin{name: "workspace", local: true}
	}
}

// artifact reads one file of a package, with its hash.
func artifact(e *entry, n node) {
	switch n.key(0) {
	case "hash":
		e.sum(n.line, n.text)
	case "file":
		e.isFile(n.text)
	case "url":
		e.isFile(path.Base(n.text))
		if from := originOf(n.text); from.name != "" && !e.from.direct && e.from.name != from.name {
			e.from, e.fromAt = from, n.line
		}
	}
}

var pyFile = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*?)-(\d[^-]*?)(?:-[^/]*\.whl|\.tar\.gz|\.zip|\.tar\.bz2)$`)

// isFile takes from a file's name what the hunk does not show otherwise.
func (e *entry) isFile(name string) {
	if m := pyFile.FindStringSubmatch(name); m != nil && e.name == "" {
		e.name, e.version = pyName(m[1]), cmp.Or(e.version, m[2])
	}
}

// dependencyTable reports whether the keys are those of a table whose keys are
// names of dependencies, in Cargo.toml, Pipfile and Poetry's pyproject.toml.
func dependencyTable(key string) bool {
	switch key {
	case "dependencies", "dev-dependencies", "build-dependencies", "packages", "dev-packages", "dev_dependencies", "build_dependencies":
		return true
	}
	return false
}

func cargoToml(runs [][]line, whole bool) listed { return tomlManifest(runs, whole, "Cargo.toml") }
func pipfile(runs [][]line, whole bool) listed   { return tomlManifest(runs, whole, "Pipfile") }
func pyproject(runs [][]line, whole bool) listed { return tomlManifest(runs, whole, "pyproject.toml") }

// tomlManifest reads tables of dependencies and what else a manifest in TOML says
// of them.
func tomlManifest(runs [][]line, whole bool, name string) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, true, func(n node) {
		keys := n.path
		table := slices.IndexFunc(keys, dependencyTable)
		switch {
		case name == "Cargo.toml" && (keys[0] == "patch" || keys[0] == "replace") && len(keys) > 1:
			at := min(2, len(keys)-1)
			e := a.part("replace\x00"+strings.Join(keys[:at+1], "\x00"), n.line)
			e.kind, e.name, e.version = aReplace, keys[at], e.version+" "+n.text
		case name == "Cargo.toml" && keys[0] == "package" && len(keys) == 2 && keys[1] == "build":
			l.add(entry{kind: aScript, name: "build", version: n.text, at: n.line, changed: n.line.added})
		case name == "pyproject.toml" && pyRequirement(&l, n):
		case table >= 0 && table+1 < len(keys) && keys[table+1] != "" && keys[0] != "project":
			field := ""
			if table+2 < len(keys) {
				field = keys[table+2]
			}
			manifestEntry(a.part(strings.Join(keys[table:table+2], "\x00"), n.line), keys[table+1], field, n)
		case slices.Contains(keys, "source") && n.key(0) == "url", keys[0] == "registries", n.key(0) == "index-url", n.key(0) == "extra-index-url",
			slices.Contains(keys, "index") && n.key(0) == "url":
			l.add(registry(n.key(1)+"."+n.key(0), n.text, n.line))
		case n.unknownRoot():
			loose(&a, &l, name, n)
		}
	})
	l.entries = append(l.entries, a.list()...)
	l.takeWhy(why)
	return l
}

func registry(key, value string, at line) entry {
	return entry{kind: aRegistry, name: key, version: value, show: registryHost(value), at: at, changed: at.added}
}

// registryHost is what may be shown of a registry's address.
func registryHost(value string) string {
	if strings.Contains(value, "://") {
		host, _ := hostPath(value)
		return host
	}
	return ""
}

// manifestEntry takes one field of a dependency.
func manifestEntry(e *entry, name, field string, n node) {
	e.name = name
	switch field {
	case "", "version":
		e.version = n.text
	case "git", "hg":
		e.from, e.fromAt = originOf("git+"+n.text), n.line
	case "url", "file":
		e.from, e.fromAt = archive(n.text), n.line
	case "path":
		e.from, e.fromAt = originOf("./"+n.text), n.line
	case "rev", "tag", "branch", "ref":
		e.version = n.text
	case "registry", "registry-index", "source", "index":
		e.from, e.fromAt = origin{name: "registry " + clip(n.text)}, n.line
	case "package":
		e.from, e.fromAt = origin{name: "the registry's " + clip(n.text)}, n.line
	}
}

// loose takes what a hunk shows without its table: a key with a version, or with
// an inline table that has one, is a dependency as far as anyone can see.
func loose(a *assembly, l *listed, manifest string, n node) {
	keys := n.path[1:]
	if len(keys) == 0 || keys[0] == "" {
		return
	}
	switch keys[0] {
	case "version", "edition", "rust-version", "resolver", "name", "python", "python_version", "python_full_version", "requires-python", "target-version",
		"minversion", "line-length", "features", "default-features", "optional", "description":
		return
	}
	switch {
	case len(keys) == 1 && isVersion(n.text) && strings.ContainsAny(n.text, ".^~=*") && n.text != "*":
		manifestEntry(a.part("?\x00"+keys[0], n.line), keys[0], "", n)
	case len(keys) == 2 && slices.Contains([]string{"version", "git", "path", "url", "rev", "tag", "branch", "registry", "package"}, keys[1]):
		manifestEntry(a.part("?\x00"+keys[0], n.line), keys[0], keys[1], n)
	case len(keys) == 1 && slices.Contains([]string{"git", "path", "url", "rev", "tag", "branch", "registry"}, keys[0]) && n.line.added:
		l.unread("the patch does not show to what table of " + manifest + " its lines belong")
	}
}
