// Package trace reads recorded traffic: who asked, when, and for how much.
//
// A trace is decided in its own time, not in ours: read it, then hand each record's instant to the limit.
//
//	t, err := trace.ReadFile("access.log.gz")
//	if err != nil {
//		return err // names the file, the line and the value
//	}
//	fmt.Println(t) // combined: 3456 records in 3456 lines
//	for _, r := range t.Records {
//		decide(r.Key, r.Time, r.Cost) // r.Time never decreases
//	}
//
// The first line that is not blank tells the format. A trace is line-oriented: one record a line, so that a broken line
// costs itself and nothing else.
//
//   - CSV, by header name: time and key, in any order and case, and cost if there is one; other columns are ignored. A
//     field may be quoted, within its line: a quote left open breaks its own line instead of swallowing the lines below.
//     Every line has as many fields as the header. A key is kept byte for byte. A cost is a decimal integer; without the
//     column, or in an empty cell, it is 1. Negative costs are kept: refusing them is the limit's job.
//   - Combined log lines of a web server, or Common ones (the same without referer and agent). The key is the client, the
//     first field; every cost is 1. Nothing else of the line is believed, since clients write most of it.
//
// A time in CSV is epoch seconds with an optional fraction, or RFC 3339 as package time reads it. Both are exact to the
// nanosecond and never pass through a float. A time finer than that, or outside the years 1677 to 2262 that Unix
// nanoseconds in an int64 reach, breaks its line. So does an empty key, which would put strangers into one bucket.
//
// Gzip is recognised by its first bytes. Both \n and \r\n end a line, and a line may be as long as MaxLine.
//
// Invariants, which the tests check on whatever they and the fuzzer read:
//
//   - ledger: len(Records) + Broken + Skipped = Lines. A line is a record, is reported, or has nothing to say.
//   - order: Records never decrease in time, and equal times keep the order of their lines.
//   - whole: an error comes with no Trace. Input that ends in a read error is not read in part.
//   - no input panics.
//
// What it does not do: it decides nothing, follows no growing file, and holds the whole trace in memory: 40 bytes a
// record on 64-bit platforms and, once, each distinct key.
package trace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/weir-go/weir/internal/logline"
)

// The values of Trace.Format.
const (
	CSV      = "csv"
	Combined = "combined"
)

// MaxLine is the longest line, in bytes without its end, that is read. A longer one is broken, and the next line is read as
// usual: no line can take the memory of the process.
const MaxLine = logline.MaxLine

// MaxFaults is how many broken lines a Trace describes. It counts all of them.
const MaxFaults = 1000

// ErrNoRecords is in the chain of the error for input without a single record: empty, a header alone, or broken in every
// line.
var ErrNoRecords = errors.New("no records")

// A Record is one request. It is a plain value.
type Record struct {
	Time int64  // nanoseconds since the Unix epoch; negative before it
	Key  string // never empty; the bytes as recorded, UTF-8 or not
	Cost int    // as recorded, so possibly 0 or negative
	Line int    // where the record stood, from 1
}

// A Fault says why a line is no record.
type Fault struct {
	Line   int    // from 1
	Reason string // names the value, quoted and shortened
}

// String returns "line 7: reason".
func (f Fault) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.Reason) }

// A Trace is recorded traffic in the order of its time. Nothing refers to the input any more. It has no methods that
// write, so once read it may be shared.
type Trace struct {
	Records  []Record // sorted by Time, then Line; at least one
	Format   string   // CSV or Combined
	Lines    int      // all lines of the input
	Skipped  int      // lines without a request: blank ones and the CSV header
	Broken   int      // lines that should be a record and are not
	Faults   []Fault  // the first MaxFaults of the broken lines, in their order
	Unsorted int      // records that stood below a record of a later time
}

// Read reads a trace to its end. The error names the line and the value that it is about, and is that of r if r fails; it
// is ErrNoRecords, wrapped, if no line is a record. Broken lines among good ones are no error: see Trace.Broken.
func Read(r io.Reader) (*Trace, error) {
	t, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return t, nil
}

// ReadFile is Read of a file, whose name is in every error.
func ReadFile(name string) (*Trace, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err) // "open NAME: ..."
	}
	defer f.Close() // opened for reading: there is nothing to lose
	t, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("trace: %s: %w", name, err)
	}
	return t, nil
}

// String summarises the trace for a person in one line: records, lines, the broken ones by number, and what was sorted.
func (t *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s", t.Format, count(len(t.Records), "record"), count(t.Lines, "line"))
	if t.Broken > 0 {
		plural := "s"
		if t.Broken == 1 {
			plural = ""
		}
		fmt.Fprintf(&b, "; %d broken (line%s", t.Broken, plural)
		named := t.Faults[:min(len(t.Faults), 10)]
		for i, f := range named {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %d", f.Line)
		}
		if more := t.Broken - len(named); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteByte(')')
	}
	if t.Unsorted > 0 {
		fmt.Fprintf(&b, "; %s out of order, sorted", count(t.Unsorted, "record"))
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A parser reads one line that is not blank. The key may point into the line.
type parser func(line []byte) (at int64, key []byte, cost int, err error)

func read(r io.Reader) (*Trace, error) {
	in, err := logline.Open(r)
	if err != nil {
		return nil, err
	}
	t := &Trace{}
	keys := make(map[string]string) // each key is stored once: traffic repeats itself
	var parse parser
	var latest int64
	for {
		line, err := in.Next()
		if err == io.EOF {
			return t.finish()
		}
		t.Lines++
		if long, ok := err.(*logline.LongLine); ok {
			t.fault(long)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", t.Lines, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			t.Skipped++
			continue
		}
		if parse == nil {
			t.Format, parse, err = detect(line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", t.Lines, err)
			}
			if t.Format == CSV {
				t.Skipped++
				continue
			}
		}
		at, key, cost, err := parse(line)
		if err != nil {
			t.fault(err)
			continue
		}
		k, ok := keys[string(key)]
		if !ok {
			k = string(key)
			keys[k] = k
		}
		if len(t.Records) > 0 && at < latest {
			t.Unsorted++
		} else {
			latest = at
		}
		t.Records = append(t.Records, Record{Time: at, Key: k, Cost: cost, Line: t.Lines})
	}
}

// fault reports the line just read as broken.
func (t *Trace) fault(why error) {
	t.Broken++
	if len(t.Faults) < MaxFaults {
		t.Faults = append(t.Faults, Fault{t.Lines, why.Error()})
	}
}

// finish is called after the last line.
func (t *Trace) finish() (*Trace, error) {
	switch {
	case len(t.Records) > 0:
		if t.Unsorted > 0 {
			slices.SortStableFunc(t.Records, func(a, b Record) int { return cmp.Compare(a.Time, b.Time) })
		}
		return t, nil
	case t.Broken > 0:
		return nil, fmt.Errorf("%w: of %s %d broken, the first is %s",
			ErrNoRecords, count(t.Lines, "line"), t.Broken, t.Faults[0])
	case t.Format == CSV:
		return nil, fmt.Errorf("%w: nothing follows the CSV header", ErrNoRecords)
	default:
		return nil, fmt.Errorf("%w: the input is empty", ErrNoRecords)
	}
}

// detect finds the format in the first line that is not blank. A line that is a log record is asked first: a request may
// well hold ",time,key,", and no header holds a log's time.
func detect(line []byte) (string, parser, error) {
	_, _, _, notLog := parseCombined(line)
	if notLog == nil {
		return Combined, parseCombined, nil
	}
	c, err := newTable(line)
	if err == nil {
		return CSV, c.parse, nil
	}
	if logline.LikeAccess(line) { // one broken line at the top must not cost the log
		return Combined, parseCombined, nil
	}
	return "", nil, fmt.Errorf("neither a Combined log line nor a CSV header: %w", err)
}
