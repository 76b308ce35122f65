package logline

import (
	"bytes"
	"fmt"
)

// Split appends the fields of one line to fields: those that encoding/csv finds, if nothing may follow in a next line. The
// comma may be another byte, such as a tab. A field points into the line unless it holds a doubled quote.
//
// It is not encoding/csv because there a stray quote opens a field that ends with the next stray quote, wherever in the
// file that is.
func Split(fields [][]byte, line []byte, comma byte) ([][]byte, error) {
	for {
		field, rest, more := cut(line, comma)
		if len(line) > 0 && line[0] == '"' {
			var err error
			if field, rest, more, err = unquote(line, comma); err != nil {
				return fields, err
			}
		} else if bytes.IndexByte(field, '"') >= 0 {
			return fields, fmt.Errorf("stray quote in the unquoted field %s", Show(field))
		}
		fields = append(fields, field)
		if !more {
			return fields, nil
		}
		line = rest
	}
}

// unquote reads the quoted field that line starts with. more reports whether a comma, which is not in rest, follows.
func unquote(line []byte, comma byte) (field, rest []byte, more bool, err error) {
	doubled := false
	for i := 1; ; {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return nil, nil, false, fmt.Errorf("quote not closed in its line: %s", Show(line))
		}
		i += n + 1
		if i < len(line) && line[i] == '"' {
			doubled = true
			i++
			continue
		}
		field, rest = line[1:i-1], line[i:]
		break
	}
	if doubled {
		field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
	}
	if len(rest) == 0 {
		return field, nil, false, nil
	}
	if rest[0] != comma {
		return nil, nil, false, fmt.Errorf("text after a closing quote: %s", Show(line))
	}
	return field, rest[1:], true, nil
}

func cut(line []byte, comma byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(line, comma); i >= 0 {
		return line[:i], line[i+1:], true
	}
	return line, nil, false
}
