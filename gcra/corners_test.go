package gcra

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Rows at corners that no random history comes to.

// TestGiveBackOverALoweredWord: a word that somebody lowered, looked at with a
// reading from before a booking's slot. A part returns nothing there, and the
// whole no more than to now.
func TestGiveBackOverALoweredWord(t *testing.T) {
	l := Every(4).Burst(2) // a token is 4 ticks, and they are ns
	b := Booking{Cost: 8, From: 11, Slot: 19, End: 27}
	for _, row := range []struct {
		tat  int64
		n    int
		want int64
		why  string
	}{
		{15, 1, 15, "a part before its slot"},
		{15, 2, 11, "the whole: 4 ticks are owed, and not more comes back"},
		{15, math.MaxInt, 11, "more than the whole is the whole"},
		{19, 2, 11, "a burst is owed"},
		{20, 2, 20, "somebody waits"},
		{27, 2, 19, "the last booking"},
		{15, 0, 15, "nothing"},
		{15, math.MinInt / 2, 15, "a negative number, whose ticks wrap round"},
	} {
		if got := GiveBack(&l, row.tat, Instant{Tick: 11, Elapsed: 10}, b, row.n); got != row.want {
			t.Errorf("%d back at 11 over %d: %d, want %d: %s", row.n, row.tat, got, row.want, row.why)
		}
	}
	// 3·2^62 ticks in an int64 are a positive number.
	l = Every(3).Burst(2)
	b = Booking{Cost: 3, From: 1, Slot: 1, End: 4}
	if got := GiveBack(&l, 4, Instant{Tick: 1}, b, math.MinInt/2); got != 4 {
		t.Errorf("a negative number of tokens came back: 4 became %d", got)
	}
}

// TestConvertCorners: products beyond 64 bits, and limits without ticks.
func TestConvertCorners(t *testing.T) {
	slow := Every(1 << 57) // a token is 2^57 ticks
	fast := Every(1)       // and here one
	wide := Every(1).Burst(1<<30 + 1)
	second := PerSecond(1).Burst(2)
	free, none := Unlimited(), Limit{}
	const since, to = 100, 1000
	for _, row := range []struct {
		from, to *Limit
		behind   int64
		want     int64 // after the instant of the change
		why      string
	}{
		{&wide, &slow, 1, 0, "more is there than the new burst holds, by 2^87 ticks"},
		{&fast, &slow, 1, 1 << 57, "one token"},
		{&fast, &slow, 64, math.MaxInt64 - 1<<57 - to, "2^63 ticks: the end"},
		{&fast, &slow, 1 << 60, math.MaxInt64 - 1<<57 - to, "2^117 ticks: the end"},
		{&fast, &second, -7, int64(time.Second), "full before: the new burst has one more"},
		{&free, &fast, 5, 0, "no limit before: full"},
		{&second, &none, 5 * int64(time.Second), 3, "no limit after that grants anything: three tokens of debt"},
		{&none, &second, 3, 5 * int64(time.Second), "and back: three, and two of an empty bucket"},
	} {
		got := Convert(since+row.behind, row.from, Instant{Tick: since}, row.to, Instant{Tick: to})
		if got != to+row.want {
			t.Errorf("%v to %v, %d behind: %d, want %d: %s", row.from, row.to, row.behind, got-to, row.want, row.why)
		}
	}
}

// TestUntilTheEnd: the last nanosecond of a Duration is an instant like others.
func TestUntilTheEnd(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("the burst that makes a token one tick of 49ths of the range is above an int")
	}
	const end = math.MaxInt64 / 49 // it is a multiple of 49
	burst := int64(maxSpan)        // above an int of 32 bits
	l := Every(end).Burst(int(burst))
	for _, l := range []Limit{l, l.InSteps(49)} {
		if l.ticks != 1 {
			t.Fatalf("a token of %v is %d ticks", l, l.ticks)
		}
		if got := Until(&l, 50, Instant{1, 5}); got != Never-5 {
			t.Errorf("%v: until the last instant %d ns, want %d", l, got, Never-5)
		}
		if got := Until(&l, 51, Instant{1, 5}); got != Never {
			t.Errorf("%v: until after the last instant %d ns, want Never", l, got)
		}
	}
}

// A limit without a burst charges nobody, afterwards neither.
func TestDebitOfNoLimit(t *testing.T) {
	var l Limit
	for _, debt := range []int{0, 10} {
		next, d := Debit(&l, 1, Instant{Tick: 1}, 1, debt)
		if next != 1 || d.OK() || d.Err() != ErrExceedsBurst || d.Granted() != 0 {
			t.Errorf("a debit of one under no limit: %d, %v, %d granted", next, d.Err(), d.Granted())
		}
	}
}

// TestJointCorners: decisions together where one is of a kind of its own.
func TestJointCorners(t *testing.T) {
	at := Instant{Tick: 1}
	two, used, free := PerSecond(1).Burst(2), Per(0, time.Second).Burst(10), Unlimited()
	take := func(l *Limit, tat int64, n int) Decision {
		_, d := Take(l, tat, at, n)
		return d
	}
	// Nothing is left, and the cost is negative.
	if d := Share(take(&two, 1+two.span, -1), 2); d.Err() != ErrCost || d.Remaining() != 0 {
		t.Errorf("a negative cost with nothing left: %v, %d left", d.Err(), d.Remaining())
	}
	if d := Share(take(&two, 1+two.span, 3), 2); d.Err() != ErrExceedsBurst || d.Remaining() != 0 {
		t.Errorf("above the burst with nothing left: %v, %d left", d.Err(), d.Remaining())
	}
	dry := take(&two, 1+two.ticks, 2).DryRun() // one is left
	if d := Share(dry, 2); !d.OK() || d.Err() != ErrLimited {
		t.Errorf("a dry run shared: %v, %v", d.OK(), d.Err())
	}
	if Share(Decision{}, 2) != (Decision{}) {
		t.Error("the zero Decision shared is another")
	}
	if d := Share(Peek(&used, 1, at, 0), 2); d.Remaining() != 5 {
		t.Errorf("an allowance of 10 asked twice each time has %d left, want 5", d.Remaining())
	}
	// A refusal that was let pass is named, whatever the others have left.
	for _, d := range []Decision{Both(dry, take(&two, 1, 2)), Both(take(&two, 1, 2), dry)} {
		if !d.OK() || d.Err() != ErrLimited {
			t.Errorf("a dry run beside a grant: %v, %v", d.OK(), d.Err())
		}
	}
	if d := Both(take(&free, 1, -1), take(&two, 1, -1)); d.Err() != ErrCost || d.Remaining() != 2 {
		t.Errorf("a negative cost of no limit and of two tokens: %v, %d left", d.Err(), d.Remaining())
	}
	for _, d := range []Decision{Both(take(&two, 1, 2), take(&two, 1, 1)), Both(take(&two, 1, 1), take(&two, 1, 2))} {
		if d.Granted() != 1 || d.Remaining() != 0 {
			t.Errorf("2 and 1 granted are %d together, and %d are left; want 1 and 0", d.Granted(), d.Remaining())
		}
	}
}

// Of two refusals that take equally long the first is named.
func TestJointOfEqualWaits(t *testing.T) {
	a, b := PerSecond(1), PerSecond(1).Burst(2)
	at := Instant{Tick: 1}
	_, d := Take(&a, 1+a.ticks, at, 1)
	_, e := Take(&b, 1+2*b.ticks, at, 1)
	if d.RetryAfter() != e.RetryAfter() {
		t.Fatalf("%v and %v", d.RetryAfter(), e.RetryAfter())
	}
	if Both(d, e).Limit() != a || Both(e, d).Limit() != b {
		t.Errorf("named are %v and %v", Both(d, e).Limit(), Both(e, d).Limit())
	}
}

func TestWithinNoTime(t *testing.T) {
	l := Per(64, 1).Burst(5)
	for _, w := range []time.Duration{0, -1, -Never} {
		if got := l.Within(w); got != 5 {
			t.Errorf("%d within %v, want the burst of 5", got, w)
		}
	}
}

// A quotient that does not fit is the greatest number, and no panic.
func TestQuotientThatDoesNotFit(t *testing.T) {
	for _, row := range []struct{ hi, lo, d, want uint64 }{
		{5, 0, 5, math.MaxUint64}, {5, 0, 4, math.MaxUint64}, {0, 0, 0, math.MaxUint64},
		{4, math.MaxUint64, 5, math.MaxUint64}, {0, 35, 5, 7},
	} {
		if got := quo(row.hi, row.lo, row.d); got != row.want {
			t.Errorf("(%d·2^64 + %d) / %d = %d, want %d", row.hi, row.lo, row.d, got, row.want)
		}
	}
}

func TestParseDays(t *testing.T) {
	if l, err := Parse("1/s step 106751d"); err != nil || l.step != 106751*24*time.Hour {
		t.Errorf("the most days that a Duration holds: %v, %v", l, err)
	}
	for text, want := range map[string]string{
		"1/s step 106752d": "beyond a time.Duration",
		"1/1.5d":           "is not s, m, h, d",
		"1/-1d":            "is not s, m, h, d",
		"1/xd":             "is not s, m, h, d",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}
