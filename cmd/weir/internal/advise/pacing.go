package advise

import (
	"math/bits"
	"slices"
	"time"

	"github.com/weir-go/weir/gcra"
)

// A pacing measures how long requests wait for one limit.
type pacing struct {
	limit  gcra.Limit
	out    *Pacing
	count  int64
	hi, lo uint64 // sum of all waits
	find   []quantile
}

// A quantile is found digit by digit: of the waits whose higher digits are prefix it is the one of that rank.
type quantile struct {
	prefix uint64
	rank   int64
	counts []int64 // of each digit that may follow
}

const digit = 16 // bits

// pace fills in the pacings. The first pass finds the longest waits and the sums; each of the others one digit of the
// quantiles, so that these are exact however many requests there are.
func (a *Advisor) pace(all []*pacing) error {
	for part := range slices.Chunk(all, a.batch(len(all), 8)) {
		err := a.waits(part, "measuring waits", func(p *pacing, wait time.Duration) {
			p.count++
			if wait == 0 {
				return
			}
			p.out.Waited++
			p.out.Max = max(p.out.Max, wait)
			var carry uint64
			p.lo, carry = bits.Add64(p.lo, uint64(wait), 0)
			p.hi += carry
		})
		if err != nil {
			return err
		}
		longest := time.Duration(0)
		for _, p := range part {
			p.out.Burst = int64(p.limit.Capacity())
			if p.count == 0 {
				continue
			}
			mean, _ := bits.Div64(p.hi, p.lo, uint64(p.count)) // at most the longest, so it fits
			p.out.Mean = time.Duration(mean)
			longest = max(longest, p.out.Max)
			p.find = []quantile{{rank: rank(p.count, 50)}, {rank: rank(p.count, 99)}}
		}
		for shift := (bits.Len64(uint64(longest)) - 1) / digit * digit; shift >= 0; shift -= digit {
			if err := a.refine(part, shift); err != nil {
				return err
			}
		}
		for _, p := range part {
			if p.count > 0 {
				p.out.P50, p.out.P99 = time.Duration(p.find[0].prefix), time.Duration(p.find[1].prefix)
			}
		}
	}
	return nil
}

// refine finds the digit of the quantiles that begins at a bit.
func (a *Advisor) refine(part []*pacing, shift int) error {
	for _, p := range part {
		for i := range p.find {
			p.find[i].counts = make([]int64, 1<<digit)
		}
	}
	err := a.waits(part, "sorting waits", func(p *pacing, wait time.Duration) {
		for i := range p.find {
			if q := &p.find[i]; uint64(wait)>>(shift+digit) == q.prefix {
				q.counts[uint64(wait)>>shift&(1<<digit-1)]++
			}
		}
	})
	for _, p := range part {
		for i := range p.find {
			q := &p.find[i]
			for d, n := range q.counts {
				if q.rank < n {
					q.prefix = q.prefix<<digit | uint64(d)
					break
				}
				q.rank -= n
			}
			q.counts = nil
		}
	}
	return err
}

// waits books every request and tells its wait. Requests above the burst are counted as such in the first pass.
func (a *Advisor) waits(part []*pacing, stage string, tell func(p *pacing, wait time.Duration)) error {
	n := len(part)
	words := make([]int64, n*len(a.names))
	at := make([]gcra.Instant, n)
	for _, p := range part {
		p.out.Never = 0
	}
	last := time.Duration(-1)
	return a.pass(stage, func(r request, elapsed time.Duration) {
		if elapsed != last {
			last = elapsed
			for i, p := range part {
				at[i] = gcra.At(&p.limit, elapsed)
			}
		}
		row := words[int(r.key)*n : (int(r.key)+1)*n]
		for i, p := range part {
			b, d := gcra.Book(&p.limit, row[i], at[i], at[i].Tick, int(r.cost))
			if !d.OK() {
				p.out.Never++
				continue
			}
			row[i] = b.End
			tell(p, gcra.Until(&p.limit, b.Slot, at[i]))
		}
	})
}
