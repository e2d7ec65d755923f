package risk

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Kind says what a changed file is. A file can be of several kinds.
type Kind uint8

// The kinds. NoKind is the zero value and stands for "not said".
const (
	NoKind Kind = iota
	Source
	Test
	Docs
	Config
	Dependency // manifests, lock files, registry settings
	CI         // what runs in CI: workflows, actions, make targets, scripts
	Build
	Infra
	DB
	Auth
	Secrets
	Policy // Countersign's own files, CODEOWNERS, branch rules
	Generated
	Vendored
	Binary
	Submodule
	kindEnd
)

// String returns the kind's name, empty for NoKind.
func (k Kind) String() string {
	switch k {
	case Source:
		return "source"
	case Test:
		return "test"
	case Docs:
		return "docs"
	case Config:
		return "config"
	case Dependency:
		return "dependency"
	case CI:
		return "ci"
	case Build:
		return "build"
	case Infra:
		return "infra"
	case DB:
		return "db"
	case Auth:
		return "auth"
	case Secrets:
		return "secrets"
	case Policy:
		return "policy"
	case Generated:
		return "generated"
	case Vendored:
		return "vendored"
	case Binary:
		return "binary"
	case Submodule:
		return "submodule"
	}
	return ""
}

// ParseKind reads a kind as String writes it. The empty string is NoKind.
func ParseKind(s string) (Kind, error) {
	for k := NoKind; k < kindEnd; k++ {
		if s == k.String() {
			return k, nil
		}
	}
	return NoKind, fmt.Errorf("read kind: %q is none of %s", s, strings.Join(allKinds().names(), ", "))
}

// MarshalText writes the kind as String does.
func (k Kind) MarshalText() ([]byte, error) {
	if k >= kindEnd {
		return nil, fmt.Errorf("write kind: %d is no kind", k)
	}
	return []byte(k.String()), nil
}

// UnmarshalText reads a kind as ParseKind does.
func (k *Kind) UnmarshalText(b []byte) error {
	v, err := ParseKind(string(b))
	if err != nil {
		return err
	}
	*k = v
	return nil
}

// Kinds is a set of kinds.
type Kinds uint32

// KindsOf returns the set of the given kinds; NoKind adds nothing.
func KindsOf(kinds ...Kind) Kinds {
	var s Kinds
	for _, k := range kinds {
		s = s.Add(k)
	}
	return s
}

func allKinds() Kinds {
	var s Kinds
	for k := NoKind + 1; k < kindEnd; k++ {
		s = s.Add(k)
	}
	return s
}

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return k > NoKind && k < kindEnd && s&(1<<k) != 0 }

// HasAny reports whether the two sets share a kind.
func (s Kinds) HasAny(o Kinds) bool { return s&o != 0 }

// Within reports whether the set is not empty and holds no kind outside o.
func (s Kinds) Within(o Kinds) bool { return s != 0 && s&^o == 0 }

// Add returns the set with k in it.
func (s Kinds) Add(k Kind) Kinds {
	if k == NoKind || k >= kindEnd {
		return s
	}
	return s | 1<<k
}

// Remove returns the set without k.
func (s Kinds) Remove(k Kind) Kinds {
	if k == NoKind || k >= kindEnd {
		return s
	}
	return s &^ (1 << k)
}

// List returns the kinds in the order of their declaration.
func (s Kinds) List() []Kind {
	var list []Kind
	for k := NoKind + 1; k < kindEnd; k++ {
		if s.Has(k) {
			list = append(list, k)
		}
	}
	return list
}

func (s Kinds) names() []string {
	names := []string{}
	for _, k := range s.List() {
		names = append(names, k.String())
	}
	return names
}

// String returns the names, separated by a space.
func (s Kinds) String() string { return strings.Join(s.names(), " ") }

// MarshalJSON writes the set as a list of names.
func (s Kinds) MarshalJSON() ([]byte, error) { return json.Marshal(s.names()) }

// UnmarshalJSON reads a list of names.
func (s *Kinds) UnmarshalJSON(b []byte) error {
	// Not a []Kind: encoding/json would read a string into it as base64.
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("read kinds: %w", err)
	}
	var set Kinds
	for _, name := range names {
		k, err := ParseKind(name)
		if err != nil {
			return fmt.Errorf("read kinds: %w", err)
		}
		set = set.Add(k)
	}
	*s = set
	return nil
}
