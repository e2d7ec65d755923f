package handlers

import (
	"encoding/json"
	"strconv"
	"time"
)

// value is what the scanner found for a slot.
type value struct {
	raw  []byte   // as it stands in the body; nil when absent
	list [][]byte // its elements, of an array
}

// present reports whether the value was there and not null.
func (v value) present() bool { return len(v.raw) > 0 && v.raw[0] != 'n' }

// isNull reports an explicit null, which GitHub uses for a fork that is gone.
func (v value) isNull() bool { return len(v.raw) > 0 && v.raw[0] == 'n' }

// text is the string, or "" when it is none, cut at max bytes on a rune's
// border.
func (v value) text(max int) string {
	if len(v.raw) < 2 || v.raw[0] != '"' {
		return ""
	}
	in := v.raw[1 : len(v.raw)-1]
	if !plain(in) {
		var s string
		if json.Unmarshal(v.raw, &s) != nil {
			return "" // scanned strings always decode
		}
		return cut(s, max)
	}
	return cut(string(in[:min(len(in), max)]), max)
}

// plain reports bytes that are their own decoding.
func plain(b []byte) bool {
	for _, c := range b {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// cut shortens s to at most max bytes without splitting a rune (case 38).
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && s[max]&0xC0 == 0x80 {
		max--
	}
	return s[:max]
}

// integer is the number, or 0 when it is none or does not fit.
func (v value) integer() int64 {
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (v value) boolean() bool { return string(v.raw) == "true" }

// when is a time as GitHub writes it, zero when it is none: RFC 3339, or seconds
// since 1970 as in push events.
func (v value) when() time.Time {
	if n := v.integer(); n > 0 {
		return time.Unix(n, 0).UTC()
	}
	t, err := time.Parse(time.RFC3339, v.text(64))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
