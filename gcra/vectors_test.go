package gcra_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

const (
	day  = 24 * time.Hour
	msec = time.Millisecond
	sec  = time.Second

	take     = "take"
	takeUpTo = "take up to"
	peek     = "peek"
)

// A key is the least engine: it remembers its birth and one word.
type key struct {
	limit gcra.Limit
	born  time.Duration
	tat   int64
}

func newKey(l gcra.Limit, made time.Duration) *key {
	k := &key{limit: l, born: l.Birth(made)}
	k.tat = gcra.Fresh(&k.limit, k.at(made))
	return k
}

func (k *key) at(clock time.Duration) gcra.Instant { return gcra.At(&k.limit, clock-k.born) }

func (k *key) ask(clock time.Duration, how string, n int) (d gcra.Decision) {
	switch how {
	case take:
		k.tat, d = gcra.Take(&k.limit, k.tat, k.at(clock), n)
	case takeUpTo:
		k.tat, d = gcra.TakeUpTo(&k.limit, k.tat, k.at(clock), n)
	default:
		d = gcra.Peek(&k.limit, k.tat, k.at(clock), n)
	}
	return d
}

// A row is one request, what it gets and why.
type row struct {
	at      time.Duration
	how     string
	n       int
	granted int
	left    int
	retry   time.Duration
	why     string
}

type vector struct {
	limit string
	made  time.Duration
	rows  []row
}

func (v vector) check(t *testing.T) {
	t.Helper()
	l, err := gcra.Parse(v.limit)
	if err != nil {
		t.Fatal(err)
	}
	k := newKey(l, v.made)
	for _, r := range v.rows {
		d := k.ask(r.at, r.how, r.n)
		if d.Granted() != r.granted || d.Remaining() != r.left || d.RetryAfter() != r.retry {
			t.Errorf("%s, %s %d at %v: granted %d, left %d, retry after %v; want %d, %d, %v (%s)",
				v.limit, r.how, r.n, r.at, d.Granted(), d.Remaining(), d.RetryAfter(), r.granted, r.left, r.retry, r.why)
		}
	}
}

var continuous = []vector{
	{"100/s burst 100", 0, []row{
		{0, take, 100, 100, 0, 0, "a full bucket gives its whole burst at once"},
		{0, take, 1, 0, 0, 10 * msec, "then a token comes every 10 ms"},
		{5 * msec, take, 1, 0, 0, 5 * msec, "half of it has passed"},
		{10 * msec, take, 1, 1, 0, 0, "and here it is"},
		{510 * msec, peek, 50, 0, 50, 0, "half a second brings 50"},
		{510 * msec, take, 51, 0, 50, 10 * msec, "but not 51, and a refusal takes none"},
		{510 * msec, take, 50, 50, 0, 0, "so 50 are still there"},
		{10 * sec, peek, 100, 0, 100, 0, "it fills to the burst and no further"},
		{10 * sec, take, 101, 0, 100, gcra.Never, "more than the burst never passes"},
	}},
	{"1/s burst 4", 0, []row{
		{0, take, 1, 1, 3, 0, "first of four"},
		{0, take, 1, 1, 2, 0, "second"},
		{0, take, 1, 1, 1, 0, "third"},
		{0, take, 1, 1, 0, 0, "fourth"},
		{0, take, 1, 0, 0, sec, "the fifth waits exactly 1 s"},
		{sec, take, 1, 1, 0, 0, "one grant a second later"},
		{sec, take, 1, 0, 0, sec, "and only one"},
		{5*sec - 1, peek, 4, 0, 3, 1, "not full a nanosecond early"},
		{5 * sec, peek, 4, 0, 4, 0, "full after four idle seconds"},
		{time.Hour, take, 4, 4, 0, 0, "idling longer adds nothing"},
		{time.Hour, take, 1, 0, 0, sec, "so four is all"},
	}},
	{"1/s burst 2", 0, []row{
		{0, take, 2, 2, 0, 0, "empty"},
		{500 * msec, take, 2, 0, 0, 1500 * msec, "a job of 2 against half a token waits 1.5 s"},
		{2000*msec - 1, take, 2, 0, 1, 1, "not a nanosecond less"},
		{2000 * msec, take, 2, 2, 0, 0, "exactly then"},
	}},
	{"3/s burst 3 start 0", 0, []row{
		{0, take, 1, 0, 0, 333_333_334, "a third of a second, rounded up"},
		{333 * msec, take, 1, 0, 0, 333_334, "999/1000 of a token at ms 333"},
		{334 * msec, take, 1, 1, 0, 0, "the first token on a clock of ms"},
		{666 * msec, take, 1, 0, 0, 666_667, "1.998 came, 1 went"},
		{667 * msec, take, 1, 1, 0, 0, "the second"},
		{999 * msec, take, 1, 0, 0, msec, "2.997 came"},
		{1000 * msec, take, 1, 1, 0, 0, "the third at 1000, not 1001: waits do not add up"},
	}},
	{"3/s burst 3", 0, []row{
		{0, take, 3, 3, 0, 0, "emptied"},
		{999 * msec, peek, 3, 0, 2, msec, "2.997 are back"},
		{1000 * msec, take, 3, 3, 0, 0, "all three are back at ms 1000"},
	}},
	{"2/s burst 10", 0, []row{
		{0, takeUpTo, 13, 10, 0, 0, "13 at once against 10 get 10"},
		{0, peek, 1, 0, 0, 500 * msec, "and leave 500 ms to wait"},
		{0, takeUpTo, 13, 0, 0, 500 * msec, "none there is a refusal, until one comes"},
		{1750 * msec, takeUpTo, 13, 3, 0, 0, "3.5 came: three go"},
		{2000 * msec, takeUpTo, 13, 1, 0, 0, "the half was kept"},
	}},
	{"100/m burst 100", 0, []row{
		{0, take, 100, 100, 0, 0, "emptied"},
		{0, take, 1, 0, 0, 600 * msec, "one token in 600 ms"},
		{0, take, 100, 0, 0, time.Minute, "all in a minute"},
	}},
	{"2/10s burst 8", 0, []row{
		{0, take, 8, 8, 0, 0, "emptied"},
		{5 * sec, take, 1, 1, 0, 0, "one token is there half-way"},
		{10 * sec, take, 2, 0, 1, 5 * sec, "one went"},
		{45 * sec, peek, 8, 0, 8, 0, "full 40 s after the last token"},
	}},
	{"10/s burst 100", 0, []row{
		{0, takeUpTo, 200, 100, 0, 0, "200 asked at once: 100 granted"},
		{0, takeUpTo, 200, 0, 0, 100 * msec, "and no more at that instant"},
		{sec, takeUpTo, 200, 10, 0, 0, "ten a second after it"},
	}},
	{"0/s burst 100", 0, []row{
		{0, take, 60, 60, 40, 0, "rate 0 is a one-time allowance"},
		{time.Hour, take, 50, 0, 40, gcra.Never, "nothing comes back"},
		{1000 * day, take, 40, 40, 0, 0, "what is left stays"},
		{gcra.Never, take, 1, 0, 0, gcra.Never, "and is gone then, to the end of time"},
	}},
	{"99/s burst 99", 0, []row{
		{0, take, 99, 99, 0, 0, "emptied at 0"},
		{999 * msec, peek, 99, 0, 98, msec, "98.901 are back"},
		{1000 * msec, peek, 99, 0, 99, 0, "full at ms 1000"},
	}},
	{"10/ns burst 1000000000", 0, []row{ // 10 GB/s in bytes
		{0, take, 1e9, 1e9, 0, 0, "a gigabyte at once"},
		{0, take, 1500, 0, 0, 150, "a packet in 150 ns"},
		{0, take, 1e9, 0, 0, 100 * msec, "the next gigabyte in 0.1 s"},
		{149, take, 1500, 0, 1490, 1, "ten bytes short"},
		{150, take, 1500, 1500, 0, 0, "on time"},
	}},
	{"none", 0, []row{
		{0, take, 0, 0, 0, 0, "nothing asked, nothing refused"},
		{0, take, 1, 0, 0, gcra.Never, "the zero Limit refuses"},
		{day, takeUpTo, 1, 0, 0, gcra.Never, "always"},
	}},
}

func TestVectors(t *testing.T) {
	for _, v := range continuous {
		v.check(t)
	}
}

// TestUnlimited is apart since its numbers are the platform's largest int.
func TestUnlimited(t *testing.T) {
	const most = int(^uint(0) >> 1)
	k := newKey(gcra.Unlimited(), 7*sec)
	for _, n := range []int{0, 1, most, most} {
		for _, how := range []string{take, takeUpTo} {
			d := k.ask(day, how, n)
			if d.Granted() != n || d.Remaining() != most || d.RetryAfter() != 0 || d.ResetAfter() != 0 || k.tat != 1 {
				t.Errorf("%s %d: %v, TAT %d", how, n, answered(k.tat, d), k.tat)
			}
		}
	}
	if d := k.ask(day, take, -1); d.OK() || d.Err() != gcra.ErrCost {
		t.Errorf("take -1: %v", d.Err()) // a negative cost is nonsense under every limit
	}
}

// TestCosts lists the answers to costs that users may send.
func TestCosts(t *testing.T) {
	const most = int(^uint(0) >> 1)
	for _, r := range []struct {
		limit string
		how   string
		n     int
		ok    bool
		err   error
		retry time.Duration
		why   string
	}{
		{"1/s burst 4", take, 0, true, nil, 0, "nothing asked"},
		{"1/s burst 4 start 0", take, 0, true, nil, 0, "even of an empty bucket"},
		{"1/s burst 4 start 0", takeUpTo, 0, true, nil, 0, "the same"},
		{"1/s burst 4", take, 4, true, nil, 0, "the burst fits"},
		{"1/s burst 4", take, 5, false, gcra.ErrExceedsBurst, gcra.Never, "one more never does"},
		{"1/s burst 4", take, most, false, gcra.ErrExceedsBurst, gcra.Never, "nothing wraps"},
		{"1/s burst 4", takeUpTo, most, true, nil, 0, "as many as there are"},
		{"1/s burst 4 start 0", take, 4, false, gcra.ErrLimited, 4 * sec, "not now"},
		{"1/s burst 4 start 0", takeUpTo, 4, false, gcra.ErrLimited, sec, "one would do"},
		{"1/s burst 4", take, -1, false, gcra.ErrCost, gcra.Never, "never a refund"},
		{"1/s burst 4", takeUpTo, -1, false, gcra.ErrCost, gcra.Never, "here neither"},
		{"1/s burst 4", take, -most - 1, false, gcra.ErrCost, gcra.Never, "nor at the end of int"},
		{"0/s burst 4 start 0", take, 1, false, gcra.ErrLimited, gcra.Never, "nothing will come"},
		{"none", take, 1, false, gcra.ErrExceedsBurst, gcra.Never, "burst 0"},
		{"none", takeUpTo, most, false, gcra.ErrExceedsBurst, gcra.Never, "a part of nothing is nothing"},
		{"none", take, -1, false, gcra.ErrCost, gcra.Never, "nonsense first"},
	} {
		l, err := gcra.Parse(r.limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{r.how, peek} {
			k := newKey(l, 0)
			if how == peek && r.how == takeUpTo {
				continue // Peek tells of Take
			}
			before := k.tat
			d := k.ask(0, how, r.n)
			if d.OK() != r.ok || d.Err() != r.err || d.RetryAfter() != r.retry || d.Limit() != l {
				t.Errorf("%s, %s %d: %v, %v, %v; want %v, %v, %v (%s)",
					r.limit, how, r.n, d.OK(), d.Err(), d.RetryAfter(), r.ok, r.err, r.retry, r.why)
			}
			if (k.tat != before) != (r.ok && r.n != 0 && how != peek) {
				t.Errorf("%s, %s %d: the TAT went from %d to %d", r.limit, how, r.n, before, k.tat)
			}
		}
	}
}
