package logs

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/weir-go/weir/internal/logline"
)

// An objects reads JSON objects, one a line.
type objects struct {
	label  string
	stamp  stamp
	mapped map[string]string
	slots  []slot
	find   []sought // the time, then one a slot
	scan   scanner
	line   logline.Access           // for a request line within an object
	tell   func(name, value []byte) // take; made once, since it allocates
}

// A sought is a value of the object at hand: the one under the best of its names, and of equal ones the first.
type sought struct {
	names []string
	best  int // index of the name that it was found under, or len(names)
	value []byte
}

func newObjects(label string, t stamp, o *Options) *objects {
	f := &objects{label: label, stamp: t, mapped: o.Fields, find: []sought{{names: times(o.Fields)}}}
	f.tell = f.take
	return f
}

// labelOfObject tells whose access log it probably is.
func labelOfObject(line []byte) string {
	label := "json"
	s := scanner{}
	s.scan(line, func(name, _ []byte) {
		switch {
		case same("request.remote_ip", name), same("request.client_ip", name):
			label = "caddy"
		case same("start_time", name):
			label = "envoy"
		case same("remote_addr", name), same("time_iso8601", name), same("msec", name):
			label = "nginx"
		}
	})
	return label
}

func (f *objects) name() string { return f.label }

func (f *objects) has(s slot) bool { return s.kind != field }

func (f *objects) bind(slots []slot) error {
	f.slots = slots
	for _, s := range slots {
		names := wanted(s, f.mapped)
		if s.kind == method || s.kind == path {
			names = append(names[:len(names):len(names)], "request") // a request line, as the last resort
		}
		f.find = append(f.find, sought{names: names})
	}
	return nil
}

var errNoTime = errors.New("the object has no time: name its field with -field time=NAME")

func (f *objects) parse(line []byte, vals [][]byte) (int64, error) {
	for i := range f.find {
		f.find[i].best, f.find[i].value = len(f.find[i].names), nil
	}
	line = bytes.TrimSpace(line)
	if err := f.scan.scan(line, f.tell); err != nil {
		return 0, fmt.Errorf("%w: %s", err, logline.Show(line))
	}
	if f.find[0].value == nil {
		return 0, errNoTime
	}
	at, err := f.stamp.read(f.find[0].value)
	if err != nil {
		return 0, err
	}
	for i := range vals {
		vals[i] = f.value(i)
	}
	return at, nil
}

func (f *objects) take(name, value []byte) {
	for i := range f.find {
		s := &f.find[i]
		for n, want := range s.names[:s.best] {
			if same(want, name) {
				s.best, s.value = n, value
				break
			}
		}
	}
}

func (f *objects) value(i int) []byte {
	s := &f.find[i+1]
	k := f.slots[i].kind
	if s.value == nil || k != method && k != path {
		return s.value
	}
	if s.names[s.best] == "request" && s.best == len(s.names)-1 {
		f.line.Request = s.value
		m, p := f.line.Target()
		if k == method {
			return m
		}
		return p
	}
	if k == path {
		return logline.Path(s.value)
	}
	return s.value
}
