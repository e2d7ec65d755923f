package permission_test

import (
	"testing"

	"github.com/countersign/countersign/review/permission"
)

func TestOfPaths(t *testing.T) {
	deny := permission.PathRule{ID: "vendor", Paths: []string{"third_party/**"}, Decision: permission.Deny, Reason: "vendored by a bot only"}
	ask := permission.PathRule{ID: "ci", Paths: []string{".github/workflows/**"}, Decision: permission.Ask, Approvers: []string{"@acme/platform"}}
	allow := permission.PathRule{ID: "all", Paths: []string{"**"}, Decision: permission.Allow}
	rules := []permission.PathRule{allow, ask, deny}
	const surface = "policy files are answered by a human"

	for _, tc := range []struct {
		name   string
		change permission.Change
		mode   permission.Mode
		want   permission.Effect
		waived bool
	}{
		{"allowed", permission.Change{Path: "main.go"}, permission.Auto, permission.Allow, false},
		{"asked", permission.Change{Path: ".github/workflows/ci.yml"}, permission.Auto, permission.Ask, false},
		{"asked, mode radical answers", permission.Change{Path: ".github/workflows/ci.yml"}, permission.Radical, permission.Allow, true},
		{"surface, radical may not answer", permission.Change{Path: ".github/workflows/ci.yml", Surface: surface}, permission.Radical, permission.Ask, false},
		{"surface without a rule", permission.Change{Path: "CODEOWNERS", Surface: surface}, permission.Radical, permission.Ask, false},
		{"denied", permission.Change{Path: "third_party/x.c"}, permission.Radical, permission.Deny, false},
		{"denied under the old name (case 137)", permission.Change{Path: "x.c", PreviousPath: "third_party/x.c"}, permission.Auto, permission.Deny, false},
		{"denied whatever the case (case 147)", permission.Change{Path: "Third_Party/x.c"}, permission.Auto, permission.Deny, false},
		{"denied although a surface asks", permission.Change{Path: "third_party/CODEOWNERS", Surface: surface}, permission.Auto, permission.Deny, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := permission.OfPaths([]permission.Change{tc.change}, rules, tc.mode)
			if len(got) != 1 {
				t.Fatalf("got %d verdicts, want 1", len(got))
			}
			if got[0].Decision != tc.want || got[0].Waived != tc.waived {
				t.Errorf("got %s, waived %v; want %s, %v (%+v)", got[0].Decision, got[0].Waived, tc.want, tc.waived, got[0])
			}
		})
	}
}

// Order must not matter, and a broken glob must not switch a denial off.
func TestDenialsBeatEverything(t *testing.T) {
	deny := permission.PathRule{ID: "d", Paths: []string{"secrets/[a-"}, Decision: permission.Deny}
	allow := permission.PathRule{ID: "a", Paths: []string{"**"}, Decision: permission.Allow}
	for _, rules := range [][]permission.PathRule{{deny, allow}, {allow, deny}} {
		for _, mode := range []permission.Mode{permission.Observe, permission.Radical, permission.Auto} {
			v := permission.OfPaths([]permission.Change{{Path: "secrets/a"}}, rules, mode)
			if len(v) != 1 || v[0].Decision != permission.Deny {
				t.Errorf("mode %s: got %+v, want a denial", mode, v)
			}
		}
	}
}

func TestOfAction(t *testing.T) {
	rules := map[permission.Action]permission.Effect{permission.Label: permission.Deny, permission.ModelCall: permission.Ask}
	for _, tc := range []struct {
		action permission.Action
		mode   permission.Mode
		want   permission.Effect
		by     permission.ApproverKind
	}{
		{permission.CheckRun, permission.Auto, permission.Allow, permission.ByRuntime},
		{permission.Label, permission.Radical, permission.Deny, permission.ByPolicy},
		{permission.ModelCall, permission.Auto, permission.Ask, permission.ByPolicy},
		{permission.ModelCall, permission.Radical, permission.Allow, permission.ByMode},
	} {
		v := permission.OfAction(tc.action, "x", rules, tc.mode)
		if v.Decision != tc.want || v.Approver != tc.by || v.Reason == "" {
			t.Errorf("%s in %s: got %+v, want %s by %s", tc.action, tc.mode, v, tc.want, tc.by)
		}
	}
}
