package logline

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestInstant(t *testing.T) {
	const date = 1700158623 // 2023-11-16T18:17:03Z
	for _, c := range []struct {
		in   string
		want int64
		err  string // in the error; "" for none
		why  string
	}{
		{"0", 0, "", "the epoch"},
		{"1700158623", date * 1e9, "", "whole seconds"},
		{"1700158623.97996", date*1e9 + 979_960_000, "", "a fraction shorter than nanoseconds"},
		{"1700158623.123456789", date*1e9 + 123_456_789, "", "a float64 would be 59 ns off"},
		{"1700158623.1234567890000", date*1e9 + 123_456_789, "", "zeros past the nanoseconds say nothing"},
		{"1700158623.1234567891", 0, "finer", "a digit past the nanoseconds would be lost"},
		{"0001700158623", date * 1e9, "", "zeros in front"},
		{"+5", 5e9, "", "a sign"},
		{"-0", 0, "", "of zero too"},
		{"-1.5", -1_500_000_000, "", "the fraction has the sign of the whole"},
		{"-0.000000001", -1, "", "also below one second"},
		{"9223372036.854775807", math.MaxInt64, "", "the last instant"},
		{"9223372036.854775808", 0, "outside", "one more"},
		{"-9223372036.854775808", math.MinInt64, "", "the first instant"},
		{"-9223372036.854775809", 0, "outside", "one less"},
		{"9999999999.999999999", 0, "outside", "the most that ten digits hold"},
		{"1700158623979", 0, "outside", "milliseconds, mistaken for seconds"},
		{strings.Repeat("9", 400), 0, "outside", "far past 64 bits"},
		{"", 0, "neither", "empty"},
		{"-", 0, "neither", "a sign alone"},
		{".5", 0, "neither", "no whole part"},
		{"5.", 0, "neither", "no fraction behind the point"},
		{"1.2.3", 0, "neither", "two points"},
		{"1.7e9", 0, "neither", "an exponent comes from a float, and is rounded"},
		{"1,5", 0, "neither", "a comma"},
		{"1_000", 0, "neither", "Go's digits, not a log's"},
		{"--1", 0, "neither", "two signs"},
		{"0x10", 0, "neither", "hexadecimal"},
		{"NaN", 0, "neither", "not a number"},
		{"1\x00", 0, "neither", "NUL"},
		{"١٢٣", 0, "neither", "digits of another script"},
		{"2023-11-16T18:17:03Z", date * 1e9, "", "RFC 3339"},
		{"2023-11-16T18:17:03.123456789Z", date*1e9 + 123_456_789, "", "to the nanosecond"},
		{"2023-11-16T18:17:03.1234567890Z", date*1e9 + 123_456_789, "", "zeros past it"},
		{"2023-11-16T18:17:03.1234567891Z", 0, "finer", "package time would cut it silently"},
		{"2023-11-16T23:47:03+05:30", date * 1e9, "", "a zone of half an hour"},
		{"2023-11-16T10:17:03.5-08:00", date*1e9 + 500_000_000, "", "a fraction and a zone"},
		{"1677-09-21T00:12:43.145224192Z", math.MinInt64, "", "the first instant"},
		{"1677-09-21T00:12:43.145224191Z", 0, "outside", "one less"},
		{"2262-04-11T23:47:16.854775807Z", math.MaxInt64, "", "the last instant"},
		{"2262-04-11T23:47:16.854775808Z", 0, "outside", "one more"},
		{"0001-01-01T00:00:00Z", 0, "outside", "package time's zero"},
		{"9999-12-31T23:59:59Z", 0, "outside", "package time's last year of four digits"},
		{"2023-11-16T18:17:03", 0, "neither", "no zone: whose clock?"},
		{"2023-11-16 18:17:03Z", 0, "neither", "a space for the T"},
		{"2023-11-16t18:17:03z", 0, "neither", "small letters, which package time refuses"},
		{"2023-02-29T00:00:00Z", 0, "neither", "no such day"},
		{"2023-11-16T23:59:60Z", 0, "neither", "a leap second has no Unix time"},
	} {
		got, err := Instant([]byte(c.in))
		if c.err == "" {
			if err != nil || got != c.want {
				t.Errorf("%s: %q = %d, %v; want %d", c.why, c.in, got, err, c.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), Show([]byte(c.in))) {
			t.Errorf("%s: %q = %d, %v; want an error with the value and %q", c.why, c.in, got, err, c.err)
		}
	}
}

// FuzzInstant holds Epoch against math/big, and Layout against package time.
func FuzzInstant(f *testing.F) {
	for _, s := range []string{"1700158623.123456789", "-9223372036.854775808", "5.", "1e9", "2023-11-16T18:17:03.9799600Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ns, isEpoch, err := Epoch([]byte(s))
		if isEpoch {
			want, ok := new(big.Rat).SetString(s)
			if !ok {
				t.Fatalf("%q is no decimal", s)
			}
			want.Mul(want, big.NewRat(1e9, 1))
			fits := want.IsInt() && want.Num().IsInt64()
			if fits != (err == nil) || fits && want.Num().Int64() != ns {
				t.Fatalf("%q = %d, %v; want %v", s, ns, err, want)
			}
			return
		}
		ns, err = Instant([]byte(s))
		at, std := time.Parse(time.RFC3339Nano, s)
		if err == nil && (std != nil || !time.Unix(0, ns).Equal(at)) {
			t.Fatalf("%q = %d; package time has %v, %v", s, ns, at, std)
		}
	})
}
