package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reduceSchema drops descriptions, remarks, blank lines, the mutations that are not named with what only
// they return, and fields that the published schema lists twice.
func reduceSchema(text string, mutations []string) (string, error) {
	fieldName := regexp.MustCompile(`^  ([A-Za-z_]\w*)[(:]`)
	var out strings.Builder
	var seen map[string]bool // fields of the type at hand
	skipType, skipField, inMutation := false, false, false
	found := 0
	for _, line := range withoutProse(text) {
		if !strings.HasPrefix(line, " ") && strings.HasSuffix(line, "{") {
			inMutation, seen = strings.HasPrefix(line, "type Mutation "), map[string]bool{}
			skipType = !keepType(line, mutations)
		}
		if m := fieldName.FindStringSubmatch(line); m != nil {
			skipField = seen[m[1]] || inMutation && !slices.Contains(mutations, m[1])
			if inMutation && !skipField {
				found++
			}
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
	if found != len(mutations) {
		return "", fmt.Errorf("the schema has %d of the %d mutations that are named", found, len(mutations))
	}
	return out.String(), nil
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

// keepType drops what only mutations return, but for those named.
func keepType(head string, mutations []string) bool {
	words := strings.Fields(head)
	if len(words) < 2 || words[0] != "type" || !strings.HasSuffix(words[1], "Payload") {
		return true
	}
	name := strings.TrimSuffix(words[1], "Payload")
	return slices.Contains(mutations, strings.ToLower(name[:1])+name[1:])
}
