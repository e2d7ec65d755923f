package scan

import (
	"context"
	"testing"

	"github.com/countersign/countersign/risk/diff"
)

func TestCompositeActions(t *testing.T) {
	const head = "name: x\ninputs:\n  t:\n    default: a\nruns:\n  using: \"composite\"\n  steps:\n"
	const quiet = "    - run: make\n      shell: bash\n"
	const bad = "    - run: |\n        echo start\n        echo ${{ github.event.issue.title }} ${{ inputs.t }}\n      shell: bash\n"
	const at = "tools/x/action.yml"
	scan := func(before, after string) Result {
		p, files := changed(at, before, after)
		return Patch(context.Background(), p, files, Limits{})
	}
	r := scan(head+quiet, head+quiet+bad+"    - uses: other/action@v3\n")
	wantPlaces(t, r, RuleUntrustedInput, at+":12 high")
	wantPlaces(t, r, RuleUnpinnedAction, at+":14 medium")
	wantPlaces(t, r, RuleWorkflowFault)
	// Steps at the indentation of their key, and keys behind them.
	r = scanOf(newFile("action.yaml", "name: x", "runs:", "  using: composite", "  steps:", "  - uses: other/action@main", "outputs:", "  a: {}"))
	wantPlaces(t, r, RuleUnpinnedAction, "action.yaml:5 medium")
	// It was there and stays.
	r = scan(head+bad+quiet, head+bad+quiet+quiet)
	wantPlaces(t, r, RuleUntrustedInput)
	// Not composite.
	r = scanOf(newFile(at, "name: x", "runs:", "  using: node20", "  main: x.js"))
	wantPlaces(t, r, RuleUntrustedInput)
	if len(r.Gaps) > 0 {
		t.Errorf("gaps %v", r.Gaps)
	}
	for name, f := range map[string]diff.File{
		"in one line":  newFile(at, "runs: {using: composite, steps: [{uses: a/b@v1}]}"),
		"not given":    change(at, 9, "+    - uses: other/action@main"),
		"nothing else": newFile(at, "runs:", "  steps:", "  - uses: a/b@v1", "  using: composite"),
	} {
		if r := scanOf(f); len(r.Gaps) != 2 || r.Gaps[0].Rule != RuleUnpinnedAction || r.Gaps[1].Rule != RuleUntrustedInput {
			t.Errorf("%s: gaps %v", name, r.Gaps)
		}
	}
}
