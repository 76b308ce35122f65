package stress_test

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/gcra"
)

// WaitN books in the key's cell, which it makes if there is none.
func (e *twin) WaitN(ctx context.Context, key uint64, n int) error {
	if e.flaw == "polls" {
		return e.poll(ctx, key, n)
	}
	asked := ctx
	if e.flaw == "takes when done" || e.flaw == "books past the deadline" && ctx.Err() == nil {
		asked = context.WithoutCancel(ctx)
	}
	if e.flaw == "takes what fits" && n > e.limit.Capacity() {
		e.TakeUpTo(key, n)
	}
	t, err := e.core.Begin(asked)
	if err != nil {
		return err
	}
	for {
		c := e.find(key)
		if c == nil {
			e.mu.Lock()
			if e.cells[key] == nil {
				t = e.core.Again(t, e.core.Now())
				if b, d := t.Book(e.gen, e.fresh, n); !d.OK() || b.Cost == 0 {
					e.mu.Unlock()
					return e.core.Finish(ctx, e.gen, t, n, b, d, nil)
				}
				e.put(key, max(e.fresh, t.At(e.gen).Tick), t.At(e.gen))
			}
			e.mu.Unlock()
			continue
		}
		tat := c.Load()
		if tat == dead {
			runtime.Gosched()
			continue
		}
		b, d := t.Book(e.gen, tat, n)
		if e.flaw == "load then store" {
			runtime.Gosched()
			c.Store(tat)
		}
		if d.OK() && b.End != tat && !c.CompareAndSwap(tat, b.End) {
			continue
		}
		if e.flaw == "wakes early" && b.Slot > t.At(e.gen).Tick {
			b.Slot -= min(b.Slot-t.At(e.gen).Tick, e.span/int64(e.limit.Capacity()))
		}
		for e.flaw == "looks again and again" && gcra.Until(&e.limit, b.Slot, e.now()) > 10*time.Millisecond {
			select {
			case <-time.After(10 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
			break
		}
		err := e.core.Finish(ctx, e.gen, t, n, b, d, nil)
		if err != nil && d.OK() {
			e.giveBack(c, b, n)
		}
		if err == nil && e.flaw == "context wins" {
			err = ctx.Err()
		}
		return err
	}
}

func (e *twin) giveBack(c *word, b gcra.Booking, n int) {
	at := e.now()
	for e.flaw != "keeps the slot" {
		tat := c.Load()
		next := gcra.GiveBack(&e.limit, tat, at, b, n)
		if e.flaw == "frees the middle" {
			next = tat - min(b.Cost, max(tat-at.Tick, 0))
		}
		if c.CompareAndSwap(tat, next) {
			return
		}
	}
}

func (e *twin) poll(ctx context.Context, key uint64, n int) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		d := e.Take(key, n)
		if d.Err() != gcra.ErrLimited {
			return d.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.RetryAfter()):
		}
	}
}

// oddTwin has keys that are not equal to themselves: none is found again.
type oddTwin struct {
	*twin
	next atomic.Uint64
}

func (e *oddTwin) odd(decide func(uint64, int) gcra.Decision, n int) gcra.Decision {
	if e.flaw == "stores odd keys" {
		e.most = math.MaxInt
	}
	return decide(e.next.Add(1), n)
}

func (e *oddTwin) AllowN(_ uint64, n int) bool            { return e.Take(0, n).OK() }
func (e *oddTwin) Take(_ uint64, n int) gcra.Decision     { return e.odd(e.twin.Take, n) }
func (e *oddTwin) TakeUpTo(_ uint64, n int) gcra.Decision { return e.odd(e.twin.TakeUpTo, n) }
func (e *oddTwin) Peek(_ uint64, n int) gcra.Decision     { return e.odd(e.twin.Peek, n) }
