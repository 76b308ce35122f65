package stress

import (
	"time"

	"github.com/weir-go/weir/gcra"
)

// Checks of law L7: keys that are not remembered.

// unstored books for keys that come when there is no room: one that is admitted
// is decided on as a key never seen, and only if it need not wait, or all who are
// not remembered would wake together.
func unstored(s Subject) error { return bothWays(s, unstoredOne) }

func unstoredOne(s Subject, admit bool) error {
	const most = 10
	clk, room := s.clock(), s.room(most)
	e := s.NewCapped(limitOf("1/m burst 3 start 0"), clk, most, admit)
	r, ok := e.(Reserver)
	if !ok {
		return errorf("what NewCapped returns has no Reserve")
	}
	keeper := e.(Keeper)
	for i := 0; keeper.Len() < room && i < 100*room; i++ {
		r.Reserve(keyOf(i), 3)
	}
	if n := keeper.Len(); n != room {
		return errorf("%d keys have bookings, and there is room for %d", n, room)
	}
	for i := range 20 {
		if r.Reserve(keyOf(1e6+i), 1).OK() {
			return errorf("a key that cannot be remembered was given a slot to come")
		}
	}
	clk.Advance(2 * time.Minute) // two tokens each
	for i := range 20 {
		key := keyOf(1e6 + i%4)
		now, wait := r.Reserve(key, 2), r.Reserve(key, 3)
		if now.OK() != admit || now.Delay() != 0 && admit || wait.OK() {
			return errorf("a key that is not remembered and has two tokens: reserved two %v in %v, three %v", now.OK(), now.Delay(), wait.OK())
		}
		now.Cancel()
		wait.Cancel()
		if got := e.Peek(key, 0).Remaining(); got != 2 {
			return errorf("a key that is not remembered has %d tokens, want 2", got)
		}
	}
	if n := keeper.Len(); n != room {
		return errorf("%d keys are remembered, and there is room for %d", n, room)
	}
	return nil
}

// odd asks for keys that are not equal to themselves: they are treated as keys
// without room, and never stored.
func odd(s Subject) error {
	for _, admit := range []bool{false, true} {
		e := s.NewOdd(limitOf("1/s burst 3"), s.clock(), admit)
		var want error
		if !admit {
			want = gcra.ErrLimited
		}
		for i := range 20 {
			for _, row := range []struct {
				n    int
				d    gcra.Decision
				want error
				got  int
			}{
				{3, e.Take(1, 3), want, 3},
				{2, e.TakeUpTo(1, 2), want, 2},
				{4, e.Take(1, 4), gcra.ErrExceedsBurst, 0},
				{-1, e.Take(1, -1), gcra.ErrCost, 0},
				{0, e.Take(1, 0), nil, 0},
			} {
				if row.want != nil {
					row.got = 0
				}
				if row.d.Err() != row.want || row.d.Granted() != row.got {
					return errorf("admit %v, try %d: a cost of %d got err %v and %d granted, want %v and %d",
						admit, i, row.n, row.d.Err(), row.d.Granted(), row.want, row.got)
				}
			}
			if e.AllowN(1, 1) != admit {
				return errorf("admit %v: allowed %v", admit, !admit)
			}
			e.Reset(1)
			if got := e.Peek(1, 1).Remaining(); got != 3 {
				return errorf("admit %v: a key that is not remembered has %d tokens, want 3", admit, got)
			}
			if k, ok := e.(Keeper); ok && k.Len() != 0 {
				return errorf("admit %v: %d keys are remembered of which none can be found again", admit, k.Len())
			}
		}
	}
	return nil
}
