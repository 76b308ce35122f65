package logs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weir-go/weir/internal/logline"
)

// A table reads CSV or TSV lines by the columns that the header names.
type table struct {
	label   string
	comma   byte
	header  []string
	stamp   stamp
	mapped  map[string]string
	time    int   // index of the column
	columns []int // of each slot
	paths   []bool
	fields  [][]byte // of the line at hand; reused
}

func newTable(head []byte, label string, t stamp, o *Options) (*table, error) {
	f := &table{label: label, comma: ',', stamp: t, mapped: o.Fields}
	if label == "tsv" {
		f.comma = '\t'
	}
	fields, err := f.split(nil, head)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	for _, name := range fields {
		f.header = append(f.header, string(bytes.TrimSpace(name)))
	}
	if f.time = f.column(times(o.Fields)); f.time < 0 {
		return nil, fmt.Errorf("header: no column %s in %s", strings.Join(times(o.Fields), ", "), logline.Show(head))
	}
	return f, nil
}

// split cuts a line. TSV has no quotes.
func (f *table) split(fields [][]byte, line []byte) ([][]byte, error) {
	if f.comma == ',' {
		return logline.Split(fields, line, ',')
	}
	for {
		i := bytes.IndexByte(line, f.comma)
		if i < 0 {
			return append(fields, line), nil
		}
		fields, line = append(fields, line[:i]), line[i+1:]
	}
}

// column is the index of the first of the names that there is, or -1.
func (f *table) column(names []string) int {
	for _, name := range names {
		for i, h := range f.header {
			if same(name, []byte(h)) {
				return i
			}
		}
	}
	return -1
}

func (f *table) name() string { return f.label }

func (f *table) has(s slot) bool { return f.column(wanted(s, f.mapped)) >= 0 }

func (f *table) bind(slots []slot) error {
	for _, s := range slots {
		i := f.column(wanted(s, f.mapped))
		if i < 0 {
			return fmt.Errorf("there is no column for %v among %s: name one with -field %v=COLUMN, or another -key or -cost", s, logline.Show([]byte(strings.Join(f.header, ", "))), s)
		}
		f.columns = append(f.columns, i)
		f.paths = append(f.paths, s.kind == path)
	}
	return nil
}

func (f *table) parse(line []byte, vals [][]byte) (at int64, err error) {
	if f.fields, err = f.split(f.fields[:0], line); err != nil {
		return 0, err
	}
	if len(f.fields) != len(f.header) {
		return 0, fmt.Errorf("%d fields, the header has %d: %s", len(f.fields), len(f.header), logline.Show(line))
	}
	if at, err = f.stamp.read(f.fields[f.time]); err != nil {
		return 0, err
	}
	for i, c := range f.columns {
		if vals[i] = f.fields[c]; f.paths[i] {
			vals[i] = logline.Path(vals[i])
		}
	}
	return at, nil
}
