package logs

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options say what to read of a line. The zero value finds all by itself.
type Options struct {
	Keys       []Key             // wanted of every record, in this order
	Costs      []Cost            // likewise
	Format     string            // one of Formats; "" is auto
	TimeFormat string            // see ParseStamp; "" finds it by the first record
	Fields     map[string]string // what this input calls a name: {"time": "when", "client": "peer.address"}
	Window     time.Duration     // how far lines may stand out of order; 0 not at all
	Hide       bool              // leave what lines hold out of Summary
	Stdin      io.Reader         // the file "-"
	Progress   func(Position)    // called now and then; nil is not
}

// Check reports what Read would refuse whatever the files hold: a format or a form of times that is not known, and a field
// that is mapped and asked for by nothing.
func (o *Options) Check() error {
	if o.Format != "" && !slices.Contains(formats, o.Format) {
		return fmt.Errorf("format %.60q is none of %s", o.Format, strings.Join(formats, ", "))
	}
	if err := ParseStamp(o.TimeFormat); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		if !o.asksFor(name) {
			return fmt.Errorf("field %.60q=%.60q: want time, client, method, path, bytes, header:NAME, or what a key or cost is called", name, o.Fields[name])
		}
	}
	return nil
}

// asksFor reports whether a field of that name may be wanted of a line.
func (o *Options) asksFor(name string) bool {
	if _, known := names[name]; known || strings.HasPrefix(name, "header:") {
		return true
	}
	wants := func(s slot) bool { return s.String() == name || s.name == name }
	return slices.ContainsFunc(o.Keys, func(k Key) bool { return k.Default() && name == "key" || slices.ContainsFunc(k.parts, wants) }) ||
		slices.ContainsFunc(o.Costs, func(c Cost) bool { return c.Default() && name == "cost" || !c.one && wants(slot{field, c.name}) })
}

// A Position is how far reading has come.
type Position struct {
	Lines int64
	Read  int64 // bytes of the files, as they lie there
	Size  int64 // bytes of all files; 0 if that cannot be known
}

// formats are what Options.Format may be.
var formats = []string{"auto", "combined", "common", "nginx", "caddy", "envoy", "json", "csv", "tsv"}

// Formats returns the names of the formats.
func Formats() []string { return slices.Clone(formats) }

// MaxFaults is how many broken lines a Summary describes. It counts all of them.
const MaxFaults = 5

// ErrNoRecords is in the chain of the error for input without a single record.
var ErrNoRecords = errors.New("no records")

// A Record is one request. Its slices are valid until the callback returns.
type Record struct {
	Time  int64    // nanoseconds since the Unix epoch; never decreases
	Keys  [][]byte // as Options.Keys
	Costs []int64  // as Options.Costs; not negative
}

// A slot is a value that is wanted of each line.
type slot struct {
	kind kind
	name string // of a header or field
}

type kind int

const (
	client kind = iota
	method
	path
	header
	field
)

var kinds = map[string]kind{"client": client, "method": method, "path": path}

func (s slot) String() string {
	switch s.kind {
	case header:
		return "header:" + s.name
	case field:
		if p, err := parseSlot(s.name); err == nil && p == s {
			return s.name
		}
		return "field:" + s.name
	}
	for word, k := range kinds {
		if k == s.kind {
			return word
		}
	}
	return ""
}

// A Cost says what a record costs. The zero Cost is the default: a column "cost" if the input has one, else 1.
type Cost struct {
	name string
	one  bool
}

// ParseCost reads "1", which is one token a request, or the name of a field that holds a whole number, such as bytes.
func ParseCost(s string) (Cost, error) {
	switch name := strings.TrimPrefix(s, "field:"); {
	case s == "1":
		return Cost{one: true}, nil
	case name == "" || strings.Trim(name, "-0123456789") == "":
		return Cost{}, fmt.Errorf("cost %.60q: want 1 or the name of a field", s)
	default:
		return Cost{name: name}, nil
	}
}

// Default reports whether c is the zero Cost.
func (c Cost) Default() bool { return c == Cost{} }

// String returns what ParseCost reads back, and "default" for the zero Cost.
func (c Cost) String() string {
	switch {
	case c.one:
		return "1"
	case c.name == "":
		return "default"
	}
	return c.name
}
