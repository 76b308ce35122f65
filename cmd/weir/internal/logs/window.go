package logs

import (
	"container/heap"
	"math"
)

// MaxHeld is how many records are held to be sorted at most. Beyond it the earliest leaves, whatever the window.
const MaxHeld = 1 << 20

// A window sorts records that stand out of order by no more than its span. Those that come in order, nearly all, stand in a
// queue; the others in a heap; what leaves is the earlier of the two heads. Equal times leave in the order of their lines.
type window struct {
	span    int64
	most    int
	emit    func(*Record) error
	queue   []*block // the first one has the head
	spare   []*block
	late    lateHeap
	held    int
	seen    bool
	latest  int64 // time in the queue
	emitted int64 // time of the record that left last
	count   int64 // records that came, which is the order of equal times
	out     Record
	stats   order
}

// An order says what stood where.
type order struct {
	reordered int64 // records that had to be sorted
	late      int64 // records that came when time was past them already
}

// A block holds records one after the other, so that holding one allocates nothing.
type block struct {
	at, seq []int64
	costs   []int64
	ends    []uint32 // of each key in bytes
	bytes   []byte
	head    int
}

const (
	blockRecords = 512
	blockBytes   = 64 << 10
)

func newWindow(span int64, emit func(*Record) error) *window {
	return &window{span: max(span, 0), most: MaxHeld, emit: emit, emitted: math.MinInt64}
}

// add takes a record, whose slices it copies, and lets those go for which it is time.
func (w *window) add(r *Record) error {
	w.count++
	switch {
	case w.emitted > r.Time:
		w.stats.late++
		at := *r
		at.Time = w.emitted
		return w.emit(&at)
	case w.seen && r.Time < w.latest:
		w.stats.reordered++
		heap.Push(&w.late, newLate(r, w.count))
	default:
		w.seen, w.latest = true, r.Time
		w.push(r)
	}
	w.held++
	until := w.latest - w.span
	if until > w.latest { // before the first instant that there is
		until = math.MinInt64
	}
	return w.release(until, w.most)
}

// flush lets everything go.
func (w *window) flush() error { return w.release(math.MaxInt64, 0) }

// release emits what is not after until, and more while more than most are held.
func (w *window) release(until int64, most int) error {
	for w.held > 0 {
		at, fromQueue := w.first()
		if at > until && w.held <= most {
			return nil
		}
		w.held--
		w.emitted = at
		var err error
		if fromQueue {
			err = w.emit(w.pop())
		} else {
			err = w.emit(&heap.Pop(&w.late).(*lateRecord).Record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first returns the time of the record that leaves next, and whether it stands in the queue.
func (w *window) first() (at int64, fromQueue bool) {
	if len(w.queue) == 0 {
		return w.late[0].Time, false
	}
	b := w.queue[0]
	at = b.at[b.head]
	if len(w.late) > 0 {
		if l := w.late[0]; l.Time < at || l.Time == at && l.seq < b.seq[b.head] {
			return l.Time, false
		}
	}
	return at, true
}

func (w *window) push(r *Record) {
	var b *block
	if n := len(w.queue); n > 0 {
		b = w.queue[n-1]
	}
	if b == nil || len(b.at) == blockRecords || len(b.bytes) > blockBytes {
		if n := len(w.spare); n > 0 {
			b, w.spare = w.spare[n-1], w.spare[:n-1]
		} else {
			b = &block{}
		}
		w.queue = append(w.queue, b)
	}
	b.at, b.seq = append(b.at, r.Time), append(b.seq, w.count)
	b.costs = append(b.costs, r.Costs...)
	for _, k := range r.Keys {
		b.bytes = append(b.bytes, k...)
		b.ends = append(b.ends, uint32(len(b.bytes)))
	}
}

// pop takes the head of the queue. The record is valid until the next push.
func (w *window) pop() *Record {
	b := w.queue[0]
	i := b.head
	b.head++
	keys, costs := len(b.ends)/len(b.at), len(b.costs)/len(b.at)
	w.out.Time, w.out.Costs, w.out.Keys = b.at[i], b.costs[i*costs:(i+1)*costs], w.out.Keys[:0]
	from := uint32(0)
	if i*keys > 0 {
		from = b.ends[i*keys-1]
	}
	for _, end := range b.ends[i*keys : (i+1)*keys] {
		w.out.Keys = append(w.out.Keys, b.bytes[from:end:end])
		from = end
	}
	if b.head == len(b.at) {
		w.queue[0] = nil
		w.queue = w.queue[1:]
		b.at, b.seq, b.costs, b.ends, b.head = b.at[:0], b.seq[:0], b.costs[:0], b.ends[:0], 0
		b.bytes = b.bytes[:0]
		if cap(b.bytes) <= 2*blockBytes && len(w.spare) < 1024 {
			w.spare = append(w.spare, b)
		}
	}
	return &w.out
}

// A lateRecord came out of order and owns its memory.
type lateRecord struct {
	Record
	seq int64
}

func newLate(r *Record, seq int64) *lateRecord {
	l := &lateRecord{Record{Time: r.Time, Costs: append([]int64(nil), r.Costs...)}, seq}
	for _, k := range r.Keys {
		l.Keys = append(l.Keys, append([]byte(nil), k...))
	}
	return l
}

type lateHeap []*lateRecord

func (h lateHeap) Len() int { return len(h) }
func (h lateHeap) Less(i, j int) bool {
	return h[i].Time < h[j].Time || h[i].Time == h[j].Time && h[i].seq < h[j].seq
}
func (h lateHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *lateHeap) Push(x any)   { *h = append(*h, x.(*lateRecord)) }
func (h *lateHeap) Pop() any {
	old := *h
	n := len(old) - 1
	x := old[n]
	old[n] = nil
	*h = old[:n]
	return x
}
