package scan

import (
	"path"
	"slices"
	"strings"
)

// pnpmLock reads versions 5 to 9 of pnpm's lock files.
func pnpmLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	resolved := map[string]bool{}
	why := readIndented(runs, whole, func(n node) {
		at := -1 // where the entry's key stands
		for i := len(n.path) - 1; i >= 0; i-- {
			if isPnpmKey(n.path[i]) {
				at = i
				break
			}
		}
		field := n.key(0)
		if at < 0 {
			if !n.unknownRoot() || !slices.Contains([]string{"integrity", "tarball", "repo", "commit", "requiresBuild"}, field) {
				return
			}
			at = 0
		} else if at > 0 && n.path[at-1] == "snapshots" || at < len(n.path)-3 {
			return
		}
		id := strings.Join(n.path[:at+1], "\x00")
		switch field {
		case "integrity", "tarball", "repo", "commit", "directory", "requiresBuild", "resolution":
			resolved[id] = true
		default:
			if at != len(n.path)-1 {
				return
			}
		}
		e := a.part(id, n.line)
		if at < len(n.path) && isPnpmKey(n.path[at]) {
			e.name, e.version = pnpmKey(n.path[at])
			if strings.Contains(e.version, "://") || strings.HasPrefix(e.version, "github.com/") {
				e.from = archive(strings.Replace(e.version, "github.com/", "https://github.com/", 1))
			}
		}
		switch field {
		case "integrity":
			e.sum(n.line, n.text)
		case "tarball":
			npmResolved(e, n)
		case "repo":
			e.from, e.fromAt = originOf("git+"+n.text), n.line
		case "commit":
			e.version = n.text
		case "directory":
			e.from = origin{name: "workspace", local: true}
		case "requiresBuild":
			e.script, e.scrAt = n.text == "true", n.line
		}
	})
	for i, e := range a.list() {
		if resolved[a.order[i]] || e.changed && !strings.HasPrefix(e.name, "?") {
			l.add(e)
		}
	}
	l.takeWhy(why)
	return l
}

// isPnpmKey reports whether a key names a package with its version.
func isPnpmKey(key string) bool {
	if strings.HasPrefix(key, "?") || strings.HasPrefix(key, "#") {
		return false
	}
	name, version := pnpmKey(key)
	return name != "" && version != "" && (isVersion(version) || strings.ContainsAny(version, "/:"))
}

// pnpmKey takes /name/1.0.0, /name@1.0.0 and name@1.0.0, with the peers behind
// it, apart.
func pnpmKey(key string) (name, version string) {
	key, _, _ = strings.Cut(strings.TrimPrefix(key, "/"), "(")
	if i := strings.Index(key[min(1, len(key)):], "@"); i >= 0 {
		return key[:i+1], key[i+2:]
	}
	if dir, v := path.Split(key); dir != "" && isVersion(v) {
		v, _, _ = strings.Cut(v, "_")
		return strings.TrimSuffix(dir, "/"), v
	}
	return "", ""
}

// bunLock reads Bun's lock file in text: a list by package, of the name with its
// version, the registry, what it depends on and the checksum.
func bunLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, false, func(n node) {
		if n.key(0) != "" || len(n.path) < 2 || !n.unknownRoot() && (len(n.path) != 3 || n.path[0] != "packages") {
			return
		}
		e := a.part(n.under(), n.line)
		switch spec := strings.TrimPrefix(n.text, yarnName(n.text)+"@"); {
		case e.name == "" && spec != n.text:
			e.name, e.version = yarnName(n.text), spec
			if from := npmSpec(spec, &entry{}); from.local {
				e.from = origin{name: "workspace", local: true}
			} else {
				e.from = from
			}
		case strings.Contains(n.text, "://"):
			e.fetched(n.text, n.line)
		case strings.HasPrefix(n.text, "sha"):
			e.sum(n.line, n.text)
		}
	})
	for _, e := range a.list() {
		if !strings.HasPrefix(e.name, "?") {
			l.add(e)
		}
	}
	l.takeWhy(why)
	return l
}
