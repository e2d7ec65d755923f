package scan

import (
	"strings"
)

// decides reports whether a setting says where packages come from, or what runs
// when they are installed or is not checked then.
func decides(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"registry", "index", "find-links", "find_links", "trusted-host", "proxy", "source", "mirror", "distributionurl", "wrapperurl",
		"strict-ssl", "strictssl", "ignore-scripts", "enablescripts", "yarn-path", "yarnpath", "plugins", "unsafe", "checksumbehavior", "sslverify",
		"enablestrictssl", "cafile", "url", "directory", "replace-with", "rustc", "runner", "linker", "overrides", "onlybuilt", "neverbuilt",
		"allowbuilds", "dangerously", "patcheddependencies", "script-shell", "node-options", "pnpmfile", "disturl"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

func setting(key, value string, at line) entry {
	e := registry(key, value, at)
	if e.show == "" {
		e.show = key
	}
	if u := originOf(value); strings.HasSuffix(strings.ToLower(key), "distributionurl") && strings.Contains(value, "://") {
		// The version of the tool is in the address.
		e.kind, e.from, e.version, e.show, e.fromAt = aTool, u, value, "", at
	}
	return e
}

// settings reads files of lines with a key and a value.
func settings(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		for _, ln := range run {
			text := strings.TrimSpace(ln.text)
			if text == "" || strings.ContainsAny(text[:1], "#;[") {
				continue
			}
			key, value, found := strings.Cut(text, "=")
			if !found {
				key, value, _ = strings.Cut(text, " ")
			}
			if key, value = strings.Trim(key, " \""), strings.Trim(value, " \""); decides(key) && !secretKey(key) {
				l.add(setting(key, strings.ReplaceAll(value, `\:`, ":"), ln))
			}
		}
	}
	return l
}

// secretKey is for npm's credentials, whose keys name the registry.
func secretKey(key string) bool {
	low := strings.ToLower(key)
	return strings.Contains(low, "_auth") || strings.Contains(low, "_password") || strings.Contains(low, "username") || strings.HasSuffix(low, "email")
}

func settingsYAML(runs [][]line, whole bool) listed {
	var l listed
	why := readIndented(runs, whole, func(n node) {
		for i, key := range n.path {
			switch {
			case strings.HasPrefix(key, "catalog"):
				if i < len(n.path)-1 && n.text != "" {
					e := entry{name: n.key(0), version: n.text, at: n.line, changed: n.line.added}
					e.from = npmSpec(n.text, &e)
					l.add(e)
				}
				return
			case decides(key) && (n.text != "" || i < len(n.path)-1) && !secretKey(n.key(0)):
				l.add(setting(settingName(n), n.text, n.line))
				return
			}
		}
		if n.unknownRoot() && n.line.added && n.text != "" && looksLikeNpmSpec(n.text) {
			l.maybe = append(l.maybe, n.line)
		}
	})
	l.takeWhy(why)
	return l
}

// settingName joins the keys of a setting; an element of a list is its value.
func settingName(n node) string {
	var keys []string
	for _, key := range n.path {
		if !strings.HasPrefix(key, "#") && !strings.HasPrefix(key, "?") {
			keys = append(keys, key)
		}
	}
	if n.key(0) == "" {
		return strings.Join(keys, ".") + n.text
	}
	return strings.Join(keys, ".")
}

func settingsTOML(runs [][]line, whole bool) listed {
	var l listed
	why := readTree(runs, whole, true, func(n node) {
		for _, key := range n.path {
			if decides(key) && !strings.HasPrefix(key, "?") {
				l.add(setting(settingName(n), n.text, n.line))
				return
			}
		}
	})
	l.takeWhy(why)
	return l
}

// settingsXML reads nuget.config.
func settingsXML(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		eachElement(run, func(name, attrs, _ string, closes, _ bool, at line) {
			switch strings.ToLower(name) {
			case "add", "clear", "remove", "packagesource":
			default:
				return
			}
			key, value := name, ""
			for _, m := range xmlAttr.FindAllStringSubmatch(attrs, -1) {
				switch strings.ToLower(m[1]) {
				case "key":
					key = m[2] + m[3]
				case "value":
					value = m[2] + m[3]
				}
			}
			if !closes && !secretKey(key) && !strings.Contains(strings.ToLower(key), "password") {
				l.add(setting(key, value, at))
			}
		})
	}
	return l
}
