package scan

import (
	"cmp"
	"slices"
	"strings"
)

// composerJSON reads Composer's manifest.
func composerJSON(runs [][]line, whole bool) listed {
	var l listed
	why := readTree(runs, whole, false, func(n node) {
		name, section := n.key(0), n.key(1)
		inside := func(s string) bool { return slices.Contains(n.path[:len(n.path)-1], s) }
		e := entry{name: name, version: n.text, at: n.line, changed: n.line.added}
		switch {
		case section == "require" || section == "require-dev",
			n.unknownRoot() && len(n.path) == 2 && strings.Contains(name, "/") && !inside("scripts") && isVersion(n.text):
			if strings.Contains(name, "/") {
				l.add(e)
			}
		case inside("repositories") && (name == "url" || name == "type" && n.text == "path"):
			l.add(registry("repository "+n.text, n.text, n.line))
		case inside("scripts"), n.unknownRoot() && isComposerEvent(cmp.Or(name, section)):
			if event := cmp.Or(name, section); isComposerEvent(event) {
				e.kind, e.name = aScript, event
				l.add(e)
			}
		case inside("allow-plugins") && n.text == "true":
			e.kind = aScript
			l.add(e)
		}
	})
	l.takeWhy(why)
	return l
}

func isComposerEvent(name string) bool {
	return (strings.HasPrefix(name, "pre-") || strings.HasPrefix(name, "post-")) && (strings.HasSuffix(name, "-cmd") ||
		strings.HasSuffix(name, "-install") || strings.HasSuffix(name, "-dump") || strings.HasSuffix(name, "-update") || strings.HasSuffix(name, "-download"))
}

// composerLock reads Composer's lock file. GitHub serves what Packagist lists, so
// the repository is where a package comes from.
func composerLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, false, func(n node) {
		at := slices.IndexFunc(n.path, func(k string) bool { return k == "packages" || k == "packages-dev" })
		base := 1
		switch {
		case at >= 0 && at+1 < len(n.path):
			base = at + 2
		case !n.unknownRoot():
			return
		case len(n.path) > 1 && strings.HasPrefix(n.path[1], "#"):
			base = 2
		}
		if base >= len(n.path) {
			return
		}
		id := strings.Join(n.path[:base], "\x00")
		switch rest := n.path[base:]; strings.Join(rest, ".") {
		case "name":
			a.part(id, n.line).name = n.text
		case "version":
			a.part(id, n.line).version = n.text
		case "source.url", "dist.url":
			e := a.part(id, n.line)
			host, p := hostPath(n.text)
			if rest[0] == "source" || e.from.name == "" {
				p, _, _ = strings.Cut(p, "/zipball/")
				p = strings.TrimPrefix(p, "/repos")
				e.from, e.fromAt = origin{name: clip(strings.TrimPrefix(host, "api.") + p)}, n.line
			}
		case "source.reference", "dist.reference":
			a.part(id, n.line).sum(n.line, "git:"+n.text)
		case "dist.shasum":
			if n.text != "" {
				a.part(id, n.line).sum(n.line, "sha1:"+n.text)
			}
		}
	})
	l.entries = a.list()
	l.takeWhy(why)
	return l
}
