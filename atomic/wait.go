package atomic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/internal/invariants"
)

// A lag is how late a timer was, min(woke − slot, catch-up). Both numbers stand
// behind one pointer so that nobody credits one wake-up's lateness at another.
type lag struct{ woke, late time.Duration }

// A Turn is one caller's attempt to book a slot, at one reading of the clock.
type Turn struct {
	now      time.Duration
	late     time.Duration // the lateness that may be made up for
	longest  time.Duration // the furthest slot that the caller can wait for
	deadline time.Duration // from now until the context's deadline
}

// Begin starts a wait with a reading of the clock. It fails if the context is
// done.
func (c *Core) Begin(ctx context.Context) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, err
	}
	t := Turn{deadline: gcra.Never}
	if end, ok := ctx.Deadline(); ok {
		if t.deadline = time.Until(end); t.deadline < 0 {
			return Turn{}, context.DeadlineExceeded // before its timer told the context
		}
	}
	t.now = c.Now()
	t.longest = min(c.maxWait, t.deadline)
	// Valid for one catch-up after the wake-up: without an end, one old
	// oversleep would be credited to every idle pause.
	if g := c.lag.Load(); g != nil && t.now-g.woke <= c.catchUp {
		t.late = g.late
	}
	return t, nil
}

// Turn is Begin for a booking that nobody sleeps for here: it has no context
// and keeps no schedule.
func (c *Core) Turn() Turn {
	return Turn{now: c.Now(), longest: c.maxWait, deadline: gcra.Never}
}

// Again is the turn at a new reading of the clock, for a key whose cell has to
// be made: such a key has no schedule to keep.
func (c *Core) Again(t Turn, now time.Duration) Turn {
	if t.deadline != gcra.Never {
		t.deadline = max(t.deadline-(now-t.now), 0)
	}
	t.now, t.late, t.longest = now, 0, min(c.maxWait, t.deadline)
	return t
}

// At returns the turn's reading in the generation's ticks.
func (t Turn) At(g *Generation) gcra.Instant { return g.At(t.now) }

// Book books over a TAT as gcra.Book does, but fails with gcra.ErrLimited if the
// slot is further away than the caller can wait.
func (t Turn) Book(g *Generation, tat int64, n int) (gcra.Booking, gcra.Decision) {
	l, at := g.Limit(), g.At(t.now)
	b, d := gcra.Book(l, tat, at, gcra.Schedule(l, tat, at, t.late), n)
	// Until is tight, so a slot is at most that far away exactly if the clock
	// shows it that much later.
	if b.Slot > at.Tick && b.Slot > gcra.At(l, add(at.Elapsed, t.longest)).Tick {
		return gcra.Booking{}, gcra.Peek(l, tat, at, n) // Take would refuse, and say when
	}
	return b, d
}

// Finish ends a wait: it sleeps until the slot that was booked in the cell, or
// tells why there is none. If the context ends first, the tokens go back to
// the cell, unless it is nil.
func (c *Core) Finish(ctx context.Context, g *Generation, t Turn, n int, b gcra.Booking, d gcra.Decision, cell *Cell) error {
	tat, err := c.Sleep(ctx, g, t, b, d)
	switch {
	case cell == nil || !d.OK():
	case err != nil:
		c.giveBack(g, cell, b, n)
	case tat > 0 && c.Current() == g: // after the clock, as in giveBack
		cell.Raise(tat)
	}
	return err
}

// Sleep ends a wait as Finish does, but leaves the word to the engine, for one
// that keeps it elsewhere than in a cell. If it returns an error although d is
// OK, the booking has to go back. If tat is not 0, the word has to be raised to
// it, should g still be in force: that is strict mode after a timer that was
// late. The tokens count at the wake-up, not at the slot, so that the next ones
// are a whole interval away from it; who has booked behind meanwhile keeps his
// slot.
func (c *Core) Sleep(ctx context.Context, g *Generation, t Turn, b gcra.Booking, d gcra.Decision) (tat int64, err error) {
	if !d.OK() {
		return 0, c.refusal(t, d)
	}
	delay := gcra.Until(g.Limit(), b.Slot, t.At(g))
	if delay <= 0 {
		return 0, nil
	}
	late, err := c.sleep(ctx, t, delay)
	if err == nil && late > 0 && c.catchUp == 0 {
		// Who had to sleep found the bucket empty at his slot, so that
		// End − Slot is the whole burst.
		if invariants.On && g.next.Load() != nil {
			return 0, nil // it woke after the change: no instant of this generation, and no raise
		}
		tat = g.At(add(add(t.now, delay), late)).Tick + b.End - b.Slot
	}
	return tat, err
}

// giveBack returns n tokens of a booking to its cell, if that is still alive and
// of the generation in force. It reads the word, then the clock, then the
// generation: nothing is given back at an instant before one that was used
// already, nor at one after a change.
func (c *Core) giveBack(g *Generation, cell *Cell, b gcra.Booking, n int) {
	for cell.Alive() {
		tat, _ := cell.State()
		now := c.Now()
		if c.Current() != g || cell.GiveBack(g.Limit(), tat, g.At(now), b, n) {
			return
		}
	}
}

func (c *Core) refusal(t Turn, d gcra.Decision) error {
	err := d.Err()
	if err != gcra.ErrLimited {
		return err
	}
	delay := d.RetryAfter()
	if delay > t.deadline && delay <= c.maxWait && delay != gcra.Never {
		err = context.DeadlineExceeded
	}
	return &WaitError{delay, err}
}

// sleep sleeps for the delay from the turn's reading, and longer by the
// jitter. It learns how late the timer was.
func (c *Core) sleep(ctx context.Context, t Turn, delay time.Duration) (late time.Duration, err error) {
	if err := c.pause(ctx, delay); err != nil {
		return 0, err
	}
	woke := c.Now()
	late = woke - add(t.now, delay)
	if owed := min(late, c.catchUp); owed > 0 {
		c.lag.Store(&lag{woke, owed})
	} else {
		c.lag.Store(nil)
	}
	c.linger(ctx, t.deadline-delay)
	return late, nil
}

// linger sleeps for the jitter, for less than room. The slot has come: a
// context that ends now ends the jitter, and takes nothing away.
func (c *Core) linger(ctx context.Context, room time.Duration) {
	if c.jitter > 0 && room > 0 {
		_ = doze(ctx, min(rand.N(c.jitter), room))
	}
}

// pause returns nil after the delay or the context's error if that ends
// before. If both have come, the delay wins.
func (c *Core) pause(ctx context.Context, delay time.Duration) error {
	start := time.Now()
	if rest := delay - c.spin; rest > 0 {
		if err := doze(ctx, rest); err != nil {
			return err
		}
	}
	// What spins watches the runtime's time, as its timers do. If that stands
	// still, as in a synctest bubble, spinning would not end.
	const still = 1000
	for same, last := 0, time.Duration(-1); ; {
		now := time.Since(start)
		if now >= delay {
			return nil
		}
		if now != last {
			same, last = 0, now
		} else if same++; same == still {
			return doze(ctx, delay-now)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
	}
}

func doze(ctx context.Context, d time.Duration) error {
	start := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		// Ask the time, not the timer: one that is due may not have been run.
		if time.Since(start) >= d {
			return nil
		}
		return ctx.Err()
	}
}

// A WaitError is returned by a Wait that was refused at once and booked
// nothing. Errors.Is finds gcra.ErrLimited or context.DeadlineExceeded in it; in
// the latter case it is a timeout, as a net.Error tells.
type WaitError struct {
	Delay time.Duration // how far away the slot was; gcra.Never if it never comes
	Err   error
}

func (e *WaitError) Error() string {
	if e.Delay == gcra.Never {
		return "weir: the slot never comes: " + e.Err.Error()
	}
	return fmt.Sprintf("weir: the slot is %v away: %v", e.Delay, e.Err)
}

// Unwrap returns Err.
func (e *WaitError) Unwrap() error { return e.Err }

// Timeout reports whether the slot was after the context's deadline. Whoever
// does not unwrap errors, as os.IsTimeout and net/url, asks for this method.
func (e *WaitError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// Temporary is what Timeout is, as for context.DeadlineExceeded itself.
func (e *WaitError) Temporary() bool { return e.Timeout() }
