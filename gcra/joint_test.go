package gcra_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// decided returns the decision on n of a bucket from which used were taken at
// its first instant.
func decided(l *gcra.Limit, used, n int) gcra.Decision {
	at := gcra.At(l, 0)
	tat, _ := gcra.Take(l, gcra.Fresh(l, at), at, used)
	_, d := gcra.Take(l, tat, at, n)
	return d
}

type numbers struct {
	err              error
	granted, left    int
	retryIn, resetIn time.Duration
	limit            gcra.Limit
}

func numbersOf(d gcra.Decision) numbers {
	return numbers{d.Err(), d.Granted(), d.Remaining(), d.RetryAfter(), d.ResetAfter(), d.Limit()}
}

func TestBoth(t *testing.T) {
	const s = time.Second
	slow, fast := gcra.PerSecond(1).Burst(5), gcra.PerSecond(10).Burst(4)
	once, none, free := gcra.PerDay(0).Burst(5), gcra.Limit{}, gcra.Unlimited()
	for _, row := range []struct {
		d, e gcra.Decision
		want numbers
		why  string
	}{
		{decided(&slow, 0, 2), decided(&fast, 0, 2), numbers{nil, 2, 2, 0, 2 * s, fast}, "the least remaining and the longest reset, of two limits"},
		{decided(&slow, 1, 2), decided(&fast, 0, 2), numbers{nil, 2, 2, 0, 3 * s, slow}, "as much remaining in both: the first"},
		{decided(&slow, 5, 2), decided(&fast, 0, 2), numbers{gcra.ErrLimited, 0, 0, 2 * s, 5 * s, slow}, "one refuses"},
		{decided(&slow, 4, 2), decided(&fast, 4, 2), numbers{gcra.ErrLimited, 0, 0, s, 4 * s, slow}, "both refuse, and one for longer"},
		{decided(&slow, 4, 2), decided(&fast, 3, 2), numbers{gcra.ErrLimited, 0, 1, s, 4 * s, slow}, "a refusal that has some left"},
		{decided(&slow, 5, 5), decided(&fast, 0, 5), numbers{gcra.ErrExceedsBurst, 0, 0, gcra.Never, 5 * s, fast}, "never is longer"},
		{decided(&once, 5, 5), decided(&fast, 0, 5), numbers{gcra.ErrExceedsBurst, 0, 0, gcra.Never, gcra.Never, fast}, "both never, and one for its cost"},
		{decided(&once, 5, 1), decided(&slow, 5, 1), numbers{gcra.ErrLimited, 0, 0, gcra.Never, gcra.Never, once}, "never refilled"},
		{decided(&slow, 1, -1), decided(&fast, 1, -1), numbers{gcra.ErrCost, 0, 3, gcra.Never, s, slow}, "a negative cost"},
		{decided(&none, 0, 1), decided(&fast, 0, 1), numbers{gcra.ErrExceedsBurst, 0, 0, gcra.Never, s / 10, none}, "the zero limit"},
		{decided(&none, 0, 0), decided(&fast, 0, 0), numbers{nil, 0, 0, 0, 0, none}, "the zero limit grants nothing"},
		{gcra.Decision{}, decided(&fast, 1, 0), numbers{nil, 0, 0, 0, s / 10, none}, "the zero decision"},
		{decided(&free, 0, 3), decided(&fast, 0, 3), numbers{nil, 3, 1, 0, 3 * s / 10, fast}, "one without a bucket"},
		{decided(&free, 0, 3), decided(&fast, 3, 3), numbers{gcra.ErrLimited, 0, 1, s / 5, 3 * s / 10, fast}, "and refused"},
		{decided(&free, 0, math.MaxInt), decided(&free, 0, math.MaxInt), numbers{nil, math.MaxInt, math.MaxInt, 0, 0, free}, "none with a bucket"},
		{decided(&free, 0, -1), decided(&free, 0, -1), numbers{gcra.ErrCost, 0, math.MaxInt, gcra.Never, 0, free}, "but not refunded"},
		{decided(&slow, 5, 2).DryRun(), decided(&fast, 0, 2), numbers{gcra.ErrLimited, 0, 0, 2 * s, 5 * s, slow}, "in a dry run, its own decision"},
		{decided(&slow, 5, 2).DryRun(), decided(&fast, 4, 2), numbers{gcra.ErrLimited, 0, 0, s / 5, 5 * s, fast}, "a dry run does not hide a refusal"},
		{decided(&slow, 0, 2).DryRun(), decided(&fast, 0, 2), numbers{nil, 2, 2, 0, 2 * s, fast}, "a dry run that grants"},
	} {
		swapped := numbersOf(gcra.Both(row.e, row.d))
		got := gcra.Both(row.d, row.e)
		if numbersOf(got) != row.want && !(row.want.err == gcra.ErrCost && row.want.left == math.MaxInt && got.Err() == gcra.ErrCost) {
			t.Errorf("%+v, want %+v: %s", numbersOf(got), row.want, row.why)
		}
		if ok := row.d.OK() && row.e.OK(); got.OK() != ok {
			t.Errorf("OK %v, want %v: %s", got.OK(), ok, row.why)
		}
		swapped.limit = numbersOf(got).limit
		if swapped != numbersOf(got) {
			t.Errorf("the other way round %+v, not %+v: %s", swapped, numbersOf(got), row.why)
		}
		if again := gcra.Both(got, got); numbersOf(again) != numbersOf(got) || again.OK() != got.OK() {
			t.Errorf("with itself %+v, not %+v: %s", numbersOf(again), numbersOf(got), row.why)
		}
	}
}

func TestShare(t *testing.T) {
	five, free := gcra.PerSecond(1).Burst(5), gcra.Unlimited()
	for _, row := range []struct {
		d     gcra.Decision
		times int
		want  numbers
		why   string
	}{
		{decided(&five, 0, 2), 1, numbers{nil, 2, 3, 0, 2 * time.Second, five}, "once is the decision itself"},
		{decided(&five, 0, 2), 2, numbers{nil, 1, 1, 0, 2 * time.Second, five}, "three left are one for a request that asks twice"},
		{decided(&five, 2, 4), 2, numbers{gcra.ErrLimited, 0, 1, time.Second, 2 * time.Second, five}, "refused for all the tokens"},
		{decided(&five, 0, 6), 3, numbers{gcra.ErrExceedsBurst, 0, 1, gcra.Never, 0, five}, "above burst/3"},
		{decided(&five, 0, -1), 3, numbers{gcra.ErrCost, 0, 1, gcra.Never, 0, five}, "a negative cost"},
		{decided(&free, 0, 8), 4, numbers{nil, 8, math.MaxInt, 0, 0, free}, "without a bucket there is nothing to share"},
	} {
		if got := numbersOf(gcra.Share(row.d, row.times)); got != row.want {
			t.Errorf("%+v, want %+v: %s", got, row.want, row.why)
		}
	}
}

func TestCost(t *testing.T) {
	for _, row := range []struct {
		n, times, want int
		fits           bool
	}{
		{3, 1, 3, true}, {3, 4, 12, true}, {0, 9, 0, true}, {-1, 9, -1, true}, {math.MinInt, 2, math.MinInt, true},
		{math.MaxInt, 1, math.MaxInt, true}, {math.MaxInt / 2, 2, math.MaxInt - 1, true}, {math.MaxInt/2 + 1, 2, math.MaxInt, false},
		{math.MaxInt, math.MaxInt, math.MaxInt, false},
	} {
		if got, fits := gcra.Cost(row.n, row.times); got != row.want || fits != row.fits {
			t.Errorf("Cost(%d, %d) = %d, %v; want %d, %v", row.n, row.times, got, fits, row.want, row.fits)
		}
	}
	l, free := gcra.PerSecond(1), gcra.Unlimited()
	for _, row := range []struct {
		d    gcra.Decision
		ok   bool
		want error
		why  string
	}{
		{decided(&l, 0, 1), false, gcra.ErrExceedsBurst, "although what an int holds would fit"},
		{decided(&l, 1, 1), false, gcra.ErrExceedsBurst, "never, though it says later"},
		{decided(&l, 1, 1).DryRun(), true, gcra.ErrExceedsBurst, "in a dry run"},
		{decided(&free, 0, math.MaxInt), true, nil, "no burst to exceed"},
	} {
		if d := gcra.Exceeds(row.d); d.OK() != row.ok || !errors.Is(d.Err(), row.want) || d.Granted() != 0 && d.Err() != nil {
			t.Errorf("ok %v, err %v; want %v, %v: %s", d.OK(), d.Err(), row.ok, row.want, row.why)
		}
	}
}

// A joint decision holds every number that the decisions of one limit can have,
// up to the widest burst, and Debit's grants of as much again.
func TestJointHoldsTheWidest(t *testing.T) {
	widest := min(1<<60, math.MaxInt)
	limits := []gcra.Limit{
		gcra.Per(1, 1).Burst(widest), gcra.Per(64, 1).Burst(widest), gcra.PerDay(0).Burst(widest),
		gcra.PerSecond(1).Burst(3), gcra.Per(1, 1<<58), gcra.PerSecond(3).Burst(100).Start(0).InSteps(time.Minute),
	}
	rng := rand.New(rand.NewPCG(1, 8))
	one := func() gcra.Decision {
		l := &limits[rng.IntN(len(limits))]
		at := gcra.At(l, time.Duration(rng.Int64N(math.MaxInt64)>>rng.IntN(63)))
		costs := []int{0, 1, -1, math.MinInt, math.MaxInt, l.Capacity(), l.Capacity() - 1, l.Capacity()/2 + 1, rng.IntN(l.Capacity()) + 1}
		tat := gcra.Fresh(l, at)
		for range rng.IntN(3) {
			tat, _ = gcra.Debit(l, tat, at, costs[rng.IntN(len(costs))], math.MaxInt)
		}
		n := costs[rng.IntN(len(costs))]
		d := gcra.Peek(l, tat, at, n)
		switch rng.IntN(3) {
		case 0:
			_, d = gcra.Take(l, tat, at, n)
		case 1:
			_, d = gcra.Debit(l, tat, at, n, math.MaxInt)
		}
		return d
	}
	for range 300_000 {
		d, e := one(), one()
		got, want := gcra.Both(d, e), numbers{
			left: min(d.Remaining(), e.Remaining()), retryIn: max(d.RetryAfter(), e.RetryAfter()), resetIn: max(d.ResetAfter(), e.ResetAfter()),
		}
		if d.OK() && e.OK() {
			want.granted = min(d.Granted(), e.Granted())
		}
		want.err, want.limit = got.Err(), got.Limit()
		named := 0
		for _, x := range []gcra.Decision{d, e} {
			if x.Limit() == want.limit && x.Err() == want.err && (x.RetryAfter() == want.retryIn) && (want.err != nil || x.Remaining() == want.left) {
				named++
			}
		}
		if numbersOf(got) != want || named == 0 || got.OK() != (d.OK() && e.OK()) {
			t.Fatalf("%+v and %+v make %+v, want %+v", numbersOf(d), numbersOf(e), numbersOf(got), want)
		}
		if dry := got.DryRun().DryRun(); !dry.OK() || numbersOf(dry) != numbersOf(got) {
			t.Fatalf("%+v is %+v in a dry run, OK: %v", numbersOf(got), numbersOf(dry), dry.OK())
		}
	}
}
