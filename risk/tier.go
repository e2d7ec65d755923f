package risk

import (
	"fmt"
	"strconv"
)

// Tier is how risky a change is. Tiers are ordered: Low < Critical.
type Tier uint8

// The tiers.
const (
	Low Tier = iota
	Medium
	High
	Critical
)

// String returns the tier in lower case.
func (t Tier) String() string {
	switch t {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	case Critical:
		return "critical"
	}
	return "tier(" + strconv.Itoa(int(t)) + ")"
}

// ParseTier reads a tier as String writes it.
func ParseTier(s string) (Tier, error) {
	for t := Low; t <= Critical; t++ {
		if s == t.String() {
			return t, nil
		}
	}
	return Low, fmt.Errorf("read tier: %q is none of low, medium, high, critical", s)
}

// MarshalText writes the tier as String does; a value outside the four tiers is
// an error.
func (t Tier) MarshalText() ([]byte, error) {
	if t > Critical {
		return nil, fmt.Errorf("write tier: %s is none of low, medium, high, critical", t)
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads a tier as ParseTier does.
func (t *Tier) UnmarshalText(b []byte) error {
	v, err := ParseTier(string(b))
	if err != nil {
		return err
	}
	*t = v
	return nil
}
