// Package permission decides what may change and what the bot may do: path
// rules over both paths of every changed file, action rules over what is about
// to be done, modes, and the surfaces that no mode ever approves. Facts in,
// verdicts out: it reads nothing and knows neither GitHub nor a database.
package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Effect is what a rule says. The stricter is the greater.
type Effect uint8

// Effects, from the loosest to the strictest.
const (
	Allow Effect = iota
	Ask
	Deny
)

func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return "unknown"
}

// MarshalText writes the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Mode says how far Countersign goes by itself. Later modes are stricter about
// who answers an ask (DESIGN section 4: observe < radical < auto).
type Mode uint8

// The modes.
const (
	Observe Mode = iota // the same checks, conclusion neutral
	Radical             // an ask is answered by policy, judgment by judgment
	Auto                // an ask goes to a human
)

func (m Mode) String() string {
	switch m {
	case Observe:
		return "observe"
	case Radical:
		return "radical"
	case Auto:
		return "auto"
	}
	return "unknown"
}

// MarshalText writes the mode's name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a mode's name.
func (m *Mode) UnmarshalText(b []byte) error {
	v, err := ParseMode(string(b))
	if err == nil {
		*m = v
	}
	return err
}

// ParseMode reads a mode's name.
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{Observe, Radical, Auto} {
		if s == m.String() {
			return m, nil
		}
	}
	return Observe, fmt.Errorf("unknown mode %q: use observe, auto or radical", s)
}

// Action is something that the bot does where others see it, or that costs
// money. No other way to do it exists (DESIGN section 2).
type Action string

// The actions.
const (
	CheckRun        Action = "check_run"
	ReviewComment   Action = "review_comment"
	Reply           Action = "reply"
	Reaction        Action = "reaction"
	Label           Action = "label"
	ModelCall       Action = "model_call"
	MergeGroupCheck Action = "merge_group_check"
)

// Actions lists every action once, in a fixed order.
func Actions() []Action {
	return []Action{CheckRun, ReviewComment, Reply, Reaction, Label, ModelCall, MergeGroupCheck}
}

// PathRule says who may change what. Paths are doublestar globs; they raise, so
// they ignore case (case 147).
type PathRule struct {
	ID        string   `json:"id"`
	Paths     []string `json:"paths"`
	Decision  Effect   `json:"decision"`
	Approvers []string `json:"approvers,omitempty"` // "@org/team" or "@login"; none: anyone with write access
	Reason    string   `json:"reason,omitempty"`
}

// ApproverKind says on what authority an action or a path was allowed.
type ApproverKind string

// The kinds of approver that a record names.
const (
	ByHuman   ApproverKind = "human"
	ByPolicy  ApproverKind = "permission_policy"
	ByMode    ApproverKind = "mode_policy"
	ByRuntime ApproverKind = "runtime_policy"
)

// Verdict is one evaluation; each becomes a permission_decision record.
type Verdict struct {
	Subject   string       `json:"subject"` // "path" or "action"
	Target    string       `json:"target"`  // the path as it is shown, or the action
	Rules     []string     `json:"rules,omitempty"`
	Decision  Effect       `json:"decision"`
	Approver  ApproverKind `json:"approver_kind"`
	Approvers []string     `json:"approvers,omitempty"`
	Reason    string       `json:"reason"`
	// Waived is true for an ask that mode radical answered: an automatic
	// approval, which is a judgment in the trail.
	Waived bool `json:"waived,omitempty"`
}

// Change is a changed file as permission sees it.
type Change struct {
	Path         string
	PreviousPath string
	// Surface is set when no mode may approve this change (DESIGN section 4,
	// "never approved by mode or model"); it says why, for people.
	Surface string
}

// OfAction says whether the bot may take an action. What the rules do not name
// is allowed: the action set is closed and each has its own default.
func OfAction(a Action, target string, rules map[Action]Effect, mode Mode) Verdict {
	v := Verdict{Subject: "action", Target: string(a) + " " + target, Decision: Allow, Approver: ByRuntime, Reason: "the default allows it"}
	e, named := rules[a]
	if !named {
		return v
	}
	v.Rules = []string{"actions." + string(a)}
	v.Decision, v.Approver = e, ByPolicy
	v.Reason = "the policy says " + e.String()
	if e == Ask && mode == Radical {
		v.Decision, v.Approver, v.Waived = Allow, ByMode, true
		v.Reason = "the policy asks; mode radical answers for the policy"
	}
	return v
}

// OfPaths evaluates every changed file under both of its names. Files that no
// rule and no surface touches have no verdict: they are allowed by default. The
// strictest matching rule decides, and every rule that matched is named.
func OfPaths(changes []Change, rules []PathRule, mode Mode) []Verdict {
	var out []Verdict
	for _, c := range changes {
		if v, ok := ofPath(c, rules, mode); ok {
			out = append(out, v)
		}
	}
	return out
}

func ofPath(c Change, rules []PathRule, mode Mode) (Verdict, bool) {
	v := Verdict{Subject: "path", Target: shown(c), Approver: ByPolicy}
	var reasons []string
	for _, r := range rules {
		if !matches(r, c) {
			continue
		}
		v.Rules = append(v.Rules, r.ID)
		if r.Decision > v.Decision {
			v.Decision, reasons, v.Approvers = r.Decision, nil, nil
		}
		if r.Decision == v.Decision {
			if r.Reason != "" {
				reasons = append(reasons, r.Reason)
			}
			v.Approvers = union(v.Approvers, r.Approvers)
		}
	}
	if v.Decision == Ask && mode == Radical && c.Surface == "" {
		v.Decision, v.Approver, v.Waived = Allow, ByMode, true
		reasons = append(reasons, "mode radical answers for the policy")
	}
	if c.Surface != "" && v.Decision < Ask {
		v.Decision, v.Approver = Ask, ByRuntime
	}
	if c.Surface != "" {
		v.Rules = append(v.Rules, "surface")
		reasons = append(reasons, c.Surface)
	}
	v.Reason = strings.Join(reasons, "; ")
	return v, len(v.Rules) > 0
}

func shown(c Change) string {
	if c.PreviousPath != "" && c.PreviousPath != c.Path {
		return c.PreviousPath + " → " + c.Path
	}
	return c.Path
}

func matches(r PathRule, c Change) bool {
	for _, glob := range r.Paths {
		for _, p := range []string{c.Path, c.PreviousPath} {
			if p == "" {
				continue
			}
			ok, err := doublestar.Match(strings.ToLower(glob), strings.ToLower(p))
			// A glob that does not parse protects nothing unless it counts as
			// matching everything (case 126); policy validation refuses it first.
			if ok || err != nil {
				return true
			}
		}
	}
	return false
}

func union(a, b []string) []string {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}
