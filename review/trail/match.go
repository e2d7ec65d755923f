package trail

import (
	"encoding/json"
	"strings"
)

// Match says what a record's body must mention; empty fields match everything.
// Bodies are looked through by the names of their fields, so that a word in an
// author's text is no match.
type Match struct {
	Rule     string // a rule that fired, was accepted, or was evaluated
	Decision string // "approved", "needs_human", …
	File     string // a changed file's path
	Reviewer string // a reviewer's provider, model or name
	Tool     string // a tool that a reviewer used
}

// Empty reports whether everything matches.
func (m Match) Empty() bool { return m == Match{} }

// Matches reports whether the record mentions everything that is asked for.
func (m Match) Matches(r Record) bool {
	if m.Empty() {
		return true
	}
	var body any
	if json.Unmarshal(r.Body, &body) != nil {
		return false
	}
	return (m.Rule == "" || mentions(body, m.Rule, equals, "rule", "rules", "fired", "residual", "accepted", "findings", "places", "id")) &&
		(m.Decision == "" || mentions(body, m.Decision, equals, "decision")) &&
		(m.File == "" || mentions(body, m.File, isPath, "path", "paths", "file", "files", "need_review", "places", "target", "truncated")) &&
		(m.Reviewer == "" || mentions(body, m.Reviewer, equals, "reviewer", "provider", "model", "family")) &&
		(m.Tool == "" || mentions(body, m.Tool, equals, "tool"))
}

func equals(have, want string) bool { return have == want || strings.HasPrefix(have, want+" ") }

// isPath takes "path", "path:line", "rule path:line" and "path: why".
func isPath(have, want string) bool {
	if _, after, ok := strings.Cut(have, " "); ok && strings.HasPrefix(after, want) {
		have = after
	}
	return have == want || strings.HasPrefix(have, want+":")
}

// mentions looks for the word under any of the fields, at any depth: the decoder
// bounds it. A map's keys count as words where the field is a count by word.
func mentions(v any, want string, same func(have, want string) bool, fields ...string) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			for _, f := range fields {
				if name == f && holds(inner, want, same) {
					return true
				}
			}
			if mentions(inner, want, same, fields...) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if mentions(inner, want, same, fields...) {
				return true
			}
		}
	}
	return false
}

func holds(v any, want string, same func(have, want string) bool) bool {
	switch v := v.(type) {
	case string:
		return same(v, want)
	case []any:
		for _, inner := range v {
			if holds(inner, want, same) {
				return true
			}
		}
	case map[string]any:
		for name := range v {
			if same(name, want) {
				return true
			}
		}
	}
	return false
}
