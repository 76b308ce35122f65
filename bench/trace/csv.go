package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A table reads the lines of a CSV trace by the columns that its header names.
type table struct {
	columns int
	time    int      // index of the column
	key     int      // index of the column
	cost    int      // index of the column, or -1
	fields  [][]byte // of the line at hand; reused
}

// newTable reads a header. The names are matched without regard to case and surrounding space.
func newTable(header []byte) (*table, error) {
	fields, err := split(nil, header)
	if err != nil {
		return nil, err
	}
	t := &table{columns: len(fields), time: -1, key: -1, cost: -1}
	for i, f := range fields {
		var column *int
		name := strings.ToLower(string(bytes.TrimSpace(f)))
		switch name {
		case "time":
			column = &t.time
		case "key":
			column = &t.key
		case "cost":
			column = &t.cost
		default:
			continue
		}
		if *column >= 0 {
			return nil, fmt.Errorf("column %q occurs twice in %s", name, list(fields))
		}
		*column = i
	}
	switch {
	case t.time < 0 && t.key < 0:
		return nil, fmt.Errorf(`columns "time" and "key" are missing among %s`, list(fields))
	case t.time < 0:
		return nil, fmt.Errorf(`column "time" is missing among %s`, list(fields))
	case t.key < 0:
		return nil, fmt.Errorf(`column "key" is missing among %s`, list(fields))
	}
	return t, nil
}

// parse is a parser.
func (t *table) parse(line []byte) (at int64, key []byte, cost int, err error) {
	if t.fields, err = split(t.fields[:0], line); err != nil {
		return 0, nil, 0, err
	}
	if len(t.fields) != t.columns {
		return 0, nil, 0, fmt.Errorf("has %s, the header %d: %s", count(len(t.fields), "field"), t.columns, show(line))
	}
	if at, err = parseInstant(bytes.TrimSpace(t.fields[t.time])); err != nil {
		return 0, nil, 0, err
	}
	if key = t.fields[t.key]; len(key) == 0 {
		return 0, nil, 0, fmt.Errorf("empty key in %s", show(line))
	}
	cost = 1
	if t.cost >= 0 {
		if cost, err = parseCost(bytes.TrimSpace(t.fields[t.cost])); err != nil {
			return 0, nil, 0, err
		}
	}
	return at, key, cost, nil
}

func parseCost(s []byte) (int, error) {
	if len(s) == 0 {
		return 1, nil
	}
	n, err := strconv.Atoi(string(s))
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("cost %s is outside the range of %d-bit integers", show(s), strconv.IntSize)
	}
	if err != nil {
		return 0, fmt.Errorf("cost %s is not an integer", show(s))
	}
	return n, nil
}

// split appends the fields of one line to fields: those that encoding/csv finds, if nothing may follow in a next line. A
// field points into the line unless it holds a doubled quote.
//
// It is not encoding/csv because there a stray quote opens a field that ends with the next stray quote, wherever in the
// file that is.
func split(fields [][]byte, line []byte) ([][]byte, error) {
	for {
		field, rest, more := bytes.Cut(line, []byte(","))
		if len(line) > 0 && line[0] == '"' {
			var err error
			if field, rest, more, err = unquote(line); err != nil {
				return fields, err
			}
		} else if bytes.IndexByte(field, '"') >= 0 {
			return fields, fmt.Errorf("stray quote in the unquoted field %s", show(field))
		}
		fields = append(fields, field)
		if !more {
			return fields, nil
		}
		line = rest
	}
}

// unquote reads the quoted field that line starts with. more reports whether a comma, which is not in rest, follows.
func unquote(line []byte) (field, rest []byte, more bool, err error) {
	doubled := false
	for i := 1; ; {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return nil, nil, false, fmt.Errorf("quote not closed in its line: %s", show(line))
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
	if rest[0] != ',' {
		return nil, nil, false, fmt.Errorf("text after a closing quote: %s", show(line))
	}
	return field, rest[1:], true, nil
}

// list names the columns of a header for a message.
func list(fields [][]byte) string {
	const most = 20
	var b strings.Builder
	for i, f := range fields {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(fields)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(show(f))
	}
	return b.String()
}
