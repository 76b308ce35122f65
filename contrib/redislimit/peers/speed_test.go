package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDrive checks that a run proves what it was.
func TestDrive(t *testing.T) {
	failed := errors.New("failed")
	answers := func(granted bool, err error) asker {
		return func(context.Context, int, int) (bool, error) { return granted, err }
	}
	honest := func(_ context.Context, _, cost int) (bool, error) { return cost == 1, nil }
	var asked atomic.Int64
	everyThird := func(_ context.Context, _, cost int) (bool, error) {
		if asked.Add(1)%3 == 0 {
			return false, errGaveUp
		}
		return cost == 1, nil
	}
	for _, row := range []struct {
		name  string
		ask   asker
		mix   mix
		floor bool
		want  string
	}{
		{"honest", honest, granted, false, ""},
		{"honest", honest, refused, false, ""},
		{"honest", honest, half, false, ""},
		{"some give up", everyThird, half, false, ""},
		{"grants all", answers(true, nil), granted, false, ""},
		{"grants all", answers(true, nil), refused, false, "granted is true"},
		{"grants all", answers(true, nil), half, false, "granted is true"},
		{"refuses all", answers(false, nil), granted, false, "granted is false"},
		{"refuses all", answers(false, nil), half, false, "granted is false"},
		{"a floor", answers(true, nil), half, true, ""},
		{"fails", answers(true, failed), granted, true, "failed"},
		{"gives up", answers(false, errGaveUp), granted, false, "no decision"},
	} {
		s, err := drive(t.Context(), row.ask, 7, 3, row.mix, row.floor, time.Millisecond, 1)
		if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) || row.want == "" && err != nil {
			t.Errorf("%s, %s: error %v, want %q", row.name, row.mix, err, row.want)
		}
		if err == nil && (s.perSecond <= 0 || s.p50 > s.p99 || s.p99 <= 0 || (s.gaveUp > 0) != (row.name == "some give up")) {
			t.Errorf("%s, %s: %+v", row.name, row.mix, s)
		}
	}
}

// TestDriveAsksAllKeys: each key once before any comes again, in another order on
// each goroutine.
func TestDriveAsksAllKeys(t *testing.T) {
	const keys = 100
	var order []int
	ask := func(_ context.Context, key, _ int) (bool, error) {
		order = append(order, key) // of one goroutine
		return true, nil
	}
	for len(order) < 2*keys {
		order = nil
		if _, err := drive(t.Context(), ask, keys, 1, granted, false, time.Millisecond, 5); err != nil {
			t.Fatal(err)
		}
	}
	for from := 0; from+keys <= 2*keys; from += keys {
		seen := make(map[int]bool)
		for _, key := range order[from : from+keys] {
			seen[key] = true
		}
		if len(seen) != keys {
			t.Errorf("%d different keys in the %d requests from %d", len(seen), keys, from)
		}
	}
	if order[0] == 0 && order[1] == 1 && order[2] == 2 {
		t.Errorf("the order is that of the keys: %v", order[:10])
	}
}

func TestQuantile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, row := range []struct {
		of       []time.Duration
		perMille int
		want     time.Duration
	}{
		{hundred, 500, 50}, {hundred, 990, 99}, {hundred, 1000, 100}, {hundred[:1], 500, 1}, {hundred[:1], 990, 1}, {hundred[:3], 500, 2},
	} {
		if got := quantile(row.of, row.perMille); got != row.want {
			t.Errorf("%d in a thousand of %d: %d, want %d", row.perMille, len(row.of), got, row.want)
		}
	}
}

// TestJudgeSpeed compares medians within a case, and only with libraries.
func TestJudgeSpeed(t *testing.T) {
	at := func(group, lib string, perSecond ...float64) *trial {
		tr := &trial{group: group, subject: subject{name: lib}}
		for _, x := range perSecond {
			tr.samples = append(tr.samples, sample{perSecond: x})
		}
		return tr
	}
	got := judgeSpeed([]*trial{
		at("a", weir, 100, 300, 200), at("a", redisRate, 100, 100, 400), at("a", throttle, 400, 400, 100), at("a", ping, 9, 9, 9),
		at("b", throttle, 1, 1, 1), // alone
	})
	text := ""
	for _, v := range got {
		text += fmt.Sprintf("%s/%s %.2f %.2f-%.2f %v; ", v.group, v.lib, v.ratio, v.least, v.most, v.met())
	}
	if want := "a/redis_rate 2.00 0.50-3.00 true; a/throttled 0.50 0.25-2.00 false; "; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
