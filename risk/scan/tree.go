package scan

import (
	"strconv"
	"strings"
)

// node is one value of a structured text. A hunk is seldom a whole text, so these
// readers take what is there: a value whose outer keys are not shown has a path
// that begins with a word like "?3.0", the same before and after the change.
type node struct {
	// path holds the keys that lead to the value, its own last; elements of lists
	// are "#" and a number, and a plain value in a list has the last key "".
	// It is only valid during the call.
	path []string
	text string
	line line
}

// key is the value's own name, or the nth name above it, empty where not known.
func (n node) key(up int) string {
	if i := len(n.path) - 1 - up; i >= 0 {
		return n.path[i]
	}
	return ""
}

// under returns the path of the object that the value is in, as one string.
func (n node) under() string { return strings.Join(n.path[:max(0, len(n.path)-1)], "\x00") }

// unknownRoot reports whether the outermost keys are not shown.
func (n node) unknownRoot() bool { return len(n.path) > 0 && strings.HasPrefix(n.path[0], "?") }

// maxDepth bounds how deep a text may be nested; what is deeper is not read.
const maxDepth = 64

// frame is an object or a list that is open.
type frame struct {
	key  string
	list bool
	n    int // elements so far
}

// tree reads JSON and, with toml set, TOML. It reads on over what is wrong.
type tree struct {
	toml bool
	emit func(node)

	run, lost  int // which run of lines, and how many outer objects were left
	elements   int // objects and lists without a key outside of all others
	whole      bool
	table      []string // TOML's header
	tables     map[string]int
	stack      []frame
	below      int    // open brackets deeper than maxDepth
	key, held  string // held may become a key or a value; both as they are written
	hasKey     bool
	hasHeld    bool
	heldAt     line
	comment    bool   // inside /* */
	multi      string // the sign that ends a string over several lines
	deep, lame bool
}

// readTree calls emit for every value of the runs. It says why it could not read
// all of it, if so.
func readTree(runs [][]line, whole, toml bool, emit func(node)) (why string) {
	t := &tree{toml: toml, emit: emit, whole: whole, tables: map[string]int{}}
	for i, run := range runs {
		t.run, t.lost, t.elements, t.table, t.stack, t.below = i, 0, 0, nil, nil, 0
		t.key, t.held, t.hasKey, t.hasHeld, t.comment, t.multi = "", "", false, false, false, ""
		for _, l := range run {
			t.line(l)
		}
		t.flush()
	}
	switch {
	case t.deep:
		return "it is nested too deeply"
	case t.lame:
		return "a string in it does not end"
	}
	return ""
}

// root begins every path: nothing where the whole text is known.
func (t *tree) root() []string {
	if t.table != nil {
		return t.table
	}
	if t.whole {
		return nil
	}
	return []string{"?" + strconv.Itoa(t.run) + "." + strconv.Itoa(t.lost)}
}

func (t *tree) value(text string, at line) {
	path := append([]string{}, t.root()...)
	for _, f := range t.stack {
		path = append(path, f.key)
	}
	if t.below > 0 {
		return
	}
	if t.hasKey {
		path = append(path, t.keys(t.key)...)
	} else {
		path = append(path, "")
	}
	t.key, t.hasKey = "", false
	t.emit(node{path: path, text: unquote(text), line: at})
}

// keys takes a key apart: TOML's may be dotted.
func (t *tree) keys(raw string) []string {
	if t.toml {
		return dotted(raw)
	}
	return []string{unquote(raw)}
}

// flush gives out what was held for a value.
func (t *tree) flush() {
	if t.hasHeld {
		t.hasHeld = false
		t.value(t.held, t.heldAt)
	}
}

func (t *tree) push(list bool) {
	t.flush()
	if len(t.stack) >= maxDepth {
		t.deep = true
		t.below++
		return
	}
	f := frame{list: list}
	switch {
	case t.hasKey:
		f.key = strings.Join(t.keys(t.key), ".")
	case len(t.stack) > 0:
		top := &t.stack[len(t.stack)-1]
		f.key = "#" + strconv.Itoa(top.n)
		top.n++
	case t.whole && !t.toml && t.table == nil && t.lost == 0:
		t.lost++ // the object that is the text itself
		t.table = []string{}
		return
	default:
		f.key = "#" + strconv.Itoa(t.elements)
		t.elements++
	}
	t.key, t.hasKey = "", false
	t.stack = append(t.stack, f)
}

func (t *tree) pop() {
	t.flush()
	t.key, t.hasKey = "", false
	switch {
	case t.below > 0:
		t.below--
	case len(t.stack) > 0:
		t.stack = t.stack[:len(t.stack)-1]
	case !t.whole:
		t.lost++
		t.table = nil
	}
}

func (t *tree) line(l line) {
	text := strings.TrimRight(l.text, "\r")
	if l.no == 1 {
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	if t.toml && t.multi == "" && len(t.stack) == 0 {
		t.flush()
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[") && !t.hasKey {
			t.header(trimmed)
			return
		}
		t.key, t.hasKey = "", false
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case t.comment || t.multi != "":
			end := "*/"
			if t.multi != "" {
				end = t.multi
			}
			at := strings.Index(rest, end)
			if at < 0 {
				return
			}
			t.comment, t.multi = false, ""
			i += at + len(end)
		case c == ' ' || c == '\t':
			i++
		case t.toml && c == '#':
			return
		case !t.toml && strings.HasPrefix(rest, "//"):
			return
		case !t.toml && strings.HasPrefix(rest, "/*"):
			t.comment = true
			i += 2
		case c == ',':
			t.flush()
			t.key, t.hasKey = "", false
			i++
		case c == '{' || c == '[':
			t.push(c == '[')
			i++
		case c == '}' || c == ']':
			t.pop()
			i++
		case !t.toml && c == ':' || t.toml && c == '=':
			t.key, t.hasKey, t.held, t.hasHeld = t.held, true, "", false
			i++
		default:
			i += t.word(rest, l)
		}
	}
}

// word takes a string or a bare word and returns its length.
func (t *tree) word(text string, l line) int {
	n := 0
	switch c := text[0]; {
	case t.toml && (strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "'''")):
		t.multi, n = text[:3], 3
		t.hold(`""`, l)
		return n
	case c == '"' || t.toml && c == '\'':
		for n = 1; n < len(text) && text[n] != c; n++ {
			if text[n] == '\\' && c == '"' {
				n++
			}
		}
		if n = min(n+1, len(text)); n < 2 || text[n-1] != c {
			t.lame = t.lame || l.added
		}
	default:
		stop := ",:{}[]\" \t"
		if t.toml {
			stop = ",={}[]\"'# \t"
		}
		if n = strings.IndexAny(text, stop); n < 0 {
			n = len(text)
		}
		n = max(n, 1)
	}
	t.hold(text[:n], l)
	return n
}

// hold keeps a word until it is known whether it is a key. TOML's keys may be of
// several words, joined by dots.
func (t *tree) hold(word string, l line) {
	if t.hasHeld && t.toml && (strings.HasSuffix(t.held, ".") || strings.HasPrefix(word, ".")) && len(t.held) < 1<<10 {
		t.held += word
		return
	}
	t.flush()
	t.held, t.hasHeld, t.heldAt = word, true, l
}

// header takes TOML's [table] and [[table]].
func (t *tree) header(text string) {
	name, list := strings.CutPrefix(text, "[[")
	name = strings.TrimPrefix(name, "[")
	if end := strings.LastIndexByte(stripComment(name), ']'); end >= 0 {
		name = name[:end]
	}
	name = strings.TrimRight(name, "]")
	t.table = append([]string{}, dotted(strings.TrimSpace(name))...)
	if list {
		id := strings.Join(t.table, "\x00")
		if !t.whole {
			id = strconv.Itoa(t.run) + id
		}
		t.tables[id]++
		t.table = append(t.table, "#"+strconv.Itoa(t.run)+"."+strconv.Itoa(t.tables[id]))
	}
	if len(t.table) > maxDepth {
		t.table, t.deep = t.table[:maxDepth], true
	}
}

// stripComment cuts a comment off a line of TOML; a "#" inside quotes is none.
func stripComment(text string) string {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return text[:i]
		}
	}
	return text
}

// dotted takes a TOML key apart at the dots outside quotes.
func dotted(key string) []string {
	var parts []string
	start, quote := 0, byte(0)
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '.':
			parts = append(parts, unquote(strings.TrimSpace(key[start:i])))
			start = i + 1
		}
	}
	return append(parts, unquote(strings.TrimSpace(key[start:])))
}

// unquote returns what a string stands for: JSON's and TOML's escapes are near
// enough to Go's. What is no string is returned as it is.
func unquote(text string) string {
	if len(text) < 2 || text[0] != '"' && text[0] != '\'' || text[len(text)-1] != text[0] {
		return text
	}
	inner := text[1 : len(text)-1]
	if text[0] == '\'' || !strings.Contains(inner, `\`) {
		return inner
	}
	if s, err := strconv.Unquote(`"` + strings.ReplaceAll(inner, `\/`, "/") + `"`); err == nil {
		return s
	}
	return inner
}
