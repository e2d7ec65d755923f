package app_test

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/countersign/countersign/"

// layers says who may import whom (DESIGN section 14). A package that is not in
// the table fails the test: it needs a place before it needs code. "x/..." means
// x and all below it.
var layers = map[string][]string{
	"cmd/countersign":         {"app/...", "config", "review/trail"},
	"app/terminal":            {"review/...", "risk/...", "config/policy"},
	"app/terminal/schemagen":  {"app/terminal"},
	"app":                     {"app/...", "handlers", "review/...", "risk/...", "config/..."},
	"app/store":               {"handlers", "review/...", "risk/...", "config/policy"},
	"app/store/pgtest":        {},
	"app/queue":               {"handlers", "app/store", "review/forge"},
	"app/telemetry":           {},
	"app/demo":                {"app", "app/githubsim", "config", "review/permission", "review/publish", "review/trail"},
	"app/githubsim":           {"app/githubsim/..."},
	"app/githubsim/...":       {"app/githubsim/..."},
	"handlers":                {"review/session", "review/forge"},
	"review/session":          {"review/...", "risk/...", "config/policy"},
	"review/collect":          {"review/forge", "review", "risk/..."},
	"review/publish":          {"review/forge", "review/trail", "review", "risk/..."},
	"review/permission":       {},
	"review/trail":            {},
	"review/forge":            {},
	"review/forge/github/...": {"review/forge", "review/forge/github/..."},
	"review/forge/local":      {"review/forge", "risk/..."},
	"review":                  {"risk/..."},
	"risk":                    {"risk/diff"},
	"risk/scan":               {"risk", "risk/diff"},
	"risk/diff":               {},
	"config":                  {"config/policy", "review/permission"},
	"config/policy":           {"risk", "review/permission"},
}

func TestImportsPointDownwards(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name := strings.TrimPrefix(fields[0], module)
		allowed, ok := rowOf(name)
		if !ok {
			t.Errorf("%s has no row in the table of layers", name)
		}
		for _, imp := range fields[1:] {
			if dep, ours := strings.CutPrefix(imp, module); ours && !matchesAny(allowed, dep) {
				t.Errorf("%s imports %s: imports point downwards (DESIGN section 14)", name, dep)
			}
		}
	}
}

func rowOf(name string) ([]string, bool) {
	if row, ok := layers[name]; ok {
		return row, true
	}
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if row, ok := layers[dir+"/..."]; ok {
			return row, true
		}
	}
	return nil, false
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		base, below := strings.CutSuffix(p, "/...")
		if name == base || (below && strings.HasPrefix(name, base+"/")) {
			return true
		}
	}
	return false
}
