package scan

import (
	"strconv"
	"strings"
)

// readIndented calls emit for every line with a key of a text whose keys are
// nested by indentation: YAML as pnpm and yarn write it, and yarn's own format. A
// key without a value has an empty text. Flow maps (`{a: b}`) are taken apart; it
// says why where an added line is written in another way.
func readIndented(runs [][]line, whole bool, emit func(node)) (why string) {
	type level struct {
		indent int
		key    string
	}
	for i, run := range runs {
		var stack []level
		lost, lowest, items := 0, -1, 0
		for _, l := range run {
			text := strings.TrimRight(l.text, "\r ")
			body := strings.TrimLeft(text, " ")
			if body == "" || body[0] == '#' || body == "---" {
				continue
			}
			indent := len(text) - len(body)
			if lowest >= 0 && indent < lowest {
				lost++
			}
			if lowest < 0 || indent < lowest {
				lowest = indent
			}
			for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
				stack = stack[:len(stack)-1]
			}
			var path []string
			if !whole && lowest > 0 {
				path = append(path, "?"+strconv.Itoa(i)+"."+strconv.Itoa(lost))
			}
			for _, s := range stack {
				path = append(path, s.key)
			}
			if item, ok := strings.CutPrefix(body, "- "); ok {
				items++
				body = strings.TrimLeft(item, " ")
				key := "#" + strconv.Itoa(items)
				if _, _, pair := splitPair(body); !pair {
					emit(node{path: append(path, ""), text: unquote(body), line: l})
					continue
				}
				stack = append(stack, level{indent, key})
				path = append(path, key)
				indent = len(text) - len(body)
			}
			if strings.ContainsAny(body[:1], "?&*!{[|>@`%") || len(stack) > maxDepth {
				if l.added {
					why = "it is written in a form that is not read"
				}
				continue
			}
			key, value, ok := splitPair(body)
			if !ok {
				if l.added {
					why = "it is written in a form that is not read"
				}
				continue
			}
			path = append(path, key)
			if strings.HasPrefix(value, "{") {
				if !flowMap(value, path, l, emit) && l.added {
					why = "it is written in a form that is not read"
				}
				continue
			}
			if value != "" && strings.ContainsAny(value[:1], "&*!|>") && l.added {
				why = "it is written in a form that is not read"
			}
			emit(node{path: path, text: unquote(value), line: l})
			stack = append(stack, level{indent, key})
		}
	}
	return why
}

// splitPair takes `key: value`, `key:` and yarn's `key "value"` apart.
func splitPair(body string) (key, value string, ok bool) {
	rest := body
	if c := body[:1]; c == `"` || c == "'" {
		end := strings.Index(body[1:], c)
		if end < 0 {
			return "", "", false
		}
		key, rest = body[:end+2], body[end+2:]
		if strings.HasPrefix(rest, ",") { // yarn: "a@1", "a@2":
			head, ok := strings.CutSuffix(body, ":")
			return head, "", ok
		}
		switch {
		case strings.HasPrefix(rest, ":"):
			return unquote(key), strings.TrimSpace(rest[1:]), true
		case strings.HasPrefix(rest, " "):
			return unquote(key), strings.TrimSpace(rest), true
		}
		return "", "", false
	}
	if head, tail, found := strings.Cut(body, ": "); found && !strings.ContainsAny(head, " ") {
		return head, strings.TrimSpace(tail), true
	}
	if head, found := strings.CutSuffix(body, ":"); found {
		return head, "", true
	}
	if head, tail, found := strings.Cut(body, " "); found {
		return head, strings.TrimSpace(tail), true
	}
	return "", "", false
}

// flowMap reads a map of plain values in one line.
func flowMap(text string, path []string, l line, emit func(node)) bool {
	inner, ok := strings.CutSuffix(text[1:], "}")
	if !ok || strings.ContainsAny(inner, "{}&*!") {
		return false
	}
	if strings.TrimSpace(inner) == "" {
		emit(node{path: path, line: l})
		return true
	}
	for _, part := range strings.Split(inner, ", ") {
		key, value, ok := splitPair(strings.TrimSpace(part) + " ")
		if !ok && !strings.ContainsAny(part, "[]'\" ") {
			return false
		}
		if ok {
			emit(node{path: append(append([]string{}, path...), key), text: unquote(value), line: l})
		}
	}
	return true
}
