package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir/internal/logline"
)

const (
	looked    = 20   // lines that are looked at to find the format
	tellEvery = 4096 // lines between two calls of Options.Progress
)

// Read reads the files, one after the other, and calls each with every record in the order of their time. The names are
// those of files; "-" is Options.Stdin, once.
//
// It ends with the first error of each or of a file, which the error names; its Summary is then of what was read so far. The
// error is ErrNoRecords, wrapped, if no line was a record.
func Read(files []string, o Options, each func(*Record) error) (*Summary, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	r := &reader{o: o, sum: &Summary{Window: o.Window, Tick: time.Second}}
	r.sum.Files, r.sum.Keys, r.sum.Costs, r.sum.Faults = []File{}, []string{}, []string{}, []Fault{} // empty ones are no null in JSON
	r.window = newWindow(int64(o.Window), func(rec *Record) error {
		if r.sum.Requests == 0 {
			r.first = rec.Time
		}
		r.last = rec.Time
		r.sum.Requests++
		return each(rec)
	})
	err := r.files(files)
	if err == nil {
		err = r.window.flush()
	}
	s := r.sum
	s.Reordered, s.Late = r.window.stats.reordered, r.window.stats.late
	s.First, s.Last = time.Unix(0, r.first).UTC(), time.Unix(0, r.last).UTC()
	if err == nil && s.Requests == 0 {
		if err = fmt.Errorf("%w (lines: %d)", ErrNoRecords, s.Lines); s.Broken > 0 {
			err = fmt.Errorf("%w (lines: %d, broken: %d), the first: %v", ErrNoRecords, s.Lines, s.Broken, s.Faults[0])
		}
	}
	return s, err
}

// A reader is the work of Read.
type reader struct {
	o           Options
	sum         *Summary
	window      *window
	at          Position
	first, last int64

	// Of the file at hand.
	file    *File
	format  format
	stream  *counted
	numbers []int64 // of the lines of its head
	slots   []slot  // those of all keys and costs
	vals    [][]byte
	keys    []Key
	costs   []Cost
	key     []byte // memory of the keys
	record  Record
}

func (r *reader) files(names []string) error {
	for _, name := range names {
		if info, err := os.Stat(name); name == "-" || err != nil || !info.Mode().IsRegular() {
			r.at.Size = 0
			break
		} else {
			r.at.Size += info.Size()
		}
	}
	for i, name := range names {
		in := r.o.Stdin
		if name == "-" {
			if in == nil || slices.Contains(names[:i], name) {
				return errors.New("-: standard input can be read once only")
			}
		} else {
			f, err := os.Open(name)
			if err != nil {
				return err // "open NAME: ..."
			}
			in = f
		}
		err := r.readFile(name, in)
		if f, ok := in.(*os.File); ok && name != "-" {
			f.Close() // opened for reading: there is nothing to lose
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readFile(name string, in io.Reader) error {
	r.sum.Files = append(r.sum.Files, File{Name: name})
	r.file, r.format = &r.sum.Files[len(r.sum.Files)-1], nil
	r.stream = &counted{r: in}
	before := r.at.Read
	lines, err := logline.Open(r.stream)
	if errors.As(err, new(*fs.PathError)) {
		return err // "read NAME: is a directory"
	} else if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var head [][]byte // until the format is known
	for {
		line, err := lines.Next()
		if err == io.EOF {
			break
		}
		r.sum.Lines++
		r.file.Lines++
		if r.at.Lines = r.sum.Lines; r.o.Progress != nil && r.sum.Lines%tellEvery == 0 {
			r.at.Read = before + r.stream.n
			r.o.Progress(r.at)
		}
		switch long, ok := err.(*logline.LongLine); { // never wrapped, and errors.As allocates
		case ok:
			r.fault(r.file.Lines, long)
			continue
		case err != nil:
			return fmt.Errorf("%s: line %d: %w", name, r.file.Lines, err)
		case len(bytes.TrimSpace(line)) == 0:
			r.sum.Blank++
			continue
		case r.format != nil:
			if err := r.take(r.file.Lines, line); err != nil {
				return err
			}
			continue
		}
		head = append(head, slices.Clone(line))
		if r.numbers = append(r.numbers, r.file.Lines); len(head) == looked {
			if err := r.begin(head); err != nil {
				return err
			}
		}
	}
	if r.format == nil && len(head) > 0 {
		if err := r.begin(head); err != nil {
			return err
		}
	}
	r.at.Read = before + r.stream.n
	return nil
}

// begin finds the format by the head of a file, and takes the lines of it.
func (r *reader) begin(head [][]byte) error {
	f, header, err := detect(head, &r.o)
	if err == nil {
		r.format, r.file.Format = f, f.name()
		err = r.bind()
	}
	if err != nil {
		if r.o.Hide {
			err = errors.New(hide(err.Error()))
		}
		return fmt.Errorf("%s: %w", r.file.Name, err)
	}
	numbers := r.numbers
	r.numbers = nil
	for i, line := range head {
		if i == 0 && header {
			r.sum.Blank++
		} else if err := r.take(numbers[i], line); err != nil {
			return err
		}
	}
	return nil
}

// bind asks the format for what the keys and costs are made of. What the default is shows with the first file.
func (r *reader) bind() error {
	first := r.keys == nil && r.costs == nil
	if first {
		r.keys, r.costs = slices.Clone(r.o.Keys), slices.Clone(r.o.Costs)
	}
	for i, k := range r.keys {
		if k.Default() {
			r.keys[i].parts = []slot{{kind: client}}
			if column := (slot{field, "key"}); r.format.has(column) {
				r.keys[i].parts = []slot{column}
			}
		}
	}
	for i, c := range r.costs {
		if c.Default() {
			r.costs[i].one = true
			if r.format.has(slot{field, "cost"}) {
				r.costs[i] = Cost{name: "cost"}
			}
		}
	}
	r.slots = r.slots[:0]
	for _, k := range r.keys {
		r.slots = append(r.slots, k.parts...)
	}
	for _, c := range r.costs {
		if !c.one {
			r.slots = append(r.slots, slot{field, c.name})
		}
	}
	r.vals = make([][]byte, len(r.slots))
	if first {
		for _, k := range r.keys {
			r.sum.Keys = append(r.sum.Keys, k.String())
		}
		for _, c := range r.costs {
			r.sum.Costs = append(r.sum.Costs, c.String())
		}
	}
	return r.format.bind(r.slots)
}

// take reads one line.
func (r *reader) take(number int64, line []byte) error {
	at, err := r.format.parse(line, r.vals)
	free := false
	if err == nil {
		free, err = r.fill()
	}
	if err != nil {
		r.fault(number, err)
		return nil
	}
	if free {
		r.sum.Free++
	}
	r.sum.see(at)
	if r.file.First.IsZero() {
		r.file.First = time.Unix(0, at).UTC() // never the zero time, which is before the year 1677
	}
	r.record.Time = at
	return r.window.add(&r.record)
}

// fill makes keys and costs of the values. free reports that a cost was missing.
func (r *reader) fill() (free bool, err error) {
	rec, n := &r.record, 0
	rec.Keys, rec.Costs, r.key = rec.Keys[:0], rec.Costs[:0], r.key[:0]
	for i := range r.keys {
		k, from := &r.keys[i], len(r.key)
		if r.key, err = k.append(r.key, r.vals[n:n+len(k.parts)]); err != nil {
			return false, err
		}
		n += len(k.parts)
		rec.Keys = append(rec.Keys, r.key[from:len(r.key):len(r.key)])
	}
	for _, c := range r.costs {
		cost := int64(1)
		if !c.one {
			v := bytes.TrimSpace(r.vals[n])
			n++
			if len(v) == 0 || len(v) == 1 && v[0] == '-' {
				cost, free = 0, true
			} else if cost, err = parseCost(v); err != nil {
				return false, fmt.Errorf("%v %w", slot{field, c.name}, err)
			}
		}
		rec.Costs = append(rec.Costs, cost)
	}
	return free, nil
}

func parseCost(s []byte) (n int64, err error) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%s is not a whole number of tokens", logline.Show(s))
		}
		if n > (1<<63-1-int64(c-'0'))/10 {
			return 0, fmt.Errorf("%s is beyond 64 bits", logline.Show(s))
		}
		n = n*10 + int64(c-'0')
	}
	if int64(int(n)) != n {
		return 0, fmt.Errorf("%s is beyond an int of %d bits", logline.Show(s), strconv.IntSize)
	}
	return n, nil
}

func (r *reader) fault(line int64, why error) {
	r.sum.Broken++
	if len(r.sum.Faults) < MaxFaults {
		reason := why.Error()
		if r.o.Hide {
			reason = hide(reason)
		}
		r.sum.Faults = append(r.sum.Faults, Fault{r.file.Name, line, reason})
	}
}

// counted counts the bytes read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
