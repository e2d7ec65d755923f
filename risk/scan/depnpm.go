package scan

import (
	"cmp"
	"slices"
	"strings"
)

// isInstallScript reports whether it is one of the package scripts that run when a package is installed.
func isInstallScript(name string) bool {
	switch name {
	case "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "dependencies", "pnpm:devPreinstall":
		return true
	}
	return false
}

func packageJSON(runs [][]line, whole bool) listed {
	var l listed
	why := readTree(runs, whole, false, func(n node) {
		name, section := n.key(0), n.key(1)
		depth := 0 // keys that are names
		for _, key := range n.path {
			if !strings.HasPrefix(key, "?") && !strings.HasPrefix(key, "#") {
				depth++
			}
		}
		if n.unknownRoot() && depth == 1 {
			section = ""
		}
		e := entry{name: name, at: n.line, changed: n.line.added}
		switch inside := func(s string) bool { return slices.Contains(n.path[:len(n.path)-1], s) }; {
		case inside("scripts") && depth <= 2, section == "" && n.unknownRoot() && isInstallScript(name) && !isVersion(n.text):
			if isInstallScript(name) {
				e.kind, e.version = aScript, n.text
				l.add(e)
			}
		case inside("overrides"), inside("resolutions"):
			e.kind, e.name, e.version = aReplace, strings.Join(n.path, ">"), n.text
			e.show = name
			if strings.HasPrefix(name, "#") || name == "" {
				return
			}
			e.from = npmSpec(n.text, &e)
			l.add(e)
		case name == "" && (inside("onlyBuiltDependencies") || inside("trustedDependencies")):
			e.kind, e.name = aScript, n.text
			l.add(e)
		case name == "packageManager":
			tool, version, _ := strings.Cut(n.text, "@")
			e.kind, e.name, e.version = aTool, tool, version
			l.add(e)
		case slices.Contains([]string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}, section) && name != "":
			e.version = n.text
			e.from = npmSpec(n.text, &e)
			l.add(e)
		case section == "" && n.unknownRoot() && depth == 1 && name != "" && name != "version" && looksLikeNpmSpec(n.text):
			if slices.Contains([]string{"node", "npm", "yarn", "pnpm", "vscode", "bun"}, name) {
				return // engines; none of these is a library
			}
			e.version = n.text
			e.from = npmSpec(n.text, &e)
			l.add(e)
		}
	})
	l.takeWhy(why)
	return l
}

// takeWhy takes what a reader of text says.
func (l *listed) takeWhy(why string) {
	if why != "" {
		l.unread(why)
	}
}

func looksLikeNpmSpec(text string) bool {
	low := strings.ToLower(text)
	return isVersion(text) || gitLike.MatchString(low) || strings.HasPrefix(low, "npm:") || strings.HasPrefix(low, "workspace:") ||
		strings.HasPrefix(low, "file:") || strings.HasPrefix(low, "link:") || strings.HasPrefix(low, "catalog:")
}

// npmSpec reads what stands behind a name in a package.json or in yarn's locks.
func npmSpec(text string, e *entry) origin {
	low := strings.ToLower(text)
	switch {
	case strings.HasPrefix(low, "npm:"):
		alias := text[len("npm:"):]
		if at := strings.LastIndex(alias, "@"); at > 0 {
			e.version, alias = alias[at+1:], alias[:at]
		} else if isVersion(alias) {
			e.version = alias
			return origin{}
		}
		return origin{name: "the registry's " + clip(alias)}
	case strings.HasPrefix(low, "http:"), strings.HasPrefix(low, "https:"):
		e.version = text
		if gitLike.MatchString(low) {
			return originOf(text)
		}
		return archive(text)
	case strings.HasPrefix(low, "catalog:"), strings.HasPrefix(low, "patch:"):
		return origin{}
	case gitLike.MatchString(low):
		return originOf(text)
	case shorthand.MatchString(text) && !strings.HasPrefix(text, "@"):
		return originOf("github:" + text)
	case strings.HasPrefix(low, "file:"), strings.HasPrefix(low, "link:"), strings.HasPrefix(low, "portal:"), strings.HasPrefix(low, "workspace:"),
		strings.HasPrefix(low, "./"), strings.HasPrefix(low, "../"), strings.HasPrefix(low, "/"), strings.HasPrefix(low, "~/"):
		return originOf(text)
	}
	return origin{}
}

// packageLock reads npm's lock files of all versions.
func packageLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, false, func(n node) {
		field := n.key(0)
		switch field {
		case "version", "resolved", "integrity", "hasInstallScript", "link", "name":
		default:
			return
		}
		key := n.key(1)
		name := key
		if i := strings.LastIndex(key, "node_modules/"); i >= 0 {
			name = key[i+len("node_modules/"):]
		} else if n.key(2) == "packages" || key == "" || len(n.path) < 2 {
			return // the project itself, or a part of it
		}
		e := a.part(n.under(), n.line)
		if !strings.HasPrefix(name, "?") {
			e.name = cmp.Or(e.name, name)
		}
		switch field {
		case "version":
			e.version = n.text
			if !isVersion(n.text) { // version 1 has the source here
				e.from, e.fromAt = npmSpec(n.text, e), n.line
			}
		case "resolved":
			if !e.from.local {
				npmResolved(e, n)
			}
		case "integrity":
			e.sum(n.line, strings.Fields(n.text)...)
		case "hasInstallScript":
			e.script, e.scrAt = n.text == "true", n.line
		case "link":
			if n.text == "true" {
				e.from = origin{name: "workspace", local: true}
			}
		case "name":
			e.show = n.text
		}
	})
	for _, e := range a.list() {
		if strings.HasPrefix(e.name, "?") && e.version == "" && len(e.sums) == 0 && e.file == "" && !e.script {
			continue
		}
		l.add(e)
	}
	l.takeWhy(why)
	return l
}

// npmResolved takes the address that a package is fetched from. One of another
// package's is another source, also on the same host.
func npmResolved(e *entry, n node) {
	raw := n.text
	if !strings.Contains(raw, "://") {
		e.from, e.fromAt = origin{name: "workspace", local: true}, n.line
		return
	}
	e.fetched(raw, n.line)
	if e.from.direct {
		e.version = raw
		return
	}
	_, p := hostPath(raw)
	e.file = p
	pkg, _, registry := strings.Cut(strings.TrimPrefix(p, "/"), "/-/")
	pkg = strings.ReplaceAll(pkg, "%2f", "/")
	want := cmp.Or(e.show, e.name)
	switch {
	case !registry:
		e.from.name = cmp.Or(e.from.name, "an address of its own") // not by a name
	case want != "" && !strings.HasSuffix("/"+pkg, "/"+want):
		e.from.name = strings.TrimSpace(e.from.name + " another package's address: " + clip(pkg))
	}
}

// yarnLock reads both of yarn's formats.
func yarnLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readIndented(runs, whole, func(n node) {
		if len(n.path) == 1 && n.text == "" && !n.unknownRoot() {
			e := a.part(n.path[0], n.line)
			e.name = yarnName(n.path[0])
			return
		}
		if len(n.path) != 2 || n.path[0] == "__metadata" {
			return
		}
		e := a.part(n.path[0], n.line)
		switch n.key(0) {
		case "version":
			if !e.from.direct {
				e.version = n.text
			}
		case "resolved":
			npmResolved(e, n)
		case "resolution":
			berryResolution(e, n)
		case "integrity", "checksum":
			e.sum(n.line, strings.Fields(n.text)...)
		}
	})
	for _, e := range a.list() {
		if e.name != "__metadata" {
			l.add(e)
		}
	}
	l.takeWhy(why)
	return l
}

// yarnName is the name in a list of name@range.
func yarnName(key string) string {
	first, _, _ := strings.Cut(strings.Trim(key, `"`), ",")
	first = strings.Trim(first, `" `)
	if i := strings.Index(first[min(1, len(first)):], "@"); i >= 0 {
		return first[:i+1]
	}
	return first
}

func berryResolution(e *entry, n node) {
	name := yarnName(n.text)
	spec := strings.TrimPrefix(strings.TrimPrefix(n.text, name), "@")
	e.fromAt = n.line
	scratch := entry{}
	switch from := npmSpec(spec, &scratch); {
	case strings.HasPrefix(spec, "npm:"), strings.HasPrefix(spec, "patch:"), strings.HasPrefix(spec, "virtual:"):
		if e.name != "" && name != e.name {
			e.from = origin{name: "the registry's " + clip(name)}
		}
		if _, host, ok := strings.Cut(spec, "__archiveUrl="); ok {
			e.from = archive(strings.NewReplacer("%3A", ":", "%2F", "/").Replace(host))
		}
	case from.local:
		e.from = origin{name: "workspace", local: true}
	default:
		e.from = from
		if from.direct {
			e.version = spec
		}
	}
}
