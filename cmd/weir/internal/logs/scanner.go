package logs

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner walks through one JSON object. It takes what encoding/json takes, up to a depth of maxDepth, and allocates
// nothing once its buffers have grown. It is for one goroutine.
type scanner struct {
	s    []byte // what is left
	name []byte // of the value at hand, with points
	text []byte // the strings that had escapes
	tell func(name, value []byte)
}

const maxDepth = 32

var (
	errJSON = errors.New("is no JSON object")
	errDeep = errors.New("is an object nested too deep")
)

// scan tells each value of the object that is no object, array or null, under the names that lead to it with points
// between; elements of an array have the array's. A string is told without its quotes and escapes; it is valid until the
// next scan.
func (s *scanner) scan(line []byte, tell func(name, value []byte)) error {
	s.s, s.name, s.text, s.tell = line, s.name[:0], s.text[:0], tell
	if s.space(); len(s.s) == 0 || s.s[0] != '{' {
		return errJSON
	}
	if err := s.object(1); err != nil {
		return err
	}
	if s.space(); len(s.s) > 0 {
		return errJSON
	}
	return nil
}

func (s *scanner) space() {
	for len(s.s) > 0 && (s.s[0] == ' ' || s.s[0] == '\t' || s.s[0] == '\r' || s.s[0] == '\n') {
		s.s = s.s[1:]
	}
}

// eat steps over c, if it comes next, and over space on both sides.
func (s *scanner) eat(c byte) bool {
	s.space()
	if len(s.s) == 0 || s.s[0] != c {
		return false
	}
	s.s = s.s[1:]
	s.space()
	return true
}

func (s *scanner) object(depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	s.eat('{')
	if s.eat('}') {
		return nil
	}
	for outer := len(s.name); ; {
		name, ok := s.string()
		if !ok || !s.eat(':') {
			return errJSON
		}
		if outer > 0 {
			s.name = append(s.name, '.')
		}
		s.name = append(s.name, name...)
		if err := s.value(depth); err != nil {
			return err
		}
		s.name = s.name[:outer]
		if s.eat('}') {
			return nil
		}
		if !s.eat(',') {
			return errJSON
		}
	}
}

func (s *scanner) array(depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	s.eat('[')
	if s.eat(']') {
		return nil
	}
	for {
		if err := s.value(depth); err != nil {
			return err
		}
		if s.eat(']') {
			return nil
		}
		if !s.eat(',') {
			return errJSON
		}
	}
}

func (s *scanner) value(depth int) error {
	if len(s.s) == 0 {
		return errJSON
	}
	var value []byte
	ok := false
	switch c := s.s[0]; c {
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.array(depth + 1)
	case '"':
		value, ok = s.string()
	case 't':
		value, ok = s.word("true")
	case 'f':
		value, ok = s.word("false")
	case 'n':
		if _, ok = s.word("null"); ok {
			return nil
		}
	default:
		value, ok = s.number()
	}
	if !ok {
		return errJSON
	}
	if s.tell != nil {
		s.tell(s.name, value)
	}
	return nil
}

func (s *scanner) word(w string) ([]byte, bool) {
	if len(s.s) < len(w) || string(s.s[:len(w)]) != w {
		return nil, false
	}
	value := s.s[:len(w)]
	s.s = s.s[len(w):]
	return value, true
}

func (s *scanner) number() ([]byte, bool) {
	n := 0
	digits := func() bool {
		from := n
		for n < len(s.s) && '0' <= s.s[n] && s.s[n] <= '9' {
			n++
		}
		return n > from
	}
	if s.s[0] == '-' {
		n++
	}
	zero := n < len(s.s) && s.s[n] == '0'
	if first := n; !digits() || zero && n > first+1 {
		return nil, false
	}
	if n < len(s.s) && s.s[n] == '.' {
		if n++; !digits() {
			return nil, false
		}
	}
	if n < len(s.s) && (s.s[n] == 'e' || s.s[n] == 'E') {
		if n++; n < len(s.s) && (s.s[n] == '+' || s.s[n] == '-') {
			n++
		}
		if !digits() {
			return nil, false
		}
	}
	value := s.s[:n]
	s.s = s.s[n:]
	return value, true
}

// string reads a string: what is left begins with its quote.
func (s *scanner) string() ([]byte, bool) {
	if len(s.s) == 0 || s.s[0] != '"' {
		return nil, false
	}
	in := s.s[1:]
	for i, c := range in {
		switch {
		case c == '"':
			s.s = in[i+1:]
			return in[:i], true
		case c == '\\':
			return s.escaped(in, i)
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// escaped reads on in a string that has its first backslash at i.
func (s *scanner) escaped(in []byte, i int) ([]byte, bool) {
	from := len(s.text)
	s.text = append(s.text, in[:i]...)
	for i < len(in) {
		switch c := in[i]; {
		case c == '"':
			s.s = in[i+1:]
			return s.text[from:len(s.text):len(s.text)], true
		case c < ' ':
			return nil, false
		case c != '\\':
			s.text = append(s.text, c)
			i++
		case i+1 == len(in):
			return nil, false
		case in[i+1] == 'u':
			r, size := unicode16(in[i:])
			if size == 0 {
				return nil, false
			}
			s.text = utf8.AppendRune(s.text, r)
			i += size
		default:
			at := bytes.IndexByte([]byte(`"\/bfnrt`), in[i+1])
			if at < 0 {
				return nil, false
			}
			s.text = append(s.text, "\"\\/\b\f\n\r\t"[at])
			i += 2
		}
	}
	return nil, false
}

// unicode16 reads \u and four digits, or two of them that make one rune. The size is 0 if there is none.
func unicode16(s []byte) (r rune, size int) {
	r = four(s)
	if r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, four(s[6:])); both != utf8.RuneError {
			return both, 12
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func four(s []byte) (r rune) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	for _, c := range s[2:6] {
		d := hex(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}
