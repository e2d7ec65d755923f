package risk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits on a policy's globs, whose cost is a product of these. A glob beyond
// them is not matched at all: it counts as broken.
const (
	maxGlobBytes   = 512
	maxGlobChoices = 64 // what its braces expand to; doublestar tries them one by one

	// The longest path that is matched at all, four times what Windows opens. Beyond
	// it the cost of a `**` is the author's to choose.
	maxMatchBytes = 1024
)

// parseGlob checks a glob and returns it as doublestar is to match it. A leading
// slash or "./" means the root, as its absence does; a trailing slash means
// everything below. Taken literally, they would match nothing.
func parseGlob(g string) (string, error) {
	g = strings.TrimPrefix(strings.TrimPrefix(g, "./"), "/")
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
	case slices.ContainsFunc(strings.Split(g, "/"), func(seg string) bool { return seg == "" || seg == "." || seg == ".." }):
		return "", errors.New("it has a segment that no path has: nothing, . or ..")
	}
	return g, checkSyntax(g)
}

// checkSyntax refuses what doublestar would take literally, so that a rule is
// never silently inert: extended globs and a backslash for a folder's slash. It
// bounds the product of the braces' choices, which is what matching costs.
func checkSyntax(g string) error {
	total, choices := 1, 0 // choices is 0 outside braces
	class := false         // inside a character class, where nothing else counts
	for i := 0; i < len(g); i++ {
		switch {
		case g[i] == '\\':
			i++
			if startsWithLetter(g[i:]) {
				return errors.New("a backslash stands before a letter; folders are separated by a slash")
			}
		case class:
			class = g[i] != ']'
		case g[i] == '[':
			class = true
		case g[i] == '(' && i > 0 && strings.IndexByte("!?*+@", g[i-1]) >= 0:
			return fmt.Errorf("%s…) is not supported; a literal bracket is written as \\(", g[i-1:i+1])
		case g[i] == '{' && choices > 0:
			return errors.New("braces inside braces are not supported")
		case g[i] == '{':
			choices = 1
		case g[i] == ',' && choices > 0:
			choices++
		case g[i] == '}' && choices > 0:
			total, choices = total*choices, 0
		}
		if total > maxGlobChoices {
			return fmt.Errorf("its braces expand to more than %d globs", maxGlobChoices)
		}
	}
	return nil
}

// matchGlob matches a parsed glob. A path too long for it counts as a match, and
// so does a glob that doublestar refuses all the same, since rules only raise.
func matchGlob(g, path string) bool {
	if len(path) > maxMatchBytes {
		return true
	}
	ok, err := doublestar.Match(g, path)
	return ok || err != nil
}
