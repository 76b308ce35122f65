package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/contrib/redislimit/lease"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/shard"
)

type config struct {
	gateways, keys int
	skew           float64
	rate           int // requests a second
	whole, life    time.Duration
	limit          gcra.Limit
	seed           uint64
}

func (c config) check() error {
	if c.gateways < 1 || c.keys < 1 || c.rate < 10 || c.whole <= 0 || c.life <= 0 || !(c.skew > 1) {
		return fmt.Errorf("want at least one gateway and key, 10 requests a second, a time and a lifetime, and a skew above 1")
	}
	if rate, _ := c.limit.Rate(); rate == 0 || c.limit == gcra.Unlimited() || c.limit.Interval() > c.whole {
		return fmt.Errorf("-limit %v is not one to lease", c.limit)
	}
	return nil
}

// A request comes to one gateway, about one key.
type request struct{ gateway, key int32 }

// when is the instant of a request: a tenth of those of a second come in its first three
// quarters, the others in the last, at equal distances each.
func (c config) when(i int) time.Duration {
	second, n := time.Duration(i/c.rate)*time.Second, i%c.rate
	if calm := c.rate / 10; n >= calm {
		return second + 3*time.Second/4 + time.Duration(n-calm)*(time.Second/4)/time.Duration(c.rate-calm)
	}
	return second + time.Duration(n)*(3*time.Second/4)/time.Duration(c.rate/10)
}

// requests come one after the other.
func (c config) requests() []request {
	r := rand.New(rand.NewPCG(c.seed, 2))
	zipf := rand.NewZipf(r, c.skew, 1, uint64(c.keys-1))
	all := make([]request, int(c.whole.Seconds()*float64(c.rate)))
	for i := range all {
		all[i] = request{int32(r.IntN(c.gateways)), int32(zipf.Uint64())}
	}
	return all
}

// A result is what came of the requests.
type result struct {
	block     int
	asks      int // requests
	granted   int
	exact     int // granted by one bucket for all
	asked     int // questions to the store
	leased    int // tokens
	expired   int // tokens of these
	overshoot int // the most tokens above burst + rate·w, of all keys and windows
	out       int // the most tokens of one key that were leased out
	waiting   int // requests refused while others had tokens of the key
}

// A world is one run.
type world struct {
	config
	result
	clk   clock.Manual
	store *shard.Limiter[string]
	names []string
	all   []*lease.Limiter
	now   request // that is being decided

	held  []held // by gateway and key
	out   []int  // by key: leased, neither spent nor expired
	ends  []end  // of leases, in order
	meter meter
}

// held is what a gateway has of a key, by the count of who watches.
type held struct{ loan, tokens int32 }

type end struct {
	at   time.Duration
	of   request
	loan int32
}

// Limit and Lend make the world the store of all its gateways.
func (w *world) Limit() gcra.Limit { return w.limit }

func (w *world) Lend(_ context.Context, key string, least, most int) (lease.Loan, error) {
	w.asked++
	n := max(least, min(most, w.store.Peek(key, 0).Remaining()))
	d := w.store.Take(key, n)
	if d.OK() {
		w.leased += n
		h := w.at(w.now)
		h.loan, h.tokens = h.loan+1, h.tokens+int32(n)
		w.out[w.now.key] += n
		w.ends = append(w.ends, end{w.clk.Now() + w.life, w.now, h.loan})
	}
	return lease.Loan{Decision: d}, nil
}

func (w *world) at(r request) *held { return &w.held[int(r.gateway)*w.keys+int(r.key)] }

// expire counts what is left of the leases that are over.
func (w *world) expire() {
	for len(w.ends) > 0 && w.ends[0].at <= w.clk.Now() {
		e := w.ends[0]
		w.ends = w.ends[1:]
		// A later loan means that nothing was left of this one.
		if h := w.at(e.of); h.loan == e.loan {
			w.expired += int(h.tokens)
			w.out[e.of.key] -= int(h.tokens)
			h.tokens = 0
		}
	}
}

// simulate runs the requests with blocks of up to that size, or of exactly that.
func (c config) simulate(requests []request, block int, fixed bool) (result, error) {
	w := &world{config: c, held: make([]held, c.gateways*c.keys), out: make([]int, c.keys)}
	w.block, w.asks = block, len(requests)
	w.meter.init(c.limit, c.keys)
	w.store = shard.New[string](c.limit, shard.WithClock(&w.clk))
	one := shard.New[string](c.limit, shard.WithClock(&w.clk))
	for i := range c.keys {
		w.names = append(w.names, strconv.Itoa(i))
	}
	first := 1
	if fixed {
		first = block
	}
	for range c.gateways {
		l, err := lease.New(w, lease.WithClock(&w.clk), lease.WithLifetime(c.life),
			lease.WithShare(1), lease.WithFirstBlock(first), lease.WithMaxBlock(block))
		if err != nil {
			return result{}, err
		}
		w.all = append(w.all, l)
	}
	for i, r := range requests {
		w.clk.Set(c.when(i))
		w.expire()
		if one.Allow(w.names[r.key]) {
			w.exact++
		}
		w.now = r
		d, err := w.all[r.gateway].Take(context.Background(), w.names[r.key], 1)
		switch {
		case err != nil:
			return result{}, err
		case d.OK():
			w.granted++
			if h := w.at(r); h.tokens == 0 {
				return result{}, fmt.Errorf("gateway %d spent a token of key %d that it did not have", r.gateway, r.key)
			}
			w.at(r).tokens--
			w.out[r.key]--
			w.overshoot = max(w.overshoot, w.meter.spend(int(r.key), w.clk.Now()))
		case w.out[r.key] > 0:
			w.waiting++
		}
		w.result.out = max(w.result.out, w.out[r.key])
	}
	return w.result, nil
}

// A meter tells how far a limit was exceeded: a bucket that goes into debt lacks, below
// empty, what the worst window that ends now has seen above burst + rate·w.
type meter struct {
	limit gcra.Limit
	token int64
	tat   []int64
}

func (m *meter) init(l gcra.Limit, keys int) {
	m.limit, m.tat = l, make([]int64, keys)
	at := gcra.At(&m.limit, 0)
	next, _ := gcra.Allow(&m.limit, at.Tick, at, 1)
	m.token = next - at.Tick
}

// spend counts one token, and returns the tokens of debt, rounded up.
func (m *meter) spend(key int, now time.Duration) int {
	at := gcra.At(&m.limit, now)
	m.tat[key], _ = gcra.Debit(&m.limit, m.tat[key], at, 1, 1<<30)
	debt := m.tat[key] - at.Tick - m.token*int64(m.limit.Capacity())
	return int(max(debt+m.token-1, 0) / m.token)
}
