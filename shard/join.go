package shard

import (
	"slices"
	"time"

	gatomic "github.com/weir-go/weir/atomic"
	"github.com/weir-go/weir/gcra"
)

// A Joinable is what [Join] takes: a Limiter of package atomic, a [View], a
// [Joint], or a program's own wrapper of one of these. Of a wrapper a joint
// uses these methods and no others: what it would have to wait for is booked and
// canceled, and where two do that at once the tokens of the first may stay lost
// until they are refilled.
type Joinable interface {
	Peek(n int) gcra.Decision
	Reserve(n int) gatomic.Reservation
	Limit() gcra.Limit
}

// A Joint is several limits that decide together on each request: all of them
// grant it, or none is charged. Make it with [Join]; the zero Joint is not
// usable. It never changes, must not be copied, and is safe for concurrent use;
// decisions take no lock, but where tokens go back to a [Table].
//
// A request is refused if one limit refuses it, and no other is charged: limits
// are asked first and charged when all say yes. Then somebody else may be
// faster at one of them, and what was taken from the others goes back, at the
// instant at which it does. In that case only
//
//   - a refusal may cost a limit what it refilled in between, or all of it, if
//     a waiter has booked or the limit has changed in between;
//   - and for that moment the tokens are missing to others, who may be refused
//     what would have fitted. Nobody is ever granted too much.
//
// It is rare, because the limit with the fewest tokens is charged first, and a
// race lost there has nothing to give back. Two goroutines, each for a user of
// its own, at one global limit that refuses 97 of 100, rolled back none of 12
// million decisions; where the users had no more tokens than it and were charged
// first, 4 of 1000 (go test -bench JointRollBack -cpu 2 ./shard; Go 1.26, two
// cores of a Xeon).
//
// Decisions cost two of each limit, and do not allocate for up to eight limits
// whose keys are present. Each limit dates them by its own clock. The Stats of
// a limit count what a joint takes from it, also if that goes back, and not
// what it refuses when it is asked.
type Joint struct {
	few  [inline]member
	more []member // all of them, if they are more than fit into few
	len  int
}

const inline = 8

// A member is a limit and how many times every token is asked of it.
type member struct {
	limit Joinable
	times int
}

// Join returns the joint of the limits. Joints among them are replaced by what
// they join, and limits that are equal, as values, become one that is asked m
// times the tokens of a request: above burst/m that is gcra.ErrExceedsBurst,
// and it has ⌊rest/m⌋ remaining. A wrapper is not equal to what it wraps; do
// not join both. The joint of no limits limits nothing.
//
// It costs one allocation at most, and one for each view: cheap enough to join
// what a request concerns when it comes.
func Join(limits ...Joinable) *Joint {
	j := new(Joint)
	j.init(limits)
	return j
}

func (j *Joint) init(limits []Joinable) {
	for _, l := range limits {
		inner, ok := l.(*Joint)
		switch {
		case l == nil || ok && inner == nil:
			panic("weir: Join: a limit is nil")
		case !ok:
			j.add(member{l, 1})
		default:
			for _, m := range inner.members() {
				j.add(m)
			}
		}
	}
	if j.len == 0 {
		j.add(member{gatomic.NewLimiter(gcra.Unlimited()), 1})
	}
}

func (j *Joint) add(m member) {
	members := j.members()
	for i := range members {
		if same(members[i].limit, m.limit) {
			members[i].times += m.times
			return
		}
	}
	switch {
	case j.len < inline:
		j.few[j.len] = m
	case j.len == inline:
		j.more = append(slices.Clone(j.few[:]), m)
	default:
		j.more = append(j.more, m)
	}
	j.len++
}

// same reports whether two limits are equal. Values that cannot be compared,
// and it may be a key deep inside that cannot, are not.
func same(a, b Joinable) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = false
		}
	}()
	return a == b
}

func (j *Joint) members() []member {
	if j.len > inline {
		return j.more
	}
	return j.few[:j.len]
}

// Allow reports whether one token was there in every limit, and takes it.
func (j *Joint) Allow() bool { return j.Take(1).OK() }

// AllowN reports whether n tokens were there in every limit, and takes them
// from all or none.
func (j *Joint) AllowN(n int) bool { return j.Take(n).OK() }

// Take takes n tokens from every limit, or from none. The decision is that of
// them all: Remaining is the least and ResetAfter the longest. If it is
// refused, RetryAfter is when all would pass, and Limit and Err are those of
// the refusal that takes so long; else Limit is the one with the least
// remaining. A limit in a dry run lets the request pass, with the decision that
// it would have made.
func (j *Joint) Take(n int) gcra.Decision {
	members := j.members()
	var few [inline]gcra.Decision
	asked, ok := peek(few[:0], members, n)
	if !ok {
		return together(asked)
	}
	d := charge(members, tightest(asked), 0, n)
	if !d.OK() {
		d = gcra.Both(d, together(asked)) // what was given back is there again
	}
	return d
}

// Peek tells what Take would decide, takes nothing and writes nothing.
func (j *Joint) Peek(n int) gcra.Decision {
	var few [inline]gcra.Decision
	asked, _ := peek(few[:0], j.members(), n)
	return together(asked)
}

// peek asks every member and reports whether all would grant.
func peek(asked []gcra.Decision, members []member, n int) (_ []gcra.Decision, ok bool) {
	ok = true
	for i := range members {
		d := gcra.Share(members[i].peek(n), members[i].times)
		asked = append(asked, d)
		ok = ok && d.OK()
	}
	return asked, ok
}

func together(ds []gcra.Decision) gcra.Decision {
	d := ds[0]
	for _, e := range ds[1:] {
		d = gcra.Both(d, e)
	}
	return d
}

// tightest returns the index of the decision with the least remaining.
func tightest(ds []gcra.Decision) int {
	first, least := 0, ds[0].Remaining()
	for i, d := range ds[1:] {
		if left := d.Remaining(); left < least {
			first, least = i+1, left
		}
	}
	return first
}

// charge takes from the members from the given step on; the first step is to
// the member first. What a step took is in its frame, and goes back after that
// of all later steps: at a new reading of the clock, because at the old one it
// would mint what others have taken in between.
func charge(members []member, first, step, n int) gcra.Decision {
	at := step
	switch {
	case step == 0:
		at = first
	case step <= first:
		at = step - 1
	}
	m := &members[at]
	r := m.book(0, n)
	d := gcra.Share(r.Decision(), m.times)
	if !d.OK() || step+1 == len(members) {
		return d
	}
	rest := charge(members, first, step+1, n)
	if !rest.OK() {
		r.Cancel()
		return rest
	}
	return gcra.Both(d, rest)
}

func (m *member) peek(n int) gcra.Decision {
	cost, fits := gcra.Cost(n, m.times)
	d := m.limit.Peek(cost)
	if !fits {
		d = gcra.Exceeds(d)
	}
	return d
}

// bound is a View, whatever its key, or what embeds one: is tells.
type bound interface {
	gatomic.Debtor
	is(Joinable) bool
	reserveAs(owner gatomic.Debtor, within time.Duration, n int) gatomic.Reservation
	maxWait() time.Duration
}

func (v View[K]) is(l Joinable) bool {
	_, ok := l.(View[K])
	return ok
}

func (v View[K]) reserveAs(owner gatomic.Debtor, within time.Duration, n int) gatomic.Reservation {
	return v.of.reserve(owner, v.key, within, n)
}

func (v View[K]) maxWait() time.Duration { return v.of.maxWait() }

// own returns the member as one of our two kinds, if it is one and no wrapper
// that may do other things.
func (m *member) own() (*gatomic.Limiter, bound) {
	switch l := m.limit.(type) {
	case *gatomic.Limiter:
		return l, nil
	case bound:
		if l.is(m.limit) {
			return nil, l
		}
	}
	return nil, nil
}

// book books n tokens of the joint, if their slot is at most that far away. A
// refusal books nothing.
func (m *member) book(within time.Duration, n int) (r gatomic.Reservation) {
	cost, fits := gcra.Cost(n, m.times)
	if !fits {
		if d := m.peek(n); !d.OK() {
			return gatomic.Joined(d, cost, nil)
		}
	}
	switch l, v := m.own(); {
	case l != nil:
		return l.ReserveWithin(within, cost)
	case v != nil:
		return v.reserveAs(v, within, cost) // no new copy of the view for Settle
	}
	for {
		if r = m.limit.Reserve(cost); !r.OK() || r.Delay() <= within {
			return
		}
		r.Cancel()
		if d := m.limit.Peek(cost); !d.OK() {
			return gatomic.Joined(d, cost, nil)
		}
	}
}
