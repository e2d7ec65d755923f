package scan

import (
	"regexp"
	"strings"
)

// goMod reads go.mod and go.work. A line of a block tells by its form what it is,
// except for those of exclude and retract, which are like those of require and
// harmless: a hunk that does not show the block is taken for require.
func goMod(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		block := ""
		for _, ln := range run {
			text, _, _ := strings.Cut(strings.TrimRight(ln.text, "\r"), "//")
			words := strings.Fields(strings.NewReplacer(`"`, "", "`", "", "(", " ( ", ")", " ) ").Replace(text))
			if len(words) == 0 {
				continue
			}
			verb := block
			switch words[0] {
			case ")":
				block = ""
				continue
			case "module", "go", "toolchain", "require", "replace", "exclude", "retract", "godebug", "tool", "use", "ignore":
				verb, words = words[0], words[1:]
			}
			if len(words) > 0 && words[0] == "(" {
				block, words = verb, words[1:]
			}
			if len(words) > 0 {
				l.goLine(verb, words, ln)
			}
		}
	}
	return l
}

func (l *listed) goLine(verb string, words []string, at line) {
	e := entry{name: words[0], at: at, changed: at.added}
	arrow := -1
	for i, w := range words {
		if w == "=>" {
			arrow = i
		}
	}
	switch {
	case arrow > 0 && arrow+1 < len(words):
		e.kind, e.show = aReplace, words[0]+" by "+strings.Join(words[arrow+1:], " ")
		if target := words[arrow+1]; strings.HasPrefix(target, ".") || strings.HasPrefix(target, "/") {
			e.from = originOf(target)
		} else {
			e.from = origin{name: target}
		}
		if len(words) > arrow+2 {
			e.version = words[arrow+2]
		}
	case verb == "toolchain":
		e.kind, e.name, e.version = aTool, "go toolchain", strings.TrimPrefix(words[0], "go")
		if name, suffix, custom := strings.Cut(words[0], "-"); custom {
			e.version, e.from = name, origin{name: "a toolchain named " + clip(suffix)}
		}
	case verb == "" || verb == "require":
		if len(words) < 2 || !strings.HasPrefix(words[1], "v") {
			if at.added && verb == "require" {
				l.unread("a requirement is not understood")
			}
			return
		}
		e.name, e.show, e.version = goName(words[0]), words[0], words[1]
	default:
		return
	}
	l.add(e)
}

var majorVersion = regexp.MustCompile(`(?:/v[2-9][0-9]*|/v1[0-9]+|\.v[0-9]+)$`)

// goName is a module without its major version: v3 of a module that was there in
// v2 is a bump, however the path is spelled.
func goName(module string) string { return majorVersion.ReplaceAllString(module, "") }

var goSumLine = regexp.MustCompile(`^(\S+) (v[^\s/]+)(/go\.mod)? (h1:\S+)\s*$`)

// goSum reads go.sum. A line for a go.mod alone says that the module was asked
// for its requirements, not that its code is used.
func goSum(runs [][]line, _ bool) listed {
	var a assembly
	var l listed
	for _, run := range runs {
		for _, ln := range run {
			m := goSumLine.FindStringSubmatch(ln.text)
			if m == nil {
				if ln.added && strings.TrimSpace(ln.text) != "" {
					l.unread("a line of it is not understood")
				}
				continue
			}
			if m[3] != "" {
				continue
			}
			e := a.part(m[1]+"\x00"+m[2], ln)
			e.name, e.show, e.version = goName(m[1]), m[1], m[2]
			e.sum(ln, m[4])
		}
	}
	l.entries = a.list()
	return l
}
