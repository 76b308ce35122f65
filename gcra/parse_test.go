package gcra_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/gcra"
)

// TestParse lists texts, the limits that they make and how those are written.
func TestParse(t *testing.T) {
	for _, r := range []struct {
		text string
		want gcra.Limit
		back string
		why  string
	}{
		{"100/s burst 20", gcra.PerSecond(100).Burst(20), "100/s burst 20", "the usual form"},
		{"5000/h", gcra.PerHour(5000), "5000/h burst 1", "burst 1 if absent, and then written"},
		{"100/m", gcra.PerMinute(100), "100/m burst 1", "m is a minute"},
		{"3/d", gcra.PerDay(3), "3/d burst 1", "d is a day"},
		{"3/24h", gcra.PerDay(3), "3/d burst 1", "so is 24h"},
		{"3/1d", gcra.PerDay(3), "3/d burst 1", "and 1d"},
		{"3/7d", gcra.Per(3, 7*day), "3/7d burst 1", "days are counted"},
		{"1/ms", gcra.Every(msec), "1/ms burst 1", "a millisecond"},
		{"1/us", gcra.Every(1000), "1/µs burst 1", "a microsecond in ASCII"},
		{"1/µs", gcra.Every(1000), "1/µs burst 1", "with a micro sign"},
		{"1/μs", gcra.Every(1000), "1/µs burst 1", "with a Greek mu"},
		{"10/ns", gcra.Per(10, 1), "10/ns burst 1", "10 GB/s"},
		{"1/1m30s", gcra.Every(90 * sec), "1/1m30s burst 1", "a time.Duration's text"},
		{"1/1h30m", gcra.Every(90 * time.Minute), "1/1h30m burst 1", "without the seconds"},
		{"1/10m", gcra.Every(10 * time.Minute), "1/10m burst 1", "not 10m0s"},
		{"1/10h", gcra.Every(10 * time.Hour), "1/10h burst 1", "not 10h0m0s"},
		{"1/1h0m1s", gcra.Every(time.Hour + sec), "1/1h0m1s burst 1", "zeros inside stay"},
		{"6/3s burst 10 step 3s start 0", gcra.Per(6, 3*sec).Burst(10).Start(0).InSteps(3 * sec),
			"6/3s burst 10 step 3s start 0", "all there is"},
		{"6/3s start 0 step 3s burst 10", gcra.Per(6, 3*sec).Burst(10).Start(0).InSteps(3 * sec),
			"6/3s burst 10 step 3s start 0", "in any order"},
		{"5/s start 7 burst 9", gcra.PerSecond(5).Burst(9).Start(7), "5/s burst 9 start 7", "checked at the end"},
		{"3/d step d", gcra.PerDay(3).InSteps(day), "3/d burst 1 step 1d", "a step takes units too"},
		{"0/s burst 100", gcra.PerSecond(0).Burst(100), "0/s burst 100", "an allowance"},
		{" \t5/s\n burst  2 ", gcra.PerSecond(5).Burst(2), "5/s burst 2", "white space is free"},
		{"007/s", gcra.PerSecond(7), "7/s burst 1", "decimal, whatever it begins with"},
		{"unlimited", gcra.Unlimited(), "unlimited", "no limit"},
		{"none", gcra.Limit{}, "none", "the zero Limit"},
	} {
		l, err := gcra.Parse(r.text)
		if err != nil || l != r.want || l.String() != r.back {
			t.Errorf("%q is %v, %v; want %v (%s)", r.text, l, err, r.back, r.why)
		}
	}
}

// TestParseErrors lists what is no limit: the word that the error points at,
// by its byte, and what it says about it.
func TestParseErrors(t *testing.T) {
	for _, r := range []struct {
		text, word string
		at         int
		says       string
		why        string
	}{
		{"fast", "fast", 0, "want a rate", "no rate"},
		{"  fast", "fast", 2, "want a rate", "the byte counts from the start of the text"},
		{"100", "100", 0, "want a rate", "100 per what?"},
		{"Unlimited", "Unlimited", 0, "want a rate", "words are in lower case"},
		{"/s", "/s", 0, `rate "" is not a whole number`, "no count"},
		{"-5/s", "-5/s", 0, `rate "-5" is not a whole number`, "a negative one"},
		{"+5/s", "+5/s", 0, `rate "+5" is not a whole number`, "one way to write it"},
		{"1.5/s", "1.5/s", 0, `rate "1.5" is not a whole number`, "write 3/2s"},
		{"1e3/s", "1e3/s", 0, `rate "1e3" is not a whole number`, "no floats"},
		{"99999999999999999999/s", "99999999999999999999/s", 0, "beyond an int of", "no wrapping"},
		{"5/", "5/", 0, `period "" is not`, "no period"},
		{"5/week", "5/week", 0, `period "week" is not`, "no such unit"},
		{"5/s/s", "5/s/s", 0, `period "s/s" is not`, "two of them"},
		{"5/0s", "5/0s", 0, "period 0s is not positive", "an empty period"},
		{"5/0d", "5/0d", 0, "period 0s is not positive", "in days too"},
		{"5/-1s", "5/-1s", 0, "period -1s is not positive", "a negative one"},
		{"5/3336d", "5/3336d", 0, "is longer than", "above 2^58 ns"},
		{"5/999999d", "5/999999d", 0, "beyond a time.Duration", "above 2^63 ns"},
		{"5/99999999999999999999d", "5/99999999999999999999d", 0, "beyond a time.Duration", "above 2^64"},
		{"65/ns", "65/ns", 0, "above 64 a nanosecond", "too fast"},
		{"5/s 20", "20", 4, "want burst, start or step", "20 what?"},
		{"5/s burst", "burst", 4, "has no value", "nothing follows"},
		{"5/s burst 2 start", "start", 12, "has no value", "the last word"},
		{"5/s burst two", "two", 10, `burst "two" is not a whole number`, "the value is wrong, not the name"},
		{"5/s burst burst 3", "burst", 10, `burst "burst" is not a whole number`, "the second of two equal words"},
		{"5/s burst 0", "0", 10, "burst 0 is below 1", "no bucket"},
		{"5/s burst 0 start 0", "0", 10, "burst 0 is below 1", "the first of two equal words"},
		{"5/s burst 99999999999999999999", "99999999999999999999", 10, "beyond an int of", "no wrapping"},
		{"5/s burst 3 burst 4", "burst", 12, "is given twice", "which one?"},
		{"5/s start 2", "2", 10, "start 2 is above the burst 1", "burst 1 if absent"},
		{"5/s start 4 burst 3", "4", 10, "start 4 is above the burst 3", "more than fits"},
		{"5/s step 0s", "0s", 9, "step 0s is not positive", "no step"},
		{"5/s step -1s", "-1s", 9, "step -1s is not positive", "a negative one"},
		{"5/s step 3", "3", 9, `step "3" is not`, "3 what?"},
		{"5/µs\u00a0 burst x", "x", 14, `burst "x"`, "bytes, not letters"},
		{"unlimited burst 3", "burst", 10, `"unlimited" takes nothing after it`, "nothing to shape"},
		{"none 5/s", "5/s", 5, `"none" takes nothing after it`, "the same"},
	} {
		l, err := gcra.Parse(r.text)
		where := fmt.Sprintf("%q at byte %d: ", r.word, r.at)
		if err == nil || l != (gcra.Limit{}) {
			t.Errorf("%q is %v (%s)", r.text, l, r.why)
		} else if !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), r.says) {
			t.Errorf("%q: %v; want %s ... %s (%s)", r.text, err, where, r.says, r.why)
		} else if r.text[r.at:r.at+len(r.word)] != r.word {
			t.Errorf("%q has no %q at byte %d", r.text, r.word, r.at)
		}
	}
	for _, empty := range []string{"", " ", "\n\t"} {
		if _, err := gcra.Parse(empty); err == nil || !strings.Contains(err.Error(), "is empty") {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// FuzzParse checks for any text that Parse does not panic, that an error
// points at a word of the text, and that a limit is read back from its text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"100/s burst 20", "6/3s burst 10 step 3s start 0", "unlimited", "none", "", "5/s burst burst 3", "5/µs\u00a0x",
		"1/1h0m1s", "5/s at byte 7: burst 2", "9223372036854775807/288230376151711744ns", "\xff/s", "5/s start 0 step 1d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := gcra.Parse(s)
		was := gcra.PerSecond(42)
		set := was
		if unmarshaled := set.UnmarshalText([]byte(s)); fmt.Sprint(unmarshaled) != fmt.Sprint(err) {
			t.Fatalf("%q: UnmarshalText says %v, Parse %v", s, unmarshaled, err)
		}
		if err == nil {
			if set != l {
				t.Fatalf("%q: UnmarshalText makes %v, Parse %v", s, set, l)
			}
			roundTrip(t, l)
			return
		}
		if set != was || l != (gcra.Limit{}) {
			t.Fatalf("%q: after an error the limit is %v, Parse returned %v", s, set, l)
		}
		rest, found := strings.CutPrefix(err.Error(), fmt.Sprintf("gcra: limit %.80q", s))
		points := strings.HasPrefix(rest, " is empty") && strings.TrimSpace(s) == ""
		from := 0
		for _, word := range strings.Fields(s) {
			from += strings.Index(s[from:], word)
			points = points || strings.HasPrefix(rest, fmt.Sprintf(", %.40q at byte %d: ", word, from))
			from += len(word)
		}
		if !found || !points {
			t.Fatalf("%q: the error points at none of its words: %v", s, err)
		}
	})
}

// FuzzString checks the round trip for every limit that can be made.
func FuzzString(f *testing.F) {
	f.Add(int64(100), int64(sec), int64(20), int64(-1), int64(0))
	f.Add(int64(6), int64(3*sec), int64(10), int64(0), int64(3*sec))
	f.Add(int64(math.MaxInt64), int64(1<<58), int64(1<<60), int64(1<<60), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, n, period, burst, start, step int64) {
		s := spec{n, time.Duration(period), burst, max(start, full), time.Duration(max(step, 0))}
		if s.fits() && s.legal() {
			roundTrip(t, s.limit())
		}
	})
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, gcra.Limit{})
	roundTrip(t, gcra.Unlimited())
	roundTrip(t, gcra.Per(math.MaxInt, 1<<58)) // the largest count, over the longest period
	rng := rand.New(rand.NewPCG(17, 18))
	units := []int64{1, 1e3, 1e6, 1e9, 60e9, 3600e9, 24 * 3600e9}
	span := func() time.Duration {
		return time.Duration(rng.Int64() >> rng.IntN(63) / units[rng.IntN(7)] * units[rng.IntN(7)])
	}
	tried := 0
	for range 20_000 {
		burst := rng.Int64() >> rng.IntN(63)
		s := spec{rng.Int64() >> rng.IntN(63), span(), burst, rng.Int64N(burst+2) - 1, max(span(), 0)}
		if s.fits() && s.legal() {
			roundTrip(t, s.limit())
			tried++
		}
	}
	if tried < 1000 {
		t.Errorf("only %d limits could be made", tried)
	}
}

func roundTrip(t *testing.T, l gcra.Limit) {
	t.Helper()
	if back, err := gcra.Parse(l.String()); err != nil || back != l {
		t.Fatalf("%q reads back as %v, %v", l, back, err)
	}
	text, err := json.Marshal(map[string]gcra.Limit{"limit": l})
	var back map[string]gcra.Limit
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back["limit"] != l {
		t.Fatalf("%q is %s in JSON, which reads back as %v, %v", l, text, back, err)
	}
}
