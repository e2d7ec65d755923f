package risk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits on a policy's globs. A glob beyond them is not matched at all: it
// counts as broken.
const (
	maxGlobBytes   = 512
	maxGlobChoices = 64 // what its braces expand to; doublestar tries them one by one
)

// parseGlob checks a glob and returns it as doublestar is to match it. A leading
// slash means the root, as its absence does; a trailing one means everything
// below. Taken literally, both would match nothing.
func parseGlob(g string) (string, error) {
	g = strings.TrimPrefix(g, "/")
	if strings.HasSuffix(g, "/") {
		g += "**"
	}
	switch {
	case g == "":
		return "", errors.New("it is empty")
	case strings.HasPrefix(g, "!"):
		return "", errors.New("negation is not supported; a rule can only add paths")
	case len(g) > maxGlobBytes:
		return "", fmt.Errorf("it has %d bytes, at most %d are allowed", len(g), maxGlobBytes)
	case !doublestar.ValidatePattern(g):
		return "", errors.New("a bracket, a brace or a backslash is not closed")
	}
	return g, checkBraces(g)
}

// checkBraces bounds the product of the choices, which is what matching costs.
func checkBraces(g string) error {
	total, choices := 1, 0 // choices is 0 outside braces
	class := false         // inside a character class, where nothing else counts
	for i := 0; i < len(g); i++ {
		switch {
		case g[i] == '\\':
			i++
		case class:
			class = g[i] != ']'
		case g[i] == '[':
			class = true
		case g[i] == '{' && choices > 0:
			return errors.New("braces inside braces are not supported")
		case g[i] == '{':
			choices = 1
		case g[i] == ',' && choices > 0:
			choices++
		case g[i] == '}' && choices > 0:
			total, choices = total*choices, 0
		}
		if total > maxGlobChoices || choices > maxGlobChoices {
			return fmt.Errorf("its braces expand to more than %d globs", maxGlobChoices)
		}
	}
	return nil
}

// matchGlob matches a parsed glob. Should doublestar refuse it all the same, that
// counts as a match, since rules only raise.
func matchGlob(g, path string) bool {
	ok, err := doublestar.Match(g, path)
	return ok || err != nil
}
