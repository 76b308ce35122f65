package report

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// A logScale maps positive numbers to pixels.
type logScale struct{ low, high, from, to float64 }

// newLogScale spans the numbers and a little more, twofold at the least.
func newLogScale(low, high, from, to, room float64) logScale {
	l, h := math.Log(low), math.Log(high)
	pad := max((h-l)*room, (math.Ln2-(h-l))/2)
	return logScale{l - pad, h + pad, from, to}
}

func (s logScale) at(v float64) float64 {
	return s.from + (math.Log(v)-s.low)/(s.high-s.low)*(s.to-s.from)
}

func (s logScale) holds(v float64) bool {
	l := math.Log(v)
	return l >= s.low && l <= s.high
}

// A tick is a mark at an axis.
type tick struct {
	at   float64 // pixels
	text string
}

// thin takes the ticks in the order of their worth, as long as they keep that distance, and returns them along the axis.
func thin(all []tick, distance func(a, b tick) float64) (kept []tick) {
	for _, t := range all {
		if !slices.ContainsFunc(kept, func(k tick) bool { return math.Abs(k.at-t.at) < distance(k, t) }) {
			kept = append(kept, t)
		}
	}
	slices.SortFunc(kept, func(a, b tick) int { return int(math.Copysign(1, a.at-b.at)) })
	return kept
}

// beside is the distance of labels that stand side by side.
func beside(a, b tick) float64 { return float64(len(a.text)+len(b.text))*3.5 + 10 }

// above is the distance of labels that stand above each other.
func above(a, b tick) float64 { return 22 }

// numberTicks are powers of ten, then their halves and fifths, where they have room.
func numberTicks(s logScale, distance func(a, b tick) float64) []tick {
	var all []tick
	for _, m := range []float64{1, 5, 2} {
		for e := 0; e < 19; e++ {
			if v := m * math.Pow(10, float64(e)); s.holds(v) {
				all = append(all, tick{s.at(v), compact(v)})
			}
		}
	}
	return thin(all, distance)
}

// compact writes 20000 as 20k.
func compact(v float64) string {
	for _, u := range []struct {
		unit float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.unit {
			return strconv.FormatFloat(v/u.unit, 'g', 4, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// rateTicks are rates as people say them, which is not in powers of ten: 1/h, 1/m, 1/s first. The scale is of tokens a second.
func rateTicks(s logScale) []tick {
	var all []tick
	put := func(n float64, unit string, length time.Duration) {
		if v := n / length.Seconds(); s.holds(v) {
			all = append(all, tick{s.at(v), compact(n) + "/" + unit})
		}
	}
	units := []struct {
		name   string
		length time.Duration
		below  float64 // the next unit
	}{{"d", 24 * time.Hour, 24}, {"h", time.Hour, 60}, {"m", time.Minute, 60}, {"s", time.Second, math.Inf(1)}}
	for _, u := range units {
		put(1, u.name, u.length)
	}
	for _, m := range []float64{1, 3, 2, 5} {
		for e := range 19 {
			for _, u := range units {
				if n := m * math.Pow(10, float64(e)); n > 1 && n < u.below {
					put(n, u.name, u.length)
				}
			}
		}
	}
	return thin(all, beside)
}

// timeTicks are at even times, as many as have room. What they cannot say, the date or the year, the caption does.
func timeTicks(start time.Time, length time.Duration, from, to float64) (all []tick) {
	const day = 24 * time.Hour
	steps := []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 28 * day}
	if length <= 0 {
		return nil // more than a Duration holds: two times 292 years
	}
	step := steps[0]
	room := func() float64 { return 12 + 7*float64(len(timeText(start, step))) }
	for i := 1; float64(step)/float64(length)*(to-from) < room(); i++ {
		if i < len(steps) {
			step = steps[i]
		} else if step *= 2; step > math.MaxInt64/4 {
			break
		}
	}
	origin := start.Truncate(day)
	first := (start.Sub(origin) + step - 1) / step * step // since the origin
	rest := length - (first - start.Sub(origin))
	for i := time.Duration(0); i <= rest/step && rest >= 0; i++ {
		t := origin.Add(first + i*step)
		x := from + float64(t.Sub(start))/float64(length)*(to-from)
		all = append(all, tick{x, timeText(t, step)})
	}
	return all
}

// inside moves the labels at both ends inward, and leaves out those which then have no room beside their neighbours.
func inside(all []tick, from, to float64) (labels []tick) {
	half := func(t tick) float64 { return 3.4 * float64(utf8.RuneCountInString(t.text)) }
	for i := len(all) - 1; i >= 0; i-- { // the last says how far it goes
		t := all[i]
		t.at = min(max(t.at, from+half(t)), to-half(t))
		if n := len(labels); n == 0 || t.at+half(t)+8 <= labels[n-1].at-half(labels[n-1]) {
			labels = append(labels, t)
		}
	}
	return labels
}

// timeText says of a time what changes from one tick to the next: the day at midnight.
func timeText(t time.Time, step time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case step >= 28*day:
		return t.Format("2006-01")
	case step < time.Minute:
		return t.Format("15:04:05")
	case step >= day, t.Equal(t.Truncate(day)):
		return t.Format("Jan") + nbsp + t.Format("2")
	}
	return t.Format("15:04")
}
