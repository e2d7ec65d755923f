package main

import (
	"regexp"
	"strings"
)

// reduceSchema drops descriptions, remarks, blank lines, the root of mutations and what only they
// return (the simulator answers queries), and fields that the published schema lists twice.
func reduceSchema(text string) string {
	fieldName := regexp.MustCompile(`^  ([A-Za-z_]\w*)[(:]`)
	var out strings.Builder
	var seen map[string]bool // fields of the type at hand
	skipType, skipField := false, false
	for _, line := range withoutProse(text) {
		if !strings.HasPrefix(line, " ") && strings.HasSuffix(line, "{") {
			skipType, seen = isMutationType(line), map[string]bool{}
		}
		if m := fieldName.FindStringSubmatch(line); m != nil {
			skipField = seen[m[1]]
			if seen != nil {
				seen[m[1]] = true
			}
		}
		if line == "}" {
			skipField = false
		}
		if !skipType && !skipField {
			out.WriteString(line + "\n")
		}
		if line == "}" {
			skipType = false
		}
	}
	return strings.ReplaceAll(out.String(), "  mutation: Mutation\n", "")
}

// withoutProse returns the lines that are neither description nor remark nor blank.
func withoutProse(text string) []string {
	var out []string
	inText := false
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case inText:
			inText = !strings.HasSuffix(trimmed, `"""`)
		case strings.HasPrefix(trimmed, `"""`):
			inText = len(trimmed) < 6 || !strings.HasSuffix(trimmed, `"""`)
		case trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			out = append(out, line)
		}
	}
	return out
}

// isMutationType: the root of mutations, and what only they return.
func isMutationType(head string) bool {
	words := strings.Fields(head)
	return len(words) > 1 && words[0] == "type" && (words[1] == "Mutation" || strings.HasSuffix(words[1], "Payload"))
}
