package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/countersign/countersign/risk"
	"github.com/countersign/countersign/risk/diff"
)

// The rules of findings. Those that answer a content rule of package risk have
// its id.
const (
	RuleCredential         = risk.RuleCredential
	RuleHiddenCharacters   = risk.RuleHiddenCharacters
	RuleHiddenText         = risk.RuleHiddenText
	RuleDeceptivePath      = risk.RuleDeceptivePath
	RuleDependencyChange   = risk.RuleDependencyChange
	RuleTestsRemoved       = risk.RuleTestsRemoved
	RuleConflictMarker     = "conflict-marker"
	RuleUnpinnedAction     = "unpinned-action"
	RulePermissionsWidened = "permissions-widened"
	RuleUntrustedCheckout  = "untrusted-checkout"
	RuleUntrustedInput     = "untrusted-input"
	RuleWorkflowFault      = "workflow-fault"
)

// Severity is how grave a finding is; its values and names are those of
// review.Severity.
type Severity uint8

// The values of Severity, least first. Low and medium ones are shown and decide
// nothing; a person can accept a high one, nobody a critical one.
const (
	Low Severity = iota + 1
	Medium
	High
	Critical
)

// String returns the severity in lower case.
func (s Severity) String() string {
	switch s {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	case Critical:
		return "critical"
	}
	return "severity(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText writes the severity as String does.
func (s Severity) MarshalText() ([]byte, error) {
	if s < Low || s > Critical {
		return nil, fmt.Errorf("write severity: %s is none of low, medium, high, critical", s)
	}
	return []byte(s.String()), nil
}

// Finding is one danger at one place.
type Finding struct {
	Rule     string    `json:"rule"`
	Path     string    `json:"path"`
	Side     diff.Side `json:"side"`           // Left for what the patch takes out: a test, a registry; else Right
	Line     int       `json:"line,omitempty"` // from 1; 0 means the file as a whole
	Severity Severity  `json:"severity"`
	Title    string    `json:"title"`           // what is wrong, without a final stop
	Why      string    `json:"why"`             // what can go wrong because of it
	Do       string    `json:"do"`              // what to do about it
	Quote    string    `json:"quote,omitempty"` // the line, or what names the finding, made visible, secrets masked; empty on the left side
}

// maxQuote bounds a quote and what a title repeats of a source, in bytes.
const (
	maxQuote  = 200
	maxDetail = 120
)

// visible spells a piece of source so that it can be shown: characters that do
// not show or that act on the display become <U+XXXX>, bytes that are not UTF-8
// become <XX>, and what is over limit bytes is left out, marked.
func visible(text string, limit int) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if b.Len() >= limit {
			b.WriteString("…")
			break
		}
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, "<%02X>", text[0])
		case r == '\t':
			b.WriteByte(' ')
		case r == ' ' || r == '\u00A0':
			b.WriteRune(r)
		case unicode.IsSpace(r), unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Co,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector), r == '\u2800':
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return strings.TrimSpace(b.String())
}

// sortFindings puts the worst first, then by place.
func sortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Title, b.Title))
	})
}
