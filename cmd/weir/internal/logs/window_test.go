package logs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A passed record is what came out of a window.
type passed struct {
	at  int64
	key string
}

// through sends times through a window. Keys number the records.
func through(t *testing.T, w *window, times []int64) (out []passed) {
	t.Helper()
	w.emit = func(r *Record) error {
		if len(r.Keys) != 2 || string(r.Keys[0]) != string(r.Keys[1]) || len(r.Costs) != 1 || fmt.Sprint(r.Costs[0]) != string(r.Keys[0]) {
			t.Fatalf("a record was torn: %q %v", r.Keys, r.Costs)
		}
		out = append(out, passed{r.Time, string(r.Keys[0])})
		return nil
	}
	for i, at := range times {
		key := []byte(fmt.Sprint(i))
		if err := w.add(&Record{at, [][]byte{key, key}, []int64{int64(i)}}); err != nil {
			t.Fatal(err)
		}
		clear(key) // it is the caller's again
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	return out
}

// slow does what a window does by sorting all that it holds at each step.
func slow(times []int64, span int64, most int) (out []passed, late, reordered int64) {
	type held struct {
		at  int64
		seq int
	}
	var all []held
	latest, emitted := int64(math.MinInt64), int64(math.MinInt64)
	release := func(all []held, until int64, most int) []held {
		slices.SortStableFunc(all, func(a, b held) int {
			if a.at != b.at {
				return int(min(max(a.at-b.at, -1), 1))
			}
			return a.seq - b.seq
		})
		for len(all) > 0 && (all[0].at <= until || len(all) > most) {
			out = append(out, passed{all[0].at, fmt.Sprint(all[0].seq)})
			emitted = all[0].at
			all = all[1:]
		}
		return all
	}
	for i, at := range times {
		if at < emitted {
			late++
			out = append(out, passed{emitted, fmt.Sprint(i)})
			continue
		}
		if at < latest {
			reordered++
		}
		latest = max(latest, at)
		all = release(append(all, held{at, i}), latest-span, most)
	}
	release(all, math.MaxInt64, 0)
	return out, late, reordered
}

func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	sorted, lates := 0, 0
	for round := range 400 {
		span, most := r.Int64N(50), 1+r.IntN(60)
		if round%3 == 0 {
			most = MaxHeld
		}
		at, times := int64(1000), make([]int64, 1+r.IntN(1500))
		for i := range times {
			at += r.Int64N(4)
			times[i] = at
			if r.IntN(4) == 0 {
				times[i] -= r.Int64N(80)
			}
		}
		w := newWindow(span, nil)
		w.most = most
		got := through(t, w, times)
		want, late, reordered := slow(times, span, most)
		if !slices.Equal(got, want) || w.stats.late != late || w.stats.reordered != reordered {
			t.Fatalf("round %d, span %d, most %d: %v %+v, want %v %d %d", round, span, most, got, w.stats, want, late, reordered)
		}
		if !slices.IsSortedFunc(got, func(a, b passed) int { return int(min(max(a.at-b.at, -1), 1)) }) {
			t.Fatalf("time went back: %v", got)
		}
		sorted, lates = sorted+int(reordered), lates+int(late)
	}
	if sorted < 1000 || lates < 1000 {
		t.Errorf("%d sorted and %d late ones prove little", sorted, lates)
	}
}

func TestWindowAtTheEnds(t *testing.T) {
	w := newWindow(math.MaxInt64, nil)
	times := []int64{math.MinInt64, math.MinInt64 + 5, math.MinInt64 + 3, math.MaxInt64, 0}
	got := through(t, w, times)
	if len(got) != len(times) || got[0].at != math.MinInt64 || got[4].at != math.MaxInt64 {
		t.Errorf("%v", got)
	}
}
