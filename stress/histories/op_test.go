package histories_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/gcra"
)

type kind uint8

const (
	allow kind = iota
	take
	upTo
	peek
	debit
	reserve
	settle // of a reservation that any client made
	reset
	sweep
	setLimit
	move // from limiter 0 to limiter 1
	guest
	jointTake // of both limiters
	jointPeek
	advance // the clock
	kinds

	// What the checker sees of a move and of a joint operation: the steps
	// that others can come between.
	moveRead
	moveRaise
	jointAsk
	jointBook
	jointBack
)

var names = [...]string{"AllowN", "Take", "TakeUpTo", "Peek", "Debit", "ReserveWithin", "Settle", "Reset", "Sweep", "SetLimit",
	"Move", "guest", "Join.Take", "Join.Peek", "advance", "", "moved from", "moved to", "asked", "booked", "rolled back"}

// An op is one operation of a history: what was asked, when, what the clock
// showed, and what came of it.
type op struct {
	kind   kind
	client int
	lim    uint8
	key    uint8
	limit  uint8 // of SetLimit
	n      int
	within time.Duration
	target int // of Settle: the reservation's number; of ReserveWithin: its own

	call, ret int64
	from, to  time.Duration // the clock at the call and at the return
	reads     []reading

	verdict verdict
	delay   time.Duration
	err     error
	count   int  // what Sweep forgot
	rival   bool // another Settle of the same reservation overlaps
	skipped bool // there was no such reservation yet

	whole *op // of a step of a joint operation
	first uint8
	last  bool
}

// A verdict is a whole decision, as its caller sees it.
type verdict struct {
	ok                 bool
	granted, remaining int
	retry, reset       time.Duration
	err                error
	limit              gcra.Limit
}

func judge(d gcra.Decision) verdict {
	return verdict{d.OK(), d.Granted(), d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Err(), d.Limit()}
}

func (v verdict) String() string {
	return fmt.Sprintf("granted %d, remaining %d, retry %v, reset %v, err %v, under %v",
		v.granted, v.remaining, v.retry, v.reset, v.err, v.limit)
}

func (o *op) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client %d [%3d,%3d] clock %v..%v  %s", o.client, o.call, o.ret, o.from, o.to, names[o.kind])
	switch o.kind {
	case setLimit:
		fmt.Fprintf(&b, " limiter %d: %v", o.lim, limits[o.limit])
	case settle:
		fmt.Fprintf(&b, " reservation %d: %d used", o.target, o.n)
	case advance:
		fmt.Fprintf(&b, " %v", o.within)
	case sweep:
		fmt.Fprintf(&b, " limiter %d: %d forgotten", o.lim, o.count)
	case jointTake, jointPeek:
		fmt.Fprintf(&b, " %d: %v", o.n, o.verdict)
	case allow:
		fmt.Fprintf(&b, " limiter %d key %d, %d: %v", o.lim, o.key, o.n, o.verdict.ok)
	case reserve:
		fmt.Fprintf(&b, " limiter %d key %d, %d within %v: delay %v, %v (reservation %d)",
			o.lim, o.key, o.n, o.within, o.delay, o.verdict, o.target)
	case take, upTo, peek, debit:
		fmt.Fprintf(&b, " limiter %d key %d, %d: %v", o.lim, o.key, o.n, o.verdict)
	default:
		fmt.Fprintf(&b, " limiter %d key %d", o.lim, o.key)
	}
	if len(o.reads) > 0 {
		b.WriteString("  read")
	}
	for _, r := range o.reads {
		fmt.Fprintf(&b, " %v", r.at)
		if o.kind == move || o.kind == jointTake || o.kind == jointPeek {
			fmt.Fprintf(&b, " of %d", r.lim)
		}
	}
	return b.String()
}

// readings returns the different instants that the operation read.
func (o *op) readings() []time.Duration {
	var at []time.Duration
	for _, r := range o.reads { // a clock never goes back
		if len(at) == 0 || r.at != at[len(at)-1] {
			at = append(at, r.at)
		}
	}
	return at
}
