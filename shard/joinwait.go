package shard

import (
	"cmp"
	"context"
	"slices"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// Wait waits for one token of every limit: see [Joint.WaitN].
func (j *Joint) Wait(ctx context.Context) error { return j.WaitN(ctx, 1) }

// WaitN takes n tokens from every limit as soon as all permit it. It books a
// slot in each, and sleeps until the latest of them; its errors are those of
// the Limiter of package atomic, and an error has taken nothing that it does
// not give back as Cancel does.
//
// In every limit the tokens count at their own slot there. Where that is before
// the latest, a fast limit has booked for a moment at which its waiter was held
// up by a slow one: between slots its window holds, but waiters that a slow
// limit lets go together, as one in steps does, wake together, though the fast
// one spaced their slots.
//
// It books from the time at which it is called and does not keep to a schedule
// as a single limiter's Wait does: from one sequential loop it delivers the
// rate less the lateness of timers.
func (j *Joint) WaitN(ctx context.Context, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	left := gcra.Never
	if end, ok := ctx.Deadline(); ok {
		if left = time.Until(end); left < 0 {
			return context.DeadlineExceeded // before its timer told the context
		}
	}
	switch d := j.Take(n); {
	case d.OK():
		return nil
	case d.Err() != gcra.ErrLimited:
		return d.Err()
	}
	var late bool
	r := j.reserve(left, n, &late)
	if late {
		return &gatomic.WaitError{Delay: r.Delay(), Err: context.DeadlineExceeded}
	}
	return r.Wait(ctx)
}

// Reserve books n tokens of every limit, in each at once or in its next slot.
// Delay is that of the latest slot. Cancel gives back to each limit what that
// gives back, and Settle tells each what was really used: more than was
// reserved is charged to all of them. So Reserve(0) with a Settle later charges
// what was used, whether it is there or not. It allocates.
func (j *Joint) Reserve(n int) gatomic.Reservation { return j.ReserveWithin(gcra.Never, n) }

// ReserveWithin is Reserve with a bound on how far away the latest slot may be.
// With 0 it takes the tokens now or not at all, as Take does, but can give them
// back.
func (j *Joint) ReserveWithin(d time.Duration, n int) gatomic.Reservation {
	return j.reserve(d, n, new(bool))
}

// reserve also sets late if it failed only because of the bound.
func (j *Joint) reserve(within time.Duration, n int, late *bool) gatomic.Reservation {
	members := j.members()
	within = max(within, 0)
	asked, _ := peek(make([]gcra.Decision, 0, len(members)), members, n)
	d, soon, ever := together(asked), true, true
	order := make([]int, len(members))
	for i := range members {
		order[i] = i
		soon = soon && delay(asked[i]) <= within
		ever = ever && members[i].permits(asked[i])
	}
	if !soon || !ever {
		*late = ever
		return gatomic.Joined(d, n, nil)
	}
	// The longest wait first: a booking whose slot has not come goes back
	// whole, and of those at once the tightest is likeliest to fail.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(delay(asked[b]), delay(asked[a])), cmp.Compare(asked[a].Remaining(), asked[b].Remaining()))
	})
	parts := make([]gatomic.Part, len(members))
	for k, i := range order {
		m := &members[i]
		parts[k] = gatomic.Part{Reservation: m.book(within, n), Times: m.times}
		got := gcra.Share(parts[k].Decision(), m.times)
		if !got.OK() {
			for k--; k >= 0; k-- {
				parts[k].Cancel()
			}
			*late = m.permits(got)
			return gatomic.Joined(gcra.Both(got, d), n, nil)
		}
		asked[i] = got
	}
	return gatomic.Joined(together(asked), n, parts)
}

// delay is how long the request would have to wait: a dry run waits for nothing.
func delay(d gcra.Decision) time.Duration {
	if d.OK() {
		return 0
	}
	return d.RetryAfter()
}

// permits reports whether the member lets a request wait that it decided so on.
// Of a wrapper that shows only when it is asked to book.
func (m *member) permits(d gcra.Decision) bool {
	most := gcra.Never
	switch l, v := m.own(); {
	case l != nil:
		most = l.MaxWait()
	case v != nil:
		most = v.maxWait()
	}
	wait := delay(d)
	return wait < gcra.Never && wait <= most
}

// Limit returns the tightest limit: that of the least burst, divided by how
// often it is asked; the first of equal ones. No cost above it is ever granted.
func (j *Joint) Limit() gcra.Limit {
	var tight gcra.Limit
	least := -1
	for _, m := range j.members() {
		l := m.limit.Limit()
		if burst := l.Capacity() / m.times; least < 0 || burst < least {
			tight, least = l, burst
		}
	}
	return tight
}
