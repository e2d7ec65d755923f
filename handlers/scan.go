package handlers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// maxDepth bounds nesting. GitHub's payloads nest less than ten deep; without a
// bound, 25 MB of brackets would exhaust the stack.
const maxDepth = 64

// errTruncated is a body that ends inside a value.
var errTruncated = errors.New("the JSON ends before its value does")

// shape names what is wanted of a JSON object: for each wanted key the slot that
// receives its value, or the shape of the object inside. Everything else is only
// checked to be JSON. Shapes are built once per event and never change.
type shape struct {
	keys []shapeKey
}

type shapeKey struct {
	name string
	slot int    // index of the value, or -1
	sub  *shape // shape of an object
}

// scan checks that body is one JSON value and collects the wanted ones in the
// same pass. Validating and decoding apart would read a large body twice, and
// reading it is most of what a delivery costs.
func scan(body []byte, want *shape, slots []value) error {
	s := scanner{b: body, slots: slots}
	s.space()
	if err := s.value(want, -1, 0); err != nil {
		return fmt.Errorf("at byte %d: %w", s.i, err)
	}
	s.space()
	if s.i != len(s.b) {
		return fmt.Errorf("at byte %d: something follows the JSON value", s.i)
	}
	return nil
}

type scanner struct {
	b     []byte
	i     int
	slots []value
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) value(want *shape, slot, depth int) error {
	if s.i >= len(s.b) {
		return errTruncated
	}
	if depth > maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	start := s.i
	var err error
	switch c := s.b[s.i]; {
	case c == '{':
		err = s.object(want, depth)
	case c == '[':
		err = s.array(slot, depth)
	case c == '"':
		err = s.str()
	case c == 't':
		err = s.literal("true")
	case c == 'f':
		err = s.literal("false")
	case c == 'n':
		err = s.literal("null")
	case c == '-' || (c >= '0' && c <= '9'):
		err = s.number()
	default:
		err = fmt.Errorf("unexpected %q", c)
	}
	if err == nil && slot >= 0 {
		s.slots[slot].raw = s.b[start:s.i]
	}
	return err
}

func (s *scanner) object(want *shape, depth int) error {
	s.i++
	s.space()
	if s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		return nil
	}
	for {
		sub, slot, err := s.key(want)
		if err != nil {
			return err
		}
		if err := s.value(sub, slot, depth+1); err != nil {
			return err
		}
		more, err := s.next('}')
		if err != nil || !more {
			return err
		}
	}
}

// key reads `"name" :` and finds what is wanted under it.
func (s *scanner) key(want *shape) (*shape, int, error) {
	if s.i >= len(s.b) {
		return nil, -1, errTruncated
	}
	if s.b[s.i] != '"' {
		return nil, -1, fmt.Errorf("unexpected %q where a name should be", s.b[s.i])
	}
	start := s.i + 1
	if err := s.str(); err != nil {
		return nil, -1, err
	}
	name := s.b[start : s.i-1]
	s.space()
	if s.i >= len(s.b) {
		return nil, -1, errTruncated
	}
	if s.b[s.i] != ':' {
		return nil, -1, fmt.Errorf("unexpected %q where a colon should be", s.b[s.i])
	}
	s.i++
	s.space()
	if want != nil {
		for i := range want.keys {
			if k := &want.keys[i]; string(name) == k.name {
				return k.sub, k.slot, nil
			}
		}
	}
	return nil, -1, nil
}

// maxListed bounds the elements kept of an array.
const maxListed = 100

// array lists the elements of a wanted array as they stand in the body, so that
// what belongs together in an element stays together. A shape is of objects and
// looks for nothing inside an array.
func (s *scanner) array(slot, depth int) error {
	s.i++
	s.space()
	if s.i < len(s.b) && s.b[s.i] == ']' {
		s.i++
		return nil
	}
	for {
		start := s.i
		if err := s.value(nil, -1, depth+1); err != nil {
			return err
		}
		if slot >= 0 && len(s.slots[slot].list) < maxListed {
			s.slots[slot].list = append(s.slots[slot].list, s.b[start:s.i])
		}
		more, err := s.next(']')
		if err != nil || !more {
			return err
		}
	}
}

// next reads what stands between members; more is false at the closing byte.
func (s *scanner) next(closing byte) (more bool, err error) {
	s.space()
	if s.i >= len(s.b) {
		return false, errTruncated
	}
	switch s.b[s.i] {
	case closing:
		s.i++
		return false, nil
	case ',':
		s.i++
		s.space()
		return true, nil
	}
	return false, fmt.Errorf("unexpected %q where a comma or %q should be", s.b[s.i], closing)
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.b[s.i:], []byte(word)) {
		return fmt.Errorf("unexpected %q", s.b[s.i])
	}
	s.i += len(word)
	return nil
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// special has the high bit set in each byte that a string cannot pass over: a
// quote, a backslash, a control character. Bytes below the lowest such bit are
// exact, which is all that is asked of it.
func special(w uint64) uint64 {
	quote := w ^ (eachByte * '"')
	slash := w ^ (eachByte * '\\')
	return ((w-eachByte*0x20)&^w | (quote-eachByte)&^quote | (slash-eachByte)&^slash) & highBits
}

// str reads a string, eight bytes at a time where nothing in it needs a look.
func (s *scanner) str() error {
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
			i++
		}
		if i >= len(b) {
			s.i = i
			return errTruncated
		}
		switch b[i] {
		case '"':
			s.i = i + 1
			return nil
		case '\\':
			n := escape(b[i:])
			if n == 0 {
				s.i = i
				return errors.New("a string holds an escape that JSON does not have")
			}
			i += n
		default:
			s.i = i
			return errors.New("a string holds an unescaped control character")
		}
	}
}

// escape is the length of the escape at the start of b, 0 when it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (s *scanner) number() error {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if s.digits() == 0 {
		return errors.New("a number without digits")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return errors.New("a number without digits after its point")
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if s.digits() == 0 {
			return errors.New("a number without digits in its exponent")
		}
	}
	return nil
}

func (s *scanner) digits() (n int) {
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
		n++
	}
	return n
}
