package atomic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
)

// An Option changes how a limiter reads the clock or waits. Later options win.
type Option func(*Pacer)

// WithClock sets the clock that decisions read; [clock.System] is the default.
// Waiting sleeps on the runtime's timers whatever the clock.
func WithClock(c clock.Clock) Option {
	if c == nil {
		panic("weir: WithClock(nil)")
	}
	return func(p *Pacer) { p.clock = c }
}

// WithCatchUp bounds the lateness of timers that Wait makes up for; 10 ms is
// the default. With 0 Wait is strict: it never lets two grants be closer than
// their interval because a timer was late, and delivers less than the rate.
func WithCatchUp(d time.Duration) Option {
	mustNotBeNegative("WithCatchUp", d)
	return func(p *Pacer) { p.catchUp = d }
}

// WithSpin makes Wait spin instead of sleeping for the last stretch of d
// before its slot: more exact by the lateness of timers, at the price of a
// busy core.
func WithSpin(d time.Duration) Option {
	mustNotBeNegative("WithSpin", d)
	return func(p *Pacer) { p.spin = d }
}

// WithJitter makes a Wait that has to sleep, sleep longer by a random time of
// less than d, though not past its context's deadline: it spreads a herd that
// was released by one event. Slots stay as they are.
func WithJitter(d time.Duration) Option {
	mustNotBeNegative("WithJitter", d)
	return func(p *Pacer) { p.jitter = d }
}

// WithMaxWait makes a Wait whose slot is more than d away fail at once, with
// an error that is gcra.ErrLimited, and book nothing: so one huge WaitN cannot
// hold up everybody after it. The default is no bound.
func WithMaxWait(d time.Duration) Option {
	mustNotBeNegative("WithMaxWait", d)
	return func(p *Pacer) { p.maxWait = d }
}

func mustNotBeNegative(option string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("weir: %s(%v): want 0 or more", option, d))
	}
}

// A Pacer is what the engines of this package and of shard share: the clock,
// counted from the engine's first reading, and the way of waiting. Programs
// use it only to build an engine of their own out of cells. It must not be
// copied after first use and is safe for concurrent use.
type Pacer struct {
	clock   clock.Clock   // nil for the system's, which start counts from
	start   time.Time     // spares a call of an interface and a subtraction
	born    time.Duration // the clock's first reading
	catchUp time.Duration
	spin    time.Duration
	jitter  time.Duration
	maxWait time.Duration
	lag     atomic.Pointer[lag]
}

// A lag is how late a timer was, min(woke − slot, catch-up). Both numbers stand
// behind one pointer so that nobody credits one wake-up's lateness at another.
type lag struct{ woke, late time.Duration }

// Init sets the pacer up for an engine with that limit. The clock's reading at
// this call is the engine's first.
func (p *Pacer) Init(limit gcra.Limit, opts ...Option) {
	p.catchUp, p.maxWait = 10*time.Millisecond, gcra.Never
	for _, opt := range opts {
		opt(p)
	}
	if p.clock == nil {
		p.start = time.Now()
	} else {
		p.born = limit.Birth(p.clock.Now())
	}
}

// Now returns the time since the engine's first reading; an earlier reading
// counts as the first.
func (p *Pacer) Now() time.Duration {
	if p.clock == nil {
		return time.Since(p.start)
	}
	now := p.clock.Now()
	switch e := now - p.born; {
	case now < p.born:
		return 0
	case e < 0: // further apart than a Duration reaches
		return gcra.Never
	default:
		return e
	}
}

// A Turn is one caller's attempt to book a slot.
type Turn struct {
	At       gcra.Instant
	late     time.Duration // the lateness that may be made up for
	last     int64         // the last slot, in ticks, that the caller can wait for
	deadline time.Duration // from At until the context's deadline
}

// Begin starts a wait with a reading of the clock. It fails if the context is
// done.
func (p *Pacer) Begin(ctx context.Context, l *gcra.Limit) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return Turn{}, err
	}
	t := Turn{deadline: gcra.Never}
	if end, ok := ctx.Deadline(); ok {
		if t.deadline = time.Until(end); t.deadline < 0 {
			return Turn{}, context.DeadlineExceeded // before its timer told the context
		}
	}
	p.set(l, &t, p.Now())
	return t, nil
}

// Book books over a TAT as gcra.Book does, but fails with gcra.ErrLimited if the
// slot is later than the caller can wait for.
func (t Turn) Book(l *gcra.Limit, tat int64, n int) (gcra.Booking, gcra.Decision) {
	b, d := gcra.Book(l, tat, t.At, gcra.Schedule(l, tat, t.At, t.late), n)
	if b.Slot > t.last {
		// The slot is after At, so that Take would refuse, and say when.
		return gcra.Booking{}, gcra.Peek(l, tat, t.At, n)
	}
	return b, d
}

// Again is the turn after a new reading of the clock, for a key whose cell has
// to be made: such a key has no schedule to keep.
func (p *Pacer) Again(l *gcra.Limit, t Turn) Turn {
	before := t.At.Elapsed
	now := p.Now()
	if t.deadline != gcra.Never {
		t.deadline = max(t.deadline-(now-before), 0)
	}
	p.set(l, &t, now)
	t.late = 0
	return t
}

func (p *Pacer) set(l *gcra.Limit, t *Turn, now time.Duration) {
	t.At, t.late = gcra.At(l, now), 0
	// Valid for one catch-up after the wake-up: without an end, one old
	// oversleep would be credited to every idle pause.
	if g := p.lag.Load(); g != nil && now-g.woke <= p.catchUp {
		t.late = g.late
	}
	// Until is tight, so a slot is at most d away exactly if the clock shows
	// it d from now.
	t.last = gcra.At(l, add(now, min(p.maxWait, t.deadline))).Tick
}

func add(now, d time.Duration) time.Duration {
	if d > gcra.Never-now {
		return gcra.Never
	}
	return now + d
}

// Finish ends a wait: it sleeps until the slot that was booked in the cell, or
// tells why there is none. If the context ends first, the tokens go back to
// the cell, unless it is nil.
func (p *Pacer) Finish(ctx context.Context, l *gcra.Limit, t Turn, n int, b gcra.Booking, d gcra.Decision, c *Cell) error {
	if !d.OK() {
		return p.refusal(t, d)
	}
	delay := gcra.Until(l, b.Slot, t.At)
	if delay <= 0 {
		return nil
	}
	if p.jitter > 0 {
		delay += min(rand.N(p.jitter), max(t.deadline-delay, 0))
	}
	if err := p.sleep(ctx, delay); err != nil {
		if c != nil {
			c.GiveBack(l, gcra.At(l, p.Now()), b, n)
		}
		return err
	}
	woke := p.Now()
	late := min(woke-(t.At.Elapsed+delay), p.catchUp)
	if late <= 0 {
		p.lag.Store(nil)
	} else {
		p.lag.Store(&lag{woke, late})
	}
	return nil
}

func (p *Pacer) refusal(t Turn, d gcra.Decision) error {
	err := d.Err()
	if err != gcra.ErrLimited {
		return err
	}
	delay := d.RetryAfter()
	if delay > t.deadline && delay <= p.maxWait && delay != gcra.Never {
		err = context.DeadlineExceeded
	}
	return &WaitError{delay, err}
}

// sleep returns nil after the delay or the context's error if that ends
// before. If both have come, the delay wins.
func (p *Pacer) sleep(ctx context.Context, delay time.Duration) error {
	start := time.Now()
	if rest := delay - p.spin; rest > 0 {
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
// nothing. Errors.Is finds gcra.ErrLimited or context.DeadlineExceeded in it.
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
