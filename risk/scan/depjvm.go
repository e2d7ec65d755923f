package scan

import (
	"cmp"
	"regexp"
	"strings"
)

var (
	xmlElement = regexp.MustCompile(`<(/?)([A-Za-z][\w.:-]*)((?:\s[^<>]*?)?)(/?)>([^<]*)`)
	xmlAttr    = regexp.MustCompile(`([A-Za-z][\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

// eachElement calls f for every element that opens, with its text, and for every
// one that closes. Comments are left out.
func eachElement(run []line, f func(name, attrs, text string, closes, empty bool, at line)) {
	comment := false
	for _, ln := range run {
		text := ln.text
		for comment || strings.Contains(text, "<!--") {
			if comment {
				_, rest, closed := strings.Cut(text, "-->")
				if comment, text = !closed, rest; comment {
					text = ""
					break
				}
				continue
			}
			before, rest, _ := strings.Cut(text, "<!--")
			if _, after, closed := strings.Cut(rest, "-->"); closed {
				text = before + after
				continue
			}
			text, comment = before, true
			break
		}
		for _, m := range xmlElement.FindAllStringSubmatch(text, -1) {
			f(m[2], m[3], strings.TrimSpace(m[5]), m[1] != "", m[4] != "", ln)
		}
	}
}

// pomXML reads Maven's manifest: dependencies, plugins, parents and extensions by
// their coordinates, and repositories by their address.
func pomXML(runs [][]line, whole bool) listed {
	var l listed
	for _, run := range runs {
		var e *entry
		group, artifact, exclusion := "", "", 0
		place := "" // the element that an address is one of
		if !whole {
			place = "?"
		}
		flush := func() {
			if e != nil && artifact != "" {
				e.name = group + ":" + artifact
				l.add(*e)
			}
			e, group, artifact = nil, "", ""
		}
		if !whole {
			e = &entry{}
		}
		eachElement(run, func(name, _, text string, closes, empty bool, at line) {
			switch name {
			case "exclusions":
				if !empty {
					exclusion++
				}
				if closes {
					exclusion -= 2
				}
				return
			case "dependency", "plugin", "parent", "extension", "annotationProcessorPath", "path":
				flush()
				if !closes && !empty {
					e = &entry{at: at, changed: at.added}
				}
				return
			case "repository", "pluginRepository", "mirror", "snapshotRepository", "scm", "license", "organization", "developer", "contributor",
				"issueManagement", "ciManagement", "site", "project":
				if place = name; closes {
					place = ""
				}
				return
			case "url":
				if !closes && strings.Contains(text, "://") && fromThere(place) && !homes(hostOf(text)) {
					l.add(registry("repository "+text, text, at))
				}
				return
			}
			if closes || e == nil || exclusion > 0 {
				return
			}
			if e.at.no == 0 || at.added && !e.at.added {
				e.at = at
			}
			e.changed = e.changed || at.added
			switch name {
			case "groupId":
				group = text
			case "artifactId":
				artifact = text
			case "version":
				e.version = text
			case "systemPath":
				e.from = origin{name: "path " + clip(text), direct: true}
			}
		})
		flush()
	}
	return l
}

// fromThere reports whether an address in that element is one of packages. Where
// the hunk does not show the element, it is taken for one.
func fromThere(element string) bool {
	return element == "repository" || element == "pluginRepository" || element == "mirror" || element == "?"
}

// packageReferences reads the manifests of .NET.
func packageReferences(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		var open *entry
		eachElement(run, func(name, attrs, text string, closes, _ bool, at line) {
			switch name {
			case "PackageReference", "PackageVersion", "GlobalPackageReference", "package", "DotNetCliToolReference":
				if closes {
					open = nil
					return
				}
				e := entry{at: at, changed: at.added}
				for _, m := range xmlAttr.FindAllStringSubmatch(attrs, -1) {
					switch value := m[2] + m[3]; strings.ToLower(m[1]) {
					case "include", "update", "id":
						e.name = strings.ToLower(value)
					case "version", "versionoverride":
						e.version = value
					}
				}
				if e.name != "" {
					l.add(e)
					open = &l.entries[len(l.entries)-1]
				}
			case "Version":
				if open != nil && !closes {
					open.version, open.changed = text, open.changed || at.added
				}
			case "RestoreSources", "RestoreAdditionalProjectSources":
				if !closes {
					l.add(registry(name, text, at))
				}
			}
		})
	}
	return l
}

var (
	// coordinates are group:name, with a version or without.
	coordinates = regexp.MustCompile(`["']([A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+)(?::([^"':@]*))?(?:[:@][^"']*)?["']`)
	namedParts  = regexp.MustCompile(`group\s*[:=]\s*["']([^"']+)["']\s*,\s*name\s*[:=]\s*["']([^"']+)["'](?:\s*,\s*version\s*[:=]\s*["']([^"']+)["'])?`)
	pluginID    = regexp.MustCompile(`\bid\s*\(?\s*["']([^"']+)["']\)?(?:\s*version\s*\(?\s*["']?([^"'\s)]+))?`)
	kotlinID    = regexp.MustCompile(`\bkotlin\(\s*["']([^"']+)["']\s*\)(?:\s*version\s*["']?([^"'\s]+))?`)
	gradleURL   = regexp.MustCompile(`["']((?:https?|ftp|s3|gcs)://[^"']+)["']`)
	gradleRepo  = regexp.MustCompile(`^\s*(jcenter|mavenLocal|flatDir|includeBuild|apply\s+from|apply\(from)\b(.*)`)
)

// gradle reads the declarations of Gradle's build files; they are programs, and
// may do more.
func gradle(runs [][]line, _ bool) listed {
	var l listed
	for _, run := range runs {
		for _, ln := range run {
			text := strings.TrimSpace(ln.text)
			if strings.HasPrefix(text, "//") || strings.HasPrefix(text, "*") {
				continue
			}
			e := entry{at: ln, changed: ln.added}
			switch {
			case gradleURL.MatchString(text):
				for _, m := range gradleURL.FindAllStringSubmatch(text, -1) {
					if !homes(hostOf(m[1])) {
						l.add(registry("repository "+m[1], m[1], ln))
					}
				}
				continue
			case gradleRepo.MatchString(text):
				m := gradleRepo.FindStringSubmatch(text)
				l.add(registry(m[1]+m[2], m[2], ln))
				continue
			case namedParts.MatchString(text):
				m := namedParts.FindStringSubmatch(text)
				e.name, e.version = m[1]+":"+m[2], m[3]
			case pluginID.MatchString(text):
				m := pluginID.FindStringSubmatch(text)
				e.name, e.version = "plugin "+m[1], m[2]
			case kotlinID.MatchString(text):
				m := kotlinID.FindStringSubmatch(text)
				e.name, e.version = "kotlin "+m[1], m[2]
			case coordinates.MatchString(text) && !strings.Contains(text, "project("):
				m := coordinates.FindStringSubmatch(text)
				e.name, e.version = m[1], m[2]
			default:
				continue
			}
			l.add(e)
		}
	}
	return l
}

// versionCatalog reads Gradle's libs.versions.toml.
func versionCatalog(runs [][]line, whole bool) listed {
	var a assembly
	var l listed
	why := readTree(runs, whole, true, func(n node) {
		keys := n.path
		if keys[0] == "versions" || keys[0] == "bundles" || len(keys) < 2 {
			return
		}
		plain := len(keys) == 2
		if plain && n.unknownRoot() && strings.Count(n.text, ":") < 2 {
			return // a version
		}
		e := a.part(keys[0]+"\x00"+keys[1], n.line)
		if n.unknownRoot() {
			e.name = cmp.Or(e.name, keys[1])
		}
		switch field := keys[2:]; {
		case plain:
			parts := strings.SplitN(n.text, ":", 3)
			e.name = strings.Join(parts[:min(2, len(parts))], ":")
			e.version = strings.Join(parts[min(2, len(parts)):], ":")
		case field[0] == "module" || field[0] == "id":
			e.name = n.text
		case field[0] == "group":
			e.name = n.text + ":"
		case field[0] == "name":
			e.name += n.text
		case field[0] == "version":
			e.version = n.text
		}
	})
	l.entries = a.list()
	l.takeWhy(why)
	return l
}
