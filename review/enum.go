package review

import (
	"fmt"
	"strings"
)

// Every enum of this package begins at 1 unless it says otherwise: its zero
// value means "nobody said", has the empty name, and never counts as the best
// value. Names are kept in constants ("clear asked denied") because a constant
// cannot be changed by anyone.

// enumName is the n-th name (from 1) in names, or "" when there is none.
func enumName(names string, n uint8) string {
	if n == 0 {
		return ""
	}
	for rest := names; ; n-- {
		name, more, found := strings.Cut(rest, " ")
		if n == 1 {
			return name
		}
		if !found {
			return ""
		}
		rest = more
	}
}

// enumCount is how many names there are in names.
func enumCount(names string) uint8 { return uint8(strings.Count(names, " ")) + 1 }

// enumText is the JSON form of an enum: its name, or the empty text for the zero
// value. A number without a name is a mistake that must not be stored.
func enumText(what, names string, n uint8) ([]byte, error) {
	if n > enumCount(names) {
		return nil, fmt.Errorf("write %s: %d has no name: use one of %s", what, n, names)
	}
	return []byte(enumName(names, n)), nil
}

// enumValue reads what enumText wrote.
func enumValue(what, names string, text []byte) (uint8, error) {
	if len(text) == 0 {
		return 0, nil
	}
	for n := uint8(1); n <= enumCount(names); n++ {
		if enumName(names, n) == string(text) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("read %s: unknown value %.40q: use one of %s", what, text, names)
}
