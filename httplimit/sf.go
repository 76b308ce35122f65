package httplimit

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An item of a structured field's list (RFC 9651), with its parameters. Integers
// are int64, strings are string; what RateLimit has no use for is read, since
// others may put it there, but kept as other.
type item struct {
	value  any
	params map[string]any
}

// other is a value of a type that is of no use here.
type other struct{}

// parseList reads a list. It is all or nothing: ok is false if any of it is
// malformed. Inner lists are read and have the value other.
func parseList(text string) (items []item, ok bool) {
	p := parser{strings.Trim(text, " ")}
	for p.text != "" {
		it, ok := p.member()
		if !ok {
			return nil, false
		}
		items = append(items, it)
		p.text = strings.TrimLeft(p.text, " \t")
		if p.text == "" {
			return items, true
		}
		if !p.take(',') {
			return nil, false
		}
		p.text = strings.TrimLeft(p.text, " \t")
		if p.text == "" {
			return nil, false // a comma at the end
		}
	}
	return items, true
}

// A parser holds what has not been read yet.
type parser struct{ text string }

// take reads the byte if it is next.
func (p *parser) take(c byte) bool {
	if p.text == "" || p.text[0] != c {
		return false
	}
	p.text = p.text[1:]
	return true
}

// while reads the bytes that are in the set.
func (p *parser) while(in func(byte) bool) string {
	n := 0
	for n < len(p.text) && in(p.text[n]) {
		n++
	}
	read := p.text[:n]
	p.text = p.text[n:]
	return read
}

func (p *parser) member() (it item, ok bool) {
	if !p.take('(') {
		return p.item()
	}
	for {
		p.text = strings.TrimLeft(p.text, " ")
		if p.take(')') {
			it.value = other{}
			it.params, ok = p.parameters()
			return it, ok
		}
		if _, ok := p.item(); !ok {
			return it, false
		}
		if p.text == "" || p.text[0] != ' ' && p.text[0] != ')' {
			return it, false
		}
	}
}

func (p *parser) item() (it item, ok bool) {
	if it.value, ok = p.bare(); ok {
		it.params, ok = p.parameters()
	}
	return it, ok
}

func (p *parser) parameters() (params map[string]any, ok bool) {
	for p.take(';') {
		p.text = strings.TrimLeft(p.text, " ")
		if p.text == "" || !isLower(p.text[0]) && p.text[0] != '*' {
			return nil, false
		}
		key := p.while(func(c byte) bool {
			return isLower(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '*'
		})
		var value any = other{} // true
		if p.take('=') {
			if value, ok = p.bare(); !ok {
				return nil, false
			}
		}
		if params == nil {
			params = map[string]any{}
		}
		params[key] = value // of several the last one counts
	}
	return params, true
}

// bare reads a value without parameters.
func (p *parser) bare() (value any, ok bool) {
	if p.text == "" {
		return nil, false
	}
	switch c := p.text[0]; {
	case c == '-' || isDigit(c):
		return p.number()
	case c == '"':
		return p.quoted()
	case c == '*' || isAlpha(c):
		p.while(func(c byte) bool { return isToken(c) || c == ':' || c == '/' })
		return other{}, true
	case c == ':':
		coded, rest, ok := strings.Cut(p.text[1:], ":")
		if !ok {
			return nil, false
		}
		p.text = rest
		// Padding may be missing, and is not to be more than there is.
		_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(coded, "="))
		return other{}, err == nil && !strings.ContainsAny(coded, "\r\n")
	case c == '?':
		ok := len(p.text) > 1 && (p.text[1] == '0' || p.text[1] == '1')
		p.text = p.text[min(2, len(p.text)):]
		return other{}, ok
	case c == '@':
		p.text = p.text[1:]
		value, ok := p.number()
		_, whole := value.(int64)
		return other{}, ok && whole
	case strings.HasPrefix(p.text, `%"`):
		p.text = p.text[1:]
		return p.display()
	}
	return nil, false
}

// number reads an integer, or a decimal, which is other.
func (p *parser) number() (value any, ok bool) {
	negative := p.take('-')
	digits := p.while(isDigit)
	if digits == "" {
		return nil, false
	}
	if p.take('.') {
		fraction := p.while(isDigit)
		return other{}, len(digits) <= 12 && 1 <= len(fraction) && len(fraction) <= 3
	}
	if len(digits) > 15 {
		return nil, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

func (p *parser) quoted() (value any, ok bool) {
	var b strings.Builder
	for i := 1; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case c == '"':
			p.text = p.text[i+1:]
			return b.String(), true
		case c < ' ' || c > '~':
			return nil, false
		case c == '\\':
			if i++; i == len(p.text) || p.text[i] != '"' && p.text[i] != '\\' {
				return nil, false
			}
			c = p.text[i]
		}
		b.WriteByte(c)
	}
	return nil, false
}

// display reads a string of Unicode text, percent-encoded.
func (p *parser) display() (value any, ok bool) {
	inner, rest, ok := strings.Cut(p.text[1:], `"`)
	p.text = rest
	var decoded []byte
	for i := 0; ok && i < len(inner); i++ {
		c := inner[i]
		switch {
		case c < ' ' || c > '~':
			return nil, false
		case c == '%':
			if i+2 >= len(inner) || !isHex(inner[i+1]) || !isHex(inner[i+2]) {
				return nil, false
			}
			n, _ := strconv.ParseUint(inner[i+1:i+3], 16, 8)
			c = byte(n)
			i += 2
		}
		decoded = append(decoded, c)
	}
	return other{}, ok && utf8.Valid(decoded)
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c && c <= 'f' }
func isAlpha(c byte) bool { return isLower(c) || 'A' <= c && c <= 'Z' }
func isToken(c byte) bool {
	return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
