package advise

import (
	"math"
	"time"

	"github.com/weir-go/weir/cmd/weir/internal/logs"
)

// Options of an advisor. The zero value is usable.
type Options struct {
	Key     logs.Key
	Cost    logs.Cost
	Rates   []Rate // as ParseRates returns them; nil is a ladder from the busiest key's mean to its peak
	Refuse  Share  // of requests, for "tight"
	ForKeys Share  // of keys, likewise; one of the two at most
	MaxKeys int    // 0 is DefaultKeys
	Memory  int64  // bytes for noted requests, and again for queues; 0 is DefaultMemory

	Text     func(key []byte) string // writes a key into the result; nil is logs.KeyText
	Progress func(stage string)      // called at each pass over the requests; nil is not
}

const (
	// DefaultKeys is how many keys are told apart if nothing else is said.
	DefaultKeys = 2_000_000
	// DefaultMemory is the bytes if nothing else is said.
	DefaultMemory = 256 << 20
)

// An Advisor collects records and then advises. It is for one goroutine.
type Advisor struct {
	o      Options
	ids    map[string]int32
	names  []string
	keys   []keyState
	spool  spool
	tokens int64
	left   int64
	most   int64
	peak   peak
	all    keyState // of all keys together
	peakOf peak
}

// A keyState is what is counted of a key while records come.
type keyState struct {
	tokens int64
	second int64 // of the clock
	sum    int64 // tokens in it
}

// A peak is the second with the most tokens so far.
type peak struct {
	tokens, second int64
	key            int32
}

// New returns an advisor.
func New(o Options) *Advisor {
	if o.MaxKeys <= 0 {
		o.MaxKeys = DefaultKeys
	}
	o.MaxKeys = min(o.MaxKeys, math.MaxInt32)
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.Text == nil {
		o.Text = logs.KeyText
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &Advisor{o: o, ids: make(map[string]int32), spool: spool{room: o.Memory}}
}

// Keys and Costs are what the advisor wants of each record.
func (a *Advisor) Keys() []logs.Key { return []logs.Key{a.o.Key} }

// Costs is like Keys.
func (a *Advisor) Costs() []logs.Cost { return []logs.Cost{a.o.Cost} }

// Close takes the temporary file away, if there is one.
func (a *Advisor) Close() error { return a.spool.close() }

// Add notes a record. The error is that of a temporary file.
func (a *Advisor) Add(r *logs.Record) error {
	cost := r.Costs[0]
	id, known := a.ids[string(r.Keys[0])]
	if !known {
		if len(a.names) >= a.o.MaxKeys {
			a.left++
			return nil
		}
		id = int32(len(a.names))
		name := string(r.Keys[0])
		a.ids[name] = id
		a.names = append(a.names, name)
		a.keys = append(a.keys, keyState{second: math.MinInt64})
	}
	if a.spool.count == 0 {
		a.all.second = math.MinInt64
	}
	second := secondOf(r.Time)
	a.peak.see(&a.keys[id], second, cost, id)
	a.peakOf.see(&a.all, second, cost, 0)
	a.tokens = add(a.tokens, cost)
	a.most = max(a.most, cost)
	return a.spool.add(request{r.Time, id, cost})
}

// see counts a cost, of one key or of all.
func (p *peak) see(k *keyState, second, cost int64, key int32) {
	k.tokens = add(k.tokens, cost)
	if k.second != second {
		k.second, k.sum = second, 0
	}
	if k.sum = add(k.sum, cost); k.sum > p.tokens {
		*p = peak{k.sum, second, key}
	}
}

func secondOf(at int64) int64 {
	s := at / int64(time.Second)
	if at%int64(time.Second) < 0 {
		s--
	}
	return s
}

func add(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// Result advises, by input that this is the summary of. The error is that of a temporary file.
func (a *Advisor) Result(in *logs.Summary) (*Result, error) {
	r := &Result{
		Schema: Schema, Input: *in, Key: a.o.Key.String(), Cost: a.o.Cost.String(),
		Requests: a.spool.count, Tokens: a.tokens, Keys: int64(len(a.names)), LeftOut: a.left, Largest: a.most,
		Curve: []Point{}, Skipped: []string{}, Advice: []Advice{}, Spooled: a.spool.bytes,
	}
	if len(in.Keys) > 0 {
		r.Key, r.Cost = in.Keys[0], in.Costs[0]
	}
	if a.o.Refuse.num > 0 {
		r.Refuse = a.o.Refuse.String()
	}
	if a.o.ForKeys.num > 0 {
		r.ForKeys = a.o.ForKeys.String()
	}
	if a.spool.count == 0 {
		return r, nil
	}
	busiest := int32(0)
	for id := range a.keys {
		if k := &a.keys[id]; k.tokens > a.keys[busiest].tokens || k.tokens == a.keys[busiest].tokens && a.names[id] < a.names[busiest] {
			busiest = int32(id)
		}
	}
	r.Busiest = KeyTokens{a.text(busiest), a.keys[busiest].tokens}
	r.Peak = Second{time.Unix(a.peak.second, 0).UTC(), a.peak.tokens, a.text(a.peak.key)}
	r.PeakAll = Second{time.Unix(a.peakOf.second, 0).UTC(), a.peakOf.tokens, ""}
	if a.most == 0 {
		return r, nil // nothing costs anything: every limit grants it all
	}
	rates := a.o.Rates
	if rates == nil {
		rates = ladder(a.mean(busiest), Rate{a.peak.tokens, time.Second})
	}
	if err := a.curve(r, rates); err != nil {
		return nil, err
	}
	return r, a.recommend(r)
}

func (a *Advisor) text(key int32) string { return a.o.Text([]byte(a.names[key])) }

// mean is the rate at which a key asked, from the first request to the last.
func (a *Advisor) mean(key int32) Rate {
	return Rate{a.keys[key].tokens, max(a.span(), time.Second)}
}

// span is the time from the first request to the last, by which limiters count.
func (a *Advisor) span() time.Duration { return a.since(a.spool.last) }

func (a *Advisor) since(at int64) time.Duration {
	return time.Duration(min(uint64(at)-uint64(a.spool.first), math.MaxInt64))
}

// pass reads all requests, with the time since the first.
func (a *Advisor) pass(stage string, f func(r request, elapsed time.Duration)) error {
	a.o.Progress(stage)
	return a.spool.each(func(r request) {
		f(r, a.since(r.at))
	})
}

// batch is how many of n limits fit into the memory at a time, if a key takes so many bytes for each.
func (a *Advisor) batch(n, bytes int) int {
	return int(max(min(a.o.Memory/int64(len(a.names)*bytes), int64(n)), 1))
}
