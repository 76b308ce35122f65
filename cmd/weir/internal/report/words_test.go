package report

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestShare(t *testing.T) {
	for _, row := range []struct {
		part, whole int64
		want, why   string
	}{
		{0, 0, "–", "of nothing"},
		{0, 10, "0 %", "nothing"},
		{10, 10, "100 %", "all"},
		{1, 2, "50.0 %", "a half"},
		{1, 3, "33.3 %", "rounded down"},
		{2, 3, "66.7 %", "and up"},
		{1, 1000, "0.1 %", "exactly"},
		{9, 10000, "under 0.1 %", "rounded up to what is not 0"},
		{1, 1_000_000, "under 0.1 %", "not nothing"},
		{999_999, 1_000_000, "over 99.9 %", "not all"},
		{999, 1000, "99.9 %", "exactly"},
		{math.MaxInt64 / 2, math.MaxInt64, "50.0 %", "no overflow"},
		{1, math.MaxInt64, "under 0.1 %", "nor a loss"},
		{math.MaxInt64 - 1, math.MaxInt64, "over 99.9 %", "nor here"},
	} {
		if got := strings.ReplaceAll(share(row.part, row.whole), nbsp, " "); got != row.want {
			t.Errorf("share(%d, %d) = %q, want %q: %s", row.part, row.whole, got, row.want, row.why)
		}
	}
}

func TestWords(t *testing.T) {
	for _, row := range []struct{ got, want, why string }{
		{num(1234567), "1 234 567", "groups"},
		{count(1, "request"), "1 request", "one"},
		{count(0, "request"), "0 requests", "none"},
		{between(3, 3), "3", "known"},
		{between(3, 4000), "3 to 4 000", "not known"},
		{span(0), "0s", "no time"},
		{span(47 * time.Hour), "47h0m0s", "not yet days"},
		{span(131*time.Hour + 48*time.Minute), "5 days 11 hours", "days"},
		{span(48 * time.Hour), "2 days", "and no hours"},
		{moment(time.Date(2026, 1, 2, 3, 4, 5, 999, time.FixedZone("", 3600))), "2026-01-02 02:04:05", "UTC"},
		{hundredths(0, 10), "0", "no bar"},
		{hundredths(1, 1_000_000), "0.4", "a bar that is seen"},
		{hundredths(1, 3), "33.3", "a third"},
		{hundredths(3, 0), "0", "of nothing"},
		{clip("refused", 7), "refused", "it fits"},
		{clip("refused", 4), "ref…", "it does not"},
		{compact(20000), "20k", "thousands"},
		{compact(5), "5", "a few"},
		{compact(2e15), "2P", "many"},
	} {
		if got := strings.ReplaceAll(row.got, nbsp, " "); got != row.want {
			t.Errorf("%q, want %q: %s", got, row.want, row.why)
		}
	}
}

func texts(all []tick) string {
	var words []string
	for _, t := range all {
		words = append(words, strings.ReplaceAll(t.text, nbsp, "."))
	}
	return strings.Join(words, " ")
}

func TestTicks(t *testing.T) {
	at := time.Date(2026, 2, 27, 21, 30, 0, 0, time.UTC)
	const hour = 1.0 / 3600
	for _, row := range []struct {
		got       []tick
		want, why string
	}{
		{rateTicks(newLogScale(30*hour, 12, 0, 600, 0)), "30/h 1/m 2/m 3/m 5/m 10/m 30/m 1/s 2/s 3/s 5/s 10/s", "hours to seconds"},
		{rateTicks(newLogScale(30*hour, 12, 0, 200, 0)), "1/m 10/m 1/s 10/s", "on a phone"},
		{rateTicks(newLogScale(1, 1, 0, 600, 0)), "50/m 1/s", "a single rate"},
		{rateTicks(newLogScale(6000, 150000, 0, 600, 0)), "10k/s 20k/s 30k/s 50k/s 100k/s", "tokens"},
		{rateTicks(newLogScale(1.0/(365*86400), 64e9, 0, 600, 0)), "1/d 1/h 1/m 1/s 100/s 10k/s 1M/s 100M/s 10G/s", "the range of limits"},
		{numberTicks(newLogScale(2, 274, 200, 0, 0), above), "200 100 50 20 10 5 2", "from the top"},
		{numberTicks(newLogScale(1, 1, 200, 0, 0), above), "1", "a single burst"},
		{numberTicks(newLogScale(1, 9e18, 200, 0, 0), above), "1000P 1P 1T 1G 1M 1k 1", "as long as they keep apart"},
		{timeTicks(at, 5*time.Hour, 0, 600), "21:30 22:00 22:30 23:00 23:30 Feb.28 00:30 01:00 01:30 02:00 02:30", "hours"},
		{timeTicks(at, 5*24*time.Hour, 0, 600), "Feb.28 12:00 Mar.1 12:00 Mar.2 12:00 Mar.3 12:00 Mar.4 12:00", "days"},
		{timeTicks(at, 3*time.Second, 0, 600), "21:30:00 21:30:01 21:30:02 21:30:03", "seconds"},
		{timeTicks(at, -1, 0, 600), "", "more than that"},
		{timeTicks(at.Add(time.Second/8), time.Second/8, 0, 600), "", "none within"},
		{inside([]tick{{0, "06:00"}, {30, "07:00"}, {95, "08:00"}}, 0, 100), "08:00 07:00", "the first has no room"},
		{inside([]tick{{0, "06:00"}}, 0, 100), "06:00", "moved inward"},
	} {
		if got := texts(row.got); got != row.want {
			t.Errorf("%s, want %s: %s", got, row.want, row.why)
		}
	}
}

// The longest time that there is has a few ticks too.
func TestTicksOfAges(t *testing.T) {
	if all := timeTicks(time.Unix(0, 0).UTC(), math.MaxInt64, 0, 300); len(all) < 2 || len(all) > 8 {
		t.Errorf("292 years have %d ticks", len(all))
	}
}

func TestPlaceLabels(t *testing.T) {
	for _, row := range []struct {
		wants, want []float64
		why         string
	}{
		{[]float64{10, 50}, []float64{10, 50}, "room enough"},
		{[]float64{50, 50}, []float64{45, 55}, "both give way"},
		{[]float64{0, 0, 0}, []float64{0, 10, 20}, "not above the top"},
		{[]float64{100, 100, 99}, []float64{80, 90, 100}, "not below the bottom"},
		{[]float64{30, 30, 36, 36}, []float64{18, 28, 38, 48}, "two groups that meet are one"},
	} {
		var labels []label
		for _, y := range row.wants {
			labels = append(labels, label{from: y})
		}
		placeLabels(labels, 10, 0, 100)
		for i, l := range labels {
			if math.Abs(l.y-row.want[i]) > 1e-9 {
				t.Errorf("%v: label %d is at %v, want %v: %s", row.wants, i, l.y, row.want[i], row.why)
			}
		}
	}
}

// Words of marks keep clear of each other wherever the marks are, if there is room, even if the marks are one.
func TestPlaceMarks(t *testing.T) {
	room := box{0, 0, 700, 300}
	for _, row := range []struct {
		marks [][2]float64
		why   string
	}{
		{[][2]float64{{350, 150}}, "one"},
		{[][2]float64{{350, 150}, {350, 150}, {350, 150}}, "three in one place"},
		{[][2]float64{{5, 5}, {695, 5}, {5, 295}, {695, 295}}, "in the corners"},
		{[][2]float64{{100, 100}, {108, 96}, {116, 92}}, "side by side"},
	} {
		var marks []mark
		for _, m := range row.marks {
			marks = append(marks, mark{x: m[0], y: m[1], text: "balanced: 8/m burst 25"})
		}
		placeMarks(marks, along([2]float64{0, 0}, [2]float64{700, 300}), room)
		for i := range marks {
			if !marks[i].words().within(room) {
				t.Errorf("%s: words at %v are outside", row.why, marks[i].words())
			}
			for j := range i {
				if marks[i].words().meets(marks[j].words()) {
					t.Errorf("%s: words at %v and %v", row.why, marks[i].words(), marks[j].words())
				}
			}
		}
	}
}
