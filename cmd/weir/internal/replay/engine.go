package replay

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
	"github.com/weir-go/weir/gcra"
)

// Options of an engine. The zero value is usable.
type Options struct {
	Joint   bool
	MaxKeys int                     // of each kind of key; 0 is DefaultKeys
	Top     int                     // keys in Verdict.MostRefused; 0 is 10
	Text    func(key []byte) string // writes a key into the result; nil is logs.KeyText
}

// DefaultKeys is how many keys of each kind are held if nothing else is said.
const DefaultKeys = 2_000_000

// An Engine decides records as they come. It is for one goroutine.
type Engine struct {
	o      Options
	keys   []logs.Key
	costs  []logs.Cost
	tables []*table // as keys
	limits []limit
	tally  []Verdict // of each limit, then of all together
	rows   []int32   // of the record at hand, as tables

	begun    bool
	now      int64 // time of the record at hand
	start    int64 // of the timeline
	timeline *Timeline
	requests int64
	fresh    func(limit int) int64
	idle     []func(row int32) bool // as tables
}

// A limit is a Spec at work.
type limit struct {
	Spec
	key, cost int // indices into Engine.keys and costs
	col       int // among the limits of its table
	born      int64
	fresh     int64
	at        gcra.Instant
	end       int64 // tick at which the clock of the limit stays, if it moves before
	next      int64 // of the record at hand
	d         gcra.Decision
}

// New returns an engine for the limits. There is at least one.
func New(specs []Spec, o Options) (*Engine, error) {
	if len(specs) == 0 {
		return nil, errors.New("no limit to replay")
	}
	if o.MaxKeys <= 0 {
		o.MaxKeys = DefaultKeys
	}
	if o.Top <= 0 {
		o.Top = 10
	}
	if o.Text == nil {
		o.Text = logs.KeyText
	}
	e := &Engine{o: o}
	for i, s := range specs {
		l := limit{Spec: s}
		if l.key = slices.IndexFunc(e.keys, func(k logs.Key) bool { return k.String() == s.Key.String() }); l.key < 0 {
			l.key = len(e.keys)
			e.keys = append(e.keys, s.Key)
			e.tables = append(e.tables, newTable(min(o.MaxKeys, math.MaxInt32)))
		}
		if l.cost = slices.Index(e.costs, s.Cost); l.cost < 0 {
			l.cost = len(e.costs)
			e.costs = append(e.costs, s.Cost)
		}
		t := e.tables[l.key]
		l.col = len(t.limits)
		t.limits = append(t.limits, i)
		e.limits = append(e.limits, l)
	}
	e.rows = make([]int32, len(e.tables))
	e.tally = make([]Verdict, len(specs)+1)
	e.fresh = func(i int) int64 { return e.limits[i].fresh }
	for t := range e.tables {
		e.idle = append(e.idle, func(row int32) bool { return e.isIdle(e.tables[t], row) })
	}
	return e, nil
}

// Keys and Costs are what the engine wants of each record.
func (e *Engine) Keys() []logs.Key { return e.keys }

// Costs is like Keys.
func (e *Engine) Costs() []logs.Cost { return e.costs }

// Add decides a record. Its error is always nil.
func (e *Engine) Add(r *logs.Record) error {
	e.clock(r.Time)
	e.requests++
	bin := e.timeline.bin(r.Time, e.start)
	e.timeline.Requests[bin]++
	for i, t := range e.tables {
		e.rows[i] = t.row(r.Keys[i], e.fresh, e.idle[i])
	}
	refused := -1 // the limit that has to be waited for longest
	for i := range e.limits {
		l := &e.limits[i]
		l.next, l.d = gcra.Take(&l.Limit, e.word(l), l.at, int(r.Costs[l.cost]))
		if l.at.Tick == l.end {
			e.tally[i].PastRange++
		}
		if !l.d.OK() && (refused < 0 || outlasts(l.d, e.limits[refused].d)) {
			refused = i
		}
		if !e.o.Joint {
			e.write(l)
			e.count(i, bin, r.Costs[l.cost], l.d, true)
		}
	}
	if e.o.Joint {
		e.together(r, bin, refused)
	}
	return nil
}

// together is what the limits decided if they are joint.
func (e *Engine) together(r *logs.Record, bin, refused int) {
	for i := range e.limits {
		l := &e.limits[i]
		switch {
		case refused < 0:
			e.write(l)
			e.count(i, bin, r.Costs[l.cost], l.d, true)
		case refused == i:
			e.count(i, bin, r.Costs[l.cost], l.d, true)
		}
	}
	d := e.limits[max(refused, 0)].d
	e.count(len(e.limits), bin, r.Costs[e.limits[0].cost], d, false)
}

// outlasts reports whether d is to be named as the refusal rather than than: as gcra.Both has it.
func outlasts(d, than gcra.Decision) bool {
	a, b := d.RetryAfter(), than.RetryAfter()
	return a > b || a == b && d.Err() != gcra.ErrLimited && than.Err() == gcra.ErrLimited
}

// clock takes every limit to the time of a record.
func (e *Engine) clock(now int64) {
	if !e.begun {
		e.begun = true
		n := len(e.limits)
		if e.o.Joint {
			n++
		}
		e.timeline = newTimeline(now, n)
		e.start = e.timeline.Start.UnixNano()
		if e.start > now { // before the first second that an int64 reaches
			e.start = now
		}
		for i := range e.limits {
			l := &e.limits[i]
			l.born = int64(l.Limit.Birth(time.Duration(now)))
			first := gcra.At(&l.Limit, 0)
			l.fresh = gcra.Fresh(&l.Limit, first)
			if l.end = gcra.At(&l.Limit, gcra.Never).Tick; l.end == first.Tick {
				l.end = -1 // nothing ever refills it
			}
		}
	} else if now == e.now {
		return
	}
	e.now = now
	for i := range e.limits {
		l := &e.limits[i]
		l.at = gcra.At(&l.Limit, elapsed(now, l.born))
	}
}

func elapsed(now, born int64) time.Duration {
	if d := uint64(now) - uint64(born); d <= math.MaxInt64 {
		return time.Duration(d)
	}
	return math.MaxInt64
}

// word is the state of the record's key under the limit.
func (e *Engine) word(l *limit) int64 {
	row := e.rows[l.key]
	if row == noRow {
		return l.fresh
	}
	return e.tables[l.key].cell(row, l.col).word
}

func (e *Engine) write(l *limit) {
	if row := e.rows[l.key]; row != noRow {
		e.tables[l.key].cell(row, l.col).word = l.next
	}
}

func (e *Engine) isIdle(t *table, row int32) bool {
	for col, i := range t.limits {
		l := &e.limits[i]
		if t.cell(row, col).word > l.at.Tick || l.fresh > l.at.Tick {
			return false
		}
	}
	return true
}

// count notes a decision for a limit, or for all together, and with byKey for the record's key.
func (e *Engine) count(i, bin int, cost int64, d gcra.Decision, byKey bool) {
	v := &e.tally[i]
	if d.OK() {
		v.Granted++
		v.GrantedTokens = add(v.GrantedTokens, cost)
		return
	}
	v.Refused++
	v.RefusedTokens = add(v.RefusedTokens, cost)
	if wait := d.RetryAfter(); wait == gcra.Never {
		v.Never++
	} else {
		v.LongestWait = max(v.LongestWait, wait)
	}
	e.timeline.Refused[i][bin]++
	if byKey {
		l := &e.limits[i]
		if row := e.rows[l.key]; row != noRow {
			e.tables[l.key].cell(row, l.col).refused++
		}
	}
}

func add(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// Refused is how many requests the limit of that index has refused so far.
func (e *Engine) Refused(limit int) int64 { return e.tally[limit].Refused }
