package scan

import (
	"regexp"
	"strings"
)

var (
	gemLine   = regexp.MustCompile(`^\s*gem[\s(]+["']([^"']+)["']((?:\s*,\s*["'][^"']*["'])*)(.*)$`)
	gemOption = regexp.MustCompile(`(?::(\w+)\s*=>|\b(\w+):)\s*["']([^"']+)["']`)
	gemSource = regexp.MustCompile(`^\s*(source|git_source|git|path|github|plugin|eval_gemfile)\b[\s(]*(.*)$`)
	quotedAny = regexp.MustCompile(`["']([^"']+)["']`)
	specLine  = regexp.MustCompile(`^    (\S+) \(([^)]+)\)$`)
	remote    = regexp.MustCompile(`^  (remote|revision|branch|ref|tag): (.*)$`)
	checkLine = regexp.MustCompile(`^  (\S+) \(([^)]+)\)(?: (sha256=\S+))?$`)
)

// gemfile reads a Gemfile's ordinary lines; it is a program, and may do more.
func gemfile(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		for _, ln := range run {
			text := strings.TrimRight(ln.text, "\r ")
			if m := gemLine.FindStringSubmatch(text); m != nil {
				e := entry{name: m[1], version: strings.TrimSpace(m[2]), at: ln, changed: ln.added}
				for _, o := range gemOption.FindAllStringSubmatch(m[3], -1) {
					switch key, value := o[1]+o[2], o[3]; key {
					case "git", "bitbucket", "gist":
						e.from = originOf("git+" + value)
					case "github":
						e.from = originOf("github:" + value)
					case "path":
						e.from = originOf("./" + value)
					case "source":
						e.from = originOf(value)
					case "ref", "tag", "branch":
						e.version += value
					}
				}
				l.add(e)
				continue
			}
			if m := gemSource.FindStringSubmatch(text); m != nil {
				value := quotedAny.FindStringSubmatch(m[2])
				if value == nil {
					value = []string{"", m[2]}
				}
				if m[1] == "source" && homes(hostOf(value[1])) {
					continue
				}
				l.add(registry(m[1]+" "+value[1], value[1], ln))
			}
		}
	}
	return l
}

func hostOf(raw string) string {
	host, _ := hostPath(raw)
	return host
}

// gemfileLock reads Bundler's lock file. The indentation tells a gem from what it
// depends on, the section where it comes from.
func gemfileLock(runs [][]line, whole bool) listed {
	var a assembly
	for _, run := range runs {
		from, revision, section := origin{}, "", ""
		if !whole {
			section = "?"
		}
		changed := false
		for _, ln := range run {
			text := strings.TrimRight(ln.text, "\r ")
			if text != "" && text[0] != ' ' {
				section, from, revision, changed = text, origin{}, "", false
				if section == "PATH" {
					from = origin{name: "workspace", local: true}
				}
				continue
			}
			if m := remote.FindStringSubmatch(text); m != nil {
				changed = changed || ln.added
				switch {
				case m[1] != "remote":
					revision += m[2]
				case section == "GIT" || section == "?" && gitLike.MatchString(m[2]):
					from = originOf("git+" + m[2])
				case section != "PATH":
					from = originOf(m[2])
				}
				continue
			}
			if m := checkLine.FindStringSubmatch(text); m != nil && m[3] != "" {
				version := m[2] // with the platform: each has a content of its own
				e := a.part(m[1]+"\x00"+version, ln)
				e.name, e.version = m[1], version
				e.sum(ln, m[3])
				continue
			}
			m := specLine.FindStringSubmatch(text)
			if m == nil || section == "DEPENDENCIES" {
				continue
			}
			version := m[2] // with the platform: each has a content of its own
			e := a.part(m[1]+"\x00"+version, ln)
			e.name, e.version, e.from = m[1], version+revision, from
			e.changed = e.changed || changed
		}
	}
	return listed{entries: a.list()}
}
