package logs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weir-go/weir/internal/logline"
)

// A format reads lines of one kind. vals, which it fills, has an element for each slot that it was bound to: nil where the
// line has no such value. They may point into the line, or into memory that the next line overwrites.
type format interface {
	name() string
	has(s slot) bool // whether lines hold it; of objects that cannot be known
	bind(slots []slot) error
	parse(line []byte, vals [][]byte) (at int64, err error)
}

// detect finds the format of the lines, the first of an input that are not blank. header says that the first of them is no
// record.
func detect(lines [][]byte, o *Options) (f format, header bool, err error) {
	t, err := newStamp(o.TimeFormat)
	if err != nil {
		return nil, false, err
	}
	switch o.Format {
	case "common", "combined":
		return &accessLog{label: o.Format}, false, nil
	case "json", "caddy", "envoy":
		return newObjects(o.Format, t, o), false, nil
	case "csv", "tsv":
		f, err := newTable(lines[0], o.Format, t, o)
		return f, true, err
	}
	if f := record(lines[0], t, o); f != nil {
		return f, false, nil
	}
	if o.Format != "nginx" {
		comma := "csv"
		if bytes.IndexByte(lines[0], '\t') >= 0 {
			comma = "tsv"
		}
		f, err = newTable(lines[0], comma, t, o)
		if err == nil {
			return f, true, nil
		}
	}
	for _, line := range lines[1:] { // the first one may be broken
		if f := record(line, t, o); f != nil {
			return f, false, nil
		}
	}
	for _, line := range lines {
		if logline.LikeAccess(line) {
			return &accessLog{label: "combined"}, false, nil
		}
	}
	if o.Format == "nginx" {
		return nil, false, fmt.Errorf("is neither a log line of nginx nor an object: %s", logline.Show(lines[0]))
	}
	return nil, false, fmt.Errorf("the first lines are no log lines and no objects, and the first is no header of a table (%w)", err)
}

// record finds the format of a line that is a record, and nil if it is none that tells its format by itself.
func record(line []byte, t stamp, o *Options) format {
	var a logline.Access
	if a.Parse(line) == nil {
		return &accessLog{label: labelOf(&a)}
	}
	if s := bytes.TrimSpace(line); s[0] == '{' && new(scanner).scan(s, nil) == nil {
		return newObjects(labelOfObject(s), t, o)
	}
	return nil
}

// An accessLog reads Common and Combined lines.
type accessLog struct {
	label string
	line  logline.Access
	gets  []func(a *logline.Access) []byte
}

func labelOf(a *logline.Access) string {
	if a.Agent == nil && a.Referer == nil {
		return "common"
	}
	return "combined"
}

func (f *accessLog) name() string { return f.label }

var accessFields = map[string]func(a *logline.Access) []byte{
	"client":  func(a *logline.Access) []byte { return a.Client },
	"user":    func(a *logline.Access) []byte { return a.User },
	"request": func(a *logline.Access) []byte { return a.Request },
	"status":  func(a *logline.Access) []byte { return a.Status },
	"bytes":   func(a *logline.Access) []byte { return a.Bytes },
	"method":  func(a *logline.Access) []byte { m, _ := a.Target(); return m },
	"path":    func(a *logline.Access) []byte { _, p := a.Target(); return p },

	"header:referer":    func(a *logline.Access) []byte { return a.Referer },
	"header:user-agent": func(a *logline.Access) []byte { return a.Agent },
}

func (f *accessLog) get(s slot) func(a *logline.Access) []byte {
	name := s.name
	if s.kind != field {
		name = strings.ToLower(s.String())
	}
	return accessFields[name]
}

func (f *accessLog) has(s slot) bool { return f.get(s) != nil }

func (f *accessLog) bind(slots []slot) error {
	for _, s := range slots {
		get := f.get(s)
		if get == nil {
			return fmt.Errorf("%s lines have no %v: they have client, user, method, path, request, status, bytes, header:Referer and header:User-Agent", f.label, s)
		}
		f.gets = append(f.gets, get)
	}
	return nil
}

func (f *accessLog) parse(line []byte, vals [][]byte) (int64, error) {
	if err := f.line.Parse(line); err != nil {
		return 0, err
	}
	for i, get := range f.gets {
		vals[i] = get(&f.line)
	}
	return f.line.Time, nil
}
