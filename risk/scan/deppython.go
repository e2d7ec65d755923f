package scan

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// requirement is a name, with extras, and what follows.
	requirement = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)$`)
	pyVersion   = regexp.MustCompile(`^\(?\s*(?:[=<>~!]=|===|[<>])`)
	separators  = regexp.MustCompile(`[-_.]+`)
	hashOption  = regexp.MustCompile(`--hash[= ](\S+)`)
)

// pyName spells a name the way Python's index compares it.
func pyName(name string) string { return strings.ToLower(separators.ReplaceAllString(name, "-")) }

// pySpec reads one requirement.
func pySpec(text string, at line) (e entry, ok bool) {
	text, _, _ = strings.Cut(text, ";")
	m := requirement.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return entry{}, false
	}
	e = entry{name: pyName(m[1]), at: at, changed: at.added}
	rest := strings.TrimSpace(m[2])
	switch {
	case strings.HasPrefix(rest, "@"):
		url := strings.TrimSpace(rest[1:])
		e.from, e.version = archive(url), url
		if gitLike.MatchString(strings.ToLower(url)) {
			e.from = originOf(url)
		}
	case rest == "", pyVersion.MatchString(rest):
		e.version = rest
	default:
		return entry{}, false
	}
	return e, true
}

// pyRequirement takes what a pyproject.toml says in lists of requirements.
func pyRequirement(l *listed, n node) bool {
	path := n.path
	has := func(i int, keys ...string) bool { return len(path) > i && slices.Contains(keys, path[i]) }
	switch {
	case has(0, "build-system") && has(1, "build-backend", "backend-path"):
		l.add(entry{kind: aScript, name: path[1], version: n.text, at: n.line, changed: n.line.added})
	case n.key(0) == "" && (has(0, "project") && has(1, "dependencies", "optional-dependencies") || has(0, "dependency-groups") ||
		has(0, "build-system") && has(1, "requires") || has(0, "tool") && (has(2, "dev-dependencies", "constraint-dependencies", "override-dependencies"))):
		e, ok := pySpec(n.text, n.line)
		if !ok {
			if n.line.added {
				l.unread("a requirement is not understood")
			}
			return true
		}
		l.add(e)
	case has(0, "tool") && has(1, "uv") && has(2, "sources") && n.key(0) == "workspace":
	case has(0, "tool") && has(1, "uv") && has(2, "sources") && len(path) > 3:
		l.add(entry{kind: aReplace, name: pyName(path[3]) + "." + n.key(0), show: path[3], version: n.text, from: originOf(cond(n.key(0) == "git", "git+"+n.text, "")),
			at: n.line, changed: n.line.added})
	case n.key(0) == "" && n.unknownRoot(): // an element of a list that the hunk does not name
		if e, ok := pySpec(n.text, n.line); ok && (e.version != "" || e.from.direct) {
			l.add(e)
		} else if ok && n.line.added && len(path) <= 2 {
			l.maybe = append(l.maybe, n.line)
		}
	default:
		return false
	}
	return true
}

func cond(is bool, a, b string) string {
	if is {
		return a
	}
	return b
}

// requirements reads pip's files. A line ends without a backslash.
func requirements(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		var text strings.Builder
		var first line
		var sums []sum
		changed, open := false, false
		for i, ln := range run {
			part := strings.TrimRight(ln.text, "\r ")
			if at := strings.Index(part, " #"); at >= 0 {
				part = part[:at]
			}
			if trimmed := strings.TrimSpace(part); trimmed == "" || trimmed[0] == '#' {
				part = ""
			}
			if !open {
				first, sums, changed = ln, nil, false
				text.Reset()
			}
			if ln.added && !first.added {
				first = ln
			}
			for _, m := range hashOption.FindAllStringSubmatch(part, -1) {
				sums = append(sums, sum{m[1], ln})
			}
			changed = changed || ln.added
			part, open = strings.CutSuffix(strings.TrimRight(part, " "), `\`)
			if text.Len() < 64<<10 {
				text.WriteString(" " + part)
			}
			if !open || i == len(run)-1 {
				l.requirement(strings.TrimSpace(text.String()), first, sums, changed)
			}
		}
	}
	return l
}

func (l *listed) requirement(text string, at line, sums []sum, changed bool) {
	if text == "" {
		return
	}
	if text[0] == '-' {
		l.pipOption(text, at, changed)
		return
	}
	spec, _, _ := strings.Cut(text, " --")
	e, ok := pySpec(spec, at)
	switch {
	case ok:
	case strings.Contains(spec, "://") || gitLike.MatchString(spec):
		e = entry{name: spec, show: archive(spec).name, version: spec, from: archive(spec)}
	case strings.HasPrefix(spec, ".") || strings.HasPrefix(spec, "/"):
		e = entry{name: spec, from: originOf(spec)}
	default:
		if changed {
			l.unread("a requirement is not understood")
		}
		return
	}
	e.at, e.sums, e.changed = at, sums, changed
	l.add(e)
}

func (l *listed) pipOption(text string, at line, changed bool) {
	option, value, _ := strings.Cut(strings.Replace(text, "=", " ", 1), " ")
	value = strings.TrimSpace(value)
	switch option {
	case "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host", "--no-index":
		e := registry(option+" "+value, value, at)
		e.changed = changed
		l.add(e)
	case "-e", "--editable":
		e := entry{name: value, version: value, from: originOf(value), at: at, changed: changed}
		if i := strings.Index(value, "#egg="); i >= 0 {
			e.name = pyName(value[i+len("#egg="):])
		}
		e.show = e.from.name
		l.add(e)
	case "--hash":
		if changed {
			l.unread("the patch does not show to which requirement a checksum belongs")
		}
	}
}

// pipfileLock reads Pipenv's lock file.
func pipfileLock(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, false, func(n node) {
		up := 0
		if n.key(0) == "" {
			up = 1 // an element of "hashes"
		}
		if slices.Contains(n.path, "_meta") {
			if n.key(0) == "url" {
				l.add(registry("source "+n.key(1), n.text, n.line))
			}
			return
		}
		if len(n.path) < up+2 {
			return
		}
		e := a.part(strings.Join(n.path[:len(n.path)-1-up], "\x00"), n.line)
		if name := n.key(1 + up); !strings.HasPrefix(name, "?") {
			e.name = pyName(name)
		}
		switch n.key(up) {
		case "version":
			e.version = n.text
		case "hashes":
			e.sum(n.line, n.text)
		case "git":
			e.from, e.fromAt = originOf("git+"+n.text), n.line
		case "ref":
			e.version = n.text
		case "file", "path":
			e.from, e.fromAt = archive(n.text), n.line
		case "index":
			if n.text != "pypi" {
				e.from, e.fromAt = origin{name: "index " + clip(n.text)}, n.line
			}
		}
	})
	l.entries = append(l.entries, a.list()...)
	l.takeWhy(why)
	return l
}
