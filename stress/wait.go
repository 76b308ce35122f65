package stress

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// inBubble makes a check of waiting, in a synctest bubble of its own.
func inBubble(name string, run func(*bubble) error) Check {
	return Check{name, needWaiter, func(t *testing.T, s Subject) (err error) {
		synctest.Test(t, func(*testing.T) {
			b := newBubble(s, limitOf("1/s"))
			err = run(b)
			b.end()
			b.waiters.Wait()
		})
		return err
	}}
}

// A bubble is a limiter in a synctest bubble: of one token a second, burst 1,
// unless a check says otherwise.
type bubble struct {
	Engine
	s     Subject
	start time.Time
	clk   *countClock
	// ctx ends with the check, so that no waiter is left behind in a bubble
	// whose limiter was found wrong.
	ctx     context.Context
	end     context.CancelFunc
	waiters sync.WaitGroup
}

// countClock counts the readings of the bubble's time, and shows whole units.
type countClock struct {
	clock.Clock
	unit  time.Duration
	reads atomic.Int64
}

func (c *countClock) Now() time.Duration {
	c.reads.Add(1)
	return c.Clock.Now() / c.unit * c.unit
}

func newBubble(s Subject, limit gcra.Limit) *bubble {
	clk := &countClock{Clock: clock.System(), unit: s.unit()}
	b := &bubble{Engine: s.New(limit, clk), s: s, start: time.Now(), clk: clk}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

func (b *bubble) wait(ctx context.Context, n int) error {
	return b.Engine.(Waiter).WaitN(ctx, 1, n)
}

func (b *bubble) elapsed() time.Duration { return time.Since(b.start) }

// order books 100 waiters one after another; they come out in that order, each
// at its own second exactly.
func order(b *bubble) error {
	const waiters = 100
	type out struct {
		waiter int
		at     time.Duration
		err    error
	}
	outs := make(chan out, waiters)
	for i := range waiters {
		b.waiters.Go(func() {
			err := b.wait(b.ctx, 1)
			outs <- out{i, b.elapsed(), err}
		})
		synctest.Wait() // it has booked and sleeps
	}
	for i := range waiters {
		got := <-outs
		if want := (out{i, time.Duration(i) * time.Second, nil}); got != want {
			return errorf("waiter %d came at %v with err %v, want waiter %d at %v", got.waiter, got.at, got.err, want.waiter, want.at)
		}
	}
	return nil
}

// crowd books 300 waiters at one instant, from as many goroutines: no slot is
// given twice, and none is left empty.
func crowd(b *bubble) error {
	const waiters = 300
	at, errs := make([]time.Duration, waiters), make([]error, waiters)
	for i := range waiters {
		b.waiters.Go(func() {
			errs[i] = b.wait(b.ctx, 1)
			at[i] = b.elapsed()
		})
	}
	b.waiters.Wait()
	slices.Sort(at)
	for i := range waiters {
		if want := time.Duration(i) * time.Second; at[i] != want || errs[i] != nil {
			return errorf("the waiter of slot %d came at %v, want %v; a waiter had err %v", i, at[i], want, errs[i])
		}
	}
	return nil
}

// deadline: one before the slot fails at once and books nothing, one at the
// slot passes.
func deadline(b *bubble) error {
	b.wait(b.ctx, 1)
	ctx, cancel := context.WithTimeout(b.ctx, time.Second-b.s.unit())
	defer cancel()
	if err := b.wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || b.elapsed() != 0 {
		return errorf("a deadline before the slot: err %v after %v", err, b.elapsed())
	}
	ctx, cancel = context.WithTimeout(b.ctx, time.Second)
	defer cancel()
	if err := b.wait(ctx, 1); err != nil || b.elapsed() != time.Second {
		return errorf("a deadline at the slot: err %v after %v", err, b.elapsed())
	}
	return nil
}

// done: a context that is done takes nothing, though a token is there.
func done(b *bubble) error {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.wait(ctx, 1); !errors.Is(err, context.Canceled) {
		return errorf("a context that is done: err %v", err)
	}
	late, cancel := context.WithDeadline(b.ctx, b.start.Add(-time.Second))
	defer cancel()
	if err := b.wait(late, 1); !errors.Is(err, context.DeadlineExceeded) {
		return errorf("a deadline in the past: err %v", err)
	}
	if !b.Peek(1, 1).OK() {
		return errorf("a context that is done took a token")
	}
	return nil
}

// cancels: the last of the queue gives its slot back, one in the middle leaves
// it empty, and neither moves the others.
func cancels(b *bubble) error {
	const waiters = 5
	var at [waiters]time.Duration
	var errs [waiters]error
	var stop [waiters]context.CancelFunc
	ended := make(chan int, waiters+1)
	for i := range waiters {
		ctx, cancel := context.WithCancel(b.ctx)
		stop[i] = cancel
		b.waiters.Go(func() {
			errs[i] = b.wait(ctx, 1)
			at[i] = b.elapsed()
			ended <- i
		})
		synctest.Wait()
	}
	time.Sleep(500 * time.Millisecond)
	stop[2]()
	stop[4]()
	synctest.Wait()
	// The last slot is free again, the one in the middle is not.
	if d := b.Peek(1, 1); d.RetryAfter() != 3500*time.Millisecond {
		return errorf("after the last of 5 waiters and the third gave up, the next token comes in %v, want 3.5s", d.RetryAfter())
	}
	b.waiters.Go(func() {
		b.wait(b.ctx, 1)
		ended <- waiters
	})
	var came []int
	for range waiters + 1 {
		came = append(came, <-ended)
	}
	for _, cancel := range stop {
		cancel()
	}
	half := 500 * time.Millisecond
	if want := [waiters]time.Duration{0, time.Second, half, 3 * time.Second, half}; at != want || b.elapsed() != 4*time.Second {
		return errorf("waiters came at %v and a later one at %v, want %v and 4s", at, b.elapsed(), want)
	}
	for i, err := range errs {
		if gaveUp := i == 2 || i == 4; gaveUp != errors.Is(err, context.Canceled) || (err != nil) != gaveUp {
			return errorf("waiter %d: err %v", i, err)
		}
	}
	slices.Sort(came[1:3])
	if !slices.Equal(came, []int{0, 2, 4, 1, 3, waiters}) {
		return errorf("waiters came in the order %v", came)
	}
	return nil
}

// tie: when slot and context come at one instant, the slot wins.
func tie(b *bubble) error {
	b.wait(b.ctx, 1)
	for i := range b.s.rounds(5000) {
		ctx, cancel := context.WithCancel(b.ctx)
		stop := time.AfterFunc(time.Second, cancel)
		err := b.wait(ctx, 1)
		stop.Stop()
		cancel()
		if err != nil {
			return errorf("try %d: err %v", i, err)
		}
	}
	return nil
}

func misfits(b *bubble) error {
	for _, row := range []struct {
		n    int
		want error
		why  string
	}{
		{2, gcra.ErrExceedsBurst, "it would wait for ever"},
		{-1, gcra.ErrCost, "a negative cost"},
		{0, nil, "nothing is asked for"},
	} {
		if err := b.wait(b.ctx, row.n); !errors.Is(err, row.want) {
			return errorf("cost %d: err %v, want %v: %s", row.n, err, row.want, row.why)
		}
	}
	if !b.Peek(1, 1).OK() || b.elapsed() != 0 {
		return errorf("a cost that does not fit took a token or time")
	}
	return nil
}

// polling: a waiter reads the clock when it comes and when it wakes, a few times
// (a joint reads it for each of its limits), however long it sleeps.
func polling(b *bubble) error {
	b.wait(b.ctx, 1)
	before := b.clk.reads.Load()
	for range 10 {
		b.wait(b.ctx, 1)
	}
	if n := b.clk.reads.Load() - before; n > 10*8 {
		return errorf("10 waits of a second read the clock %d times", n)
	}
	return nil
}
