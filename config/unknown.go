package config

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is told about an environment: it may hold anything.
const (
	maxWarnings = 20
	maxName     = 100
)

// Mistyped names the variables of an environment ("NAME=value", os.Environ) that
// look like settings and are none. They are warnings: an environment is shared
// with other programs, and a setting of a later version is no reason not to
// start. Anything that begins with COUNTERSIGN_ is meant for us; of GITHUB_, which
// GitHub's own tools use too, only what is one or two letters away from a
// setting. Values are not looked at.
func Mistyped(environ []string) []Fault {
	l := loader{rows: table()}
	names := []string{"COUNTERSIGN_CONFIG"}
	for _, key := range l.keys() {
		names = append(names, strings.ToUpper(key))
	}
	var out []Fault
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if len(out) == maxWarnings || len(name) > maxName || slices.Contains(names, name) {
			continue
		}
		near, away := nearest(name, names)
		upper := strings.ToUpper(name)
		switch {
		case strings.HasPrefix(upper, "COUNTERSIGN_") && near == "":
			out = append(out, Fault{Name: name, Where: "environment", Problem: "unknown setting, without effect; countersign serve -h lists all"})
		case strings.HasPrefix(upper, "COUNTERSIGN_"), strings.HasPrefix(upper, "GITHUB_") && near != "" && away <= 2:
			out = append(out, Fault{Name: name, Where: "environment", Problem: fmt.Sprintf("unknown setting, without effect (did you mean %q?)", near)})
		}
	}
	slices.SortFunc(out, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return out
}
