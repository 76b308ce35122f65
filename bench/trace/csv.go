package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-go/weir/internal/logline"
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
	fields, err := logline.Split(nil, header, ',')
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
	if t.fields, err = logline.Split(t.fields[:0], line, ','); err != nil {
		return 0, nil, 0, err
	}
	if len(t.fields) != t.columns {
		return 0, nil, 0, fmt.Errorf("has %s, the header %d: %s", count(len(t.fields), "field"), t.columns, logline.Show(line))
	}
	if at, err = logline.Instant(bytes.TrimSpace(t.fields[t.time])); err != nil {
		return 0, nil, 0, err
	}
	if key = t.fields[t.key]; len(key) == 0 {
		return 0, nil, 0, fmt.Errorf("empty key in %s", logline.Show(line))
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
		return 0, fmt.Errorf("cost %s is outside the range of %d-bit integers", logline.Show(s), strconv.IntSize)
	}
	if err != nil {
		return 0, fmt.Errorf("cost %s is not an integer", logline.Show(s))
	}
	return n, nil
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
		b.WriteString(logline.Show(f))
	}
	return b.String()
}
